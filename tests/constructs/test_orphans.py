"""``OrphanSweep``: what it is told, what it may do, and that it is no part of a fleet unless made."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Duration, Stack, Token, Validations
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk.assertions import Template
from cdk_nag import AwsSolutionsChecks
from cfnlint import api  # type: ignore[import-untyped]

from constructs_lib.catalog import instance_prices, known_types, leftover_prices
from constructs_lib.errors import ArgumentError
from constructs_lib.fleet.orphans import OrphanSweep
from constructs_lib.telemetry import names
from orphan_sweep import report
from orphan_sweep.settings import read_settings
from tests.constructs.reading import as_list, plain, properties, resources, role_statements
from tests.handlers.sweeping import SWEEP_ENVIRONMENT
from tests.support.stacks import ROOT, fleet, fleet_template, project_context, stack

FLEET_VALUE = "Test/TestFleet72ECBEB0"
OURS = {"aws:ResourceTag/accelerated-fleet:id": FLEET_VALUE}
SNAPSHOTS = {"act": True, "snapshots_older_than": Duration.days(90)}


def sweep(test_stack: Stack | None = None, **options: Any) -> OrphanSweep:
    """A sweep beside the smallest fleet."""
    made = fleet(test_stack or stack())
    return OrphanSweep(Stack.of(made), "Sweep", fleet=made, **options)


VARIANTS: dict[str, dict[str, Any]] = {"dry run": {}, "acting": {"act": True}, "with snapshots": SNAPSHOTS}


@cache
def template(variant: str = "dry run") -> dict[str, Any]:
    return dict(Template.from_stack(Stack.of(sweep(**VARIANTS[variant]))).to_json())


def environment(made: dict[str, Any]) -> dict[str, Any]:
    variables = properties(made, "SweepHandler", "AWS::Lambda::Function")["Environment"]["Variables"]
    return dict(plain(variables))


def statements(variant: str = "dry run") -> list[dict[str, Any]]:
    return role_statements(template(variant), "SweepHandlerRole")


def test_a_fleet_has_none_unless_it_is_made() -> None:
    functions = resources(fleet_template(), "AWS::Lambda::Function").values()
    assert "orphan_sweep.index.handler" not in [each["Properties"]["Handler"] for each in functions]


def test_settings_name_the_fleet_and_a_dry_run() -> None:
    given = environment(template())
    for name in ("TYPE_USD_PER_HOUR", "USD_RATES"):
        given.pop(name)
    assert given == {
        "AUTO_SCALING_GROUP_NAME": "<FleetAutoScalingGroupASG>",
        "STACK_ID": "<AWS::StackId>",
        "FLEET_TAG_KEY": "accelerated-fleet:id",
        "FLEET_TAG_VALUE": FLEET_VALUE,
        "HOLD_TAG_KEY": "accelerated-fleet:hold",
        "ORPHAN_TAG_KEY": "accelerated-fleet:orphan",
        "ENDPOINTS_PATH": f"/accelerated-fleet/{FLEET_VALUE}/endpoints",
        "ACT": "false",
        "MIN_AGE_SECONDS": "86400",
        "TOPIC_ARN": "<FleetNotifications>",
        "METRIC_NAMESPACE": "AcceleratedFleet",
    }


@pytest.mark.parametrize("variant", ["dry run", "with snapshots"])
def test_the_function_takes_its_settings_and_lambda_has_room_for_them(variant: str) -> None:
    given = environment(template(variant))
    given["STACK_ID"] = SWEEP_ENVIRONMENT["STACK_ID"]
    settings = read_settings(given)
    assert settings.acts is (variant != "dry run")
    assert settings.prices.usd_per_hour == instance_prices()
    assert settings.prices.rates == leftover_prices()
    # 4 KB for all of them, with names that can be longer than in this stack.
    assert sum(len(name) + len(value) for name, value in given.items()) < 3500


def test_ages_are_as_asked() -> None:
    made = sweep(min_age=Duration.days(3), snapshots_older_than=Duration.days(90))
    given = environment(dict(Template.from_stack(Stack.of(made)).to_json()))
    assert (given["MIN_AGE_SECONDS"], given["SNAPSHOT_AGE_SECONDS"]) == ("259200", "7776000")


def test_it_runs_once_a_day_and_a_failed_run_is_repaired_by_the_next() -> None:
    made = template()
    rule = properties(made, "SweepDaily", "AWS::Events::Rule")
    assert rule["ScheduleExpression"] == "rate(1440 minutes)"
    configuration = properties(made, "SweepHandler", "AWS::Lambda::EventInvokeConfig")
    assert configuration["MaximumRetryAttempts"] == 0


def test_a_failed_sweep_reaches_the_topic() -> None:
    alarm = properties(template(), "SweepFailedAlarm", "AWS::CloudWatch::Alarm")
    assert (alarm["MetricName"], plain(alarm["AlarmActions"])) == ("Errors", ["<FleetNotifications>"])
    assert (alarm["Threshold"], alarm["TreatMissingData"]) == (0, "notBreaching")


def test_a_topic_of_its_own_and_its_key() -> None:
    test_stack = stack()
    topic = sns.Topic(test_stack, "Alerts", master_key=kms.Key(test_stack, "Key"), enforce_ssl=True)
    sweep(test_stack, notifications=topic)
    made = dict(Template.from_stack(test_stack).to_json())
    assert environment(made)["TOPIC_ARN"] == "<Alerts>"
    (policy,) = [each for id, each in resources(made, "AWS::IAM::Policy").items() if id.startswith("SweepHandler")]
    (statement,) = policy["Properties"]["PolicyDocument"]["Statement"]
    assert statement["Action"] == ["kms:Decrypt", "kms:GenerateDataKey"]


# --- what it may do --------------------------------------------------------------------------------------------------

MARKS = {
    ("ec2:CreateTags", "ec2:DeleteTags"),
    ("logs:TagResource", "logs:UntagResource"),
    ("ssm:AddTagsToResource", "ssm:RemoveTagsFromResource"),
}
ENDS = {
    (
        "ec2:DeleteLaunchTemplateVersions",
        "ec2:DeleteNetworkInterface",
        "ec2:DeleteSnapshot",
        "ec2:DeleteVolume",
        "ec2:ReleaseAddress",
        "ec2:TerminateInstances",
    ),
    ("logs:DeleteLogGroup",),
    ("ssm:DeleteParameter",),
}
READS = ("Describe", "Get", "List")
NOT_OF_THE_ACCOUNT = ("logs:CreateLogStream", "sns:Publish")


def mutating(variant: str = "dry run") -> dict[tuple[str, ...], dict[str, Any]]:
    """Statements that change something besides the function's own log and its messages, by their actions."""
    found = {tuple(as_list(each["Action"])): each for each in statements(variant)}
    return {
        actions: each
        for actions, each in found.items()
        if not actions[0].startswith(NOT_OF_THE_ACCOUNT)
        and not all(action.split(":")[1].startswith(READS) for action in actions)
    }


