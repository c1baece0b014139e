"""Field case 7: the program that counts busy marks and logins does not run, so nobody knows of any."""

from __future__ import annotations

from dataclasses import replace

import pytest

from constructs_lib import IdleSignal
from constructs_lib.rehearsal.cloud.group import Instance
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.world import World
from tests.behaviour.edits import with_signals
from tests.behaviour.fleets import HOUR, IDLE, MINUTE, alarmed_at, fleet, fleet_of, verdicts
from tests.handlers.removed_guards import read_unknown_as_idle

_DEAD = replace(IDLE, node_program=False, working=True)
_DEAD_FROM, _DEAD_UNTIL = 1 * HOUR, 4 * HOUR


def test_case_07_without_the_program_an_idle_accelerator_proves_nothing() -> None:
    world = World(fleet(), load=lambda _i, _now: _DEAD)
    (member,) = world.start(1)

    world.run(6 * HOUR)

    assert world.group.endings == []
    assert verdicts(world, member.id)[-1] == "unknown"
    assert len(alarmed_at(world, "UnknownAlarm")) == 1


def test_case_07_one_member_in_the_dark_keeps_itself_and_nobody_else() -> None:
    world = World(fleet(), load=lambda each, _now: _DEAD if each.id.endswith("1") else IDLE)
    dead, *others = world.start(3)

    world.run(3 * HOUR)

    assert {ending.id for ending in world.released} == {each.id for each in others}
    assert [each.id for each in world.group.in_service] == [dead.id]


def test_case_07_program_that_comes_back_ends_it() -> None:
    def load(_instance: Instance, now: int) -> Load:
        if now < _DEAD_FROM * MINUTE:
            return replace(IDLE, busy_marks=1)
        return _DEAD if now < _DEAD_UNTIL * MINUTE else IDLE

    world = World(fleet(), load=load)
    world.start(1)
    world.run(_DEAD_UNTIL + 25)
    assert world.group.endings == []

    world.run(20)
    assert [ending.busy for ending in world.released] == [False]


def test_case_07_other_accelerators_than_gpus_report_nothing_either() -> None:
    world = World(fleet_of("inf2.8xlarge"), load=lambda _i, _now: replace(_DEAD, accelerators=(0.0,)))
    started = world.now // MINUTE
    world.start(2)

    world.run(3 * HOUR)

    assert world.group.endings == []
    assert alarmed_at(world, "UnknownAlarm") != []
    (minute,) = alarmed_at(world, "TelemetryGapAlarm")
    assert minute <= started + 10 + 15


def test_case_07_it_is_unknown_also_where_only_the_accelerators_are_asked() -> None:
    world = World(fleet(signals=(IdleSignal.ACCELERATOR,)), load=lambda _i, _now: _DEAD)
    world.start(1)

    world.run(3 * HOUR)

    assert world.group.endings == []


def test_case_07_if_the_handler_did_not_ask_for_unknown_accelerators_it_would_be_released() -> None:
    world = World(with_signals(fleet(), "accelerator"), load=lambda _i, _now: _DEAD)
    world.start(1)

    world.run(3 * HOUR)

    assert [ending.busy for ending in world.released] == [True]


def test_case_07_if_unknown_counted_as_idle_it_would_be_released(monkeypatch: pytest.MonkeyPatch) -> None:
    read_unknown_as_idle(monkeypatch)
    world = World(fleet(), load=lambda _i, _now: _DEAD)
    world.start(1)

    world.run(3 * HOUR)

    assert [ending.busy for ending in world.released] == [True]
