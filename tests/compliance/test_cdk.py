"""The rules as a validation of the CDK's own synthesis, and suppressions in the construct tree."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsii
import pytest
from aws_cdk import (
    Acknowledgment,
    App,
    Aspects,
    CfnParameter,
    CfnResource,
    Environment,
    IAspect,
    NestedStack,
    Stack,
    Stage,
    Validations,
)
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from aws_cdk.assertions import Template
from constructs import Construct, IConstruct

from constructs_lib.compliance import RULES, AcceleratorChecks, check_template, suppress
from constructs_lib.compliance.counting import FailOn
from constructs_lib.errors import ArgumentError

RULE = "instance-metadata-v1"
ID = f"accel-fleet::{RULE}"
MUST = "LaunchTemplateData.MetadataOptions.HttpTokens must be 'required', got 'optional'"


def launch_template(scope: Construct, id: str = "Own", tokens: str = "optional") -> ec2.CfnLaunchTemplate:
    """A launch template of somebody who knows none of our constructs."""
    return ec2.CfnLaunchTemplate(
        scope,
        f"{id}Launch",
        launch_template_data=ec2.CfnLaunchTemplate.LaunchTemplateDataProperty(
            instance_type="g6.xlarge",
            metadata_options=ec2.CfnLaunchTemplate.MetadataOptionsProperty(http_tokens=tokens),
        ),
    )


def group_of(
    scope: Construct, template: ec2.CfnLaunchTemplate, id: str = "Own", *, instance_type: str | None = None
) -> None:
    """A group that launches so. ``instance_type``: in place of the launch template's."""
    used = autoscaling.CfnAutoScalingGroup.LaunchTemplateSpecificationProperty(
        launch_template_id=template.ref, version=template.attr_latest_version_number
    )
    override = autoscaling.CfnAutoScalingGroup.LaunchTemplateOverridesProperty(instance_type=instance_type)
    mixed = autoscaling.CfnAutoScalingGroup.MixedInstancesPolicyProperty(
        launch_template=autoscaling.CfnAutoScalingGroup.LaunchTemplateProperty(
            launch_template_specification=used, overrides=[override]
        )
    )
    autoscaling.CfnAutoScalingGroup(
        scope,
        f"{id}Group",
        min_size="0",
        max_size="4",
        launch_template=used if instance_type is None else None,
        mixed_instances_policy=None if instance_type is None else mixed,
    )


def group(scope: Construct, id: str = "Own", tokens: str = "optional") -> CfnResource:
    """Both; its metadata service takes version 1, a warning."""
    template = launch_template(scope, id, tokens)
    group_of(scope, template, id)
    return template


def checks(fail_on: FailOn | None = None, **more: Any) -> AcceleratorChecks:
    return AcceleratorChecks(select=[RULE], fail_on=fail_on, **more)


def app_with(*plugins: AcceleratorChecks) -> tuple[App, Stack]:
    app = App()
    Validations.of(app).add_plugins(*plugins)
    return app, Stack(app, "Test")


def report(app: Stage) -> Mapping[str, Any]:
    """What the CDK wrote of our plugin. Empty: nothing to say."""
    written = json.loads(Path(app.synth().directory, "validation-report.json").read_text())
    own = [each for each in written["pluginReports"] if each["pluginName"] == "accel-fleet"]
    return dict(own[0]) if own else {}


def places(violations: list[Mapping[str, Any]]) -> dict[str, str]:
    """The rule that each construct breaks."""
    return {each["violatingConstructs"][0]["constructPath"]: each["ruleName"] for each in violations}


def answers(folder: str, name: str = "*") -> dict[str, list[Any]]:
    """The suppressions in the metadata of each resource of an assembly."""
    found = {}
    for file in Path(folder).rglob(f"{name}.template.json"):
        for id, resource in json.loads(file.read_text())["Resources"].items():
            found[id] = resource.get("Metadata", {}).get("accel-fleet", {}).get("suppress", [])
    return found


# --- the validation ---------------------------------------------------------------------------------------------------


def test_a_finding_fails_the_synthesis_and_says_what_to_do() -> None:
    app, stack = app_with(checks())
    group(stack)
    with pytest.raises(RuntimeError) as caught:
        app.synth()
    for part in (MUST, "Test/OwnLaunch (OwnLaunch)", "set MetadataOptions: {HttpTokens: required}", ID):
        assert part in str(caught.value)


def test_an_app_that_keeps_the_rules_is_not_disturbed() -> None:
    app, stack = app_with(checks())
    group(stack, tokens="required")
    assert report(app) == {}


