"""The stages of an instance's start and how long each takes: what others have measured, as quantiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from constructs_lib.rightsizing import tables


@dataclass(frozen=True, kw_only=True)
class StartStage:
    """How long one stage takes, in s, or in s for each GB that it moves.

    Attributes:
        name: ``capacity``, ``boot``, ``driver``, ``image``, ``server``, ``weights``, or the state of a warm pool that
            the instance comes from: ``stopped``, ``hibernated``, ``running``.
        unit: ``s`` or ``s/GB``.
        quantiles: pairs of a share of the starts, from 0 to 1, and the time within which they were through.
        measured: how many figures the quantiles are of.
        what: of what, in words.
        source: who measured.
        date: when, ISO.
        licence: of the source, None for single facts from a page without one.
    """

    name: str
    unit: str
    quantiles: tuple[tuple[float, float], ...]
    measured: int
    what: str
    source: str
    date: str
    licence: str | None

    @property
    def median(self) -> float:
        """The time within which half of the starts were through, of a stage whose quantiles have it."""
        return dict(self.quantiles)[0.5]


@cache
def start_stages() -> Mapping[str, StartStage]:
    """All stages by name."""
    return MappingProxyType({row["stage"]: _from_row(row) for row in tables.read("cold_start.csv")})


def _from_row(row: Mapping[str, str]) -> StartStage:
    return StartStage(
        name=row["stage"],
        unit=row["unit"],
        quantiles=tuple(_point(cell) for cell in row["quantiles"].split()),
        measured=int(row["measured"]),
        what=row["what"],
        source=row["source"],
        date=row["date"],
        licence=row["licence"] or None,
    )


def _point(cell: str) -> tuple[float, float]:
    share, _, value = cell.partition("=")
    return float(share), float(value)
