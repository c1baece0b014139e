"""The metrics that alarms and dashboards are built from; ``test_every_series.py`` shows that they are published."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from constructs_lib.catalog import lookup
from constructs_lib.errors import ArgumentError
from constructs_lib.telemetry import FleetMetrics, Telemetry, fleet_widgets, kind_named
from tests.support.stacks import stack

Method = Callable[..., cloudwatch.Metric]
METRICS = FleetMetrics("fleet", application_metrics=["latency"])
OURS, GROUP = "AcceleratedFleet", "AWS/AutoScaling"
BY_GROUP = {"AutoScalingGroupName": "fleet"}


def _latency(**options: Any) -> cloudwatch.Metric:
    return METRICS.application("latency", **options)


def _cold_start(phase: str) -> Method:
    return lambda **options: METRICS.cold_start(phase, **options)


OF_INSTANCES: list[tuple[Method, str, str, int]] = [
    (METRICS.busiest_accelerator, "nvidia_smi_utilization_gpu", "Maximum", 60),
    (METRICS.accelerator_utilization, "nvidia_smi_utilization_gpu", "Average", 60),
    (METRICS.accelerator_samples, "nvidia_smi_utilization_gpu", "SampleCount", 60),
    (METRICS.accelerator_memory, "nvidia_smi_memory_used", "Average", 60),
    (METRICS.accelerator_power, "nvidia_smi_power_draw", "Average", 60),
    (METRICS.accelerator_energy, "accelerator_energy_joules", "Sum", 60),
    (METRICS.idle_time, "accelerator_idle_seconds", "Minimum", 60),
    (METRICS.cold_start, "cold_start_first_use_seconds", "Average", 3600),
    (_cold_start("first_use"), "cold_start_first_use_seconds", "Average", 3600),
    (_cold_start("driver"), "cold_start_driver_seconds", "Average", 3600),
    (_cold_start("agent"), "cold_start_agent_seconds", "Average", 3600),
    (METRICS.accelerators_missing, "accelerators_missing", "Maximum", 60),
    (METRICS.node_heartbeat, "node_heartbeat", "SampleCount", 60),
    (METRICS.busy_marks, "busy_marks", "Maximum", 60),
    (METRICS.sessions, "interactive_sessions", "Maximum", 60),
    (METRICS.setup_failures, "setup_failures", "Maximum", 60),
    (_latency, "latency", "Average", 60),
]
OF_THE_GROUP: list[tuple[Method, str, str, str, int]] = [
    (METRICS.in_service_instances, GROUP, "GroupInServiceInstances", "Maximum", 60),
    (METRICS.desired_capacity, GROUP, "GroupDesiredCapacity", "Maximum", 60),
    (METRICS.members_busy, OURS, "MembersBusy", "Maximum", 300),
    (METRICS.members_idle, OURS, "MembersIdle", "Maximum", 300),
    (METRICS.members_unknown, OURS, "MembersUnknown", "Maximum", 300),
    (METRICS.members_held, OURS, "MembersHeld", "Maximum", 300),
    (METRICS.members_idle_despite_work, OURS, "MembersIdleDespiteWork", "Maximum", 300),
    (METRICS.instances_released, OURS, "InstancesReleased", "Sum", 300),
]
ALL = [(method, OURS, *rest) for method, *rest in OF_INSTANCES] + OF_THE_GROUP


@pytest.mark.parametrize(("method", "namespace", "name", "statistic", "period"), ALL)
def test_each_metric_has_its_name_and_defaults(
    method: Method, namespace: str, name: str, statistic: str, period: int
) -> None:
    made = method()
    assert (made.namespace, made.metric_name, made.statistic) == (namespace, name, statistic)
    assert made.period.to_seconds() == period
    assert made.dimensions == BY_GROUP
    assert made.label
    # The agent publishes without units, and a query that names one finds nothing.
    assert made.unit is None


@pytest.mark.parametrize("method", [each[0] for each in ALL])
def test_each_metric_takes_period_statistic_and_label(method: Method) -> None:
    made = method(period=Duration.minutes(15), statistic="p90", label="mine")
    assert (made.period.to_seconds(), made.statistic, made.label) == (900, "p90", "mine")


@pytest.mark.parametrize("method", [each[0] for each in ALL])
def test_none_equals_omission(method: Method) -> None:
    made, plain = method(instance_id=None, period=None, statistic=None, label=None), method()
    assert (made.dimensions, made.statistic, made.label) == (plain.dimensions, plain.statistic, plain.label)
    assert made.period.to_seconds() == plain.period.to_seconds()


@pytest.mark.parametrize("method", [each[0] for each in ALL])
def test_an_unknown_option_is_named(method: Method) -> None:
    expected = r"^FleetMetrics \w+: got an unexpected keyword argument 'perid'; did you mean 'period'\? it takes"
    with pytest.raises(TypeError, match=expected):
        method(perid=Duration.minutes(5))


@pytest.mark.parametrize("method", [each[0] for each in OF_INSTANCES])
def test_what_instances_publish_can_be_asked_for_of_one_of_them(method: Method) -> None:
    assert method(instance_id="i-1").dimensions == {"InstanceId": "i-1"}


@pytest.mark.parametrize("method", [each[0] for each in OF_INSTANCES])
@pytest.mark.parametrize("instance_id", ["", " ", 7])
def test_an_instance_id_is_a_text(method: Method, instance_id: object) -> None:
    expected = "instance_id must be a text that is not empty, got .*; leave it out for the whole group"
    with pytest.raises(ArgumentError, match=expected):
        method(instance_id=instance_id)


@pytest.mark.parametrize("method", [each[0] for each in OF_THE_GROUP])
@pytest.mark.parametrize("instance_id", ["i-1", ""])
def test_what_the_group_publishes_cannot_be_asked_for_of_one_instance(method: Method, instance_id: str) -> None:
    expected = "instance_id must be left out of what is published for the whole group only, got '.*'; ask for a metric"
    with pytest.raises(ArgumentError, match=expected):
        method(instance_id=instance_id)


def test_any_metric_of_the_namespace_can_be_asked_for() -> None:
    made = METRICS.metric("nvidia_smi_fan_speed", instance_id="i-1")
    assert (made.namespace, made.metric_name, made.statistic) == (OURS, "nvidia_smi_fan_speed", "Average")
    assert made.dimensions == {"InstanceId": "i-1"}
    assert METRICS.metric("nvidia_smi_fan_speed").dimensions == BY_GROUP


@pytest.mark.parametrize("method", [each[0] for each in ALL])
@pytest.mark.parametrize(
    "period", [Duration.seconds(10), Duration.millis(500), Duration.seconds(90), Duration.seconds(0)]
)
def test_case_05_no_metric_is_read_more_often_than_it_is_published(method: Method, period: Duration) -> None:
    with pytest.raises(ArgumentError, match="period must be whole minutes that are known at synth, got"):
        method(period=period)


@pytest.mark.parametrize("period", [60, "1 minute", 0])
def test_a_period_is_a_duration(period: Any) -> None:
    with pytest.raises(ArgumentError, match="period must be of type Duration"):
        METRICS.node_heartbeat(period=period)


# --- high resolution ------------------------------------------------------------------------------


def test_a_fleet_of_high_resolution_can_be_read_that_often() -> None:
    fine = FleetMetrics.of_fleet("fleet", [lookup("g6.xlarge")], Telemetry(resolution=Duration.seconds(10)))
    assert fine.idle_time(period=Duration.seconds(10)).period.to_seconds() == 10
    assert fine.idle_time().period.to_seconds() == 60
    for seconds in (1, 5, 15, 45):
        with pytest.raises(ArgumentError, match="whole minutes that are known at synth, or 10, 20, 30 seconds"):
            fine.idle_time(period=Duration.seconds(seconds))


def test_the_group_and_the_release_handler_publish_no_finer_than_a_minute() -> None:
    fine = FleetMetrics("fleet", resolution_seconds=10)
    for method in (fine.in_service_instances, fine.members_idle):
        with pytest.raises(ArgumentError, match="period must be whole minutes that are known at synth, got"):
            method(period=Duration.seconds(10))


# --- kinds ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "metric", "unit"),
    [
        ("nvidia", "nvidia_smi_utilization_gpu", "%"),
        ("neuron", "accelerator_utilization", "%"),
        ("gaudi", "accelerator_utilization", "%"),
        ("qualcomm", "accelerator_utilization", "%"),
        ("media", "accelerator_utilization", "%"),
        ("amd", "accelerator_utilization", "%"),
        ("fpga", "accelerator_transfers", "transfers"),
    ],
)
def test_use_is_named_by_what_it_is(name: str, metric: str, unit: str) -> None:
    metrics = FleetMetrics("fleet", kind_named(name))
    for made in (metrics.busiest_accelerator(), metrics.accelerator_utilization()):
        assert made.metric_name == metric
        assert made.label is not None
        assert f"({unit})" in made.label


@pytest.mark.parametrize(
    ("name", "memory", "power", "energy"),
    [
        ("nvidia", True, True, True),
        ("neuron", True, False, False),
        ("gaudi", True, True, True),
        ("qualcomm", True, True, True),
        ("media", False, False, False),
        ("amd", True, True, True),
        ("fpga", False, True, True),
    ],
)
def test_a_figure_that_a_kind_cannot_tell_is_refused(name: str, memory: bool, power: bool, energy: bool) -> None:
    metrics = FleetMetrics("fleet", kind_named(name))
    for expected, method in (
        (memory, metrics.accelerator_memory),
        (power, metrics.accelerator_power),
        (energy, metrics.accelerator_energy),
    ):
        if expected:
            assert method().metric_name
        else:
            with pytest.raises(ArgumentError, match=r"FleetMetrics: accelerator_.* must be asked for only what"):
                method()


def test_a_slice_of_a_gpu_has_neither_power_nor_energy() -> None:
    metrics = FleetMetrics.of_fleet("fleet", [lookup("g6f.large")])
    with pytest.raises(ArgumentError, match=r"accelerator_power must .*; name 'power_draw' among Telemetry"):
        metrics.accelerator_power()
    with pytest.raises(ArgumentError, match=r"accelerator_energy must .*; no type of this fleet tells the power"):
        metrics.accelerator_energy()


def test_energy_is_published_even_if_power_is_not() -> None:
    metrics = FleetMetrics.of_fleet("fleet", [lookup("g6.xlarge")], Telemetry(measurements=["utilization_gpu"]))
    with pytest.raises(ArgumentError, match="accelerator_power must be asked for only what the fleet publishes"):
        metrics.accelerator_power()
    assert metrics.accelerator_energy().metric_name == "accelerator_energy_joules"


def test_an_application_metric_must_have_been_declared() -> None:
    with pytest.raises(ArgumentError, match=r"application: name must be one of latency, got 'latenzy'; did you mean"):
        METRICS.application("latenzy")
    with pytest.raises(ArgumentError, match=r"declare it with Telemetry\(application_metrics="):
        FleetMetrics("fleet").application("latency")
    expected = "name must be a metric that the fleet's telemetry declares, and it declares none, got 'latency'; declare"
    with pytest.raises(ArgumentError, match=expected):
        FleetMetrics("fleet").application("latency")


def test_a_cold_start_without_a_phase_is_the_one_until_first_use() -> None:
    assert METRICS.cold_start(None).metric_name == METRICS.cold_start().metric_name == "cold_start_first_use_seconds"


def test_a_cold_start_has_three_phases() -> None:
    with pytest.raises(ArgumentError, match="cold_start: phase must be one of agent, driver, first_use, got 'boot'"):
        METRICS.cold_start("boot")


# --- the dashboard --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "titles", "most"),
    [
        ("nvidia", ["utilisation", "capacity", "verdicts", "idle time", "memory", "power"], 100),
        ("neuron", ["utilisation", "capacity", "verdicts", "idle time", "memory"], 100),
        ("media", ["utilisation", "capacity", "verdicts", "idle time"], 100),
        ("fpga", ["utilisation", "capacity", "verdicts", "idle time", "power"], None),
    ],
)
def test_a_dashboard_shows_what_the_kind_can_tell(name: str, titles: list[str], most: int | None) -> None:
    widgets = fleet_widgets(FleetMetrics("fleet", kind_named(name)), "Fleet")
    rendered = [stack().resolve(each.to_json())[0]["properties"] for each in widgets]
    assert [each["title"] for each in rendered] == [f"Fleet: {title}" for title in titles]
    assert rendered[0]["yAxis"]["left"].get("max") == most
