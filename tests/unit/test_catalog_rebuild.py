"""Laws of the rebuilding of the tables, whatever part of an answer arrives."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from moto.ec2.models.instance_types import INSTANCE_TYPES

from constructs_lib.catalog import NetworkCard, tables
from constructs_lib.catalog.network_cards import read_cards, write_cards
from constructs_lib.catalog.refresh import Answers, make_tables, refreshed_texts

NAMES = sorted(name for name in INSTANCE_TYPES if name[:2] in ("g6", "p5", "tr", "c8", "m5", "vt"))
REGIONS = ("eu-west-1", "sa-east-1", "us-east-1", "xx-new-1")


@cache
def shipped() -> dict[str, Any]:
    return {name: tables.read_from(tables.SHIPPED, name) for name in tables.REFRESHED}


@st.composite
def answers(draw: st.DrawFn) -> Answers:
    """Any part of what EC2 describes, any offerings, any prices."""
    described = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=30))
    offered = st.frozensets(st.sampled_from(NAMES), max_size=30)
    priced = st.tuples(st.sampled_from(NAMES), st.sampled_from(REGIONS))
    return Answers(
        asked_on="2027-01-02",
        records={name: INSTANCE_TYPES[name] for name in described},
        offerings=draw(st.dictionaries(st.sampled_from(REGIONS), offered)),
        prices=draw(st.dictionaries(priced, st.floats(min_value=0.0001, max_value=999), max_size=20)),
        images=draw(st.dictionaries(priced, st.sampled_from([None, "ami-1"]), max_size=4)),
    )


def keys(name: str, rows: Any) -> set[tuple[str, ...]]:
    """What a row is about."""
    if name == "offerings.csv":
        return {(row["family"], size) for row in rows for size in row["sizes"].split()}
    columns = [column for column in ("type", "family", "region", "parameter") if column in tables.REFRESHED[name]]
    return {tuple(row[column] for column in columns) for row in rows}


@settings(deadline=None, max_examples=60)
@given(answers())
def test_no_row_is_lost_and_a_second_time_changes_nothing(said: Answers) -> None:
    made = make_tables(shipped(), said)
    for name, rows in shipped().items():
        if name != "images.csv":
            assert keys(name, rows) <= keys(name, made.tables[name])
    assert make_tables(made.tables, said).tables == made.tables


@settings(deadline=None, max_examples=20)
@given(answers())
def test_what_is_written_is_what_is_read(said: Answers) -> None:
    made = make_tables(shipped(), said)
    for name, text in refreshed_texts(made.tables, said).items():
        assert tables.rows_of(text.splitlines()) == [dict(row) for row in made.tables[name]]


@given(st.lists(st.builds(NetworkCard, interfaces=st.integers(1, 60), efa=st.booleans()), min_size=1, max_size=40))
def test_network_cards_are_read_as_they_were_written(cards: list[NetworkCard]) -> None:
    assert read_cards(write_cards(cards)) == tuple(cards)


def test_no_network_cards_are_not_known() -> None:
    assert read_cards("") is None
    assert write_cards([]) == ""
