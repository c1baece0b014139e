"""What a fleet's sizes should be now, and how to get there. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from fleet_schedule.memory import CLOSED, Memory, Sizes
from fleet_schedule.timetable import Call, Timetable
from runtime.group import Group

_SETTLED = timedelta(minutes=2)
"""Every run that began before a pause ended is over so long after it. None is as long."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What the schedule asks for. `template` are the sizes in the deployed template, None where they are not known."""

    timetable: Timetable
    template: Sizes | None


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What one run does, in this order, and why.

    Attributes:
        remember: what has to be in the parameter before anything is changed.
        sizes: to give the group, None to leave them.
        raise_to: the desired capacity to set if it is still lower, None to leave it.
        opens: whether the pause is over once the group has these sizes.
        answered: the calls that are answered once the desired capacity is there.
        obstacle: why what should be done is not, None where nothing is in the way.
    """

    remember: Memory
    reason: str
    sizes: Sizes | None = None
    raise_to: int | None = None
    opens: bool = False
    answered: tuple[str, ...] = ()
    obstacle: str | None = None


def pause_by_hand(memory: Memory) -> Memory:
    """Return what is remembered when a person pauses the fleet."""
    return replace(memory, by_hand=True, open_until=None)


def resume_by_hand(memory: Memory, timetable: Timetable, now: datetime) -> Memory:
    """Return what is remembered when a person resumes the fleet: outside its hours it is open until they begin."""
    until = None if timetable.is_open(now) else timetable.next_opening(now)
    return replace(memory, by_hand=False, open_until=until)


def open_now(memory: Memory, now: datetime) -> Memory:
    """Return what is remembered when the group has its sizes back."""
    return replace(memory, paused=False, opened_at=now)


def answer(memory: Memory, names: tuple[str, ...], plan: Plan, now: datetime) -> Memory:
    """Return what is remembered when these calls were answered. What asks no more is forgotten."""
    asking = [call.name for call in plan.timetable.calls(now)]
    return replace(memory, woken=tuple(sorted({name for name in (*memory.woken, *names) if name in asking})))


def decide(memory: Memory, group: Group, plan: Plan, now: datetime) -> Decision:
    """Return what to do about a group that exists and is not being deleted.

    A person's pause beats everything, then the hours and wake-ups count, then a person's resume. Deciding again on what
    a decision remembers gives the same decision, so a run that breaks off anywhere is completed by the next.
    """
    live = Sizes(min=group.min_size, max=group.max_size, desired=group.desired_capacity)
    why = _why_closed(memory, plan.timetable, now)
    if live.max == 0 and not group.protects_new_instances:
        # Nothing else looks like that, but a person may have taken the protection of a fleet that has to open now.
        due = memory.paused and why is None
        obstacle = "new instances are not protected from scale-in: protect them, to have it opened" if due else None
        return Decision(remember=memory, reason="the group is being cleared for its deletion", obstacle=obstacle)
    # A run that began before the last pause ended may have closed the group since.
    was_open = memory.sizes is not None and memory.sizes.max > 0
    late = live.max == 0 and memory.opened_at is not None and was_open
    known = replace(memory, paused=memory.paused or late)
    if live.max == 0 and not known.paused:
        return Decision(remember=memory, reason="the group's maximum is 0, and not because of a pause: it stays so")
    if why is not None:
        return _close(known, group, live, plan, why)
    return _open(known, live, plan, now)


def exposed(group: Group) -> str | None:
    """Return whom the group could take if its sizes fell, or None. It would not look who is at work."""
    members = [
        member.instance_id
        for member in group.members
        if member.lifecycle_state == "InService" and not member.protected_from_scale_in
    ]
    if not members:
        return None if group.protects_new_instances else "new instances"
    return f"{', '.join(members[:3])} and others" if len(members) > 3 else ", ".join(members)


def _why_closed(memory: Memory, timetable: Timetable, now: datetime) -> str | None:
    if memory.by_hand:
        return "paused by hand"
    if timetable.is_open(now) or (memory.open_until is not None and now < memory.open_until):
        return None
    return "outside the office hours"


def _close(memory: Memory, group: Group, live: Sizes, plan: Plan, why: str) -> Decision:
    if live == CLOSED:
        return Decision(remember=_with_saved(memory, live, plan), reason=f"{why}, and paused")
    who = exposed(group)
    if who is not None:
        obstacle = f"not protected from scale-in: {who}; a pause could end running work"
        return Decision(remember=memory, reason=f"{why}, but not paused", obstacle=obstacle)
    remember = replace(_with_saved(memory, live, plan), paused=True)
    noticed = " anew: somebody changed the sizes meanwhile" if memory.paused and memory.sizes != live else ""
    return Decision(remember=remember, reason=f"{why}: paused{noticed}", sizes=CLOSED)


def _open(memory: Memory, live: Sizes, plan: Plan, now: datetime) -> Decision:
    calls = [call for call in plan.timetable.calls(now) if call.name not in memory.woken]
    answered = tuple(call.name for call in calls)
    if not memory.paused:
        if memory.opened_at is not None and now - memory.opened_at >= _SETTLED:
            memory = replace(memory, opened_at=None)
        target = _desired(live, live.desired, calls)
        if target > live.desired:
            reason = f"woken: {_told(calls)}, the maximum is {live.max}"
            return Decision(remember=memory, reason=reason, raise_to=target, answered=answered)
        return Decision(remember=memory, reason="open", answered=answered)
    remember = _with_saved(memory, live, plan)
    saved = remember.sizes
    if saved is None:
        # Written by nobody but a hand: there is nothing to give back.
        return Decision(remember=memory, reason="paused, but no sizes were saved", obstacle="no sizes were saved")
    # The desired capacity from before the pause was for work that has ended since, or waits on a queue, which asks for
    # its instances itself: given back, it would start machines that nobody may need. So the fleet begins at its
    # minimum, or at what it is woken for. It is never lowered: somebody may have raised it since the sizes came back.
    desired = _desired(saved, max(live.desired, saved.min), calls)
    sizes = replace(saved, desired=desired)
    done = (live.min, live.max) == (sizes.min, sizes.max) and live.desired >= desired
    told = f", woken: {_told(calls)}" if calls else ""
    return Decision(
        remember=remember,
        reason=f"open again, from {sizes.min} to {sizes.max}, {desired} desired{told}",
        sizes=None if done else sizes,
        opens=True,
        answered=answered,
    )


def _desired(sizes: Sizes, at_least: int, calls: list[Call]) -> int:
    return max(at_least, min(sizes.max, max((call.instances for call in calls), default=0)))


def _told(calls: list[Call]) -> str:
    return ", ".join(f"{call.instances} instances for {call.due:%H:%M} UTC" for call in calls)


def _with_saved(memory: Memory, live: Sizes, plan: Plan) -> Memory:
    """Return the memory with the sizes that the open fleet has to have, by all that is known.

    Of a fleet that is open these are its live ones. While it is paused, the live ones are 0 because of the pause; one
    that is not 0 was set by a deploy or by a person since, and so was a size that differs between the template that
    was deployed when they were saved and the one that is deployed now: CloudFormation writes only what changed, and a
    change to 0 cannot be seen in the group.
    """
    saved = memory.sizes
    if not memory.paused or saved is None:
        return replace(memory, sizes=None if live == CLOSED else live, template=plan.template)
    low, high = saved.min, saved.max
    if plan.template is not None and memory.template is not None:
        low = plan.template.min if plan.template.min != memory.template.min else low
        high = plan.template.max if plan.template.max != memory.template.max else high
    low, high = live.min or low, live.max or high
    sizes = Sizes(min=min(low, high), max=high, desired=live.desired or min(saved.desired, high))
    return replace(memory, sizes=sizes, template=plan.template)
