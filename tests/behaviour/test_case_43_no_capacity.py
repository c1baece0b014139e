"""Field case 43: the cloud gives one instance of four; nothing may lower the one that works, and somebody is told."""

from __future__ import annotations

from tests.behaviour.fleets import BUSY, HOUR, MINUTE, fleet
from tests.behaviour.simulator.alarms import Alarm
from tests.behaviour.simulator.world import World


def _shortfall_alarm(world: World) -> Alarm:
    def watches(alarm: Alarm, metric: str) -> bool:
        return any(q.get("MetricStat", {}).get("Metric", {}).get("MetricName") == metric for q in alarm.queries)

    (alarm,) = (a for a in world.alarms.values() if watches(a, "GroupDesiredCapacity"))
    return alarm


def test_case_43_the_one_that_works_stays_and_the_shortfall_is_reported() -> None:
    world = World(fleet(), load=lambda _instance, _now: BUSY)
    world.group.capacity = 1
    world.run(30)

    world.start(4)
    world.run(2 * HOUR)

    assert world.group.endings == []
    assert len(world.group.in_service) == 1
    assert world.group.desired == 4
    alarm = _shortfall_alarm(world)
    (minute,) = world.went_to(alarm, "ALARM")
    assert 30 + 15 <= minute <= 30 + 20
    assert (minute * MINUTE, alarm.name) in {(at, name) for at, name, _ in world.notifications}


def test_case_43_an_ordinary_start_is_no_shortfall() -> None:
    world = World(fleet(), load=lambda _instance, _now: BUSY)
    world.run(30)

    world.start(4)
    world.run(2 * HOUR)

    assert world.went_to(_shortfall_alarm(world), "ALARM") == []
