"""What cannot be read is unknown: nothing of that sort is freed, the others are, and the invocation has failed."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from orphan_sweep.sweep import SweepIncomplete
from tests.handlers.fake_aws import FakeAws
from tests.handlers.sweeping import DAY, HOLD_TAG, ORPHAN_TAG, OURS, PATH, SORTS, Sweeper, leave

LISTINGS = {
    "DescribeInstances": ["instance", "endpoint parameter"],
    "DescribeAutoScalingInstances": ["instance"],
    "DescribeAddresses": ["Elastic IP address"],
    "DescribeNetworkInterfaces": ["network interface"],
    "DescribeVolumes": ["volume"],
    "DescribeSnapshots": ["snapshot"],
    "DescribeImages": ["snapshot"],
    "DescribeLaunchTemplates": ["snapshot", "launch template version"],
    "DescribeLaunchTemplateVersions": ["snapshot", "launch template version"],
    "DescribeLogStreams": ["log group"],
    "GetResources": ["log group", "endpoint parameter"],
    "DescribeParameters": ["endpoint parameter"],
}
BELONGINGS = ["DescribeAutoScalingGroups", "DescribeWarmPool", "ListStackResources"]


@pytest.fixture
def sweeper(aws: FakeAws) -> Sweeper:
    return Sweeper(aws)


def leave_all(sweeper: Sweeper) -> dict[str, Any]:
    return {sort: leave(sweeper, sort) for sort in SORTS}


@pytest.mark.parametrize("error", ["UnauthorizedOperation", "Throttling", ReadTimeoutError(endpoint_url="https://aws")])
@pytest.mark.parametrize("operation", LISTINGS)
def test_case_07_and_35_one_listing_that_fails_stops_no_other_sort(
    sweeper: Sweeper, aws: FakeAws, operation: str, error: Any
) -> None:
    left = leave_all(sweeper)
    sweeper.run()
    sweeper.wait(DAY)
    aws.fail(operation, error)
    with pytest.raises(SweepIncomplete):
        sweeper.run()
    unknown = LISTINGS[operation]
    (summary,) = sweeper.lines.documents("orphan sweep")
    assert summary["unknown"] == [sort for sort in SORTS if sort in unknown]
    assert {sort for sort in SORTS if left[sort].there()} == set(unknown)
    # A sum without the unknown ones would look like a good one.
    assert sweeper.lines.metrics() == []


@pytest.mark.parametrize("operation", LISTINGS)
def test_an_unreadable_sort_keeps_its_marks(sweeper: Sweeper, aws: FakeAws, operation: str) -> None:
    left = leave_all(sweeper)
    sweeper.run()
    sweeper.wait(DAY)
    aws.fail(operation, "UnauthorizedOperation")
    with pytest.raises(SweepIncomplete):
        sweeper.run()
    assert all(left[sort].mark for sort in LISTINGS[operation])


@pytest.mark.parametrize("operation", BELONGINGS)
def test_case_07_without_knowing_what_belongs_to_the_fleet_nothing_is_an_orphan(
    sweeper: Sweeper, aws: FakeAws, operation: str
) -> None:
    left = leave_all(sweeper)
    sweeper.run()
    sweeper.wait(DAY)
    aws.fail(operation, "AccessDenied")
    with pytest.raises(SweepIncomplete, match="what belongs to the fleet could not be read"):
        sweeper.run()
    assert all(each.there() for each in left.values())
    assert sweeper.freeing() == []


@pytest.mark.parametrize("operation", BELONGINGS)
def test_case_07_nor_when_it_cannot_be_read_again_before_acting(sweeper: Sweeper, aws: FakeAws, operation: str) -> None:
    left = leave_all(sweeper)
    sweeper.run()
    sweeper.wait(DAY)

    def break_later(call: Any) -> None:
        if call.operation in ("GetResources",):
            aws.fail(operation, "AccessDenied")

    aws.before.append(break_later)
    with pytest.raises(SweepIncomplete, match="could not be read again"):
        sweeper.run()
    assert all(each.there() for each in left.values())


@pytest.mark.parametrize("field", ["Instances", "AutoScalingGroupName"])
def test_a_group_without_a_field_that_must_be_there_makes_everything_unknown(sweeper: Sweeper, field: str) -> None:
    left = leave(sweeper, "volume")
    sweeper.run()
    sweeper.wait(DAY)
    behind = sweeper.world.autoscaling.describe_auto_scaling_groups

    def without(parameters: Any) -> Any:
        page = behind(parameters)
        for group in page["AutoScalingGroups"]:
            del group[field]
        return page

    sweeper.aws.cloudwatch.raw_values["x"] = []  # answers are not checked against the model
    sweeper.world.autoscaling.describe_auto_scaling_groups = without  # type: ignore[method-assign]
    with pytest.raises(SweepIncomplete, match="KeyError"):
        sweeper.run()
    assert left.there()


@pytest.mark.parametrize(
    ("sort", "field"), [("volume", "State"), ("network interface", "Status"), ("snapshot", "State")]
)
def test_a_thing_without_the_field_that_tells_its_use_makes_its_sort_unknown(
    sweeper: Sweeper, sort: str, field: str
) -> None:
    left = leave(sweeper, sort)
    sweeper.run()
    sweeper.wait(DAY)
    ec2 = sweeper.world.ec2
    for resource in (*ec2.volumes.values(), *ec2.interfaces.values(), *ec2.snapshots.values()):
        resource.document.pop(field, None)
    with pytest.raises(SweepIncomplete, match=f"{sort}: could not be read"):
        sweeper.run()
    assert left.there()


@pytest.mark.parametrize("sort", ["instance", "volume", "network interface", "Elastic IP address", "snapshot"])
def test_case_34_what_a_listing_leaves_out_is_neither_freed_nor_unmarked(
    sweeper: Sweeper, aws: FakeAws, sort: str
) -> None:
    left = leave(sweeper, sort)
    sweeper.run()
    sweeper.wait(DAY)
    sweeper.world.ec2.hidden.add(left.id)
    aws.ec2.lost.add(left.id)
    assert sweeper.run()["freed"] == []
    assert left.there()
    assert left.mark is not None


def test_case_34_an_endpoint_whose_instance_ec2_leaves_out_once_stays(sweeper: Sweeper, aws: FakeAws) -> None:
    instance = "i-0123456789abcdef0"
    aws.add_machine(instance)
    endpoint = sweeper.world.add_endpoint(f"{PATH}/{instance}", OURS)
    aws.ec2.lost.add(instance)
    assert sweeper.run()["new"] == [endpoint.id]
    aws.ec2.lost.clear()
    sweeper.wait(DAY)
    assert sweeper.run()["orphans"] == {}
    assert ORPHAN_TAG not in endpoint.tags


@pytest.mark.parametrize("sort", SORTS)
def test_case_35_one_that_cannot_be_freed_stops_no_other(sweeper: Sweeper, aws: FakeAws, sort: str) -> None:
    left = leave_all(sweeper)
    sweeper.run()
    sweeper.wait(DAY)
    operation = {
        "instance": "TerminateInstances",
        "Elastic IP address": "ReleaseAddress",
        "network interface": "DeleteNetworkInterface",
        "volume": "DeleteVolume",
        "snapshot": "DeleteSnapshot",
        "launch template version": "DeleteLaunchTemplateVersions",
        "log group": "DeleteLogGroup",
        "endpoint parameter": "DeleteParameter",
    }[sort]
    aws.fail(operation, "UnauthorizedOperation")
    with pytest.raises(SweepIncomplete, match=f"{left[sort].id}: could not be freed: UnauthorizedOperation"):
        sweeper.run()
    assert [each for each in SORTS if left[each].there()] == [sort]
    assert sweeper.told(left[sort].id)["kept_because"] == "UnauthorizedOperation"


def test_case_35_of_five_instances_the_refused_one_stays_alone(sweeper: Sweeper, aws: FakeAws) -> None:
    for number in range(5):
        aws.add_machine(f"i-{number}", tags=OURS)
    sweeper.run()
    sweeper.wait(DAY)
    aws.fail("TerminateInstances", "UnauthorizedOperation", matches=lambda given: given["InstanceIds"] == ["i-1"])
    with pytest.raises(SweepIncomplete):
        sweeper.run()
    assert aws.terminated() == ["i-0", "i-2", "i-3", "i-4"]


def test_case_51_an_instance_that_somebody_protected_from_termination_is_told_and_stays(
    sweeper: Sweeper, aws: FakeAws
) -> None:
    left = leave(sweeper, "instance")
    aws.ec2.machines[left.id].termination_protected = True
    sweeper.run()
    sweeper.wait(DAY)
    with pytest.raises(SweepIncomplete, match="OperationNotPermitted"):
        sweeper.run()
    assert left.there()
    assert "ModifyInstanceAttribute" not in aws.operations()


def test_case_51_a_survivor_outside_the_group_is_found_by_the_fleets_tag(sweeper: Sweeper, aws: FakeAws) -> None:
    # As a forced deletion leaves it: no member, its group's tag still on it.
    aws.add_machine("i-survivor", tags={**OURS, "aws:autoscaling:groupName": "train"})
    assert sweeper.run_twice()["freed"] == ["i-survivor"]


def test_a_version_that_aws_refuses_to_delete_is_told_although_the_call_succeeds(
    sweeper: Sweeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = leave(sweeper, "launch template version")
    sweeper.run()
    sweeper.wait(DAY)
    answer = {"UnsuccessfullyDeletedLaunchTemplateVersions": [{"ResponseError": {"Code": "unexpectedError"}}]}
    monkeypatch.setattr(sweeper.world.ec2, "delete_launch_template_versions", lambda given: answer)
    with pytest.raises(SweepIncomplete, match="unexpectedError"):
        sweeper.run()
    assert left.there()


@pytest.mark.parametrize("sort", SORTS)
def test_a_sighting_that_cannot_be_noted_frees_nothing_and_fails(sweeper: Sweeper, aws: FakeAws, sort: str) -> None:
    left = leave(sweeper, sort)
    sweeper.world.iam_allows(lambda operation, tags: False)
    for _ in range(3):
        with pytest.raises(SweepIncomplete, match="could not be noted"):
            sweeper.run()
        sweeper.wait(DAY)
    assert left.there()
    # Told every day it would be noise; the failed invocation is heard of.
    assert aws.sns.published == []


@pytest.mark.parametrize("sort", SORTS)
def test_iam_itself_refuses_what_was_never_marked_or_is_held(sweeper: Sweeper, sort: str) -> None:
    left = leave(sweeper, sort)
    sweeper.run()
    sweeper.wait(DAY)
    happened: list[str] = []

    def hold(call: Any) -> None:
        if call.operation.startswith(("Terminate", "Release")) or call.operation in (
            "DeleteVolume",
            "DeleteNetworkInterface",
            "DeleteSnapshot",
            "DeleteLaunchTemplateVersions",
            "DeleteLogGroup",
            "DeleteParameter",
        ):
            happened.append(call.operation)
            left.tags[HOLD_TAG] = "true"

    sweeper.aws.before.append(hold)
    with pytest.raises(SweepIncomplete, match=r"UnauthorizedOperation|AccessDenied"):
        sweeper.run()
    assert len(happened) == 1
    assert left.there()


def test_throttled_calls_are_made_again(sweeper: Sweeper, aws: FakeAws) -> None:
    left = leave(sweeper, "volume")
    for operation in (*LISTINGS, *BELONGINGS, "CreateTags"):
        aws.fail(operation, "RequestLimitExceeded", times=2)
    sweeper.run()
    sweeper.wait(DAY)
    aws.fail("DeleteVolume", "RequestLimitExceeded", times=2)
    assert sweeper.run()["freed"] == [left.id]


def test_a_lost_answer_is_asked_for_again_and_what_is_gone_counts_as_freed(sweeper: Sweeper, aws: FakeAws) -> None:
    left = leave(sweeper, "volume")
    sweeper.run()
    sweeper.wait(DAY)
    aws.lose_answers("DeleteVolume", times=1)
    assert sweeper.run()["freed"] == [left.id]


def test_a_sweep_that_runs_out_of_time_says_so_and_frees_nothing_it_has_not_read(
    sweeper: Sweeper, aws: FakeAws
) -> None:
    left = leave_all(sweeper)
    sweeper.run()
    sweeper.wait(DAY)

    aws.before.append(lambda call: aws.clock.advance(595) if call.operation == "DescribeSnapshots" else None)
    with pytest.raises(SweepIncomplete, match="OutOfTime"):
        sweeper.run()
    assert all(each.there() for each in left.values())


def test_a_topic_that_cannot_be_told_makes_the_invocation_fail(sweeper: Sweeper, aws: FakeAws) -> None:
    leave(sweeper, "volume")
    aws.fail("Publish", "AuthorizationError")
    with pytest.raises(SweepIncomplete, match="the topic could not be told: AuthorizationError"):
        sweeper.run()


# --- pages (case 48) -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("empty", [0, 2])
def test_case_48_every_page_is_read(sweeper: Sweeper, aws: FakeAws, empty: int) -> None:
    world = sweeper.world
    world.ec2.listed_per_page, world.ec2.leading_empty_pages, aws.ec2.page_size = 7, empty, 7
    world.aws.resourcegroupstaggingapi.listed_per_page = 7  # type: ignore[attr-defined]
    ids = [f"{number:03}" for number in range(60)]
    for id in ids:
        aws.add_machine(f"i-{id}", tags=OURS)
        world.add_volume(f"vol-{id}", OURS)
        world.add_interface(f"eni-{id}", OURS)
        world.add_address(f"eipalloc-{id}", OURS)
        world.add_snapshot(f"snap-{id}", OURS)
        world.add_log_group(f"/log/{id}", OURS)
        world.add_endpoint(f"{PATH}/i-00000{id}", OURS)
    world.add_template("lt-1", OURS, versions=62)
    told = sweeper.run()
    assert told["orphans"] == dict.fromkeys(SORTS, 60)


def test_case_48_the_group_and_a_membership_on_a_later_page_are_found(sweeper: Sweeper, aws: FakeAws) -> None:
    del aws.autoscaling.groups["train"]
    for number in range(120):
        aws.add_group(f"group-{number}", [f"i-theirs-{number}"], tags=OURS)
    aws.add_group("train", ["i-member"], tags=OURS)
    assert sweeper.run()["orphans"] == {}


def test_case_48_more_instances_than_one_membership_call_takes(sweeper: Sweeper, aws: FakeAws) -> None:
    for number in range(120):
        aws.add_machine(f"i-{number}", tags=OURS)
    assert sweeper.run()["orphans"] == {"instance": 120}


def test_case_48_an_image_and_a_template_on_a_later_page_keep_their_snapshots(sweeper: Sweeper) -> None:
    world = sweeper.world
    world.ec2.listed_per_page = 2
    for number in range(7):
        world.add_snapshot(f"snap-{number}", OURS)
        world.add_image(f"ami-{number}", f"snap-{number}")
    world.add_snapshot("snap-weights", OURS)
    for number in range(7):
        world.add_template(f"lt-{number}", {}, versions=1, own=False)
    devices = [{"DeviceName": "/dev/xvdb", "Ebs": {"SnapshotId": "snap-weights"}}]
    world.ec2.versions["lt-6"][0]["LaunchTemplateData"] = {"BlockDeviceMappings": devices}
    assert sweeper.run()["orphans"] == {}
