"""Field case 30: a one-hour condition must not become five minutes."""

from __future__ import annotations

import pytest

from constructs_lib.rehearsal.world import World
from tests.behaviour.fleets import BUSY, HOUR, IDLE, MINUTE, fleet


@pytest.mark.parametrize("window", [5, 15, 30, 60, 90, 600, 1_440])
def test_case_30_alarm_and_handler_judge_exactly_the_window_asked_for(window: int) -> None:
    world = World(fleet(window=window))
    handler = world.template.function("release_idle")
    alarm = world.template.alarm_invoking(handler)

    assert alarm.window_seconds == window * MINUTE
    assert alarm.m == alarm.n
    assert int(handler.environment["WINDOW_SECONDS"]) == window * MINUTE


@pytest.mark.parametrize("window", [5, 15, 30, 60, 90, 600])
def test_case_30_release_comes_after_the_window_and_soon(window: int) -> None:
    """Idle from the first hour on: gone after the window, two minutes of late metrics and one pass of the schedule."""
    world = World(fleet(window=window), load=lambda _i, now: BUSY if now < HOUR * MINUTE else IDLE)
    world.start(1)

    world.run(HOUR + window + 15)

    waited = [ending.at // MINUTE - HOUR for ending in world.released]
    assert len(waited) == 1
    assert window <= waited[0] <= window + 8
