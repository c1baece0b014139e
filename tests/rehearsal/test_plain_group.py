"""Groups that were not made with this library, driven by the whole simulated account."""

from __future__ import annotations

from typing import Any

from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.world import Conditions, World
from tests.rehearsal.cloud.plain import plain_template, policy, resource, tracking

MINUTE = 60
_HOUR = 60  # in minutes
_BACKLOG: dict[str, Any] = {"Namespace": "App", "MetricName": "Backlog"}


def _alarm(action: str, comparison: str, threshold: float, **more: Any) -> dict[str, Any]:
    return resource(
        "CloudWatch::Alarm",
        **_BACKLOG,
        Statistic="Average",
        Period=60,
        EvaluationPeriods=1,
        ComparisonOperator=comparison,
        Threshold=threshold,
        AlarmActions=[{"Ref": action}],
        **more,
    )


def _with_backlog(world: World, value: float, minutes: int) -> World:
    """Let minutes pass in which the backlog is published."""
    for _ in range(minutes):
        world.store.put("App", "Backlog", {}, world.now + MINUTE, value)
        world.run(1)
    return world


def test_recurring_scheduled_action_starts_and_stops_the_group_at_its_hours() -> None:
    own = {"AutoScalingGroupName": {"Ref": "Workers"}, "TimeZone": "Europe/Berlin"}
    body = plain_template(
        {
            "Up": resource("AutoScaling::ScheduledAction", Recurrence="0 8 * * *", DesiredCapacity=3, **own),
            "Down": resource("AutoScaling::ScheduledAction", Recurrence="0 18 * * *", DesiredCapacity=0, **own),
        }
    )
    world = World(body, conditions=Conditions(scheduled_action_seconds=120)).run(24 * _HOUR)
    assert world.group.desired_history == [(60, 0), (7 * 3600 + 120, 3), (17 * 3600 + 120, 0)]
    assert len(world.group.everyone) == 3


def test_target_tracking_follows_its_metric_out_after_three_minutes_and_in_after_fifteen() -> None:
    world = World(plain_template({"Track": tracking(10)}, MinSize="1", DefaultInstanceWarmup=0))
    world.run(5)
    begun = world.now
    _with_backlog(world, 30.0, 30)
    assert world.group.desired == 10, "three for each of one, then of three: up to the maximum"
    first = next(at for at, size in world.group.desired_history if size == 3)
    assert 3 <= (first - begun) // MINUTE <= 6

    begun = world.now
    _with_backlog(world, 5.0, 60)
    lower = [(at - begun) // MINUTE for at, size in world.group.desired_history if at > begun and size < 10]
    assert 15 <= lower[0] <= 18
    _with_backlog(world, 0.0, 60)
    assert world.group.desired == 1


def test_without_the_metric_target_tracking_scales_neither_way() -> None:
    world = World(plain_template({"Track": tracking(10)}, MinSize="2"))
    world.run(3 * _HOUR)
    assert world.group.desired_history == [(60, 2)]


def test_step_policy_acts_again_each_minute_while_the_alarm_lasts() -> None:
    step = {"MetricIntervalUpperBound": 0, "ScalingAdjustment": -1}
    inward = policy("StepScaling", AdjustmentType="ChangeInCapacity", StepAdjustments=[step])
    world = World(plain_template({"In": inward, "Alarm": _alarm("In", "LessThanThreshold", 1)}))
    world.start(4)
    world.run(10)
    _with_backlog(world, 0.0, 20)
    assert [size for _, size in world.group.desired_history][-5:] == [4, 3, 2, 1, 0]


def test_average_cpu_of_the_group_is_followed() -> None:
    predefined = {"PredefinedMetricType": "ASGAverageCPUUtilization"}
    body = plain_template(
        {"Track": tracking(50, CustomizedMetricSpecification=None, PredefinedMetricSpecification=predefined)},
        MinSize="1",
        DefaultInstanceWarmup=0,
    )
    world = World(body, load=lambda _instance, _now: Load(accelerators=(95.0,), cpu=100.0))
    world.run(_HOUR)
    assert world.group.desired == 10
