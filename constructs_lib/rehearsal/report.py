"""What a rehearsal found, and its three forms: JSON, a text for a terminal, a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from constructs_lib.catalog import known_types
from constructs_lib.plain_text import several
from constructs_lib.rehearsal.cost import Cost
from constructs_lib.rehearsal.energy import Energy
from constructs_lib.rehearsal.figures import PREPARED, Figures, rounded
from constructs_lib.rehearsal.record import Record
from constructs_lib.rehearsal.trace import Trace
from constructs_lib.rehearsal.wording import duration, number

if TYPE_CHECKING:
    from constructs_lib.rehearsal.simulate import Scenario
    from constructs_lib.rehearsal.tune import Tuning

SCHEMA = "accel-fleet/rehearse/1"
"""Of the JSON; the number grows when a field is taken away or changes its meaning."""

_HOUR = 3_600
_COMPARED = ("interrupted_jobs", "unfinished_jobs", "paid_accelerator_hours", "cost_usd", "wait_s")


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a fleet, or another way, did under one reading of what AWS leaves open.

    Attributes:
        differs: the conditions that are not as usual.
        figures: what it came to.
    """

    differs: Mapping[str, Any]
    figures: Figures

    @classmethod
    def of(cls, conditions: Mapping[str, Any], usual: Mapping[str, Any], figures: Figures) -> Reading:
        """Return it by how its conditions differ from the usual ones."""
        differs = {name: value for name, value in conditions.items() if value != usual.get(name)}
        return cls(differs=differs, figures=figures)

    def as_json(self) -> dict[str, Any]:
        """What differs, and what one would look at to compare it."""
        figures = self.figures.as_json()
        return {"differs": dict(self.differs), **{name: figures[name] for name in _COMPARED}}


