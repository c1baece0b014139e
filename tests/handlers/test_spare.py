"""How many members a fleet needs by what it has used: hand-made pasts, one number for each slot of time."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from release_idle.spare import hold_for, members_needed
from release_idle.use_history import slots_of

NOON = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)
SLOT = timedelta(minutes=5)


@pytest.mark.parametrize(
    ("gaps", "held"),
    [
        # Nothing is known: as short as it can be.
        ((), 1),
        # Kept for two slots each gap costs 2; given up after one it would cost 1 and a start of 3. The one that goes on
        # costs as much as the level is kept for.
        ((2, 2, 2), 2),
        ((2,), 2),
        # However long it is kept here, a start comes on top.
        ((20, 20), 1),
        # Kept for 3: 3 and 3. Given up after one: 1 + 3 and 1.
        ((3,), 1),
        # Kept for 3: 9 and 3. Given up after one: 3 times 1 + 3, and 1.
        ((3, 3, 3), 3),
        # Given up after one: 4 times 1 + 3, and 1. Kept for 3: 3, 3 times 3 + 3, and 3. Kept for 10: 43.
        ((3, 10, 10, 10), 1),
        # Given up after one: 5 times 1 + 3, and 1. Kept for 3: 4 times 3, 3 + 3, and 3. As much: the shorter.
        ((3, 3, 3, 3, 10), 1),
        # Given up after one: 6 times 1 + 3, and 1. Kept for 3: 5 times 3, 3 + 3, and 3.
        ((3, 3, 3, 3, 3, 10), 3),
        # Longer than the longest that anything is kept.
        ((13, 13, 13), 1),
    ],
)
def test_an_unused_level_is_kept_for_as_long_as_costs_least(gaps: tuple[int, ...], held: int) -> None:
    assert hold_for(gaps, start_worth=3, longest=12) == held


def cost(gaps: list[int], held: int, start_worth: float) -> float:
    return held + sum(gap if gap <= held else held + start_worth for gap in gaps)


@given(
    gaps=st.lists(st.integers(1, 40), max_size=30),
    start_worth=st.floats(0.5, 20),
    other=st.integers(1, 12),
)
def test_no_fixed_time_would_have_cost_less(gaps: list[int], start_worth: float, other: int) -> None:
    held = hold_for(gaps, start_worth=start_worth, longest=12)
    assert 1 <= held <= 12
    assert cost(gaps, held, start_worth) <= cost(gaps, other, start_worth) + 1e-9


@pytest.mark.parametrize(
    ("used", "serving", "members", "unused"),
    [
        # Three were in use together three slots ago, and one since; a fourth never was.
        ((3, 1, 1, 1), 4, 1, 3),
        # All are in use now.
        ((0, 0, 4), 4, 4, 0),
        ((0, 0, 2), 4, 2, None),
        # Nobody has used anything: none is needed.
        ((0, 0, 0), 3, 0, None),
        # The second has been used again after two slots each time: it pays to wait that long.
        ((2, 1, 1, 2, 1, 1, 2, 1), 2, 2, 0),
        ((2, 1, 1, 2, 1, 1, 2, 1, 1), 2, 1, 2),
        # After long gaps it does not.
        ((2, *[1] * 9, 2, *[1] * 9, 2, 1), 2, 1, 1),
        # More were in use than are in service: they have left since.
        ((8, 0), 2, 0, 1),
        ((), 2, 0, None),
        ((5,), 0, 0, 0),
    ],
)
def test_members_that_a_fleet_needs(used: tuple[int, ...], serving: int, members: int, unused: int | None) -> None:
    enough = members_needed(used, serving, start_worth=3, longest=12)
    assert (enough.members, enough.unused) == (members, unused)


@given(used=st.lists(st.integers(0, 9), min_size=1, max_size=40), serving=st.integers(0, 9))
def test_as_many_stay_as_are_in_use_now_and_no_more_than_there_are(used: list[int], serving: int) -> None:
    enough = members_needed(used, serving, start_worth=3, longest=12)
    assert min(used[-1], serving) <= enough.members <= serving


def test_the_past_is_a_day_of_slots_and_one_that_a_pass_missed_is_like_that_before_it() -> None:
    points = {NOON - 4 * SLOT: 3.0, NOON - 2 * SLOT: 2.0}
    slots = slots_of(points, NOON)
    assert len(slots) == 289
    # The one that goes on has no number yet; of an empty group there are no passes.
    assert slots[-6:] == (0, 3, 3, 2, 2, 0)


def test_two_slots_without_a_pass_are_not_made_up() -> None:
    assert slots_of({NOON - 4 * SLOT: 3.0}, NOON)[-5:] == (3, 3, 0, 0, 0)