def test_an_app_without_accelerators_is_not_disturbed() -> None:
    app, stack = app_with(AcceleratorChecks())
    ec2.CfnLaunchTemplate(
        stack,
        "Launch",
        launch_template_data=ec2.CfnLaunchTemplate.LaunchTemplateDataProperty(instance_type="c7i.large"),
    )
    assert report(app) == {}


@pytest.mark.parametrize("fail_on", ["error", "none"])
def test_a_finding_below_the_bar_is_shown_and_lets_the_synthesis_pass(fail_on: FailOn) -> None:
    app, stack = app_with(checks(fail_on))
    group(stack)
    found = report(app)
    assert found["conclusion"] == "success"
    (violation,) = found["violations"]
    assert violation["severity"] == "warning"
    assert violation["description"] == f"OwnLaunch: {MUST}"
    assert violation["ruleMetadata"]["link"].startswith("https://docs.aws.amazon.com/")
    resource = violation["violatingConstructs"][0]["cloudFormationResource"]
    assert resource == {
        "templatePath": "Test.template.json",
        "logicalId": "OwnLaunch",
        "propertyPaths": ["Properties.LaunchTemplateData.MetadataOptions.HttpTokens"],
    }


def test_stacks_in_stages_and_nested_stacks_are_checked_too() -> None:
    app, stack = app_with(checks("none"))
    group(NestedStack(NestedStack(stack, "Outer"), "Inner"))
    group(Stack(Stage(app, "Prod"), "Test"))
    assert places(report(app)["violations"]) == {"Test/Outer/Inner/OwnLaunch": RULE, "Prod/Test/OwnLaunch": RULE}


def test_added_to_a_stage_it_asks_about_that_one_only() -> None:
    app = App()
    for name in ("Beta", "Prod"):
        group(Stack(Stage(app, name), "Test"))
    stage = app.node.find_child("Prod")
    assert isinstance(stage, Stage)
    Validations.of(stage).add_plugins(checks("none"))
    assert places(report(app)["violations"]) == {"Prod/Test/OwnLaunch": RULE}


def test_a_launch_template_of_another_stack_is_known() -> None:
    app, stack = app_with(checks("none"))
    group_of(Stack(app, "Other"), launch_template(stack))
    found = report(app)
    assert set(places(found["violations"])) == {"Test/OwnLaunch"}
    assert found["metadata"]["notJudged"] == "0"


def test_what_only_a_deploy_tells_is_no_violation() -> None:
    app, stack = app_with(checks("none"))
    group(stack, tokens=CfnParameter(stack, "Tokens").value_as_string)
    assert report(app) == {}


@pytest.mark.parametrize(
    "options", [{"ignore": ["instance-metadata-*"]}, {"select": [id for id in RULES if id != RULE]}]
)
def test_rules_can_be_chosen(options: dict[str, Any]) -> None:
    app, stack = app_with(AcceleratorChecks(**options, fail_on="none"))
    group(stack)
    assert RULE not in places(report(app).get("violations", [])).values()


def test_the_report_names_no_file_of_this_machine() -> None:
    app, stack = app_with(checks("none"))
    group(NestedStack(Stack(Stage(app, "Prod"), "Test"), "Inner"))
    group(stack)
    resources = [each["violatingConstructs"][0]["cloudFormationResource"] for each in report(app)["violations"]]
    assert all(not Path(each["templatePath"]).is_absolute() for each in resources)
    assert all(Path(app.outdir, each["templatePath"]).is_file() for each in resources)


# --- the CDK's own acknowledgements -----------------------------------------------------------------------------------


def test_what_is_acknowledged_to_the_cdk_is_no_violation_for_it() -> None:
    app, stack = app_with(checks())
    team = Construct(stack, "Team")
    group(team)
    Validations.of(team).acknowledge(Acknowledgment(id=ID, reason="the agent of this image knows version 1 only"))
    found = report(app)
    assert found["conclusion"] == "success"
    assert found["violations"] == []
    assert found["suppressedViolations"][0]["reason"] == "the agent of this image knows version 1 only"


def test_another_finding_beside_an_acknowledged_one_still_fails() -> None:
    """The CDK then forgets what the plugin said, and looks for errors."""
    app, stack = app_with(checks())
    Validations.of(group(stack, "First")).acknowledge(Acknowledgment(id=ID, reason="known"))
    group(stack, "Second")
    with pytest.raises(RuntimeError, match="Test/SecondLaunch") as caught:
        app.synth()
    assert "Test/FirstLaunch" not in str(caught.value)


# --- suppressions -----------------------------------------------------------------------------------------------------


