"""How far a drain is survives the program, and nothing else is taken for it."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.node.drain.decision import BEGUN, DONE, ENDED, INTERRUPTION, State
from constructs_lib.node.drain.memory import from_text, to_text

FULL = State(
    served=True,
    reason=INTERRUPTION,
    began=1.5,
    deadline=2.5,
    checkpoint=ENDED,
    command=BEGUN,
    checkpoint_until=3.5,
    outcome=DONE,
    told=True,
    hook_until=4.5,
    hook_over=True,
    attempts=3,
    next_attempt=5.5,
    interruption_ends=6.5,
    rebalance="soon",
)


@pytest.mark.parametrize("state", [State(), FULL])
def test_what_was_written_is_read(state: State) -> None:
    assert from_text(to_text("i-1", state), "i-1") == state


def test_that_of_another_instance_is_not_taken() -> None:
    assert from_text(to_text("i-1", FULL), "i-2") is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("reason", "boredom"),
        ("reason", None),
        ("checkpoint", "often"),
        ("outcome", 1),
        ("served", 1),
        ("rebalance", None),
        ("deadline", "soon"),
        ("deadline", True),
        ("deadline", None),
        ("began", float("nan")),
        ("began", float("inf")),
        ("attempts", -1),
        ("attempts", 1e9),
        ("attempts", 1.5),
        ("hook_until", "later"),
        ("hook_until", False),
    ],
)
def test_a_value_that_cannot_be_is_refused(name: str, value: Any) -> None:
    document = {"instance": "i-1", "state": {**asdict(FULL), name: value}}
    with pytest.raises(ValueError, match=f"no use for {name}"):
        from_text(json.dumps(document), "i-1")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)


@given(name=st.sampled_from([*asdict(FULL)]), value=_JSON)
def test_any_value_is_read_or_refused(name: str, value: Any) -> None:
    document = {"instance": "i-1", "state": {**asdict(FULL), name: value}}
    try:
        read = from_text(json.dumps(document), "i-1")
    except ValueError:
        return
    assert read == replace(FULL, **{name: value})


@given(st.text())
def test_any_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - whichever it is
        from_text(text, "i-1")
