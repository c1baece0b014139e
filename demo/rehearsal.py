"""The rehearsal of the deployed example: its own template, and the trace of work that lies beside it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from constructs_lib.rehearsal import Rehearsal, read_trace, rehearse
from demo.emulator import REPOSITORY

COLUMNS = ("", "paid hours", "busy", "to the optimum", "95% wait at most", "starts", "cut off")
_TRACE = REPOSITORY / "examples" / "inference_queue" / "trace.csv"
_PAGE = "rehearsal.html"


def rehearse_example(template: Path) -> Rehearsal:
    """Play the example's trace through its template, and through the usual alternatives."""
    return rehearse(json.loads(template.read_text(encoding="utf-8")), read_trace(_TRACE), compare=True)


def rows(found: Rehearsal) -> Sequence[Sequence[str]]:
    """What the fleet and everything beside it come to, a row each."""
    table = []
    for way in (found.own, *found.beside):
        figures = way.figures
        table.append(
            (
                way.title,
                f"{figures.hours.paid:.1f}",
                f"{figures.hours.busy / figures.hours.paid:.0%}",
                "" if way.ratio is None else f"{way.ratio:.2f}",
                f"{figures.waits.p95:.0f} s",
                str(figures.cold_starts),
                str(figures.interrupted),
            )
        )
    return table


def write_page(found: Rehearsal, folder: Path) -> Path:
    """Write the report as one page, and return where."""
    page = folder / _PAGE
    page.write_text(found.as_html(), encoding="utf-8")
    return page
