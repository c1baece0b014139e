"""What holds in every world, told from the truth alone: nothing here asks the code under test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta

from tests.handlers.fake_aws import START
from tests.handlers.fake_aws.auto_scaling import FakeGroup, FakeMember
from tests.worlds.account import OLDEST_ANSWER
from tests.worlds.faults import Kind
from tests.worlds.history import History
from tests.worlds.world import MINUTE, Doing, Policy, Truth, World

UNSEEN = 3
"""Minutes of work that nobody can know of: a sample on its way, and evidence that may be two minutes old."""

UNSEEN_IN_OLD_ANSWERS = 8
"""The same when answers can be old: a series that ends five minutes ago is not silent yet."""


def breaches(history: History) -> list[str]:
    """Return every law that was broken, each with what broke it."""
    return [
        *_touched_strangers(history),
        *_ended_wrongly(history),
        *_below_minimum(history),
        *_fell_twice(history),
        *_asked_twice(history),
        *(f"a pass crashed: {error!r}" for error in history.crashes),
    ]


def _touched_strangers(history: History) -> Iterator[str]:
    for change in history.account.changed:
        members = {each.instance_id for each in change.before.members}
        if change.before.name == history.world.name:
            for instance_id in change.named:
                if instance_id not in members and instance_id not in history.world.ids:
                    yield f"{change.call.operation} named {instance_id}, which is no member"
        elif change.before != change.after:
            yield f"{change.call.operation} changed the group {change.before.name}"


def _ended_wrongly(history: History) -> Iterator[str]:
    for change in history.account.changed:
        for member in change.left():
            why = _objection(history, member, change.at)
            if why:
                yield f"{member.instance_id} was ended at {change.at} by {change.call.operation}, but {why}"


def _objection(history: History, member: FakeMember, at: datetime) -> str | None:
    """Return why this member should have stayed, or None."""
    policy = history.world.policy
    if member.lifecycle_state.endswith(":Retained"):
        return None if policy.retained_after is not None else "it is retained and nobody asked to end it"
    truth = history.world.truths.get(member.instance_id)
    if truth is None:
        return None if policy.max_unknown is not None else "it was launched a moment ago"
    guarded = _guarded(history, member, at)
    if guarded or _past_a_limit(history, truth, at):
        return guarded
    unseen = UNSEEN_IN_OLD_ANSWERS if _has(history.world, Kind.STALE) else UNSEEN
    return _needed(policy, truth, at) or _not_idle(truth, policy.window, policy.signals, at, unseen)


def _guarded(history: History, member: FakeMember, at: datetime) -> str | None:
    """Return what no limit may set aside: a hold, a person, a protection that is one, a state out of service."""
    since = history.guarded_since.get(member.instance_id)
    old = _has(history.world, Kind.STALE)
    if since is not None and since <= at - (OLDEST_ANSWER if old else timedelta()):
        return f"it was held, parked, detached or in use by a person since {since}"
    if member.lifecycle_state != "InService" and since is None:
        return f"it is {member.lifecycle_state}"
    if history.world.policy.protection_holds and member.protected and not (old and _protected_late(history.world)):
        return "it is protected"
    return None


def _needed(policy: Policy, truth: Truth, at: datetime) -> str | None:
    """Return what keeps an instance that may be idle: its youth, somebody on it, the hour."""
    age = _age(truth, at)
    if age < policy.warm_up * MINUTE:
        return f"it is {age} old"
    if policy.min_life is not None and age < policy.min_life * MINUTE:
        return f"it is {age} old, its life is at least {policy.min_life} min"
    if policy.sessions and truth.in_session:
        return "somebody is logged in"
    return "these are quiet hours" if policy.quiet else None


def _age(truth: Truth, at: datetime) -> timedelta:
    return at - (START - truth.age * MINUTE)


def _protected_late(world: World) -> bool:
    return any(each.event.value == "protect" for each in world.happenings)


def _past_a_limit(history: History, truth: Truth, at: datetime) -> bool:
    policy = history.world.policy
    if policy.max_life is not None and _age(truth, at) >= policy.max_life * MINUTE and policy.maintenance is not False:
        return True
    if policy.max_unknown is None:
        return False
    silent = [
        truth.doing(_minute(at) - back * MINUTE, signals=policy.signals) is Doing.SILENT
        for back in range(1, policy.max_unknown)
    ]
    return all(silent)


def _not_idle(truth: Truth, window: int, signals: int, at: datetime, unseen: int) -> str | None:
    """Return why nobody could know that this member was idle for the window."""
    now = _minute(at)
    course = {back: truth.doing(now - back * MINUTE, signals=signals) for back in range(1, window + 2 * unseen)}
    busy = [back for back, doing in course.items() if doing is Doing.BUSY and unseen < back <= window]
    if busy:
        return f"it was busy {busy[0]} min before"
    if all(course[back] is Doing.BUSY for back in range(1, unseen + 1)):
        return f"it has been busy for {unseen} min"
    if all(course[back] is Doing.SILENT for back in range(1, UNSEEN_IN_OLD_ANSWERS + 1)):
        return f"it has been silent for {UNSEEN_IN_OLD_ANSWERS} min"
    idle = sum(doing is Doing.IDLE for back, doing in course.items() if back <= window + UNSEEN_IN_OLD_ANSWERS)
    if idle < window:
        return f"it was seen idle for {idle} of {window} min"
    return None


def _below_minimum(history: History) -> Iterator[str]:
    for change in history.account.changed:
        before, after = change.before, change.after
        # Who answers with an old minimum cannot be asked to hold the new one.
        old = _has(history.world, Kind.STALE) and after.name == history.world.name
        least = min(history.world.min_size, after.min_size) if old else after.min_size
        if after.desired < before.desired and after.desired < least:
            yield f"the desired capacity fell to {after.desired}, the minimum is {least}"
        there = _remaining(after)
        if there < _remaining(before) and there < least:
            yield f"{change.call.operation} left {there}, the minimum is {least}"


def _remaining(group: FakeGroup) -> int:
    return sum(each.capacity for each in group.members if each.active)


def _fell_twice(history: History) -> Iterator[str]:
    falls: Counter[str] = Counter()
    for change in history.account.changed:
        if change.call.operation.startswith("Terminate") and change.after.desired < change.before.desired:
            falls.update(change.named)
    for instance_id, times in falls.items():
        if times > 1:
            yield f"the desired capacity fell {times} times for {instance_id}"


def _asked_twice(history: History) -> Iterator[str]:
    asked: set[str] = set()
    for change in history.account.changed:
        if change.before.name == history.world.name and change.call.operation.startswith("Terminate"):
            yield from (f"{each} was asked to leave twice" for each in change.named if each in asked)
            asked.update(change.named)


def _has(world: World, kind: Kind) -> bool:
    return any(fault.kind is kind for fault in world.faults)


def _minute(at: datetime) -> datetime:
    return at.replace(second=0, microsecond=0)
