"""Never on a neighbour's thing, and never on what somebody keeps or looks after."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.handlers.fake_aws import FakeAws
from tests.handlers.sweeping import (
    DAY,
    FLEET_TAG,
    HOLD_TAG,
    ORPHAN_TAG,
    OURS,
    PATH,
    SORTS,
    STACK,
    TEMPLATE,
    Sweeper,
    leave,
)

LONG_AGO = {ORPHAN_TAG: "2026-11-27T12:00:00Z"}
OTHERS = ["stack/train-2", "stack/Train", "Stack/train", "stack/trai", "stack/train ", "other/train", "", "*"]


@pytest.fixture
def sweeper(aws: FakeAws) -> Sweeper:
    return Sweeper(aws)


def nothing_was_touched(sweeper: Sweeper, told: dict[str, Any]) -> bool:
    return (told["orphans"], told["freed"], sweeper.changes()) == ({}, [], [])


@pytest.mark.parametrize("value", OTHERS)
@pytest.mark.parametrize("sort", SORTS)
def test_case_37_fleets_with_similar_names_keep_what_is_theirs(sweeper: Sweeper, sort: str, value: str) -> None:
    leave(sweeper, sort, {FLEET_TAG: value, **LONG_AGO})
    assert nothing_was_touched(sweeper, sweeper.run_twice())


@pytest.mark.parametrize("pattern", ["stack/trai?", "stack/*", "*"])
@pytest.mark.parametrize("sort", ["instance", "volume", "network interface", "Elastic IP address", "snapshot"])
def test_case_37_a_filter_that_knows_wildcards_finds_nobody_elses(aws: FakeAws, sort: str, pattern: str) -> None:
    sweeper = Sweeper(aws, environment={"FLEET_TAG_VALUE": pattern})
    sweeper.aws.autoscaling.groups["train"].tags[FLEET_TAG] = pattern
    leave(sweeper, sort, {**OURS, **LONG_AGO})
    assert nothing_was_touched(sweeper, sweeper.run_twice())


@pytest.mark.parametrize("sort", SORTS)
def test_what_has_no_tag_of_the_fleet_is_not_even_told(sweeper: Sweeper, sort: str) -> None:
    leave(sweeper, sort, LONG_AGO)
    assert nothing_was_touched(sweeper, sweeper.run_twice())


def test_case_37_an_instance_of_another_group_with_copied_tags_stays(sweeper: Sweeper, aws: FakeAws) -> None:
    aws.add_group("train-2", ["i-theirs"], tags=OURS)
    assert nothing_was_touched(sweeper, sweeper.run_twice())


def test_case_37_also_when_only_its_tag_names_that_group(sweeper: Sweeper, aws: FakeAws) -> None:
    aws.add_machine("i-theirs", tags={**OURS, "aws:autoscaling:groupName": "train-2"}, age=timedelta(days=9))
    assert nothing_was_touched(sweeper, sweeper.run_twice())


def test_case_34_a_member_that_the_groups_answer_leaves_out_is_asked_for_by_its_id(
    sweeper: Sweeper, aws: FakeAws
) -> None:
    sweeper.world.autoscaling.unlisted.add("i-member")
    assert nothing_was_touched(sweeper, sweeper.run_twice())
    assert "DescribeAutoScalingInstances" in aws.operations()


def test_a_launch_that_the_group_does_not_list_yet_stays(sweeper: Sweeper, aws: FakeAws) -> None:
    aws.add_machine("i-new", tags=OURS, age=timedelta(minutes=59))
    assert sweeper.run()["orphans"] == {}
    sweeper.wait(0.1)
    assert sweeper.run()["orphans"] == {"instance": 1}


@pytest.mark.parametrize("state", ["Terminating:Retained", "Standby", "Pending:Wait", "Terminating:Wait", "Detaching"])
def test_members_in_whatever_state_stay(sweeper: Sweeper, aws: FakeAws, state: str) -> None:
    aws.autoscaling.groups["train"].members[0].lifecycle_state = state
    assert nothing_was_touched(sweeper, sweeper.run_twice())


def test_the_warm_pool_stays(sweeper: Sweeper, aws: FakeAws) -> None:
    group = aws.autoscaling.groups["train"]
    group.warm_pool.append(type(group.members[0])("i-warm", "Warmed:Stopped"))
    aws.add_machine("i-warm", tags={**OURS, "aws:autoscaling:groupName": "train"}, age=timedelta(days=9))
    assert nothing_was_touched(sweeper, sweeper.run_twice())


@pytest.mark.parametrize("value", ["true", "", "until Friday", "False?"])
@pytest.mark.parametrize("sort", SORTS)
def test_what_is_held_stays_and_is_told(sweeper: Sweeper, sort: str, value: str) -> None:
    left = leave(sweeper, sort, {**OURS, HOLD_TAG: value})
    told = sweeper.run_twice()
    assert (told["orphans"], sweeper.freeing(), left.mark) == ({}, [], None)
    if sort != "launch template version":
        assert sweeper.told(left.id)["reason"] == f"tag {HOLD_TAG} is {value!r}"


def test_a_hold_that_says_false_holds_nothing(sweeper: Sweeper) -> None:
    left = leave(sweeper, "volume", {**OURS, HOLD_TAG: "False"})
    assert sweeper.run_twice()["freed"] == [left.id]


@pytest.mark.parametrize("sort", SORTS)
def test_a_hold_takes_the_mark_away_so_that_two_sightings_follow_it(sweeper: Sweeper, sort: str) -> None:
    left = leave(sweeper, sort)
    sweeper.run()
    left.tags[HOLD_TAG] = "true"
    sweeper.wait(DAY)
    sweeper.run()
    assert left.mark is None
    left.tags.pop(HOLD_TAG)
    sweeper.wait(DAY)
    assert sweeper.run()["new"] == [left.id]
    assert left.there()


@pytest.mark.parametrize("sort", [each for each in SORTS if each != "launch template version"])
def test_what_the_fleets_stack_has_made_stays(sweeper: Sweeper, sort: str) -> None:
    left = leave(sweeper, sort)
    sweeper.world.cloudformation.resources.append("/left" if sort == "log group" else left.id)
    assert nothing_was_touched(sweeper, sweeper.run_twice())


def test_an_address_that_the_stack_knows_by_its_number_stays(sweeper: Sweeper) -> None:
    leave(sweeper, "Elastic IP address")
    sweeper.world.cloudformation.resources.append("198.51.100.7")
    assert nothing_was_touched(sweeper, sweeper.run_twice())


@pytest.mark.parametrize(
    "tags",
    [
        {"aws:cloudformation:stack-id": STACK.replace("/stack/", "/data/")},
        {"aws:backup:source-resource": "arn:aws:ec2:eu-west-1:123456789012:volume/vol-1"},
        {"aws:dlm:lifecycle-policy-id": "policy-1"},
    ],
)
@pytest.mark.parametrize("sort", [each for each in SORTS if each != "launch template version"])
def test_what_another_stack_or_a_service_looks_after_stays(sweeper: Sweeper, sort: str, tags: dict[str, str]) -> None:
    leave(sweeper, sort, {**OURS, **tags})
    assert nothing_was_touched(sweeper, sweeper.run_twice())


def test_an_instance_that_was_detached_is_found_although_it_kept_its_tags(sweeper: Sweeper, aws: FakeAws) -> None:
    tags = {**OURS, "aws:cloudformation:stack-id": STACK, "aws:autoscaling:groupName": "train"}
    aws.add_machine("i-kept", tags=tags, age=timedelta(days=9))
    del tags["aws:autoscaling:groupName"]
    aws.add_machine("i-lost", tags=tags, age=timedelta(days=9))
    assert sorted(sweeper.run()["new"]) == ["i-kept", "i-lost"]


@pytest.mark.parametrize(
    ("sort", "field", "value"),
    [
        ("volume", "Operator", {"Managed": True, "Principal": "eks.amazonaws.com"}),
        ("network interface", "Operator", {"Managed": True}),
        ("network interface", "RequesterManaged", True),
        ("network interface", "InterfaceType", "lambda"),
        ("network interface", "InterfaceType", "natGateway"),
        ("Elastic IP address", "ServiceManaged", "alb"),
    ],
)
def test_what_a_service_manages_stays(sweeper: Sweeper, sort: str, field: str, value: Any) -> None:
    leave(sweeper, sort)
    ec2 = sweeper.world.ec2
    for resource in (*ec2.volumes.values(), *ec2.interfaces.values(), *ec2.addresses.values()):
        resource.document[field] = value
    assert nothing_was_touched(sweeper, sweeper.run_twice())


def test_versions_of_a_template_that_the_stack_has_not_made_stay(sweeper: Sweeper) -> None:
    sweeper.world.add_template("lt-copied", {**OURS, **LONG_AGO}, versions=4, own=False)
    told = sweeper.run_twice()
    assert (told["orphans"], sweeper.freeing()) == ({}, [])
    assert sweeper.world.template_versions("lt-copied") == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "name",
    [
        "/accelerated-fleet/stack/train-2/endpoints/i-0123456789abcdef0",
        "/accelerated-fleet/stack/train/i-0123456789abcdef0",
        f"{PATH}/deeper/i-0123456789abcdef0",
        f"{PATH}/model",
        f"{PATH}/i-left",
        f"{PATH}/i-0123456789abcdef0-x",
    ],
)
def test_parameters_that_are_no_endpoint_of_the_fleet_stay(sweeper: Sweeper, name: str) -> None:
    sweeper.world.add_endpoint(name, OURS)
    assert nothing_was_touched(sweeper, sweeper.run_twice())


def test_a_neighbour_keeps_even_a_mark_that_it_copied(sweeper: Sweeper) -> None:
    left = leave(sweeper, "volume", {FLEET_TAG: "stack/train-2", **LONG_AGO})
    sweeper.run_twice()
    assert left.tags == {FLEET_TAG: "stack/train-2", **LONG_AGO}


def test_a_group_without_the_fleets_tag_makes_nothing_an_orphan(sweeper: Sweeper, aws: FakeAws) -> None:
    left = leave(sweeper, "volume")
    sweeper.run()
    sweeper.wait(DAY)
    aws.autoscaling.groups["train"].tags[FLEET_TAG] = "stack/train-2"
    with pytest.raises(Exception, match="does not carry the tag"):
        sweeper.run()
    assert left.there()
    assert sweeper.told_nothing_of(left.id)


def test_case_48_a_list_of_the_stacks_resources_that_lacks_the_group_makes_nothing_an_orphan(
    sweeper: Sweeper,
) -> None:
    left = leave(sweeper, "volume")
    sweeper.world.cloudformation.resources += [left.id]
    sweeper.run()
    sweeper.wait(DAY)
    sweeper.world.cloudformation.resources.clear()
    with pytest.raises(Exception, match="does not list the group"):
        sweeper.run()
    assert left.mark is None
    assert left.there()


def test_only_the_unused_versions_of_the_fleets_template_go(sweeper: Sweeper, aws: FakeAws) -> None:
    world = sweeper.world
    world.add_template(TEMPLATE, OURS, versions=9, default=1)
    by_id = {"LaunchTemplateId": TEMPLATE, "LaunchTemplateName": f"name-of-{TEMPLATE}"}
    overrides = [{"InstanceType": "g6.xlarge", "LaunchTemplateSpecification": {**by_id, "Version": "4"}}]
    mixed = {"LaunchTemplate": {"LaunchTemplateSpecification": {**by_id, "Version": "3"}, "Overrides": overrides}}
    world.autoscaling.launches_from["train"] = {"MixedInstancesPolicy": mixed}
    world.autoscaling.member_launched_from["i-member"] = {"LaunchTemplate": {**by_id, "Version": "5"}}
    aws.add_group("neighbour", [])
    only_name = {"LaunchTemplateName": f"name-of-{TEMPLATE}", "Version": "6"}
    world.autoscaling.launches_from["neighbour"] = {"LaunchTemplate": only_name}
    group = aws.autoscaling.groups["train"]
    group.warm_pool.append(type(group.members[0])("i-warm", "Warmed:Stopped"))
    world.autoscaling.member_launched_from["i-warm"] = {"LaunchTemplate": {**by_id, "Version": "7"}}
    assert sorted(sweeper.run_twice()["freed"]) == [f"{TEMPLATE}:{version}" for version in (2, 8)]
    assert world.template_versions(TEMPLATE) == [1, 3, 4, 5, 6, 7, 9]
