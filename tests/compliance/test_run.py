"""The check from Python: what is asked, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from constructs_lib.compliance import assert_compliant, check_template
from constructs_lib.errors import ArgumentError

RULE = "retired-instance-type"
TEMPLATE: dict[str, Any] = {
    "Parameters": {"Size": {"Type": "String"}},
    "Resources": {"One": {"Type": "AWS::EC2::Instance", "Properties": {"InstanceType": {"Ref": "Size"}}}},
}


def test_a_parameter_has_the_value_that_is_passed() -> None:
    assert [each.rule for each in check_template(TEMPLATE, select=[RULE]).not_judged] == [RULE]
    assert [
        each.rule for each in check_template(TEMPLATE, select=[RULE], parameters={"Size": "p2.xlarge"}).findings
    ] == [RULE]
    assert_compliant(TEMPLATE, select=[RULE], parameters={"Size": "g6.xlarge"})
    with pytest.raises(AssertionError, match=RULE):
        assert_compliant(TEMPLATE, select=[RULE], parameters={"Size": "p2.xlarge"})


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"region": 5}, "check: region must be a text that is not empty, got 5"),
        ({"region": ""}, "check: region must be a text that is not empty, got ''"),
        ({"parameters": [1]}, "check: parameters must be of type Mapping, got [1]"),
        ({"parameters": {"Size": 1}}, "check: parameters['Size'] must be of type str, got 1"),
        (
            {"parameters": {"size": "x"}},
            "check: parameters must be declared by a template, got 'size'; did you mean 'Size'?",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused(asked: dict[str, Any], named: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        check_template(TEMPLATE, **asked)
    assert str(refused.value).startswith(named)
