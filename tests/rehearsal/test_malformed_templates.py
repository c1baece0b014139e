"""A template with something that is not as it has to be: one line names where it stands, and nothing runs."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from typing import Any

import pytest

from constructs_lib.errors import ArgumentError, FleetError
from constructs_lib.rehearsal.cloud.hooks import TERMINATING
from constructs_lib.rehearsal.run import rehearse
from constructs_lib.rehearsal.template import Template
from tests.rehearsal.cloud.plain import Body, plain_template, policy, resource, tracking
from tests.rehearsal.fleets import SCENARIO, queue_fleet, trace

ONE_JOB = trace((0, 60))
METRIC = {"Namespace": "App", "MetricName": "Busy", "Dimensions": [{"Name": "Fleet", "Value": "F"}]}
SERIES = {"Id": "m", "MetricStat": {"Metric": METRIC, "Stat": "Sum", "Period": 60}}
ALARM = {
    "ComparisonOperator": "LessThanThreshold",
    "EvaluationPeriods": 3,
    "Threshold": 1,
    "AlarmActions": [{"Ref": "Fewer"}],
    "Metrics": [SERIES],
}
STEPS = policy("StepScaling", AdjustmentType="ChangeInCapacity", StepAdjustments=[{"ScalingAdjustment": -1}])


def _plain(more: dict[str, Body] | None = None, **group: Any) -> Body:
    others = {"Alarm": resource("CloudWatch::Alarm", **copy.deepcopy(ALARM)), "Fewer": STEPS}
    return plain_template({**others, **(more or {})}, **group)


def _changed(body: Body, path: str, value: object = None) -> Body:
    """Put something else at a place of a template, or take away what is there."""
    changed = copy.deepcopy(body)
    *outer, last = [int(step) if step.isdigit() else step for step in path.split("/")]
    place: Any = changed
    for step in outer:
        place = place[step]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return changed


def _complaint(body: Any) -> str:
    with pytest.raises(FleetError) as caught:
        rehearse(body, ONE_JOB, scenario=SCENARIO)
    said = str(caught.value)
    assert "\n" not in said
    assert re.match(r".+: .+ must .+, got .+; .+", said)
    return said


def test_the_template_of_these_cases_is_fine_as_it_is() -> None:
    assert rehearse(_plain(), ONE_JOB, scenario=SCENARIO).figures.unfinished == 1


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ([], "template: value must be an object"),
        ({}, "template: Resources must be an object, got None"),
        ({"Resources": []}, "template: Resources must be an object"),
        ({"Resources": {"A": None}}, "A: resource must be an object"),
        ({"Resources": {"A": {}}}, "A: Type must be the type of the resource, got None"),
        ({"Resources": {"A": {"Type": 3}}}, "A: Type must be the type of the resource, got 3"),
        ({"Resources": {"A": {"Type": "X", "Properties": []}}}, "A: Properties must be an object"),
        ({"Resources": {"A": {"Type": "X", "Condition": []}}}, "A: Condition must name a condition"),
        ({"Resources": {}, "Parameters": []}, "template: Parameters must be an object"),
        ({"Resources": {}, "Conditions": 1}, "template: Conditions must be an object"),
        ({"Resources": {}, "Mappings": "m"}, "template: Mappings must be an object"),
    ],
)
def test_what_is_no_template(body: Any, named: str) -> None:
    assert _complaint(body).startswith(named)


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        ("Workers/Properties/MinSize", None, "Workers: MinSize must be given"),
        ("Workers/Properties/MinSize", "few", "Workers: MinSize must be a whole number from 0"),
        ("Workers/Properties/MinSize", -1, "Workers: MinSize must be a whole number from 0"),
        ("Workers/Properties/MaxSize", 1.5, "Workers: MaxSize must be a whole number from 0"),
        ("Workers/Properties/MaxSize", "9" * 400, "Workers: MaxSize must be a whole number from 0"),
        ("Workers/Properties/MaxSize", True, "Workers: MaxSize must be a whole number from 0"),
        (
            "Launch/Properties/LaunchTemplateData/InstanceType",
            "",
            "Launch: LaunchTemplateData.InstanceType must be a text",
        ),
        ("Workers/Properties/LaunchTemplate", "lt-1", "Workers: LaunchTemplate must be an object"),
        ("Workers/Properties/Tags", [{"Key": "a"}], "Workers: Tags[0].Value must be given"),
        ("Launch/Properties/LaunchTemplateData", [], "Launch: LaunchTemplateData must be an object"),
        (
            "Launch/Properties/LaunchTemplateData/InstanceType",
            [],
            "Launch: LaunchTemplateData.InstanceType must be a text",
        ),
        ("Alarm/Properties/Threshold", None, "Alarm: Threshold must be given"),
        ("Alarm/Properties/Threshold", "high", "Alarm: Threshold must be a number"),
        ("Alarm/Properties/EvaluationPeriods", None, "Alarm: EvaluationPeriods must be given"),
        ("Alarm/Properties/ComparisonOperator", None, "Alarm: ComparisonOperator must be given"),
        ("Alarm/Properties/AlarmActions", "Fewer", "Alarm: AlarmActions must be a list"),
        ("Alarm/Properties/AlarmActions/0", {}, "Alarm: AlarmActions[0] must be a text"),
        ("Alarm/Properties/Metrics", "m", "Alarm: Metrics must be a list"),
        ("Alarm/Properties/Metrics/0", "m", "Alarm: Metrics[0] must be an object"),
        ("Alarm/Properties/Metrics/0/Id", None, "Alarm: Metrics[0].Id must be given"),
        ("Alarm/Properties/Metrics/0/MetricStat/Stat", None, "Alarm: Metrics[0].MetricStat.Stat must be given"),
        ("Alarm/Properties/Metrics/0/MetricStat/Period", "x", "Alarm: Metrics[0].MetricStat.Period must be a whole"),
        ("Alarm/Properties/Metrics/0/MetricStat/Metric/Namespace", None, "Alarm: Metrics[0].MetricStat.Metric.Namesp"),
        ("Alarm/Properties/Metrics/0/MetricStat/Metric/Dimensions/0", 1, "Alarm: Metrics[0].MetricStat.Metric.Dimensi"),
        ("Fewer/Properties/AdjustmentType", None, "Fewer: AdjustmentType must be given"),
        ("Fewer/Properties/AdjustmentType", "Less", "Fewer: AdjustmentType must be one of ChangeInCapacity, Exact"),
        ("Fewer/Properties/StepAdjustments", None, "Fewer: StepAdjustments must be given"),
        ("Fewer/Properties/StepAdjustments/0", {}, "Fewer: StepAdjustments[0].ScalingAdjustment must be given"),
    ],
)
def test_property_of_another_shape(path: str, value: object, named: str) -> None:
    assert _complaint(_changed(_plain(), f"Resources/{path}", value)).startswith(named)


@pytest.mark.parametrize(
    ("function", "named"),
    [
        ({"Ref": ["x"]}, "Workers: MaxSize must be known, and Ref is not written as"),
        ({"Fn::If": ["a", "b"]}, "Workers: MaxSize must be known, and Fn::If is not written as"),
        ({"Fn::If": [["x"], 1, 2]}, "Workers: MaxSize must be known, and Fn::If is not written as"),
        ({"Fn::Sub": 7}, "Workers: MaxSize must be known, and Fn::Sub is not written as"),
        ({"Fn::Sub": ["${A}"]}, "Workers: MaxSize must be known, and Fn::Sub is not written as"),
        ({"Fn::FindInMap": 1}, "Workers: MaxSize must be known, and Fn::FindInMap is not written as"),
        ({"Fn::GetAtt": 3}, "Workers: MaxSize must be known, and Fn::GetAtt is not written as"),
        ({"Fn::Split": "a"}, "Workers: MaxSize must be known, and Fn::Split is not written as"),
        ({"Fn::If": ["Circle", 1, 2]}, "Workers: MaxSize must be known, and condition Circle refers to itself"),
        ({"Fn::If": ["Odd", 1, 2]}, "Workers: MaxSize must be known, and condition Odd is not made of Fn::Equals"),
        ({"Fn::If": ["Empty", 1, 2]}, "Workers: MaxSize must be known, and condition Empty is not made of Fn::Equals"),
    ],
)
def test_function_that_is_given_something_else_than_it_takes(function: Body, named: str) -> None:
    conditions = {
        "Circle": {"Fn::Not": [{"Condition": "Circle"}]},
        "Odd": {"Fn::Equals": ["a"]},
        "Empty": {"Fn::Not": []},
    }
    assert _complaint({**_plain(MaxSize=function), "Conditions": conditions}).startswith(named)


@pytest.mark.parametrize(
    ("expressions", "named"),
    [
        (["m +"], "alarm Alarm: m +: "),
        (["m + nowhere"], "alarm Alarm: m + nowhere: unknown id 'nowhere'"),
        (["SEARCH('x', 'Sum')"], "alarm Alarm: SEARCH('x', 'Sum'): "),
        (["m + " + "9" * 400], "alarm Alarm: m + 999"),
        (["-" * 5000 + "m"], "alarm Alarm: -----"),
        (["0"], "alarm Alarm: 0: the result is one number"),
        (["e1 + 1", "e0 + 1"], "alarm Alarm: expressions in a circle: e0, e1"),
    ],
)
def test_expression_that_cannot_be_evaluated(expressions: Sequence[str], named: str) -> None:
    asked = [{"Id": f"e{index}", "Expression": each, "ReturnData": not index} for index, each in enumerate(expressions)]
    body = _changed(_plain(), "Resources/Alarm/Properties/Metrics", [{**SERIES, "ReturnData": False}, *asked])
    with pytest.raises(FleetError) as caught:
        rehearse(body, ONE_JOB, scenario=SCENARIO)
    assert str(caught.value).startswith(named)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"StartTime": "soon"}, "Night: time must be a date with its time, got 'soon'"),
        ({"Recurrence": "0 8 * *"}, "Night: schedule must be"),
        ({"Recurrence": "0 8 * * *", "TimeZone": "Mars"}, "Night: time zone must be the IANA name of a time zone"),
        ({"MinSize": "few"}, "Night: MinSize must be a whole number"),
    ],
)
def test_scheduled_action_that_makes_no_sense(given: Body, named: str) -> None:
    action = resource(
        "AutoScaling::ScheduledAction", AutoScalingGroupName={"Ref": "Workers"}, **{"MinSize": 1, **given}
    )
    assert _complaint(plain_template({"Night": action})).startswith(named)


def test_target_of_nothing_is_refused() -> None:
    assert _complaint(plain_template({"Track": tracking(0)})).startswith(
        "Track: TargetTrackingConfiguration.TargetValue must be above 0, got 0"
    )


def test_rule_that_is_nested_too_deeply() -> None:
    rule = "(" * 5000 + "TRUE" + ")" * 5000
    body = plain_template({"Deep": resource("CloudWatch::CompositeAlarm", AlarmRule=rule)})
    assert _complaint(body).startswith("Deep: AlarmRule must be nested less deeply")


def test_target_that_is_missing_is_named() -> None:
    body = plain_template({"Track": tracking(5, CustomizedMetricSpecification={"MetricName": "Backlog"})})
    where = "Track: TargetTrackingConfiguration.CustomizedMetricSpecification"
    assert _complaint(body).startswith(f"{where}.Statistic must be given")


def test_a_hook_of_its_own_need_have_no_name() -> None:
    hook = resource(
        "AutoScaling::LifecycleHook", AutoScalingGroupName={"Ref": "Workers"}, LifecycleTransition=TERMINATING
    )
    _, properties = Template(plain_template({"Goes": hook})).group()
    assert [each["LifecycleHookName"] for each in properties["LifecycleHookSpecificationList"]] == ["Goes"]


@pytest.mark.parametrize(
    ("sizes", "named"),
    [
        ({"MinSize": 3, "MaxSize": 1}, "Workers: MinSize must be at most MaxSize, which is 1, got 3"),
        (
            {"MinSize": 2, "DesiredCapacity": 1},
            "Workers: DesiredCapacity must be from MinSize to MaxSize, 2 to 10, got 1",
        ),
        (
            {"MinSize": 999_999_999, "MaxSize": 999_999_999},
            "Workers: MinSize must be at most 10,000 to be rehearsed, got 999999999; rehearse a smaller group",
        ),
        (
            {"DesiredCapacity": 10_001, "MaxSize": 20_000},
            "Workers: DesiredCapacity must be at most 10,000 to be rehearsed, got 10001",
        ),
        ({"DesiredCapacity": "11"}, "Workers: DesiredCapacity must be from MinSize to MaxSize, 0 to 10, got 11"),
    ],
)
def test_sizes_that_auto_scaling_refuses(sizes: Body, named: str) -> None:
    assert _complaint(plain_template(**sizes)).startswith(named)


def test_group_that_can_have_nobody_has_nothing_to_be_compared_with() -> None:
    body = plain_template(MaxSize=0)
    assert rehearse(body, ONE_JOB, scenario=SCENARIO).figures.unfinished == 1
    with pytest.raises(ArgumentError, match=r"^Workers: MaxSize must be at least 1 for a plain group"):
        rehearse(body, ONE_JOB, scenario=SCENARIO, compare=True)


def _of_types(*types: str) -> Body:
    overrides = [{"InstanceType": each} for each in types]
    launch = {"LaunchTemplateSpecification": {"LaunchTemplateId": {"Ref": "Launch"}}, "Overrides": overrides}
    return plain_template(MixedInstancesPolicy={"LaunchTemplate": launch}, MinSize=1)


def test_group_without_the_library_has_the_accelerators_that_the_catalogue_knows() -> None:
    found = rehearse(_of_types("p5.48xlarge"), trace((0, 60, 8)), scenario=SCENARIO)
    assert (found.record.accelerators, found.figures.done) == (8, 1)

    unknown = rehearse(_of_types("x9.new"), ONE_JOB, scenario=SCENARIO)
    assert unknown.record.accelerators == 1
    assert "the catalogue does not know x9.new: it is taken to have one accelerator" in unknown.record.notes

    assert _complaint(_of_types("g6.xlarge", "g5.12xlarge")).startswith(
        "Workers: instance types must launch types with the same number of accelerators"
    )


# --- fleets of the library -------------------------------------------------------------------------------------------


def _only(body: Body, kind: str, containing: str = "") -> str:
    (found,) = [
        name for name, each in body["Resources"].items() if each["Type"] == f"AWS::{kind}" and containing in name
    ]
    return str(found)


@pytest.fixture(scope="module")
def fleet() -> Body:
    return queue_fleet()


def test_handler_that_is_not_the_one_of_its_package(fleet: Body) -> None:
    name = _only(fleet, "Lambda::Function", "ReleaseHandler")
    said = _complaint(_changed(fleet, f"Resources/{name}/Properties/Handler", "release_idle.other"))
    assert said.startswith(f"{name}: Handler must be one that is simulated, got 'release_idle.other'")


def test_pattern_of_events_with_filters_is_refused_where_a_function_of_the_fleet_waits_for_them(fleet: Body) -> None:
    (name,) = [
        each for each, body in fleet["Resources"].items() if "GroupGoes" in each and body["Type"] == "AWS::Events::Rule"
    ]
    said = _complaint(_changed(fleet, f"Resources/{name}/Properties/EventPattern/source", [{"prefix": "aws."}]))
    assert said.startswith(f"{name}: EventPattern source must be a list of values, got [{{'prefix': 'aws.'}}]")


def test_role_that_does_not_allow_what_creating_the_fleet_takes(fleet: Body) -> None:
    name = _only(fleet, "IAM::Role", "CleanupHandlerRole")
    said = _complaint(_changed(fleet, f"Resources/{name}/Properties/Policies", []))
    assert "custom resource must be something whose Create succeeds" in said


def test_agent_configuration_that_no_agent_can_read(fleet: Body) -> None:
    name = _only(fleet, "SSM::Parameter", "AgentConfiguration")
    place = f"Resources/{name}/Properties/Value"
    assert "agent configuration must be JSON" in _complaint(_changed(fleet, place, "{"))
    assert "agent configuration.metrics must be given" in _complaint(_changed(fleet, place, "{}"))


def test_user_data_that_was_cut(fleet: Body) -> None:
    name = _only(fleet, "EC2::LaunchTemplate")
    place = f"Resources/{name}/Properties/LaunchTemplateData/UserData"
    assert "UserData must be a fleet's, with" in _complaint(_changed(fleet, place, "AGENT_SOURCES="))


def test_state_that_no_pass_has_written_is_the_handlers_own_matter(fleet: Body) -> None:
    name = _only(fleet, "SSM::Parameter", "ReleaseState")
    found = rehearse(_changed(fleet, f"Resources/{name}/Properties/Value", "-"), ONE_JOB, scenario=SCENARIO)
    assert found.figures.done == 1


def test_drain_whose_hook_the_group_does_not_have_ends_by_itself(fleet: Body) -> None:
    group = _only(fleet, "AutoScaling::AutoScalingGroup")
    hooks = f"Resources/{group}/Properties/LifecycleHookSpecificationList"
    renamed = {
        "LifecycleHookName": "Another",
        "LifecycleTransition": TERMINATING,
        "HeartbeatTimeout": 600,
        "DefaultResult": "CONTINUE",
    }
    found = rehearse(_changed(fleet, hooks, [renamed]), ONE_JOB, scenario=SCENARIO)
    (instance,) = found.record.instances
    assert instance.ended_s is not None
    assert instance.drain_from_s is not None
    assert instance.ended_s - instance.drain_from_s >= 600


def test_errors_are_argument_errors_where_the_value_is_to_blame(fleet: Body) -> None:
    with pytest.raises(ArgumentError, match=r"^Workers: MinSize must be given, got None; add it to the template$"):
        Template(_changed(_plain(), "Resources/Workers/Properties/MinSize")).group()
