"""The metrics that alarms and dashboards are built from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from constructs_lib.catalog import lookup
from constructs_lib.errors import ArgumentError
from constructs_lib.telemetry import AgentConfiguration, FleetMetrics
from tests.support.agent_model import published_series

METRICS = FleetMetrics("fleet")
BY_GROUP = {"AutoScalingGroupName": "fleet"}

ALL: list[tuple[Callable[..., cloudwatch.Metric], str, str, str, int]] = [
    (METRICS.busiest_accelerator, "AcceleratedFleet", "nvidia_smi_utilization_gpu", "Maximum", 60),
    (METRICS.mean_utilization, "AcceleratedFleet", "nvidia_smi_utilization_gpu", "Average", 60),
    (METRICS.accelerator_samples, "AcceleratedFleet", "nvidia_smi_utilization_gpu", "SampleCount", 60),
    (METRICS.unreadable_accelerators, "AcceleratedFleet", "accelerator_unreadable", "SampleCount", 60),
    (METRICS.heartbeat, "AcceleratedFleet", "mem_used_percent", "SampleCount", 60),
    (METRICS.in_service_instances, "AWS/AutoScaling", "GroupInServiceInstances", "Maximum", 60),
    (METRICS.desired_capacity, "AWS/AutoScaling", "GroupDesiredCapacity", "Maximum", 60),
    (METRICS.members_busy, "AcceleratedFleet", "MembersBusy", "Maximum", 300),
    (METRICS.members_idle, "AcceleratedFleet", "MembersIdle", "Maximum", 300),
    (METRICS.members_unknown, "AcceleratedFleet", "MembersUnknown", "Maximum", 300),
    (METRICS.members_held, "AcceleratedFleet", "MembersHeld", "Maximum", 300),
    (METRICS.members_idle_despite_work, "AcceleratedFleet", "MembersIdleDespiteWork", "Maximum", 300),
    (METRICS.instances_released, "AcceleratedFleet", "InstancesReleased", "Sum", 300),
]


@pytest.mark.parametrize(("metric", "namespace", "name", "statistic", "period"), ALL)
def test_each_metric_has_its_name_and_defaults(
    metric: Callable[..., cloudwatch.Metric], namespace: str, name: str, statistic: str, period: int
) -> None:
    made = metric()
    assert (made.namespace, made.metric_name, made.statistic) == (namespace, name, statistic)
    assert made.period.to_seconds() == period
    assert made.dimensions == BY_GROUP
    assert made.label


@pytest.mark.parametrize("metric", [each[0] for each in ALL])
def test_each_metric_takes_period_statistic_and_label(metric: Callable[..., cloudwatch.Metric]) -> None:
    made = metric(period=Duration.minutes(15), statistic="Minimum", label="mine")
    assert (made.period.to_seconds(), made.statistic, made.label) == (900, "Minimum", "mine")


@pytest.mark.parametrize("metric", [each[0] for each in ALL])
@pytest.mark.parametrize(
    "period", [Duration.seconds(10), Duration.millis(500), Duration.seconds(90), Duration.seconds(0)]
)
def test_case_05_no_metric_is_read_more_often_than_it_is_published(
    metric: Callable[..., cloudwatch.Metric], period: Duration
) -> None:
    with pytest.raises(ArgumentError, match="period must be whole minutes that are known at synth, got"):
        metric(period=period)


@pytest.mark.parametrize("period", [60, "1 minute", 0])
def test_a_period_is_a_duration(period: Any) -> None:
    with pytest.raises(ArgumentError, match="period must be of type Duration"):
        METRICS.heartbeat(period=period)


@pytest.mark.parametrize(
    ("metric", "configuration"),
    [
        (METRICS.busiest_accelerator, AgentConfiguration.full([lookup("g5.12xlarge")])),
        (METRICS.heartbeat, AgentConfiguration.full([lookup("g6f.large")])),
        (METRICS.heartbeat, AgentConfiguration.fallback()),
        (METRICS.unreadable_accelerators, AgentConfiguration.fallback()),
    ],
)
def test_case_05_each_metric_of_the_agent_is_a_series_that_it_publishes(
    metric: Callable[..., cloudwatch.Metric], configuration: AgentConfiguration
) -> None:
    made = metric()
    series = published_series(configuration.document, instance_id="i-1", group="fleet", gpus=4)
    assert (made.namespace, made.metric_name, frozenset(BY_GROUP.items())) in series
