"""When things arrive: renewal processes whose rate changes from window to window."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate, chain, islice
from typing import NamedTuple


class Window(NamedTuple):
    """Seconds of constant rate: how many arrivals are expected, and how regularly they come.

    ``variation`` is the standard deviation of the gaps over their mean: 1 for a Poisson process, more for bursts.
    """

    seconds: float
    expected: float
    variation: float = 1.0


def arrivals(dice: random.Random, windows: list[Window]) -> Iterator[float]:
    """Draw the times of arrivals, in seconds from the start of the first window.

    The gaps are drawn with mean 1 from a Gamma distribution, in a time in which one arrival is expected per unit; that
    time runs faster where the rate is higher. So a window gets as many arrivals as expected, on average, however wide
    the gaps are, and nothing comes where nothing is expected. The first gap is that of a process which has been going
    on for ever.
    """
    start_s = passed = at = 0.0
    fresh = True
    for window in windows:
        if window.expected > 0:
            shape = window.variation**-2
            poisson = window.variation == 1
            end = passed + window.expected
            if fresh:
                at = dice.random() * dice.gammavariate(shape + 1, 1 / shape)
                fresh = False
            pace = window.seconds / window.expected
            while at < end:
                yield start_s + (at - passed) * pace
                at += dice.expovariate(1) if poisson else dice.gammavariate(shape, 1 / shape)
            passed = end
        start_s += window.seconds


def spread(dice: random.Random, windows: list[Window], count: int, variation: float) -> Iterator[float]:
    """Draw the times of a given number of arrivals, in seconds from the start of the first window.

    As in :func:`arrivals`, under the condition that so many come; ``expected`` is taken relative to the other windows,
    and all gaps vary alike. The gaps are laid round a circle that is cut open anywhere, so that neither end is special.
    Few arrivals cannot vary more than the square root of their number.
    """
    shape = variation**-2
    poisson = variation == 1
    gaps = [dice.expovariate(1) if poisson else dice.gammavariate(shape, 1 / shape) for _ in range(count)]
    ends = list(accumulate(gaps))
    # Not the sum, which some versions of Python round in another way.
    around = (ends[-1] if ends else 0.0) or 1.0
    cut = dice.random() * around
    places = [at - cut for at in ends]
    first = bisect_left(places, 0.0)
    unit = sum(window.expected for window in windows) / around
    in_order = chain(islice(places, first, None), (at + around for at in islice(places, first)))
    at = next(in_order, around) * unit
    start_s = passed = 0.0
    left = count
    for window in windows:
        end = passed + window.expected
        pace = window.seconds / window.expected if window.expected else 0.0
        while left and at < end:
            yield start_s + (at - passed) * pace
            at = next(in_order, around) * unit
            left -= 1
        passed = end
        start_s += window.seconds
    for _ in range(left):  # one that rounding has put on the very end
        yield start_s
