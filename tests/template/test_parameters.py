"""Values for the parameters of templates: what a deploy takes, and what would answer nothing."""

from __future__ import annotations

from typing import Any

import pytest

from constructs_lib.errors import ArgumentError
from constructs_lib.template.parameters import check_parameters

FIRST = {"Parameters": {"Size": {"Type": "String", "AllowedValues": ["small", 2]}, "Image": {"Type": "String"}}}
SECOND = {"Parameters": {"Size": {"Type": "String", "AllowedValues": ["huge"]}}}


@pytest.mark.parametrize("values", [{}, {"Image": ""}, {"Size": "small"}, {"Size": "2"}, {"Size": "huge"}])
def test_what_a_template_takes(values: dict[str, str]) -> None:
    assert check_parameters("check", "parameters", values, [FIRST, SECOND]) == values


@pytest.mark.parametrize("template", [{}, {"Parameters": None}, {"Parameters": {"Size": None}}, None])
def test_a_template_that_is_none_declares_nothing_that_helps(template: Any) -> None:
    with pytest.raises(ArgumentError, match="be declared by a template"):
        check_parameters("check", "parameters", {"Image": "ami-1"}, [template])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"Iamge": "x"},
            "check: parameters must be declared by a template, got 'Iamge'; did you mean 'Image'? see Parameters of "
            "the template",
        ),
        (
            {"Size": "medium"},
            "check: parameters['Size'] must be one of small, 2, huge, got 'medium'; give a value that the template "
            "allows",
        ),
        (["Size"], "check: parameters must be of type Mapping, got ['Size']; write for example"),
        ({"Size": 2}, "check: parameters['Size'] must be of type str, got 2; write for example"),
        ({1: "x"}, "check: parameters must be a text that is not empty, got 1; write for example"),
    ],
)
def test_what_a_deploy_would_not_take(values: Any, message: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        check_parameters("check", "parameters", values, [FIRST, SECOND])
    assert str(refused.value).startswith(message)
