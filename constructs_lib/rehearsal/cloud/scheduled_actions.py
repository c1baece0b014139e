"""Scheduled actions of a group: sizes that are set at a moment, or again and again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from constructs_lib.errors import ArgumentError
from constructs_lib.rehearsal.cloud.calendar import Cron, read_cron, read_moment
from constructs_lib.rehearsal.cloud.group import Group
from constructs_lib.validation import complaint

RUNS_LATE = "how late a scheduled action runs"
"""Within seconds as a rule, and up to two minutes after it is due ("Scheduled scaling")."""


@dataclass(frozen=True)
class ScheduledAction:
    """One action; None for a size that it leaves alone. Times are simulated seconds."""

    id: str
    minimum: int | None
    maximum: int | None
    desired: int | None
    start: int | None
    end: int | None
    recurrence: Cron | None

    def next_after(self, at: int) -> int | None:
        """Return the first second after ``at`` in which it is due, None if it never is again."""
        due = [] if self.start is None or self.start <= at else [self.start]
        if self.recurrence is not None:
            again = self.recurrence.next_after(at if self.start is None else max(at, self.start))
            due += [] if again is None else [again]
        first = min(due, default=None)
        return None if first is None or (self.end is not None and first > self.end) else first

    def run(self, group: Group) -> None:
        """Set the sizes; it ignores every cooldown."""
        before = (group.minimum, group.maximum, group.desired)
        group.resize(minimum=self.minimum, maximum=self.maximum, desired=self.desired)
        if before != (group.minimum, group.maximum, group.desired):
            group.doubts.add(RUNS_LATE)


def read_action(id: str, properties: Mapping[str, Any]) -> ScheduledAction:
    """Return the action of resolved ``AWS::AutoScaling::ScheduledAction`` properties.

    Start and end are in UTC whatever the time zone of the recurrence.

    Raises:
        ArgumentError: sizes that exclude each other, or a time that cannot be read.
    """
    sizes = [properties.get(name) for name in ("MinSize", "MaxSize", "DesiredCapacity")]
    minimum, maximum, desired = (None if size is None else int(size) for size in sizes)
    _check_sizes(id, minimum, maximum, desired)
    start, end = (properties.get(name) for name in ("StartTime", "EndTime"))
    recurrence = properties.get("Recurrence")
    return ScheduledAction(
        id,
        minimum,
        maximum,
        desired,
        None if start is None else read_moment(id, start),
        None if end is None else read_moment(id, end),
        None if recurrence is None else read_cron(id, recurrence, properties.get("TimeZone")),
    )


def _check_sizes(id: str, minimum: int | None, maximum: int | None, desired: int | None) -> None:
    cure = "Auto Scaling refuses it"
    least = 0 if minimum is None else minimum
    if maximum is not None and maximum < least:
        raise ArgumentError(complaint(id, "MaxSize", f"be at least MinSize, which is {least}", maximum, cure))
    if desired is not None and desired < least:
        raise ArgumentError(complaint(id, "DesiredCapacity", f"be at least MinSize, which is {least}", desired, cure))
    if desired is not None and maximum is not None and desired > maximum:
        raise ArgumentError(complaint(id, "DesiredCapacity", f"be at most MaxSize, which is {maximum}", desired, cure))


class ScheduledActions:
    """Runs the actions of one group, ``late`` seconds (0 to 120) after each is due.

    One that was due once before ``begin`` has run: its sizes are those of the beginning. What comes due while the
    process is suspended is not made up for.
    """

    def __init__(self, actions: Iterable[ScheduledAction], group: Group, *, begin: int, late: int = 0) -> None:
        self._group = group
        self._late = late
        self._due: list[tuple[int, ScheduledAction]] = []
        listed = list(actions)
        self.read(listed, begin)
        past = [(each.start, each) for each in listed if each.recurrence is None and each.start is not None]
        self._due = sorted([*self._due, *(entry for entry in past if entry[0] <= begin)], key=_moment)

    def read(self, actions: Iterable[ScheduledAction], now: int) -> None:
        """Take the actions of a template that is deployed now: what is past does not come again."""
        coming = [(each.next_after(now), each) for each in actions]
        self._due = sorted([(at, each) for at, each in coming if at is not None], key=_moment)

    @property
    def next_due(self) -> float:
        """Return the second in which the next action runs, infinity if none ever does."""
        return self._due[0][0] + self._late if self._due else float("inf")

    def tick(self, now: int) -> bool:
        """Run what is due, in its order; return whether anything was."""
        ran = False
        while self._due and self._due[0][0] + self._late <= now:
            at, action = self._due.pop(0)
            again = action.next_after(at)
            if again is not None:
                self._due.append((again, action))
                self._due.sort(key=_moment)
            if "ScheduledActions" not in self._group.suspended:
                action.run(self._group)
                ran = True
        return ran


def _moment(entry: tuple[int, ScheduledAction]) -> tuple[int, str]:
    return entry[0], entry[1].id
