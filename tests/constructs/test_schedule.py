"""Schedules: what is written, what is refused, and what the function is built from."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from functools import cache
from typing import Any

import pytest
from aws_cdk import App, Duration, Stack, Token, Validations
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk.assertions import Template
from aws_cdk.aws_cloudwatch_actions import SnsAction
from cdk_nag import AwsSolutionsChecks

from constructs_lib import Hours, Weekday
from constructs_lib.errors import ArgumentError
from constructs_lib.rehearsal.cloud.metric_math import Context, evaluate
from constructs_lib.scaling import FleetSchedule, ScheduledCapacity, WakeUp
from fleet_schedule.settings import Settings, read_settings
from tests.constructs.reading import only, plain, properties, resources, role_statements
from tests.support.stacks import fleet, stack

WORKDAYS = [Weekday.MONDAY, Weekday.TUESDAY, Weekday.WEDNESDAY, Weekday.THURSDAY, Weekday.FRIDAY]
BERLIN = "Europe/Berlin"
OFFICE = Hours(start="08:00", end="18:00", time_zone=BERLIN, days=WORKDAYS, exceptions=["2026-12-25"])
WAKE = WakeUp(at="08:30", instances=2, time_zone=BERLIN, days=WORKDAYS, ahead=Duration.minutes(20))
SCHEDULE = FleetSchedule(office_hours=[OFFICE], maintenance=[OFFICE], wake_ups=[WAKE])
THIS_GROUP = (
    "arn:<AWS::Partition>:autoscaling:<AWS::Region>:<AWS::AccountId>"
    ":autoScalingGroup:*:autoScalingGroupName/<FleetAutoScalingGroupASG>"
)


def scheduled(scope: Stack, schedule: FleetSchedule = SCHEDULE) -> ScheduledCapacity:
    """The construct over a fleet's group."""
    owner = fleet(scope, min_capacity=1)
    return ScheduledCapacity(
        scope,
        "Schedule",
        auto_scaling_group=owner.auto_scaling_group,
        schedule=schedule,
        alarm_action=SnsAction(owner.notifications),
    )


@cache
def template() -> dict[str, Any]:
    test_stack = stack()
    construct = scheduled(test_stack)
    construct.grant_pause(iam.User(test_stack, "Person"))
    return dict(Template.from_stack(test_stack).to_json())


def environment(of: dict[str, Any] | None = None) -> dict[str, str]:
    function = properties(of or template(), "ScheduleHandler", "AWS::Lambda::Function")
    return dict(plain(function["Environment"]["Variables"]))


def told(schedule: FleetSchedule) -> Settings:
    """What the handler makes of a schedule."""
    return read_settings({"AUTO_SCALING_GROUP_NAME": "g", "STATE_PARAMETER": "p", "SCHEDULE": schedule.settings()})


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc)


# --- value objects ----------------------------------------------------------------------------------------------------


def test_what_is_said_is_what_the_handler_does() -> None:
    timetable = told(SCHEDULE).plan.timetable
    assert not timetable.is_open(utc("2026-12-01 06:59"))
    assert timetable.is_open(utc("2026-12-01 07:00"))
    assert not timetable.is_open(utc("2026-12-01 17:00"))
    assert not timetable.is_open(utc("2026-12-25 12:00")), "a day off"
    assert timetable.calls(utc("2026-12-01 07:09")) == ()
    (call,) = timetable.calls(utc("2026-12-01 07:10"))
    assert (call.due, call.instances) == (utc("2026-12-01 07:30"), 2)


def test_an_empty_schedule_is_always_open() -> None:
    timetable = told(FleetSchedule()).plan.timetable
    assert timetable.office_hours is None
    assert timetable.is_open(utc("2026-12-05 03:00"))


def test_maintenance_is_for_the_release_function_alone() -> None:
    assert FleetSchedule(maintenance=[OFFICE]).maintenance == (OFFICE,)
    assert json.loads(FleetSchedule(maintenance=[OFFICE]).settings()) == {}


