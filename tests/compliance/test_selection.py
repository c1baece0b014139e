"""Which rules are asked."""

from __future__ import annotations

import pytest

from constructs_lib.compliance.rules import RULES
from constructs_lib.compliance.selection import chosen_rules
from constructs_lib.errors import ArgumentError

FIRST = next(iter(RULES))


def ids(**given: list[str]) -> list[str]:
    return [each.id for each in chosen_rules(**given)]


def test_all_are_asked_unless_somebody_chooses() -> None:
    assert ids() == list(RULES)
    assert ids(select=["*"]) == list(RULES)


def test_ids_and_patterns_choose_and_leave_out() -> None:
    assert ids(select=[FIRST]) == [FIRST]
    assert ids(select=["instance-metadata-*"]) == ["instance-metadata-v1"]
    assert ids(ignore=[FIRST]) == list(RULES)[1:]


def test_the_order_is_that_of_the_rules() -> None:
    assert ids(select=[*reversed([*RULES])]) == list(RULES)


@pytest.mark.parametrize("parameter", ["select", "ignore"])
def test_another_id_is_told_with_the_one_that_was_meant(parameter: str) -> None:
    with pytest.raises(ArgumentError, match=f"{parameter} must .* did you mean 'instance-metadata-v1'"):
        ids(**{parameter: ["instance-metadata-v2"]})


@pytest.mark.parametrize("pattern", ["no-such-*", "", "*x*y*z"])
def test_a_pattern_that_fits_none_is_told(pattern: str) -> None:
    with pytest.raises(ArgumentError, match="be the id of a rule"):
        ids(select=[pattern])


def test_one_has_to_be_left() -> None:
    with pytest.raises(ArgumentError, match="leave a rule"):
        ids(ignore=["*"])
