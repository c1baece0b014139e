"""Whatever fails, in whatever order: nobody who is busy or unknown goes, and the group stays what it must be."""

from __future__ import annotations

from collections import Counter

from hypothesis import given

from tests.worlds.found import found_before
from tests.worlds.history import History
from tests.worlds.laws import breaches
from tests.worlds.profile import examples
from tests.worlds.strategies import worlds
from tests.worlds.world import World

seen: Counter[str] = Counter()


@examples(2500)
@given(world=worlds())
@found_before
def test_no_law_is_broken_in_any_world(world: World) -> None:
    history = History(world)
    history.live()
    seen["worlds"] += 1
    seen["ended"] += sum(len(change.left()) for change in history.account.changed)
    seen["faults"] += len(history.account.plan.used)
    seen["failed passes"] += len(history.refused)
    assert breaches(history) == []


def test_worlds_are_no_quiet_ones() -> None:
    """Runs after the worlds above: a property that nothing ever happens to holds of everything."""
    if seen["worlds"] < 100:
        return
    assert seen["ended"] > 0.1 * seen["worlds"]
    assert seen["faults"] > 0.5 * seen["worlds"]
    assert seen["failed passes"] > 0.05 * seen["worlds"]
