"""The picture of how long jobs waited."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from constructs_lib.markup import Markup, element
from constructs_lib.plain_text import several
from constructs_lib.rehearsal.page.axes import Scale
from constructs_lib.rehearsal.wording import share

WIDTH = 960
_NAME, _COUNT, _LEFT, _RIGHT = 108, 120, 320, 956
_ROW, _BAR = 26, 16
LETTER = 6.6
# Seconds, and how one says them.
_STEPS = (
    (1, "up to 1 s"),
    (10, "up to 10 s"),
    (60, "up to 1 min"),
    (120, "up to 2 min"),
    (300, "up to 5 min"),
    (600, "up to 10 min"),
    (900, "up to 15 min"),
    (1_800, "up to 30 min"),
    (3_600, "up to 1 h"),
    (7_200, "up to 2 h"),
    (21_600, "up to 6 h"),
    (86_400, "up to 1 d"),
)
_LONGER = "longer than 1 d"


def counts(waits: Sequence[float]) -> list[tuple[str, int]]:
    """How many waits fall into each step, without those steps at the end that none falls into."""
    limits = [limit for limit, _ in _STEPS]
    found = [0] * (len(_STEPS) + 1)
    for wait in waits:
        found[bisect_left(limits, wait)] += 1
    names = [*(name for _, name in _STEPS), _LONGER]
    last = max((n for n, count in enumerate(found) if count), default=-1)
    return list(zip(names, found, strict=True))[: last + 1]


def picture(waits: Sequence[float], told: str) -> Markup:
    """The picture as SVG; ``told`` says it in words."""
    rows = counts(waits)
    across = Scale(0, max((count for _, count in rows), default=1), _LEFT, _RIGHT)
    so_far = 0
    drawn = []
    for n, (name, count) in enumerate(rows):
        so_far += count
        y = 6 + n * _ROW
        middle = y + _BAR / 2 + 4
        length = max(across(count) - _LEFT, 1.0 if count else 0.0)
        all_in_all = f"{several(count, 'job')}, {share(so_far / len(waits))} so far"
        drawn += [
            element("text", name, x=_NAME, y=middle, text_anchor="end"),
            element("text", all_in_all, x=_COUNT, y=middle),
            element("rect", x=_LEFT, y=y, width=round(length, 1), height=_BAR, class_="wait"),
        ]
    return element(
        "svg",
        element("title", "How long jobs waited", id="waiting-title"),
        element("desc", told, id="waiting-told"),
        *drawn,
        viewBox=f"0 0 {WIDTH} {12 + len(rows) * _ROW}",
        role="img",
        aria_labelledby="waiting-title waiting-told",
    )
