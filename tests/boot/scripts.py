"""User data as a fleet renders it, with literal values for what only a deploy settles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aws_cdk import aws_ec2 as ec2

from constructs_lib.fleet.boot import boot_user_data
from tests.boot.machines import NODE_PROGRAM, WORKLOAD

FALLBACK = '{"metrics":{"append_dimensions":{"AutoScalingGroupName":"${aws:AutoScalingGroupName}"}}}'


def script(*, workload: str | None = WORKLOAD, sources: Sequence[str] = ("ssm:/fleet/agent",), **changes: Any) -> str:
    """The user data of an NVIDIA fleet with one configuration of the agent, unless told otherwise."""
    arguments: dict[str, Any] = {
        "driver_probe": "/usr/bin/nvidia-smi -L",
        "node_program": NODE_PROGRAM,
        "node_settings": '{"kind":"nvidia"}',
        "fallback_config": FALLBACK,
        "log_group_name": "/fleet/logs",
        "asset_region": "eu-west-1",
        "agent_sources": sources,
        "workload": None if workload is None else ec2.UserData.custom(workload),
        **changes,
    }
    user_data = boot_user_data("Test/Fleet", **arguments)
    if workload is not None:
        # The workload's text is settled at synthesis only.
        before, _, rest = user_data.render().partition("${Token[")
        return before + workload + rest.partition("]}")[2]
    return user_data.render()
