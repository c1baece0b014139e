"""The picture of what the fleet pays beside what others would: a bar each, cut into what it was paid for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from constructs_lib.markup import Markup, element, joined
from constructs_lib.rehearsal.figures import Figures, Hours
from constructs_lib.rehearsal.page.axes import Scale
from constructs_lib.rehearsal.wording import duration, number

WIDTH = 960
_LEFT, _RIGHT = 4, 956
_ROW, _BAR = 48, 16
LETTER = 6.6
PARTS = ("busy", "idle", "starting", "draining")


@dataclass(frozen=True)
class Bar:
    """One way to serve the trace."""

    title: str
    figures: Figures
    ratio: float | None
    is_the_fleet: bool = False


def picture(bars: Sequence[Bar]) -> Markup:
    """The picture as SVG: in USD if every price is known, else in accelerator-hours."""
    priced = all(each.figures.cost_usd is not None for each in bars)
    amounts = [(each.figures.cost_usd or 0.0) if priced else each.figures.hours.paid for each in bars]
    across = Scale(0, max(*amounts, 1e-9), _LEFT, _RIGHT)
    rows = (_row(n, bar, amount, across, priced) for n, (bar, amount) in enumerate(zip(bars, amounts, strict=True)))
    told = "; ".join(_said(bar, amount, priced) for bar, amount in zip(bars, amounts, strict=True))
    return element(
        "svg",
        element("title", "What each way to serve the trace pays", id="bars-title"),
        element("desc", told, id="bars-told"),
        *rows,
        viewBox=f"0 0 {WIDTH} {8 + len(bars) * _ROW}",
        role="img",
        aria_labelledby="bars-title bars-told",
    )


def legend() -> Markup:
    """What is what in the picture."""
    return element(
        "ul", joined(element("li", element("span", class_=f"key {part}"), part) for part in PARTS), class_="legend"
    )


def _row(place: int, bar: Bar, amount: float, across: Scale, priced: bool) -> Markup:
    y = 4 + place * _ROW
    hours = bar.figures.hours
    drawn = []
    at: float = _LEFT
    for part in PARTS:
        held = _part(hours, part)
        length = round((across(amount) - _LEFT) * (held / hours.paid if hours.paid else 0.0), 1)
        if length:
            drawn.append(
                element(
                    "rect",
                    element("title", f"{part}: {number(held)} accelerator-hours"),
                    x=round(at, 1),
                    y=y + 18,
                    width=length,
                    height=_BAR,
                    class_=part,
                )
            )
        at += length
    title = element("tspan", bar.title, class_="own" if bar.is_the_fleet else None)
    return element(
        "g",
        element("text", title, f": {_amount(bar, amount, priced)}", x=_LEFT, y=y + 12),
        *drawn,
    )


def _amount(bar: Bar, amount: float, priced: bool) -> str:
    ratio = "" if bar.ratio is None else f" ({bar.ratio:.2f} x the least for its work)"
    unit = "USD" if priced else "accelerator-hours"
    return f"{number(amount, 4)} {unit}{ratio}, p95 wait {duration(bar.figures.waits.p95)}"


def _said(bar: Bar, amount: float, priced: bool) -> str:
    return f"{bar.title}: {_amount(bar, amount, priced)}"


def _part(hours: Hours, part: str) -> float:
    found: float = getattr(hours, part)
    return found
