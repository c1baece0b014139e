"""Who is busy and who is idle. Pure: plain data and the time in, verdicts with reasons out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum

from release_idle.measurement import Busy, Idle, Reading, Signal, Unknown, Window, examine, window_before


class State(str, Enum):
    """What a member of the group is. Only `IDLE` can ever be released."""

    BUSY = "busy"
    IDLE = "idle"
    UNKNOWN = "unknown"
    STARTING = "starting"
    HELD = "held"
    LEAVING = "leaving"


@dataclass(frozen=True, kw_only=True)
class IdlePolicy:
    """When a member counts as idle, and how much of the fleet may go in one pass."""

    window_seconds: int
    warm_up_seconds: int
    period_seconds: int
    signals: tuple[Signal, ...]
    max_release_share: float
    hold_tag_key: str
    protection_holds: bool
    """Whether scale-in protection is a person's "hands off" (a group that is not ours) or set on every member
    by the group itself (ours, where only this decision may choose a victim)."""

    def __post_init__(self) -> None:
        # Without a signal nothing could speak against idleness, and silence is never a fact.
        if not self.signals:
            raise ValueError("signals must hold at least one signal, got none")

    def first_signals(self, count: int) -> IdlePolicy:
        """Return the policy with its first `count` signals: who is not idle by those is not idle at all."""
        return replace(self, signals=self.signals[:count])

    def window(self, now: datetime) -> Window:
        """Return the window that an instance must have been idle for, at `now`."""
        return window_before(now, window_seconds=self.window_seconds, period_seconds=self.period_seconds)


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What EC2 knows about an instance."""

    launched_at: datetime
    state: str
    tags: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Member:
    """An instance of the group.

    `machine` is None when EC2 did not return the instance, `in_session` when sessions could not be read.
    """

    instance_id: str
    lifecycle_state: str
    protected: bool
    machine: Machine | None
    in_session: bool | None
    capacity: int = 1


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What a member is and why.

    `idle_seconds` is how long it has surely been idle, None if it is not. `at_work` says that a signal shows use in its
    newest points: a member that is busy only because somebody is logged in, or because it worked earlier in the window,
    may have no work now.
    """

    state: State
    reason: str
    idle_seconds: int | None = None
    at_work: bool = False


def judge(member: Member, readings: Mapping[str, Reading], policy: IdlePolicy, now: datetime) -> Verdict:
    """Return the verdict on one member from what EC2, Session Manager and its signals say.

    `readings` are keyed by signal name. Signals are taken in the policy's order and the first that is not
    idle decides, so later ones need not be there; a signal that is needed and missing makes the member
    unknown.
    """
    standing = judge_standing(member, policy, now)
    return standing or _judge_signals(member, readings, policy, now)


def judge_standing(member: Member, policy: IdlePolicy, now: datetime) -> Verdict | None:
    """Return the verdict on a member whose signals need not be asked, or None when they decide."""
    out_of_service = _judge_lifecycle(member)
    if out_of_service:
        return out_of_service
    if policy.protection_holds and member.protected:
        return Verdict(state=State.HELD, reason="protected from scale-in")
    machine = member.machine
    if machine is None:
        return Verdict(state=State.UNKNOWN, reason="EC2 did not return the instance")
    if machine.state == "pending":
        return Verdict(state=State.STARTING, reason="EC2 says that it is pending")
    if machine.state != "running":
        return Verdict(state=State.LEAVING, reason=f"EC2 says that it is {machine.state}")
    mark = machine.tags.get(policy.hold_tag_key)
    if mark is not None and mark.strip().lower() != "false":
        return Verdict(state=State.HELD, reason=f"tag {policy.hold_tag_key} is {mark!r}")
    age = (now - machine.launched_at).total_seconds()
    if age < policy.warm_up_seconds:
        return Verdict(state=State.STARTING, reason=f"launched {age:.0f} s ago, warm-up is {policy.warm_up_seconds} s")
    if member.in_session is None:
        return Verdict(state=State.UNKNOWN, reason="active sessions could not be read")
    if member.in_session:
        return Verdict(state=State.BUSY, reason="a Session Manager session is active")
    return None


def is_active(lifecycle_state: str) -> bool:
    """Return whether a member counts toward the desired capacity: in service or on its way into it."""
    return lifecycle_state == "InService" or _is_coming(lifecycle_state)


def _judge_lifecycle(member: Member) -> Verdict | None:
    if member.lifecycle_state == "InService":
        return None
    if member.lifecycle_state == "Standby":
        return Verdict(state=State.HELD, reason="parked in Standby")
    if member.lifecycle_state.endswith(":Retained"):
        # A lifecycle hook failed and the group keeps the instance for whoever wants to look at it: it bills until then.
        return Verdict(state=State.HELD, reason=f"retained by the group: {member.lifecycle_state}")
    state = State.STARTING if _is_coming(member.lifecycle_state) else State.LEAVING
    return Verdict(state=state, reason=f"not in service: {member.lifecycle_state}")


def _is_coming(lifecycle_state: str) -> bool:
    # An instance whose root volume is replaced reboots and comes back; it never left the group.
    return lifecycle_state.startswith(("Pending", "ReplacingRootVolume")) or lifecycle_state == "RootVolumeReplaced"


def _judge_signals(member: Member, readings: Mapping[str, Reading], policy: IdlePolicy, now: datetime) -> Verdict:
    window = policy.window(now)
    # judge_standing has let only members with a machine through.
    assert member.machine is not None
    warm_from = member.machine.launched_at + timedelta(seconds=policy.warm_up_seconds)
    idle: list[Idle] = []
    for signal in policy.signals:
        reading = readings.get(signal.name)
        if reading is None:
            return Verdict(state=State.UNKNOWN, reason=f"{signal.name} was not read")
        finding = examine(signal, reading, window, expected_from=warm_from, now=now)
        if isinstance(finding, Busy):
            return Verdict(state=State.BUSY, reason=finding.reason, at_work=finding.at_work)
        if isinstance(finding, Unknown):
            return Verdict(state=State.UNKNOWN, reason=finding.reason)
        idle.append(finding)
    if not all(finding.whole_window for finding in idle):
        age = (now - member.machine.launched_at).total_seconds()
        return Verdict(
            state=State.STARTING,
            reason=f"launched {age:.0f} s ago, too young to have been idle for {policy.window_seconds} s",
        )
    idle_seconds = int((now - max(finding.since for finding in idle)).total_seconds())
    return Verdict(state=State.IDLE, reason="; ".join(finding.reason for finding in idle), idle_seconds=idle_seconds)
