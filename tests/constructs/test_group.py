"""The Auto Scaling group: what it is made from, how it is bought, and who may change its size."""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import Duration
from aws_cdk import aws_ec2 as ec2

from constructs_lib import Drain, IdlePolicy, Purchase
from tests.constructs.reading import only, plain, properties, resources, text
from tests.constructs.scenarios import CONTEXTS, SCENARIOS, template
from tests.support.stacks import fleet_template, project_context

FLEETS = [name for name in SCENARIOS if name != "idle_release"]
GROUP = "AWS::AutoScaling::AutoScalingGroup"


def group_of(**arguments: Any) -> dict[str, Any]:
    return dict(only(fleet_template(**arguments), GROUP)["Properties"])


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_case_01_no_launch_configuration_whatever_the_flags(scenario: str, context: str) -> None:
    made = template(scenario, context)
    assert resources(made, "AWS::AutoScaling::LaunchConfiguration") == {}
    for group in resources(made, GROUP).values():
        assert "LaunchConfigurationName" not in group["Properties"]
        assert ("LaunchTemplate" in group["Properties"]) != ("MixedInstancesPolicy" in group["Properties"])


def test_case_01_one_type_on_demand_needs_no_mixed_policy() -> None:
    group = group_of(instance_types="g6.xlarge")
    assert text(group["LaunchTemplate"]["LaunchTemplateId"]) == "<FleetLaunchTemplate>"


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("scenario", FLEETS)
def test_case_02_no_desired_capacity_in_the_template(scenario: str, context: str) -> None:
    assert "DesiredCapacity" not in only(template(scenario, context), GROUP)["Properties"]


@pytest.mark.parametrize("minimum", [0, 1, 8])
def test_case_02_no_desired_capacity_even_with_a_minimum(minimum: int) -> None:
    group = group_of(min_capacity=minimum, max_capacity=8)
    assert "DesiredCapacity" not in group
    assert (group["MinSize"], group["MaxSize"]) == (str(minimum), "8")


def test_case_02_sizes_that_did_not_change_are_left_alone_by_a_deploy() -> None:
    policy = only(template("smallest"), GROUP)["UpdatePolicy"]
    assert policy == {"AutoScalingScheduledAction": {"IgnoreUnmodifiedGroupSizeProperties": True}}


@pytest.mark.parametrize("scenario", FLEETS)
def test_case_03_the_group_may_choose_no_victim(scenario: str) -> None:
    group = only(template(scenario), GROUP)["Properties"]
    assert group["NewInstancesProtectedFromScaleIn"] is True
    assert group["CapacityRebalance"] is False


@pytest.mark.parametrize("scenario", FLEETS)
def test_case_09_no_deploy_replaces_a_running_instance_and_the_template_says_so(scenario: str) -> None:
    group = only(template(scenario), GROUP)
    for policy in ("AutoScalingRollingUpdate", "AutoScalingReplacingUpdate", "AutoScalingInstanceRefresh"):
        assert policy not in group["UpdatePolicy"]
    assert group["Metadata"]["AcceleratedFleet"]["Updates"].startswith("none: a deploy replaces no running instance")


@pytest.mark.parametrize(
    ("warm_up", "grace"), [(0, 300), (4, 300), (5, 300), (10, 600), (25, 1500)], ids=lambda value: str(value)
)
def test_case_11_warm_up_is_rendered(warm_up: int, grace: int) -> None:
    policy = IdlePolicy(window=Duration.minutes(30), warm_up=Duration.minutes(warm_up))
    made = fleet_template(idle=policy)
    group = only(made, GROUP)["Properties"]
    assert group["DefaultInstanceWarmup"] == warm_up * 60
    # A grace period of 0 would kill each fresh node before it is up, in a loop.
    assert group["HealthCheckGracePeriod"] == grace
    handler = properties(made, "FleetReleaseHandler", "AWS::Lambda::Function")["Environment"]["Variables"]
    assert handler["WARM_UP_SECONDS"] == str(warm_up * 60)


@pytest.mark.parametrize("scenario", FLEETS)
def test_case_14_zones_are_not_rebalanced(scenario: str) -> None:
    made = template(scenario)
    clean_up = plain(only(made, "Custom::AcceleratedFleetCleanup")["Properties"])
    assert clean_up["AutoScalingGroupName"] == "<FleetAutoScalingGroupASG>"
    assert only(made, GROUP)["Properties"]["NewInstancesProtectedFromScaleIn"] is True


