"""Windows and expressions: ``PutMetricAlarm``, CloudWatch API Reference; field case 30."""

from typing import Any

from tests.compliance.cases import Breaks, Case, template
from tests.compliance.telemetry import (
    GPU,
    GROUP_NAME,
    IN_FLIGHT,
    WAITING,
    agent,
    alarm,
    asks_for,
    math,
    measured,
    read,
    steps,
    watched_by,
    without_default,
    worked_out,
)

_TERMINATE = ["arn:aws:automate:eu-west-1:ec2:terminate"]


def _in_detail(*entries: dict[str, Any], **properties: Any) -> dict[str, Any]:
    return watched_by(math(list(entries), **properties))


CASES = (
    Case(
        rule="alarm-window-impossible",
        breaks=(
            Breaks(template=watched_by(alarm(None, Period=90)), resource="Idle", property="Period", got="90"),
            Breaks(
                template=watched_by(alarm(None, Period=300, EvaluationPeriods=289)),
                resource="Idle",
                property="EvaluationPeriods",
                got="289",
            ),
            Breaks(
                template=watched_by(alarm(None, Period=3600, EvaluationPeriods=169)),
                resource="Idle",
                property="EvaluationPeriods",
            ),
            Breaks(
                template=watched_by(alarm(None, DatapointsToAlarm=4)),
                resource="Idle",
                property="DatapointsToAlarm",
                got="4",
            ),
        ),
        keeps=(
            watched_by(alarm(None, Period=300, EvaluationPeriods=288, DatapointsToAlarm=288)),
            watched_by(alarm(None, Period=3600, EvaluationPeriods=168)),
        ),
        unknown=(asks_for("EvaluationPeriods"),),
    ),
    Case(
        rule="alarm-metrics-impossible",
        breaks=(
            Breaks(
                template=_in_detail(worked_out("gpu"), {**read("gpu", GPU), "ReturnData": True}),
                resource="Idle",
                property="Metrics",
                got="judged, gpu",
            ),
            Breaks(
                template=_in_detail(read("gpu", GPU)),
                resource="Idle",
                property="Metrics",
                got="none",
            ),
            Breaks(
                template=_in_detail(worked_out("gpu"), read("gpu", GPU), MetricName="x"),
                resource="Idle",
                property="MetricName",
            ),
            Breaks(
                template=_in_detail(worked_out("SEARCH('{CWAgent,InstanceId} x', 'Maximum')"), read("gpu", GPU)),
                resource="Idle",
                property="Metrics[0].Expression",
            ),
            Breaks(
                template=_in_detail(worked_out("MAX(gpu)"), read("gpu", GPU)),
                resource="Idle",
                property="Metrics[0].Expression",
                got="MAX(gpu)",
            ),
            Breaks(
                template=_in_detail(worked_out("m0"), *(read(f"m{number}", GPU) for number in range(11))),
                resource="Idle",
                property="Metrics",
                got="11",
            ),
        ),
        keeps=(
            watched_by(alarm()),
            _in_detail(worked_out("MAX([gpu, other])"), read("gpu", GPU), read("other", GPU)),
            _in_detail({"Id": "gpu", "MetricStat": read("gpu", GPU)["MetricStat"]}),
            # With a band of normal figures both are returned.
            _in_detail(
                {**worked_out("ANOMALY_DETECTION_BAND(gpu)"), "Id": "band"},
                {**read("gpu", GPU), "ReturnData": True},
                ThresholdMetricId="band",
                ComparisonOperator="LessThanLowerThreshold",
            ),
        ),
        unknown=(
            without_default(watched_by(math([], Metrics={"Ref": "Asked"})), "Asked"),
            without_default(
                _in_detail({**worked_out("gpu"), "ReturnData": {"Ref": "Asked"}}, read("gpu", GPU)), "Asked"
            ),
        ),
    ),
    Case(
        rule="alarm-periods-differ",
        breaks=(
            Breaks(
                template=_in_detail(worked_out("a + b"), read("a", GPU, period=3600), read("b", WAITING)),
                resource="Idle",
                property="Metrics[2].MetricStat.Period",
                got="300",
            ),
        ),
        keeps=(watched_by(alarm()), _in_detail(worked_out("a + b"), read("a", GPU), read("b", WAITING))),
        unknown=(
            without_default(
                _in_detail(
                    worked_out("a + b"),
                    read("a", GPU),
                    read("b", WAITING, period={"Ref": "Asked"}),
                ),
                "Asked",
            ),
        ),
    ),
    Case(
        rule="alarm-faster-than-agent",
        breaks=(
            Breaks(
                template=measured(agent(), **template(In=steps(), Idle=alarm(None, Period=10))["Resources"]),
                resource="Idle",
                property="Period",
                got="10",
            ),
        ),
        keeps=(
            measured(agent(), **template(In=steps(), Idle=alarm(None, Period=60))["Resources"]),
            measured(
                agent({"nvidia_gpu": {"measurement": ["utilization_gpu"], "metrics_collection_interval": 10}}),
                **template(In=steps(), Idle=alarm(None, Period=10))["Resources"],
            ),
        ),
        unknown=(
            without_default(
                measured(agent(), **template(In=steps(), Idle=alarm(None, Period={"Ref": "Asked"}))["Resources"]),
                "Asked",
            ),
        ),
    ),
    Case(
        rule="alarm-window-not-as-described",
        breaks=(
            # A helper's own period of five minutes made one of an hour: field case 30.
            Breaks(
                template=watched_by(alarm(None, AlarmDescription="No GPU in use for 1 hour", EvaluationPeriods=1)),
                resource="Idle",
                property="EvaluationPeriods",
                got="1",
            ),
            # One idle minute of them is enough.
            Breaks(
                template=watched_by(alarm(None, AlarmDescription="No GPU in use for 15 minutes", DatapointsToAlarm=1)),
                resource="Idle",
                property="DatapointsToAlarm",
                got="1",
            ),
        ),
        keeps=(
            watched_by(alarm(None, AlarmDescription="No GPU in use for 15 minutes")),
            # A few that are missing or late are let pass.
            watched_by(alarm(None, AlarmDescription="No GPU in use for 15 minutes", DatapointsToAlarm=13)),
            watched_by(alarm(None, AlarmDescription="Idle")),
            # The metric counts the time itself.
            watched_by(
                alarm(
                    {**GPU, "MetricName": "gpu_idle_seconds"},
                    AlarmDescription="Idle for 2 hours",
                    ComparisonOperator="GreaterThanThreshold",
                )
            ),
        ),
        unknown=(asks_for("AlarmDescription"),),
    ),
    Case(
        rule="alarm-action-impossible",
        breaks=(
            Breaks(
                template=watched_by(
                    alarm(),
                    Both={
                        "Type": "CloudWatch::CompositeAlarm",
                        "Properties": {
                            "AlarmRule": {"Fn::Sub": "ALARM(${Idle})"},
                            "AlarmActions": [{"Ref": "In"}],
                        },
                    },
                ),
                resource="Both",
                property="AlarmActions[0]",
                got="In",
            ),
            Breaks(
                template=_in_detail(worked_out("gpu + 0"), read("gpu", GPU), AlarmActions=_TERMINATE),
                resource="Idle",
                property="AlarmActions[0]",
                got="terminate",
            ),
        ),
        keeps=(
            _in_detail(worked_out("a + b"), read("a", WAITING), read("b", IN_FLIGHT)),
            watched_by(alarm({**GPU, "Dimensions": [GROUP_NAME]}, AlarmActions=_TERMINATE)),
        ),
        unknown=(
            without_default(
                _in_detail(worked_out("gpu + 0"), read("gpu", GPU), AlarmActions=[{"Ref": "Asked"}]), "Asked"
            ),
        ),
    ),
)
