"""No template ends in a traceback, whatever somebody has written into it, and every form can tell what came of it."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from constructs_lib.compliance import check_template
from constructs_lib.compliance.formats.json import as_json
from constructs_lib.compliance.formats.junit import as_junit
from constructs_lib.compliance.formats.page import as_html
from constructs_lib.compliance.formats.sarif import as_sarif
from constructs_lib.compliance.formats.text import as_text
from constructs_lib.compliance.outcome import Outcome
from constructs_lib.compliance.rules import RULES
from constructs_lib.errors import FleetError
from tests.compliance.cases import Breaks
from tests.compliance.mutations import JUNK, spoiled
from tests.compliance.outcomes import machine
from tests.compliance.test_rules import CASES
from tests.support.stacks import ROOT

WRITTEN = [
    each.template if isinstance(each, Breaks) else each
    for case in CASES
    for each in (*case.breaks, *case.keeps, *case.unknown)
]
OURS = [
    json.loads(file.read_text(encoding="utf-8"))
    for file in sorted((ROOT / "tests" / "constructs" / "__snapshots__" / "test_snapshots").glob("*.json"))
]


def tell(template: Any) -> None:
    """Check a template, and tell it in every form."""
    report = check_template(template)
    outcome = Outcome(report=report, rules=tuple(RULES.values()), gone=())
    as_text(outcome, verbose=True)
    as_junit(outcome).encode("utf-8")
    as_html(outcome).encode("utf-8")
    json.dumps((as_json(outcome), as_sarif(outcome)))


@pytest.mark.parametrize("seed", range(20))
def test_spoiled_templates_of_the_rules(seed: int) -> None:
    random = Random(seed)
    for number in range(25):
        template = spoiled(random.choice(WRITTEN), random, changes=random.choice((1, 1, 2, 8)))
        tell(template) if number == 0 else check_template(template)


@pytest.mark.parametrize("seed", range(8))
def test_spoiled_templates_of_this_library(seed: int) -> None:
    random = Random(seed)
    tell(spoiled(random.choice(OURS), random, changes=40))


@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: repr(junk)[:20].encode("ascii", "replace").decode())
@pytest.mark.parametrize("section", ["Resources", "Parameters", "Conditions", "Mappings", "Outputs", "Transform"])
def test_a_section_that_is_none(section: str, junk: Any) -> None:
    template = {"Conditions": {"Is": {"Fn::Equals": [{"Ref": "P"}, 1]}}, "Resources": {"M": machine({"Ref": "P"})}}
    tell({**template, section: junk})
    tell({**template, section: {"M": junk, "P": junk, "Is": junk}})


@pytest.mark.parametrize("seed", range(10))
def test_spoiled_texts(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    template = random.choice(WRITTEN)
    for text in (json.dumps(template, indent=1), yaml.safe_dump(template)):
        for _ in range(20):
            begin = random.randrange(len(text))
            torn = text[:begin] + random.choice(["", "{", "]", ":", "\t", "&a *a", "!Ref", '"', "\x00", "- ", "\n"])
            torn += text[begin + random.randrange(3) :]
            (tmp_path / "t.yaml").write_text(torn, encoding="utf-8")
            with suppress(FleetError):
                check_template(tmp_path / "t.yaml")


def test_references_in_a_circle() -> None:
    resources = {
        "A": {**machine({"Ref": "B"}), "DependsOn": "B"},
        "B": {**machine({"Fn::GetAtt": ["A", "Arn"]}), "DependsOn": ["A", "B"]},
    }
    conditions = {"One": {"Condition": "Two"}, "Two": {"Fn::Not": [{"Condition": "One"}]}}
    parameters = {"P": {"Type": "String", "Default": {"Ref": "P"}}}
    tell({"Parameters": parameters, "Conditions": conditions, "Resources": resources})


def test_macros_modules_loops_and_types_that_nobody_knows() -> None:
    resources = {
        "Fn::ForEach::Machines": ["Id", ["a", "b"], {"Machine${Id}": machine("optional")}],
        "Module": {"Type": "My::Own::Fleet::MODULE", "Properties": {"Size": 1}},
        "Custom": {"Type": "Custom::Fleet", "Properties": {"ServiceToken": "x"}},
        "Unknown": {"Type": "AWS::Nobody::Knows"},
        "Fn::Transform": {"Name": "AWS::Include", "Parameters": {"Location": "s3://x/y"}},
    }
    tell({"Transform": ["AWS::Serverless-2016-10-31", {"Name": "My::Macro"}], "Resources": resources})
