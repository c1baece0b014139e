"""The report of a rehearsal as a text for a terminal, in lines of at most 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from constructs_lib.plain_text import WIDTH, harmless, paragraph, several
from constructs_lib.rehearsal.energy import Energy
from constructs_lib.rehearsal.figures import Waits
from constructs_lib.rehearsal.wording import clock, duration, money, number, share

if TYPE_CHECKING:
    from constructs_lib.rehearsal.report import Rehearsal, Way

_HOUR = 3_600


def written(found: Rehearsal) -> str:
    """The report, with a line's end after each line."""
    parts = [
        _question(found),
        [line for text in found.remarks for line in paragraph(text, begins="Attention: ", indent="  ")],
        _hours(found),
        _work(found),
        _beside(found),
        *([] if found.tuning is None else [found.tuning.as_lines()]),
        _notes(found),
    ]
    return harmless("\n\n".join("\n".join(part) for part in parts if part) + "\n")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table whose first column stands at the left, the others at the right."""
    lines = [heads, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    return [
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def _question(found: Rehearsal) -> list[str]:
    record, trace, scenario = found.record, found.trace, found.scenario
    sizes = f"{record.minimum} to {record.maximum} instances of {several(record.accelerators, 'accelerator')}"
    lines = paragraph(f"{record.fleet}: {sizes}.")
    work = number(trace.work_s / _HOUR)
    skipped = f"; {several(len(trace.skipped), 'bad row')} left out" if trace.skipped else ""
    lines += paragraph(
        f"Trace {trace.name}: {several(len(trace), 'job')} in {duration(trace.span_s)}, {work} accelerator-hours of "
        f"work{skipped}. From {clock(scenario.start, 0)} (clock of the fleet), seed {found.seed}."
    )
    return lines + paragraph(conditions(found))


def conditions(found: Rehearsal) -> str:
    """What the cloud did, in a sentence or two."""
    scenario = found.scenario
    said = [f"A start takes {duration(scenario.cold_start.describe()['median_s'])} (median) until work can begin"]
    if scenario.reclaims_per_hour:
        said.append(f"{number(scenario.reclaims_per_hour)} reclaims in an instance-hour")
    for begin, end in scenario.no_capacity:
        said.append(f"no capacity from {clock(scenario.start, begin)} to {clock(scenario.start, end)}")
    if scenario.launch_failures:
        said.append(f"{share(scenario.launch_failures)} of launches fail")
    return "; ".join(said) + "."


def _hours(found: Rehearsal) -> list[str]:
    figures = found.figures
    hours = figures.hours
    parts = (
        ("paid", hours.paid),
        ("  busy", hours.busy),
        ("  idle", hours.idle),
        ("  starting", hours.starting),
        ("  draining", hours.draining),
    )
    lines = table(
        ("Accelerator-hours", "", "of paid"),
        [(name, number(value, 4), share(value / hours.paid if hours.paid else None)) for name, value in parts],
    )
    return [*lines, f"Cost: {money(figures.cost_usd)}", *paragraph(power(found.energy), begins="Energy: ", indent="  ")]


def power(energy: Energy) -> str:
    """Energy and carbon, or why they are not told."""
    why = f" ({'; '.join(energy.reasons)})" if energy.reasons else ""
    if energy.kwh is None:
        return f"not told{why}"
    carbon = "carbon is not told" if energy.kg_co2e is None else f"{number(energy.kg_co2e)} kg CO2e"
    return f"{number(energy.kwh)} kWh, {carbon}, an estimate{why}"


def _work(found: Rehearsal) -> list[str]:
    figures = found.figures
    lines = paragraph(waited(figures.waits), begins="Waiting: ", indent="  ")
    jobs = [f"{figures.done:,} done", f"{figures.interrupted:,} interrupted", f"{figures.unfinished:,} unfinished"]
    if figures.interrupted:
        jobs[1] += f" ({figures.redone:,} of them done again, {number(figures.lost_hours)} accelerator-hours lost)"
    lines += paragraph(", ".join(jobs), begins="Jobs: ", indent="  ")
    failed = several(figures.failed_launches, "launch", "launches")
    lines += paragraph(
        f"{figures.launches:,} launched, {figures.cold_starts:,} of them came to take work; {failed} failed; "
        f"{figures.releases:,} released, {figures.replacements:,} lost",
        begins="Instances: ",
        indent="  ",
    )
    if figures.prepared:
        lines += paragraph(f"{several(figures.prepared, 'instance')} prepared", begins="Warm pool: ", indent="  ")
    rest = "not reached"
    if figures.time_to_zero_s is not None:
        rest = f"{duration(figures.time_to_zero_s)} after the last work"
    lines += paragraph(rest, begins="At zero: ", indent="  ")
    raised = ", ".join(f"{name} {count}" for name, count in sorted(figures.alarms.items())) or "none"
    lines += paragraph(raised, begins="Alarms raised: ", indent="  ")
    return lines


def waited(waits: Waits) -> str:
    """How long jobs waited, in a sentence without its end."""
    if not waits.jobs:
        return "there were no jobs"
    said = ", ".join(
        f"{name} {duration(value)}"
        for name, value in (
            ("half at most", waits.p50),
            ("95%", waits.p95),
            ("99%", waits.p99),
            ("longest", waits.max),
        )
    )
    return said if waits.goal is None else f"{said}; {share(waits.within_goal)} within {duration(waits.goal)}"


def _beside(found: Rehearsal) -> list[str]:
    heads = ("Beside it", "paid h", "busy", "USD", "ratio", "p95 wait", "cold", "cut")
    rows = [_row(way) for way in (found.own, *found.beside)]
    taken = sum(max(len(row[column]) for row in (heads, *rows)) + 2 for column in range(1, len(heads)))
    room = max(12, WIDTH - taken)
    said = (
        "ratio: paid hours to the least possible for the work when it was done, by one who knows the future; cold: "
        "starts; cut: jobs cut off or not done."
    )
    return [*table(heads, [(_shortened(title, room), *rest) for title, *rest in rows]), *paragraph(said)]


def _row(way: Way) -> tuple[str, ...]:
    figures = way.figures
    return (
        way.title,
        number(figures.hours.paid),
        "-" if figures.hours.used is None else f"{figures.hours.used:.0%}",
        number(figures.cost_usd),
        "-" if way.ratio is None else f"{way.ratio:.2f}",
        duration(figures.waits.p95),
        f"{figures.cold_starts:,}",
        f"{figures.interrupted + figures.unfinished:,}",
    )


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _notes(found: Rehearsal) -> list[str]:
    doubts = [f"in doubt: {each}" for each in found.record.doubts]
    told = [*found.record.notes, *found.cost.notes, *doubts, *found.choice]
    if not told:
        return []
    return ["Notes:", *(line for text in told for line in paragraph(text, begins="- ", indent="  "))]
