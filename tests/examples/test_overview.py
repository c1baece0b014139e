"""The table of all examples names each of them, and what it says of them is so."""

from __future__ import annotations

import re

import pytest

from tests.examples.example_templates import drain_seconds, templates, type_names
from tests.examples.test_examples import EXAMPLES
from tests.support.stacks import ROOT

OVERVIEW = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| \[`(\w+)`\]\(\1/README\.md\) \|(.*)$", OVERVIEW, re.MULTILINE))


def test_each_example_has_a_row() -> None:
    assert sorted(ROWS) == EXAMPLES


@pytest.mark.parametrize("name", sorted(ROWS))
def test_types_and_drain_are_those_of_the_template(name: str) -> None:
    (template,) = [
        each
        for each in templates(name).values()
        if any(resource["Type"] == "AWS::EC2::LaunchTemplate" for resource in each["Resources"].values())
    ]
    for type_ in type_names(template):
        assert f"`{type_}`" in ROWS[name] or f"`{type_.partition('.')[0]}`" in ROWS[name]
    seconds = drain_seconds(template)
    assert f"| {seconds} seconds" in ROWS[name] or f"| {seconds // 60} minutes" in ROWS[name]


def test_what_one_example_is_told_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them are in one application, so each sees the options of all."""
    monkeypatch.setenv("CDK_DEFAULT_ACCOUNT", "111122223333")
    monkeypatch.setenv("CDK_DEFAULT_REGION", "us-east-1")
    for name in EXAMPLES:
        assert templates(name, vpc_id="vpc-0123456789abcdef0", image_parameter="/golden/fpga", neuron_family="trn1")
