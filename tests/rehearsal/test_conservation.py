"""Laws that every run keeps, whatever the work and whatever the cloud does."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from constructs_lib.rehearsal.cold_start import ColdStart
from constructs_lib.rehearsal.record import InstanceRecord, Record, Slice
from constructs_lib.rehearsal.simulate import Scenario, simulate
from constructs_lib.rehearsal.trace import Trace
from tests.rehearsal.fleets import COLD_START, queue_fleet, trace

_MOST = 4
_FEW = settings(
    max_examples=8, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], database=None
)

_TRACES = st.lists(
    st.tuples(st.integers(0, 3 * 3_600).map(float), st.integers(1, 1_500).map(float)), min_size=1, max_size=12
).map(lambda jobs: trace(*jobs))
_SCENARIOS = st.builds(
    Scenario,
    cold_start=st.sampled_from([COLD_START, ColdStart.default()]),
    reclaims_per_hour=st.sampled_from([0.0, 0.0, 0.5]),
    launch_failures=st.sampled_from([0.0, 0.0, 0.2]),
    no_capacity=st.sampled_from([(), (), ((600.0, 1_500.0),)]),
)
_SEEDS = st.integers(0, 3)


def _paid_until(instance: InstanceRecord, record: Record) -> float:
    return record.end_s if instance.ended_s is None else instance.ended_s


def _tries(record: Record) -> list[Slice]:
    last = [
        Slice(job.started_s, record.end_s if job.ended_s is None else job.ended_s, job.instance, job.accelerators)
        for job in record.jobs
        if job.started_s is not None and job.instance is not None
    ]
    return [*last, *record.slices]


@_FEW
@given(_TRACES, _SCENARIOS, _SEEDS)
def test_every_job_is_done_interrupted_or_unfinished(work: Trace, scenario: Scenario, seed: int) -> None:
    record = simulate(queue_fleet(), work, scenario=scenario, seed=seed)

    assert [(job.arrival_s, job.service_s) for job in record.jobs] == [
        (job.arrival_s, job.service_s) for job in work.jobs
    ]
    assert sum(job.cuts for job in record.jobs) == len(record.slices)
    for job in record.jobs:
        if job.ended_s is not None:
            assert job.started_s is not None
            assert job.ended_s - job.started_s == job.service_s
        assert job.wait_s is None or job.wait_s >= 0
        assert (job.lost_s > 0) <= (job.cuts > 0)


@_FEW
@given(_TRACES, _SCENARIOS, _SEEDS)
def test_what_is_paid_is_busy_idle_starting_or_draining(work: Trace, scenario: Scenario, seed: int) -> None:
    """The times of an instance are in their order, work lies between the first and the last that takes it, and there is
    never more of it than accelerators: so the four parts are what was paid, and none of them is negative."""
    record = simulate(queue_fleet(), work, scenario=scenario, seed=seed)

    tries = _tries(record)
    for number, instance in enumerate(record.instances):
        end = _paid_until(instance, record)
        reached = [instance.in_service_s, instance.ready_s, instance.drain_from_s, end]
        times = [instance.launched_s, *(each for each in reached if each is not None)]
        mine = sorted(each for each in tries if each.instance == number)
        assert instance.launched_s <= end
        assert all(instance.launched_s <= each <= end for each in times)
        assert not mine or instance.ready_s is not None
        for each in mine:
            assert instance.ready_s is not None
            assert instance.ready_s <= each.begin_s <= each.end_s <= end
            assert instance.drain_from_s is None or each.begin_s <= instance.drain_from_s
        # One accelerator each: one job after another.
        assert all(before.end_s <= after.begin_s for before, after in pairwise(mine))


@_FEW
@given(_TRACES, _SCENARIOS, _SEEDS)
def test_capacity_stays_within_its_sizes(work: Trace, scenario: Scenario, seed: int) -> None:
    record = simulate(queue_fleet(least=1), work, scenario=scenario, seed=seed)

    assert all(1 <= desired <= _MOST for _, desired in record.desired)
    for moment in {each.launched_s for each in record.instances}:
        there = [
            each
            for each in record.instances
            if each.launched_s <= moment
            and (each.drain_from_s is None or each.drain_from_s > moment)
            and (each.ended_s is None or each.ended_s > moment)
        ]
        # A launch that waits for capacity is counted from when it was asked for, so a later one may be there before it.
        assert len(there) <= _MOST


@_FEW
@given(_TRACES, _SEEDS)
def test_every_job_is_done_where_nothing_fails(work: Trace, seed: int) -> None:
    record = simulate(queue_fleet(), work, scenario=Scenario(cold_start=COLD_START), seed=seed)

    assert all(job.is_finished for job in record.jobs)
    assert [each.cause for each in record.instances] == ["released"] * len(record.instances)
    assert record.desired[-1][1] == 0
    assert record.launch_failures == []


@_FEW
@given(_TRACES, _SCENARIOS, _SEEDS)
def test_same_seed_gives_the_same_record(work: Trace, scenario: Scenario, seed: int) -> None:
    once, again = (simulate(queue_fleet(), work, scenario=scenario, seed=seed) for _ in range(2))
    assert once == again


@_FEW
@given(_TRACES, _SCENARIOS, _SEEDS, st.sampled_from([0, 2]))
def test_what_is_left_out_changes_nothing(work: Trace, scenario: Scenario, seed: int, least: int) -> None:
    """Runs that provably find nothing, and metrics that nobody reads."""
    short, long = (
        simulate(queue_fleet(least=least), work, scenario=scenario, seed=seed, thorough=thorough)
        for thorough in (False, True)
    )
    assert short == long
