"""What the schedule function asks of AWS, and the two things that it changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypedDict

from fleet_schedule.memory import Sizes
from runtime.group_reader import GroupReader
from runtime.patience import Patience


class AutoScalingClient(GroupReader, Protocol):
    """The Auto Scaling calls of the schedule function."""

    def set_desired_capacity(
        self, *, AutoScalingGroupName: str, DesiredCapacity: int, HonorCooldown: bool
    ) -> object: ...

    def update_auto_scaling_group(
        self, *, AutoScalingGroupName: str, MinSize: int, MaxSize: int, DesiredCapacity: int
    ) -> object: ...


class ParameterDocument(TypedDict, total=False):
    Value: str
    Version: int


class ParameterAnswer(TypedDict, total=False):
    Parameter: ParameterDocument


class PutAnswer(TypedDict, total=False):
    Version: int


class ParameterClient(Protocol):
    """The Systems Manager calls of the schedule function."""

    def get_parameter(self, *, Name: str) -> ParameterAnswer: ...

    def put_parameter(self, *, Name: str, Value: str, Overwrite: bool) -> PutAnswer: ...


@dataclass(frozen=True, kw_only=True)
class Clients:
    """The AWS clients of the schedule function."""

    autoscaling: AutoScalingClient
    ssm: ParameterClient


def resize(client: AutoScalingClient, group_name: str, sizes: Sizes, patience: Patience) -> None:
    """Set all three sizes in one call: there is no moment with only some of them."""
    patience.call("setting the group's sizes", _resizing(client, group_name, sizes))


def raise_capacity(client: AutoScalingClient, group_name: str, capacity: int, patience: Patience) -> None:
    """Set the desired capacity at once, whatever the group's cooldown says: starting takes long enough."""
    patience.call(
        "raising the desired capacity",
        lambda: client.set_desired_capacity(
            AutoScalingGroupName=group_name, DesiredCapacity=capacity, HonorCooldown=False
        ),
    )


def _resizing(client: AutoScalingClient, group_name: str, sizes: Sizes) -> Callable[[], object]:
    return lambda: client.update_auto_scaling_group(
        AutoScalingGroupName=group_name, MinSize=sizes.min, MaxSize=sizes.max, DesiredCapacity=sizes.desired
    )
