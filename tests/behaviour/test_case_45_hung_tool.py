"""Field case 45: a tool that hangs, and one accelerator of several that stops answering."""

from __future__ import annotations

import pytest

from constructs_lib.rehearsal.cloud.group import Instance
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.world import World
from tests.behaviour.edits import with_signals
from tests.behaviour.fleets import BUSY, HOUR, IDLE, MINUTE, SILENT_AT_WORK, alarmed_at, fleet, fleet_of, verdicts
from tests.handlers.removed_guards import read_unknown_as_idle

_HANGS_FROM, _HANGS_UNTIL = 1 * HOUR, 5 * HOUR
_WINDOW = 30
_SOON = 15


def _hangs_on_the_first(instance: Instance, now: int) -> Load:
    """The tools of one instance hang for four hours, in which it works; then it has nothing more to do."""
    if not instance.id.endswith("1"):
        return BUSY
    if now < _HANGS_FROM * MINUTE:
        return BUSY
    return SILENT_AT_WORK if now < _HANGS_UNTIL * MINUTE else IDLE


def test_case_45_hung_instance_is_unknown_and_kept_and_a_person_is_told_within_15_minutes() -> None:
    world = World(fleet(), load=_hangs_on_the_first)
    hung, *_ = world.start(2)

    world.run(_HANGS_UNTIL - 5)

    assert world.group.endings == []
    assert set(verdicts(world, hung.id, since=_HANGS_FROM + _WINDOW + 5)) == {"unknown"}
    (minute,) = alarmed_at(world, "DegradedAlarm")
    assert _HANGS_FROM < minute <= _HANGS_FROM + _SOON
    assert alarmed_at(world, "UnknownAlarm") != []


def test_case_45_its_clock_starts_anew_when_the_tool_answers_again() -> None:
    world = World(fleet(), load=_hangs_on_the_first)
    hung, _ = world.start(2)
    idle_seconds = ("AcceleratedFleet", "accelerator_idle_seconds", frozenset({("InstanceId", hung.id)}))

    world.run(_HANGS_UNTIL + _WINDOW - 5)
    clock = world.store.series(idle_seconds, "Maximum", MINUTE, range(0, world.now, MINUTE), world.now)
    assert not [at for at in clock if _HANGS_FROM * MINUTE <= at < _HANGS_UNTIL * MINUTE]
    assert clock[_HANGS_UNTIL * MINUTE] == 0
    assert clock[(_HANGS_UNTIL + 10) * MINUTE] == 10 * MINUTE
    assert world.group.endings == []

    world.run(20)
    assert [(ending.id, ending.busy) for ending in world.released] == [(hung.id, False)]


def test_case_45_if_unknown_counted_as_idle_it_would_be_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    read_unknown_as_idle(monkeypatch)
    world = World(fleet(), load=_hangs_on_the_first)
    hung, _ = world.start(2)

    world.run(_HANGS_UNTIL)

    assert hung.id in {ending.id for ending in world.killed_at_work}


@pytest.mark.parametrize("repeated", [97.0, 0.0])
def test_case_45_a_program_that_repeated_its_last_value_would_hide_a_dead_node_or_cut_off_work(repeated: float) -> None:
    repeating = Load(accelerators=(repeated,) * 4, cpu=1.0, working=True)
    world = World(fleet(), load=lambda _i, now: BUSY if now < _HANGS_FROM * MINUTE else repeating)
    world.start(1)

    world.run(6 * HOUR)

    assert world.notifications == []
    assert (world.killed_at_work != []) is (repeated == 0)


@pytest.mark.parametrize(("instance_type", "accelerators"), [("g5.12xlarge", 4), ("dl1.24xlarge", 8)])
def test_case_45_one_dead_accelerator_of_several_is_told_within_15_minutes(
    instance_type: str, accelerators: int
) -> None:
    def load(_instance: Instance, now: int) -> Load:
        dead = None if now >= _HANGS_FROM * MINUTE else 95.0
        return Load(accelerators=(95.0, dead, *(95.0,) * (accelerators - 2)), cpu=30.0)

    world = World(fleet_of(instance_type, has_image=instance_type.startswith("g5")), load=load)
    world.start(1)
    world.run(6 * HOUR)

    (minute,) = alarmed_at(world, "DegradedAlarm")
    assert _HANGS_FROM < minute <= _HANGS_FROM + _SOON
    # The group's own samples do not show it: those that still answer are more than one an instance.
    assert alarmed_at(world, "TelemetryGapAlarm") == []
    assert alarmed_at(world, "UnknownAlarm") == []
    assert world.group.endings == []


_DEAD_BESIDE_IDLE = Load(accelerators=(0.0, None, 0.0, 0.0), cpu=1.0, working=True)


def test_case_45_a_dead_one_beside_idle_ones_is_unknown_and_kept() -> None:
    world = World(fleet(), load=lambda _i, _now: _DEAD_BESIDE_IDLE)
    (member,) = world.start(1)

    world.run(3 * HOUR)

    assert world.group.endings == []
    assert verdicts(world, member.id)[-1] == "unknown"
    assert alarmed_at(world, "UnknownAlarm") != []


def test_case_45_if_the_handler_did_not_ask_for_unknown_accelerators_it_would_be_cut_off() -> None:
    template = with_signals(fleet(), "accelerator", "busy_mark", "cpu", "logins")
    world = World(template, load=lambda _i, _now: _DEAD_BESIDE_IDLE)
    world.start(1)

    world.run(3 * HOUR)

    assert len(world.killed_at_work) == 1


@pytest.mark.parametrize("busy", [0, 2, 3])
def test_case_45_the_others_still_count(busy: int) -> None:
    uses: list[float | None] = [95.0 if index == busy else 0.0 for index in range(4)]
    uses[1] = None
    world = World(fleet(), load=lambda _i, _now: Load(accelerators=uses, cpu=3.0, working=True))
    (member,) = world.start(1)

    world.run(3 * HOUR)

    assert world.group.endings == []
    assert verdicts(world, member.id)[-1] == "busy"