@dataclass(frozen=True, kw_only=True)
class Way:
    """Another way to serve the trace.

    Attributes:
        title: what it is called.
        figures: what it comes to.
        ratio: what it pays, in accelerator-hours, to what the optimum pays for the same work at its own start times;
            None where the optimum pays nothing.
        says: what it does, in a sentence. Default: nothing.
        readings: all readings that were played, the usual one first. Default: none, for what is reckoned.
    """

    title: str
    figures: Figures
    ratio: float | None
    says: str = ""
    readings: Sequence[Reading] = ()


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """What a fleet did with a trace.

    Attributes:
        record: of the run; under the worst reading, if several were played.
        figures: what it comes to.
        readings: all readings that were played, the usual one first. Default: none are told.
        trace: that was played.
        scenario: what the cloud did.
        seed: of all that was drawn.
        region: whose prices and grid count.
        cost: in detail.
        energy: and carbon, with their sources.
        optimum: the least that can be paid for this work when it was done.
        nobody_waits: the least that can be paid if every job starts at once.
        alternatives: other ways to serve the trace, by name. Default: none were asked for.
        tuning: what other settings would come to. Default: not asked for.
    """

    record: Record
    figures: Figures
    readings: Sequence[Reading] = ()
    trace: Trace
    scenario: Scenario
    seed: int
    region: str
    cost: Cost
    energy: Energy
    optimum: Way
    nobody_waits: Way
    alternatives: Mapping[str, Way] = field(default_factory=dict)
    tuning: Tuning | None = None

    @property
    def ratio(self) -> float | None:
        """Paid accelerator-hours to those of the optimum; None where that pays nothing."""
        return ratio(self.figures, self.optimum.figures)

    @property
    def own(self) -> Way:
        """The fleet itself, as a way beside others."""
        return Way(title="this fleet", figures=self.figures, ratio=self.ratio)

    @property
    def beside(self) -> Sequence[Way]:
        """Everything that the fleet is compared with."""
        return (self.optimum, self.nobody_waits, *self.alternatives.values())

    @property
    def remarks(self) -> list[str]:
        """What one should know before anything else, in sentences."""
        figures, record = self.figures, self.record
        found = []
        if figures.jobs and not figures.launches:
            found.append(
                "No instance was ever launched: nothing that was played raises the group's capacity for "
                f"{several(figures.unfinished, 'job')}."
            )
        strange = sorted({each.instance_type for each in record.instances} - known_types().keys() - {""})
        if strange:
            found.append(
                f"The catalogue of accelerated types does not have {', '.join(strange)}: an instance was played with "
                "one accelerator."
            )
        left = sum(each.ended_s is None and each.cause != PREPARED for each in record.instances)
        if left > record.minimum:
            found.append(
                f"When all was over there was still {several(left, 'instance')}, and the minimum is {record.minimum}."
            )
        if not self.is_fine:
            found.append("Work was cut off or left undone that nothing in the scenario explains.")
        return found

    @property
    def choice(self) -> list[str]:
        """How these figures were chosen among several readings of what AWS leaves open, in sentences or none."""
        others = any(len(way.readings) > 1 for way in self.alternatives.values())
        said = ["each of the other ways is told in the worst of the readings that could matter to it"] if others else []
        return [*self._own_choice, *said]

    @property
    def _own_choice(self) -> list[str]:
        if len(self.readings) < 2:
            return []
        paid = [each.figures.hours.paid for each in self.readings]
        waits = [each.figures.waits.p95 for each in self.readings if each.figures.waits.p95 is not None]
        at_once = ", and all that made it worse at once" if any(len(each.differs) > 1 for each in self.readings) else ""
        waited = f", and 95% of jobs wait up to {_span(duration, waits)}" if waits else ""
        return [
            f"played in {len(self.readings)} readings, with one thing read another way at a time{at_once}: paid are "
            f"{_span(number, paid)} accelerator-hours{waited}. The worst is told: most jobs cut off, then most left "
            "undone, then most paid, then the longest waits"
        ]

    @property
    def is_fine(self) -> bool:
        """Whether all work was done and none cut off, but for what the scenario explains."""
        figures, scenario = self.figures, self.scenario
        if scenario.reclaims_per_hour:
            return True
        if scenario.no_capacity or scenario.launch_failures:
            return not figures.interrupted
        return not (figures.interrupted or figures.unfinished)

    def as_json(self) -> dict[str, Any]:
        """The report as data; the same for the same input and seed."""
        record, trace, scenario = self.record, self.trace, self.scenario
        document = {
            "schema": SCHEMA,
            "fleet": {
                "logical_id": record.fleet,
                "accelerators_per_instance": record.accelerators,
                "minimum": record.minimum,
                "maximum": record.maximum,
            },
            "trace": {
                "name": trace.name,
                "source": trace.source,
                "jobs": len(trace),
                "span_s": round(trace.span_s, 6),
                "work_accelerator_hours": round(trace.work_s / _HOUR, 6),
                "skipped_rows": len(trace.skipped),
            },
            "seed": self.seed,
            "scenario": {
                "start": scenario.start.isoformat(),
                "cold_start": scenario.cold_start.describe(),
                "reclaims_per_hour": scenario.reclaims_per_hour,
                "no_capacity_s": [list(each) for each in scenario.no_capacity],
                "launch_failure_share": scenario.launch_failures,
            },
            "region": self.region,
            "remarks": self.remarks,
            **self.figures.as_json(),
            "ratio_to_optimum": rounded(self.ratio),
            "optimum": self.optimum.figures.as_json(),
            "nobody_waits": self.nobody_waits.figures.as_json(),
            "alternatives": {
                name: {
                    "title": way.title,
                    **way.figures.as_json(),
                    "ratio_to_optimum": rounded(way.ratio),
                    "readings": [each.as_json() for each in way.readings],
                }
                for name, way in self.alternatives.items()
            },
            "conditions": record.conditions,
            "doubts": list(record.doubts),
            "readings": [each.as_json() for each in self.readings],
            "notes": [*record.notes, *self.cost.notes, *self.energy.notes],
        }
        return document if self.tuning is None else {**document, "tuning": self.tuning.as_json()}

    def as_text(self) -> str:
        """The report in lines of at most 80 columns."""
        from constructs_lib.rehearsal.text import written

        return written(self)

    def as_html(self) -> str:
        """The report as one page that needs nothing else."""
        from constructs_lib.rehearsal.page import page

        return page(self)


def _span(said: Callable[[float], str], values: Sequence[float]) -> str:
    """From the least to the most, or both at once where they read alike."""
    least, most = said(min(values)), said(max(values))
    return least if least == most else f"{least} to {most}"


def ratio(figures: Figures, best: Figures) -> float | None:
    """What was paid to what had to be, in accelerator-hours; None if nothing had to be."""
    return figures.hours.paid / best.hours.paid if best.hours.paid else None
