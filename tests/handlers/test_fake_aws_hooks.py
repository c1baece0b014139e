"""The fake's hooks, history, parameters and tags: no kinder than AWS (field case 82)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from tests.handlers.fake_aws import FakeAws
from tests.handlers.fake_aws.activities import failed_launch
from tests.handlers.fake_aws.interleaving import all_turns, run_interleaved

GROUP = "train"


def terminate(aws: FakeAws, instance_id: str, *, decrement: bool = True) -> Any:
    return aws.client("autoscaling").terminate_instance_in_auto_scaling_group(
        InstanceId=instance_id, ShouldDecrementDesiredCapacity=decrement
    )


def complete(aws: FakeAws, instance_id: str, result: str = "CONTINUE", hook: str = "Drain") -> Any:
    return aws.client("autoscaling").complete_lifecycle_action(
        LifecycleHookName=hook, AutoScalingGroupName=GROUP, InstanceId=instance_id, LifecycleActionResult=result
    )


def state(aws: FakeAws, instance_id: str) -> str:
    member = aws.autoscaling.groups[GROUP].member(instance_id)
    assert member is not None
    return member.lifecycle_state


# ---- hooks


def test_a_termination_waits_for_its_hook_and_its_capacity_is_gone_at_once(aws: FakeAws) -> None:
    group = aws.add_group(GROUP, ["i-1", "i-2"])
    aws.add_hook(GROUP)
    terminate(aws, "i-1")
    assert (state(aws, "i-1"), group.desired) == ("Terminating:Wait", 1)
    assert aws.bury(GROUP) == []
    complete(aws, "i-1")
    assert state(aws, "i-1") == "Terminating:Proceed"
    assert aws.bury(GROUP) == ["i-1"]
    assert aws.ec2.machines["i-1"].state == "terminated"
    assert [activity.status_code for activity in group.activities] == ["Successful"]


def test_a_hook_times_out_into_its_default(aws: FakeAws) -> None:
    aws.add_group(GROUP, ["i-1"])
    aws.add_hook(GROUP, heartbeat_seconds=360)
    terminate(aws, "i-1")
    aws.clock.advance(359)
    assert aws.bury(GROUP) == []
    aws.clock.advance(1)
    assert aws.bury(GROUP) == ["i-1"]


def test_two_hooks_both_hold_and_abandon_ends_both(aws: FakeAws) -> None:
    aws.add_group(GROUP, ["i-1", "i-2"])
    aws.add_hook(GROUP)
    aws.add_hook(GROUP, "Other")
    terminate(aws, "i-1")
    terminate(aws, "i-2")
    complete(aws, "i-1")
    assert state(aws, "i-1") == "Terminating:Wait"
    complete(aws, "i-2", "ABANDON")
    assert state(aws, "i-2") == "Terminating:Proceed"


@pytest.mark.parametrize(("instance_id", "hook"), [("i-2", "Drain"), ("i-3", "Drain"), ("i-1", "Unknown")])
def test_completing_what_nobody_waits_for_is_refused(aws: FakeAws, instance_id: str, hook: str) -> None:
    aws.add_group(GROUP, ["i-1", "i-2"])
    aws.add_hook(GROUP)
    terminate(aws, "i-1")
    with pytest.raises(ClientError, match="No active Lifecycle Action"):
        complete(aws, instance_id, hook=hook)


def test_an_abandoned_hook_retains_the_instance_outside_the_capacity(aws: FakeAws) -> None:
    group = aws.add_group(GROUP, ["i-1", "i-2"])
    group.retains = True
    aws.add_hook(GROUP)
    terminate(aws, "i-1", decrement=False)
    complete(aws, "i-1", "ABANDON")
    assert (state(aws, "i-1"), group.replacements) == ("Terminating:Retained", 1)
    assert aws.bury(GROUP) == []
    assert [a.status_code for a in group.activities if "Terminating" in a.description] == ["Cancelled"]
    terminate(aws, "i-1", decrement=False)
    assert state(aws, "i-1") == "Terminating"
    assert (group.desired, group.replacements) == (2, 1)


def test_deleting_a_hook_completes_what_waits(aws: FakeAws) -> None:
    aws.add_group(GROUP, ["i-1"])
    aws.add_hook(GROUP)
    terminate(aws, "i-1")
    autoscaling = aws.client("autoscaling")
    hooks = autoscaling.describe_lifecycle_hooks(AutoScalingGroupName=GROUP)["LifecycleHooks"]
    assert [hook["LifecycleHookName"] for hook in hooks] == ["Drain"]
    autoscaling.delete_lifecycle_hook(AutoScalingGroupName=GROUP, LifecycleHookName="Drain")
    assert aws.bury(GROUP) == ["i-1"]
    with pytest.raises(ClientError, match="No Lifecycle Hook"):
        autoscaling.delete_lifecycle_hook(AutoScalingGroupName=GROUP, LifecycleHookName="Drain")


def test_an_abandoned_launch_is_replaced(aws: FakeAws) -> None:
    group = aws.add_group(GROUP, desired=1)
    aws.add_hook(GROUP, "Boot", launching=True)
    group.settle()
    assert state(aws, "i-replacement1") == "Pending:Wait"
    complete(aws, "i-replacement1", "ABANDON", "Boot")
    assert (state(aws, "i-replacement1"), group.replacements) == ("Terminating", 2)


@pytest.mark.parametrize("hooked", [False, True])
def test_case_33_a_second_termination_lowers_the_capacity_again(aws: FakeAws, hooked: bool) -> None:
    group = aws.add_group(GROUP, ["i-1", "i-2", "i-3"])
    if hooked:
        aws.add_hook(GROUP)
    terminate(aws, "i-1")
    terminate(aws, "i-1")
    assert group.desired == 1
    aws.autoscaling.accepts_second_termination = False
    with pytest.raises(ClientError, match="already being terminated"):
        terminate(aws, "i-1")


def test_a_warm_instance_cannot_be_terminated_by_the_usual_call(aws: FakeAws) -> None:
    group = aws.add_group(GROUP, ["i-1"])
    group.warm_pool.append(group.members.pop())
    with pytest.raises(ClientError, match="warm pool"):
        terminate(aws, "i-1")


# ---- history, processes, refreshes


def test_activities_come_newest_first_and_in_pages(aws: FakeAws) -> None:
    group = aws.add_group(GROUP)
    for minute in range(5):
        group.activities.append(failed_launch(f"no {minute}", aws.clock.now() + timedelta(minutes=minute)))
    aws.autoscaling.activities_per_page = 2
    autoscaling = aws.client("autoscaling")
    first = autoscaling.describe_scaling_activities(AutoScalingGroupName=GROUP)
    assert [each["StatusMessage"] for each in first["Activities"]] == ["no 4", "no 3"]
    second = autoscaling.describe_scaling_activities(AutoScalingGroupName=GROUP, NextToken=first["NextToken"])
    assert [each["StatusMessage"] for each in second["Activities"]] == ["no 2", "no 1"]
    with pytest.raises(ClientError, match="100"):
        autoscaling.describe_scaling_activities(AutoScalingGroupName=GROUP, MaxRecords=101)


def test_launches_are_in_the_history_and_stop_when_launch_is_suspended(aws: FakeAws) -> None:
    group = aws.add_group(GROUP, desired=2)
    group.launch_fails_with = "no capacity"
    group.settle()
    assert [each.status_code for each in group.activities] == ["Failed"]
    autoscaling = aws.client("autoscaling")
    autoscaling.suspend_processes(AutoScalingGroupName=GROUP, ScalingProcesses=["Launch"])
    group.settle()
    assert len(group.activities) == 1
    group.launch_fails_with = None
    autoscaling.resume_processes(AutoScalingGroupName=GROUP, ScalingProcesses=["Launch"])
    assert len(group.members) == 2
    with pytest.raises(ClientError, match="Invalid process"):
        autoscaling.suspend_processes(AutoScalingGroupName=GROUP, ScalingProcesses=["Launches"])


def test_a_refresh_is_cancelled_in_two_steps_and_only_once(aws: FakeAws) -> None:
    group = aws.add_group(GROUP)
    group.refresh_status = "InProgress"
    autoscaling = aws.client("autoscaling")
    autoscaling.cancel_instance_refresh(AutoScalingGroupName=GROUP)
    seen = [
        autoscaling.describe_instance_refreshes(AutoScalingGroupName=GROUP)["InstanceRefreshes"][0]["Status"]
        for _ in range(2)
    ]
    assert seen == ["Cancelling", "Cancelled"]
    with pytest.raises(ClientError, match="ActiveInstanceRefreshNotFound"):
        autoscaling.cancel_instance_refresh(AutoScalingGroupName=GROUP)


def test_a_lagging_answer_shows_what_was(aws: FakeAws) -> None:
    aws.add_group(GROUP, ["i-1"])
    aws.autoscaling.lag()
    terminate(aws, "i-1")
    autoscaling = aws.client("autoscaling")
    (seen,) = autoscaling.describe_auto_scaling_groups(AutoScalingGroupNames=[GROUP])["AutoScalingGroups"]
    assert (seen["DesiredCapacity"], seen["Instances"][0]["LifecycleState"]) == (1, "InService")
    aws.autoscaling.catch_up()
    (seen,) = autoscaling.describe_auto_scaling_groups(AutoScalingGroupNames=[GROUP])["AutoScalingGroups"]
    assert (seen["DesiredCapacity"], seen["Instances"][0]["LifecycleState"]) == (0, "Terminating")


# ---- parameters, tags, topics


def test_each_put_gives_the_next_version(aws: FakeAws) -> None:
    ssm = aws.client("ssm")
    with pytest.raises(ClientError, match="not found"):
        ssm.get_parameter(Name="state")
    aws.add_parameter("state")
    assert ssm.put_parameter(Name="state", Value="a", Overwrite=True)["Version"] == 2
    assert ssm.get_parameter(Name="state")["Parameter"]["Value"] == "a"
    assert ssm.get_parameter(Name="state:1")["Parameter"]["Value"] == "{}"
    with pytest.raises(ClientError, match="already exists"):
        ssm.put_parameter(Name="state", Value="b")
    with pytest.raises(ClientError, match="4096"):
        ssm.put_parameter(Name="state", Value="x" * 4097, Overwrite=True)
    with pytest.raises(ClientError, match="ParameterVersionNotFound"):
        ssm.get_parameter(Name="state:3")


def test_a_stale_read_lacks_the_newest_version(aws: FakeAws) -> None:
    aws.add_parameter("state", "a")
    aws.add_parameter("state", "b")
    aws.ssm.stale_reads = 1
    ssm = aws.client("ssm")
    versions = [ssm.get_parameter(Name="state")["Parameter"]["Version"] for _ in range(2)]
    assert versions == [1, 2]


def test_a_lost_answer_has_taken_effect(aws: FakeAws) -> None:
    aws.add_parameter("state")
    aws.lose_answers("PutParameter", times=1)
    with pytest.raises(ReadTimeoutError):
        aws.client("ssm").put_parameter(Name="state", Value="a", Overwrite=True)
    assert aws.ssm.parameters["state"].value == "a"


def test_what_a_function_remembers_is_no_change_of_the_fleet(aws: FakeAws) -> None:
    aws.add_parameter("state")
    aws.client("ssm").put_parameter(Name="state", Value="a", Overwrite=True)
    assert aws.changes() == []


def test_tags_are_set_and_removed_and_all_or_none(aws: FakeAws) -> None:
    aws.add_group(GROUP, ["i-1", "i-2"])
    ec2 = aws.client("ec2")
    ec2.create_tags(Resources=["i-1", "i-2"], Tags=[{"Key": "a", "Value": "1"}])
    ec2.delete_tags(Resources=["i-1"], Tags=[{"Key": "a"}])
    ec2.delete_tags(Resources=["i-2"], Tags=[{"Key": "a", "Value": "2"}])
    assert [aws.ec2.machines[each].tags.get("a") for each in ("i-1", "i-2")] == [None, "1"]
    with pytest.raises(ClientError, match="does not exist"):
        ec2.create_tags(Resources=["i-1", "i-9"], Tags=[{"Key": "a", "Value": "3"}])
    assert "a" not in aws.ec2.machines["i-1"].tags
    with pytest.raises(ClientError, match="1000"):
        ec2.create_tags(Resources=["i-1"] * 1001, Tags=[{"Key": "a", "Value": "3"}])


def test_a_machine_asked_for_by_its_id_is_there_or_the_call_is_refused(aws: FakeAws) -> None:
    aws.add_group(GROUP, ["i-1"])
    ec2 = aws.client("ec2")
    (found,) = ec2.describe_instances(InstanceIds=["i-1"])["Reservations"]
    assert found["Instances"][0]["State"]["Name"] == "running"
    with pytest.raises(ClientError, match="does not exist"):
        ec2.describe_instances(InstanceIds=["i-1", "i-9"])
    with pytest.raises(ClientError, match="exclude each other"):
        ec2.describe_instances(InstanceIds=["i-1"], MaxResults=5)


def test_a_message_reaches_the_topic(aws: FakeAws) -> None:
    sns = aws.client("sns")
    sns.publish(TopicArn="arn:aws:sns:eu-west-1:123456789012:t", Subject="s", Message="m")
    assert [each["Message"] for each in aws.sns.published] == ["m"]
    with pytest.raises(ClientError, match="Subject"):
        sns.publish(TopicArn="arn:aws:sns:eu-west-1:123456789012:t", Subject="x" * 101, Message="m")


# ---- two at once


def test_every_order_of_calls_is_walked(aws: FakeAws) -> None:
    assert len(list(all_turns(2, 3))) == 10
    aws.add_parameter("state")
    ssm = aws.client("ssm")
    seen: list[tuple[str, int]] = []

    def walk(name: str) -> str:
        for _ in range(2):
            seen.append((name, ssm.put_parameter(Name="state", Value=name, Overwrite=True)["Version"]))
        return name

    walks = run_interleaved(aws, (0, 1, 1, 0), lambda: walk("a"), lambda: walk("b"))
    assert [each.result for each in walks] == ["a", "b"]
    assert sorted(seen) == [("a", 2), ("a", 5), ("b", 3), ("b", 4)]
    assert aws.before == []
