"""The emulator's groups protect, refuse and replace as AWS does, so that the demo cannot come true by kindness."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError, WaiterError

from demo.emulator import Emulator
from tests.emulator.fleets import TYPES, WAITER, Fleet

pytestmark = [pytest.mark.emulator, pytest.mark.allow_hosts(["127.0.0.1"])]


def test_case_82_instances_are_what_the_launch_template_says(fleet: Fleet) -> None:
    fleet.grow(3)
    instances = fleet.running()
    assert [instance["InstanceType"] for instance in instances] == [TYPES[0], TYPES[1], TYPES[0]]
    assert len({instance["Placement"]["AvailabilityZone"] for instance in instances}) == 2
    for instance in instances:
        tags = {tag["Key"]: tag["Value"] for tag in instance["Tags"]}
        assert tags["fleet"] == "f"
        assert tags["aws:autoscaling:groupName"] == fleet.name
        assert tags["aws:cloudformation:stack-name"] == fleet.stack
        assert instance["ImageId"].startswith("ami-")
    volumes = fleet.volumes(instances[0]["InstanceId"])
    assert {(v["Attachments"][0]["Device"], v["Size"]) for v in volumes} == {("/dev/xvda", 90), ("/dev/xvdb", 10)}
    assert all(volume["Tags"] == [{"Key": "fleet", "Value": "f"}] for volume in volumes)


def test_case_82_a_protected_member_is_not_taken(fleet: Fleet) -> None:
    first, second, third = fleet.grow(3)
    fleet.protect(second, protected=False)
    fleet.grow(0)
    assert fleet.members() == [first, third]
    assert fleet.group()["DesiredCapacity"] == 0, "AWS lowers the desired capacity even if nobody may go"
    fleet.resize(MinSize=0, MaxSize=0)
    assert fleet.members() == [first, third]


def test_case_82_a_scale_in_that_waited_takes_the_member_when_its_protection_ends(fleet: Fleet) -> None:
    first, second = fleet.grow(2)
    fleet.grow(0)
    fleet.protect(first, protected=False)
    assert fleet.members() == [second]


def test_case_82_protection_does_not_stop_a_termination_by_id(fleet: Fleet) -> None:
    first, second = fleet.grow(2)
    activity = fleet.terminate(first, decrement=True)
    assert activity["StatusCode"] == "InProgress"
    assert fleet.members() == [second]
    assert fleet.group()["DesiredCapacity"] == 1
    assert [instance["InstanceId"] for instance in fleet.running()] == [second]


def test_case_82_a_termination_without_decrement_is_replaced(fleet: Fleet) -> None:
    first, second = fleet.grow(2)
    fleet.terminate(first, decrement=False)
    members = fleet.members()
    assert len(members) == 2
    assert second in members
    assert first not in members


def test_case_82_a_termination_from_outside_is_replaced(fleet: Fleet) -> None:
    (only,) = fleet.grow(1)
    fleet.emulator.client("ec2").terminate_instances(InstanceIds=[only])
    (replacement,) = fleet.members()
    assert replacement != only
    assert [volume["Size"] for volume in fleet.volumes(only)] == [], "one is deleted with it, one detached"


def test_case_82_the_minimum_refuses_a_decrement(fleet: Fleet) -> None:
    (only,) = fleet.grow(1)
    fleet.resize(MinSize=1)
    with pytest.raises(ClientError, match=r"desiredSize equals minSize \(1\)") as refused:
        fleet.terminate(only, decrement=True)
    assert refused.value.response["Error"]["Code"] == "ValidationError"
    assert fleet.members() == [only]


def test_case_82_an_instance_of_no_group_is_refused(fleet: Fleet) -> None:
    with pytest.raises(ClientError, match="No managed instance found"):
        fleet.terminate("i-0123456789abcdef0", decrement=True)


@pytest.mark.parametrize(("desired", "message"), [(9, "9 is above max value 8"), (0, "0 is below min value 1")])
def test_case_82_desired_capacity_stays_within_the_sizes(fleet: Fleet, desired: int, message: str) -> None:
    fleet.resize(MinSize=1)
    with pytest.raises(ClientError, match=message):
        fleet.grow(desired)
    assert fleet.group()["DesiredCapacity"] == 1


def test_case_82_at_most_50_members_are_protected_at_once(fleet: Fleet) -> None:
    fleet.resize(MaxSize=51)
    members = fleet.grow(51)
    with pytest.raises(ClientError, match="1 to 50 ids, got 51"):
        fleet.protect(*members, protected=False)
    fleet.protect(*members[:50], protected=False)
    protected = [member["InstanceId"] for member in fleet.group()["Instances"] if member["ProtectedFromScaleIn"]]
    assert protected == members[50:]


def test_case_82_one_foreign_id_refuses_a_whole_protection_call(fleet: Fleet) -> None:
    (only,) = fleet.grow(1)
    with pytest.raises(ClientError, match="is not part of"):
        fleet.protect(only, "i-0123456789abcdef0", protected=False)
    assert fleet.group()["Instances"][0]["ProtectedFromScaleIn"]


def test_case_82_a_group_with_members_is_not_deleted(fleet: Fleet) -> None:
    (only,) = fleet.grow(1)
    with pytest.raises(ClientError) as refused:
        fleet.autoscaling.delete_auto_scaling_group(AutoScalingGroupName=fleet.name)
    assert refused.value.response["Error"]["Code"] == "ResourceInUse"
    assert fleet.members() == [only]
    fleet.autoscaling.delete_auto_scaling_group(AutoScalingGroupName=fleet.name, ForceDelete=True)
    assert fleet.running() == []


def test_case_82_suspended_processes_hold(fleet: Fleet) -> None:
    first, second = fleet.grow(2)
    fleet.protect(first, second, protected=False)
    fleet.autoscaling.suspend_processes(AutoScalingGroupName=fleet.name, ScalingProcesses=["Launch", "Terminate"])
    fleet.grow(0)
    assert fleet.members() == [first, second], "Terminate is suspended"
    fleet.terminate(first, decrement=False)
    assert fleet.members() == [second], "a person's request is the one exception"
    assert fleet.grow(3) == [second], "Launch is suspended"
    fleet.autoscaling.resume_processes(AutoScalingGroupName=fleet.name, ScalingProcesses=["Launch"])
    assert len(fleet.members()) == 3


def test_case_82_only_volumes_that_say_so_survive(fleet: Fleet) -> None:
    (only,) = fleet.grow(1)
    attached = fleet.volumes(only)
    fleet.terminate(only, decrement=True)
    everything = fleet.emulator.client("ec2").describe_volumes()["Volumes"]
    left = {volume["VolumeId"]: volume for volume in everything}
    survivors = [volume for volume in attached if volume["VolumeId"] in left]
    assert [volume["Size"] for volume in survivors] == [10]
    assert left[survivors[0]["VolumeId"]]["State"] == "available"


def test_case_82_what_is_not_modelled_is_refused(emulator: Emulator, fleet: Fleet) -> None:
    ec2 = emulator.client("ec2")
    with pytest.raises(ClientError, match="does not apply the filter 'vpc-id'"):
        ec2.describe_instances(Filters=[{"Name": "vpc-id", "Values": ["vpc-1"]}])
    with pytest.raises(ClientError, match="does not apply the filter 'tag:fleet'"):
        ec2.describe_network_interfaces(Filters=[{"Name": "tag:fleet", "Values": ["f"]}])
    with pytest.raises(ClientError, match="does not model DefaultCooldown"):
        fleet.resize(DefaultCooldown=1)
    with pytest.raises(WaiterError):
        Fleet.deploy(emulator, "unknown-property", DesiredCapacityType="units")
    (stack,) = emulator.client("cloudformation").describe_stacks(StackName="unknown-property")["Stacks"]
    assert stack["StackStatus"] == "ROLLBACK_COMPLETE"


def test_case_82_launch_times_move_back_only_when_asked(emulator: Emulator, fleet: Fleet) -> None:
    fleet.grow(1)
    before = fleet.running()[0]["LaunchTime"]
    emulator.control("back-date", {"group": fleet.name, "seconds": 1800})
    assert (before - fleet.running()[0]["LaunchTime"]).total_seconds() == 1800


def test_case_02_a_deploy_leaves_the_desired_capacity(fleet: Fleet) -> None:
    members = fleet.grow(3)
    fleet.redeploy(MaxSize="6")
    assert (fleet.group()["MaxSize"], fleet.group()["DesiredCapacity"]) == (6, 3)
    assert fleet.members() == members
    fleet.protect(*members, protected=False)
    fleet.redeploy(MaxSize="2")
    assert len(fleet.members()) == 2, "a maximum below the desired capacity cuts it"


def test_case_04_a_stack_with_unprotected_members_is_deleted(emulator: Emulator, fleet: Fleet) -> None:
    fleet.protect(*fleet.grow(2), protected=False)
    cloudformation = emulator.client("cloudformation")
    cloudformation.delete_stack(StackName=fleet.stack)
    cloudformation.get_waiter("stack_delete_complete").wait(StackName=fleet.stack, WaiterConfig=WAITER)
    assert fleet.running() == []


DRAIN = {
    "LifecycleHookName": "Drain",
    "LifecycleTransition": "autoscaling:EC2_INSTANCE_TERMINATING",
    "HeartbeatTimeout": 360,
    "DefaultResult": "CONTINUE",
}


def _with_hook(emulator: Emulator, stack: str) -> Fleet:
    return Fleet.deploy(emulator, stack, LifecycleHookSpecificationList=[DRAIN])


def _states(fleet: Fleet) -> dict[str, str]:
    return {member["InstanceId"]: member["LifecycleState"] for member in fleet.group()["Instances"]}


def test_case_82_a_termination_hook_holds_a_member_that_runs_on(emulator: Emulator) -> None:
    fleet = _with_hook(emulator, "hook-holds")
    first, second = fleet.grow(2)
    fleet.terminate(first, decrement=True)
    assert _states(fleet) == {first: "Terminating:Wait", second: "InService"}
    assert first in [instance["InstanceId"] for instance in fleet.running()], "it bills while it waits"
    assert fleet.group()["DesiredCapacity"] == 1

    for instance_id, name in ((second, "Drain"), (first, "Other")):
        with pytest.raises(ClientError, match="No active Lifecycle Action"):
            fleet.complete(instance_id, name)
    fleet.complete(first, "Drain")
    assert _states(fleet) == {second: "InService"}
    with pytest.raises(ClientError, match="No active Lifecycle Action"):
        fleet.complete(first, "Drain")


def test_case_82_a_member_that_waits_is_replaced_if_the_desired_capacity_stays(emulator: Emulator) -> None:
    fleet = _with_hook(emulator, "hook-replaces")
    (first,) = fleet.grow(1)
    fleet.terminate(first, decrement=False)
    assert sorted(_states(fleet).values()) == ["InService", "Terminating:Wait"]


def test_case_82_a_deleted_hook_lets_go_of_who_waits(emulator: Emulator) -> None:
    fleet = _with_hook(emulator, "hook-deleted")
    (first,) = fleet.grow(1)
    fleet.terminate(first, decrement=True)
    hooks = fleet.autoscaling.describe_lifecycle_hooks(AutoScalingGroupName=fleet.name)["LifecycleHooks"]
    assert [(hook["LifecycleHookName"], hook["HeartbeatTimeout"]) for hook in hooks] == [("Drain", 360)]
    fleet.autoscaling.delete_lifecycle_hook(AutoScalingGroupName=fleet.name, LifecycleHookName="Drain")
    assert _states(fleet) == {}


def test_case_82_a_hook_holds_a_member_whose_machine_is_gone(emulator: Emulator) -> None:
    fleet = _with_hook(emulator, "hook-of-the-dead")
    (first,) = fleet.grow(1)
    emulator.client("ec2").terminate_instances(InstanceIds=[first])
    states = _states(fleet)
    assert states.pop(first) == "Terminating:Wait"
    assert list(states.values()) == ["InService"]


def test_case_82_a_launch_hook_is_refused(emulator: Emulator) -> None:
    launching = {**DRAIN, "LifecycleTransition": "autoscaling:EC2_INSTANCE_LAUNCHING"}
    with pytest.raises(WaiterError):
        Fleet.deploy(emulator, "launch-hook", LifecycleHookSpecificationList=[launching])
