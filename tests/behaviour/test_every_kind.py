"""The whole loop for each kind of accelerator: idle is released, busy and silent are kept (field cases 5, 58)."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from constructs_lib.rehearsal.cloud.group import Instance
from constructs_lib.rehearsal.cloud.work_queue import WorkQueue
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.world import World
from tests.behaviour.edits import with_signals, without_rollups
from tests.behaviour.fleets import HOUR, MINUTE, alarm, alarmed_at, fleet_of, verdicts
from tests.behaviour.workers import Workers, workers_of
from tests.handlers.removed_guards import read_unknown_as_idle

_WINDOW = 15
_WORKS_UNTIL = 1 * HOUR


class _Kind(NamedTuple):
    instance_type: str
    accelerators: int
    has_image: bool = False
    busy: float = 95.0
    resolution: int = 60

    @property
    def template(self) -> dict[str, Any]:
        return fleet_of(self.instance_type, window=_WINDOW, resolution=self.resolution, has_image=self.has_image)

    def load(self, *busy: int, working: bool | None = None) -> Load:
        """Return a load under which the accelerators of these numbers are used."""
        uses = [self.busy if index in busy else 0.0 for index in range(self.accelerators)]
        return Load(accelerators=uses, cpu=1.0, working=working)


_KINDS = {
    "nvidia": _Kind("g5.12xlarge", 4, has_image=True),
    "neuron": _Kind("inf2.8xlarge", 1, has_image=True),
    "gaudi": _Kind("dl1.24xlarge", 8),
    "qualcomm": _Kind("dl2q.24xlarge", 8),
    "fpga": _Kind("f2.6xlarge", 1, busy=1.0),
    "media": _Kind("vt1.3xlarge", 2),  # a card shows as two devices
    "amd": _Kind("g4ad.xlarge", 1),
    "nvidia every 10 s": _Kind("g5.12xlarge", 4, has_image=True, resolution=10),
    "neuron every 10 s": _Kind("inf2.8xlarge", 1, has_image=True, resolution=10),
    "fpga every 10 s": _Kind("f2.6xlarge", 1, busy=1.0, resolution=10),
}


@pytest.fixture(params=_KINDS)
def kind(request: pytest.FixtureRequest) -> _Kind:
    return _KINDS[request.param]


def test_idle_is_released_after_the_window_and_nobody_is_called(kind: _Kind) -> None:
    def load(_instance: Instance, now: int) -> Load:
        return kind.load(0) if now < _WORKS_UNTIL * MINUTE else kind.load()

    world = World(kind.template, load=load)
    world.start(2)

    world.run(_WORKS_UNTIL + _WINDOW - 5)
    assert world.group.endings == []

    world.run(15)
    assert [(ending.cause, ending.busy) for ending in world.group.endings] == [("released", False)] * 2
    assert all(ending.at <= (_WORKS_UNTIL + _WINDOW + 10) * MINUTE for ending in world.released)

    world.run(HOUR)
    assert world.group.members == []
    assert world.notifications == []
    assert world.failures == []


def test_case_05_idle_alarm_sees_what_the_kind_publishes(kind: _Kind) -> None:
    world = World(kind.template, load=lambda _i, _now: kind.load())
    world.start(1)

    world.run(2 * _WINDOW)

    assert world.went_to(alarm(world, "IdleAlarm"), "ALARM") != []


def test_case_05_without_rollups_neither_alarm_nor_handler_would_see_anything(kind: _Kind) -> None:
    world = World(without_rollups(kind.template), load=lambda _i, _now: kind.load())
    world.start(1)

    world.run(2 * HOUR)

    assert world.went_to(alarm(world, "IdleAlarm"), "ALARM") == []
    assert world.group.endings == []
    assert alarmed_at(world, "TelemetryGapAlarm") != []


def test_one_busy_accelerator_keeps_its_instance(kind: _Kind) -> None:
    last = kind.accelerators - 1
    world = World(kind.template, load=lambda each, _now: kind.load(last) if each.id.endswith("1") else kind.load())
    busy, other = world.start(2)

    world.run(4 * HOUR)

    assert [ending.id for ending in world.group.endings] == [other.id]
    assert [each.id for each in world.group.in_service] == [busy.id]
    assert world.notifications == []


def test_if_the_accelerators_were_not_asked_the_busy_one_would_go(kind: _Kind) -> None:
    world = World(with_signals(kind.template, "cpu"), load=lambda _i, _now: kind.load(0, working=True))
    world.start(1)

    world.run(2 * HOUR)

    assert len(world.killed_at_work) == 1


def _silent_at_work(kind: _Kind) -> World:
    silent = Load(accelerators=None, cpu=1.0, working=True)
    world = World(kind.template, load=lambda _i, now: kind.load(0) if now < _WORKS_UNTIL * MINUTE else silent)
    world.start(2)
    return world.run(_WORKS_UNTIL + 3 * HOUR)


def test_silent_is_kept_and_reported_within_15_minutes(kind: _Kind) -> None:
    world = _silent_at_work(kind)

    assert world.group.endings == []
    for name in ("DegradedAlarm", "TelemetryGapAlarm"):
        (minute,) = alarmed_at(world, name)
        assert _WORKS_UNTIL < minute <= _WORKS_UNTIL + 15
    assert alarmed_at(world, "UnknownAlarm") != []
    assert {verdicts(world, each.id)[-1] for each in world.group.in_service} == {"unknown"}


def test_silent_would_be_cut_off_if_unknown_counted_as_idle(kind: _Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    read_unknown_as_idle(monkeypatch)

    world = _silent_at_work(kind)

    assert len(world.killed_at_work) == 2


def test_case_58_one_job_starts_one_neuron_instance_that_finishes_it_and_goes() -> None:
    template = fleet_of("inf2.8xlarge", window=_WINDOW, messages_per_instance=1)
    url = World(template).template.function("wake_on_demand").environment["QUEUE_URL"]
    world = World(template, workers=Workers(WorkQueue(url)))
    world.run(10)

    world.queue.send(world.now, 20)
    world.run(30)
    assert len(world.group.everyone) == 1

    world.run(HOUR)
    assert len(world.group.everyone) == 1
    assert world.group.members == []
    assert world.workers is not None
    assert (workers_of(world).finished, workers_of(world).lost) == (1, 0)
