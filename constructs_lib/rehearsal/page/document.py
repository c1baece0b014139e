"""The page: what was rehearsed, its figures, its pictures, and all numbers in tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from constructs_lib import page as pages
from constructs_lib.markup import Markup, element, joined
from constructs_lib.page import table, wide
from constructs_lib.plain_text import several
from constructs_lib.rehearsal.figures import Figures, waits
from constructs_lib.rehearsal.page import bars, frontier, timeline, waiting
from constructs_lib.rehearsal.page.series import Timeline
from constructs_lib.rehearsal.text import conditions, power, waited
from constructs_lib.rehearsal.wording import clock, duration, money, number, share

if TYPE_CHECKING:
    from constructs_lib.rehearsal.report import Rehearsal

_HOUR = 3_600
_HINT = "Point at the picture to read it."


def page(found: Rehearsal) -> str:
    """The page as a text in UTF-8."""
    series = Timeline.of(found.record)
    title = f"Rehearsal of {found.record.fleet}"
    readings = timeline.readings(series, found.scenario.start, found.record.end_s)
    return pages.page(
        title,
        _header(found, title),
        _key_figures(found),
        _timeline(found, series),
        _waiting(found),
        _comparison(found),
        _tuning(found),
        _alarms(found),
        _all_figures(found),
        _assumptions(found),
        style=_file("style.css"),
        besides=(element("script", _data(readings), type="application/json", id="readings"),),
        script=_file("hover.js"),
    )


def _header(found: Rehearsal, title: str) -> Markup:
    record, trace, scenario = found.record, found.trace, found.scenario
    sizes = f"{record.minimum} to {record.maximum} instances of {several(record.accelerators, 'accelerator')}"
    told = (
        f"{trace.name}: {several(len(trace), 'job')} in {duration(trace.span_s)}, "
        f"{number(trace.work_s / _HOUR)} accelerator-hours of work."
    )
    if trace.skipped:
        told += f" {several(len(trace.skipped), 'bad row')} left out."
    return element(
        "header",
        element("h1", title),
        element("p", f"{sizes}; prices and grid of {found.region}."),
        element("p", told),
        element("p", trace.source, class_="faint") if trace.source else "",
        *(element("p", f"Attention: {each}", class_="attention") for each in found.remarks),
        element("p", f"From {clock(scenario.start, 0)}, seed {found.seed}. {conditions(found)}", class_="faint"),
    )


def _key_figures(found: Rehearsal) -> Markup:
    figures = found.figures
    best = found.optimum.figures.hours.paid
    cut_off = figures.interrupted + figures.unfinished
    cards = (
        ("Cost", money(figures.cost_usd), "instances alone", False),
        ("Accelerator-hours paid", number(figures.hours.paid, 4), f"{share(figures.hours.used)} busy", False),
        (
            "Paid to the optimum",
            "-" if found.ratio is None else f"{found.ratio:.2f} x",
            f"which pays {number(best, 4)} h",
            False,
        ),
        ("Wait, p95", duration(figures.waits.p95), f"half at most {duration(figures.waits.p50)}", False),
        ("Cold starts", f"{figures.cold_starts:,}", f"{figures.releases:,} released", False),
        ("Jobs cut off or left", f"{cut_off:,}", f"of {figures.jobs:,}", cut_off > 0),
        (
            "At zero",
            "never" if figures.time_to_zero_s is None else duration(figures.time_to_zero_s),
            "after the last work",
            False,
        ),
        ("Alarms raised", f"{sum(figures.alarms.values()):,}", f"by {several(len(figures.alarms), 'alarm')}", False),
    )
    return element(
        "dl",
        *(
            element(
                "div", element("dt", name), element("dd", value, element("small", said)), class_="bad" if bad else None
            )
            for name, value, said, bad in cards
        ),
        class_="figures",
    )


def _timeline(found: Rehearsal, series: Timeline) -> Markup:
    caption = f"Each step is {duration(series.width_s)}. Marks that would stand in one place are one."
    most = timeline.beyond(found.record, series)
    if most is not None:
        caption += f" The line is cut off at the top: up to {number(most)} accelerators were wanted at a time."
    return element(
        "section",
        element("h2", "Accelerators wanted, paid and at work"),
        timeline.legend(),
        element(
            "figure",
            wide(timeline.picture(found.record, series, found.scenario.start), "Timeline"),
            element("p", _HINT, class_="readout", id="readout"),
            element("figcaption", caption),
        ),
    )


def _waiting(found: Rehearsal) -> Markup:
    told = waited(found.figures.waits)
    waited_s = waits(found.record)
    drawn = element("figure", wide(waiting.picture(waited_s, told), "Waiting")) if waited_s else ""
    return element(
        "section",
        element("h2", "How long jobs waited for their first start"),
        element("p", f"{told[0].upper()}{told[1:]}."),
        drawn,
    )


def _comparison(found: Rehearsal) -> Markup:
    own = bars.Bar(found.own.title.capitalize(), found.figures, found.ratio, is_the_fleet=True)
    drawn = [own, *(bars.Bar(way.title, way.figures, way.ratio) for way in found.beside)]
    said = [element("li", f"{way.title}: {way.says}") for way in found.beside if way.says]
    return element(
        "section",
        element("h2", "Beside others, on the same trace"),
        bars.legend(),
        element("figure", wide(bars.picture(drawn), "Cost")),
        element("ul", *said, class_="notes faint") if said else "",
    )


def _tuning(found: Rehearsal) -> Markup | str:
    if found.tuning is None:
        return ""
    return element("section", element("h2", "Other settings"), *frontier.section(found.tuning))


def _alarms(found: Rehearsal) -> Markup | str:
    raised: dict[str, list[float]] = {}
    for at, name, state in found.record.alarms:
        if state == "ALARM":
            raised.setdefault(name, []).append(at)
    if not raised:
        return ""
    start = found.scenario.start
    rows = [
        (name, f"{len(times):,}", clock(start, times[0]), clock(start, times[-1])) for name, times in raised.items()
    ]
    return element(
        "section",
        element("h2", "Alarms raised"),
        wide(table(("Alarm", "How often", "First", "Last"), rows, plain=True), "Alarms"),
    )


def _all_figures(found: Rehearsal) -> Markup:
    ways = (found.own, *found.beside)
    titles = (found.own.title.capitalize(), *(way.title for way in found.beside))
    cells = [_column(way.figures, way.ratio) for way in ways]
    rows = [[name, *(each[name] for each in cells)] for name in cells[0]]
    return element(
        "section",
        element("h2", "All figures"),
        wide(table(("", *titles), rows), "All figures"),
    )


def _column(figures: Figures, ratio: float | None) -> dict[str, str]:
    hours, waited_s = figures.hours, figures.waits
    within = {} if waited_s.goal is None else {f"within {duration(waited_s.goal)}": share(waited_s.within_goal)}
    return {
        "accelerator-hours paid": number(hours.paid, 4),
        "busy": number(hours.busy, 4),
        "idle": number(hours.idle, 4),
        "starting": number(hours.starting, 4),
        "draining": number(hours.draining, 4),
        "paid to the least for its work": "-" if ratio is None else f"{ratio:.3f}",
        "USD": number(figures.cost_usd, 4),
        "wait, p50": duration(waited_s.p50),
        "wait, p95": duration(waited_s.p95),
        "wait, p99": duration(waited_s.p99),
        "wait, longest": duration(waited_s.max),
        **within,
        "launches": f"{figures.launches:,}",
        "cold starts": f"{figures.cold_starts:,}",
        "failed launches": f"{figures.failed_launches:,}",
        "prepared in a warm pool": f"{figures.prepared:,}",
        "released": f"{figures.releases:,}",
        "lost instances": f"{figures.replacements:,}",
        "jobs done": f"{figures.done:,}",
        "jobs interrupted": f"{figures.interrupted:,}",
        "of them done again": f"{figures.redone:,}",
        "jobs unfinished": f"{figures.unfinished:,}",
        "hours of work lost": number(figures.lost_hours),
        "to zero": duration(figures.time_to_zero_s),
        "alarms raised": f"{sum(figures.alarms.values()):,}",
    }


def _assumptions(found: Rehearsal) -> Markup:
    cold = found.scenario.cold_start.describe()
    stages = [
        (
            each["stage"],
            duration(each["median_s"]),
            each["what"],
            " ".join(filter(None, (each["source"], each["date"]))),
        )
        for each in cold["stages"]
    ]
    energy = found.energy
    readings = [f"{name}: {value}" for name, value in sorted(found.record.conditions.items())]
    return element(
        "section",
        element("h2", "What this rests on"),
        element("p", "A start, stage by stage:"),
        wide(table(("Stage", "Median", "What it is", "Source"), stages, plain=True), "Stages of a start"),
        _list("Taken for granted of starts", cold["notes"]),
        _list("Prices", found.cost.notes),
        _list(f"Energy: {power(energy)}", energy.sources) or element("p", f"Energy: {power(energy)}"),
        _list("What was not simulated, or was chosen", found.record.notes),
        _list("Readings of what the cloud leaves open", readings),
        _list("What another reading could have changed", [*found.record.doubts, *found.choice]),
    )


def _list(heading: str, said: Sequence[str]) -> Markup | str:
    if not said:
        return ""
    return joined((element("p", heading), element("ul", *(element("li", each) for each in said), class_="notes faint")))


def _data(content: object) -> Markup:
    """JSON that nothing within a page takes for its own end."""
    written = json.dumps(content, separators=(",", ":"), ensure_ascii=True)
    return Markup(written.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


@cache
def _file(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