def test_a_dry_run_may_write_its_own_note_and_nothing_else() -> None:
    assert mutating().keys() == MARKS
    for statement in mutating().values():
        assert statement["Condition"] == {
            "StringEquals": OURS,
            "ForAllValues:StringEquals": {"aws:TagKeys": [names.ORPHAN_TAG]},
            "Null": {"aws:TagKeys": "false"},
        }


def test_case_37_what_it_frees_carries_this_fleets_tag_and_the_note_and_no_hold() -> None:
    made = mutating("with snapshots")
    assert made.keys() == MARKS | ENDS
    for actions in ENDS:
        assert made[actions]["Condition"] == {
            "StringEquals": OURS,
            "StringEqualsIgnoreCaseIfExists": {"aws:ResourceTag/accelerated-fleet:hold": "false"},
            "Null": {f"aws:ResourceTag/{names.ORPHAN_TAG}": "false"},
        }


def test_without_snapshots_it_may_not_touch_or_read_any() -> None:
    allowed = json.dumps(statements("acting"))
    assert "napshot" not in allowed
    assert "Images" not in allowed


def test_case_52_it_may_make_no_log_group() -> None:
    assert "CreateLogGroup" not in json.dumps(statements("with snapshots"))


def test_parameters_are_those_of_the_fleets_path() -> None:
    made = mutating("acting")
    path = f"parameter/accelerated-fleet/{FLEET_VALUE}/endpoints/*"
    assert made[("ssm:DeleteParameter",)]["Resource"].endswith(path)


def test_no_statement_names_every_action_or_changes_on_every_resource() -> None:
    for statement in statements("with snapshots"):
        assert not [action for action in as_list(statement["Action"]) if "*" in action]
    assert "*" not in [each["Resource"] for each in mutating("with snapshots").values()]


@pytest.mark.parametrize("context", [{}, project_context()])
@pytest.mark.parametrize("options", [{}, SNAPSHOTS])
def test_rule_packs_find_nothing(options: dict[str, Any], context: dict[str, Any]) -> None:
    app = App(context=context)
    sweep(Stack(app, "Test"), **options)
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    report = json.loads(Path(app.synth().directory, "validation-report.json").read_text())
    assert [each for each in report["pluginReports"] if each["conclusion"] != "success"] == []


