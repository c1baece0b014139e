"""A fleet on a dashboard."""

from __future__ import annotations

from aws_cdk import aws_cloudwatch as cloudwatch

from constructs_lib.telemetry.metrics import FleetMetrics

_WIDTH = 8


def fleet_widgets(metrics: FleetMetrics, title: str) -> list[cloudwatch.IWidget]:
    """Three graphs, one row: how busy the accelerators are, how many instances there are, and how they are judged.

    Args:
        metrics: of the fleet.
        title: stands before each graph's own title.
    """
    percent = cloudwatch.YAxisProps(min=0, max=100, label="%", show_units=False)
    count = cloudwatch.YAxisProps(min=0, label="instances", show_units=False)
    return [
        cloudwatch.GraphWidget(
            title=f"{title}: utilisation",
            width=_WIDTH,
            left=[metrics.busiest_accelerator(), metrics.mean_utilization()],
            left_y_axis=percent,
        ),
        cloudwatch.GraphWidget(
            title=f"{title}: capacity",
            width=_WIDTH,
            left=[metrics.desired_capacity(), metrics.in_service_instances()],
            left_y_axis=count,
        ),
        cloudwatch.GraphWidget(
            title=f"{title}: verdicts",
            width=_WIDTH,
            left=[
                metrics.members_busy(),
                metrics.members_idle(),
                metrics.members_unknown(),
                metrics.members_held(),
                metrics.instances_released(),
            ],
            left_y_axis=count,
        ),
    ]
