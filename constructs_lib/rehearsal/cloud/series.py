"""One series of a metric: single samples, and values that sources hold side by side, stored by when they change."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import islice
from math import gcd, inf

from constructs_lib.rehearsal.cloud.levels import Lane, Level
from constructs_lib.rehearsal.cloud.metric_math import Series
from constructs_lib.rehearsal.cloud.statistics import Summary, of_samples, of_summary

_MINUTE = 60
_MOST_SETTLED = 4_096
_NOTHING: Summary = (0, 0.0, inf, -inf)
_NONE_SETTLED: Mapping[int, float | None] = {}

_Announced = tuple[float, int, Lane | None]
"""From when on a source holds a lane, as it was said and as the first sample has it, and the lane."""

_Change = tuple[int, Lane | None, Lane | None]
"""From when on one source holds the second lane in place of the first."""
_NEVER: tuple[float, int, Lane | None, _Announced | None] = (-inf, 0, None, None)


class MetricSeries:
    """Answers statistics over periods.

    What a period came to is kept once the period is over and nothing in it is still to become readable. Should that
    have to be forgotten, ``upset`` is called.
    """

    __slots__ = (
        "_alike",
        "_changes",
        "_is_read",
        "_levels",
        "_settled",
        "_settled_at",
        "_settled_until",
        "_single_times",
        "_singles",
        "_sources",
        "_starts",
        "_steady_since",
        "_unsettled",
        "_upset",
    )

    def __init__(self, upset: Callable[[], None]) -> None:
        self._upset = upset
        self._alike: dict[str, tuple[int, int, object]] = {}
        self._starts: list[int] = []
        self._levels: list[Level] = []
        self._changes: list[_Change] = []
        self._is_read = False
        self._sources: dict[Hashable, tuple[float, int, Lane | None, _Announced | None]] = {}
        self._single_times: list[int] = []
        self._singles: list[tuple[int, int, float]] = []
        self._settled: dict[tuple[str, int], dict[int, float | None]] = {}
        self._settled_until = 0
        self._settled_at = 0
        self._unsettled = 0
        """How often what was settled has been forgotten."""
        self._steady_since: dict[tuple[int, str], float] = {}
        """What :meth:`changed_at` has answered since something was stored."""

    def add(self, timestamp: int, visible_at: int, value: float) -> None:
        """Store one sample."""
        if timestamp < self._settled_until:
            self._unsettle()
        self._steady_since.clear()
        sample = (timestamp, visible_at, value)
        if not self._singles or sample >= self._singles[-1]:
            self._singles.append(sample)
            self._single_times.append(timestamp)
        else:
            insort(self._singles, sample)
            insort(self._single_times, timestamp)

    def hold(self, source: Hashable, at: float, lane: Lane | None) -> None:
        """Have a source hold another lane from a moment on, or None any more.

        What the source was last said to hold from a later moment on is taken back.
        :raises ValueError: it has changed more than once since the moment.
        """
        since, began, before, _ = self._sources.get(source, _NEVER)
        if before == lane and at >= since:
            return
        self._steady_since.clear()
        if at < since:
            since, began, before = self._take_back(source, at)
        if before is not None and lane is not None and before.every == lane.every:
            step = lane.every
        else:
            step = gcd(before.every if before else 0, lane.every if lane else 0) or 1
        start = -int(-at // step) * step
        self._sources[source] = (at, start, lane, (since, began, before))
        if start < began:
            # What was held has had no sample yet.
            self._changes.append((began, before, None))
            self._changes.append((start, None, lane))
        else:
            self._changes.append((start, before, lane))
        if start < self._settled_until:
            self._unsettle()

    def _take_back(self, source: Hashable, at: float) -> _Announced:
        """Make undone what a source was last said to hold; return what it was said to hold before."""
        since, began, lane, earlier = self._sources[source]
        if earlier is None or at < earlier[0]:
            raise ValueError(f"a source cannot change at {at}: it has changed at {since} and before")
        self._changes.append((began, lane, earlier[2]))
        if began < self._settled_until:
            self._unsettle()
        return earlier

    def _catch_up(self) -> None:
        """Bring the levels up to the changes, which nobody needs before somebody asks."""
        starts, levels = self._starts, self._levels
        new = None
        for start, before, lane in self._changes:
            if start == new:
                levels[-1].change(before, lane)
            elif not starts or start > starts[-1]:
                new = start
                starts.append(start)
                levels.append((levels[-1] if levels else Level({})).changed(before, lane))
            else:
                new = None
                self._change_from(start, before, lane)
        self._changes.clear()

    def _change_from(self, start: int, before: Lane | None, lane: Lane | None) -> None:
        """Change the levels from a moment on that is not later than all others: sources need not take turns."""
        starts, levels = self._starts, self._levels
        index = bisect_left(starts, start)
        if starts[index] != start:
            starts.insert(index, start)
            levels.insert(index, levels[index - 1] if index else Level({}))
        for each in range(index, len(levels)):
            levels[each] = levels[each].changed(before, lane)
        for statistic in [each for each, (seen, _, _) in self._alike.items() if seen >= start]:
            del self._alike[statistic]

    def changed_at(self, cycle: int = _MINUTE, statistic: str = "") -> float:
        """Return since when each ``cycle`` of so many seconds has been like the one before it.

        Only what the statistic shows counts, if one is given.
        """
        known = self._steady_since.get((cycle, statistic))
        if known is None:
            known = self._steady_since[cycle, statistic] = self._changed_at(cycle, statistic)
        return known

    def _changed_at(self, cycle: int, statistic: str) -> float:
        self._is_read = True
        if self._changes:
            self._catch_up()
        latest = float(self._single_times[-1] + _MINUTE) if self._single_times else -inf
        if self._starts:
            latest = max(latest, self._same_since(statistic))
            for lane in self._levels[-1].lanes:
                if lane.slope or cycle % lane.every:
                    return inf
                if lane.hidden_until > latest:
                    latest = lane.hidden_until
        return latest

    def steady_span(self, statistic: str, period: int, now: int) -> tuple[float, float]:
        """Return from when until when periods of so many seconds all come to the same, for good as far as is known now.

        What is stored later and differs in the span upsets.
        """
        since = self.changed_at(period, statistic)
        levels = self._levels
        until = min((lane.readable_until(now) for lane in levels[-1].lanes), default=now) if levels else now
        until = min(until, now)
        if self._settled_until < until and since < until:
            self._settled_until = until
        return since, until

    def _same_since(self, statistic: str) -> float:
        """Return when the first of the newest levels that a statistic cannot tell apart began."""
        starts, levels = self._starts, self._levels
        seen, since, before = self._alike.get(statistic, (-1, 0, self))
        last = len(starts) - 1
        for index in range(bisect_right(starts, seen), len(starts)):
            if index == last and index:
                # The last level may still change in this minute, those before it hardly ever do.
                self._alike[statistic] = (starts[index - 1], since, before)
            signature = levels[index].signature(statistic)
            if signature != before:
                since, before = starts[index], signature
        return since

    def forget_before(self, at: float) -> bool:
        """Drop all that ended before a moment; return whether anything is left."""
        self._steady_since.clear()
        if self._is_read:
            self._catch_up()
        elif self._changes:
            self._fold(at)
        over = bisect_right(self._starts, at) - 1
        if over > 0:
            del self._starts[:over], self._levels[:over]
        if len(self._starts) == 1 and not self._levels[0].lanes:
            self._starts.clear()
            self._levels.clear()
            self._alike.clear()
        for source in [each for each, (since, _, lane, _) in self._sources.items() if lane is None and since < at]:
            del self._sources[source]
        gone = bisect_left(self._single_times, at)
        del self._single_times[:gone], self._singles[:gone]
        return bool(self._starts or self._singles or self._changes)

    def _fold(self, at: float) -> None:
        """Bring one level up to a moment at once: nobody has asked for those between."""
        lanes = dict(self._levels[0].lanes) if self._levels else {}
        later: list[_Change] = []
        for change in self._changes:
            start, before, lane = change
            if start > at:
                later.append(change)
                continue
            for each, sources in ((before, -1), (lane, 1)):
                if each is not None:
                    lanes[each] = lanes.get(each, 0) + sources
        if len(later) < len(self._changes):
            self._alike.clear()
            self._starts = [int(at)]
            self._levels = [Level({lane: sources for lane, sources in lanes.items() if sources})]
            self._changes = later

    def version(self) -> int:
        """Return how often periods that were settled may have become something else."""
        return self._unsettled

    def settled(self, statistic: str, period: int) -> Mapping[int, float | None]:
        """Return what those periods that will stay so have come to, by their start."""
        return self._settled.get((statistic, period), _NONE_SETTLED)

    def points(self, statistic: str, period: int, grid: Sequence[int], now: int) -> Series:
        """Return the statistic of each period that begins at a slot and has a sample that can be read now."""
        self._is_read = True
        if self._changes:
            self._catch_up()
        of = of_summary(statistic)
        if of is None:
            return self._points_of_samples(statistic, period, grid, now)
        if now < self._settled_at:
            self._unsettle()
        known = self._settled.get((statistic, period)) or self._settled.setdefault((statistic, period), {})
        result: Series = {}
        value, settles, lasts_until = None, False, -inf
        settled_until = 0
        for start in grid:
            if start in known:
                point = known[start]
            else:
                end = start + period
                if end > lasts_until:
                    value, settles, lasts_until = self._value(of, start, end, now)
                if settles:
                    known[start], settled_until = value, end
                point = value
            if point is not None:
                result[start] = point
        if settled_until:
            self._has_settled(known, settled_until, now)
        return result

    def _points_of_samples(self, statistic: str, period: int, grid: Sequence[int], now: int) -> Series:
        """Return the points of a statistic that needs the samples themselves."""
        of_counted = of_samples(statistic)
        counted = {start: self._counted(start, start + period, now) for start in grid}
        return {start: of_counted(samples) for start, samples in counted.items() if samples}

    def _value(
        self, of: Callable[[Summary], float], start: int, end: int, now: int
    ) -> tuple[float | None, bool, float]:
        """Return the statistic of a span, and whether it will stay so; and until when all such spans come to the same.

        The last is -inf if they may not.
        """
        index = -1 if self._singles else bisect_right(self._starts, start) - 1
        until = self._starts[index + 1] if index + 1 < len(self._starts) else inf
        together = self._levels[index].together() if index >= 0 and end <= until else None
        if together is None:
            summary, settles = self._summary(start, end, now)
            return None if summary is None else of(summary), settles, -inf
        # The span is in one level, whose sources are alike.
        lane, (sources, total, low, high) = together
        _, samples, hidden = lane.sampled(start, end, now)
        value = of((samples * sources, 0.0 + samples * total, low, high)) if samples else None
        settles = end <= now and not hidden
        lasts = settles and (end - start) % lane.every == 0
        return value, settles, min(until, lane.readable_until(now), now) if lasts else -inf

    def _summary(self, start: int, end: int, now: int) -> tuple[Summary | None, bool]:
        """Return what a span comes to, and whether it will stay so."""
        (count, total, least, most), late = self._of_singles(start, end, now)
        for since, until, level in self._levels_between(start, end):
            together = level.together()
            parts = level.parts() if together is None else (together,)
            for lane, (sources, sum_, low, high) in parts:
                first, samples, hidden = lane.sampled(since, until, now)
                late = late or hidden
                if not samples:
                    continue
                if lane.slope:
                    low, high = lane.at(first), lane.at(first + (samples - 1) * lane.every)
                    sum_ = (low + high) / 2 * sources
                    if high < low:
                        low, high = high, low
                count += samples * sources
                total += samples * sum_
                if low < least:
                    least = low
                if high > most:
                    most = high
        return (count, total, least, most) if count else None, end <= now and not late

    def _of_singles(self, start: int, end: int, now: int) -> tuple[Summary, bool]:
        """Return what the single samples of a span come to, and whether some cannot be read yet."""
        if not self._singles:
            return _NOTHING, False
        found = self._singles_between(start, end)
        values = [value for _, visible_at, value in found if visible_at <= now]
        if not values:
            return _NOTHING, bool(found)
        return (len(values), sum(values), min(values), max(values)), len(values) < len(found)

    def _has_settled(self, known: dict[int, float | None], until: int, now: int) -> None:
        """Take note that what was worked out now, of periods that end by a moment, is kept."""
        if len(known) > _MOST_SETTLED:
            for slot in list(islice(known, _MOST_SETTLED // 2)):
                del known[slot]
        # Nothing is asked of a moment before the newest one, or all that was settled has been forgotten.
        self._settled_at = now
        if until > self._settled_until:
            self._settled_until = until

    def _unsettle(self) -> None:
        """Forget what periods have come to: it may not be so for what is stored or asked now."""
        for known in self._settled.values():
            known.clear()
        self._settled_until = self._settled_at = 0
        self._unsettled += 1
        self._upset()

    def _counted(self, start: int, end: int, now: int) -> list[tuple[float, int]]:
        """Return the samples that can be read, by value in ascending order, and how many there are of each."""
        found: dict[float, int] = {}
        for _, visible_at, value in self._singles_between(start, end):
            if visible_at <= now:
                found[value] = found.get(value, 0) + 1
        for since, until, level in self._levels_between(start, end):
            for lane, sources in level.lanes.items():
                first, samples, _ = lane.sampled(since, until, now)
                if lane.slope:
                    for moment in range(first, first + samples * lane.every, lane.every):
                        found[lane.at(moment)] = found.get(lane.at(moment), 0) + sources
                elif samples:
                    found[lane.value] = found.get(lane.value, 0) + samples * sources
        return sorted(found.items())

    def _singles_between(self, start: int, end: int) -> Sequence[tuple[int, int, float]]:
        times = self._single_times
        return self._singles[bisect_left(times, start) : bisect_left(times, end)]

    def _levels_between(self, start: int, end: int) -> list[tuple[int, int, Level]]:
        """Return the levels of a span, each with the part of it that it is in."""
        starts, levels = self._starts, self._levels
        begin, stop = max(0, bisect_right(starts, start) - 1), bisect_left(starts, end)
        if stop - begin == 1:
            return [(max(start, starts[begin]), end, levels[begin])]
        edges = [*starts[begin:stop], end]
        edges[0] = max(start, edges[0])
        return list(zip(edges, edges[1:], levels[begin:stop], strict=False))
