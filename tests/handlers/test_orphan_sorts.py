"""What is peculiar to one sort of thing."""

from __future__ import annotations

from typing import Any

import pytest

from orphan_sweep.sweep import SweepIncomplete
from tests.handlers.driving import MANUAL
from tests.handlers.fake_aws import FakeAws
from tests.handlers.fake_aws.leftovers import log_group_arn
from tests.handlers.sweeping import DAY, ORPHAN_TAG, OURS, PATH, SWEEP_ENVIRONMENT, TEMPLATE, Sweeper, leave


@pytest.fixture
def sweeper(aws: FakeAws) -> Sweeper:
    return Sweeper(aws)


# --- log groups ------------------------------------------------------------------------------------------------------


def test_case_52_a_log_group_that_nobody_writes_to_is_found_by_its_tag(sweeper: Sweeper) -> None:
    sweeper.world.add_log_group("/of-a-lost-function", OURS)
    sweeper.world.add_log_group("/at-work", OURS, streams=3)
    sweeper.world.add_log_group("/of-others", {})
    assert sweeper.run_twice()["freed"] == [log_group_arn("/of-a-lost-function")]
    assert sorted(sweeper.world.logs.groups) == ["/at-work", "/of-others"]


def test_a_log_group_that_the_index_remembers_although_it_is_gone_is_no_orphan(sweeper: Sweeper, aws: FakeAws) -> None:
    index: Any = aws.resourcegroupstaggingapi  # type: ignore[attr-defined]
    index.remembers["/gone"] = OURS
    assert sweeper.run()["orphans"] == {}


def test_a_log_group_that_goes_between_reading_and_acting_is_let_go(sweeper: Sweeper, aws: FakeAws) -> None:
    left = leave(sweeper, "log group")
    sweeper.run()
    sweeper.wait(DAY)
    aws.before.append(
        lambda call: sweeper.world.logs.groups.clear() if call.operation == "ListTagsForResource" else None
    )
    assert sweeper.run()["spared"] == {left.id: "gone meanwhile, or the group is going"}


def test_an_arn_with_the_wildcard_of_iam_names_the_same_log_group(sweeper: Sweeper, aws: FakeAws) -> None:
    leave(sweeper, "log group")
    index: Any = aws.resourcegroupstaggingapi  # type: ignore[attr-defined]
    listed = index.get_resources

    def with_wildcard(parameters: Any) -> Any:
        page = listed(parameters)
        for each in page["ResourceTagMappingList"]:
            each["ResourceARN"] += ":*" if ":log-group:" in each["ResourceARN"] else ""
        return page

    index.get_resources = with_wildcard
    assert sweeper.run_twice()["freed"] == [log_group_arn("/left")]


# --- snapshots -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [{}, {"State": "disabled"}, {"DeprecationTime": "2026-01-01T00:00:00Z"}])
def test_a_snapshot_of_an_image_stays_also_when_the_image_is_hidden(sweeper: Sweeper, more: dict[str, Any]) -> None:
    left = leave(sweeper, "snapshot")
    sweeper.world.add_image("ami-1", left.id, **more)
    assert sweeper.run()["orphans"] == {}


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_snapshot_that_any_version_of_the_fleets_template_names_stays(sweeper: Sweeper, version: int) -> None:
    left = leave(sweeper, "snapshot")
    sweeper.world.add_template(TEMPLATE, OURS, versions=3)
    devices = [{"DeviceName": "/dev/xvdb", "Ebs": {"SnapshotId": left.id}}, {"DeviceName": "/dev/xvdc"}]
    sweeper.world.ec2.versions[TEMPLATE][version]["LaunchTemplateData"] = {"BlockDeviceMappings": devices}
    assert sweeper.run()["orphans"] == {"launch template version": 1}


@pytest.mark.parametrize("launched", [False, True])
def test_case_37_a_snapshot_of_a_version_that_a_neighbours_group_or_member_uses_stays(
    sweeper: Sweeper, aws: FakeAws, launched: bool
) -> None:
    left, world = leave(sweeper, "snapshot"), sweeper.world
    world.add_template("lt-neighbour", {}, versions=3)
    devices = [{"DeviceName": "/dev/xvdb", "Ebs": {"SnapshotId": left.id}}]
    world.ec2.versions["lt-neighbour"][1]["LaunchTemplateData"] = {"BlockDeviceMappings": devices}
    aws.add_group("neighbour", ["i-neighbour"])
    named = {"LaunchTemplateId": "lt-neighbour", "LaunchTemplateName": "name-of-lt-neighbour", "Version": "2"}
    uses = {"LaunchTemplate": named}
    if launched:
        world.autoscaling.member_launched_from["i-neighbour"] = uses
    else:
        world.autoscaling.launches_from["neighbour"] = uses
    assert sweeper.run_twice()["freed"] == []
    assert left.there()


