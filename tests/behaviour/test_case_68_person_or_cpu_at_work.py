"""Field case 68: GPU at 0 % while a person or the CPU is at work."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from constructs_lib import IdleSignal
from constructs_lib.rehearsal.cloud.group import Instance
from constructs_lib.rehearsal.cloud.work_queue import WorkQueue
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.world import World
from tests.behaviour.edits import with_setting, with_signal_changed
from tests.behaviour.fleets import BUSY, HOUR, IDLE, MINUTE, alarmed_at, fleet, fleet_of, verdicts
from tests.behaviour.workers import Workers, workers_of

_IDLE_GPUS = (0.0, 0.0, 0.0, 0.0)
_LOADING = Load(accelerators=_IDLE_GPUS, cpu=80.0)
_PERSON = Load(accelerators=_IDLE_GPUS, cpu=1.0, session=True)
_MARKED = replace(IDLE, busy_marks=1)
_LOGGED_IN = replace(IDLE, logins=1)


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

    world.run(5 * HOUR + 25)
    assert world.group.endings == []

    world.run(20)
    assert [ending.busy for ending in world.released] == [False]


def test_case_68_session_that_systems_manager_is_not_asked_for_counts_as_a_login() -> None:
    world = World(with_setting(fleet(), "release_idle", WATCH_SESSIONS="false"), load=lambda _i, _now: _PERSON)
    world.start(1)

    world.run(2 * HOUR)

    assert world.group.endings == []


def test_case_68_people_can_be_left_out() -> None:
    signals = (IdleSignal.ACCELERATOR, IdleSignal.BUSY_MARK, IdleSignal.CPU)
    world = World(fleet(signals=signals), load=lambda _i, _now: _PERSON)
    world.start(1)

    world.run(2 * HOUR)

    assert [ending.busy for ending in world.released] == [True]


@pytest.mark.parametrize("load", [_MARKED, _LOGGED_IN], ids=["busy mark", "login"])
def test_case_68_who_says_so_on_the_machine_keeps_it_for_three_hours_and_a_window_longer(load: Load) -> None:
    world = World(fleet(), load=lambda _i, now: load if now < 3 * HOUR * MINUTE else IDLE)
    world.start(1)

    world.run(3 * HOUR + 25)
    assert world.group.endings == []

    world.run(20)
    assert [ending.busy for ending in world.released] == [False]


@pytest.mark.parametrize("load", [_MARKED, _LOGGED_IN], ids=["busy mark", "login"])
def test_case_68_with_the_accelerators_alone_neither_does(load: Load) -> None:
    world = World(fleet(signals=(IdleSignal.ACCELERATOR,)), load=lambda _i, _now: load)
    world.start(1)

    world.run(3 * HOUR)

    assert [ending.busy for ending in world.released] == [True]


@pytest.mark.parametrize("load", [replace(IDLE, busy_marks=None), replace(IDLE, logins=None)], ids=["marks", "logins"])
def test_case_68_what_cannot_be_counted_is_unknown_and_keeps_the_machine(load: Load) -> None:
    world = World(fleet(), load=lambda _i, _now: load)
    (member,) = world.start(1)

    world.run(3 * HOUR)

    assert world.group.endings == []
    assert verdicts(world, member.id)[-1] == "unknown"
    assert alarmed_at(world, "UnknownAlarm") != []


def _jobs_beside_a_person(template: dict[str, Any], sent_at: int) -> World:
    """Two instances without work, a person on one of them; a job that either may take, just before the window ends."""
    url = World(template).template.function("wake_on_demand").environment["QUEUE_URL"]
    workers = Workers(WorkQueue(url), accelerators=4)

    def load(instance: Instance, now: int) -> Load:
        work = workers.load(instance, now)
        return replace(work, logins=1) if instance.id.endswith("1") else work

    world = World(template, workers=workers, load=load)
    world.start(2)
    world.at(sent_at, lambda: world.queue.send(world.now, 30))
    return world.run(45)


def _lost(template: dict[str, Any]) -> int:
    worlds = [_jobs_beside_a_person(template, minute) for minute in range(15, 30)]
    return sum(0 if world.workers is None else workers_of(world).lost for world in worlds)


def test_case_68_somebody_who_is_logged_in_does_not_count_as_working_on_the_queues_messages() -> None:
    template = fleet_of("g5.12xlarge", messages_per_instance=1, drain=5)

    assert _lost(template) == 0


def test_case_68_if_a_login_counted_as_work_the_neighbours_job_would_be_cut_off() -> None:
    template = with_signal_changed(fleet_of("g5.12xlarge", messages_per_instance=1, drain=5), "logins", means="work")

    assert _lost(template) > 0
