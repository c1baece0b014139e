"""The picture of a run: what was wanted, paid and at work, and when instances and alarms came and went."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from constructs_lib.markup import Markup, element, joined
from constructs_lib.plain_text import several
from constructs_lib.rehearsal.figures import PREPARED
from constructs_lib.rehearsal.page.axes import Scale, amounts, moments, spaced
from constructs_lib.rehearsal.page.series import Column, Timeline
from constructs_lib.rehearsal.record import Record
from constructs_lib.rehearsal.wording import clock, duration, number

WIDTH, HEIGHT = 960, 404
LEFT, RIGHT = 78, 948
TOP, BOTTOM = 14, 268
LETTER = 6.6
"""Width of a letter on the axes, generously."""

_LANES = 302
_LANE = 24
_SLOT = 8
_MOST_MOMENTS = 9
# Above so many times what could ever be paid, a backlog would press the capacity flat.
_MOST_ABOVE = 1.5


@dataclass(frozen=True)
class Lane:
    """Marks of one sort: what one and several are called, when they were, and how one is drawn around a place."""

    name: str
    what: tuple[str, str]
    at: Sequence[float]
    drawn: Callable[[float, float], Markup]


def lanes(record: Record) -> tuple[Lane, ...]:
    """The marks of a run."""
    members = [each for each in record.instances if each.cause != PREPARED]
    ended = [(each.ended_s, each.cause) for each in members if each.ended_s is not None]
    as_asked = {"", "scale-in"}
    return (
        Lane("launched", ("launch", "launches"), [each.launched_s for each in members], _up),
        Lane("released", ("release", "releases"), [at for at, cause in ended if cause == "released"], _down),
        Lane(
            "lost",
            ("lost instance", "lost instances"),
            [at for at, cause in ended if cause not in {*as_asked, "released"}],
            _cross,
        ),
        Lane("alarms", ("alarm", "alarms"), [at for at, _, state in record.alarms if state == "ALARM"], _diamond),
    )


def picture(record: Record, timeline: Timeline, start: datetime) -> Markup:
    """The picture as SVG."""
    across = Scale(0, max(record.end_s, timeline.width_s), LEFT, RIGHT)
    top = _highest(record, timeline)
    marks = amounts(top)
    up = Scale(0, marks[-1], BOTTOM, TOP)
    edges = [across(min(n * timeline.width_s, across.high)) for n in range(len(timeline.paid) + 1)]
    parts = [
        element("title", "Accelerators wanted, paid and at work", id="timeline-title"),
        element("desc", _told(record, timeline), id="timeline-told"),
        _grid(up, marks),
        element("path", d=_area(edges, timeline.paid, up), class_="paid"),
        element("path", d=_area(edges, timeline.used, up), class_="used"),
        element("path", d=_line(edges, timeline.wanted, up), class_="wanted"),
        _moments(across, start, record.end_s),
        *(_lane(n, lane, across, start) for n, lane in enumerate(lanes(record))),
        element("line", x1=LEFT, x2=LEFT, y1=TOP, y2=_LANES + 4 * _LANE, class_="cursor", id="cursor"),
    ]
    return element(
        "svg",
        *parts,
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_labelledby="timeline-title timeline-told",
        id="timeline",
    )


def beyond(record: Record, timeline: Timeline) -> float | None:
    """How many accelerators were wanted at most, if that is above the picture."""
    most = max((each.peak for each in timeline.wanted), default=0.0)
    return most if most > amounts(_highest(record, timeline))[-1] else None


def _highest(record: Record, timeline: Timeline) -> float:
    paid = max((each.peak for each in timeline.paid), default=0.0)
    wanted = max((each.peak for each in timeline.wanted), default=0.0)
    return max(paid, min(wanted, _MOST_ABOVE * max(paid, record.maximum * record.accelerators)), 1.0)


def _told(record: Record, timeline: Timeline) -> str:
    wanted, paid, used = (
        number(max((each.peak for each in series), default=0.0))
        for series in (timeline.wanted, timeline.paid, timeline.used)
    )
    counted = ", ".join(several(len(lane.at), *lane.what) for lane in lanes(record) if lane.at) or "no marks"
    return (
        f"Over {duration(record.end_s)} jobs wanted up to {wanted} accelerators, up to {paid} were paid and up to "
        f"{used} at work; {counted}."
    )


def _grid(up: Scale, marks: Sequence[float]) -> Markup:
    lines = (element("line", x1=LEFT, x2=RIGHT, y1=up(each), y2=up(each)) for each in marks)
    labels = (element("text", number(each), x=LEFT - 8, y=round(up(each) + 4, 1), text_anchor="end") for each in marks)
    return element("g", *lines, *labels, class_="grid")


def _moments(across: Scale, start: datetime, seconds: float) -> Markup:
    found = [(across(at), shown) for at, shown in moments(start, seconds, _MOST_MOMENTS)]
    ticks = (element("line", x1=x, x2=x, y1=BOTTOM, y2=BOTTOM + 5) for x, _ in found)
    kept = spaced(found, width=LETTER, least=0, most=WIDTH)
    labels = (element("text", shown, x=x, y=BOTTOM + 19, text_anchor="middle") for x, shown in kept)
    return element("g", *ticks, *labels, class_="moments")


def _lane(place: int, lane: Lane, across: Scale, start: datetime) -> Markup:
    middle = _LANES + place * _LANE + _LANE / 2
    slots: dict[int, list[float]] = {}
    for at in lane.at:
        slots.setdefault(int((across(at) - LEFT) // _SLOT), []).append(at)
    marks = (
        element(
            "g",
            element("title", _when(lane, times, start)),
            lane.drawn(min(LEFT + slot * _SLOT + _SLOT / 2, RIGHT - _SLOT / 2), middle),
        )
        for slot, times in sorted(slots.items())
    )
    return element(
        "g",
        element("line", x1=LEFT, x2=RIGHT, y1=middle, y2=middle),
        element("text", lane.name, x=LEFT - 8, y=middle + 4, text_anchor="end"),
        *marks,
        class_=f"lane {lane.name}",
    )


def _when(lane: Lane, times: Sequence[float], start: datetime) -> str:
    first, last = clock(start, min(times)), clock(start, max(times))
    return f"{several(len(times), *lane.what)}, {first}" + (f" to {last}" if last != first else "")


def _area(edges: Sequence[float], columns: Sequence[Column], up: Scale) -> str:
    """What was there on average, down to the axis: its area is accelerator-hours."""
    corners = [f"M{edges[0]:g} {BOTTOM}"]
    height: float = BOTTOM
    for left, column in zip(edges, columns, strict=False):
        if (y := up(column.mean)) != height:
            corners.append(f"H{left:g}V{y:g}")
            height = y
    corners.append(f"H{edges[-1]:g}V{BOTTOM}Z")
    return "".join(corners)


def _line(edges: Sequence[float], columns: Sequence[Column], up: Scale) -> str:
    """The most that there was, cut off where the picture ends."""
    corners: list[str] = []
    height: float | None = None
    for left, column in zip(edges, columns, strict=False):
        y = max(up(column.peak), TOP)
        if height is None:
            corners.append(f"M{left:g} {y:g}")
        elif y != height:
            corners.append(f"H{left:g}V{y:g}")
        height = y
    return "".join([*corners, f"H{edges[-1]:g}"])


def _up(x: float, y: float) -> Markup:
    return element("path", d=f"M{x - 3.5:g} {y + 4:g}h7L{x:g} {y - 4:g}z")


def _down(x: float, y: float) -> Markup:
    return element("path", d=f"M{x - 3.5:g} {y - 4:g}h7L{x:g} {y + 4:g}z")


def _cross(x: float, y: float) -> Markup:
    return element("path", d=f"M{x - 3:g} {y - 3:g}l6 6m0 -6l-6 6", class_="stroke")


def _diamond(x: float, y: float) -> Markup:
    return element("path", d=f"M{x - 3.5:g} {y:g}l3.5 -4.5l3.5 4.5l-3.5 4.5z")


def readings(timeline: Timeline, start: datetime, end_s: float) -> Mapping[str, object]:
    """What the page's script shows of the column under the pointer."""
    return {
        "left": LEFT,
        "right": RIGHT,
        "width": WIDTH,
        "columns": [
            [
                f"{clock(start, n * timeline.width_s)} to {clock(start, min((n + 1) * timeline.width_s, end_s))}",
                *(number(each) for each in (wanted.peak, paid.mean, used.mean)),
            ]
            for n, (wanted, paid, used) in enumerate(zip(timeline.wanted, timeline.paid, timeline.used, strict=True))
        ],
        "share": timeline.width_s / end_s if end_s else 1.0,
    }


def legend() -> Markup:
    """What is what in the picture."""
    named = (("wanted", "wanted, at most"), ("paid", "paid, on average"), ("used", "at work, on average"))
    keys = (element("li", element("span", class_=f"key {name}"), said) for name, said in named)
    return element("ul", joined(keys), class_="legend")
