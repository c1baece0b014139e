"""What a run comes to, reckoned by hand."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.rehearsal.figures import Figures, Hours, figures_of, percentile
from constructs_lib.rehearsal.record import Record
from tests.rehearsal.made_records import PROMISED, cut_off, instance, job, long_run, record, rehearsal, two_jobs

HOUR = 3_600.0


def figures(of: Record, goal_s: float | None = None) -> Figures:
    return figures_of(of, cost_usd=None, goal_s=goal_s)


def test_paid_hours_are_busy_idle_starting_and_draining() -> None:
    hours = figures(two_jobs()).hours

    assert hours.starting == pytest.approx(600 / HOUR, abs=1e-6)
    assert hours.busy == pytest.approx(800 / HOUR, abs=1e-6)
    assert hours.draining == pytest.approx(200 / HOUR, abs=1e-6)
    assert hours.idle == pytest.approx(2_400 / HOUR, abs=1e-6)
    assert hours.paid == pytest.approx(4_000 / HOUR, abs=1e-6)
    assert hours.used == pytest.approx(0.2, abs=1e-5)


def test_work_while_an_instance_drains_is_busy_and_not_draining() -> None:
    draining = record(jobs=[job(0, 300, 1_000)], instances=[instance(0, 300, 900, 1_100)], end_s=1_100.0)

    hours = figures(draining).hours

    assert (hours.busy, hours.draining) == (round(700 / HOUR, 6), round(100 / HOUR, 6))
    assert hours.idle == 0


def test_an_instance_that_never_took_work_was_starting_until_its_end_began() -> None:
    never = record(instances=[instance(0, None, 500, 600), instance(0, None, None, None)], end_s=1_000.0)

    hours = figures(never).hours

    assert (hours.starting, hours.draining) == (round(1_500 / HOUR, 6), round(100 / HOUR, 6))
    assert (hours.busy, hours.idle) == (0, 0)


def test_an_instance_that_is_ready_while_it_already_ends_was_never_idle() -> None:
    late = record(instances=[instance(0, 700, 500, 800)], end_s=1_000.0)

    hours = figures(late).hours

    assert (hours.starting, hours.idle, hours.draining) == (round(500 / HOUR, 6), 0, round(300 / HOUR, 6))


def test_work_that_is_not_over_counts_until_the_run_is() -> None:
    running = record(jobs=[job(0, 300, None)], instances=[instance(0, 300, None, None)], end_s=1_000.0)

    assert figures(running).hours.busy == round(700 / HOUR, 6)
    assert figures(running).unfinished == 1


def test_work_that_was_cut_off_is_busy_and_lost() -> None:
    found = figures(cut_off())

    assert found.hours.busy == round((400 + 600) / HOUR, 6)
    assert found.lost_hours == round(400 / HOUR, 6)


def test_jobs_are_done_interrupted_or_unfinished() -> None:
    found = figures(cut_off())

    assert (found.done, found.interrupted, found.redone, found.unfinished) == (0, 1, 1, 1)
    assert found.jobs == 2
    assert (figures(two_jobs()).done, figures(two_jobs()).jobs) == (2, 2)


def test_instances_are_counted_by_what_became_of_them() -> None:
    found = figures(cut_off())

    assert (found.launches, found.cold_starts, found.failed_launches) == (2, 2, 1)
    assert (found.releases, found.replacements) == (0, 1)
    assert found.endings == {"reclaimed": 1}
    assert figures(two_jobs()).releases == 1


def test_an_instance_that_a_lower_capacity_took_is_no_replacement() -> None:
    found = figures(
        record(instances=[instance(0, 100, None, 500, "scale-in"), instance(0, 100, None, 500, "unhealthy")])
    )

    assert found.replacements == 1


def test_a_stay_in_a_warm_pool_is_paid_and_is_neither_a_launch_nor_a_loss() -> None:
    stay = instance(0, None, None, 500, "prepared")
    waiting = instance(600, None, None, None)
    waiting.cause = "prepared"
    run = record(instances=[stay, waiting, instance(500, 600, 900, 1_000)], end_s=1_000.0)
    found = figures(run)

    assert (found.launches, found.cold_starts, found.prepared) == (1, 1, 2)
    assert (found.releases, found.replacements) == (1, 0)
    assert found.hours.starting == round((500 + 400 + 100) / HOUR, 6)
    assert found.as_json()["prepared_instances"] == 2
    assert rehearsal(run).remarks == []
    assert "Warm pool: 2 instances prepared" in rehearsal(run).as_text()


def test_a_launch_that_never_took_work_is_no_cold_start() -> None:
    found = figures(record(instances=[instance(0, None, None, 100, "unhealthy"), instance(0, 50, None, None)]))

    assert (found.launches, found.cold_starts) == (2, 1)


def test_a_job_waits_until_its_first_start() -> None:
    assert figures(cut_off()).waits.p50 == 100


def test_a_job_that_never_starts_waits_until_the_run_is_over() -> None:
    waits = figures(cut_off(), goal_s=1_950).waits

    assert waits.max == 2_000 - 50
    assert waits.within_goal == 0.5


def test_the_share_within_a_goal_counts_those_that_just_reach_it() -> None:
    found = record(jobs=[job(0, wait, wait + 10) for wait in (0, 60, 61, 300)], instances=[instance(0, 0, None, None)])

    assert figures(found, goal_s=60).waits.within_goal == 0.5
    assert figures(found, goal_s=60).as_json()["wait_s"]["within_goal"] == 0.5
    assert "within_goal" not in figures(found).as_json()["wait_s"]


@pytest.mark.parametrize(("percent", "expected"), [(5, 15), (30, 20), (40, 20), (50, 35), (100, 50)])
def test_percentiles_are_nearest_rank(percent: int, expected: float) -> None:
    """The usual worked example of the nearest-rank method."""
    assert percentile([15, 20, 35, 40, 50], percent) == expected


def test_the_95th_of_a_hundred_is_the_95th() -> None:
    assert [percentile(list(range(1, 101)), each) for each in (50, 95, 99)] == [50, 95, 99]
    assert percentile([], 95) is None
    assert percentile([7], 1) == 7


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=60), st.integers(1, 100))
def test_a_percentile_is_the_smallest_value_that_so_many_do_not_exceed(values: list[float], percent: int) -> None:
    found = percentile(sorted(values), percent)
    reached = [each for each in values if sum(other <= each for other in values) * 100 >= percent * len(values)]

    assert found == min(reached)


def test_time_to_zero_is_from_the_last_work_to_the_last_instance() -> None:
    assert figures(two_jobs()).time_to_zero_s == 1_000


def test_there_is_no_time_to_zero_while_an_instance_is_left_or_where_nothing_was_done() -> None:
    assert figures(cut_off()).time_to_zero_s is None
    assert figures(record(instances=[instance(0, 100, 200, 300)])).time_to_zero_s is None
    assert figures(record()).time_to_zero_s is None


def test_an_alarm_is_counted_each_time_that_it_goes_off() -> None:
    alarms = [(60.0, "A", "ALARM"), (120.0, "A", "OK"), (180.0, "A", "ALARM"), (180.0, "B", "INSUFFICIENT_DATA")]

    assert figures(record(alarms=alarms)).alarms == {"A": 2}


def test_nothing_at_all_is_zeros_and_no_shares() -> None:
    document = figures(record()).as_json()

    assert (document["paid_accelerator_hours"], document["jobs"]) == (0, 0)
    assert document["busy_share"] is None
    assert set(document["wait_s"].values()) == {None}


def test_the_report_has_the_keys_that_were_promised() -> None:
    document = figures(two_jobs()).as_json()

    assert set(document) >= PROMISED
    assert {"p50", "p95", "p99", "max"} <= set(document["wait_s"])


def _whole(value: float) -> int:
    """Millionths: what a report with six digits can say."""
    return round(value * 1_000_000)


def _parts(hours: Hours) -> int:
    return sum(map(_whole, (hours.busy, hours.idle, hours.starting, hours.draining)))


@pytest.mark.parametrize("made", [two_jobs, cut_off, long_run], ids=lambda each: each.__name__)
def test_what_was_paid_is_the_sum_of_its_parts_to_the_last_digit(made: Callable[[], Record]) -> None:
    run = made()
    found = figures(run)
    seconds = math.fsum(
        (run.end_s if each.ended_s is None else each.ended_s) - each.launched_s for each in run.instances
    )

    assert _whole(found.hours.paid) == _parts(found.hours)
    assert found.hours.paid == pytest.approx(run.accelerators * seconds / HOUR, abs=3e-6)


times = st.lists(st.floats(0, 100_000), min_size=4, max_size=4).map(sorted)


@given(st.lists(times, min_size=1, max_size=6), st.integers(1, 8))
def test_hours_are_conserved_whatever_the_times(lives: list[list[float]], accelerators: int) -> None:
    """One job for each instance, from when it is ready until some time in its life."""
    run = record(
        accelerators=accelerators,
        jobs=[job(0, life[1], (life[1] + life[3]) / 2, instance=n) for n, life in enumerate(lives)],
        instances=[instance(life[0], life[1], life[2], life[3]) for life in lives],
        end_s=100_000.0,
    )
    hours = figures(run).hours
    paid = math.fsum(accelerators * (life[3] - life[0]) for life in lives) / HOUR

    assert _whole(hours.paid) == _parts(hours)
    assert hours.paid == pytest.approx(paid, rel=1e-9, abs=3e-6)
    assert min(hours.busy, hours.idle, hours.starting, hours.draining) >= 0
