"""Field case 4: destroying a scaled-out fleet whose members are protected from scale-in."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from constructs_lib.rehearsal.cloud.stack import StackFailed, create, delete
from constructs_lib.rehearsal.world import Conditions, World
from tests.behaviour.fleets import BUSY, fleet


def _scaled_out(template: dict[str, Any], count: int = 3, boot_seconds: int = 120) -> World:
    conditions = Conditions(boot_seconds=boot_seconds)
    world = World(template, load=lambda _instance, _now: BUSY, conditions=conditions)
    create(world)
    world.start(count)
    assert all(instance.protected for instance in world.group.in_service)
    return world


def test_case_04_group_is_empty_within_ten_minutes() -> None:
    world = _scaled_out(fleet())

    assert delete(world) <= 10


def test_case_04_120_protected_members() -> None:
    world = _scaled_out(fleet(max_capacity=200), count=120)

    assert delete(world) <= 10


def test_case_04_member_that_still_boots_when_the_stack_is_deleted() -> None:
    """It boots for four minutes, and those at work may drain for five and one, the default."""
    world = _scaled_out(fleet(), boot_seconds=240)
    world.group.set_desired(5)
    world.run(1)

    assert delete(world) <= 4 + 6 + 2


def test_case_04_without_the_cleaner_the_delete_would_fail_after_an_hour() -> None:
    body = copy.deepcopy(fleet())
    for name in [n for n, r in body["Resources"].items() if r["Type"].startswith("Custom::")]:
        del body["Resources"][name]
    world = _scaled_out(body)

    with pytest.raises(StackFailed, match="3 instances"):
        delete(world)
