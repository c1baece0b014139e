"""Field case 68: GPU at 0 % while a person or the CPU is at work."""

from __future__ import annotations

from constructs_lib import IdleSignal
from tests.behaviour.edits import with_setting
from tests.behaviour.fleets import BUSY, HOUR, MINUTE, fleet
from tests.behaviour.simulator.group import Instance
from tests.behaviour.simulator.load import Load
from tests.behaviour.simulator.world import World

_IDLE_GPUS = (0.0, 0.0, 0.0, 0.0)
_LOADING = Load(accelerators=_IDLE_GPUS, cpu=80.0)
_PERSON = Load(accelerators=_IDLE_GPUS, cpu=1.0, session=True)


def _loads_data_for_45_minutes(_instance: Instance, now: int) -> Load:
    return _LOADING if HOUR * MINUTE <= now < (HOUR + 45) * MINUTE else BUSY


def test_case_68_data_loading_on_the_cpu_is_work_by_default() -> None:
    world = World(fleet(), load=_loads_data_for_45_minutes)
    world.start(1)

    world.run(3 * HOUR)

    assert world.group.endings == []


def test_case_68_without_the_cpu_signal_it_is_not() -> None:
    world = World(fleet(signals=(IdleSignal.ACCELERATOR,)), load=_loads_data_for_45_minutes)
    world.start(1)

    world.run(3 * HOUR)

    assert [ending.busy for ending in world.released] == [True]


def test_case_68_open_session_keeps_the_machine_by_default() -> None:
    world = World(fleet(), load=lambda _i, now: _PERSON if now < 5 * HOUR * MINUTE else Load(accelerators=_IDLE_GPUS))
    world.start(1)

    world.run(5 * HOUR - 4)
    assert world.group.endings == []

    world.run(20)
    assert [ending.busy for ending in world.released] == [False]


def test_case_68_sessions_can_be_left_out() -> None:
    world = World(with_setting(fleet(), "release_idle", WATCH_SESSIONS="false"), load=lambda _i, _now: _PERSON)
    world.start(1)

    world.run(2 * HOUR)

    assert [ending.busy for ending in world.released] == [True]
