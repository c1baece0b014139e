"""Since when a member has been unknown, remembered from pass to pass in a tag of its instance. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

UNKNOWN_TAG = "accelerated-fleet:unknown"

PASSES_REQUIRED = 3
"""A member must have been unknown in this many passes in a row, whatever the clock says."""

_CONSECUTIVE_WITHIN = timedelta(minutes=15)


@dataclass(frozen=True, kw_only=True)
class UnknownMemory:
    """A member was first unknown at `since`, last at `seen`, and in this many passes in a row.

    More passes than required are not counted, so that more members share a value and are tagged by one call.
    """

    since: datetime
    passes: int
    seen: datetime

    @property
    def text(self) -> str:
        """The value of the tag."""
        return f"{_stamp(self.since)} {self.passes} {_stamp(self.seen)}"

    def has_lasted(self, seconds: int) -> bool:
        """Return whether it has been unknown for so long, and in enough passes."""
        return self.passes >= PASSES_REQUIRED and self.seen - self.since >= timedelta(seconds=seconds)


def remembered(tags: Mapping[str, str]) -> UnknownMemory | None:
    """Return what the tags say, None for nothing and for what this function did not write."""
    parts = tags.get(UNKNOWN_TAG, "").split(" ")
    if len(parts) != 3 or not (parts[1].isascii() and parts[1].isdigit()):
        return None
    try:
        since, seen = (datetime.fromisoformat(parts[n].replace("Z", "+00:00")) for n in (0, 2))
    except ValueError:
        return None
    if since.tzinfo is None or seen.tzinfo is None:
        return None
    return UnknownMemory(since=since, passes=int(parts[1]), seen=seen)


def unknown_again(tags: Mapping[str, str], now: datetime) -> UnknownMemory:
    """Return the memory of a member that is unknown now.

    What is remembered counts only from pass to pass: a tag that could not be taken away when the member was known
    again must not make it old at once, nor one from a clock that was ahead.
    """
    before = remembered(tags)
    if before is None or not before.since <= before.seen <= now or now - before.seen > _CONSECUTIVE_WITHIN:
        return UnknownMemory(since=now, passes=1, seen=now)
    return UnknownMemory(since=before.since, passes=min(before.passes + 1, PASSES_REQUIRED), seen=now)


def _stamp(at: datetime) -> str:
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")