def test_a_template_that_is_gone_although_a_member_came_from_it_hides_no_snapshot(
    sweeper: Sweeper, aws: FakeAws
) -> None:
    left = leave(sweeper, "snapshot")
    aws.add_group("neighbour", ["i-neighbour"])
    gone = {"LaunchTemplateId": "lt-gone", "LaunchTemplateName": "gone", "Version": "2"}
    sweeper.world.autoscaling.member_launched_from["i-neighbour"] = {"LaunchTemplate": gone}
    assert sweeper.run_twice()["freed"] == [left.id]


@pytest.mark.parametrize(("state", "found"), [("completed", 1), ("error", 1), ("pending", 0), ("recovering", 0)])
def test_a_snapshot_that_is_being_made_stays(sweeper: Sweeper, state: str, found: int) -> None:
    sweeper.world.add_snapshot("snap-1", OURS, State=state)
    assert sum(sweeper.run()["orphans"].values()) == found


def test_without_an_age_no_snapshot_is_even_listed(aws: FakeAws, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(SWEEP_ENVIRONMENT, "SNAPSHOT_AGE_SECONDS")
    sweeper = Sweeper(aws)
    leave(sweeper, "snapshot")
    assert sweeper.run()["orphans"] == {}
    assert not {"DescribeSnapshots", "DescribeImages"} & set(aws.operations())


@pytest.mark.parametrize(
    ("more", "usd"),
    [
        ({}, 10.0),
        ({"FullSnapshotSizeInBytes": 20 * 1024**3}, 1.0),
        ({"StorageTier": "archive"}, 2.5),
    ],
)
def test_a_snapshot_costs_at_most_what_it_holds(sweeper: Sweeper, more: dict[str, Any], usd: float) -> None:
    sweeper.world.add_snapshot("snap-1", OURS, **more)
    assert sweeper.run()["usd_a_month"] == usd
    assert sweeper.told("snap-1")["price"].startswith("at most ")


# --- volumes, interfaces, addresses ----------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["creating", "in-use", "deleting", "deleted", "error"])
def test_a_volume_in_another_state_than_available_stays(sweeper: Sweeper, state: str) -> None:
    sweeper.world.add_volume("vol-1", OURS, State=state)
    assert sweeper.run()["orphans"] == {}


def test_a_volume_that_says_available_and_names_an_attachment_stays(sweeper: Sweeper) -> None:
    sweeper.world.add_volume("vol-1", OURS, attached_to="i-1", State="available")
    assert sweeper.run()["orphans"] == {}


@pytest.mark.parametrize("kind", ["interface", "efa", "efa-only"])
def test_an_interface_as_instances_have_them_is_found(sweeper: Sweeper, kind: str) -> None:
    sweeper.world.add_interface("eni-1", OURS, InterfaceType=kind)
    assert sweeper.run()["orphans"] == {"network interface": 1}


@pytest.mark.parametrize("more", [{"Status": "attaching"}, {"Attachment": {"InstanceId": "i-1"}}])
def test_an_interface_on_its_way_to_an_instance_stays(sweeper: Sweeper, more: dict[str, Any]) -> None:
    sweeper.world.add_interface("eni-1", OURS, **more)
    assert sweeper.run()["orphans"] == {}


@pytest.mark.parametrize("field", ["AssociationId", "InstanceId", "NetworkInterfaceId"])
def test_an_address_that_points_to_anything_stays(sweeper: Sweeper, field: str) -> None:
    sweeper.world.add_address("eipalloc-1", OURS, **{field: "something"})
    assert sweeper.run()["orphans"] == {}


def test_an_address_of_ones_own_range_costs_nothing(sweeper: Sweeper) -> None:
    sweeper.world.add_address("eipalloc-1", OURS, PublicIpv4Pool="ipv4pool-ec2-1")
    assert (sweeper.run()["usd_a_month"], sweeper.told("eipalloc-1")["price"]) == (0, "an address of your own range")


# --- launch template versions ----------------------------------------------------------------------------------------


def test_versions_found_on_different_days_wait_each_for_itself(sweeper: Sweeper) -> None:
    template = sweeper.world.add_template(TEMPLATE, OURS, versions=3)
    sweeper.run()
    sweeper.wait(DAY / 2)
    versions = sweeper.world.ec2.versions[TEMPLATE]
    versions.append({**versions[-1], "VersionNumber": 4})
    assert sweeper.run()["new"] == [f"{TEMPLATE}:3"]
    assert template.tags[ORPHAN_TAG] == "2026-11-30T12:00:00Z=2 2026-12-01T00:00:00Z=3"
    sweeper.wait(DAY / 2)
    assert sweeper.run()["freed"] == [f"{TEMPLATE}:2"]
    sweeper.wait(DAY / 2)
    assert sweeper.run()["freed"] == [f"{TEMPLATE}:3"]


def test_a_version_used_again_loses_its_note_alone(sweeper: Sweeper) -> None:
    template = sweeper.world.add_template(TEMPLATE, OURS, versions=5)
    sweeper.run()
    specification = {"LaunchTemplateId": TEMPLATE, "Version": "3"}
    sweeper.world.autoscaling.launches_from["train"] = {"LaunchTemplate": specification}
    sweeper.run()
    assert template.tags[ORPHAN_TAG] == "2026-11-30T12:00:00Z=2.4"


@pytest.mark.parametrize("says", ["the version", "the template"])
def test_a_default_version_stays_whoever_says_that_it_is_one(
    sweeper: Sweeper, monkeypatch: pytest.MonkeyPatch, says: str
) -> None:
    # Two answers, one of which can lag behind.
    sweeper.world.add_template(TEMPLATE, OURS, versions=3, default=2)
    ec2 = sweeper.world.ec2
    template = ec2._template

    def lagging(resource: Any) -> dict[str, Any]:
        document = {**template(resource), "DefaultVersionNumber": 1 if says == "the version" else 2}
        ec2.versions[TEMPLATE][1]["DefaultVersion"] = says == "the version"
        return document

    monkeypatch.setattr(ec2, "_template", lagging)
    told = sweeper.run({**MANUAL, "dry_run": True})
    assert told["orphans"] == ({} if says == "the version" else {"launch template version": 1})
    assert sweeper.told_nothing_of(f"{TEMPLATE}:2")


def test_many_versions_are_noted_with_one_call(sweeper: Sweeper, aws: FakeAws) -> None:
    sweeper.world.add_template(TEMPLATE, OURS, versions=300)
    sweeper.run()
    assert aws.operations().count("CreateTags") == 1


def test_a_version_that_somebody_else_deletes_is_let_go(sweeper: Sweeper) -> None:
    left = leave(sweeper, "launch template version")
    sweeper.run()
    sweeper.wait(DAY)
    answer = {
        "UnsuccessfullyDeletedLaunchTemplateVersions": [
            {"ResponseError": {"Code": "launchTemplateVersionDoesNotExist"}}
        ]
    }
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sweeper.world.ec2, "delete_launch_template_versions", lambda given: answer)
        assert sweeper.run()["freed"] == [left.id]


