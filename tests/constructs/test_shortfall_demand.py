"""A fleet that stands in for another one: what it is told and may do, whom it may stand in for, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
from aws_cdk import App, Duration, Stack, Validations
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from aws_cdk.assertions import Annotations, Match, Template
from cdk_nag import AwsSolutionsChecks
from constructs import Construct

from constructs_lib import (
    AcceleratedFleet,
    ArgumentError,
    FleetSchedule,
    IdlePolicy,
    IdleRelease,
    PoolState,
    Purchase,
    QueueDemand,
    WakeUp,
    WarmPool,
)
from constructs_lib.scaling import ShortfallDemand
from tests.constructs.purchasing import findings
from tests.constructs.reading import as_list, plain, properties, resources, role_statements, text
from tests.constructs.scenarios import queue
from tests.support.stacks import fleet, stack, vpc

FUNCTION = "AWS::Lambda::Function"
PATIENT = IdlePolicy(max_failed_launches=0)


def spot_fleet(scope: Construct, id: str = "Spot", **arguments: Any) -> AcceleratedFleet:
    """The first step of a ladder."""
    given = {"instance_types": ["g6.xlarge", "g5.xlarge"], "purchase": Purchase.spot(), "idle": PATIENT, **arguments}
    return fleet(scope, id, **given)


def ladder(scope: Construct) -> AcceleratedFleet:
    """Spot with a queue, and On-Demand that stands in for it."""
    network = vpc(scope)
    first = spot_fleet(scope, vpc=network, demand=QueueDemand(queue(scope)))
    return fleet(scope, "OnDemand", vpc=network, instance_types="g6.xlarge", demand=ShortfallDemand(first))


@cache
def made() -> Mapping[str, Any]:
    test_stack = stack()
    ladder(test_stack)
    return dict(Template.from_stack(test_stack).to_json())


def environment(of: str) -> dict[str, Any]:
    variables = properties(made(), of, FUNCTION)["Environment"]["Variables"]
    return {name: text(value) for name, value in variables.items()}


def warned(scope: Stack) -> list[str]:
    found = Annotations.from_stack(scope).find_warning("*", Match.any_value())
    ids = [str(each.entry.data).rpartition("[ack: ")[2].rstrip("]") for each in found]
    return sorted({id.rpartition(":")[2] for id in ids if id.startswith("@cdk-accelerated-fleet/")})


def imported(scope: Construct, id: str = "Imported", name: str = "workers") -> autoscaling.IAutoScalingGroup:
    return autoscaling.AutoScalingGroup.from_auto_scaling_group_name(scope, id, name)


def plain_group(scope: Construct, **arguments: Any) -> autoscaling.AutoScalingGroup:
    template = ec2.LaunchTemplate(
        scope,
        "Template",
        instance_type=ec2.InstanceType("g6.xlarge"),
        machine_image=ec2.MachineImage.latest_amazon_linux2023(),
    )
    return autoscaling.AutoScalingGroup(scope, "Group", vpc=vpc(scope), launch_template=template, **arguments)


# --- what it is told and may do ------------------------------------------------------------------------------------


def test_the_wake_function_is_told_of_both_groups_and_of_no_queue() -> None:
    assert environment("OnDemandWakeHandlerFunction") == {
        "AUTO_SCALING_GROUP_NAME": "<OnDemandAutoScalingGroupASG>",
        "SHORTFALL_OF_GROUP": "<SpotAutoScalingGroupASG>",
        "SHORTFALL_AFTER_SECONDS": "900",
    }


def test_the_release_function_knows_what_its_capacity_was_for_and_of_no_queue() -> None:
    told = environment("OnDemandReleaseHandlerFunction")
    assert told["SHORTFALL_OF_GROUP"] == "<SpotAutoScalingGroupASG>"
    assert "QUEUE_URL" not in told


def test_the_wake_function_may_read_both_groups_and_raise_its_own() -> None:
    _, *may = role_statements(made(), "OnDemandWakeHandlerRole")
    assert [(each["Action"], text(each["Resource"])) for each in may] == [
        ("cloudwatch:GetMetricData", "*"),
        ("autoscaling:DescribeAutoScalingGroups", "*"),
        (
            "autoscaling:SetDesiredCapacity",
            "arn:<AWS::Partition>:autoscaling:<AWS::Region>:<AWS::AccountId>:autoScalingGroup:*:autoScalingGroupName/"
            "<OnDemandAutoScalingGroupASG>",
        ),
    ]


def test_no_function_of_it_may_change_the_other_group_or_read_the_queue() -> None:
    for function in ("Wake", "Release"):
        for each in role_statements(made(), f"OnDemand{function}HandlerRole"):
            assert "SpotAutoScalingGroupASG" not in str(each)
            assert not any(action.startswith("sqs:") for action in as_list(plain(each)["Action"]))


def test_the_stopped_alarm_knows_that_work_waits_by_what_the_other_fleet_lacks() -> None:
    alarm = properties(made(), "OnDemandWakeStoppedAlarm", "AWS::CloudWatch::Alarm")
    expressions = {each["Id"]: each["Expression"] for each in alarm["Metrics"] if "Expression" in each}
    assert expressions["waiting"] == "desired - in_service"
    read = {each["Id"]: each["MetricStat"]["Metric"] for each in alarm["Metrics"] if "MetricStat" in each}
    for id, name in {"desired": "GroupDesiredCapacity", "in_service": "GroupInServiceInstances"}.items():
        assert (read[id]["Namespace"], read[id]["MetricName"]) == ("AWS/AutoScaling", name)
        assert text(read[id]["Dimensions"][0]["Value"]) == "<SpotAutoScalingGroupASG>"


def test_no_work_keeps_its_instances_so_nothing_warns_that_they_wait_for_some() -> None:
    stalled = [name for name in resources(made(), "AWS::CloudWatch::Alarm") if "StalledWork" in name]
    assert [name[:4] for name in stalled] == ["Spot"]


def test_the_template_is_valid_and_rule_packs_have_nothing_to_say() -> None:
    assert findings(dict(made())) == []
    app = App()
    ladder(Stack(app, "Test"))
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    app.synth()


def test_it_is_no_warning_that_a_ladder_stands() -> None:
    test_stack = stack()
    ladder(test_stack)
    assert warned(test_stack) == []


def test_the_two_may_be_in_two_stacks_and_only_one_needs_the_other() -> None:
    app = App()
    first, second = Stack(app, "First"), Stack(app, "Second")
    spot = spot_fleet(first, demand=QueueDemand(queue(first)))
    fleet(second, demand=ShortfallDemand(spot))
    app.synth()
    assert [each.node.id for each in second.dependencies] == ["First"]
    assert first.dependencies == []


def test_a_ladder_has_as_many_steps_as_are_wanted() -> None:
    test_stack = stack()
    network = vpc(test_stack)
    first = spot_fleet(test_stack, vpc=network, demand=QueueDemand(queue(test_stack)))
    second = spot_fleet(
        test_stack, "Other", vpc=network, instance_types=["g6e.xlarge", "g4dn.xlarge"], demand=ShortfallDemand(first)
    )
    fleet(test_stack, "Last", vpc=network, demand=ShortfallDemand(second, after=Duration.minutes(30)))
    template = Template.from_stack(test_stack).to_json()
    told = properties(template, "LastWakeHandlerFunction", FUNCTION)["Environment"]["Variables"]
    assert text(told["SHORTFALL_OF_GROUP"]) == "<OtherAutoScalingGroupASG>"
    assert told["SHORTFALL_AFTER_SECONDS"] == "1800"


# --- for how long --------------------------------------------------------------------------------------------------


def test_it_waits_a_quarter_of_an_hour_unless_told_otherwise() -> None:
    first = spot_fleet(stack())
    assert ShortfallDemand(first).after_seconds == ShortfallDemand(first, after=None).after_seconds == 900
    assert ShortfallDemand(first, after=Duration.minutes(15)) == ShortfallDemand(first)


@pytest.mark.parametrize("minutes", [10, 360])
def test_values_at_the_edge_are_taken(minutes: int) -> None:
    demand = ShortfallDemand(spot_fleet(stack()), after=Duration.minutes(minutes))
    assert demand.settings()["SHORTFALL_AFTER_SECONDS"] == str(minutes * 60)


def test_five_minutes_are_enough_where_nobody_knows_of_a_warm_up() -> None:
    assert ShortfallDemand(imported(stack()), after=Duration.minutes(5)).after_seconds == 300


def test_a_cold_start_is_no_shortage() -> None:
    slow = IdlePolicy(window=Duration.minutes(45), warm_up=Duration.minutes(40), max_failed_launches=0)
    first = spot_fleet(stack(), idle=slow)
    assert ShortfallDemand(first).after_seconds == 40 * 60
    with pytest.raises(ArgumentError, match=r"after must not be shorter than the other fleet's warm-up \(40 minutes\)"):
        ShortfallDemand(first, after=Duration.minutes(39))


def test_the_warm_up_of_any_group_counts() -> None:
    group = plain_group(
        stack(), group_metrics=[autoscaling.GroupMetrics.all()], default_instance_warmup=Duration.minutes(20)
    )
    assert ShortfallDemand(group).after_seconds == 20 * 60


# --- of whom -------------------------------------------------------------------------------------------------------


def test_any_group_with_metrics_may_be_the_other_one() -> None:
    test_stack = stack()
    group = plain_group(test_stack, group_metrics=[autoscaling.GroupMetrics.all()])
    fleet(test_stack, demand=ShortfallDemand(group))
    template = Template.from_stack(test_stack).to_json()
    told = properties(template, "FleetWakeHandlerFunction", FUNCTION)["Environment"]["Variables"]
    assert text(told["SHORTFALL_OF_GROUP"]) == "<GroupASG>"


def test_a_group_from_elsewhere_is_taken_at_its_word() -> None:
    test_stack = stack()
    fleet(test_stack, demand=ShortfallDemand(imported(test_stack)))
    assert warned(test_stack) == []


@pytest.mark.parametrize(
    "metrics",
    [
        None,
        [autoscaling.GroupMetrics(autoscaling.GroupMetric.DESIRED_CAPACITY)],
        [autoscaling.GroupMetrics(autoscaling.GroupMetric.MIN_SIZE, autoscaling.GroupMetric.MAX_SIZE)],
    ],
)
def test_a_group_that_tells_nothing_of_itself_is_refused(metrics: Any) -> None:
    group = plain_group(stack(), group_metrics=metrics)
    with pytest.raises(ArgumentError, match="fleet must collect its own metrics GroupDesiredCapacity and GroupInServ"):
        ShortfallDemand(group)


def test_two_that_stand_in_for_one_would_each_start_instances_for_the_same_want() -> None:
    test_stack = stack()
    network = vpc(test_stack)
    first = spot_fleet(test_stack, vpc=network)
    fleet(test_stack, "Second", vpc=network, demand=ShortfallDemand(first))
    for demand in (ShortfallDemand(first), ShortfallDemand(first.auto_scaling_group)):
        with pytest.raises(
            ArgumentError, match=r"demand must have a fleet that no other one stands in for \(Test/Second\)"
        ):
            fleet(test_stack, f"Third{id(demand)}", vpc=network, demand=demand)


def test_two_imports_of_one_group_are_one_group() -> None:
    test_stack = stack()
    network = vpc(test_stack)
    fleet(test_stack, "Second", vpc=network, demand=ShortfallDemand(imported(test_stack, "One")))
    with pytest.raises(ArgumentError, match=r"no other one stands in for \(Test/Second\), got 'workers'"):
        fleet(test_stack, "Third", vpc=network, demand=ShortfallDemand(imported(test_stack, "Two")))
    fleet(test_stack, "Fourth", vpc=network, demand=ShortfallDemand(imported(test_stack, "Three", "others")))


# --- with the rest of a fleet --------------------------------------------------------------------------------------


def test_a_want_that_nobody_takes_back_is_warned_about() -> None:
    test_stack = stack()
    network = vpc(test_stack)
    asleep = spot_fleet(test_stack, vpc=network)
    fleet(test_stack, "Second", vpc=network, demand=ShortfallDemand(asleep))
    assert warned(test_stack) == ["NoWayUp", "NothingTakesBack"]


def test_a_fleet_that_gives_up_after_an_hour_is_warned_about() -> None:
    test_stack = stack()
    network = vpc(test_stack)
    hasty = spot_fleet(test_stack, vpc=network, idle=None, demand=QueueDemand(queue(test_stack)))
    assert (hasty.max_failed_launches, spot_fleet(stack()).max_failed_launches) == (5, 0)
    fleet(test_stack, "Second", vpc=network, demand=ShortfallDemand(hasty))
    assert warned(test_stack) == ["LaunchesStop"]


def test_it_goes_with_a_schedule_and_a_stopped_warm_pool() -> None:
    test_stack = stack()
    network = vpc(test_stack)
    first = spot_fleet(test_stack, vpc=network, demand=QueueDemand(queue(test_stack)))
    fleet(
        test_stack,
        "Second",
        vpc=network,
        instance_types="g5.xlarge",
        demand=ShortfallDemand(first),
        schedule=FleetSchedule(wake_ups=[WakeUp(at="08:00", instances=1, time_zone="UTC")]),
        warm_pool=WarmPool(min_size=1),
    )
    assert findings(dict(Template.from_stack(test_stack).to_json())) == []


def test_a_running_warm_pool_needs_work_that_keeps_instances() -> None:
    test_stack = stack()
    first = spot_fleet(test_stack)
    with pytest.raises(ArgumentError, match="RUNNING without a demand"):
        fleet(
            test_stack,
            instance_types="g5.xlarge",
            demand=ShortfallDemand(first),
            warm_pool=WarmPool(min_size=1, state=PoolState.RUNNING),
        )


def test_a_release_alone_has_no_use_for_it() -> None:
    test_stack = stack()
    demand = ShortfallDemand(imported(test_stack, "Other", "others"))
    with pytest.raises(ArgumentError, match=r"^Test/Release: demand must be one that keeps instances, got Shortfall"):
        IdleRelease(test_stack, "Release", auto_scaling_group=imported(test_stack), demand=demand)
