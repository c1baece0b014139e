"""Until when an alarm surely stays OK, whatever is published: so long nobody need look at it."""

from __future__ import annotations

from constructs_lib.rehearsal.cloud.alarms import Alarm
from constructs_lib.rehearsal.cloud.metric_math import MathReading
from constructs_lib.rehearsal.cloud.metrics import MetricStore
from constructs_lib.rehearsal.cloud.slots import Slots

_MINUTE = 60
_MOST_OPEN = 2 * _MINUTE
"""For about so long at most a slot that is over may still become something else."""


class Rest:
    """The rest of one alarm while it is OK, of which ``slots`` are kept.

    The newest N points there are decide. A slot among the last N is one of them, whatever the others come to. If it
    can become nothing else and does not breach, one fewer of them may: N - M + 1 such slots leave fewer than M.
    """

    def __init__(self, alarm: Alarm, slots: Slots, reading: MathReading) -> None:
        self._alarm = alarm
        self._slots = slots
        self._reading = reading
        self._needed = alarm.n - alarm.m + 1
        self._open = 0
        """How many of the newest slots that were over might still have become something else when last looked at."""
        self.until = -1
        """Up to when the alarm is sure to be OK, unless something is stored that says otherwise."""
        self._like = -1
        """A slot that stands for all others while nothing changes."""

    def lasts(self, store: MetricStore, now: int) -> bool:
        """Return whether the alarm is sure to be OK now by what is known already."""
        return now <= self.until and self._slots.are_current(store)

    def renew(self, store: MetricStore, now: int) -> bool:
        """Return whether the alarm is sure to be OK now, and find out for how long."""
        end = self._alarm.looks_at(now)
        self._slots.forget_what_may_differ(store, end)
        self.until = self._sure_while_steady(store, end)
        if now > self.until:
            self._look_at_slots(store, end, now)
        return self.lasts(store, now)

    def _sure_while_steady(self, store: MetricStore, end: int) -> int:
        """Return until when it is sure because nothing has changed for long enough, -1 if it is not: what one slot
        came to all others did."""
        alarm, period = self._alarm, self._alarm.period
        since, until = alarm.steady_span(store, end)
        # Wherever in a period they begin, so many slots lie in the span.
        if since > until - (self._needed + 1) * period:
            return -1
        if self._like < since or not self._slots.knows(self._like):
            self._like = int(until) - period
            self._settle(store, range(self._like, self._like + 1), end)
        point = self._slots.settled(self._like)
        # As long as fewer than M are newer than the span.
        return -1 if point is None or alarm.breaches(point) else int(until) + (alarm.m - 1) * period

    def _look_at_slots(self, store: MetricStore, end: int, now: int) -> None:
        """Find out until when it is sure from the slots that are over.

        The newest are enough as a rule, for each place in a period; older ones count if they are known.
        """
        alarm, step = self._alarm, min(self._alarm.period, _MINUTE)
        over = range(end - alarm.window_seconds, end - alarm.period + 1, step)
        few, closed = self._needed * alarm.period // step, len(over) - self._open
        self._settle(store, over[max(0, closed - few) : closed], end)
        self.until = self._sure_until(over, now)
        if now > self.until:
            newest = over[-(few + _MOST_OPEN // step) :]
            self._settle(store, newest, end)
            self._open = next((back for back, slot in enumerate(reversed(newest)) if self._slots.knows(slot)), 0)
            self.until = self._sure_until(over, now)

    def _settle(self, store: MetricStore, slots: range, end: int) -> None:
        alarm = self._alarm
        self._slots.settle(
            store, slots, alarm.period, end, lambda wanted: alarm.answer(store, wanted, end, self._reading)
        )

    def _sure_until(self, over: range, now: int) -> int:
        """Return the last minute from now on in which it is sure, the minute before if it is not so now."""
        alarm = self._alarm
        period, window, places = alarm.period, alarm.window_seconds, alarm.period // over.step
        until, fine = dict[int, int](), dict[int, int]()
        """By where in a period a slot lies: the last end of the range for which it is sure, how many do not breach."""
        for slot in reversed(over):
            point = self._slots.settled(slot)
            if point is not None and not alarm.breaches(point):
                place = slot % period
                fine[place] = fine.get(place, 0) + 1
                if fine[place] == self._needed:
                    until[place] = slot + window
                    if len(until) == places:
                        break
        minute = now
        while (end := alarm.looks_at(minute)) <= until.get(end % period, -1):
            minute += _MINUTE
        return minute - _MINUTE
