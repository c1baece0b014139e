"""A fleet on a dashboard."""

from __future__ import annotations

from aws_cdk import aws_cloudwatch as cloudwatch

from constructs_lib.telemetry.metrics import FleetMetrics

_WIDTH = 8


def fleet_widgets(metrics: FleetMetrics, title: str) -> list[cloudwatch.IWidget]:
    """Graphs of a fleet, three in a row, of what its kind of accelerator can tell.

    How busy the accelerators are; how many instances there are, and how they are judged; how long nobody has been at
    work; memory and power, where they are published.

    Args:
        metrics: of the fleet.
        title: stands before each graph's own title.
    """
    return [
        _use(metrics, title),
        _graph(title, "capacity", [metrics.desired_capacity(), metrics.in_service_instances()], "instances"),
        _graph(title, "verdicts", _verdicts(metrics), "instances"),
        _graph(title, "idle time", [metrics.idle_time()], "s"),
        *_figures(metrics, title),
    ]


def _use(metrics: FleetMetrics, title: str) -> cloudwatch.GraphWidget:
    maximum = metrics.kind.measurement(metrics.kind.use).maximum
    return cloudwatch.GraphWidget(
        title=f"{title}: utilisation",
        width=_WIDTH,
        left=[metrics.busiest_accelerator(), metrics.accelerator_utilization()],
        left_y_axis=cloudwatch.YAxisProps(min=0, max=maximum, label=metrics.use_unit, show_units=False),
    )


def _verdicts(metrics: FleetMetrics) -> list[cloudwatch.IMetric]:
    return [
        metrics.members_busy(),
        metrics.members_idle(),
        metrics.members_unknown(),
        metrics.members_held(),
        metrics.instances_released(),
    ]


def _figures(metrics: FleetMetrics, title: str) -> list[cloudwatch.GraphWidget]:
    graphs = []
    if metrics.publishes_memory:
        graphs.append(_graph(title, "memory", [metrics.accelerator_memory()], "MiB"))
    if metrics.publishes_power:
        graphs.append(_graph(title, "power", [metrics.accelerator_power()], "W"))
    return graphs


def _graph(title: str, what: str, lines: list[cloudwatch.IMetric], unit: str) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(
        title=f"{title}: {what}",
        width=_WIDTH,
        left=lines,
        left_y_axis=cloudwatch.YAxisProps(min=0, label=unit, show_units=False),
    )