def test_schedules_that_say_the_same_are_equal() -> None:
    again = WakeUp(at="08:30", instances=2, time_zone=BERLIN, days=tuple(WORKDAYS), ahead=Duration.seconds(1200))
    assert again == WAKE
    assert FleetSchedule(office_hours=(OFFICE,), maintenance=[OFFICE], wake_ups=[again]) == SCHEDULE
    assert WakeUp(at="08:30", instances=2, time_zone=BERLIN, ahead=Duration.minutes(21)) != WAKE


def test_a_wake_up_is_every_day_and_a_quarter_of_an_hour_ahead() -> None:
    wake_up = WakeUp(at="08:30", instances=2, time_zone=BERLIN)
    assert wake_up.days == tuple(Weekday)
    assert wake_up.ahead_seconds == 900
    assert wake_up.exceptions == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"at": "8:30"}, "WakeUp: at must be a time from 00:00 to 23:59, as HH:MM, got '8:30'"),
        ({"at": "24:00"}, "WakeUp: at must"),
        ({"at": None}, "WakeUp: at must"),
        ({"instances": 0}, "WakeUp: instances must be a whole number at least 1 and at most 1000000, got 0"),
        ({"instances": "2"}, "WakeUp: instances must"),
        ({"time_zone": "Europe/Berln"}, "WakeUp: time_zone must .* did you mean 'Europe/Berlin'"),
        ({"days": []}, "WakeUp: days must be a list of Weekday"),
        ({"exceptions": ["25.12."]}, "WakeUp: exceptions must hold dates"),
        ({"ahead": 20}, "WakeUp: ahead must be of type Duration, got 20"),
        (
            {"ahead": Duration.seconds(90)},
            "WakeUp: ahead must be whole minutes from 1 to 720, got '1 minute 30 seconds'",
        ),
        ({"ahead": Duration.minutes(0)}, "WakeUp: ahead must be whole minutes"),
        ({"ahead": Duration.hours(13)}, "WakeUp: ahead must be whole minutes"),
        (
            {"ahead": Duration.minutes(Token.as_number({"Ref": "Number"}))},
            "WakeUp: ahead must be whole minutes from 1 to 720, got 'a token'",
        ),
    ],
)
def test_a_wrong_wake_up_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        WakeUp(**{"at": "08:30", "instances": 2, "time_zone": BERLIN, **change})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"office_hours": OFFICE}, "FleetSchedule: office_hours must be a list of Hours"),
        ({"office_hours": []}, "FleetSchedule: office_hours must be a list of Hours that is not empty"),
        ({"maintenance": ["08:00"]}, "FleetSchedule: maintenance must be a list of Hours"),
        ({"wake_ups": WAKE}, "FleetSchedule: wake_ups must be a list of WakeUp"),
        ({"wake_ups": []}, "FleetSchedule: wake_ups must be a list of WakeUp that is not empty"),
        (
            {"office_hours": [Hours(start="00:00", end="24:00", time_zone=BERLIN)]},
            "FleetSchedule: office_hours must leave time to pause",
        ),
    ],
)
def test_a_wrong_schedule_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        FleetSchedule(**arguments)


SATURDAY = [Weekday.SATURDAY]
NIGHT = Hours(start="22:00", end="06:00", time_zone=BERLIN, days=[Weekday.FRIDAY])


@pytest.mark.parametrize(
    ("hours", "at", "days"),
    [
        (OFFICE, "07:59", WORKDAYS),
        (OFFICE, "18:00", WORKDAYS),
        (OFFICE, "08:30", SATURDAY),
        (NIGHT, "21:59", [Weekday.FRIDAY]),
        (NIGHT, "05:00", [Weekday.FRIDAY]),
        (NIGHT, "06:00", SATURDAY),
        (NIGHT, "23:00", SATURDAY),
    ],
)
def test_a_wake_up_that_is_never_in_office_hours_is_refused(hours: Hours, at: str, days: list[Weekday]) -> None:
    never = WakeUp(at=at, instances=1, time_zone=BERLIN, days=days)
    with pytest.raises(ArgumentError, match="wake_ups must be for a time within the office hours"):
        FleetSchedule(office_hours=[hours], wake_ups=[never])


