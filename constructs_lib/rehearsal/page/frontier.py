"""The picture of other settings: what they cost against how long jobs wait with them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from constructs_lib.markup import Markup, element
from constructs_lib.rehearsal.page.axes import Scale, amounts
from constructs_lib.rehearsal.tune import Trial, Tuning
from constructs_lib.rehearsal.wording import duration, number

WIDTH, HEIGHT = 960, 380
LEFT, RIGHT = 78, 930
TOP, BOTTOM = 30, 322
LETTER = 6.6
_WAITS = (10, 60, 300, 900, 3_600, 14_400, 86_400, 604_800)


def picture(tuning: Tuning) -> Markup:
    """The picture as SVG. Waits stand on a scale on which each minute counts less the longer the wait."""
    trials = tuning.trials
    costs = amounts(max(each.cost for each in trials))
    across = Scale(0, costs[-1], LEFT, RIGHT)
    longest = max(each.wait_s for each in trials)
    top = next((each for each in _WAITS if each >= longest), longest)
    up = Scale(0, _height(top), BOTTOM, TOP)
    on_it = {trial.settings: n for n, trial in tuning.numbered()}
    return element(
        "svg",
        element("title", "What other settings cost, and how long jobs wait with them", id="frontier-title"),
        element("desc", _told(tuning), id="frontier-told"),
        _axes(tuning, across, up, costs, top),
        element("path", d=_front(tuning.frontier, across, up), class_="front"),
        *(_dot(each, tuning, on_it.get(each.settings), across, up) for each in _hindmost_first(tuning)),
        *_numbers(tuning, across, up),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_labelledby="frontier-title frontier-told",
    )


def section(tuning: Tuning) -> tuple[Markup, ...]:
    """Picture, table and what to write in the construct."""
    heads, rows = tuning.as_rows()
    more = "" if tuning.is_complete else " More runs might find more."
    said = (
        f"{len(tuning.trials)} runs on the same trace, one setting changed at a time.{more} Numbered are those that no "
        "other one beats in cost and waiting together; the filled square is the fleet as it is now."
    )
    table = element(
        "table",
        element("thead", element("tr", *(element("th", head, scope="col") for head in heads))),
        element(
            "tbody",
            *(
                element("tr", element("th", row[0], scope="row"), *(element("td", cell) for cell in row[1:]))
                for row in rows
            ),
        ),
    )
    values = "\n".join(f"{n}: {tuning.said(each)}" for n, each in tuning.numbered())
    return (
        element("p", said),
        element(
            "figure",
            element("div", picture(tuning), class_="wide", tabindex=0, role="region", aria_label="Other settings"),
        ),
        element("div", table, class_="wide", tabindex=0, role="region", aria_label="The frontier"),
        element("p", "In the construct:"),
        element("pre", values),
        element("ul", *(element("li", each) for each in tuning.notes), class_="notes faint")
        if tuning.notes
        else Markup(),
    )


def _axes(tuning: Tuning, across: Scale, up: Scale, costs: Sequence[float], top: float) -> Markup:
    waits = [each for each in (0, *_WAITS) if each <= top]
    return element(
        "g",
        *(element("line", x1=LEFT, x2=RIGHT, y1=up(_height(each)), y2=up(_height(each))) for each in waits),
        *(
            element("text", duration(each), x=LEFT - 8, y=round(up(_height(each)) + 4, 1), text_anchor="end")
            for each in waits
        ),
        *(element("text", number(each), x=across(each), y=BOTTOM + 20, text_anchor="middle") for each in costs),
        element("text", tuning.unit, x=RIGHT, y=BOTTOM + 40, text_anchor="end"),
        element("text", "wait of 95% of the jobs, at most", x=LEFT, y=TOP - 14),
        class_="grid",
    )


def _front(trials: Sequence[Trial], across: Scale, up: Scale) -> str:
    """From the cheapest on: for a little more money it is the same wait, until the next one."""
    corners: list[str] = []
    for each in trials:
        x, y = across(each.cost), up(_height(each.wait_s))
        corners.append(f"H{x:g}V{y:g}" if corners else f"M{x:g} {y:g}")
    return "".join(corners)


def _dot(trial: Trial, tuning: Tuning, place: int | None, across: Scale, up: Scale) -> Markup:
    x, y = across(trial.cost), up(_height(trial.wait_s))
    told = element(
        "title", f"{number(trial.cost, 4)} {tuning.unit}, p95 wait {duration(trial.wait_s)}: {tuning.said(trial)}"
    )
    if trial is tuning.own:
        return element("rect", told, x=round(x - 5, 1), y=round(y - 5, 1), width=10, height=10, class_="dot now")
    return element("circle", told, cx=x, cy=y, r=5 if place else 3.5, class_="dot best" if place else "dot")


def _numbers(tuning: Tuning, across: Scale, up: Scale) -> list[Markup]:
    """Numbers beside the dots of the frontier, one that would stand on the last one left out: the table has it."""
    drawn: list[Markup] = []
    last: tuple[float, float] | None = None
    for n, each in tuning.numbered():
        x, y = across(each.cost), up(_height(each.wait_s))
        if last is None or abs(x - last[0]) > 3 * LETTER or abs(y - last[1]) > 14:
            drawn.append(element("text", str(n), x=round(x + 8, 1), y=round(y - 7, 1), class_="own"))
            last = (x, y)
    return drawn


def _hindmost_first(tuning: Tuning) -> list[Trial]:
    """Those off the frontier, then those on it, then the template's own, so that none covers one that tells more."""
    on_it = tuning.frontier
    return sorted(tuning.trials, key=lambda each: (each is tuning.own, each in on_it))


def _height(wait_s: float) -> float:
    return math.log1p(wait_s / 10)


def _told(tuning: Tuning) -> str:
    points = "; ".join(
        f"{n}: {number(each.cost, 4)} {tuning.unit}, {duration(each.wait_s)}" for n, each in tuning.numbered()
    )
    own = tuning.own
    return f"Now {number(own.cost, 4)} {tuning.unit} and {duration(own.wait_s)}. On the frontier {points}."
