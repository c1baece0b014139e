"""Who is busy, who is idle, and who may go. Pure: plain data and the time in, verdicts with reasons out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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

    `idle_seconds` is how long it has surely been idle, None if it is not. `at_work` says that a signal shows use: a
    member that is busy only because somebody is logged in may have no work.
    """

    state: State
    reason: str
    idle_seconds: int | None = None
    at_work: bool = False


@dataclass(frozen=True, kw_only=True)
class Release:
    """A member to terminate, and whether the desired capacity falls with it."""

    instance_id: str
    decrement: bool


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Who goes, in order, and why each other idle member stays.

    `floor` is the capacity that must remain, None when that is unknown. `kept_for_work` are the idle members that stay
    because work waits for them.
    """

    releases: tuple[Release, ...]
    spared: Mapping[str, str]
    kept_for_work: tuple[str, ...]
    floor: int | None


@dataclass(frozen=True, kw_only=True)
class CapacityLimits:
    """The group's sizes and what its work needs.

    `demand` is the capacity that waiting and running work needs: 0 for a fleet without a queue, None when the queue
    could not be read. `at_work` is the capacity that is seen working.
    """

    min_size: int
    desired: int
    demand: int | None
    at_work: int


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


def plan_release(
    members: Sequence[Member],
    verdicts: Mapping[str, Verdict],
    limits: CapacityLimits,
    max_release_share: float,
) -> Plan:
    """Return which idle members to release, longest idle first and then by instance id.

    What stays always holds the group's minimum (members in service and on their way into it). While less capacity is
    seen at work than the queue's messages need, no idle member goes at all: a message in flight does not say who holds
    it, and the newest minutes of a metric are not known yet, so any of them may have taken it just now. A member
    without a verdict is not a candidate.
    """
    idle = [member for member in members if _is_idle(verdicts.get(member.instance_id))]
    if limits.demand is None:
        return Plan(
            releases=(),
            spared={member.instance_id: "the queue could not be read" for member in idle},
            kept_for_work=(),
            floor=None,
        )
    if limits.at_work < limits.demand:
        why = (
            f"work needs a capacity of {limits.demand}, {limits.at_work} are seen at work: any may have just taken some"
        )
        return Plan(
            releases=(),
            spared={member.instance_id: why for member in idle},
            kept_for_work=tuple(member.instance_id for member in idle),
            floor=max(limits.min_size, limits.demand),
        )
    serving = [member for member in members if member.lifecycle_state == "InService"]
    ledger = _Ledger(
        min_size=limits.min_size,
        demand=limits.demand,
        desired=limits.desired,
        active=sum(member.capacity for member in members if is_active(member.lifecycle_state)),
        releases_left=math.ceil(max_release_share * len(serving)),
    )
    releases, spared = [], {}
    for member in sorted(idle, key=lambda member: _turn(member, verdicts)):
        objection = ledger.objection(member.capacity)
        if objection:
            spared[member.instance_id] = objection
        else:
            decrement = ledger.release(member.capacity)
            releases.append(Release(instance_id=member.instance_id, decrement=decrement))
    return Plan(releases=tuple(releases), spared=spared, kept_for_work=(), floor=ledger.floor)


def capacity_at_work(members: Sequence[Member], verdicts: Mapping[str, Verdict]) -> int:
    """Return the capacity of the members in service that are seen at work."""
    return sum(
        member.capacity
        for member in members
        if member.lifecycle_state == "InService"
        and member.instance_id in verdicts
        and verdicts[member.instance_id].at_work
    )


def is_active(lifecycle_state: str) -> bool:
    """Return whether a member counts toward the desired capacity: in service or on its way into it."""
    return lifecycle_state == "InService" or _is_coming(lifecycle_state)


@dataclass(kw_only=True)
class _Ledger:
    """What remains of the group while releases are chosen one after the other."""

    min_size: int
    demand: int
    desired: int
    active: int
    releases_left: int

    @property
    def floor(self) -> int:
        return max(self.min_size, self.demand)

    def objection(self, capacity: int) -> str | None:
        """Return why a member of this capacity has to stay, or None."""
        if self.active - capacity < self.min_size:
            return f"the minimum is {self.min_size}, {self.active} are there"
        if not self._is_surplus(capacity) and self.desired - capacity < self.floor:
            return f"the desired capacity is {self.desired} and must not fall below {self.floor}"
        if self.releases_left <= 0:
            return "this pass has released its share"
        return None

    def release(self, capacity: int) -> bool:
        """Take a member of this capacity out; return whether the desired capacity falls with it."""
        decrement = not self._is_surplus(capacity)
        self.active -= capacity
        self.releases_left -= 1
        if decrement:
            self.desired -= capacity
        return decrement

    def _is_surplus(self, capacity: int) -> bool:
        # More members than desired: somebody lowered the size and protection kept them alive. The group has
        # been told already that it needs fewer, so taking the surplus must not lower the desired capacity
        # once more: that would make the fleet smaller than what was asked for (or be refused at the minimum,
        # and the surplus would stay for ever). No replacement starts either, as what remains still covers the
        # desired capacity.
        return self.active - capacity >= self.desired


def _judge_lifecycle(member: Member) -> Verdict | None:
    if member.lifecycle_state == "InService":
        return None
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
            return Verdict(state=State.BUSY, reason=finding.reason, at_work=True)
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


def _is_idle(verdict: Verdict | None) -> bool:
    return verdict is not None and verdict.state is State.IDLE


def _turn(member: Member, verdicts: Mapping[str, Verdict]) -> tuple[int, str]:
    return (-(verdicts[member.instance_id].idle_seconds or 0), member.instance_id)
