"""Scaling policies ("Step and simple scaling policies", "Target tracking scaling policies"; SR-4, SR-5)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from constructs_lib.errors import ArgumentError
from constructs_lib.rehearsal.cloud.group import Group
from constructs_lib.rehearsal.cloud.policies import (
    AGGREGATED,
    BY_SILENCE,
    LEAST_CHANGE,
    WAKES,
    PolicyReading,
    PolicyRunner,
    Seen,
    adjustment,
)
from constructs_lib.rehearsal.template import Template
from constructs_lib.rehearsal.world import World
from tests.rehearsal.cloud.groups import MINUTE, hook, make_group, run
from tests.rehearsal.cloud.plain import Body, plain_template, policy, resource, tracking

_USUAL = PolicyReading()


class _Scaled:
    """A group with policies, and an alarm that stays in ALARM."""

    def __init__(
        self,
        policies: dict[str, Body],
        *,
        size: int = 0,
        minimum: int = 0,
        reading: PolicyReading = _USUAL,
        **group: Any,
    ) -> None:
        template = Template(plain_template(policies, **group))
        _, properties = template.group()
        more = {key: value for key, value in properties.items() if key not in ("MinSize", "MaxSize")}
        self.group: Group = make_group(minimum=minimum, boot=0, **more)
        self.runner = PolicyRunner(template, self.group, reading)
        self.group.set_desired(size)
        run(self.group, 10)

    def run(self, target: str, *points: float | None, threshold: float = 0.0) -> None:
        """Let an alarm act that has judged these points."""
        self.runner.run(target, self.group.now, Seen.of(threshold, points, len(points)))

    def act(self, target: str, *points: float | None, threshold: float = 0.0, minutes: int = 1) -> int:
        """Let an alarm act each minute; return the desired capacity after it."""
        for _ in range(minutes):
            self.run(target, *points, threshold=threshold)
            run(self.group, 1)
        return self.group.desired


def _step(*steps: dict[str, float], kind: str = "ChangeInCapacity", **more: Any) -> Body:
    return policy("StepScaling", AdjustmentType=kind, StepAdjustments=list(steps), **more)


def _always(change: int, *, out: bool = True) -> dict[str, float]:
    bound = "MetricIntervalLowerBound" if out else "MetricIntervalUpperBound"
    return {bound: 0, "ScalingAdjustment": change}


@pytest.mark.parametrize(
    ("capacity", "percent", "least", "change"),
    [
        (10, 10, 0, 1),
        (10, 15, 0, 1),
        (10, -15, 0, -1),
        (10, 5, 0, 1),
        (10, -5, 0, -1),
        (0, 100, 0, 0),
        (10, 10, 3, 3),
        (10, -10, 3, -3),
        (0, 100, 2, 2),
    ],
)
def test_percentages_round_towards_zero_and_less_than_one_is_one(
    capacity: int, percent: int, least: int, change: int
) -> None:
    assert adjustment("PercentChangeInCapacity", percent, capacity, least) == change


@pytest.mark.parametrize(
    ("offset", "change"), [(0.0, 1), (9.99, 1), (10.0, 2), (500.0, 2), (-0.01, 0), (-10.0, 0), (-10.01, -1)]
)
def test_bounds_are_offsets_from_the_threshold_and_without_a_step_nothing_happens(offset: float, change: int) -> None:
    """Above the threshold the lower bound belongs to the step, below it the upper one."""
    steps: list[dict[str, float]] = [
        {"MetricIntervalLowerBound": 0, "MetricIntervalUpperBound": 10, "ScalingAdjustment": 1},
        {"MetricIntervalLowerBound": 10, "ScalingAdjustment": 2},
        {"MetricIntervalUpperBound": -10, "ScalingAdjustment": -1},
    ]
    expected = {-10.0: -1}.get(offset, change)
    scaled = _Scaled({"P": _step(*steps, EstimatedInstanceWarmup=0)}, size=5)
    assert scaled.act("P", 50 + offset, threshold=50) == 5 + expected


@pytest.mark.parametrize(("from_below", "becomes"), [(False, 6), (True, 4)])
def test_value_on_the_threshold_belongs_to_the_step_on_the_side_of_the_breach(from_below: bool, becomes: int) -> None:
    """A queue's alarm at or below 0 releases by a step up to 0: it is the last of that step, as it is in AWS."""
    steps: list[dict[str, float]] = [
        {"MetricIntervalUpperBound": 0, "ScalingAdjustment": -1},
        {"MetricIntervalLowerBound": 0, "ScalingAdjustment": 1},
    ]
    scaled = _Scaled({"P": _step(*steps, EstimatedInstanceWarmup=0)}, size=5)
    scaled.runner.run("P", scaled.group.now, Seen.of(0.0, [0.0], 1, from_below=from_below))
    assert scaled.group.desired == becomes


