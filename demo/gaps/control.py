"""The demo's own door to the emulator: what AWS has no call for."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

from ministack.services import autoscaling, cloudformation, cloudwatch, ec2

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

PREFIX = "/_demo/"
_LAUNCH_TIME = "%Y-%m-%dT%H:%M:%S.000Z"
# Types for which the emulator reports success and keeps nothing that could be asked for.
PLACEHOLDER_TYPES = ("AWS::CDK::Metadata",)


def with_control(application: Application) -> Application:
    """The emulator's application with the demo's paths in front of it."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(PREFIX):
            await application(scope, receive, send)
            return
        result = _COMMANDS[scope["path"].removeprefix(PREFIX)](await _body(receive))
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(result).encode()})

    return answer


async def _body(receive: Receive) -> Any:
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return json.loads(body)


def _back_date(request: dict[str, Any]) -> dict[str, Any]:
    """Let the members of a group have been launched earlier, as if that much time had passed."""
    members = autoscaling._asgs[request["group"]]["Instances"]
    aged = {}
    for member in members:
        instance = ec2._instances[member["InstanceId"]]
        launched = datetime.strptime(instance["LaunchTime"], _LAUNCH_TIME) - timedelta(seconds=request["seconds"])
        instance["LaunchTime"] = launched.strftime(_LAUNCH_TIME)
        aged[member["InstanceId"]] = instance["LaunchTime"]
    return aged


def _back_date_stack(request: dict[str, Any]) -> str:
    """Let a stack have been created earlier. Its last update is later than that, as for a stack that was updated."""
    stack = cloudformation._stacks[request["stack"]]
    created = datetime.fromisoformat(stack["CreationTime"].replace("Z", "+00:00"))
    stack["CreationTime"] = (created - timedelta(seconds=request["seconds"])).strftime(_LAUNCH_TIME)
    return str(stack["CreationTime"])


def _group_metrics(request: dict[str, Any]) -> list[str]:
    """Report the sizes of a group at the given times, as Auto Scaling does once the group's metrics are enabled."""
    group = autoscaling._asgs[request["group"]]
    in_service = sum(member["LifecycleState"] == "InService" for member in group["Instances"])
    sizes = {
        "GroupInServiceInstances": in_service,
        "GroupTotalInstances": len(group["Instances"]),
        "GroupDesiredCapacity": group["DesiredCapacity"],
        "GroupMinSize": group["MinSize"],
        "GroupMaxSize": group["MaxSize"],
    }
    enabled = {metric["Metric"] for metric in group["EnabledMetrics"]}
    dimensions = {"AutoScalingGroupName": group["AutoScalingGroupName"]}
    for name in sizes.keys() & enabled:
        for at in request["timestamps"]:
            cloudwatch._store_datum("AWS/AutoScaling", name, dimensions, at, "None", sizes[name], None, None, None)
    return sorted(sizes.keys() & enabled)


def _placeholders(request: dict[str, Any]) -> list[str]:
    return [resource_type for resource_type in request["types"] if resource_type in PLACEHOLDER_TYPES]


_COMMANDS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "back-date": _back_date,
    "back-date-stack": _back_date_stack,
    "group-metrics": _group_metrics,
    "placeholders": _placeholders,
}
