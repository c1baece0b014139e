"""What an application may publish through the CloudWatch agent, beside the fleet's own metrics."""

from __future__ import annotations

import re

from . import names
from .statsd import COUNTER, GAUGE, TIMING, Metric

TYPES = {"gauge": GAUGE, "counter": COUNTER, "timing": TIMING}
"""How a value may be sent, as the command line calls it. A timing is in milliseconds."""

LARGEST_VALUE = 2.0**360
"""PutMetricData takes no larger one, on either side of zero."""

_NAME = re.compile(r"[A-Za-z0-9_]{1,200}")
# The agent counts in whole numbers, and up to here a double holds each.
_LARGEST_COUNT = 2**53
_LONGEST_SHOWN = 80


class MetricError(ValueError):
    """A metric that cannot be sent. The message says what to change."""


def check_name(name: object) -> str:
    """Return the name if an application may publish under it; raise MetricError if not."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise MetricError(f"metric name must be 1 to 200 letters, digits or _, got {shown(name)}; rename the metric")
    if names.is_fleets_own(name):
        raise MetricError(f"metric name must not be one of the fleet's own, got {name!r}; begin it with another word")
    return name


def application_metric(name: str, value: float, type_letter: str) -> Metric:
    """Make a metric of a value that the agent takes as it is: it would cut the fraction off a count in silence."""
    check_name(name)
    if not abs(value) <= LARGEST_VALUE:
        raise MetricError(f"{name} must be a number up to 2**360, got {value}; send it in a larger unit")
    if type_letter == TIMING and value < 0:
        raise MetricError(f"{name} must not be negative, got {value}; send a duration, or a gauge")
    if type_letter == COUNTER and (abs(value) > _LARGEST_COUNT or not float(value).is_integer()):
        raise MetricError(
            f"{name} must be a whole number up to 2**53, got {value}; send a gauge, or leave the unit out"
        )
    return Metric(name, value, type_letter)


def shown(value: object) -> str:
    """Write a value for a message: not too long, and nothing in it that a terminal would act on."""
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
