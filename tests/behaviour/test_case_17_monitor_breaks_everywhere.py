"""Field case 17: a monitor that breaks on all nodes at once says nothing about the nodes."""

from __future__ import annotations

import pytest

from constructs_lib.rehearsal.cloud.group import Instance
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.world import World
from tests.behaviour.fleets import BUSY, HOUR, MINUTE, alarmed_at, fleet
from tests.handlers.removed_guards import read_unknown_as_idle

_NODES = 16
_BREAKS = 60
_TOOL_GIVES_NOTHING = Load(accelerators=None, cpu=30.0, working=True)
_EVERY_DEVICE_IS_DEAD = Load(accelerators=(None, None, None, None), cpu=30.0, working=True)
_NO_PROGRAM = Load(accelerators=None, cpu=30.0, working=True, node_program=False)


@pytest.mark.parametrize(
    "broken",
    [_TOOL_GIVES_NOTHING, _EVERY_DEVICE_IS_DEAD, _NO_PROGRAM],
    ids=["tool gives nothing", "every device is dead", "program is gone"],
)
def test_case_17_nobody_is_replaced_and_somebody_is_told(broken: Load) -> None:
    def load(_instance: Instance, now: int) -> Load:
        return BUSY if now < _BREAKS * MINUTE else broken

    world = World(fleet(max_capacity=_NODES), load=load)
    world.start(_NODES)

    world.run(_BREAKS + 3 * HOUR)

    assert world.group.endings == []
    assert len(world.group.everyone) == _NODES
    told = [alarmed_at(world, name) for name in ("TelemetryGap", "Degraded", "Unknown")]
    assert any(_BREAKS < minute <= _BREAKS + 30 for minutes in told for minute in minutes)


def test_case_17_if_unknown_counted_as_idle_all_sixteen_would_go(monkeypatch: pytest.MonkeyPatch) -> None:
    read_unknown_as_idle(monkeypatch)
    world = World(
        fleet(max_capacity=_NODES),
        load=lambda _each, now: BUSY if now < _BREAKS * MINUTE else _TOOL_GIVES_NOTHING,
    )
    world.start(_NODES)

    world.run(_BREAKS + 2 * HOUR)

    assert len(world.released) == _NODES
