"""Declarations of what accelerators are for."""

from __future__ import annotations

from typing import Any

import pytest

from constructs_lib.compliance.checking import BAD_SUPPRESSION
from tests.compliance.cases import checked, group

_RULE = "accelerator-without-need"
_NONE = {"accel-fleet": {"workload": "none"}}
_INFERENCE = {"accel-fleet": {"workload": "inference"}}


def _declared(template: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    for logical_id, each in metadata.items():
        template["Resources"][logical_id]["Metadata"] = each
    return template


@pytest.mark.parametrize("where", ["Group", "Launch"])
def test_a_group_or_its_launch_template_declares(where: str) -> None:
    report = checked(_declared(group(), **{where: _NONE}), _RULE)
    assert [each.rule for each in report.findings] == [_RULE]


def test_the_group_goes_before_its_template() -> None:
    report = checked(_declared(group(), Group=_INFERENCE) | {"Metadata": _NONE}, _RULE)
    assert report.findings == ()


def test_a_declaration_is_no_suppression() -> None:
    report = checked(group() | {"Metadata": _INFERENCE})
    assert BAD_SUPPRESSION not in {each.rule for each in report.findings}


def test_a_word_that_means_nothing_beside_a_declaration_is_still_told() -> None:
    report = checked(group() | {"Metadata": {"accel-fleet": {"workload": "inference", "supress": []}}})
    assert BAD_SUPPRESSION in {each.rule for each in report.findings}
