"""Guards taken out: the worlds must find out, or they prove nothing (case 82, 6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from release_idle.survey import Survey, Surveyor
from tests.handlers import removed_guards
from tests.worlds.faults import Fault, Kind
from tests.worlds.history import History
from tests.worlds.laws import breaches
from tests.worlds.profile import examples
from tests.worlds.strategies import worlds
from tests.worlds.test_passes_at_once import lived_at_once, turns
from tests.worlds.test_the_idle_leave import left_behind, settled
from tests.worlds.world import Policy, World

ENOUGH = 600
"""No guard takes more worlds than this to be missed; most take a dozen."""

Guard = Callable[[pytest.MonkeyPatch], None]


class FoundOut(Exception):
    """A world has shown that a guard is missing."""


def is_found_out(strategy: st.SearchStrategy[Any], is_broken: Callable[[Any], bool]) -> bool:
    """Return whether some world shows it; which one is the smallest is not asked."""
    found = False

    @examples(ENOUGH, shrink=False)
    @given(drawn=strategy)
    def search(drawn: Any) -> None:
        nonlocal found
        found = found or is_broken(drawn)
        if found:
            raise FoundOut

    with suppress(FoundOut):
        search()
    return found


def breaks_a_law(world: World) -> bool:
    history = History(world)
    history.live()
    return breaches(history) != []


def look_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the second look: what was read first is taken for what is."""
    survey = Surveyor.survey

    def once(self: Surveyor, group: Any, only: Sequence[str] | None = None, **_: Any) -> Survey:
        first: Survey = vars(self).setdefault("first", survey(self, group, only))
        return first

    monkeypatch.setattr(Surveyor, "survey", once)


def plain(world: World) -> World:
    """The same group under the plainest policy, which decides least by itself."""
    return replace(world, policy=Policy(sessions=True))


@pytest.mark.parametrize(
    "guard", [removed_guards.read_unknown_as_idle, removed_guards.read_standing_as_nothing, look_once]
)
def test_without_the_guard_somebody_is_ended_wrongly(guard: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
    guard(monkeypatch)
    assert is_found_out(worlds(faulty=False).map(plain), breaks_a_law)


def test_without_the_lease_two_passes_change_something_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    removed_guards.act_without_the_lease(monkeypatch)
    at_once = st.tuples(worlds(faulty=False, eventful=False).map(plain), turns)
    assert is_found_out(at_once, lambda drawn: breaches(lived_at_once(*drawn)) != [])


def test_without_what_was_asked_for_an_old_answer_makes_a_pass_ask_again(monkeypatch: pytest.MonkeyPatch) -> None:
    removed_guards.forget_who_was_asked_to_leave(monkeypatch)
    strategy = st.builds(twice_with_old_answers, worlds(faulty=False, eventful=False), st.integers(1, 8))
    assert is_found_out(strategy, breaks_a_law)


def twice_with_old_answers(world: World, how_old: int) -> World:
    """Two passes one after the other, the second of which sees the group as it was before the first."""
    old = Fault(1, "DescribeAutoScalingGroups", Kind.STALE, times=100, choice=how_old)
    return replace(plain(world), gaps=(0, 5), faults=(old,))


def test_a_function_that_releases_nobody_leaves_somebody_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    def blind(self: Surveyor, group: Any, only: Sequence[str] | None = None) -> Survey:
        return Survey(at=self.patience.clock.now(), members=(), readings={})

    monkeypatch.setattr(Surveyor, "survey", blind)
    assert is_found_out(worlds(faulty=False).map(plain), lambda world: list(left_behind(settled(world))) != [])
