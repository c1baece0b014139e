"""What belongs to nothing, for how long, and what is to be done about it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from orphan_sweep.marks import read_mark
from orphan_sweep.things import Sort, Thing
from runtime.hold_tag import why_held

# An instance is in EC2 before it is in its group's answer, and a volume before it is attached.
_ON_ITS_WAY = timedelta(hours=1)


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Whose things are looked at, and how long something must have been seen without an owner before it is freed."""

    tag_key: str
    tag_value: str
    hold_tag_key: str
    min_age: timedelta
    snapshot_age: timedelta | None
    """Snapshots younger than this are wanted. None: all are."""


class Standing(Enum):
    """What a thing is to the fleet. Only the last three belong to nothing."""

    NEIGHBOUR = "another fleet's"
    HELD = "held"
    OWNED = "looked after"
    USED = "in use"
    YOUNG = "too young"
    NEW = "new"
    WAITING = "waiting"
    DUE = "due"


ORPHANED = (Standing.NEW, Standing.WAITING, Standing.DUE)


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """The standing of one thing, with the reason. `first_seen` is the first sighting as an orphan, None before it."""

    thing: Thing
    standing: Standing
    reason: str
    first_seen: datetime | None = None

    @property
    def is_orphan(self) -> bool:
        """Whether the thing belongs to nothing."""
        return self.standing in ORPHANED


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to note, what to take the note from, and what may be freed."""

    mark: tuple[Thing, ...]
    unmark: tuple[Thing, ...]
    free: tuple[Thing, ...]


def judge(thing: Thing, rules: Rules, now: datetime) -> Judgement:
    """Return the standing of a thing: the first guard that speaks for it decides, and without one it is an orphan."""
    for standing, guard in GUARDS:
        why = guard(thing, rules, now)
        if why is not None:
            return Judgement(thing=thing, standing=standing, reason=why)
    first_seen = read_mark(thing.mark, created_at=thing.created_at, now=now)
    if first_seen is None:
        return Judgement(thing=thing, standing=Standing.NEW, reason="belongs to nothing, seen for the first time")
    waited = now - first_seen
    reason = f"belongs to nothing, first seen {_told(waited)} ago"
    if waited < rules.min_age:
        why = f"{reason}; waits for {_told(rules.min_age)}"
        return Judgement(thing=thing, standing=Standing.WAITING, reason=why, first_seen=first_seen)
    return Judgement(thing=thing, standing=Standing.DUE, reason=reason, first_seen=first_seen)


def plan(judgements: Iterable[Judgement]) -> Plan:
    """Return what the judgements ask for. A thing that has an owner again loses its note; a neighbour's is not touched.

    What was never noted, or only now, is not freed: that takes a second sighting.
    """
    judged = list(judgements)
    ours = [each for each in judged if each.standing is not Standing.NEIGHBOUR]
    return Plan(
        mark=tuple(each.thing for each in ours if each.standing is Standing.NEW),
        unmark=tuple(each.thing for each in ours if not each.is_orphan and each.thing.mark is not None),
        free=tuple(each.thing for each in ours if each.standing is Standing.DUE),
    )


def _another_fleets(thing: Thing, rules: Rules, now: datetime) -> str | None:
    # EC2's filters know wildcards, and none of them minds capital letters the way we do: letter for letter.
    value = thing.tags.get(rules.tag_key)
    return None if value == rules.tag_value else f"tag {rules.tag_key} is {value!r}"


def _held(thing: Thing, rules: Rules, now: datetime) -> str | None:
    return why_held(thing.tags, rules.hold_tag_key)


def _looked_after(thing: Thing, rules: Rules, now: datetime) -> str | None:
    return None if thing.belongs_to is None else f"belongs to {thing.belongs_to}"


def _used(thing: Thing, rules: Rules, now: datetime) -> str | None:
    return None if thing.used_by is None else f"used: {thing.used_by}"


def _young(thing: Thing, rules: Rules, now: datetime) -> str | None:
    age = None if thing.created_at is None else now - thing.created_at
    if thing.sort is Sort.SNAPSHOT:
        if rules.snapshot_age is None or age is None or age < rules.snapshot_age:
            return "younger than snapshots may become"
        return None
    if age is not None and age < _ON_ITS_WAY:
        return f"created {_told(age)} ago: it may be on its way"
    return None


Guard = Callable[[Thing, Rules, datetime], "str | None"]

GUARDS: tuple[tuple[Standing, Guard], ...] = (
    (Standing.NEIGHBOUR, _another_fleets),
    (Standing.HELD, _held),
    (Standing.OWNED, _looked_after),
    (Standing.USED, _used),
    (Standing.YOUNG, _young),
)
"""What speaks for a thing, in this order. All of them together leave only what belongs to nothing."""


def _told(span: timedelta) -> str:
    hours = span.total_seconds() / 3600
    return f"{hours:.1f} h" if hours < 48 else f"{hours / 24:.1f} days"
