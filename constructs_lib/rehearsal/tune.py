"""Tries other settings of a fleet on the same trace: what they would cost, and how long jobs would wait.

The search begins with the settings of the template. It then goes on from whatever is on the frontier so far, changing
one setting at a time, until nothing new is left or so many runs are done as were allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from constructs_lib.rehearsal.figures import Figures
from constructs_lib.rehearsal.trace import Trace
from constructs_lib.rehearsal.tunable import LONGEST_COLD_START, Settings, Tunable
from constructs_lib.rehearsal.wording import duration, number

MOST_RUNS = 24
"""So many runs at most, the one with the template's own settings among them."""

_MINUTE = 60
_WINDOWS = tuple(minutes * _MINUTE for minutes in (5, 10, 15, 30, 60))
_MINIMA = (0, 1, 2)
_POOLS = (0, 1, 2, 4)
_MOST_SHOWN = 12

Play = Callable[[Mapping[str, Any], int], Figures]
"""Plays the trace through a template; the number says which run of the search it is."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """Settings, and what the fleet came to with them."""

    settings: Settings
    figures: Figures

    @property
    def cost(self) -> float:
        """USD, or accelerator-hours where a price is not known."""
        return self.figures.hours.paid if self.figures.cost_usd is None else self.figures.cost_usd

    @property
    def wait_s(self) -> float:
        """The wait that 95 of 100 jobs did not exceed."""
        return 0.0 if self.figures.waits.p95 is None else self.figures.waits.p95

    @property
    def left(self) -> int:
        """Jobs that were cut off or never done."""
        return self.figures.interrupted + self.figures.unfinished


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """What was tried.

    Attributes:
        trials: in the order of the search, the template's own settings first.
        allowed: how many runs were allowed.
        notes: what the search left out.
    """

    trials: Sequence[Trial]
    allowed: int
    notes: Sequence[str] = ()

    @property
    def own(self) -> Trial:
        """With the template's own settings."""
        return self.trials[0]

    @property
    def frontier(self) -> list[Trial]:
        """Those that no other one beats, the cheapest first; none that cuts off more work than the template's own."""
        return frontier(self.trials)

    @property
    def is_complete(self) -> bool:
        """Whether nothing next to the frontier was left untried."""
        return len(self.trials) < self.allowed

    def as_json(self) -> dict[str, Any]:
        """As the report has it."""
        on_it = self.frontier
        return {
            "runs": len(self.trials),
            "runs_allowed": self.allowed,
            "trials": [
                {
                    "settings": each.settings.as_json(),
                    "frontier": each in on_it,
                    "changes": each.settings.changes(self.own.settings),
                    **each.figures.as_json(),
                }
                for each in self.trials
            ],
            "notes": list(self.notes),
        }

    def as_rows(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Heads and rows of a table of the frontier; the template's own settings stand in the first row."""
        heads = ("", "window", "adaptive", "messages", "min", "pool", self.unit, "p95 wait", "cold starts")
        shown = [("now", self.own), *((str(n), each) for n, each in self.numbered())]
        return heads, [_row(name, each) for name, each in shown]

    def numbered(self) -> list[tuple[int, Trial]]:
        """The frontier with numbers, not more than one can look at."""
        return list(enumerate(self.frontier, start=1))[:_MOST_SHOWN]

    @property
    def unit(self) -> str:
        """Of the cost."""
        return "paid h" if self.own.figures.cost_usd is None else "USD"

    def as_lines(self) -> list[str]:
        """As the text for a terminal has it."""
        from constructs_lib.plain_text import paragraph
        from constructs_lib.rehearsal.text import table

        more = "" if self.is_complete else "; more runs might find more"
        lines = paragraph(
            f"Other settings, {len(self.trials)} runs{more}. None that was tried beats these in cost and waiting:"
        )
        lines += table(*self.as_rows())
        for n, each in self.numbered():
            begins = f"{n}: "
            lines += paragraph(self.said(each), begins=begins, indent=" " * len(begins))
        for note in self.notes:
            lines += paragraph(note, begins="- ", indent="  ")
        return lines

    def said(self, trial: Trial) -> str:
        """What to write in the construct."""
        return ", ".join(trial.settings.changes(self.own.settings)) or "as it is now"


def tune(
    template: Tunable,
    trace: Trace,
    *,
    own: Figures,
    accelerators: int,
    cold_start_s: float,
    play: Play,
    runs: int = MOST_RUNS,
) -> Tuning:
    """Search for settings that cost less or let jobs wait less.

    Args:
        template: of the fleet.
        trace: that is played.
        own: what the template's own settings came to; that run counts.
        accelerators: of one instance.
        cold_start_s: that is usual, which an adaptive policy is told.
        play: plays the trace through a changed template.
        runs: so many at most. Default: 24.
    """
    trials = [Trial(settings=template.now, figures=own)]
    choices = _choices(template, trace, accelerators, cold_start_s)
    while len(trials) < runs:
        settings = next(_untried(trials, choices), None)
        if settings is None:
            break
        figures = play(template.written(settings), len(trials) + 1)
        trials.append(Trial(settings=settings, figures=figures))
    return Tuning(trials=tuple(trials), allowed=runs, notes=_notes(choices, trials))


def frontier(trials: Sequence[Trial]) -> list[Trial]:
    """Those that no other one beats, the cheapest first, of those that cut off no more than the first of all.

    Of several that come to the same the one with the fewest instances kept ready is taken.
    """
    found: list[Trial] = []
    usable = (each for each in trials if each.left <= trials[0].left)
    for each in sorted(
        usable, key=lambda trial: (trial.cost, trial.wait_s, trial.settings.minimum, trial.settings.pool)
    ):
        if not found or each.wait_s < found[-1].wait_s:
            found.append(each)
    return found


@dataclass(frozen=True)
class _Choices:
    """The values of each setting that are tried on a template."""

    template: Tunable
    windows: tuple[int, ...]
    cold_starts: tuple[int | None, ...]
    messages: tuple[int, ...]
    minima: tuple[int, ...]
    pools: tuple[int, ...]

    def beside(self, settings: Settings) -> Iterator[Settings]:
        """All that differ in one setting."""
        yield from (self.template.with_window(settings, each) for each in self.windows)
        yield from (self.template.with_cold_start(settings, each) for each in self.cold_starts)
        yield from (replace(settings, messages_per_instance=each) for each in self.messages)
        yield from (replace(settings, minimum=each) for each in self.minima)
        yield from (replace(settings, pool=each) for each in self.pools)


def _choices(template: Tunable, trace: Trace, accelerators: int, cold_start_s: float) -> _Choices:
    now = template.now
    usual = max(round(cold_start_s / _MINUTE), 1) * _MINUTE
    return _Choices(
        template=template,
        windows=_ordered([*_WINDOWS, now.window_s]),
        cold_starts=(None, usual) if usual <= LONGEST_COLD_START else (None,),
        messages=_messages(now, trace, accelerators),
        minima=_ordered(each for each in (*_MINIMA, now.minimum) if each <= template.maximum),
        pools=_ordered(each for each in (*_POOLS, now.pool) if each <= template.maximum),
    )


def _messages(now: Settings, trace: Trace, accelerators: int) -> tuple[int, ...]:
    """As now, half and twice of that, and as many as fit on an instance side by side."""
    each = now.messages_per_instance
    if each is None:
        return ()
    found = [each, max(1, each // 2), 2 * each]
    if trace.jobs:
        usual = sum(job.accelerators for job in trace.jobs) / len(trace.jobs)
        found.append(max(1, int(accelerators / usual)))
    return _ordered(found)


def _ordered(values: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(set(values)))


def _untried(trials: Sequence[Trial], choices: _Choices) -> Iterator[Settings]:
    tried = {each.settings for each in trials}
    for trial in frontier(trials):
        for settings in choices.beside(trial.settings):
            if settings not in tried and choices.template.accepts(settings):
                yield settings


def _notes(choices: _Choices, trials: Sequence[Trial]) -> list[str]:
    notes = ["IdlePolicy(...) and QueueDemand(...) stand for yours with these values in place of their own"]
    now = choices.template.now
    if now.messages_per_instance is None:
        notes.append("the fleet has no queue, so no messages for each instance were tried")
    if not any(choices.template.accepts(replace(now, pool=each)) for each in choices.pools if each != now.pool):
        notes.append("no warm pool was tried: the construct takes none with this purchase, or none of another size")
    elif any(each.settings.pool for each in trials):
        notes.append("what the volumes of stopped instances in a warm pool cost is not counted")
    return notes


def _row(name: str, trial: Trial) -> tuple[str, ...]:
    settings, figures = trial.settings, trial.figures
    return (
        name,
        duration(settings.window_s),
        "-" if settings.cold_start_s is None else duration(settings.cold_start_s),
        "-" if settings.messages_per_instance is None else str(settings.messages_per_instance),
        str(settings.minimum),
        str(settings.pool),
        number(trial.cost, 4),
        duration(figures.waits.p95),
        f"{figures.cold_starts:,}",
    )