@pytest.mark.parametrize("action", [{"Ref": "Down"}, {"Fn::GetAtt": ["Down", "Arn"]}, {"Fn::Sub": "${Down.Arn}"}])
@pytest.mark.parametrize("comparison", ["LessThanOrEqualToThreshold", "GreaterThanOrEqualToThreshold"])
def test_alarm_on_its_threshold_releases_by_the_step_that_ends_there_if_it_breaches_below(
    comparison: str, action: Body
) -> None:
    more = {
        "Down": _step(_always(0, out=False), kind="ExactCapacity"),
        "Quiet": resource(
            "CloudWatch::Alarm",
            Namespace="AWS/AutoScaling",
            MetricName="GroupPendingInstances",
            Dimensions=[{"Name": "AutoScalingGroupName", "Value": {"Ref": "Workers"}}],
            Statistic="Maximum",
            Period=60,
            EvaluationPeriods=1,
            Threshold=0,
            ComparisonOperator=comparison,
            AlarmActions=[action],
        ),
    }
    metrics = [{"Granularity": "1Minute"}]
    world = World(plain_template(more, DesiredCapacity="2", DefaultInstanceWarmup=0, MetricsCollection=metrics))
    world.run(15)
    assert world.group.desired == (0 if comparison.startswith("Less") else 2)


def test_change_is_to_the_warmed_capacity_so_a_step_does_not_stack() -> None:
    """The guide's example: ten have warmed up, the eleventh has not; 10 % changes nothing, 30 % makes 13."""
    policies = {
        "Ten": _step(_always(10), kind="PercentChangeInCapacity"),
        "Thirty": _step(_always(30), kind="PercentChangeInCapacity"),
    }
    scaled = _Scaled(policies, size=10, MaxSize="20")
    scaled.group.maximum = 20
    scaled.group.set_desired(11)
    run(scaled.group, 2)
    assert scaled.act("Ten", 1.0, minutes=3) == 11
    assert scaled.act("Thirty", 1.0) == 13


@pytest.mark.parametrize(
    ("own", "of_group", "cooldown", "seconds"),
    [(60, 120, 240, 60), (None, 120, 240, 120), (None, None, 240, 240), (None, None, None, 300), (None, -1, 240, 240)],
)
def test_warm_up_is_the_policys_or_the_groups_or_its_cooldown(
    own: int | None, of_group: int | None, cooldown: int | None, seconds: int
) -> None:
    group = {"DefaultInstanceWarmup": of_group, "Cooldown": cooldown}
    more: dict[str, Any] = {} if own is None else {"EstimatedInstanceWarmup": own}
    of_its: dict[str, Any] = {name: value for name, value in group.items() if value is not None}
    scaled = _Scaled({"P": _step(_always(1), **more)}, **of_its)
    assert scaled.act("P", 1.0) == 1
    before = scaled.group.now
    while scaled.group.desired == 1:
        scaled.act("P", 1.0)
    (first, *_) = scaled.group.everyone
    assert first.in_service_since is not None
    assert scaled.group.now - MINUTE - first.in_service_since == max(seconds, before - MINUTE - first.in_service_since)


