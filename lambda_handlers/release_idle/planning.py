"""Which of the members that may go do go. Pure: candidates and sizes in, a plan with reasons out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from release_idle.members import Member, State, Verdict
from runtime.group import is_active

MOST_RELEASES = 200
"""A pass never releases more: each one is a call, and all of them fit into its record of who was asked to leave."""


class Cause(str, Enum):
    """Why a member goes."""

    IDLE = "idle"
    MAX_LIFE = "max_life"
    MAX_UNKNOWN = "max_unknown"
    LEAVE_FROM = "leave_from"
    RETAINED = "retained"


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A member that may go, and why. `objection` is why it stays for now all the same, None without one."""

    member: Member
    cause: Cause
    reason: str
    objection: str | None = None

    @property
    def is_overdue(self) -> bool:
        """Whether it is past a hard limit, so that it goes also when it is not idle."""
        return self.cause is not Cause.IDLE


@dataclass(frozen=True, kw_only=True)
class Release:
    """A member to terminate, and whether the desired capacity falls with it.

    `surplus` says that it is more than is desired, and `replaceable` that the policy would have it replaced, should AWS
    refuse to let the capacity fall.
    """

    instance_id: str
    decrement: bool
    cause: Cause = Cause.IDLE
    reason: str = ""
    surplus: bool = False
    replaceable: bool = False


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Who goes, in order, and why each other candidate stays.

    `floor` is the capacity that must remain, None when that is unknown. `kept_for_work` are the idle members that stay
    because work waits for them.
    """

    releases: tuple[Release, ...]
    spared: Mapping[str, str]
    kept_for_work: tuple[str, ...]
    floor: int | None


@dataclass(frozen=True, kw_only=True)
class CapacityLimits:
    """The group's sizes, what its work needs, and how many may go.

    `messages` wait or are in somebody's hands, and `demand` is the capacity that they need: both 0 for a fleet without
    a queue, None when the queue could not be read. `at_work` is how many members in service are seen working. `warm` is
    the capacity that the policy keeps at this hour, and `replaces` says that members past a hard limit are replaced
    when the capacity must not fall.
    """

    min_size: int
    desired: int
    messages: int | None
    demand: int | None
    at_work: int
    most_releases: int
    warm: int = 0
    replaces: bool = False

    @property
    def least(self) -> int:
        """The capacity that has to be there, whatever the work."""
        return max(self.min_size, self.warm)

    @property
    def floor(self) -> int | None:
        """The least that the desired capacity may be, None when the work is not known."""
        return None if self.demand is None else max(self.least, self.demand)


def plan_release(
    members: Sequence[Member],
    verdicts: Mapping[str, Verdict],
    candidates: Sequence[Candidate],
    limits: CapacityLimits,
) -> Plan:
    """Return which candidates to release, taken in the order they are given.

    What stays always holds the group's minimum and what is kept warm (members in service and on their way into it).
    While fewer members are seen at work than the queue has messages, no idle member goes at all: a message in flight
    does not say who holds it, each may be on an instance of its own however many one can take, and the newest minutes
    of a metric are not known yet, so any of them may have taken one just now.
    """
    staying = [member for member in members if is_active(member.lifecycle_state) and not leaves(member, verdicts)]
    leaving = [member for member in members if is_active(member.lifecycle_state) and leaves(member, verdicts)]
    serving = sum(member.lifecycle_state == "InService" for member in staying)
    ledger = _Ledger(
        limits=limits,
        desired=limits.desired,
        leaving=sum(member.capacity for member in leaving),
        active=sum(member.capacity for member in staying),
        releases_left=min(limits.most_releases, MOST_RELEASES),
    )
    waiting = _waiting_work(limits, serving)
    kept_for_work: list[str] = []
    releases: list[Release] = []
    spared: dict[str, str] = {}
    for candidate in candidates:
        instance_id = candidate.member.instance_id
        if waiting and not candidate.is_overdue and limits.demand is not None:
            kept_for_work.append(instance_id)
        objection = candidate.objection or (None if candidate.is_overdue else waiting)
        settled = objection or ledger.settle(candidate)
        if isinstance(settled, Release):
            releases.append(settled)
        else:
            spared[instance_id] = settled
    return Plan(releases=tuple(releases), spared=spared, kept_for_work=tuple(kept_for_work), floor=limits.floor)


def filled_capacity(active: int, desired: int, floor: int) -> int | None:
    """Return what to lower a desired capacity to that AWS never filled, None when it is filled or still needed.

    `active` is the capacity in service or on its way into it, `floor` what the minimum and the work need.
    """
    target = max(active, floor)
    return target if desired > target else None


def is_surplus(active: int, capacity: int, needed: int) -> bool:
    """Return whether as much as is needed remains of what is active without this capacity."""
    return active - capacity >= needed


def members_at_work(members: Sequence[Member], verdicts: Mapping[str, Verdict]) -> int:
    """Return how many members in service are seen at work."""
    return sum(
        member.lifecycle_state == "InService"
        and member.instance_id in verdicts
        and verdicts[member.instance_id].at_work
        for member in members
    )


def _waiting_work(limits: CapacityLimits, serving: int) -> str | None:
    """Return why no idle member may go because of the queue, or None."""
    if limits.messages is None:
        return "the queue could not be read"
    if limits.at_work >= min(limits.messages, serving):
        return None
    return (
        f"the queue has {limits.messages} messages, {limits.at_work} members are seen at work: "
        "each message may be on an instance of its own"
    )


def leaves(member: Member, verdicts: Mapping[str, Verdict]) -> bool:
    """Return whether EC2 has ended a member, or an earlier pass asked for that, as the group may not show it yet."""
    verdict = verdicts.get(member.instance_id)
    return verdict is not None and verdict.state is State.LEAVING


@dataclass(kw_only=True)
class _Ledger:
    """What remains of the group while releases are chosen one after the other."""

    limits: CapacityLimits
    desired: int
    leaving: int
    active: int
    releases_left: int

    def settle(self, candidate: Candidate) -> Release | str:
        """Return the release of the candidate, or why it has to stay."""
        if self.releases_left <= 0:
            return "this pass has released its share"
        objection = self.objection(candidate.member.capacity)
        if objection is None:
            surplus = self._is_surplus(candidate.member.capacity)
            return self._release(candidate, decrement=not surplus, surplus=surplus)
        if candidate.is_overdue and self.limits.replaces:
            return self._release(candidate, decrement=False)
        return objection

    def objection(self, capacity: int) -> str | None:
        """Return why the capacity must not fall by so much, or None."""
        if self.active - capacity < self.limits.min_size:
            return f"the minimum is {self.limits.min_size}, {self.active} are there"
        if self.active - capacity < self.limits.warm:
            return f"{self.limits.warm} are kept warm at this hour, {self.active} are there"
        floor = self.limits.floor
        if floor is None:
            return "the queue could not be read"
        # Those on their way out may have lowered the number already, which the group's answer does not show yet.
        if not self._is_surplus(capacity) and self.desired - self.leaving - capacity < floor:
            return f"the desired capacity is {self.desired - self.leaving} and must not fall below {floor}"
        return None

    def _release(self, candidate: Candidate, *, decrement: bool, surplus: bool = False) -> Release:
        """Take the candidate out."""
        self.active -= candidate.member.capacity
        self.releases_left -= 1
        if decrement:
            self.desired -= candidate.member.capacity
        return Release(
            instance_id=candidate.member.instance_id,
            decrement=decrement,
            cause=candidate.cause,
            reason=candidate.reason,
            surplus=surplus,
            replaceable=candidate.is_overdue and self.limits.replaces,
        )

    def _is_surplus(self, capacity: int) -> bool:
        # More members than desired: somebody lowered the size and protection kept them alive. The group has
        # been told already that it needs fewer, so taking the surplus must not lower the desired capacity
        # once more: that would make the fleet smaller than what was asked for (or be refused at the minimum,
        # and the surplus would stay for ever). No replacement starts either, as what remains still covers the
        # desired capacity.
        return is_surplus(self.active, capacity, self.desired)
