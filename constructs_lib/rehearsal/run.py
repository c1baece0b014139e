"""Plays a trace through a fleet, and through everything that it is compared with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, NamedTuple, Protocol

from constructs_lib.catalog.prices import HOME
from constructs_lib.rehearsal.alternatives import ALTERNATIVES, Alternative
from constructs_lib.rehearsal.clairvoyant import best_run, best_run_without_waiting
from constructs_lib.rehearsal.cloud.alarms import OPEN
from constructs_lib.rehearsal.cloud.policies import AGGREGATED, BY_SILENCE, LEAST_CHANGE, WAKES
from constructs_lib.rehearsal.cloud.purchasing import Purchasing
from constructs_lib.rehearsal.cloud.replacing import SPARED_BY_REBALANCING
from constructs_lib.rehearsal.cloud.retries import TRIES_AGAIN
from constructs_lib.rehearsal.cloud.scheduled_actions import RUNS_LATE
from constructs_lib.rehearsal.cloud.work_queue import CALLS_KEEP_AWAKE, WAKES_LATE
from constructs_lib.rehearsal.cost import Prices, region_of
from constructs_lib.rehearsal.deployed import as_deployed
from constructs_lib.rehearsal.energy import energy
from constructs_lib.rehearsal.figures import Figures, figures_of
from constructs_lib.rehearsal.record import Record
from constructs_lib.rehearsal.report import Reading, Rehearsal, Way, ratio
from constructs_lib.rehearsal.simulate import Scenario, simulate
from constructs_lib.rehearsal.template import Template
from constructs_lib.rehearsal.template_start import start_of_template
from constructs_lib.rehearsal.trace import Trace
from constructs_lib.rehearsal.tunable import Tunable, adaptive_copy
from constructs_lib.rehearsal.tune import MOST_RUNS, Tuning, tune
from constructs_lib.rehearsal.world import EARLY_BUT_USUAL, SEEN_LATE, Conditions

_ADAPTIVE = "this fleet, adaptive"
_ADAPTS = "is this fleet with IdlePolicy.adaptive(), which keeps as many as were in use at once lately"
_SAME_STARTS = "knows the future: each job starts when it did in the fleet, for the least that can be paid"
_NOBODY_WAITS = "likewise, but each job starts on arrival, unless the fleet at its largest is at work already"

# How a doubt about AWS is worded, and the other readings of it.
_OTHER_READINGS = {
    "periods more than": tuple(Conditions(extra_periods=extra) for extra in (1, 5)),
    OPEN["fill_empty"]: (Conditions(fill_empty=False),),
    OPEN["repeat_reaches_back"]: (Conditions(repeat_reaches_back=True),),
    OPEN["both_missing_is_zero"]: (Conditions(both_missing_is_zero=True),),
    OPEN["silence_is_zeros"]: (Conditions(silence_is_zeros=False),),
    OPEN["queue_zeros"]: (Conditions(queue_zeros=False),),
    WAKES_LATE: (Conditions(wake_lag_seconds=60),),
    CALLS_KEEP_AWAKE: (Conditions(calls_keep_awake=False),),
    SEEN_LATE: (Conditions(delays=EARLY_BUT_USUAL),),
    AGGREGATED: (Conditions(steps_by_aggregate=True),),
    BY_SILENCE: (Conditions(steps_by_silence=False),),
    LEAST_CHANGE: (Conditions(least_change_wakes=False),),
    WAKES: (Conditions(tracking_wakes=True),),
    TRIES_AGAIN: (Conditions(longest_retry_seconds=60), Conditions(longest_retry_seconds=900)),
    SPARED_BY_REBALANCING: (Conditions(rebalancing_spares_protected=False),),
    RUNS_LATE: (Conditions(scheduled_action_seconds=120),),
}

Said = Callable[[str, float], object]
"""Is told what is done, and how much of all of it is, from 0 to 1."""


def rehearse(
    template: Mapping[str, Any],
    trace: Trace,
    *,
    fleet: str | None = None,
    parameters: Mapping[str, str] | None = None,
    scenario: Scenario | None = None,
    seed: int = 0,
    compare: bool = False,
    tuned: bool = False,
    goal_s: float | None = None,
    prices: Prices | None = None,
    said: Said | None = None,
) -> Rehearsal:
    """Say what a fleet would do with a trace, what that would cost, and what of it would be waste.

    Args:
        template: synthesized, as plain data.
        trace: of work.
        fleet: logical id of the Auto Scaling group, or its beginning. Default: the only one.
        parameters: values of the template's parameters. Default: their own defaults.
        scenario: what the cloud does. Default: starts take what is published of those of the template's image; nothing
            is taken back, nothing fails.
        seed: of all that is drawn. Default: 0.
        compare: whether the usual alternatives are played too, which takes as long again for each. Default: no.
        tuned: whether other settings of the fleet are tried, in at most :data:`MOST_RUNS` runs. Default: no.
        goal_s: the wait that is hoped for, in seconds. Default: none.
        prices: where hours are bought. Default: list prices of the Region that the template is for, else of us-east-1.
        said: is told how far it is. Default: nobody is.

    Raises:
        FleetError: the template has no such fleet or parameter, or asks for what is not simulated; a job needs more
            accelerators than an instance has.
    """
    template = as_deployed(template, parameters or {})
    read = Template(template)
    group, _ = read.group(fleet)
    if scenario is None:
        scenario = Scenario(cold_start=start_of_template(template, group=group))
    tunable = Tunable(template, group) if tuned else None
    start_s = scenario.cold_start.describe()["median_s"]
    adaptive = adaptive_copy(template, group, start_s) if compare else None
    compared = (len(ALTERNATIVES) if compare else 0) + (adaptive is not None)
    runs = 1 + compared + (0 if tunable is None else MOST_RUNS - 1)
    play = _Player(
        fleet=group,
        trace=trace,
        scenario=scenario,
        seed=seed,
        prices=prices or Prices(region=region_of(template) or HOME),
        goal_s=goal_s,
        progress=_Progress(said, runs),
    )
    fleet_itself = play.worst("the fleet", play.fleet_of(template))
    record, figures = fleet_itself.record, play.figures(fleet_itself.record)
    ways = {} if adaptive is None else {"adaptive": play.adaptive(adaptive)}
    ways |= {each.name: play.alternative(each, template, record) for each in ALTERNATIVES} if compare else {}
    return Rehearsal(
        record=record,
        figures=figures,
        readings=fleet_itself.readings,
        trace=trace,
        scenario=scenario,
        seed=seed,
        region=play.prices.region,
        cost=play.prices.of(record),
        energy=energy(record, play.prices.region),
        optimum=play.optimum(best_run(record), "optimum", _SAME_STARTS),
        nobody_waits=play.optimum(
            _as_bought(best_run_without_waiting(record), read.purchasing()), "optimum, nobody waits", _NOBODY_WAITS
        ),
        alternatives=ways,
        tuning=None if tunable is None else play.tuning(tunable, fleet_itself, figures, start_s),
    )


def other_readings(doubts: Sequence[str]) -> list[Conditions]:
    """How else that could be read which is in doubt."""
    return [
        conditions
        for words, readings in _OTHER_READINGS.items()
        if any(words in doubt for doubt in doubts)
        for conditions in readings
    ]


def together(readings: Sequence[Conditions]) -> Conditions:
    """Return one reading with all that these change; of what several change, the last one counts."""
    usual = Conditions()
    changed = {
        each.name: getattr(reading, each.name)
        for reading in readings
        for each in fields(reading)
        if getattr(reading, each.name) != getattr(usual, each.name)
    }
    return replace(usual, **changed)


class _Play(Protocol):
    """Plays something under a reading, and tells how far it is."""

    def __call__(self, *, conditions: Conditions | None, said: Callable[[float], None]) -> Record:
        """Play it; None is the usual reading."""


class _Worst(NamedTuple):
    """The worst record, the reading that it came about with, and what was done under each that was played."""

    record: Record
    conditions: Conditions
    readings: Sequence[Reading]


class _Progress:
    """Of so many runs that take about as long each."""

    def __init__(self, said: Said | None, runs: int) -> None:
        self._said = said
        self._runs = runs
        self._done = 0

    def extend(self, runs: int) -> None:
        """Have more runs than was thought."""
        self._runs += runs

    def begin(self, what: str) -> Callable[[float], None]:
        """Return what is told how far the next run is."""
        place = self._done
        self._done += 1

        def tell(share: float) -> None:
            if self._said is not None:
                self._said(what, min(1.0, (place + share) / self._runs))

        tell(0.0)
        return tell


@dataclass(frozen=True, kw_only=True)
class _Player:
    """Plays one trace, with the same seed and scenario, through one template after another."""

    fleet: str
    trace: Trace
    scenario: Scenario
    seed: int
    prices: Prices
    goal_s: float | None
    progress: _Progress

    def figures(self, record: Record) -> Figures:
        """What a run comes to."""
        power = energy(record, self.prices.region).as_json()
        return figures_of(record, cost_usd=self.prices.of(record).usd, power=power, goal_s=self.goal_s)

    def fleet_of(self, template: Mapping[str, Any]) -> _Play:
        """How the fleet of a template is played."""
        return partial(simulate, template, self.trace, fleet=self.fleet, scenario=self.scenario, seed=self.seed)

    def worst(self, what: str, play: _Play) -> _Worst:
        """Play something, and again where another reading of what AWS leaves open could have mattered.

        One thing is read another way at a time; if several of these runs are worse than the first, so is all at once
        that made them so. The worst record counts: most jobs cut off, then most left undone, then most paid, then the
        longest waits.
        """
        first = play(conditions=None, said=self.progress.begin(what))
        readings = other_readings(first.doubts)
        self.progress.extend(len(readings))
        runs = [(Conditions(), first), *((each, self._again(what, play, each)) for each in readings)]
        worse = sorted((run for run in runs if _harm(run[1]) > _harm(first)), key=lambda run: _harm(run[1]))
        at_once = together([reading for reading, _ in worse])
        if worse and at_once not in readings:
            self.progress.extend(1)
            runs.append((at_once, self._again(what, play, at_once)))
        conditions, worst = max(runs, key=lambda run: _harm(run[1]))
        doubts = sorted({doubt for _, each in runs for doubt in each.doubts})
        said = [Reading.of(each.conditions, first.conditions, self.figures(each)) for _, each in runs]
        return _Worst(replace(worst, doubts=doubts), conditions, said)

    def _again(self, what: str, play: _Play, conditions: Conditions) -> Record:
        return play(conditions=conditions, said=self.progress.begin(f"{what}, read another way"))

    def alternative(self, each: Alternative, template: Mapping[str, Any], like: Record) -> Way:
        """Play one of the usual alternatives."""
        play = partial(each.run, template, self.trace, like=like, scenario=self.scenario, seed=self.seed)
        return self._way(each.title, self.worst(each.title, play), each.says)

    def adaptive(self, template: Mapping[str, Any]) -> Way:
        """Play the fleet as it would be with an adaptive policy."""
        return self._way(_ADAPTIVE, self.worst(_ADAPTIVE, self.fleet_of(template)), _ADAPTS)

    def optimum(self, record: Record, title: str, says: str) -> Way:
        """Sum up what a clairvoyant would have done."""
        figures = self.figures(record)
        return Way(title=title, figures=figures, ratio=ratio(figures, figures), says=says)

    def tuning(self, tunable: Tunable, fleet: _Worst, own: Figures, start_s: float) -> Tuning:
        """Try other settings, in the reading in which the fleet as it is was worst."""

        def play(template: Mapping[str, Any], number: int) -> Figures:
            said = self.progress.begin(f"settings {number} of {MOST_RUNS}")
            return self.figures(self.fleet_of(template)(conditions=fleet.conditions, said=said))

        return tune(
            tunable,
            self.trace,
            own=own,
            accelerators=fleet.record.accelerators,
            cold_start_s=start_s,
            play=play,
        )

    def _way(self, title: str, worst: _Worst, says: str) -> Way:
        figures = self.figures(worst.record)
        of_the_least = ratio(figures, self.figures(best_run(worst.record)))
        return Way(title=title, figures=figures, ratio=of_the_least, says=says, readings=worst.readings)


def _as_bought(best: Record, purchasing: Purchasing) -> Record:
    """The record of an optimum whose fleet launched nothing, so that it does not know what: the first choice."""
    for each in best.instances:
        if not each.instance_type:
            each.instance_type, each.market = purchasing.type() or "", purchasing.market([])
    return best


def _harm(record: Record) -> tuple[int, int, float, float]:
    """Return what can be compared. Hours that are the same in two digits are the same: then waiting counts for more."""
    found = figures_of(record, cost_usd=None)
    return found.interrupted, found.unfinished, float(f"{found.hours.paid:.2g}"), found.waits.p95 or 0.0
