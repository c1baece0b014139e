"""One series of CloudWatch: what it can be asked for with, and the periods in which it can be read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from constructs_lib.errors import ArgumentError
from constructs_lib.telemetry import names
from constructs_lib.validation import closest, complaint, instance_of, text

MINUTE_SECONDS = 60


class MetricOptions(TypedDict, total=False):
    """What every metric can be asked for with. Default of each, also for None: as the metric's method says.

    Attributes:
        instance_id: the series of this instance in place of the whole group's; only of what instances publish.
        period: whole minutes, or a high-resolution period if the fleet publishes that often.
        statistic: as CloudWatch writes it, for example ``p90``.
        label: names the line in a graph.
    """

    instance_id: str | None
    period: Duration | None
    statistic: str | None
    label: str | None


_OPTIONS = tuple(MetricOptions.__annotations__)


@dataclass(frozen=True)
class Publisher:
    """Where metrics are published, how often, and of whom.

    Attributes:
        namespace: of CloudWatch.
        resolution_seconds: time between two samples.
        knows_instances: whether each instance has a series of its own beside the group's.
    """

    namespace: str
    resolution_seconds: int = MINUTE_SECONDS
    knows_instances: bool = False


def series(
    publisher: Publisher,
    group: str,
    name: str,
    title: str,
    statistic: str,
    options: MetricOptions,
    period_seconds: int = MINUTE_SECONDS,
) -> cloudwatch.Metric:
    """One series, of the group or of one instance: exactly this name with exactly these dimensions.

    ``title``, ``statistic`` and ``period_seconds`` are the defaults of what the options leave out.

    Raises:
        ArgumentError: an option has a value that finds no data.
        TypeError: there is no such option.
    """
    where = f"FleetMetrics {name}"
    for option in options:
        if option not in _OPTIONS:
            cure = f"{closest(option, _OPTIONS)}it takes {', '.join(_OPTIONS)}"
            raise TypeError(f"{where}: got an unexpected keyword argument {option!r}; {cure}")
    instance_id, period = options.get("instance_id"), options.get("period")
    chosen_statistic, label = options.get("statistic"), options.get("label")
    return cloudwatch.Metric(
        namespace=publisher.namespace,
        metric_name=name,
        dimensions_map={names.GROUP: group} if instance_id is None else _of_instance(where, publisher, instance_id),
        period=Duration.seconds(period_seconds)
        if period is None
        else _checked_period(where, period, publisher.resolution_seconds),
        statistic=statistic if chosen_statistic is None else chosen_statistic,
        label=title if label is None else label,
    )


def _of_instance(where: str, publisher: Publisher, instance_id: str) -> dict[str, str]:
    if not publisher.knows_instances:
        rule = "be left out of what is published for the whole group only"
        cure = "ask for a metric that each instance publishes, for example its idle time"
        raise ArgumentError(complaint(where, "instance_id", rule, instance_id, cure))
    return {names.INSTANCE: text(where, "instance_id", instance_id, cure="leave it out for the whole group")}


def _checked_period(where: str, period: Duration, resolution_seconds: int) -> Duration:
    """Return the period if there is at least one sample in it and CloudWatch knows it."""
    instance_of(where, "period", period, Duration, cure="write for example Duration.minutes(1)")
    if period.is_unresolved() or not _is_period(period.to_milliseconds() / 1000, resolution_seconds):
        cure = f"the series has one sample every {resolution_seconds} seconds: write for example Duration.minutes(1)"
        rule = "be whole minutes that are known at synth"
        if resolution_seconds < MINUTE_SECONDS:
            rule += f", or {', '.join(map(str, _short_periods(resolution_seconds)))} seconds"
        shown = "a token" if period.is_unresolved() else period.to_human_string()
        raise ArgumentError(complaint(where, "period", rule, shown, cure))
    return period


def _is_period(seconds: float, resolution_seconds: int) -> bool:
    if seconds < MINUTE_SECONDS:
        return seconds in _short_periods(resolution_seconds)
    return seconds % MINUTE_SECONDS == 0


def _short_periods(resolution_seconds: int) -> list[int]:
    """The periods below a minute that CloudWatch knows and that hold a sample of the series."""
    return [seconds for seconds in (1, 5, 10, 20, 30) if seconds >= resolution_seconds]
