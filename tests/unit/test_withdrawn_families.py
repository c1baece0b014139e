"""Families of accelerated types that AWS has withdrawn."""

from __future__ import annotations

import pytest

from constructs_lib.catalog import known_types, tables
from constructs_lib.catalog.withdrawn import withdrawn_family

FAMILIES = [row["family"] for row in tables.read("withdrawn_families.csv")]


def test_a_type_of_a_family_that_is_gone() -> None:
    """G2 is not on AWS's page of previous generations any more."""
    found = withdrawn_family("g2.8xlarge")
    assert found is not None
    assert (found.family, found.kind, found.retired_on) == ("g2", "nvidia", None)


@pytest.mark.parametrize("name", ["g6.xlarge", "p2.xlarge", "g22.xlarge", ""])
def test_a_type_of_which_ec2_tells_is_not_here(name: str) -> None:
    assert withdrawn_family(name) is None


@pytest.mark.parametrize("family", FAMILIES)
def test_none_is_in_the_catalogue_and_each_successor_is_current(family: str) -> None:
    known = known_types().values()
    found = withdrawn_family(family)
    assert found is not None
    assert family not in {each.family for each in known}
    assert {each.status for each in known if each.family == found.successor} == {"current"}
