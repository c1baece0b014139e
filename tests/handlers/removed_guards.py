"""Guards taken out: a test of destructive code is worth something only if it fails without them (case 82, 6)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from fleet_cleanup import index, stack_end, stack_status
from fleet_cleanup.lookup import groups_with_tag
from fleet_cleanup.stack_event import StackEvent
from fleet_cleanup.stack_status import StackUnreadable
from fleet_schedule import decision as schedule_decision
from release_idle import decision, leaving, measurement, survey, unknown_memory
from release_idle.measurement import Busy, Idle, Reading, Series, Signal, Window
from release_idle.members import State, Verdict
from release_idle.planning import CapacityLimits
from release_idle.state import PassState, StateStore
from release_idle.unknown_memory import UnknownMemory


def read_unknown_as_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the guard of everything that cannot be read: unknown counts as idle."""
    judge = decision.judge

    def careless(*args: Any) -> Verdict:
        verdict = judge(*args)
        if verdict.state is State.UNKNOWN:
            return Verdict(state=State.IDLE, reason="guard removed", idle_seconds=0)
        return verdict

    monkeypatch.setattr(decision, "judge", careless)


def read_standing_as_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the guards that come before the signals, and the one for an instance younger than the window."""
    monkeypatch.setattr(survey, "judge_standing", lambda *args: None)
    monkeypatch.setattr(decision, "judge_standing", lambda *args: None)
    examine = measurement.examine

    def careless(*args: Any, **named: Any) -> Any:
        finding = examine(*args, **named)
        return Idle(finding.since, True, finding.reason) if isinstance(finding, Idle) else finding

    monkeypatch.setattr(decision, "examine", careless)


def act_on_every_stack_event(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the guard that asks whose stack it is and whether that stack is on its way out."""
    monkeypatch.setattr(StackEvent, "ends", lambda self, stack_id, logical_id: True)


def take_the_first_group_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the guard that refuses when several groups carry the fleet's tag."""
    monkeypatch.setattr(stack_end, "groups_with_tag", lambda *args: groups_with_tag(*args)[:1])


def take_every_delete_for_the_stacks_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the guard that asks whether the stack goes, when its custom resource does."""
    monkeypatch.setattr(index, "takes_its_fleet_along", lambda status: True)


def take_an_unreadable_stack_for_one_that_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the guard of a stack whose status cannot be read: it counts as being deleted."""

    def careless(*args: Any) -> str:
        try:
            return stack_status.read_stack_status(*args)
        except StackUnreadable:
            return "DELETE_IN_PROGRESS"

    monkeypatch.setattr(index, "read_stack_status", careless)


def heed_only_the_logical_id(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hear only of the group that bears the present template's logical id."""
    monkeypatch.setattr(StackEvent, "ends", lambda self, stack_id, logical_id: self.logical_id == logical_id)


def see_everybody_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the guard that compares the messages with the members at work."""
    monkeypatch.setattr(decision, "members_at_work", lambda members, verdicts: 10**6)


def count_messages_by_capacity(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the guard that each message may be on an instance of its own: one takes as many as it can."""

    def careless(**limits: Any) -> CapacityLimits:
        return CapacityLimits(**{**limits, "messages": limits["demand"]})

    monkeypatch.setattr(decision, "CapacityLimits", careless)


def count_every_busy_member_as_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the guard that asks the newest points: busy at any time in the window counts as at work now."""
    examine = measurement.examine

    def careless(*args: Any, **named: Any) -> Any:
        finding = examine(*args, **named)
        return Busy(finding.reason, at_work=True) if isinstance(finding, Busy) else finding

    monkeypatch.setattr(decision, "examine", careless)


def overlook_the_newest_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the guard of work that began a moment ago: points that may still change count for nothing."""
    examine = measurement.examine

    def careless(signal: Signal, reading: Reading, window: Window, **named: Any) -> Any:
        if isinstance(reading, Series):
            reading = replace(reading, points=tuple(each for each in reading.points if each.at < window.end))
        return examine(signal, reading, window, **named)

    monkeypatch.setattr(decision, "examine", careless)


def act_without_the_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the guard of two passes at once: everybody gets the lease, and nobody hears of the others."""
    monkeypatch.setattr(StateStore, "read", lambda self: PassState(version=1))
    monkeypatch.setattr(StateStore, "put", lambda self, wanted: wanted)


def forget_who_was_asked_to_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the guard of a group whose answers lag: what earlier passes asked for is forgotten."""
    monkeypatch.setattr(PassState, "asked_to_leave", lambda self, now: {})


def count_no_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the guard that asks for passes in a row: an old mark is enough."""

    def careless(tags: Any, now: datetime) -> UnknownMemory:
        before = unknown_memory.remembered(tags)
        return UnknownMemory(since=before.since if before else now, passes=9, seen=now)

    monkeypatch.setattr(decision, "unknown_again", careless)


def forget_who_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the guard that keeps who is held past every hard limit: held counts as busy."""
    judge = decision.judge

    def careless(*args: Any) -> Verdict:
        verdict = judge(*args)
        return Verdict(state=State.BUSY, reason="guard removed") if verdict.state is State.HELD else verdict

    monkeypatch.setattr(decision, "judge", careless)


def take_everybody_for_protected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the guard that asks whether a pause could end running work."""
    monkeypatch.setattr(schedule_decision, "exposed", lambda group: None)


def take_every_machine_for_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the guard that asks whether a member can still run its drain itself."""
    monkeypatch.setattr(leaving, "_ALIVE", ())
