"""The clock of the work: what is due is done in its turn."""

from __future__ import annotations

from functools import partial

from constructs_lib.rehearsal.agenda import Agenda


def test_what_is_due_is_done_in_turn_at_its_own_time() -> None:
    agenda, done = Agenda(10), list[tuple[str, float]]()
    for name, at in (("late", 30.5), ("first", 20.0), ("second", 20.0), ("not yet", 41.0)):
        agenda.enter(at, partial(lambda name: done.append((name, agenda.now)), name))
    agenda.go_on(40)
    assert done == [("first", 20.0), ("second", 20.0), ("late", 30.5)]
    assert agenda.now == 40


def test_the_last_second_is_part_of_it_and_what_is_over_is_done_now() -> None:
    agenda, done = Agenda(), list[float]()
    agenda.enter(60, lambda: agenda.enter(5, lambda: done.append(agenda.now)))
    agenda.go_on(60)
    assert done == [60]
