"""Lifecycle hooks: what they hold up, for how long, and what then happens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

LAUNCHING = "autoscaling:EC2_INSTANCE_LAUNCHING"
TERMINATING = "autoscaling:EC2_INSTANCE_TERMINATING"


@dataclass
class FakeHook:
    name: str
    transition: str = TERMINATING
    heartbeat_seconds: int = 3600
    default_result: str = "ABANDON"

    def document(self, group_name: str) -> dict[str, Any]:
        return {
            "LifecycleHookName": self.name,
            "AutoScalingGroupName": group_name,
            "LifecycleTransition": self.transition,
            "HeartbeatTimeout": self.heartbeat_seconds,
            "GlobalTimeout": min(172_800, 100 * self.heartbeat_seconds),
            "DefaultResult": self.default_result,
        }
