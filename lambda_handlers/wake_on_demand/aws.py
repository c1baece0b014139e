"""What the wake function asks of AWS, and the one thing that it does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from runtime.group_reader import GroupReader
from runtime.metric_data import MetricClient
from runtime.patience import Patience
from runtime.queue_reader import QueueReader


class AutoScalingClient(GroupReader, Protocol):
    """The Auto Scaling calls of the wake function."""

    def set_desired_capacity(
        self, *, AutoScalingGroupName: str, DesiredCapacity: int, HonorCooldown: bool
    ) -> object: ...


@dataclass(frozen=True, kw_only=True)
class Clients:
    """The AWS clients of the wake function."""

    autoscaling: AutoScalingClient
    cloudwatch: MetricClient
    sqs: QueueReader


def raise_capacity(client: AutoScalingClient, group_name: str, capacity: int, patience: Patience) -> None:
    """Set the desired capacity at once, whatever the group's cooldown says: the work waits now."""
    patience.call(
        "raising the desired capacity",
        lambda: client.set_desired_capacity(
            AutoScalingGroupName=group_name, DesiredCapacity=capacity, HonorCooldown=False
        ),
    )
