"""When something was first seen without an owner, as it is noted in a tag.

A launch template's versions have no tags: the template carries one note for all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone

LONGEST_TAG_VALUE = 256
_FORM = "%Y-%m-%dT%H:%M:%SZ"
_VERSIONS = re.compile(r"\d{1,9}(?:-\d{1,9})?(?:\.\d{1,9}(?:-\d{1,9})?)*")
_MOST_VERSIONS = 10_000  # of a launch template, an EC2 quota


def write_mark(first_seen: datetime) -> str:
    """Return the note of a first sighting."""
    return first_seen.astimezone(timezone.utc).strftime(_FORM)


def read_mark(mark: str | None, *, created_at: datetime | None, now: datetime) -> datetime | None:
    """Return the first sighting that a note tells of, or None when it tells of none.

    One that cannot be read, lies in the future, or is older than the thing (a tag that was copied from another) counts
    for nothing.
    """
    if mark is None:
        return None
    try:
        first_seen = datetime.strptime(mark, _FORM).replace(tzinfo=timezone.utc)
    except ValueError:
        return None
    if first_seen > now or (created_at is not None and first_seen < created_at):
        return None
    return first_seen


def write_version_marks(marks: Mapping[int, str]) -> str:
    """Return the notes of many versions as one tag value.

    Versions with the same note stand together: `2026-11-30T12:00:00Z=1-3.5 2026-12-01T12:00:00Z=6`. Where there is no
    room for all, the oldest sightings count as later ones, which only makes their versions wait longer.
    """
    while len(written := _written(marks)) > LONGEST_TAG_VALUE:
        oldest, *later = sorted({*marks.values()})
        if later:
            marks = {version: later[0] if mark == oldest else mark for version, mark in marks.items()}
        else:
            # Too scattered even so: some wait for their first sighting.
            marks = {version: mark for version, mark in marks.items() if version != max(marks)}
    return written


def read_version_marks(value: str | None) -> dict[int, str]:
    """Return the note of each version. Parts that make no sense are left out."""
    marks: dict[int, str] = {}
    for part in (value or "").split(" "):
        mark, _, versions = part.partition("=")
        if not _VERSIONS.fullmatch(versions):
            continue
        for run in versions.split("."):
            first, _, last = run.partition("-")
            end = min(int(last or first), int(first) + _MOST_VERSIONS)
            marks.update(dict.fromkeys(range(int(first), end + 1), mark))
    return marks


def _written(marks: Mapping[int, str]) -> str:
    sightings = sorted({*marks.values()})
    return " ".join(f"{mark}={_ranges(each for each in marks if marks[each] == mark)}" for mark in sightings)


def _ranges(versions: Iterable[int]) -> str:
    runs: list[list[int]] = []
    for version in sorted(versions):
        if runs and version == runs[-1][1] + 1:
            runs[-1][1] = version
        else:
            runs.append([version, version])
    return ".".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