@pytest.mark.parametrize(
    ("hours", "at", "days"),
    [
        (OFFICE, "08:00", WORKDAYS),
        (OFFICE, "17:59", None),
        (NIGHT, "22:00", [Weekday.FRIDAY]),
        (NIGHT, "05:59", SATURDAY),
        (NIGHT, "05:59", None),
    ],
)
def test_a_wake_up_that_is_sometimes_in_office_hours_is_taken(
    hours: Hours, at: str, days: list[Weekday] | None
) -> None:
    FleetSchedule(office_hours=[hours], wake_ups=[WakeUp(at=at, instances=1, time_zone=BERLIN, days=days)])


def test_of_another_zone_the_handler_finds_out() -> None:
    elsewhere = WakeUp(at="20:00", instances=1, time_zone="Asia/Tokyo")
    FleetSchedule(office_hours=[OFFICE], wake_ups=[elsewhere])


def test_a_schedule_that_is_longer_than_the_function_takes_is_refused() -> None:
    dates = [f"20{year}-{month:02}-01" for year in range(26, 60) for month in range(1, 13)]
    long = Hours(start="08:00", end="18:00", time_zone=BERLIN, exceptions=dates)
    with pytest.raises(ArgumentError, match="must be no longer than 3000 bytes as JSON"):
        FleetSchedule(office_hours=[long])


# --- the construct ----------------------------------------------------------------------------------------------------


def test_the_handler_reads_what_it_is_told() -> None:
    variables = environment()
    assert variables["AUTO_SCALING_GROUP_NAME"] == "<FleetAutoScalingGroupASG>"
    assert variables["STATE_PARAMETER"] == "<ScheduleState>"
    settings = read_settings(variables)
    assert (
        settings.plan
        == read_settings(
            {**variables, "SCHEDULE": SCHEDULE.settings(), "TEMPLATE_MIN_SIZE": "1", "TEMPLATE_MAX_SIZE": "8"}
        ).plan
    )


def test_the_function_may_change_the_sizes_of_this_group_and_nothing_else() -> None:
    (_, *granted) = role_statements(template(), "ScheduleHandlerRole")
    assert [(each["Action"], each["Resource"]) for each in granted] == [
        ("autoscaling:DescribeAutoScalingGroups", "*"),
        (["autoscaling:SetDesiredCapacity", "autoscaling:UpdateAutoScalingGroup"], THIS_GROUP),
        (
            ["ssm:GetParameter", "ssm:PutParameter"],
            "arn:<AWS::Partition>:ssm:<AWS::Region>:<AWS::AccountId>:parameter/<ScheduleState>",
        ),
    ]


def test_a_person_who_may_pause_may_do_that_alone() -> None:
    (policy,) = resources(template(), "AWS::IAM::Policy").values()
    (statement,) = plain(policy["Properties"]["PolicyDocument"]["Statement"])
    assert statement == {
        "Action": "lambda:InvokeFunction",
        "Effect": "Allow",
        "Resource": "<ScheduleHandlerFunction.Arn>",
    }


def test_it_runs_every_minute_and_no_old_word_counts() -> None:
    rule = properties(template(), "ScheduleEveryMinute", "AWS::Events::Rule")
    assert rule["ScheduleExpression"] == "rate(1 minute)"
    config = properties(template(), "ScheduleHandler", "AWS::Lambda::EventInvokeConfig")
    assert (config["MaximumEventAgeInSeconds"], config["MaximumRetryAttempts"]) == (60, 0)


