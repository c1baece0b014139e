"""Instances that outlive the clean-up are told, and neighbours are never touched."""

from __future__ import annotations

from tests.handlers.cleaning import PROPERTIES, TAG, CleanUpFunction, event
from tests.handlers.driving import GROUP
from tests.handlers.fake_aws import FakeAws

# ---- case 51: survivors are reported, never touched


def test_case_51_survivors_outside_the_group_are_told_and_left(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    aws.add_group(GROUP, ["i-1"], tags=TAG)
    for state in ("pending", "running", "stopping", "stopped", "shutting-down", "terminated"):
        aws.add_machine(f"i-{state}", tags=TAG).state = state
    aws.add_machine("i-neighbour", tags={"accelerated-fleet:id": "stack-fleet-2"})
    cleanup.run(event("Delete"))
    assert cleanup.answer["Data"] == {"Survivors": "4"}
    (warning,) = cleanup.lines.documents("instances of the fleet run on outside the group")
    assert warning["level"] == "WARN"
    assert warning["instance_ids"] == ["i-pending", "i-running", "i-stopped", "i-stopping"]
    assert "TerminateInstances" not in aws.operations()


def test_case_37_a_tag_value_with_a_wildcard_matches_no_neighbour(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    aws.add_group(GROUP)
    aws.add_machine("i-ours", tags={"accelerated-fleet:id": "stack-fleet-*"})
    aws.add_machine("i-neighbour", tags={"accelerated-fleet:id": "stack-fleet-2"})
    cleanup.run(event("Delete", ResourceProperties={**PROPERTIES, "FleetTagValue": "stack-fleet-*"}))
    assert cleanup.answer["Data"] == {"Survivors": "1"}


def test_case_48_survivors_on_later_pages_are_counted(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    for n in range(1200):
        aws.add_machine(f"i-{n}", tags=TAG)
    cleanup.run(event("Delete"))
    assert cleanup.answer["Data"] == {"Survivors": "1200"}
    assert len(cleanup.bodies[0]) <= 4096


def test_survivors_that_cannot_be_listed_do_not_keep_the_stack(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    aws.add_group(GROUP, ["i-1"])
    aws.fail("DescribeInstances", "UnauthorizedOperation")
    cleanup.run(event("Delete"))
    assert (cleanup.answer["Status"], cleanup.answer["Data"]) == ("SUCCESS", {"Survivors": "unknown"})
    assert cleanup.lines.documents("survivors could not be listed")[0]["level"] == "ERROR"


def test_case_37_a_delete_touches_only_its_own_group(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    for name in ("train-2", "Train"):
        aws.add_group(name, [f"i-{name}"], tags=TAG)
    aws.add_group(GROUP, ["i-1"], tags=TAG)
    cleanup.run(event("Delete"))
    assert aws.terminated() == ["i-1"]
    assert {c.parameters.get("AutoScalingGroupName", GROUP) for c in aws.changes()} == {GROUP}
