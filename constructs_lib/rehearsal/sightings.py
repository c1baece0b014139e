"""What a pass of the release handler would surely find each member to be, worked out without reading all it reads.

A series is looked at once: what it showed lasts while the store says that each minute is like the one before, and what
the handler found under a load it finds again under the same one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import inf
from typing import Any, Literal, TypeAlias

from constructs_lib.rehearsal.cloud.clients import Account, moment, seconds
from constructs_lib.rehearsal.cloud.group import Instance
from constructs_lib.rehearsal.cloud.metrics import Key
from constructs_lib.rehearsal.machine.crew import Evidence
from constructs_lib.rehearsal.machine.load import Load

_MINUTE = 60
_FRESH = 5 * _MINUTE
"""A known minute of work that is older is looked for anew before a pass: what is newer shortens what that reads."""
_UNKNOWN_TAG = "accelerated-fleet:unknown"

Is: TypeAlias = Literal["busy", "idle", "seems idle", "starting", "unsure"]
"""Who only seems idle is so by the first signal, and may be busy by another one; of one that is unsure only the handler
itself can tell."""


class Sightings:
    """The members as one release function's settings have them judged; ``evidence`` tells of one up to a second.

    The first signal is the most that is used in a period of a minute, and means work.
    """

    def __init__(self, account: Account, evidence: Callable[[Instance, int], Evidence | None], settings: Any) -> None:
        from release_idle.measurement import TOLERATED_PERIODS

        self.settings = settings
        self._account = account
        self._evidence = evidence
        self._policy = settings.policy
        self._signal = settings.policy.signals[0]
        self._until_seen = 2 * TOLERATED_PERIODS * _MINUTE
        """Seconds from an instance's first sample until each signal has points enough, which none is late with."""
        self._reach = -seconds(self._policy.window(moment(0)).start)
        """How many seconds ago the window begins: one minute of work that ends later makes a member busy."""
        self._keys: dict[str, Key] = {}
        self._busy_until: dict[str, int] = {}
        self._readable_after: float = inf
        """Seconds from the start of a minute until it could be read, at the soonest: it is so in each series."""
        self._busy_under: set[Load] = set()
        self._idle_under: set[Load] = set()

    def verdicts(self, members: Sequence[Instance], now: int) -> list[Is] | None:
        """Return what each member in service, or on the way into it, surely is; None where more than signals decides.

        That somebody is in a session is not looked at.
        """
        policy, busy_until = self._policy, self._busy_until
        longest = policy.max_life_seconds
        if longest is not None and any(now - int(member.launched_at) >= longest for member in members):
            return None
        start = now - self._reach
        found: list[Is] = []
        for member in members:
            if policy.hold_tag_key in member.tags or _UNKNOWN_TAG in member.tags:
                return None
            found.append("busy" if now < busy_until.get(member.id, 0) else self._verdict(member, start, now))
        return found

    @property
    def come_promptly(self) -> bool:
        """Return whether each minute can be read as soon as it is over: then it is known what the newest ones show."""
        return self._readable_after <= _MINUTE

    def most_at_work(self, members: Sequence[Instance], found: Sequence[Is], now: int) -> int:
        """Return how many members the handler sees at work at most: those that were in both of the newest minutes."""
        busy = [member for member, verdict in zip(members, found, strict=True) if verdict == "busy"]
        since = [evidence.busy_since for member in busy if (evidence := self._evidence(member, now)) is not None]
        return sum(each is not None and each <= now - 2 * _MINUTE for each in since)

    def is_at_work(self, member: Instance, now: int) -> bool:
        """Return whether the newest two points of the first signal show work, as the handler takes them."""
        minutes = (now - 2 * _MINUTE, now - _MINUTE)
        points = self._points(self._key(member), minutes, now)
        return len(points) == len(minutes) and all(each >= self._signal.idle_below for each in points.values())

    def learn(self, idle: Collection[Instance], now: int) -> None:
        """Remember under which loads the handler finds a member idle that has had nothing else in the whole window."""
        for member in idle:
            evidence = self._evidence(member, now)
            if evidence is not None and evidence.since <= now - self._reach:
                self._idle_under.add(evidence.load)

    def refresh(self, now: int) -> None:
        """Look for newer minutes of work of those of whom one is known: a pass will read their series from there on."""
        for member in self._account.group.members if self._keys else ():
            known = self._account.at_work.get(self._key(member))
            evidence = self._evidence(member, now) if known is not None and known < now - _FRESH else None
            if evidence is not None and known is not None:
                self._find_work(member, evidence, known + _MINUTE, now)

    def _verdict(self, member: Instance, start: int, now: int) -> Is:
        """Return what a member is of which no work in the window is known yet."""
        expected = int(member.launched_at) + self._policy.warm_up_seconds
        if member.state == "Pending" or now < expected:
            return "starting"
        evidence = self._evidence(member, now)
        if evidence is None:
            return "unsure"
        # One minute of work within the window is enough.
        if evidence.last_busy is not None and evidence.last_busy > start - _MINUTE:
            return "busy" if self._find_work(member, evidence, start, now) else "unsure"
        if evidence.first > start or expected > start:
            return "starting" if self._is_too_young(evidence, expected, start) else "unsure"
        if not self._shows_idleness(self._key(member), start, now):
            return "unsure"
        return "idle" if evidence.since <= start and evidence.load in self._idle_under else "seems idle"

    def _is_too_young(self, evidence: Evidence, expected: int, start: int) -> bool:
        """Return whether a member is surely idle, and surely not for the whole window yet: it has had one load that is
        idleness, and its first sample came in time and within the window."""
        has_had_one = evidence.since <= evidence.first and evidence.load in self._idle_under
        return has_had_one and start < evidence.first <= expected - self._until_seen

    def _find_work(self, member: Instance, evidence: Evidence, since: int, now: int) -> bool:
        """Return whether a minute that begins then or later can be read and shows work, and remember the newest."""
        key, load, last = self._key(member), evidence.load, evidence.last_busy
        if load in self._busy_under and evidence.since <= now - self._readable_after:
            self._has_worked(member, key, now - int(self._readable_after))
            return True
        if last is None or last < since:
            return False
        # The newest minute of work may not be readable yet, and an earlier one does as well.
        for minutes in ((last,), range(since, last, _MINUTE)):
            points = self._points(key, minutes, now)
            newest = max((minute for minute, point in points.items() if point >= self._signal.idle_below), default=None)
            if newest is not None:
                self._readable_after = min(self._readable_after, now - newest)
                self._has_worked(member, key, newest)
                if newest >= evidence.since >= self._account.store.changed_at(key, _MINUTE, "Maximum"):
                    self._busy_under.add(load)
                return True
        return False

    def _has_worked(self, member: Instance, key: Key, minute: int) -> None:
        self._account.at_work[key] = minute
        self._busy_until[member.id] = minute + _MINUTE + self._reach

    def _shows_idleness(self, key: Key, start: int, now: int) -> bool:
        """Return whether the first signal shows that a member is idle, which takes every minute of the window."""
        minutes = range(start, now - _MINUTE, _MINUTE)
        points = self._points(key, minutes, now)
        return len(points) == len(minutes) and all(0 <= each < self._signal.idle_below for each in points.values())

    def _points(self, key: Key, minutes: Sequence[int], now: int) -> dict[int, float]:
        return self._account.store.series(key, "Maximum", _MINUTE, minutes, now)

    def _key(self, member: Instance) -> Key:
        """Return the first signal's series of an instance."""
        key = self._keys.get(member.id)
        if key is None:
            namespace = self._signal.namespace or self.settings.namespace
            key = self._keys[member.id] = namespace, self._signal.metric, frozenset({("InstanceId", member.id)})
        return key
