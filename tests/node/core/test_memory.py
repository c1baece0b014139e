"""What the program writes down for the case that it is started again."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.node.derived import State
from constructs_lib.node.memory import Memory, from_text, to_text

_TIME = st.none() | st.floats(0, 1e12)
_STATES = st.builds(
    State, _TIME, _TIME, _TIME, st.floats(0, 1, exclude_max=True), st.dictionaries(st.integers(0, 255), st.integers(0))
)


@given(st.builds(Memory, _STATES, _TIME, st.just([[["nvidia-smi", "-q"], 7, 99]])))
def test_what_is_written_is_read(memory: Memory) -> None:
    assert from_text(to_text(memory)) == memory


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"state": []}',
        '{"state": {"transfers": {}, "known_at": "yesterday"}}',
        '{"state": {"transfers": {}, "known_at": true}}',
        '{"state": {"transfers": {}, "known_at": NaN}}',
        '{"state": {"transfers": {}, "known_at": -1}}',
        '{"state": {"transfers": {}, "joules_left": Infinity}}',
        '{"state": {"transfers": {"0": 1.5}}}',
        '{"state": {"transfers": {"zero": 1}}}',
        '{"state": {}}',
        '{"state": {"transfers": {}}, "first_use": []}',
        "[" * 100_000,
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        from_text(text)


@given(cut=st.integers(0, 300), text=st.text(max_size=4))
def test_a_damaged_memory_is_read_or_refused(cut: int, text: str) -> None:
    whole = to_text(Memory(State(10.0, 5.0, 10.0, 0.5, {0: 17, 1: 4}), 1e9))
    try:
        memory = from_text(whole[:cut] + text + whole[cut + 1 :])
    except ValueError:
        return
    assert json.loads(to_text(memory))
