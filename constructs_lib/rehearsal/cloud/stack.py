"""What CloudFormation does to a fleet at the beginning and at the end: custom resources, then the group."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from constructs_lib.errors import FleetError
from constructs_lib.rehearsal.cloud.clients import STACK_ID
from constructs_lib.rehearsal.cloud.lambdas import is_simulated
from constructs_lib.rehearsal.world import World
from constructs_lib.validation import complaint

_LONGEST_WAIT = 60


class StackFailed(FleetError):
    """CloudFormation gives up: the stack ends as CREATE_FAILED or DELETE_FAILED."""


def create(world: World) -> None:
    """Create the custom resources behind the group, as far as a function of the library stands behind them."""
    world.account.stack_status = "CREATE_IN_PROGRESS"
    for logical_id, function, properties in _custom_resources(world):
        _request(world, "Create", logical_id, function, properties)
    world.account.stack_status = "CREATE_COMPLETE"


def delete(world: World) -> int:
    """Delete the stack; return the minutes until no member is left. Raises StackFailed after an hour.

    What depends on the group goes first; anything else may be gone at any time, so it is not relied on.
    """
    begun = world.now
    world.account.stack_status = "DELETE_IN_PROGRESS"
    for logical_id, function, properties in _custom_resources(world):
        if _depends_on(world, logical_id, world.group.name):
            _request(world, "Delete", logical_id, function, properties)
    world.lambdas.schedules, world.watch.alarms = {}, {}
    if world.group.pool is not None:
        world.group.delete_pool()
    world.group.resize(minimum=0, maximum=0, desired=0)
    for _ in range(_LONGEST_WAIT):
        if not world.group.members:
            return (world.now - begun) // 60
        world.run(1)
    raise StackFailed(f"{len(world.group.members)} instances are still in the group")


def _custom_resources(world: World) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for logical_id in world.template.custom_resources():
        properties = world.template.properties(logical_id)
        function = world.functions.get(properties["ServiceToken"].removesuffix(".Arn"))
        if function is not None and is_simulated(function):
            yield logical_id, function.id, dict(properties)


def _depends_on(world: World, logical_id: str, other: str) -> bool:
    return f'"{other}"' in json.dumps(world.template.body["Resources"][logical_id])


def _request(world: World, kind: str, logical_id: str, function: str, properties: Mapping[str, Any]) -> None:
    event = {
        "RequestType": kind,
        "ResponseURL": "https://cloudformation.example/answer",
        "StackId": STACK_ID,
        "RequestId": f"{kind}-{world.now}",
        "LogicalResourceId": logical_id,
        "ResourceType": world.template.body["Resources"][logical_id]["Type"],
        "ResourceProperties": properties,
    }
    if kind != "Create":
        event["PhysicalResourceId"] = world.physical_ids[logical_id]
    outcome = world.invoke(function, event)
    if [answer["Status"] for answer in outcome.answers] != ["SUCCESS"]:
        found = outcome.answers[-1].get("Reason") if outcome.answers else outcome.error
        rule, cure = f"be something whose {kind} succeeds", "the stack would fail: correct it in the template"
        raise StackFailed(complaint(logical_id, "custom resource", rule, found, cure))
    world.physical_ids[logical_id] = outcome.answers[0]["PhysicalResourceId"]