def test_scale_in_waits_until_all_have_warmed_up() -> None:
    scaled = _Scaled({"In": _step(_always(-1, out=False))}, size=3)
    scaled.group.set_desired(4)
    run(scaled.group, 1)
    assert scaled.act("In", -1.0, minutes=3) == 4
    run(scaled.group, 5)
    assert scaled.act("In", -1.0) == 3


def test_same_step_does_not_remove_twice_while_the_first_terminates() -> None:
    scaled = _Scaled(
        {"In": _step(_always(-1, out=False))},
        size=5,
        LifecycleHookSpecificationList=[hook("Drain", heartbeat=1200)],
    )
    assert scaled.act("In", -1.0, minutes=15) == 4
    assert scaled.act("In", -1.0, minutes=10) == 3


@pytest.mark.parametrize(("size", "level", "becomes"), [(0, 1, 1), (5, 0, 0), (5, 20, 10), (3, 3, 3)])
def test_exact_capacity_sets_a_level_within_the_sizes(size: int, level: int, becomes: int) -> None:
    scaled = _Scaled({"P": _step(_always(level), kind="ExactCapacity")}, size=size)
    assert scaled.act("P", 1.0, minutes=3) == becomes


def test_percentage_never_wakes_from_zero_without_a_least_magnitude() -> None:
    policies = {
        "P": _step(_always(100), kind="PercentChangeInCapacity"),
        "Q": _step(_always(100), kind="PercentChangeInCapacity", MinAdjustmentMagnitude=1),
    }
    scaled = _Scaled(policies)
    assert scaled.act("P", 1.0, minutes=5) == 0
    assert scaled.act("Q", 1.0) == 1


def test_of_several_policies_the_largest_capacity_wins_on_scale_in_too() -> None:
    policies = {
        "One": _step(_always(-1, out=False)),
        "Three": _step(_always(-3, out=False)),
        "Out": _step(_always(1)),
    }
    for order in (["One", "Three"], ["Three", "One"]):
        scaled = _Scaled(policies, size=6)
        run(scaled.group, 10)
        for name in order:
            scaled.run(name, -1.0, threshold=0.0)
        assert scaled.group.desired == 5
    scaled = _Scaled(policies, size=6)
    scaled.run("Three", -1.0, threshold=0.0)
    scaled.run("Out", 1.0, threshold=0.0)
    assert scaled.group.desired == 7


def test_what_a_function_has_set_meanwhile_is_where_policies_begin() -> None:
    scaled = _Scaled({"In": _step(_always(-1, out=False))}, size=6)
    scaled.run("In", -1.0, threshold=0.0)
    scaled.group.set_desired(9)
    assert scaled.group.desired == 9


def test_suspended_alarm_notification_lets_no_policy_act() -> None:
    scaled = _Scaled({"Out": _step(_always(1))})
    scaled.group.suspended.add("AlarmNotification")
    assert scaled.act("Out", 1.0, minutes=3) == 0
    scaled.group.suspended.clear()
    assert scaled.act("Out", 1.0) == 1


def test_silence_that_breaches_takes_the_first_step() -> None:
    scaled = _Scaled({"P": _step(_always(0, out=False), kind="ExactCapacity")}, size=2)
    assert scaled.act("P", None) == 0


