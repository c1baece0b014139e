"""Reasons that templates state where a rule asks for one: they keep the rule, and every report lists them."""

from __future__ import annotations

from typing import Any

import pytest

from constructs_lib import FleetImage, Purchase
from constructs_lib.compliance import check_template
from constructs_lib.compliance.formats.json import as_json
from constructs_lib.compliance.formats.page import as_html
from constructs_lib.compliance.formats.text import as_text
from constructs_lib.compliance.outcome import Outcome
from constructs_lib.compliance.rules import RULES
from tests.compliance.outcomes import HOSTILE
from tests.constructs.purchasing import ONE_ZONE
from tests.support.stacks import fleet_template

OWN_IMAGE = FleetImage.from_ssm_parameter("/golden/ami")


def stating(**reasons: Any) -> dict[str, Any]:
    """A topic, which no rule asks for a reason, with reasons."""
    return {"Resources": {"Topic": {"Type": "AWS::SNS::Topic", "Metadata": {"accel-fleet": reasons}}}}


def outcome(template: dict[str, Any]) -> Outcome:
    return Outcome(report=check_template(template), rules=tuple(RULES.values()))


@pytest.mark.parametrize("name", ["minimum", "running", "types", "spot"])
def test_a_reason_is_told_in_each_form(name: str) -> None:
    found = outcome(stating(**{name: "so it has to be"}))
    (told,) = as_json(found)["stated"]
    assert told == {
        "what": name,
        "resource": "Topic",
        "reason": "so it has to be",
        "location": {
            "stack": "template",
            "file": None,
            "line": None,
            "property": f"<Metadata>.accel-fleet.{name}",
        },
    }
    assert as_json(found)["summary"]["stated"] == 1
    assert f"Reasons that the templates state:\n- template, Topic: {name}: so it has to be\n" in as_text(found)
    assert "1 reason stated" in as_text(found)
    page = as_html(found)
    assert "<h2>Stated reasons</h2>" in page
    assert "so it has to be" in page


@pytest.mark.parametrize("reason", ["", "  ", None, {"Ref": "Reason"}, ["so"]])
def test_what_gives_no_reason_is_not_told(reason: Any) -> None:
    template = stating(minimum=reason) | {"Parameters": {"Reason": {"Type": "String"}}}
    assert check_template(template).stated == ()


def test_a_reason_by_a_parameter_is_told_as_it_is_settled() -> None:
    template = stating(minimum={"Ref": "Reason"}) | {"Parameters": {"Reason": {"Type": "String", "Default": "so"}}}
    assert [each.reason for each in check_template(template).stated] == ["so"]


def test_without_a_reason_nothing_is_told_of_them() -> None:
    found = outcome({"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}})
    assert as_json(found)["stated"] == []
    assert "stated" not in as_text(found)
    assert "Stated" not in as_html(found)


def test_a_hostile_reason_stays_text() -> None:
    found = outcome(stating(minimum=HOSTILE))
    assert "\x1b" not in as_text(found)
    assert "<script>" not in as_html(found)


@pytest.mark.parametrize(
    ("options", "stated"),
    [
        ({}, {}),
        ({"min_capacity": 2}, {"minimum": "min_capacity=2: so many stay when the fleet is idle"}),
        (
            {"instance_types": ["p3.2xlarge", "p3.8xlarge"], "image": OWN_IMAGE},
            {"types": "the fleet was asked for p3.2xlarge, p3.8xlarge, which AWS lists as previous generation"},
        ),
        (
            {"instance_types": "g6.xlarge", "vpc_subnets": ONE_ZONE, "purchase": Purchase.spot()},
            {"spot": "the fleet was asked for Spot instances of one type, g6.xlarge, in one zone"},
        ),
        ({"instance_types": "g6.xlarge", "purchase": Purchase.spot()}, {}),
        ({"instance_types": "g6.xlarge", "vpc_subnets": ONE_ZONE}, {}),
    ],
    ids=["nothing", "a minimum", "a previous generation", "one Spot pool", "two Spot pools", "On-Demand in one zone"],
)
def test_a_fleet_states_what_it_was_asked_for(options: dict[str, Any], stated: dict[str, str]) -> None:
    report = check_template(fleet_template(**options))
    assert {each.what: each.reason for each in report.stated} == stated
    assert report.findings == ()
    assert report.suppressed == ()
