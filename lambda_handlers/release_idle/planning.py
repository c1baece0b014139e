"""Which idle members may go. Pure: verdicts and sizes in, a plan with reasons out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from release_idle.decision import Member, State, Verdict, is_active


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

    `messages` wait or are in somebody's hands, and `demand` is the capacity that they need: both 0 for a fleet without
    a queue, None when the queue could not be read. `at_work` is how many members in service are seen working.
    """

    min_size: int
    desired: int
    messages: int | None
    demand: int | None
    at_work: int


def plan_release(
    members: Sequence[Member],
    verdicts: Mapping[str, Verdict],
    limits: CapacityLimits,
    max_release_share: float,
) -> Plan:
    """Return which idle members to release, longest idle first and then by instance id.

    What stays always holds the group's minimum (members in service and on their way into it). While fewer members are
    seen at work than the queue has messages, no idle member goes at all: a message in flight does not say who holds it,
    each may be on an instance of its own however many one can take, and the newest minutes of a metric are not known
    yet, so any of them may have taken one just now. A member without a verdict is not a candidate.
    """
    idle = [member for member in members if _is_idle(verdicts.get(member.instance_id))]
    if limits.demand is None or limits.messages is None:
        return Plan(
            releases=(),
            spared={member.instance_id: "the queue could not be read" for member in idle},
            kept_for_work=(),
            floor=None,
        )
    serving = [member for member in members if member.lifecycle_state == "InService"]
    if limits.at_work < min(limits.messages, len(serving)):
        why = (
            f"the queue has {limits.messages} messages, {limits.at_work} members are seen at work: "
            "each message may be on an instance of its own"
        )
        return Plan(
            releases=(),
            spared={member.instance_id: why for member in idle},
            kept_for_work=tuple(member.instance_id for member in idle),
            floor=max(limits.min_size, limits.demand),
        )
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


def filled_capacity(active: int, desired: int, floor: int) -> int | None:
    """Return what to lower a desired capacity to that AWS never filled, None when it is filled or still needed.

    `active` is the capacity in service or on its way into it, `floor` what the minimum and the work need.
    """
    target = max(active, floor)
    return target if desired > target else None


def members_at_work(members: Sequence[Member], verdicts: Mapping[str, Verdict]) -> int:
    """Return how many members in service are seen at work."""
    return sum(
        member.lifecycle_state == "InService"
        and member.instance_id in verdicts
        and verdicts[member.instance_id].at_work
        for member in members
    )


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


def _is_idle(verdict: Verdict | None) -> bool:
    return verdict is not None and verdict.state is State.IDLE


def _turn(member: Member, verdicts: Mapping[str, Verdict]) -> tuple[int, str]:
    return (-(verdicts[member.instance_id].idle_seconds or 0), member.instance_id)
