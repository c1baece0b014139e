"""A distribution that is known by some of its quantiles."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from math import exp, log
from statistics import NormalDist

_Z90 = NormalDist().inv_cdf(0.9)


class Quantiles:
    """Values between known quantiles, on straight lines from one to the next. Below the first and above the last: none.

    Quantiles are counted from the first to the last one that is known, so that what lies outside is cut off.
    """

    def __init__(self, known: Sequence[tuple[float, float]]) -> None:
        lowest, highest = known[0][0], known[-1][0]
        self._shares = [(share - lowest) / (highest - lowest) for share, _ in known]
        self._values = [value for _, value in known]

    @classmethod
    def with_mean(cls, known: Sequence[tuple[float, float]], mean: float) -> Quantiles:
        """Add the ends that are not known: the value at 0 is 0, and that at 1 the one with which the mean is right.

        Where straight lines give a higher mean than the one stated whatever the value at 1, all values are scaled down.
        """
        inner = [(0.0, 0.0), *known]
        below = sum((right[0] - left[0]) * (left[1] + right[1]) / 2 for left, right in pairwise(inner))
        share, last = inner[-1]
        made = cls([*inner, (1.0, max(last, 2 * (mean - below) / (1 - share) - last))])
        return made if made.mean <= mean else made.scaled_to(mean)

    @classmethod
    def lognormal(cls, median: float, p90: float, *, longest: float) -> Quantiles:
        """A lognormal distribution by two of its quantiles, without what is beyond ``longest``."""
        normal = NormalDist(log(median), log(p90 / median) / _Z90)
        highest = normal.cdf(log(longest))
        shares = [highest * place / 200 for place in range(1, 200)]
        return cls([(0.0, 0.0), *((share, exp(normal.inv_cdf(share))) for share in shares), (highest, longest)])

    @property
    def mean(self) -> float:
        """The mean of the values."""
        lines = pairwise(zip(self._shares, self._values, strict=True))
        return sum((right[0] - left[0]) * (left[1] + right[1]) / 2 for left, right in lines)

    def scaled_to(self, mean: float) -> Quantiles:
        """Return the same shape with another mean."""
        factor = mean / self.mean
        return Quantiles([(share, value * factor) for share, value in zip(self._shares, self._values, strict=True)])

    def at(self, share: float) -> float:
        """Return the value that a share of the values, from 0 to 1, does not exceed."""
        right = min(bisect_right(self._shares, share), len(self._shares) - 1)
        below, above = self._shares[right - 1], self._shares[right]
        value = self._values[right - 1]
        return value + (self._values[right] - value) * (share - below) / (above - below)

    def draw(self, dice: random.Random) -> float:
        """Draw a value."""
        return self.at(dice.random())
