"""The simulated API: boto3's shapes and AWS's error codes, at no more cost than there are instances."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from botocore.exceptions import ClientError

from constructs_lib.rehearsal.cloud.clients import Account, Client
from constructs_lib.rehearsal.cloud.group import Group
from constructs_lib.rehearsal.cloud.metrics import MetricStore
from constructs_lib.rehearsal.cloud.purchasing import Purchasing
from constructs_lib.rehearsal.cloud.work_queue import WorkQueue
from constructs_lib.rehearsal.machine.load import Load
from tests.rehearsal.cloud.groups import HOUR, answers_after, hook, make_group, nobody_answers, run, started


def _account(group: Group) -> Account:
    idle = Load(accelerators=(0.0,))
    account = Account(group, MetricStore({}), WorkQueue("Jobs"), lambda _i, _now: idle, {"State": [(0, "first")]})
    account.now = group.now
    return account


def _client(group: Group, service: str = "autoscaling") -> Client:
    return _account(group).client(service, lambda _action: True)


def _code(call: Callable[..., Mapping[str, Any]], **request: Any) -> tuple[str, int]:
    with pytest.raises(ClientError) as raised:
        call(**request)
    response = raised.value.response
    return response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]


def test_call_that_the_role_does_not_allow_is_denied() -> None:
    client = _account(make_group()).client("autoscaling", lambda action: action != "autoscaling:SetDesiredCapacity")
    with pytest.raises(ClientError, match="AccessDenied"):
        client.set_desired_capacity(AutoScalingGroupName="Group", DesiredCapacity=1)


def test_call_that_is_not_simulated_names_itself() -> None:
    with pytest.raises(AttributeError, match=r"autoscaling\.enter_standby is not simulated"):
        _client(make_group()).enter_standby(InstanceIds=["i-1"])


def test_group_is_described_with_its_members_tags_and_suspensions() -> None:
    tags = [{"Key": "team", "Value": "a", "PropagateAtLaunch": True}]
    group = started(1, Tags=tags, purchasing=Purchasing(types=("g5.xlarge",)))
    client = _client(group)
    client.suspend_processes(AutoScalingGroupName="Group", ScalingProcesses=["Launch"])
    group.suspend(["AZRebalance"], "Administrator suspended it")

    (described,) = client.describe_auto_scaling_groups(AutoScalingGroupNames=["Group"])["AutoScalingGroups"]
    assert (described["MinSize"], described["MaxSize"], described["DesiredCapacity"]) == (0, 10, 1)
    assert [each["InstanceType"] for each in described["Instances"]] == ["g5.xlarge"]
    assert [(each["Key"], each["Value"]) for each in described["Tags"]] == [("team", "a")]
    reasons = {each["ProcessName"]: each["SuspensionReason"] for each in described["SuspendedProcesses"]}
    assert reasons["Launch"].startswith("User suspended")
    assert reasons["AZRebalance"] == "Administrator suspended it"
    assert "WarmPoolConfiguration" not in described
    assert group.in_service[0].tags["team"] == "a"


@pytest.mark.parametrize(
    ("request_", "found"),
    [
        ({"AutoScalingGroupNames": ["Other"]}, 0),
        ({"AutoScalingGroupNames": ["Other", "Group"]}, 1),
        ({}, 1),
        ({"Filters": [{"Name": "tag:team", "Values": ["a"]}]}, 1),
        ({"Filters": [{"Name": "tag:team", "Values": ["b"]}]}, 0),
    ],
)
def test_groups_are_found_by_name_and_tag(request_: dict[str, Any], found: int) -> None:
    client = _client(make_group(Tags=[{"Key": "team", "Value": "a"}]))
    assert len(client.describe_auto_scaling_groups(**request_)["AutoScalingGroups"]) == found
    pages = client.get_paginator("describe_auto_scaling_groups").paginate(**request_)
    assert sum(len(page["AutoScalingGroups"]) for page in pages) == found


@pytest.mark.parametrize(("desired", "bound"), [(11, "max"), (-1, "min")])
def test_desired_capacity_outside_the_sizes_is_refused(desired: int, bound: str) -> None:
    call = _client(make_group()).set_desired_capacity
    assert _code(call, AutoScalingGroupName="Group", DesiredCapacity=desired) == ("ValidationError", 400)


def test_honoured_cooldown_refuses_while_an_activity_is_recent() -> None:
    group = started(1)
    request = {"AutoScalingGroupName": "Group", "DesiredCapacity": 2, "HonorCooldown": True}
    assert _code(_client(group).set_desired_capacity, **request)[0] == "ScalingActivityInProgress"
    run(group, 5)
    assert _client(group).set_desired_capacity(**request) == {}


def test_one_or_many_are_terminated_all_or_none() -> None:
    group = started(4, minimum=1)
    terminate = _client(group).terminate_instance_in_auto_scaling_group
    ids = [each.id for each in group.members]

    answer = terminate(InstanceId=ids[0], ShouldDecrementDesiredCapacity=True)
    assert answer["Activity"]["StatusCode"] == "InProgress"
    answer = terminate(AutoScalingGroupName="Group", InstanceIds=ids[1:3], ShouldDecrementDesiredCapacity=True)
    assert len(answer["Activities"]) == 2
    assert (group.desired, len(group.endings)) == (1, 3)

    assert _code(terminate, InstanceId=ids[3], ShouldDecrementDesiredCapacity=True)[0] == "ValidationError"
    assert _code(terminate, InstanceId="i-0", ShouldDecrementDesiredCapacity=False)[0] == "ValidationError"
    both = {"InstanceId": ids[3], "InstanceIds": ids[3:], "ShouldDecrementDesiredCapacity": False}
    assert _code(terminate, **both)[0] == "ValidationError"
    assert len(group.endings) == 3


def test_protection_takes_fifty_at_a_time_and_only_who_serves() -> None:
    group = started(2)
    protect = _client(group).set_instance_protection
    ids = [each.id for each in group.members]
    protect(AutoScalingGroupName="Group", InstanceIds=ids, ProtectedFromScaleIn=True)
    assert all(each.protected for each in group.members)
    assert _code(protect, InstanceIds=["i-1"] * 51, ProtectedFromScaleIn=True)[0] == "ValidationError"
    group.terminate(ids[0], decrement=True)
    assert _code(protect, InstanceIds=ids, ProtectedFromScaleIn=False)[0] == "ValidationError"
    assert group.members[1].protected, "one that is refused makes the batch fail"


def test_history_comes_newest_first_in_pages() -> None:
    group = started(5)
    ask = _client(group).describe_scaling_activities
    first = ask(AutoScalingGroupName="Group", MaxRecords=3)
    rest = ask(AutoScalingGroupName="Group", MaxRecords=3, NextToken=first["NextToken"])
    ids = [int(each["ActivityId"]) for each in (*first["Activities"], *rest["Activities"])]
    assert ids == [4, 3, 2, 1, 0]
    assert "NextToken" not in rest


def test_hooks_are_described_with_what_aws_takes_for_what_is_left_out() -> None:
    group = make_group(LifecycleHookSpecificationList=[hook("Drain", heartbeat=60)])
    (described,) = _client(group).describe_lifecycle_hooks(AutoScalingGroupName="Group")["LifecycleHooks"]
    assert (described["DefaultResult"], described["HeartbeatTimeout"], described["GlobalTimeout"]) == (
        "ABANDON",
        60,
        6000,
    )


def test_lifecycle_action_that_nobody_waits_for_is_refused() -> None:
    group = make_group(boot=nobody_answers(), LifecycleHookSpecificationList=[hook("Ready", launching=True)])
    group.set_desired(1)
    run(group, 1)
    (instance,) = group.members
    request = {"AutoScalingGroupName": "Group", "LifecycleHookName": "Ready", "InstanceId": instance.id}
    client = _client(group)
    client.record_lifecycle_action_heartbeat(**request)
    client.complete_lifecycle_action(**request, LifecycleActionResult="CONTINUE")
    assert _code(client.complete_lifecycle_action, **request, LifecycleActionResult="CONTINUE")[0] == "ValidationError"
    assert _code(client.record_lifecycle_action_heartbeat, **request)[0] == "ValidationError"


def test_warm_pool_is_described_and_deleted() -> None:
    group = make_group(
        maximum=2,
        WarmPool={"MinSize": 1, "MaxGroupPreparedCapacity": 1},
        boot=answers_after(60),
        LifecycleHookSpecificationList=[hook("Ready", launching=True)],
    )
    run(group, 5)
    client = _client(group)
    pool = client.describe_warm_pool(AutoScalingGroupName="Group", MaxRecords=50)
    assert [each["LifecycleState"] for each in pool["Instances"]] == ["Warmed:Stopped"]
    (described,) = client.describe_auto_scaling_groups()["AutoScalingGroups"]
    assert described["WarmPoolConfiguration"]["PoolState"] == "Stopped"
    assert described["Instances"] == [], "the description of the group leaves the pool out"

    assert _code(client.delete_warm_pool, AutoScalingGroupName="Group")[0] == "ResourceInUse"
    client.delete_warm_pool(AutoScalingGroupName="Group", ForceDelete=True)
    assert _code(client.delete_warm_pool, AutoScalingGroupName="Group", ForceDelete=True)[0] == "ValidationError"


def test_instance_refresh_that_is_not_there_has_its_own_error() -> None:
    code = _code(_client(make_group()).cancel_instance_refresh, AutoScalingGroupName="Group")[0]
    assert code == "ActiveInstanceRefreshNotFound"


def _states(client: Client, **request: Any) -> list[str]:
    answer = client.describe_instances(**request)
    return [each["State"]["Name"] for page in answer["Reservations"] for each in page["Instances"]]


def test_ec2_tells_of_an_instance_until_an_hour_after_its_end() -> None:
    group = started(1)
    (instance,) = group.members
    client = _client(group, "ec2")
    request = {"Filters": [{"Name": "instance-id", "Values": [instance.id]}]}
    assert _states(client, **request) == ["running"]
    group.terminate(instance.id, decrement=True)
    run(group, 2)
    assert _states(client, InstanceIds=[instance.id]) == ["terminated"]
    run(group, HOUR + 1)
    later = _client(group, "ec2")
    assert _states(later, **request) == []
    assert _code(later.describe_instances, InstanceIds=[instance.id])[0] == "InvalidInstanceID.NotFound"


def test_instances_are_found_by_tag_and_state() -> None:
    group = started(2)
    first, second = group.members
    client = _client(group, "ec2")
    client.create_tags(Resources=[first.id], Tags=[{"Key": "hold", "Value": "yes"}])
    filters = [{"Name": "tag:hold", "Values": ["yes"]}, {"Name": "instance-state-name", "Values": ["running"]}]
    assert _states(client, Filters=filters, MaxResults=100) == ["running"]
    client.delete_tags(Resources=[first.id], Tags=[{"Key": "hold"}])
    assert _states(client, Filters=filters) == []
    assert _code(client.create_tags, Resources=["i-0"], Tags=[])[0] == "InvalidInstanceID.NotFound"
    assert second.tags == {"aws:autoscaling:groupName": "Group"}


def test_ec2_terminates_past_the_group_and_says_nothing_twice() -> None:
    group = started(1, LifecycleHookSpecificationList=[hook("Drain")])
    (instance,) = group.members
    client = _client(group, "ec2")
    client.terminate_instances(InstanceIds=[instance.id])
    assert (instance.runs, instance.paid_until) == (False, group.now)
    client.terminate_instances(InstanceIds=[instance.id])
    run(group, 3)
    assert len(group.in_service) == 1, "it is replaced"


def test_parameters_have_versions_of_which_a_hundred_are_kept() -> None:
    client = _client(make_group(), "ssm")
    assert _code(client.get_parameter, Name="None")[0] == "ParameterNotFound"
    assert _code(client.put_parameter, Name="State", Value="x")[0] == "ParameterAlreadyExists"
    for number in range(2, 150):
        assert client.put_parameter(Name="State", Value=str(number), Overwrite=True)["Version"] == number
    assert client.get_parameter(Name="State")["Parameter"]["Value"] == "149"
    assert client.get_parameter(Name="State:50")["Parameter"]["Value"] == "50"
    assert _code(client.get_parameter, Name="State:49")[0] == "ParameterVersionNotFound"
    assert _code(client.get_parameter, Name="State:150")[0] == "ParameterVersionNotFound"


def test_spot_instances_are_told_as_such() -> None:
    group = started(1, purchasing=Purchasing(types=("g6.xlarge",), on_demand_percentage=0))
    (reservation,) = _client(group, "ec2").describe_instances()["Reservations"]
    (machine,) = reservation["Instances"]
    assert (machine["InstanceLifecycle"], machine["InstanceType"]) == ("spot", "g6.xlarge")
