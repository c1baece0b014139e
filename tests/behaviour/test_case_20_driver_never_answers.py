"""Field cases 20 and 66: the driver never answers, so the agent reports the host and the accelerators are missing."""

from __future__ import annotations

import pytest

from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.world import World
from tests.behaviour.fleets import HOUR, MINUTE, alarmed_at, fleet_of, verdicts
from tests.handlers.removed_guards import read_unknown_as_idle

_WARM_UP = 10
_BROKEN = Load(accelerators=None, driver=False, cpu=1.0, working=False)
_FLEETS = pytest.mark.parametrize(
    ("instance_type", "has_image"), [("g5.12xlarge", True), ("inf2.8xlarge", True), ("f2.6xlarge", False)]
)


@_FLEETS
def test_case_66_it_is_reported_within_15_minutes_of_the_warm_up_and_never_released(
    instance_type: str, has_image: bool
) -> None:
    world = World(fleet_of(instance_type, has_image=has_image), load=lambda _i, _now: _BROKEN)
    launched = world.now // MINUTE
    (member,) = world.start(1)

    world.run(12 * HOUR)

    assert world.group.endings == []
    for name in ("DegradedAlarm", "TelemetryGapAlarm"):
        (minute,) = alarmed_at(world, name)
        assert minute <= launched + _WARM_UP + 15
    assert alarmed_at(world, "UnknownAlarm") != []
    assert verdicts(world, member.id)[-1] == "unknown"


def test_case_20_the_agent_reports_the_host_all_the_same() -> None:
    world = World(fleet_of("g5.12xlarge"), load=lambda _i, _now: _BROKEN)
    world.start(1)

    world.run(HOUR)

    published = {name for name, _ in world.store.published("AcceleratedFleet")}
    assert {"cpu_usage_active", "mem_used_percent", "accelerators_missing", "busy_marks"} <= published
    assert not [name for name in published if name.startswith("nvidia_smi") or name == "node_heartbeat"]


def test_case_20_one_broken_instance_is_not_hidden_by_healthy_ones() -> None:
    """The samples of the group look sound: those of the healthy outnumber the instances."""
    working = Load(accelerators=(95.0,) * 4, cpu=30.0)
    world = World(fleet_of("g5.12xlarge"), load=lambda each, _now: _BROKEN if each.id.endswith("1") else working)
    world.start(3)

    world.run(2 * HOUR)

    assert len(alarmed_at(world, "DegradedAlarm")) == 1
    assert alarmed_at(world, "TelemetryGapAlarm") == []
    assert world.group.endings == []


def test_case_66_if_unknown_counted_as_idle_it_would_be_released(monkeypatch: pytest.MonkeyPatch) -> None:
    read_unknown_as_idle(monkeypatch)
    world = World(fleet_of("g5.12xlarge"), load=lambda _i, _now: _BROKEN)
    world.start(1)

    world.run(2 * HOUR)

    assert len(world.released) == 1
