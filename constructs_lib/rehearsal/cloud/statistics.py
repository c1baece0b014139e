"""CloudWatch's statistics over the samples of a period, which are counted rather than listed: (value, how many)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache

from constructs_lib.errors import ArgumentError
from constructs_lib.validation import complaint

Counted = Sequence[tuple[float, int]]
Summary = tuple[int, float, float, float]
"""How many samples (at least one), their sum, the least and the most of them."""

_ORDERED = re.compile(r"(p|tm)(\d{1,3}(?:\.\d{1,10})?)")
_SIMPLE: dict[str, Callable[[Summary], float]] = {
    "Average": lambda summary: summary[1] / summary[0],
    "Maximum": lambda summary: summary[3],
    "Minimum": lambda summary: summary[2],
    "SampleCount": lambda summary: summary[0],
    "Sum": lambda summary: summary[1],
}
_ROUNDING = 1e-9


def of_summary(statistic: str) -> Callable[[Summary], float] | None:
    """Return how a statistic follows from count, sum, least and most; None if it needs the samples themselves."""
    return _SIMPLE.get(statistic)


@cache
def of_samples(statistic: str) -> Callable[[Counted], float]:
    """Return how a statistic follows from the samples in ascending order: ``pNN`` or ``tmNN``.

    A percentile is the least sample that NN percent of all are not above. CloudWatch's own is an approximation.
    :raises ArgumentError: any other statistic.
    """
    match = _ORDERED.fullmatch(statistic)
    share = float(match[2]) / 100 if match else 2.0
    if match is None or share > 1:
        rule = f"be one of {', '.join(_SIMPLE)}, pNN or tmNN (NN from 0 to 100)"
        cure = "take one of them: the others of CloudWatch are not simulated"
        raise ArgumentError(complaint("metric", "statistic", rule, statistic, cure))
    rule_of_share = _percentile if match[1] == "p" else _trimmed_mean
    return lambda samples: rule_of_share(samples, share)


def check(statistic: str) -> None:
    """Raise ArgumentError if a statistic is not known."""
    if of_summary(statistic) is None:
        of_samples(statistic)


def _percentile(samples: Counted, share: float) -> float:
    wanted = share * sum(count for _, count in samples)
    for value, count in samples:
        wanted -= count
        if wanted <= _ROUNDING:
            return value
    return samples[-1][0]


def _trimmed_mean(samples: Counted, share: float) -> float:
    """Return the mean without the highest values; a part of a sample is left if the share is not a whole number."""
    kept = share * sum(count for _, count in samples)
    if kept <= 0:
        return samples[0][0]
    left, total = kept, 0.0
    for value, count in samples:
        taken = min(left, count)
        total += value * taken
        left -= taken
    return total / kept
