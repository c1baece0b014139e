"""The alarms of a template, minute by minute: what those say that act on the fleet and see nothing."""

from __future__ import annotations

from typing import Any

from constructs_lib.rehearsal.cloud.alarm_watch import AlarmWatch
from constructs_lib.rehearsal.cloud.metric_math import MathReading
from constructs_lib.rehearsal.cloud.metrics import MetricStore
from constructs_lib.rehearsal.template import Template
from tests.rehearsal.cloud.plain import Body, plain_template, resource

MINUTE = 60


def _alarm(metric: str, action: str, queue: str = "Jobs") -> Body:
    properties: dict[str, Any] = {
        "Namespace": "AWS/SQS",
        "MetricName": metric,
        "Dimensions": [{"Name": "QueueName", "Value": queue}],
        "Statistic": "Maximum",
        "Period": MINUTE,
        "EvaluationPeriods": 1,
        "Threshold": 1,
        "ComparisonOperator": "GreaterThanOrEqualToThreshold",
        "AlarmActions": [action],
    }
    return resource("CloudWatch::Alarm", **properties)


def _watch(store: MetricStore, **alarms: Body) -> AlarmWatch:
    watch = AlarmWatch(store, extra=2, reading=MathReading())
    watch.read(Template(plain_template(alarms)), lambda target: target in ("Policy", "Function"))
    return watch


def test_alarm_that_acts_on_the_fleet_and_never_sees_data_is_told_with_its_metric() -> None:
    store = MetricStore({})
    watch = _watch(store, Seen=_alarm("Visible", "Policy"), Blind=_alarm("Age", "Policy"), Mail=_alarm("Age", "Topic"))
    for now in range(MINUTE, 30 * MINUTE, MINUTE):
        if now >= 10 * MINUTE:
            store.put("AWS/SQS", "Visible", {"QueueName": "Jobs"}, now, 0)
        list(watch.tick(now))

    assert watch.notes == ["Blind saw no data of AWS/SQS Age (QueueName Jobs): nothing published it"]


def test_dimension_that_nobody_publishes_is_no_data() -> None:
    store = MetricStore({})
    watch = _watch(store, Elsewhere=_alarm("Visible", "Policy", queue="jobs"))
    store.put("AWS/SQS", "Visible", {"QueueName": "Jobs"}, 0, 5)
    list(watch.tick(5 * MINUTE))

    assert watch.notes == ["Elsewhere saw no data of AWS/SQS Visible (QueueName jobs): nothing published it"]


def test_alarms_that_were_never_evaluated_say_nothing() -> None:
    assert _watch(MetricStore({}), Blind=_alarm("Age", "Policy")).notes == []


def test_alarms_that_act_through_a_composite_alarm_alone_are_asked_as_those_that_act_themselves() -> None:
    composite = {"AlarmRule": "ALARM(Middle)", "AlarmActions": ["Function"], "ActionsSuppressor": "Holds"}
    periods = {"ActionsSuppressorWaitPeriod": 60, "ActionsSuppressorExtensionPeriod": 60}
    watch = _watch(
        MetricStore({}),
        Blind=_alarm("Age", "Topic"),
        Holds=_alarm("Delayed", "Topic"),
        Mail=_alarm("Visible", "Topic"),
        Outer=resource("CloudWatch::CompositeAlarm", **composite, **periods),
        Middle=resource("CloudWatch::CompositeAlarm", AlarmRule="ALARM(Blind)"),
        Letter=resource("CloudWatch::CompositeAlarm", AlarmRule="ALARM(Mail)", AlarmActions=["Topic"]),
    )
    list(watch.tick(5 * MINUTE))

    assert [note.split()[0] for note in watch.notes] == ["Blind", "Holds"]
    jobs = frozenset({("QueueName", "Jobs")})
    acted_on = [metric for metric in ("Age", "Delayed", "Visible") if watch.acts_on([("AWS/SQS", metric, jobs)])]
    assert acted_on == ["Age", "Delayed"]
