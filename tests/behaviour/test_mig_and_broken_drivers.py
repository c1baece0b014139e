"""Field cases 24 and 66: no utilisation at all, from the first minute on, is never idleness."""

from __future__ import annotations

from dataclasses import replace

import pytest

from constructs_lib import IdleSignal
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.world import World
from tests.behaviour.edits import scaled_in_by_capacity, with_signals
from tests.behaviour.fleets import HOUR, IDLE, MINUTE, alarmed_at, fleet, verdicts
from tests.behaviour.test_case_06_driver_update_ends_gpu_metrics import gap_alarm
from tests.handlers.removed_guards import read_unknown_as_idle

_MIG = Load(accelerators=(95.0,) * 4, mig=(0, 1, 2, 3), cpu=3.0, memory=20_000.0, working=True)
_NOTHING = Load(agent=False, working=True)


@pytest.mark.parametrize("load", [_MIG, _NOTHING], ids=["no utilisation", "no agent"])
def test_case_24_instance_without_utilisation_is_never_released(load: Load) -> None:
    world = World(fleet(), load=lambda _instance, _now: load)
    world.start(2)

    world.run(24 * HOUR)

    assert world.group.endings == []


def test_case_66_it_is_reported_within_15_minutes_of_the_warm_up() -> None:
    world = World(fleet(warm_up=10), load=lambda _instance, _now: _MIG)
    world.start(2)
    started = world.now // MINUTE

    world.run(2 * HOUR)

    (minute,) = world.went_to(gap_alarm(world), "ALARM")
    assert minute <= started + 10 + 15


def test_case_24_slices_are_not_broken_and_nobody_is_told_so() -> None:
    world = World(fleet(), load=lambda _instance, _now: _MIG)
    world.start(2)

    world.run(3 * HOUR)

    assert alarmed_at(world, "DegradedAlarm") == []
    assert alarmed_at(world, "UnknownAlarm") != []


_ONE_SLICED = replace(IDLE, mig=(2,), working=True)


def test_case_24_one_sliced_accelerator_beside_idle_ones_keeps_the_instance() -> None:
    world = World(fleet(), load=lambda _instance, _now: _ONE_SLICED)
    (member,) = world.start(1)

    world.run(3 * HOUR)

    assert world.group.endings == []
    assert verdicts(world, member.id)[-1] == "unknown"


def test_case_24_if_the_handler_did_not_ask_for_unknown_accelerators_it_would_be_cut_off() -> None:
    template = with_signals(fleet(), "accelerator", "busy_mark", "cpu", "logins")
    world = World(template, load=lambda _instance, _now: _ONE_SLICED)
    world.start(1)

    world.run(3 * HOUR)

    assert len(world.killed_at_work) == 1


def test_case_24_if_unknown_counted_as_idle_it_would_be_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    read_unknown_as_idle(monkeypatch)
    world = World(fleet(), load=lambda _instance, _now: _MIG)
    world.start(2)

    world.run(3 * HOUR)

    assert len(world.killed_at_work) == 2


@pytest.mark.parametrize("signals", [None, (IdleSignal.ACCELERATOR,)], ids=["default", "accelerators alone"])
def test_case_24_where_slices_read_zero_a_busy_mark_keeps_the_instance(signals: tuple[IdleSignal, ...] | None) -> None:
    world = World(fleet(signals=signals), load=lambda _i, _now: replace(IDLE, busy_marks=1, memory=20_000.0))
    world.start(1)

    world.run(6 * HOUR)

    assert len(world.killed_at_work) == (0 if signals is None else 1)


def test_case_24_capacity_based_scale_in_on_silence_would_end_it() -> None:
    template = scaled_in_by_capacity(fleet(), missing="breaching")
    world = World(template, load=lambda _instance, _now: _MIG)
    world.start(2)

    world.run(24 * HOUR)

    assert len(world.killed_at_work) == 2
