"""Seen twice without an owner, and only then freed; and what a dry run may do."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.handlers.driving import MANUAL
from tests.handlers.fake_aws import FakeAws
from tests.handlers.sweeping import DAY, ORPHAN_TAG, OURS, SORTS, TEMPLATE, Sweeper, leave


@pytest.fixture
def sweeper(aws: FakeAws) -> Sweeper:
    return Sweeper(aws)


@pytest.mark.parametrize("sort", SORTS)
def test_each_sort_is_freed_at_the_second_sighting_a_day_later(sweeper: Sweeper, sort: str) -> None:
    left = leave(sweeper, sort)
    first = sweeper.run()
    assert (first["new"], first["freed"]) == ([left.id], [])
    assert sweeper.told(left.id)["standing"] == "new"
    sweeper.wait(DAY)
    second = sweeper.run()
    assert (second["new"], second["freed"]) == ([], [left.id])
    assert not left.there()
    assert len(sweeper.freeing()) == 1


@pytest.mark.parametrize("sort", SORTS)
def test_each_sort_waits_until_the_sightings_are_far_enough_apart(sweeper: Sweeper, sort: str) -> None:
    left = leave(sweeper, sort)
    told = sweeper.run_twice(hours=DAY - 0.01)
    assert (told["new"], told["freed"]) == ([], [])
    assert sweeper.told(left.id)["standing"] == "waiting"
    assert left.there()


@pytest.mark.parametrize("sort", SORTS)
def test_case_34_a_mark_is_kept_in_aws_and_not_in_the_function(sweeper: Sweeper, aws: FakeAws, sort: str) -> None:
    left = leave(sweeper, sort)
    sweeper.run()
    assert left.mark is not None
    assert left.mark.startswith("2026-11-30T12:00:00Z")
    sweeper.wait(3 * DAY)
    sweeper.run()
    assert not left.there()


@pytest.mark.parametrize("sort", SORTS)
def test_a_dry_run_frees_nothing_however_often_it_is_seen(aws: FakeAws, sort: str) -> None:
    sweeper = Sweeper(aws, environment={"ACT": "false"})
    left = leave(sweeper, sort)
    for _ in range(4):
        told = sweeper.run()
        sweeper.wait(2 * DAY)
    assert left.there()
    assert told["orphans"] == {sort: 1}
    assert sweeper.told(left.id)["standing"] == "due"
    assert sweeper.freeing() == []
    # Its own notes are all that it changes.
    assert len(sweeper.changes()) == 1


@pytest.mark.parametrize("sort", SORTS)
def test_a_manual_dry_run_does_not_even_note_anything(sweeper: Sweeper, aws: FakeAws, sort: str) -> None:
    leave(sweeper, sort)
    told = sweeper.run({**MANUAL, "dry_run": True})
    assert told["orphans"] == {sort: 1}
    assert sweeper.changes() == []
    assert aws.sns.published == []


def use_instance(sweeper: Sweeper) -> None:
    group = sweeper.aws.autoscaling.groups["train"]
    group.members.append(type(group.members[0])("i-left"))


def use_volume(sweeper: Sweeper) -> None:
    attachment = {"InstanceId": "i-member", "DeleteOnTermination": False}
    sweeper.world.ec2.volumes["vol-left"].document.update(State="in-use", Attachments=[attachment])


def use_interface(sweeper: Sweeper) -> None:
    attachment = {"InstanceId": "i-member"}
    sweeper.world.ec2.interfaces["eni-left"].document.update(Status="in-use", Attachment=attachment)


def use_address(sweeper: Sweeper) -> None:
    sweeper.world.ec2.addresses["eipalloc-left"].document.update(AssociationId="eipassoc-1", InstanceId="i-member")


def use_snapshot(sweeper: Sweeper) -> None:
    sweeper.world.add_image("ami-1", "snap-left")


def use_version(sweeper: Sweeper) -> None:
    specification = {"LaunchTemplateId": TEMPLATE, "LaunchTemplateName": f"name-of-{TEMPLATE}", "Version": "2"}
    sweeper.world.autoscaling.launches_from["train"] = {"LaunchTemplate": specification}


def use_log_group(sweeper: Sweeper) -> None:
    sweeper.world.logs.streams["/left"] = 1


def use_endpoint(sweeper: Sweeper) -> None:
    sweeper.aws.add_machine("i-0123456789abcdef0")


USES = dict(
    zip(
        SORTS,
        (
            use_instance,
            use_address,
            use_interface,
            use_volume,
            use_snapshot,
            use_version,
            use_log_group,
            use_endpoint,
        ),
        strict=True,
    )
)


@pytest.mark.parametrize("sort", SORTS)
def test_what_is_used_again_loses_the_mark(sweeper: Sweeper, sort: str) -> None:
    left = leave(sweeper, sort)
    sweeper.run()
    assert ORPHAN_TAG in left.tags
    USES[sort](sweeper)
    sweeper.wait(DAY)
    assert sweeper.run()["orphans"] == {}
    assert ORPHAN_TAG not in left.tags
    assert left.there()
    assert sweeper.freeing() == []


@pytest.mark.parametrize("sort", SORTS)
def test_case_12_what_is_used_again_between_reading_and_acting_stays(sweeper: Sweeper, aws: FakeAws, sort: str) -> None:
    left = leave(sweeper, sort)
    sweeper.run()
    sweeper.wait(DAY)
    # The second reading of the group is the one right before the first act.
    groups_read = aws.operations().count("DescribeAutoScalingGroups")

    def use(call: Any) -> None:
        again = aws.operations().count("DescribeAutoScalingGroups") == groups_read + 2
        if call.operation == "DescribeAutoScalingGroups" and again:
            USES[sort](sweeper)

    aws.before.append(use)
    told = sweeper.run()
    assert told["freed"] == []
    assert told["spared"][left.id].startswith("used: ")
    assert sweeper.freeing() == []


@pytest.mark.parametrize("sort", SORTS)
def test_what_is_held_between_reading_and_acting_stays(sweeper: Sweeper, aws: FakeAws, sort: str) -> None:
    left = leave(sweeper, sort)
    sweeper.run()
    sweeper.wait(DAY)
    groups_read = aws.operations().count("DescribeAutoScalingGroups")

    def hold(call: Any) -> None:
        if aws.operations().count("DescribeAutoScalingGroups") == groups_read + 2:
            left.tags["accelerated-fleet:hold"] = "true"

    aws.before.append(hold)
    assert sweeper.run()["spared"] == {left.id: "tag accelerated-fleet:hold is 'true'"}
    assert left.there()


@pytest.mark.parametrize(
    "mark", ["", "yes", "2026-11-30", "2027-01-01T00:00:00Z", "2026-10-01T00:00:00Z", "2026-11-01T00:00:00+09:00"]
)
def test_a_mark_that_makes_no_sense_counts_for_nothing(sweeper: Sweeper, mark: str) -> None:
    # The last but one is older than the volume: it was copied from something else.
    volume = sweeper.world.add_volume("left", {**OURS, "accelerated-fleet:orphan": mark}, age_hours=100)
    told = sweeper.run()
    assert (told["new"], told["freed"]) == (["left"], [])
    assert volume.tags["accelerated-fleet:orphan"] == "2026-11-30T12:00:00Z"


def test_an_instance_that_is_started_again_is_seen_anew(sweeper: Sweeper, aws: FakeAws) -> None:
    left = leave(sweeper, "instance")
    sweeper.run()
    sweeper.wait(DAY)
    aws.ec2.machines[left.id].launched_at = aws.clock.now() - timedelta(hours=2)
    assert sweeper.run()["new"] == [left.id]
    assert left.there()


def test_what_is_seen_while_the_group_is_going_is_left_to_the_stack(sweeper: Sweeper, aws: FakeAws) -> None:
    leave(sweeper, "volume")
    sweeper.run()
    sweeper.wait(DAY)
    aws.autoscaling.groups["train"].status = "Delete in progress"
    assert sweeper.run()["freed"] == []
    assert sweeper.freeing() == []


def test_no_more_than_a_hundred_go_in_one_sweep(sweeper: Sweeper) -> None:
    for number in range(130):
        sweeper.world.add_volume(f"vol-{number}", OURS)
    told = sweeper.run_twice()
    assert len(told["freed"]) == 100
    assert len(told["spared"]) == 30
    sweeper.wait(DAY)
    assert len(sweeper.run()["freed"]) == 30


def test_the_hundred_are_of_all_sorts_together(sweeper: Sweeper) -> None:
    for number in range(60):
        sweeper.world.add_volume(f"vol-{number}", OURS)
        sweeper.world.add_interface(f"eni-{number}", OURS)
    told = sweeper.run_twice()
    assert (len(told["freed"]), len(told["spared"])) == (100, 20)


def test_two_sweeps_at_once_do_no_harm(sweeper: Sweeper, aws: FakeAws) -> None:
    left = leave(sweeper, "volume")
    sweeper.run()
    sweeper.wait(DAY)

    def other(call: Any) -> None:
        if call.operation == "DeleteVolume":
            sweeper.world.ec2.volumes.pop(left.id, None)

    aws.before.append(other)
    assert sweeper.run()["freed"] == [left.id]
