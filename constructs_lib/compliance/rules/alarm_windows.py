"""Alarms about accelerators: that CloudWatch takes them, and that their window is what their numbers say.

Source: ``PutMetricAlarm``, CloudWatch API Reference; "Using metric math", "Create a composite alarm", CloudWatch User
Guide, read 2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from constructs_lib.compliance.deployment import Deployment
from constructs_lib.compliance.facts.agents import AgentConfiguration, starts_by_owner
from constructs_lib.compliance.facts.alarms import (
    Alarm,
    Expression,
    Series,
)
from constructs_lib.compliance.facts.scaling_policies import POLICY
from constructs_lib.compliance.facts.watching import (
    Watch,
    is_of_accelerators,
    metric_watches,
    tells_use,
    watches,
)
from constructs_lib.compliance.rule import ERROR, WARNING, Rule
from constructs_lib.compliance.values import Broken, NotKnown

_DAY = 86_400
_WEEK = 7 * _DAY
_HOUR = 3_600
_SHORT_PERIODS = (10, 20, 30)
_MOST_METRICS = 10
_SCALAR = re.compile(r"^\s*(AVG|MIN|MAX|SUM|STDDEV|DATAPOINT_COUNT)\s*\(\s*(\w+)\s*\)\s*$", re.IGNORECASE)
_SEARCH = re.compile(r"\bSEARCH\s*\(", re.IGNORECASE)
_SAID = re.compile(r"\bfor (?:the last |the past |at least |a whole )?(\d+) ?(minutes?|hours?)\b", re.IGNORECASE)
_EC2_ACTION = re.compile(r"^arn:[^:]*:(?:automate:[^:]*:ec2:|swf:.*action/actions/AWS_EC2)")
_MISSING_PAGE = "https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html"
_MATH_PAGE = "https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html"
_LIMITS_PAGE = "https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html"


def _window(watch: Watch) -> Iterator[Broken]:
    alarm = watch.alarm
    for series in alarm.series:
        seconds = series.seconds()
        if seconds not in _SHORT_PERIODS and seconds % 60:
            yield series.period.broken(
                must="be 10, 20 or 30 seconds, or a multiple of 60",
                cure="round it to whole minutes: CloudWatch refuses the alarm",
            )
    periods = _periods(alarm)
    longest = max(periods, default=0)
    number = alarm.evaluation_periods
    enough = alarm.properties.whole("DatapointsToAlarm")
    if number is not None and enough is not None and enough > number:
        yield alarm.properties.broken(
            "DatapointsToAlarm",
            must=f"be {number} at most, the number of EvaluationPeriods",
            cure="lower it, or raise EvaluationPeriods: CloudWatch refuses the alarm",
        )
    if number is not None and longest:
        most = _DAY if longest < _HOUR else _WEEK
        if longest * number > most:
            yield alarm.properties.broken(
                "EvaluationPeriods",
                must=f"make {most} seconds at most with a period of {longest} seconds",
                cure="use a longer period, or fewer of them: CloudWatch refuses the alarm",
            )


def _periods(alarm: Alarm) -> list[int]:
    judged = alarm.judged
    own = judged.period.whole() if isinstance(judged, Expression) else None
    return ([own] if own else []) + [each.seconds() for each in alarm.series if not each.period.is_absent]


def _one_answer(watch: Watch) -> Iterator[Broken]:
    alarm = watch.alarm
    properties = alarm.properties
    if properties.at("Metrics").is_absent:
        return
    if not properties.at("MetricName").is_absent:
        yield properties.broken(
            "MetricName",
            must="be left out where Metrics is given",
            cure="keep one of the two: CloudWatch refuses an alarm with both",
        )
    entries = properties.each("Metrics")
    returned = [each.text("Id") or "" for each in entries if each.flag("ReturnData", default=True)]
    # With a band of normal figures, the metric and the band both are returned.
    if len(returned) != 1 and properties.at("ThresholdMetricId").is_absent:
        yield properties.broken(
            "Metrics",
            must="have exactly one entry with ReturnData: true, which is the default",
            got=", ".join(returned) or "none",
            cure="write ReturnData: false for all others: CloudWatch refuses the alarm",
        )
    if len(alarm.series) > _MOST_METRICS:
        yield properties.broken(
            "Metrics",
            must=f"have {_MOST_METRICS} metrics at most",
            got=len(alarm.series),
            cure="publish a roll-up in their place: CloudWatch refuses the alarm",
        )
    yield from _expressions(alarm)


def _expressions(alarm: Alarm) -> Iterator[Broken]:
    ids = {each.id for each in alarm.series}
    for each in alarm.expressions:
        text = each.value.searchable() or ""
        if _SEARCH.search(text):
            yield each.value.broken(
                must="not search: an alarm cannot hold SEARCH",
                cure="name the metrics, or publish a roll-up",
            )
        scalar = _SCALAR.match(text)
        if each.is_returned and scalar is not None and scalar[2] in ids:
            yield each.value.broken(
                must=f"give a series: {scalar[1].upper()} of one metric is a single number",
                cure="choose the statistic in MetricStat, and the window by Period and EvaluationPeriods",
            )


def _same_periods(watch: Watch) -> Iterator[Broken]:
    for first, second in pairwise(watch.alarm.series):
        if first.seconds() != second.seconds():
            yield second.period.broken(
                must=f"be {first.seconds()}, like that of {first.id or 'the others'}",
                cure="give all metrics of the alarm one period: its window is not what its numbers say",
            )


def _points_in_each_period(watch: Watch) -> Iterator[Broken]:
    starts = starts_by_owner(watch.resource.deployment)
    for series in watch.alarm.series:
        if not is_of_accelerators(series):
            continue
        for resource in series.resources():
            for start in starts.get(resource, ()):
                for configuration in start.configurations:
                    yield from _slower_than(series, configuration)


def _slower_than(series: Series, configuration: AgentConfiguration) -> Iterator[Broken]:
    for published in configuration.published():
        if published.name == series.name and series.seconds() < published.interval:
            yield series.period.broken(
                must=f"be {published.interval} at least, the seconds between two figures of {published.name}",
                cure="lengthen it, or shorten metrics_collection_interval of the agent: most periods have no data",
            )


def _as_described(watch: Watch) -> Iterator[Broken]:
    alarm = watch.alarm
    said = _SAID.findall(alarm.properties.searchable("AlarmDescription") or "")
    number, periods, judged = alarm.evaluation_periods, set(_periods(alarm)), alarm.judged
    # Of a metric that counts seconds itself, such a text says something else.
    if not isinstance(judged, Series) or not tells_use(judged) or not alarm.breaches_below:
        return
    enough = alarm.datapoints_to_alarm
    if len(said) != 1 or number is None or len(periods) != 1 or enough is None:
        return
    amount, unit = said[0]
    seconds = int(amount) * (_HOUR if unit.lower().startswith("hour") else 60)
    (period,) = periods
    if enough != number:
        # Fewer let pass a figure that is late or missing; of less than half of the time the text is not true.
        if enough * period * 2 < seconds:
            yield alarm.properties.broken(
                "DatapointsToAlarm",
                must=f"make most of the {amount} {unit} of AlarmDescription with a period of {period} seconds",
                cure="leave it out, or correct the description",
            )
        return
    if abs(seconds - period * number) > period:
        yield alarm.properties.broken(
            "EvaluationPeriods",
            must=f"make the {amount} {unit} of AlarmDescription with a period of {period} seconds",
            cure=f"write {max(1, seconds // period)} periods, or correct the description",
        )


def _composites(deployment: Deployment) -> Iterator[Watch | NotKnown]:
    for each in watches(deployment):
        if isinstance(each, NotKnown) or each.alarm.is_composite or not each.alarm.properties.at("Metrics").is_absent:
            yield each


def _possible_actions(watch: Watch) -> Iterator[Broken]:
    """Composite alarms move no group and no instance; those of metric math no instance."""
    for action in watch.alarm.named_actions():
        made = action.made()
        if watch.alarm.is_composite and made is not None and made.type == POLICY:
            yield action.broken(
                must="be no scaling policy: a composite alarm has no Auto Scaling actions",
                cure="put the policy on an alarm of metrics, with the condition in metric math",
            )
        elif made is None and _EC2_ACTION.match(action.searchable() or ""):
            yield action.broken(
                must="be no EC2 action: neither a composite alarm nor one of metric math has any",
                cure="let a function end the instance, or put the action on an alarm of one metric",
            )


RULES = (
    Rule(
        id="alarm-window-impossible",
        title="An alarm's window is one that CloudWatch takes",
        severity=ERROR,
        practices=("REL06-BP01",),
        why=(
            "CloudWatch refuses an alarm whose periods make more than a day, or a week with periods of an hour or "
            "more, and one that waits for more figures than it looks at: the deploy fails."
        ),
        cure_here="IdlePolicy and IdleRelease make the alarm, and it is tested against what CloudWatch does.",
        cure_plain="Choose Period, EvaluationPeriods and DatapointsToAlarm within the limits.",
        link=_LIMITS_PAGE,
        subjects=metric_watches,
        judge=_window,
    ),
    Rule(
        id="alarm-metrics-impossible",
        title="An alarm's metrics and expressions give one series",
        severity=ERROR,
        practices=("REL06-BP01",),
        why=(
            "An alarm judges one series. With several results or none, a search, a single number or more than ten "
            "metrics CloudWatch refuses it, and the deploy fails or the alarm never judges."
        ),
        cure_here="IdlePolicy and IdleRelease make the alarm, and it is tested against what CloudWatch does.",
        cure_plain="Return one entry, name each metric, and leave the window to Period and EvaluationPeriods.",
        link=_MATH_PAGE,
        subjects=metric_watches,
        judge=_one_answer,
    ),
    Rule(
        id="alarm-periods-differ",
        title="The metrics of an expression have one period",
        severity=ERROR,
        practices=("SUS05-BP04/release",),
        why=(
            "Metrics of an alarm must have one period. Helpers often set one of their own, five minutes, so that "
            "an idle hour becomes five minutes of it."
        ),
        cure_here="IdlePolicy and IdleRelease make the alarm, and it is tested against what CloudWatch does.",
        cure_plain="Write the same Period in each MetricStat of the alarm.",
        link=_MATH_PAGE,
        subjects=metric_watches,
        judge=_same_periods,
    ),
    Rule(
        id="alarm-faster-than-agent",
        title="An alarm's period is no shorter than the agent's interval",
        severity=ERROR,
        practices=("SUS05-BP04/release",),
        why=(
            "With a figure a minute and a period of ten seconds, five of six periods are empty: the alarm judges "
            "gaps and not the accelerators."
        ),
        cure_here="IdlePolicy and IdleRelease make the alarm, and it is tested against what CloudWatch does.",
        cure_plain="Lengthen Period to the agent's metrics_collection_interval at least.",
        link=_MISSING_PAGE,
        subjects=metric_watches,
        judge=_points_in_each_period,
    ),
    Rule(
        id="alarm-window-not-as-described",
        title="An alarm's window is the one that it describes",
        severity=WARNING,
        practices=("SUS05-BP04/release",),
        why="Whoever reads the description relies on it, and the capacity goes sooner or later than it says.",
        cure_here="IdlePolicy and IdleRelease make the alarm, and it is tested against what CloudWatch does.",
        cure_plain=(
            "Correct EvaluationPeriods or AlarmDescription, so that Period times EvaluationPeriods is what it says."
        ),
        link="https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-evaluation.html",
        subjects=metric_watches,
        judge=_as_described,
    ),
    Rule(
        id="alarm-action-impossible",
        title="An alarm's actions are ones that its kind can have",
        severity=ERROR,
        practices=("REL07-BP01",),
        why=(
            "Composite alarms have neither Auto Scaling nor EC2 actions, and alarms of metric math no EC2 "
            "actions: the deploy fails."
        ),
        cure_here="IdlePolicy and IdleRelease make the alarm, and it is tested against what CloudWatch does.",
        cure_plain="Put scaling policies on alarms of metrics, and EC2 actions on alarms of one metric.",
        link="https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-combining.html",
        subjects=_composites,
        judge=_possible_actions,
    ),
)