def test_case_26_no_placement_group_that_a_reservation_would_not_have() -> None:
    for scenario in [name for name in FLEETS if name != "flexible"]:  # which asks for a group
        made = template(scenario)
        assert "PlacementGroup" not in only(made, GROUP)["Properties"]
        assert "Placement" not in only(made, "AWS::EC2::LaunchTemplate")["Properties"]["LaunchTemplateData"]


@pytest.mark.parametrize(
    ("selection", "subnets"),
    [
        (None, ["subnet-0123456789abcdf00", "subnet-0123456789abcdf01"]),
        (
            ec2.SubnetSelection(subnet_type=ec2.SubnetType.PUBLIC),
            ["subnet-0123456789abcde00", "subnet-0123456789abcde01"],
        ),
        (ec2.SubnetSelection(availability_zones=["us-east-1b"]), ["subnet-0123456789abcdf01"]),
    ],
    ids=["default is private", "public", "one zone"],
)
def test_case_28_exactly_the_chosen_subnets(selection: ec2.SubnetSelection | None, subnets: list[str]) -> None:
    group = group_of(vpc_subnets=selection)
    assert group["VPCZoneIdentifier"] == subnets
    assert "AvailabilityZones" not in group


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_case_33_nothing_but_the_release_handler_lowers_capacity(scenario: str) -> None:
    made = template(scenario)
    assert resources(made, "AWS::AutoScaling::ScalingPolicy") == {}
    # But for the end of a Capacity Block, at which AWS takes all of it.
    scheduled = resources(made, "AWS::AutoScaling::ScheduledAction").values()
    lowering = [each["Properties"]["StartTime"] for each in scheduled if not each["Properties"].get("MaxSize")]
    assert len(lowering) == (1 if scenario == "training" else 0)
    actions = [text(action) for alarm in resources(made, "AWS::CloudWatch::Alarm").values() for action in _all(alarm)]
    assert actions
    assert not [action for action in actions if "autoscaling" in action]


def _all(alarm: Any) -> list[Any]:
    names = ("AlarmActions", "OKActions", "InsufficientDataActions")
    return [action for name in names for action in alarm["Properties"].get(name, [])]


def test_case_42_the_group_publishes_the_metrics_that_its_alarms_read() -> None:
    for scenario in FLEETS:
        group = only(template(scenario), GROUP)["Properties"]
        # Without a list of metrics all of them are collected.
        assert group["MetricsCollection"] == [{"Granularity": "1Minute"}]


@pytest.mark.parametrize("scenario", FLEETS)
def test_case_59_the_drain_hook_is_part_of_the_group_and_ends_by_itself(scenario: str) -> None:
    made = template(scenario)
    # A hook of its own would come after the group, and after the first instances.
    assert resources(made, "AWS::AutoScaling::LifecycleHook") == {}
    hooks = only(made, GROUP)["Properties"]["LifecycleHookSpecificationList"]
    (hook,) = (each for each in hooks if each["LifecycleTransition"] == "autoscaling:EC2_INSTANCE_TERMINATING")
    # Another one only while an instance is prepared for the warm pool.
    assert len(hooks) == (2 if scenario == "prepared" else 1)
    assert hook == {
        "LifecycleHookName": "Drain",
        "LifecycleTransition": "autoscaling:EC2_INSTANCE_TERMINATING",
        "HeartbeatTimeout": {"fullest": 660, "training": 1260}.get(scenario, 1860),
        # The API's own default is to abandon, which may leave the instance behind.
        "DefaultResult": "CONTINUE",
    }


@pytest.mark.parametrize(("minutes", "heartbeat"), [(0.5, 90), (1, 120), (59, 3600), (115, 6960)])
def test_case_59_the_hook_lasts_a_minute_longer_than_the_work_may(minutes: float, heartbeat: int) -> None:
    (hook,) = group_of(drain=Drain(deadline=Duration.seconds(minutes * 60)))["LifecycleHookSpecificationList"]
    assert hook["HeartbeatTimeout"] == heartbeat <= 7200


