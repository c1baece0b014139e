"""The state that points put an alarm into, with missing data (SR-3), calibrated on the published tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from constructs_lib.errors import ArgumentError
from constructs_lib.validation import complaint

State = Literal["OK", "ALARM", "INSUFFICIENT_DATA"]
TREATMENTS = ("missing", "ignore", "breaching", "notBreaching")


def verdict(points: Sequence[bool | None], *, n: int, m: int, missing: str, state: State) -> State:
    """Return the alarm's next state from the points of the evaluation range.

    ``points`` runs from oldest to newest: True breaches, False does not, None is missing. Points are real
    first; ``missing`` (the template's TreatMissingData) only fills what N still lacks.
    """
    if missing not in TREATMENTS:
        cure = "CloudWatch refuses it"
        raise ArgumentError(complaint("alarm", "TreatMissingData", f"be one of {', '.join(TREATMENTS)}", missing, cure))
    real = [point for point in points if point is not None][-n:]
    lacking = n - len(real)
    breaching = sum(real)
    if lacking and missing == "breaching":
        breaching += lacking
    if not real and missing in ("missing", "ignore"):
        return state if missing == "ignore" else "INSUFFICIENT_DATA"
    if breaching >= m:
        return "ALARM"
    if lacking and all(real):
        # Only breaching points, but too few. Undocumented below the age of M; `ignore` keeps the state all the same.
        if missing == "ignore":
            return state
        if missing == "missing" and _age_of_oldest(points) >= m:
            return "ALARM"
    return "OK"


def _age_of_oldest(points: Sequence[bool | None]) -> int:
    """Return the age in periods (newest slot = 1) of the oldest real point."""
    return len(points) - next(index for index, point in enumerate(points) if point is not None)
