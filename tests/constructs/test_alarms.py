"""Alarms: what they conclude from a gap, over which window, and that each of them reaches somebody."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from aws_cdk import Duration
from aws_cdk.assertions import Template

from constructs_lib import FleetImage, IdlePolicy, IdleSignal
from constructs_lib.rehearsal.cloud.metric_math import Context, evaluate
from constructs_lib.release.alarms import alarm_periods, idle_alarm
from constructs_lib.telemetry import FleetMetrics
from tests.constructs.reading import plain, properties, resources, text
from tests.constructs.scenarios import SCENARIOS, template
from tests.support.stacks import fleet_template, stack

ALARM = "AWS::CloudWatch::Alarm"
FLEETS = [name for name in SCENARIOS if name != "idle_release"]
DAY = 86_400


def alarms(scenario: str) -> dict[str, dict[str, Any]]:
    return {id: plain(alarm["Properties"]) for id, alarm in resources(template(scenario), ALARM).items()}


def periods(alarm: Mapping[str, Any]) -> set[int]:
    if "Metrics" not in alarm:
        return {alarm["Period"]}
    return {each["MetricStat"]["Period"] for each in alarm["Metrics"] if "MetricStat" in each}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_case_08_every_alarm_says_what_a_gap_means(scenario: str) -> None:
    made = alarms(scenario)
    assert len(made) >= 3
    # "Missing" and "breaching" can alarm on one stale point; a gap is never a reason to act here.
    assert {alarm.get("TreatMissingData") for alarm in made.values()} == {"notBreaching"}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_case_08_idle_alarm_fills_no_gap(scenario: str) -> None:
    (alarm,) = [alarm for id, alarm in alarms(scenario).items() if "IdleAlarm" in id]
    (expression,) = [each["Expression"] for each in alarm["Metrics"] if "Expression" in each]
    # A gap in the last branch of IF drops the point; in the middle branch, or in a comparison, it would read as 0.
    # The filler is above every threshold, also above one in transfers.
    filler = 1000 if scenario == "fpga" else 100
    assert expression == f"IF(in_service < 1, {filler}, busiest)"
    assert filler >= alarm["Threshold"]
    assert (alarm["ComparisonOperator"], alarm["DatapointsToAlarm"]) == (
        "LessThanThreshold",
        alarm["EvaluationPeriods"],
    )


@pytest.mark.parametrize(("transfers", "filler"), [(10, 100), (1_234_564, 1_234_564), (10**15, 10**15)])
def test_case_08_an_empty_group_is_above_the_threshold_whatever_that_is(transfers: int, filler: int) -> None:
    """Six digits of it, 1.23456e+06, would be below it: an empty group in ALARM, which then tells of nothing more."""
    made = fleet_template(
        instance_types="f2.6xlarge",
        image=FleetImage.from_ssm_parameter("/golden/fpga/ami-id"),
        idle=IdlePolicy(threshold_transfers=transfers),
    )
    alarm = properties(made, "FleetReleaseIdleAlarm", ALARM)
    assert [each["Expression"] for each in alarm["Metrics"] if "Expression" in each] == [
        f"IF(in_service < 1, {filler}, busiest)"
    ]
    assert alarm["Threshold"] == transfers


@pytest.mark.parametrize("scenario", FLEETS)
def test_case_06_silence_of_a_running_fleet_has_an_alarm_of_its_own(scenario: str) -> None:
    made = template(scenario)
    gap = properties(made, "FleetTelemetryGapAlarm", ALARM)
    (expression,) = [each["Expression"] for each in gap["Metrics"] if "Expression" in each]
    # A missing side of a subtraction reads as 0: silence yields the capacity. FILL would also fill the newest minute.
    assert expression == "in_service - samples"
    assert (gap["ComparisonOperator"], gap["Threshold"]) == ("GreaterThanThreshold", 0)
    assert [text(action) for action in gap["AlarmActions"]] == [text({"Ref": topic_of(scenario)})]


@pytest.mark.parametrize(("warm_up", "minutes"), [(0, 10), (10, 10), (15, 15), (60, 60)])
def test_case_06_gap_alarm_comes_within_fifteen_minutes_or_the_warm_up(warm_up: int, minutes: int) -> None:
    policy = IdlePolicy(window=Duration.hours(1), warm_up=Duration.minutes(warm_up))
    gap = properties(fleet_template(idle=policy), "FleetTelemetryGapAlarm", ALARM)
    assert periods(gap) == {60}
    assert gap["DatapointsToAlarm"] == minutes
    # The group's own metrics come up to two minutes late.
    assert gap["EvaluationPeriods"] == minutes + 2


@pytest.mark.parametrize("scenario", FLEETS)
def test_case_45_an_accelerator_that_does_not_answer_has_an_alarm_of_its_own(scenario: str) -> None:
    made = template(scenario)
    alarm = properties(made, "FleetDegradedAlarm", ALARM)
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("GreaterThanThreshold", 0)
    assert (alarm["DatapointsToAlarm"], alarm["EvaluationPeriods"], periods(alarm)) == (10, 12, {60})
    assert [text(action) for action in alarm["AlarmActions"]] == [text({"Ref": topic_of(scenario)})]
    stats = [each["MetricStat"] for each in alarm.get("Metrics", []) if "MetricStat" in each]
    watched = {stat["Metric"]["MetricName"]: stat["Stat"] for stat in stats} or {
        alarm["MetricName"]: alarm["Statistic"]
    }
    # Settings of the machine are watched where some were asked for.
    settings = {"setup_failures": "Maximum"} if scenario in ("fullest", "training") else {}
    assert watched == {"accelerators_missing": "Maximum", **settings}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_case_30_one_result_one_period_no_search(scenario: str) -> None:
    for alarm in alarms(scenario).values():
        assert ("MetricName" in alarm) != ("Metrics" in alarm)
        assert len(periods(alarm)) == 1
        entries = alarm.get("Metrics", [])
        assert len(entries) <= 10
        assert sum(each["ReturnData"] for each in entries) == (1 if entries else 0)
        assert not [each for each in entries if "SEARCH(" in each.get("Expression", "").upper()]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_case_30_no_alarm_is_judged_only_once_an_hour(scenario: str) -> None:
    for alarm in alarms(scenario).values():
        (period,) = periods(alarm)
        assert period % 60 == 0
        assert period * alarm["EvaluationPeriods"] <= DAY
        assert alarm.get("DatapointsToAlarm", alarm["EvaluationPeriods"]) <= alarm["EvaluationPeriods"]


def test_case_30_every_possible_window_is_split_exactly() -> None:
    for minutes in range(5, 24 * 60 + 1):
        period, count = alarm_periods(minutes * 60)
        assert period * count == minutes * 60
        assert period in (60, 300)
        # Under five-minute periods a sample that is a few seconds late costs nothing; three of them are a window.
        assert (period == 300) == (minutes % 5 == 0 and minutes >= 15)


WINDOWS = [5, 7, 10, 15, 30, 59, 60, 61, 90, 600, 1021, 1439, 1440]


@pytest.fixture(scope="module")
def idle_alarms() -> dict[int, dict[str, Any]]:
    test_stack = stack()
    for minutes in WINDOWS:
        policy = IdlePolicy(window=Duration.minutes(minutes), threshold_percent=7.5)
        idle_alarm(test_stack, f"Window{minutes:04}", FleetMetrics("group"), policy, [IdleSignal.ACCELERATOR])
    made = resources(Template.from_stack(test_stack).to_json(), ALARM)
    return {int(id[len("Window") :][:4]): dict(alarm["Properties"]) for id, alarm in made.items()}


@pytest.mark.parametrize("minutes", WINDOWS)
def test_case_30_effective_window_is_the_one_asked_for(idle_alarms: dict[int, dict[str, Any]], minutes: int) -> None:
    alarm = idle_alarms[minutes]
    (period,) = periods(alarm)
    assert period * alarm["EvaluationPeriods"] == minutes * 60
    assert alarm["DatapointsToAlarm"] == alarm["EvaluationPeriods"]
    assert alarm["Threshold"] == 7.5
    assert {each["Period"] for each in alarm["Metrics"] if "Period" in each} <= {period}


def test_case_30_handler_judges_over_the_same_window() -> None:
    made = fleet_template(idle=IdlePolicy(window=Duration.minutes(61)))
    alarm = properties(made, "FleetReleaseIdleAlarm", ALARM)
    variables = properties(made, "FleetReleaseHandler", "AWS::Lambda::Function")["Environment"]["Variables"]
    assert (alarm["EvaluationPeriods"], variables["WINDOW_SECONDS"]) == (61, "3660")


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_case_03_idle_alarm_reads_the_busiest_accelerator(scenario: str) -> None:
    (alarm,) = [alarm for id, alarm in alarms(scenario).items() if "IdleAlarm" in id]
    by_id = {each["Id"]: each["MetricStat"] for each in alarm["Metrics"] if "MetricStat" in each}
    # Case 61: with the average, one busy GPU among forty would read as 2.5 %.
    assert (by_id["busiest"]["Stat"], by_id["in_service"]["Stat"]) == ("Maximum", "Minimum")


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_alarm_has_an_action_and_a_description(scenario: str) -> None:
    for alarm in alarms(scenario).values():
        assert len(alarm["AlarmActions"]) == 1
        assert alarm["AlarmDescription"]
        assert "ActionsEnabled" not in alarm


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_idle_alarm_may_invoke_the_release_function(scenario: str) -> None:
    made = template(scenario)
    (id,) = [id for id in resources(made, ALARM) if "IdleAlarm" in id]
    (action,) = resources(made, ALARM)[id]["Properties"]["AlarmActions"]
    permissions = [plain(each["Properties"]) for each in resources(made, "AWS::Lambda::Permission").values()]
    assert {
        "Action": "lambda:InvokeFunction",
        "FunctionName": text(action),
        "Principal": "lambda.alarms.cloudwatch.amazonaws.com",
        "SourceArn": text({"Fn::GetAtt": [id, "Arn"]}),
    } in permissions


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_idle_alarm_is_backed_by_a_steady_schedule(scenario: str) -> None:
    made = template(scenario)
    rules = [plain(each["Properties"]) for each in resources(made, "AWS::Events::Rule").values()]
    (target,) = [rule["Targets"][0]["Arn"] for rule in rules if rule.get("ScheduleExpression") == "rate(5 minutes)"]
    (action,) = [alarm["AlarmActions"][0] for id, alarm in alarms(scenario).items() if "IdleAlarm" in id]
    assert target == action


@pytest.mark.parametrize("scenario", FLEETS)
def test_case_43_missing_capacity_is_noticed_within_fifteen_minutes(scenario: str) -> None:
    shortfall = properties(template(scenario), "FleetCapacityShortfallAlarm", ALARM)
    (expression,) = [each["Expression"] for each in shortfall["Metrics"] if "Expression" in each]
    assert expression == "desired - in_service"
    assert periods(shortfall) == {60}
    assert (shortfall["DatapointsToAlarm"], shortfall["EvaluationPeriods"]) == (15, 17)


def test_case_35_unknown_for_fifteen_minutes_is_told() -> None:
    for scenario in SCENARIOS:
        (alarm,) = [alarm for id, alarm in alarms(scenario).items() if "UnknownAlarm" in id]
        (period,) = periods(alarm)
        assert period * alarm["EvaluationPeriods"] == 15 * 60
        watched = [each["MetricStat"] for each in alarm["Metrics"] if "MetricStat" in each]
        assert {each["Metric"]["MetricName"] for each in watched} == {"MembersUnknown", "MembersRetained"}
        assert {each["Stat"] for each in watched} == {"Minimum"}


def test_work_that_idle_instances_do_not_take_is_told_after_half_an_hour() -> None:
    for scenario in ("with_queue", "fullest"):
        (alarm,) = [alarm for alarm in alarms(scenario).values() if "MembersIdleDespiteWork" in str(alarm)]
        (period,) = periods(alarm)
        assert period * alarm["EvaluationPeriods"] == period * alarm["DatapointsToAlarm"] == 30 * 60
    for scenario in ("smallest", "idle_release"):
        assert not [alarm for alarm in alarms(scenario).values() if "MembersIdleDespiteWork" in str(alarm)]


def topic_of(scenario: str) -> str:
    (topic,) = resources(template(scenario), "AWS::SNS::Topic")
    return topic


def alarming(alarm: Mapping[str, Any], **values: float | None) -> bool:
    """Whether one period with these values, None for a series without a point in it, breaches the alarm."""
    (expression,) = [each["Expression"] for each in alarm["Metrics"] if "Expression" in each]
    series: dict[str, dict[int, float]] = {name: {} if value is None else {0: value} for name, value in values.items()}
    assert set(series) == {each["Id"] for each in alarm["Metrics"] if "MetricStat" in each}
    assert alarm["ComparisonOperator"] == "GreaterThanThreshold"
    return any(value > alarm["Threshold"] for value in evaluate(expression, Context(series, [0])).values())


@pytest.mark.parametrize(
    ("in_service", "passes", "errors", "expected"),
    [
        (8, None, None, True),  # the rule is disabled, the function throttled: nothing at all
        (8, 1, 0, False),
        (8, 2, 1, False),  # the alarm's pass failed, the schedule's did not
        (8, 1, 1, True),  # a pass that could not read or act
        (8, None, 1, True),  # a pass that could not even read the group
        (0, None, None, False),
        (0, None, 1, True),
        (None, None, None, False),
    ],
)
def test_case_35_instances_that_no_pass_looks_at_are_told(
    in_service: float | None, passes: float | None, errors: float | None, expected: bool
) -> None:
    alarm = properties(template("with_queue"), "FleetReleaseNoPassAlarm", ALARM)
    assert alarming(alarm, in_service=in_service, passes=passes, errors=errors) is expected
    assert alarm["DatapointsToAlarm"] * 300 == 15 * 60


@pytest.mark.parametrize(
    ("waiting", "runs", "errors", "expected"),
    [
        (3, None, None, True),  # work waits and the wake function is not invoked
        (3, 1, 0, False),
        (3, 1, 1, True),
        (0, 1, 0, False),
        (0, 1, 1, True),  # it fails, before anybody needs it
        (0, None, None, False),
        (None, None, None, False),
    ],
)
def test_case_43_work_that_nothing_wakes_for_is_told(
    waiting: float | None, runs: float | None, errors: float | None, expected: bool
) -> None:
    alarm = properties(template("with_queue"), "FleetWakeStoppedAlarm", ALARM)
    assert alarming(alarm, waiting=waiting, runs=runs, errors=errors) is expected


# --- policies that look at something else than use ------------------------------------------------


@pytest.mark.parametrize(
    ("signals", "thresholds", "metric", "threshold", "filler"),
    [
        ([IdleSignal.MEMORY], {"threshold_memory_mib": 900}, "nvidia_smi_memory_used", 900, 900),
        ([IdleSignal.POWER, IdleSignal.CPU], {"threshold_power_watts": 40}, "nvidia_smi_power_draw", 40, 100),
        (
            [IdleSignal.POWER, IdleSignal.MEMORY],
            {"threshold_power_watts": 40, "threshold_memory_mib": 1.5},
            "nvidia_smi_memory_used",
            1.5,
            100,
        ),
    ],
    ids=["memory", "power", "both"],
)
def test_case_05_idle_alarm_watches_a_figure_that_the_policy_looks_at(
    signals: list[IdleSignal], thresholds: dict[str, float], metric: str, threshold: float, filler: float
) -> None:
    made = fleet_template(idle=IdlePolicy(signals=signals, **thresholds))  # type: ignore[arg-type]
    alarm = properties(made, "FleetReleaseIdleAlarm", ALARM)
    (expression,) = [each["Expression"] for each in alarm["Metrics"] if "Expression" in each]
    assert expression == f"IF(in_service < 1, {filler}, busiest)"
    stats = {each["Id"]: each["MetricStat"] for each in alarm["Metrics"] if "MetricStat" in each}
    assert (stats["busiest"]["Metric"]["MetricName"], stats["busiest"]["Stat"]) == (metric, "Maximum")
    assert (alarm["Threshold"], alarm["ComparisonOperator"]) == (threshold, "LessThanThreshold")
    # Where nobody can read the use, it is not what silence is told by.
    gap = properties(made, "FleetTelemetryGapAlarm", ALARM)
    samples = {each["Id"]: each["MetricStat"] for each in gap["Metrics"] if "MetricStat" in each}["samples"]
    assert (samples["Metric"]["MetricName"], samples["Stat"]) == (metric, "SampleCount")


def test_case_30_idle_alarm_on_idle_seconds_goes_off_when_the_window_is_reached() -> None:
    policy = IdlePolicy(signals=[IdleSignal.IDLE_SECONDS], window=Duration.minutes(30))
    alarm = properties(fleet_template(idle=policy), "FleetReleaseIdleAlarm", ALARM)
    (expression,) = [each["Expression"] for each in alarm["Metrics"] if "Expression" in each]
    assert (alarm["Threshold"], alarm["ComparisonOperator"]) == (1800, "GreaterThanOrEqualToThreshold")
    assert (alarm["EvaluationPeriods"], periods(alarm)) == (1, {60})
    for in_service, idle, expected in [(2, 1800, True), (2, 1799, False), (0, 9999, False), (2, None, False)]:
        series = {"in_service": {0: float(in_service)}, "idle": {} if idle is None else {0: float(idle)}}
        values = evaluate(expression, Context(series, [0])).values()
        assert any(value >= alarm["Threshold"] for value in values) is expected


# --- what else invokes the release function -------------------------------------------------------


@pytest.mark.parametrize("scenario", FLEETS)
def test_case_36_terminations_of_this_group_alone_invoke_the_release_function(scenario: str) -> None:
    rule = plain(properties(template(scenario), "FleetReleaseSteadyRule", "AWS::Events::Rule"))
    assert rule["ScheduleExpression"] == "rate(5 minutes)"
    assert rule["EventPattern"] == {
        "source": ["aws.autoscaling"],
        "detail-type": ["EC2 Instance-terminate Lifecycle Action"],
        "detail": {"AutoScalingGroupName": ["<FleetAutoScalingGroupASG>"]},
    }


def test_case_36_a_group_that_is_not_ours_has_hooks_of_its_own() -> None:
    rule = properties(template("idle_release"), "ReleaseSteadyRule", "AWS::Events::Rule")
    assert "EventPattern" not in rule


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_case_36_every_rule_on_auto_scaling_names_this_group(scenario: str) -> None:
    for rule in resources(template(scenario), "AWS::Events::Rule").values():
        pattern = rule["Properties"].get("EventPattern", {})
        if "aws.autoscaling" in pattern.get("source", []):
            assert plain(pattern)["detail"]["AutoScalingGroupName"] == ["<FleetAutoScalingGroupASG>"]
