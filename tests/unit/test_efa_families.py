"""What AWS documents about EFA by family, beside the network cards of each type."""

from __future__ import annotations

from importlib.resources import files

import pytest

from constructs_lib.catalog import known_types, tables
from constructs_lib.catalog.efa import EfaFamily, efa_family

FAMILIES = [row["family"] for row in tables.read("efa_families.csv")]


@pytest.mark.parametrize(("family", "alone"), [("p4d", True), ("p4de", True), ("dl1", True), ("p5", False)])
def test_efa_traffic_of_some_types_reaches_no_other(family: str, alone: bool) -> None:
    """ "EFA limitations", EC2 User Guide."""
    assert efa_family(family).alone is alone


def test_p6e_has_two_documented_choices_of_cards() -> None:
    assert efa_family("p6e-gb200").choices == ((1, 5, 9, 13), (1, 3, 5, 7, 9, 11, 13, 15))


def test_a_family_that_is_not_listed_has_nothing_particular() -> None:
    assert efa_family("g99") == EfaFamily() == EfaFamily(alone=False, choices=())


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_is_one_of_the_catalogue_and_every_choice_fits_its_cards(family: str) -> None:
    types = [each for each in known_types().values() if each.family == family]
    assert types
    for each in types:
        takers = {index for index, card in enumerate(each.network_cards or ()) if card.efa}
        for choice in efa_family(family).choices:
            assert list(choice) == sorted(set(choice))
            assert {*choice} <= takers


def test_the_table_names_source_and_date() -> None:
    text = (files("constructs_lib.catalog") / "data" / "efa_families.csv").read_text(encoding="utf-8")
    head = "".join(line for line in text.splitlines(keepends=True) if line.startswith("#"))
    assert "Source: " in head
    assert "EC2 User" in head
    assert "November 2026" in head
    assert sorted(FAMILIES) == FAMILIES
