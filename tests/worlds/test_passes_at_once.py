"""Two passes at once, their calls in any order: nothing is changed twice."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.handlers.fake_aws.interleaving import run_interleaved
from tests.worlds.history import FAILURES, History
from tests.worlds.laws import breaches
from tests.worlds.profile import examples
from tests.worlds.strategies import worlds
from tests.worlds.world import World

turns = st.lists(st.sampled_from([0, 1]), max_size=40)


def lived_at_once(world: World, order: list[int]) -> History:
    """Let each pass of a world be two at once."""
    history = History(world)
    for number, gap in enumerate(world.gaps):
        history.begin(number)
        for walk in run_interleaved(history.account, order, history.invoke, history.invoke):
            if isinstance(walk.error, FAILURES):
                history.refused.append(walk.error)
            elif isinstance(walk.error, Exception):
                history.crashes.append(walk.error)
        history.wait(gap)
    return history


@examples(500)
@given(world=worlds(), order=turns)
def test_two_passes_at_once_break_no_law(world: World, order: list[int]) -> None:
    assert breaches(lived_at_once(world, order)) == []
