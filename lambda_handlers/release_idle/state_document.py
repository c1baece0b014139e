"""What passes remember, as the text of one parameter. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

ASKED_LASTS = timedelta(minutes=10)
"""For so long a member that was asked to leave counts as leaving: no answer about a group is older than that."""

MOST_ASKED = 200
"""As many members may be recorded at once; so many fit into a value, whatever else is in it."""

MOST_NEVER_KNOWN = 12
"""As many instances that never reported are remembered, the newest."""

_BYTES_PER_VALUE = 4096
_MOST_RETAINED = 10


class StateUnreadable(Exception):
    """What passes remember cannot be read, or cannot be written: nobody knows whether another pass acts."""


@dataclass(frozen=True, kw_only=True)
class LeaseMark:
    """Who may act, and until when."""

    holder: str
    until: datetime


@dataclass(frozen=True, kw_only=True)
class LaunchMemory:
    """What is remembered of launches that came to nothing.

    `stopped_at` is when launching was suspended for that, `counted_from` from when on launches count, `told` whether
    AWS's own suspension has been told, and `never_known` are instances that passed their warm-up without reporting.
    """

    stopped_at: datetime | None = None
    counted_from: datetime | None = None
    told: bool = False
    never_known: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PassState:
    """What passes remember. `version` is the parameter's newest version, whether its value counts or not.

    `leaving` says when each member was asked to leave, `retained` when each instance was first seen retained.
    """

    version: int
    lease: LeaseMark | None = None
    leaving: Mapping[str, datetime] = field(default_factory=dict)
    retained: Mapping[str, datetime] = field(default_factory=dict)
    launches: LaunchMemory = field(default_factory=LaunchMemory)

    def asked_to_leave(self, now: datetime) -> dict[str, datetime]:
        """Return who was asked to leave a short time ago: they go, whatever the group says."""
        return {each: at for each, at in self.leaving.items() if abs(now - at) < ASKED_LASTS}


def counts(document: Mapping[str, Any], version: int) -> bool:
    """Return whether a value came right after the version that it was made from; another counts as never written."""
    # What the template wrote, or a person, names no version: it stands as it is.
    after = document.get("after")
    return after is None or after == version - 1


def value_of(state: PassState) -> str:
    """Return the state as it is stored; the oldest is left out where it would not fit."""
    leaving = sorted(state.leaving.items(), key=lambda each: each[1], reverse=True)[:MOST_ASKED]
    retained = sorted(state.retained.items(), key=lambda each: each[1])[:_MOST_RETAINED]
    while True:
        document = {
            "after": state.version,
            "lease": None if state.lease is None else [state.lease.holder, _text(state.lease.until)],
            "leaving": _by_time(leaving),
            "retained": _by_time(retained),
            "launches": _launches_document(state.launches),
        }
        value = json.dumps(
            {key: entry for key, entry in document.items() if entry not in (None, {})}, separators=(",", ":")
        )
        if len(value.encode()) <= _BYTES_PER_VALUE:
            return value
        # What is retained is seen again. Who was asked to leave is not asked again only while that is remembered.
        if retained:
            retained.pop()
        else:
            leaving.pop()


def content_of(state: PassState) -> str:
    """Return the state as text that is the same for equal states, whatever their version."""
    return value_of(replace(state, version=0))


def document_of(value: str) -> Mapping[str, Any]:
    """Return the stored text as an object. Raises `StateUnreadable`."""
    try:
        document = json.loads(value)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise StateUnreadable(f"the state must be a JSON object, got {value[:100]!r}; write {{}} to begin anew")
    return document


def state_of(version: int, document: Mapping[str, Any]) -> PassState:
    """Return the state that an object tells. Raises `StateUnreadable` when it makes no sense."""
    try:
        lease = document.get("lease")
        return PassState(
            version=version,
            lease=None if lease is None else LeaseMark(holder=str(lease[0]), until=_time(lease[1])),
            leaving=_by_id(document.get("leaving", {})),
            retained=_by_id(document.get("retained", {})),
            launches=_launches(document.get("launches", {})),
        )
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        why = f"the state makes no sense ({type(error).__name__}: {error}); write {{}} to begin anew"
        raise StateUnreadable(why) from error


def _launches(document: Mapping[str, Any]) -> LaunchMemory:
    stopped_at, counted_from = document.get("stopped_at"), document.get("counted_from")
    return LaunchMemory(
        stopped_at=None if stopped_at is None else _time(stopped_at),
        counted_from=None if counted_from is None else _time(counted_from),
        told=document.get("told") is True,
        never_known=tuple(_id(each) for each in document.get("never_known", "").split()),
    )


def _launches_document(launches: LaunchMemory) -> dict[str, Any]:
    document = {
        "stopped_at": None if launches.stopped_at is None else _text(launches.stopped_at),
        "counted_from": None if launches.counted_from is None else _text(launches.counted_from),
        "told": launches.told or None,
        "never_known": " ".join(map(_short, launches.never_known[-MOST_NEVER_KNOWN:])) or None,
    }
    return {key: entry for key, entry in document.items() if entry is not None}


def _by_time(entries: Iterable[tuple[str, datetime]]) -> dict[str, str]:
    """Return the ids by time: most have the same one, and 200 of them must fit."""
    grouped: dict[str, list[str]] = {}
    for instance_id, at in entries:
        grouped.setdefault(_text(at), []).append(_short(instance_id))
    return {at: " ".join(sorted(ids)) for at, ids in sorted(grouped.items())}


def _by_id(document: Mapping[str, str]) -> dict[str, datetime]:
    return {_id(short): _time(at) for at, ids in document.items() for short in ids.split()}


def _short(instance_id: str) -> str:
    return instance_id.removeprefix("i-")


def _id(short: str) -> str:
    return f"i-{short}"


def to_the_second(at: datetime) -> datetime:
    """Return the time as it is stored."""
    return at.replace(microsecond=0)


def _text(at: datetime) -> str:
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")


def _time(text: str) -> datetime:
    at = datetime.fromisoformat(text.replace("Z", "+00:00"))
    if at.tzinfo is None:
        raise ValueError(f"{text} names no time zone")
    return at