def test_cfn_lint_finds_nothing() -> None:
    config = {"regions": ["us-east-1"], "ignore_checks": ["W3005"]}
    assert [str(each) for each in api.lint(json.dumps(template("with snapshots")), config=config)] == []


# --- names said on both sides ----------------------------------------------------------------------------------------


def test_metrics_are_those_that_the_function_publishes() -> None:
    assert names.SWEEP_METRICS == (report.ORPHANS_FOUND, report.ORPHAN_USD_PER_MONTH)
    made = sweep()
    for metric, name in zip((made.metric_orphans(), made.metric_usd_per_month()), names.SWEEP_METRICS, strict=True):
        assert (metric.namespace, metric.metric_name) == ("AcceleratedFleet", name)
        assert list(metric.dimensions or {}) == ["AutoScalingGroupName"]


def test_endpoints_have_a_path_that_names_stack_and_fleet() -> None:
    assert sweep().endpoints_path == f"/accelerated-fleet/{FLEET_VALUE}/endpoints"


def test_the_table_of_prices_says_where_and_when_they_were_read() -> None:
    text = (ROOT / "constructs_lib/catalog/data/leftover_prices.csv").read_text()
    head = "".join(line for line in text.splitlines(keepends=True) if line.startswith("#"))
    assert "Source: " in head
    assert "us-east-1 as of 2026-11-30" in head


def test_prices_are_known_for_what_can_be_running() -> None:
    assert instance_prices()["g6.xlarge"] == 0.8048
    assert not [name for name in instance_prices() if known_types()[name].status == "retired"]
    assert leftover_prices()["gp3"] == 0.08


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"act": "yes"}, "act must be of type bool"),
        ({"act": 1}, "act must be of type bool"),
        ({"min_age": Duration.minutes(59)}, "min_age must be whole seconds from 1 hours to 90 days, got '59 minutes'"),
        ({"min_age": Duration.days(91)}, "min_age must be .* to 90 days, got '91 days'"),
        ({"min_age": 24}, "min_age must be of type Duration"),
        ({"min_age": 0}, "min_age must be of type Duration, got 0"),
        ({"min_age": ""}, "min_age must be of type Duration, got ''"),
        ({"min_age": Duration.millis(3_600_001)}, "min_age must be whole seconds .* got '1 hour 1 milli'"),
        ({"min_age": Duration.hours(Token.as_number({"Ref": "X"}))}, "min_age must be known at synth, got 'a token'"),
        ({"snapshots_older_than": Duration.millis(1)}, "snapshots_older_than must be whole seconds"),
        ({"snapshots_older_than": Duration.hours(23)}, "snapshots_older_than must be whole seconds from 24 hours"),
        ({"snapshots_older_than": "90 days"}, "snapshots_older_than must be of type Duration"),
        ({"notifications": "arn:aws:sns:x"}, "notifications must be an sns.ITopic"),
    ],
)
def test_bad_arguments_name_the_cure(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=f"^Test/Sweep: {message}.*; .+"):
        sweep(**options)


def test_a_fleet_must_be_a_fleet() -> None:
    with pytest.raises(ArgumentError, match="fleet must be of type AcceleratedFleet"):
        OrphanSweep(stack(), "Sweep", fleet="Fleet")  # type: ignore[arg-type]


def test_a_fleet_of_another_stack_is_refused() -> None:
    app = App()
    made = fleet(Stack(app, "One"))
    with pytest.raises(ArgumentError, match="fleet must be a fleet of the sweep's own stack"):
        OrphanSweep(Stack(app, "Two"), "Sweep", fleet=made)


def test_a_second_sweep_of_a_fleet_is_refused() -> None:
    test_stack = stack()
    one, two = fleet(test_stack, "One"), fleet(test_stack, "Two")
    for id, each in (("First", one), ("Second", two)):
        OrphanSweep(test_stack, id, fleet=each)
    words = r"^Test/Third: fleet must be a fleet without another sweep \(Test/First\), got 'Test/One'; remove one"
    with pytest.raises(ArgumentError, match=words):
        OrphanSweep(test_stack, "Third", fleet=one, act=True)


def test_none_equals_omission() -> None:
    nothing: dict[str, Any] = dict.fromkeys(["act", "snapshots_older_than", "min_age", "notifications"])
    assert Template.from_stack(Stack.of(sweep(**nothing))).to_json() == template()
