"""A world: who works when, what the group and the policy look like, and what goes wrong. Plain data, as hypothesis
prints it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from tests.handlers.driving import CPU_SIGNAL, GPU_SIGNAL, GROUP, QUEUE_ENVIRONMENT, RELEASE_ENVIRONMENT
from tests.handlers.fake_aws import START
from tests.worlds.faults import Fault

MINUTE = timedelta(minutes=1)
HISTORY = 100
"""How many minutes before the first pass a member's course begins."""

DRAIN = "Drain"
STATE_PARAMETER = "train-release-state"
HOLD = "accelerated-fleet:hold"
GROUP_TAG = "aws:autoscaling:groupName"


class Doing(str, Enum):
    """What a member does in one minute, and so what it publishes."""

    IDLE = "idle"
    BUSY = "busy"
    SILENT = "silent"
    """Nothing is published: nobody can know what it does."""


Course = tuple[tuple[Doing, int], ...]
"""Stretches in minutes, one after the other; the last one goes on for ever."""


@dataclass(frozen=True)
class Truth:
    """A member as it really is. `age` is in minutes at the first pass; `second` is the course of its other signal."""

    course: Course = ((Doing.IDLE, 1),)
    second: Course = ((Doing.IDLE, 1),)
    lifecycle: str = "InService"
    machine: str = "running"
    age: int = 1000
    weight: int | None = None
    protected: bool = True
    held: bool = False
    in_session: bool = False

    def doing(self, at: datetime, *, signals: int) -> Doing:
        """Return what it did in the minute that begins at `at`: busy and unknown by any signal is so as a whole."""
        minute = (at - START) // MINUTE + HISTORY
        done = {_at(course, minute) for course in (self.course, self.second)[:signals]}
        return next(each for each in (Doing.BUSY, Doing.SILENT, Doing.IDLE) if each in done)


class Event(str, Enum):
    """What people and other parts of AWS do meanwhile."""

    HOLD = "hold"
    PROTECT = "protect"
    STANDBY = "standby"
    DETACH = "detach"
    LOG_IN = "log in"
    RAISE_MINIMUM = "raise minimum"
    RAISE_DESIRED = "raise desired"
    LOWER_DESIRED = "lower desired"
    END = "end"
    """Somebody terminates the instance at EC2."""


@dataclass(frozen=True)
class Happening:
    """An event before a pass, or (`between`) before its second look at the group."""

    pass_number: int
    event: Event
    member: int = 0
    between: bool = False


@dataclass(frozen=True)
class Policy:
    """The release function's options; None leaves one out. Times in minutes."""

    window: int = 15
    warm_up: int = 10
    signals: int = 1
    sessions: bool = False
    share: float = 1
    protection_holds: bool = False
    queue: tuple[int, int] | None = None
    """Messages that wait, messages that one instance takes."""
    min_life: int | None = None
    max_releases: int | None = None
    max_life: int | None = None
    max_unknown: int | None = None
    at_minimum: str | None = None
    retained_after: int | None = None
    quiet: bool = False
    warm: int | None = None
    maintenance: bool | None = None
    prices: bool = False
    max_failed_launches: int | None = None
    drain: int | None = None

    def environment(self) -> dict[str, str]:
        chosen = [GPU_SIGNAL, CPU_SIGNAL][: self.signals]
        written = {
            **RELEASE_ENVIRONMENT,
            "WINDOW_SECONDS": str(self.window * 60),
            "WARM_UP_SECONDS": str(self.warm_up * 60),
            "SIGNALS": json.dumps(chosen),
            "WATCH_SESSIONS": "true" if self.sessions else "false",
            "MAX_RELEASE_SHARE": str(self.share),
            "STATE_PARAMETER": STATE_PARAMETER,
            "SCALE_IN_PROTECTION": "hold" if self.protection_holds else "ignore",
            **(QUEUE_ENVIRONMENT if self.queue else {}),
            **dict(self._new_options()),
        }
        if self.queue:
            written["MESSAGES_PER_INSTANCE"] = str(self.queue[1])
        return written

    def _new_options(self) -> Iterator[tuple[str, str]]:
        for name, minutes in (
            ("MIN_LIFE_SECONDS", self.min_life),
            ("MAX_LIFE_SECONDS", self.max_life),
            ("MAX_UNKNOWN_SECONDS", self.max_unknown),
            ("RETAINED_AFTER_SECONDS", self.retained_after),
        ):
            if minutes is not None:
                yield name, str(minutes * 60)
        if self.max_releases is not None:
            yield "MAX_RELEASES", str(self.max_releases)
        # What becomes of a member past a limit means nothing without one.
        if self.at_minimum is not None and (self.max_life, self.max_unknown) != (None, None):
            yield "AT_MINIMUM", self.at_minimum
        if self.max_failed_launches is not None:
            yield "MAX_FAILED_LAUNCHES", str(self.max_failed_launches)
            yield "TOPIC_ARN", "arn:aws:sns:eu-west-1:123456789012:alerts"
        if self.drain is not None:
            yield "DRAIN_HOOK", DRAIN
        if self.prices:
            yield "TYPE_USD_PER_HOUR", json.dumps({"g6.xlarge": 0.8, "p5.48xlarge": 55.0})
        hours = self._hours()
        if hours:
            yield "HOURS", json.dumps(hours)

    def _hours(self) -> dict[str, Any]:
        always = {"days": [0, 1, 2, 3, 4, 5, 6], "from": "00:00", "to": "24:00", "zone": "UTC"}
        # The first pass is at noon, and no world lasts half a day.
        never = {**always, "from": "01:00", "to": "02:00"}
        found: dict[str, Any] = {"quiet": [always if self.quiet else never]} if self.quiet or self.prices else {}
        if self.warm is not None:
            found["warm"] = [{"instances": self.warm, "hours": always}]
        # Maintenance hours say when the longest life acts, and mean nothing without it.
        if self.maintenance is not None and self.max_life is not None:
            found["maintenance"] = [always if self.maintenance else never]
        return found


@dataclass(frozen=True)
class World:
    """The group as it is at the first pass, the policy, and all that happens. `gaps` are the minutes between passes."""

    members: tuple[Truth, ...]
    min_size: int = 0
    desired_above: int = 0
    """By how much the desired capacity exceeds what is there; below 0 for a surplus."""
    suspended: tuple[str, ...] = ()
    zones: int = 1
    policy: Policy = field(default_factory=Policy)
    gaps: tuple[int, ...] = (5,)
    faults: tuple[Fault, ...] = ()
    happenings: tuple[Happening, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(f"i-{number:017x}" for number in range(1, len(self.members) + 1))

    @property
    def truths(self) -> Mapping[str, Truth]:
        return dict(zip(self.ids, self.members, strict=True))

    @property
    def name(self) -> str:
        return GROUP


def _at(course: Course, minute: int) -> Doing:
    for doing, length in course:
        minute -= length
        if minute < 0:
            return doing
    return course[-1][0]