def test_a_suppression_reaches_all_below_also_what_is_added_later() -> None:
    app, stack = app_with(checks())
    team = Construct(stack, "Team")
    group(team, "First")
    suppress(team, RULE, reason="known to the team")
    group(team, "Second")
    assert report(app) == {}
    assert [*answers(app.outdir).values()] == [[{"rule": RULE, "reason": "known to the team"}]] * 4


def test_a_suppression_reaches_nested_stacks_and_stages() -> None:
    app, stack = app_with(checks())
    group(NestedStack(stack, "Nested"))
    group(Stack(Stage(app, "Prod"), "Test"), "Deep")
    suppress(app, RULE, reason="known to all")
    assert report(app) == {}
    assert all(each == [{"rule": RULE, "reason": "known to all"}] for each in answers(app.outdir).values())


def test_a_suppression_reaches_what_an_aspect_adds() -> None:
    @jsii.implements(IAspect)
    class Adds:
        def visit(self, node: IConstruct) -> None:
            if node.node.path == "Test/Team" and node.node.try_find_child("OwnLaunch") is None:
                assert isinstance(node, Construct)
                group(node)

    app, stack = app_with(checks())
    team = Construct(stack, "Team")
    suppress(team, RULE, reason="known")
    Aspects.of(stack).add(Adds())
    assert report(app) == {}


def test_a_stage_that_the_suppression_would_miss_is_refused() -> None:
    app = App()
    Stage(app, "Beta")
    suppress(app, RULE, reason="known")
    group(Stack(Stage(app, "Prod"), "Test"))
    with pytest.raises(RuntimeError, match=r"App: construct must have all its stages .*, got 'Prod'; call suppress"):
        app.synth()


def test_nothing_else_is_suppressed() -> None:
    app, stack = app_with(checks("none"))
    suppress(group(stack, "First"), RULE, reason="known")
    group(stack, "Second")
    assert set(places(report(app)["violations"])) == {"Test/SecondLaunch"}
    assert {id for id, each in answers(app.outdir).items() if each} == {"FirstLaunch"}


def test_the_nearer_reason_goes_before_and_rules_add_up() -> None:
    stack = Stack(App(), "Test")
    launch = group(stack)
    launch.add_metadata("accel-fleet", {"suppress": [{"rule": "by-hand", "reason": "written here"}], "owner": "us"})
    suppress(stack, RULE, reason="from above")
    suppress(launch, RULE, reason="  nearer ")
    found = Template.from_stack(stack).to_json()["Resources"]
    assert found["OwnLaunch"]["Metadata"]["accel-fleet"] == {
        "suppress": [{"rule": RULE, "reason": "nearer"}, {"rule": "by-hand", "reason": "written here"}],
        "owner": "us",
    }
    assert found["OwnGroup"]["Metadata"]["accel-fleet"]["suppress"] == [{"rule": RULE, "reason": "from above"}]


def test_the_check_of_the_template_shows_it_with_its_reason() -> None:
    app = App()
    stack = Stack(app, "Test", env=Environment(region="us-east-1"))
    suppress(group(stack), RULE, reason="known to the team")
    found = check_template(app.synth().directory, select=[RULE])
    assert [(each.finding.rule, each.finding.resource, each.reason) for each in found.suppressed] == [
        (RULE, "OwnLaunch", "known to the team")
    ]
    assert found.findings == ()


def test_a_template_without_suppressions_is_as_it_was() -> None:
    plain, checked = Stack(App(), "Test"), app_with(checks("none"))[1]
    for each in (plain, checked):
        group(each)
    assert Template.from_stack(plain).to_json() == Template.from_stack(checked).to_json()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"rule": "instance-metadata"},
            "Test: rule must be the id of a rule, got 'instance-metadata'; did you mean 'instance-m",
        ),
        ({"rule": 1}, "Test: rule must be the id of a rule, got 1; accel-fleet check --list"),
        ({"reason": "  "}, "Test: reason must be a text that is not empty, got '  '; say why it stays"),
        ({"reason": None}, "Test: reason must be a text that is not empty, got None; say why it stays"),
        ({"construct": "Test"}, "suppress: construct must be of type Construct, got 'Test'; give the construct"),
    ],
)
def test_a_suppression_that_nobody_can_act_on_is_refused(arguments: dict[str, Any], message: str) -> None:
    given = {"construct": Stack(App(), "Test"), "rule": RULE, "reason": "known", **arguments}
    with pytest.raises(ArgumentError) as caught:
        suppress(**given)
    assert str(caught.value).startswith(message)