@pytest.mark.parametrize("scenario", FLEETS)
def test_the_order_of_replacements_is_no_setting_of_the_account(scenario: str) -> None:
    """Not launch first: the second machine beside a broken one would bill, and need quota and capacity."""
    policy = only(template(scenario), GROUP)["Properties"]["InstanceMaintenancePolicy"]
    assert policy == {"MinHealthyPercentage": 0, "MaxHealthyPercentage": 100}
    assert policy["MaxHealthyPercentage"] - policy["MinHealthyPercentage"] <= 100


@pytest.mark.parametrize("scenario", FLEETS)
def test_case_46_a_fresh_instance_has_time_to_become_healthy(scenario: str) -> None:
    assert only(template(scenario), GROUP)["Properties"]["HealthCheckGracePeriod"] >= 300


@pytest.mark.parametrize("scenario", FLEETS)
def test_nothing_abandons_or_retains(scenario: str) -> None:
    group = only(template(scenario), GROUP)["Properties"]
    assert "InstanceLifecyclePolicy" not in group
    # Either would make a destroy fail.
    assert "DeletionProtection" not in group
    # It would end busy and held instances; `IdlePolicy(max_instance_life=...)` leaves the held ones.
    assert "MaxInstanceLifetime" not in group


def test_case_55_the_group_uses_the_latest_version_by_attribute() -> None:
    for scenario in FLEETS:
        group = only(template(scenario), GROUP)["Properties"]
        policy = group.get("MixedInstancesPolicy", {}).get("LaunchTemplate", {})
        used = policy.get("LaunchTemplateSpecification") or group["LaunchTemplate"]
        assert text(used["Version"]) == "<FleetLaunchTemplate.LatestVersionNumber>"


def test_case_74_what_wakes_the_fleet_is_not_the_metric_that_sleeps_with_it() -> None:
    made = template("with_queue")
    wake = properties(made, "FleetWakeEveryMinuteRule", "AWS::Events::Rule")
    assert wake["ScheduleExpression"] == "rate(1 minute)"
    variables = properties(made, "FleetWakeHandler", "AWS::Lambda::Function")["Environment"]["Variables"]
    assert plain(variables) == {
        "AUTO_SCALING_GROUP_NAME": "<FleetAutoScalingGroupASG>",
        "QUEUE_URL": "<Jobs>",
        "MESSAGES_PER_INSTANCE": "1",
    }


def test_case_80_spot_pools_are_chosen_by_price_and_depth() -> None:
    policy = group_of(instance_types=["g6.xlarge", "g5.xlarge"], purchase=Purchase.spot(on_demand_base=2))[
        "MixedInstancesPolicy"
    ]
    assert policy["InstancesDistribution"] == {
        "OnDemandAllocationStrategy": "prioritized",
        "OnDemandBaseCapacity": 2,
        "OnDemandPercentageAboveBaseCapacity": 0,
        "SpotAllocationStrategy": "price-capacity-optimized",
    }
    assert policy["LaunchTemplate"]["Overrides"] == [{"InstanceType": "g6.xlarge"}, {"InstanceType": "g5.xlarge"}]


@pytest.mark.parametrize(
    ("purchase", "base", "percent"),
    [
        (Purchase.on_demand(), 0, 100),
        (Purchase.spot(), 0, 0),
        (Purchase.spot(on_demand_percent=30), 0, 30),
        (Purchase.spot(on_demand_base=3, on_demand_percent=99), 3, 99),
    ],
)
def test_case_80_shares_are_explicit(purchase: Purchase, base: int, percent: int) -> None:
    group = group_of(instance_types=["g6.xlarge", "g5.xlarge"], purchase=purchase)
    distribution = group["MixedInstancesPolicy"]["InstancesDistribution"]
    assert (distribution["OnDemandBaseCapacity"], distribution["OnDemandPercentageAboveBaseCapacity"]) == (
        base,
        percent,
    )


def test_case_80_rebalance_advice_replaces_nobody_and_no_price_is_capped() -> None:
    group = group_of(instance_types=["g6.xlarge", "g5.xlarge"], purchase=Purchase.spot())
    assert group["CapacityRebalance"] is False
    assert "SpotMaxPrice" not in group["MixedInstancesPolicy"]["InstancesDistribution"]


def test_case_80_one_spot_type_still_needs_the_mixed_policy() -> None:
    group = group_of(instance_types="g6.xlarge", purchase=Purchase.spot(), context=project_context())
    assert "LaunchTemplate" not in group
    assert group["MixedInstancesPolicy"]["LaunchTemplate"]["Overrides"] == [{"InstanceType": "g6.xlarge"}]
