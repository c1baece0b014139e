"""One series of CloudWatch, and the periods in which it can be read."""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from constructs_lib.errors import ArgumentError
from constructs_lib.validation import complaint, instance_of

MINUTE_SECONDS = 60


def series(
    namespace: str, name: str, dimensions: dict[str, str], period: Duration, statistic: str, label: str
) -> cloudwatch.Metric:
    """One series: exactly this name with exactly these dimensions."""
    return cloudwatch.Metric(
        namespace=namespace,
        metric_name=name,
        dimensions_map=dimensions,
        period=period,
        statistic=statistic,
        label=label,
    )


def checked_period(metric_name: str, period: Duration, resolution_seconds: int) -> Duration:
    """Return the period if there is at least one sample in it and CloudWatch knows it."""
    where = f"FleetMetrics {metric_name}"
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