def test_nothing_has_a_name_of_its_own() -> None:
    state = properties(template(), "ScheduleState", "AWS::SSM::Parameter")
    assert state == {"Type": "String", "Value": "{}"}
    function = properties(template(), "ScheduleHandler", "AWS::Lambda::Function")
    assert "FunctionName" not in function


def test_what_fails_or_does_not_run_is_told() -> None:
    alarm = properties(template(), "ScheduleStoppedAlarm", "AWS::CloudWatch::Alarm")
    expressions = [each["Expression"] for each in alarm["Metrics"] if "Expression" in each]
    assert expressions == ["(0 * desired + 1) - runs + 2 * errors"]
    assert plain(alarm["AlarmActions"]) == ["<FleetNotifications>"]
    watched = [each for each in alarm["Metrics"] if "MetricStat" in each]
    assert {each["Id"]: each["MetricStat"]["Metric"]["MetricName"] for each in watched} == {
        "runs": "Invocations",
        "errors": "Errors",
        "desired": "GroupDesiredCapacity",
    }
    assert {each["MetricStat"]["Period"] for each in watched} == {60}


@pytest.mark.parametrize(
    ("series", "tells"),
    [
        ({"runs": {0: 1}, "errors": {0: 0}, "desired": {0: 3}}, False),
        ({"runs": {0: 2}, "errors": {0: 0}, "desired": {0: 0}}, False),
        ({"runs": {0: 1}, "errors": {0: 1}, "desired": {0: 0}}, True),
        ({"runs": {0: 2}, "errors": {0: 1}, "desired": {0: 0}}, True),
        # A rule that is disabled: there is no point of the function's, and the group has one also at 0.
        ({"runs": {}, "errors": {}, "desired": {0: 0}}, True),
        ({"runs": {0: 1}, "errors": {0: 0}, "desired": {}}, False),
        ({"runs": {0: 1}, "errors": {0: 1}, "desired": {}}, True),
        ({"runs": {}, "errors": {}, "desired": {}}, False),
    ],
)
def test_the_alarm_is_about_runs(series: dict[str, dict[int, float]], tells: bool) -> None:
    alarm = properties(template(), "ScheduleStoppedAlarm", "AWS::CloudWatch::Alarm")
    (expression,) = [each["Expression"] for each in alarm["Metrics"] if "Expression" in each]
    values = evaluate(expression, Context(series, [0])).values()
    assert any(value > alarm["Threshold"] for value in values) is tells


def test_case_02_no_desired_capacity_is_in_the_template() -> None:
    assert "DesiredCapacity" not in only(template(), "AWS::AutoScaling::AutoScalingGroup")["Properties"]


def test_more_than_the_maximum_cannot_be_woken() -> None:
    many = FleetSchedule(wake_ups=[WakeUp(at="08:30", instances=9, time_zone=BERLIN)])
    with pytest.raises(ArgumentError, match=r"schedule\.wake_ups\.instances must not exceed max_capacity \(8\)"):
        scheduled(stack(), many)


def test_of_a_group_from_elsewhere_the_template_knows_no_sizes() -> None:
    test_stack = stack()
    group = autoscaling.AutoScalingGroup.from_auto_scaling_group_name(test_stack, "Group", "workers")
    topic = sns.Topic(test_stack, "Topic")
    ScheduledCapacity(
        test_stack, "Schedule", auto_scaling_group=group, schedule=SCHEDULE, alarm_action=SnsAction(topic)
    )
    variables = environment(dict(Template.from_stack(test_stack).to_json()))
    assert set(variables) == {"AUTO_SCALING_GROUP_NAME", "STATE_PARAMETER", "SCHEDULE"}
    assert read_settings(variables).plan.template is None


def test_no_rule_pack_has_a_finding() -> None:
    app = App()
    scheduled(Stack(app, "Test"))
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    app.synth()
