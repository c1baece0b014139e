"""The assertion for the tests of those who use accelerators."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Environment, NestedStack, Stack, Stage
from aws_cdk.assertions import Template

from constructs_lib.compliance import assert_compliant, suppress
from constructs_lib.errors import ArgumentError
from tests.compliance.cases import group as plain_group
from tests.compliance.test_cdk import MUST, RULE, group, group_of, launch_template
from tests.support.stacks import ROOT

OPTIONAL, REQUIRED = (
    plain_group(launch={"MetadataOptions": {"HttpTokens": tokens}}) for tokens in ("optional", "required")
)


def findings(subject: Any, **options: Any) -> list[str]:
    """Resources that the message names."""
    try:
        assert_compliant(subject, **{"select": [RULE], **options})
    except AssertionError as error:
        return re.findall(rf"{RULE}: (\w+): ", str(error))
    return []


def test_the_message_has_resource_property_value_cure_and_place(tmp_path: Path) -> None:
    file = tmp_path / "group.json"
    file.write_text(json.dumps(OPTIONAL, indent=1))
    with pytest.raises(AssertionError) as caught:
        assert_compliant(file, select=[RULE])
    first, *lines = str(caught.value).splitlines()
    assert first == "1 finding"
    assert lines == [
        "",
        f"warning {RULE}: Launch: {MUST}",
        "    cure: set MetadataOptions: {HttpTokens: required} in the launch template",
        f"    in {file}:9",
    ]


def test_a_template_that_keeps_the_rules_passes() -> None:
    assert_compliant(REQUIRED, select=[RULE])
    assert_compliant({"Resources": {}})


def test_warnings_count_unless_somebody_says_otherwise() -> None:
    assert findings(OPTIONAL) == ["Launch"]
    assert findings(OPTIONAL, fail_on="warning") == ["Launch"]
    assert findings(OPTIONAL, fail_on="error") == []


def test_rules_can_be_left_out() -> None:
    assert findings(OPTIONAL, select=None, ignore=["*-v1"], fail_on="none") == []
    assert RULE not in "".join(findings(OPTIONAL, select=None, ignore=[RULE]))


def test_of_a_path_as_text_as_path_and_of_an_assembly(tmp_path: Path) -> None:
    app = App(outdir=str(tmp_path))
    group(Stack(app, "Test"))
    app.synth()
    for subject in (tmp_path, str(tmp_path), tmp_path / "Test.template.json", str(tmp_path / "Test.template.json")):
        assert findings(subject) == ["OwnLaunch"]


def test_of_whatever_the_cdk_makes() -> None:
    app = App()
    first, second = Stack(app, "First"), Stack(app, "Second")
    nested = NestedStack(first, "Nested")
    stage = Stage(app, "Prod")
    deployed = Stack(stage, "Deployed")
    for each, id in ((first, "A"), (second, "B"), (nested, "C"), (deployed, "D")):
        group(each, id)
    assert sorted(findings(app)) == ["ALaunch", "BLaunch", "CLaunch", "DLaunch"]
    assert sorted(findings(first)) == ["ALaunch", "CLaunch"]
    assert findings(second) == ["BLaunch"]
    assert findings(nested) == ["CLaunch"]
    assert findings(stage) == findings(deployed) == ["DLaunch"]
    assert findings(Template.from_stack(first)) == ["ALaunch"]


def test_a_stack_is_judged_together_with_the_others_of_its_app() -> None:
    """What a launch template is used for is told by its group, which is in the other stack."""
    app = App()
    first, second = Stack(app, "First"), Stack(app, "Second")
    template = launch_template(first)
    template.add_property_deletion_override("LaunchTemplateData.InstanceType")
    group_of(second, template, instance_type="g6.xlarge")
    assert findings(Template.from_stack(first)) == []
    assert findings(first) == ["OwnLaunch"]
    assert findings(second) == []


def test_a_suppression_counts() -> None:
    stack = Stack(App(), "Test", env=Environment(region="us-east-1"))
    suppress(group(stack), RULE, reason="known to the team")
    assert findings(stack) == []


def test_none_is_as_if_left_out() -> None:
    nothing: dict[str, Any] = dict.fromkeys(("region", "ignore", "fail_on"))
    assert findings(OPTIONAL, **nothing) == findings(OPTIONAL)


def test_a_path_without_a_template_is_an_error_of_the_test(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="must have a template in it"):
        assert_compliant(tmp_path)


WITHOUT_THE_CDK = """
import json, sys
for name in ("aws_cdk", "constructs", "jsii"):
    sys.modules[name] = None
from constructs_lib.compliance import assert_compliant
assert_compliant(json.loads(sys.argv[1]))
assert_compliant(sys.argv[2])
try:
    assert_compliant(object())
except ValueError as error:
    print(error)
"""


def test_templates_and_paths_need_no_cdk(tmp_path: Path) -> None:
    (tmp_path / "empty.json").write_text('{"Resources": {}}')
    command = [sys.executable, "-c", WITHOUT_THE_CDK, '{"Resources": {}}', str(tmp_path / "empty.json")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(
        "assert_compliant: subject must be a stack, a stage, an app, a template or a path, got"
    )