def test_simple_scaling_waits_for_what_it_began_and_then_for_its_cooldown() -> None:
    scaled = _Scaled(
        {"P": policy("SimpleScaling", AdjustmentType="ChangeInCapacity", ScalingAdjustment=1, Cooldown=180)}
    )
    changes = []
    for _ in range(12):
        before = scaled.group.desired
        if scaled.act("P", 1.0) != before:
            changes.append(scaled.group.now // MINUTE)
    pauses = {later - earlier for earlier, later in pairwise(changes)}
    assert pauses == {5}, "one minute until it is launched, one until it serves, and three"


def test_cooldown_of_a_simple_policy_holds_up_every_other_one() -> None:
    """The group waits, for as long as the policy says that acted: not for its own kind alone."""

    def simple(change: int, cooldown: int) -> Body:
        return policy("SimpleScaling", AdjustmentType="ChangeInCapacity", ScalingAdjustment=change, Cooldown=cooldown)

    scaled = _Scaled({"Out": simple(1, 300), "In": simple(-1, 60)}, size=2)
    assert scaled.act("Out", 1.0) == 3
    served = scaled.group.now // MINUTE + 1
    while scaled.act("In", 1.0) == 3:
        pass
    assert scaled.group.now // MINUTE - served == 6, "five minutes of the policy that acted, and the minute of the act"

    taken_out = scaled.group.now // MINUTE
    while scaled.act("Out", 1.0) == 2:
        pass
    assert scaled.group.now // MINUTE - taken_out == 3, "gone after one minute, one of cooldown, and that of the act"


def test_cooldown_begins_when_the_last_termination_is_over() -> None:
    """An act, ten minutes in the hook, one until it is gone, and only then the three of the cooldown."""
    down = policy("SimpleScaling", AdjustmentType="ChangeInCapacity", ScalingAdjustment=-1, Cooldown=180)
    scaled = _Scaled({"P": down}, size=5, LifecycleHookSpecificationList=[hook("Drain", heartbeat=600)])
    changes = []
    for _ in range(40):
        before = scaled.group.desired
        if scaled.act("P", 1.0) != before:
            changes.append(scaled.group.now // MINUTE)
    assert {later - earlier for earlier, later in pairwise(changes)} == {15}


@pytest.mark.parametrize("kind", ["ChangeInCapacity", "PercentChangeInCapacity"])
def test_step_that_changes_nothing_leaves_what_cannot_be_had_desired(kind: str) -> None:
    least: dict[str, Any] = {"MinAdjustmentMagnitude": 2} if kind.startswith("Percent") else {}
    scaled = _Scaled({"P": _step(_always(0), kind=kind, EstimatedInstanceWarmup=0, **least)}, size=2)
    scaled.group.capacity = 2
    scaled.group.set_desired(5)
    run(scaled.group, 5)
    assert scaled.act("P", 1.0, minutes=3) == 5


# Target tracking


def test_target_tracking_makes_two_alarms_of_its_own() -> None:
    alarms = Template(plain_template({"Track": tracking(10)})).alarms()
    high, low = alarms["TargetTracking-Track-AlarmHigh"], alarms["TargetTracking-Track-AlarmLow"]
    assert (high.n, high.period, high.threshold, high.comparison) == (3, 60, 10, "GreaterThanThreshold")
    assert (low.n, low.period, low.threshold, low.comparison) == (15, 60, 9, "LessThanThreshold")
    assert high.missing == low.missing == "missing"


def test_target_tracking_without_scale_in_has_no_low_alarm() -> None:
    alarms = Template(plain_template({"Track": tracking(10, DisableScaleIn=True)})).alarms()
    assert list(alarms) == ["TargetTracking-Track-AlarmHigh"]


def test_target_tracking_follows_metric_math_with_a_period_of_a_minute() -> None:
    metrics = [
        {
            "Id": "m",
            "MetricStat": {"Metric": {"Namespace": "N", "MetricName": "M"}, "Stat": "Sum"},
            "ReturnData": False,
        },
        {"Id": "e", "Expression": "m / 2", "ReturnData": True},
    ]
    template = Template(plain_template({"Track": tracking(10, CustomizedMetricSpecification={"Metrics": metrics})}))
    alarm = template.alarms()["TargetTracking-Track-AlarmHigh"]
    assert (alarm.period, alarm.returned) == (60, "e")


def test_average_cpu_of_the_group_is_tracked_where_ec2_publishes_it() -> None:
    predefined = {"PredefinedMetricType": "ASGAverageCPUUtilization"}
    body = plain_template(
        {"Track": tracking(50, CustomizedMetricSpecification=None, PredefinedMetricSpecification=predefined)}
    )
    (query,) = Template(body).alarms()["TargetTracking-Track-AlarmHigh"].queries
    metric = query["MetricStat"]["Metric"]
    assert (metric["Namespace"], metric["MetricName"]) == ("AWS/EC2", "CPUUtilization")
    assert metric["Dimensions"] == [{"Name": "AutoScalingGroupName", "Value": "Workers"}]


def test_predefined_metric_that_nobody_publishes_here_names_itself() -> None:
    predefined = {"PredefinedMetricType": "ALBRequestCountPerTarget"}
    body = plain_template(
        {"Track": tracking(50, CustomizedMetricSpecification=None, PredefinedMetricSpecification=predefined)}
    )
    with pytest.raises(ArgumentError, match=r"Track.*ALBRequestCountPerTarget"):
        Template(body).alarms()


@pytest.mark.parametrize(
    ("size", "value", "becomes"), [(2, 30.0, 6), (2, 10.1, 3), (3, 1000.0, 10), (0, 50.0, 0), (5, 10.0, 5)]
)
def test_scale_out_is_proportional_and_never_wakes_from_zero(size: int, value: float, becomes: int) -> None:
    scaled = _Scaled({"Track": tracking(10)}, size=size)
    assert scaled.act("Track/AlarmHigh", value, threshold=10) == becomes


def test_scale_out_does_not_stack_while_new_instances_warm_up() -> None:
    scaled = _Scaled({"Track": tracking(10)}, size=2)
    assert scaled.act("Track/AlarmHigh", 20.0, threshold=10, minutes=4) == 4


@pytest.mark.parametrize(("size", "value", "becomes"), [(8, 5.0, 4), (8, 0.0, 0), (8, 8.9, 8), (1, 1.0, 1)])
def test_scale_in_removes_no_more_than_the_target_allows(size: int, value: float, becomes: int) -> None:
    scaled = _Scaled({"Track": tracking(10)}, size=size)
    assert scaled.act("Track/AlarmLow", value, threshold=9) == becomes


def test_scale_in_by_tracking_needs_all_to_agree() -> None:
    """One policy is below its target, the other above it."""
    scaled = _Scaled({"Low": tracking(10), "High": tracking(10)}, size=4)
    scaled.run("Low/AlarmLow", 1.0, threshold=9.0)
    scaled.run("High/AlarmHigh", 10.5, threshold=10.0)
    assert scaled.group.desired == 5


def test_scale_in_by_tracking_waits_while_another_policy_is_near_its_target() -> None:
    """The guide: it scales in only if all policies that may are ready to. Nobody asks for more here, either."""
    scaled = _Scaled({"Low": tracking(10), "Near": tracking(10)}, size=4)
    assert scaled.act("Low/AlarmLow", 1.0, minutes=5) == 4

    scaled.run("Low/AlarmLow", 1.0, threshold=9.0)
    scaled.run("Near/AlarmLow", 5.0, threshold=9.0)
    assert scaled.group.desired == 2


def test_what_agreed_a_while_ago_does_not_agree_any_more() -> None:
    scaled = _Scaled({"Low": tracking(10), "Near": tracking(10)}, size=4)
    scaled.act("Near/AlarmLow", 1.0)
    run(scaled.group, 2)
    assert scaled.act("Low/AlarmLow", 1.0) == 4


def test_policies_that_never_scale_in_are_not_asked() -> None:
    scaled = _Scaled({"Low": tracking(10), "Out": tracking(10, DisableScaleIn=True)}, size=4)
    assert scaled.act("Low/AlarmLow", 5.0) == 2


def test_missing_data_scales_neither_way() -> None:
    scaled = _Scaled({"Track": tracking(10)}, size=4)
    assert scaled.act("Track/AlarmHigh", None) == 4
    assert scaled.act("Track/AlarmLow", None) == 4


def test_predictive_scaling_that_only_forecasts_changes_nothing_and_another_names_itself() -> None:
    forecast = policy("PredictiveScaling", PredictiveScalingConfiguration={"MetricSpecifications": []})
    assert not _Scaled({"P": forecast}).runner.knows("P")
    acts = policy("PredictiveScaling", PredictiveScalingConfiguration={"Mode": "ForecastAndScale"})
    with pytest.raises(ArgumentError, match="PredictiveScaling"):
        _Scaled({"P": acts})


# What AWS leaves open.


def _by_depth(**more: Any) -> Body:
    """One more below 10, five more from there on."""
    low: dict[str, float] = {"MetricIntervalLowerBound": 0, "MetricIntervalUpperBound": 10, "ScalingAdjustment": 1}
    return _step(low, {"MetricIntervalLowerBound": 10, "ScalingAdjustment": 5}, **more)


@pytest.mark.parametrize(
    ("more", "newest", "aggregate"),
    [
        ({}, 1, 5),
        ({"MetricAggregationType": "Average"}, 1, 5),
        ({"MetricAggregationType": "Maximum"}, 1, 5),
        ({"MetricAggregationType": "Minimum"}, 1, 1),
    ],
)
def test_step_follows_the_newest_datapoint_or_the_aggregate_of_all_that_are_judged(
    more: dict[str, str], newest: int, aggregate: int
) -> None:
    """Datapoints 30 and 2, which average 16: the aggregation type is of "recent" ones, and nobody says how many."""
    sizes, doubts = [], []
    for reading in (PolicyReading(), PolicyReading(steps_by_aggregate=True)):
        scaled = _Scaled({"P": _by_depth(**more)}, reading=reading)
        sizes.append(scaled.act("P", 30.0, None, 2.0))
        doubts.append(scaled.group.doubts)
    assert sizes == [newest, aggregate]
    assert doubts == [{AGGREGATED} if newest != aggregate else set()] * 2


def test_datapoints_that_lead_to_one_step_leave_no_doubt() -> None:
    scaled = _Scaled({"P": _by_depth()})
    assert scaled.act("P", 30.0, 20.0) == 5
    assert scaled.group.doubts == set()


def test_what_is_older_than_the_periods_judged_is_no_part_of_the_aggregate() -> None:
    assert Seen.of(1.0, [90.0, None, 4.0, None, 2.0], 3) == Seen(1.0, 2.0, [4.0, 2.0])
    assert Seen.of(1.0, [90.0, None], 1) == Seen(1.0, 90.0, [])


def test_breaching_silence_may_be_no_value_for_any_step() -> None:
    policies = {"P": _step(_always(0, out=False), kind="ExactCapacity")}
    usual = _Scaled(policies, size=2)
    assert usual.act("P", None) == 0
    assert usual.group.doubts == {BY_SILENCE}
    assert _Scaled(policies, size=2, reading=PolicyReading(steps_by_silence=False)).act("P", None) == 2


def test_least_change_may_not_apply_to_a_percentage_of_nothing() -> None:
    policies = {"P": _step(_always(100), kind="PercentChangeInCapacity", MinAdjustmentMagnitude=2)}
    usual = _Scaled(policies)
    assert usual.act("P", 1.0) == 2
    assert usual.group.doubts == {LEAST_CHANGE}
    other = PolicyReading(least_change_wakes=False)
    assert _Scaled(policies, reading=other).act("P", 1.0, minutes=5) == 0
    assert _Scaled(policies, size=1, reading=other, DefaultInstanceWarmup=0).act("P", 1.0) == 3


def test_tracking_may_wake_an_empty_group() -> None:
    usual = _Scaled({"Track": tracking(10)})
    assert usual.act("Track/AlarmHigh", 25.0, threshold=10) == 0
    assert usual.group.doubts == {WAKES}
    other = _Scaled({"Track": tracking(10)}, reading=PolicyReading(tracking_wakes=True))
    assert other.act("Track/AlarmHigh", 25.0, threshold=10) == 3


def test_change_beyond_the_sizes_leaves_no_doubt() -> None:
    scaled = _Scaled({"P": _by_depth(), "Track": tracking(10)}, size=10)
    scaled.act("P", 30.0, 2.0)
    scaled.act("Track/AlarmHigh", 90.0, threshold=10)
    assert scaled.group.doubts == set()


def test_aggregation_type_that_does_not_exist_names_its_policy() -> None:
    with pytest.raises(ArgumentError, match=r"P: .*MetricAggregationType must be one of Average, Maximum"):
        _Scaled({"P": _by_depth(MetricAggregationType="Median")})
