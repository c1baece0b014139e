"""The door for Python: a template in whatever form, and the report on it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import constructs_lib.compliance as door
from constructs_lib.compliance import Finding, Report, Rule, check_template
from constructs_lib.errors import ArgumentError
from tests.compliance.outcomes import machine
from tests.support.stacks import ROOT

RULE = "instance-metadata-v1"
TEMPLATE = {"Parameters": {"Tokens": {"Type": "String"}}, "Resources": {"A": machine({"Ref": "Tokens"})}}


def test_every_form_of_a_template_comes_to_the_same(tmp_path: Path) -> None:
    file = tmp_path / "t.yaml"
    file.write_text(yaml.safe_dump(TEMPLATE))
    forms = (TEMPLATE, json.dumps(TEMPLATE), yaml.safe_dump(TEMPLATE), file, str(file), str(tmp_path))
    for form in forms:
        report = check_template(form, parameters={"Tokens": "optional"}, select=[RULE])
        (finding,) = report.findings
        assert (finding.rule, finding.resource) == (RULE, "A")
    assert "HttpTokens" in file.read_text().splitlines()[(finding.location.line or 0) - 1]


def test_what_is_not_passed_is_not_known() -> None:
    report = check_template(TEMPLATE, select=[RULE])
    assert report.findings == ()
    assert [each.reason for each in report.not_judged] == ["parameter Tokens has no default"]


def test_rules_may_be_left_out() -> None:
    found = check_template(TEMPLATE, ignore=[RULE], parameters={"Tokens": "optional"}).findings
    assert RULE not in {each.rule for each in found}


@pytest.mark.parametrize("template", ["none.json", "{", "a: [\n", '{"a": 1}'])
def test_what_is_no_template_is_an_error(template: str) -> None:
    with pytest.raises(ArgumentError):
        check_template(template)


def test_all_names_are_there() -> None:
    assert set(door.__all__) <= set(dir(door))
    assert all(isinstance(each, Rule) for each in door.RULES.values())
    assert {Finding, Report} == {door.Finding, door.Report}
    with pytest.raises(AttributeError, match="nobody"):
        door.nobody  # noqa: B018


def test_the_door_alone_loads_no_rule_and_no_cdk() -> None:
    code = (
        "import sys, constructs_lib.compliance as c; "
        "assert not [m for m in sys.modules if m.startswith('constructs_lib.compliance.')]; "
        "c.check_template({'Resources': {}}); "
        "assert not {'yaml', 'aws_cdk', 'jsii', 'boto3'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