# --- endpoints -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "found"),
    [("pending", 0), ("running", 0), ("stopping", 0), ("stopped", 0), ("shutting-down", 1), ("terminated", 1)],
)
def test_an_endpoint_is_idle_when_its_instance_cannot_come_back(
    sweeper: Sweeper, aws: FakeAws, state: str, found: int
) -> None:
    aws.add_machine("i-0123456789abcdef0").state = state
    sweeper.world.add_endpoint(f"{PATH}/i-0123456789abcdef0", OURS)
    assert sum(sweeper.run()["orphans"].values()) == found


def test_an_endpoint_of_a_member_stays_whatever_ec2_says(sweeper: Sweeper, aws: FakeAws) -> None:
    group = aws.autoscaling.groups["train"]
    group.members.append(type(group.members[0])("i-0123456789abcdef0"))
    sweeper.world.add_endpoint(f"{PATH}/i-0123456789abcdef0", OURS)
    assert sweeper.run()["orphans"] == {}


def test_an_endpoint_written_anew_waits_again(sweeper: Sweeper, aws: FakeAws) -> None:
    left = leave(sweeper, "endpoint parameter")
    sweeper.run()
    sweeper.wait(DAY)
    sweeper.world.ssm.endpoints[left.id].document["LastModifiedDate"] = aws.clock.now()
    assert sweeper.run()["freed"] == []
    assert left.there()


def test_an_advanced_parameter_has_a_price(sweeper: Sweeper) -> None:
    sweeper.world.add_endpoint(f"{PATH}/i-0123456789abcdef0", OURS, tier="Advanced")
    assert sweeper.run()["usd_a_month"] == 0.05


def test_an_endpoint_that_goes_between_reading_and_acting_is_let_go(sweeper: Sweeper, aws: FakeAws) -> None:
    left = leave(sweeper, "endpoint parameter")
    sweeper.run()
    sweeper.wait(DAY)
    aws.before.append(
        lambda call: sweeper.world.ssm.endpoints.clear() if call.operation == "ListTagsForResource" else None
    )
    assert sweeper.run()["spared"] == {left.id: "gone meanwhile, or the group is going"}


# --- time ------------------------------------------------------------------------------------------------------------


def test_what_could_not_be_noted_in_time_is_told_by_the_next_sweep(sweeper: Sweeper, aws: FakeAws) -> None:
    for number in range(3):
        sweeper.world.add_volume(f"vol-{number}", OURS)

    def slow(call: Any) -> None:
        if call.operation == "CreateTags":
            aws.clock.advance(400)

    aws.before.append(slow)
    with pytest.raises(SweepIncomplete, match="vol-2: the sighting could not be noted: ran out of time"):
        sweeper.run()
    aws.before.clear()
    assert sweeper.run()["new"] == ["vol-2"]
