"""Changes of the group itself. Both may be asked for twice: they say what is to be, not what to do."""

from __future__ import annotations

from release_idle.aws import AutoScalingClient
from runtime.patience import Patience

ZONE_REBALANCING = "AZRebalance"


def set_desired_capacity(client: AutoScalingClient, group_name: str, capacity: int, patience: Patience) -> None:
    """Set the desired capacity at once, whatever the group's cooldown says."""
    patience.call(
        "setting the desired capacity",
        lambda: client.set_desired_capacity(
            AutoScalingGroupName=group_name, DesiredCapacity=capacity, HonorCooldown=False
        ),
    )


def suspend_zone_rebalancing(client: AutoScalingClient, group_name: str, patience: Patience) -> None:
    """Keep Auto Scaling from terminating members to even out the zones."""
    patience.call(
        "suspending AZRebalance",
        lambda: client.suspend_processes(AutoScalingGroupName=group_name, ScalingProcesses=[ZONE_REBALANCING]),
    )
