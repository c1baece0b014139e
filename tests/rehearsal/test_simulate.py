"""What a run does with a fleet: when an instance comes and goes, and what becomes of jobs, reckoned by hand."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from constructs_lib.errors import ArgumentError
from constructs_lib.rehearsal import simulate as module
from constructs_lib.rehearsal.cloud.lambdas import Outcome, Runtime
from constructs_lib.rehearsal.cold_start import ColdStart
from constructs_lib.rehearsal.record import Record
from constructs_lib.rehearsal.simulate import Scenario, simulate
from constructs_lib.rehearsal.world import World
from tests.rehearsal.fleets import (
    BOOT_S,
    COLD_START,
    READY_S,
    SCENARIO,
    WINDOW,
    fleet_without_a_queue,
    queue_fleet,
    trace,
)

_MINUTE = 60
_HOUR = 3_600
_DAY = 24 * _HOUR


def _without_permission(template: dict[str, Any], action: str) -> dict[str, Any]:
    """Return the template without what allows a call, wherever it is allowed."""
    body = copy.deepcopy(template)
    for resource in body["Resources"].values():
        if resource["Type"] == "AWS::IAM::Role":
            for policy in resource["Properties"].get("Policies", ()):
                for statement in policy["PolicyDocument"]["Statement"]:
                    if isinstance(statement["Action"], list):
                        statement["Action"] = [each for each in statement["Action"] if each != action]
                    elif statement["Action"] == action:
                        statement["Action"] = "none:None"
        if resource["Type"] == "AWS::IAM::Policy":
            for statement in resource["Properties"]["PolicyDocument"]["Statement"]:
                given = statement["Action"]
                actions = [given] if isinstance(given, str) else given
                statement["Action"] = [each for each in actions if each != action] or "none:None"
    return body


def test_job_wakes_the_fleet_waits_for_the_cold_start_and_the_fleet_rests_again() -> None:
    """The queue is read at second 60; Auto Scaling launches in the minute after."""
    record = simulate(queue_fleet(), trace((30, 600)), scenario=SCENARIO)

    (instance,) = record.instances
    (job,) = record.jobs
    assert record.desired[1] == (120.0, 1)
    assert instance.launched_s == 120
    assert [instance.in_service_s, instance.ready_s] == [120 + BOOT_S, 120 + READY_S]
    assert [job.started_s, job.ended_s, job.instance] == [120 + READY_S, 120 + READY_S + 600, 0]
    assert job.wait_s == 120 + READY_S - 30
    assert instance.cause == "released"
    assert instance.drain_from_s is not None
    assert job.ended_s is not None
    # The window, its two provisional points and the time between two passes.
    assert WINDOW < instance.drain_from_s - job.ended_s <= WINDOW + (2 + 5 + 1) * _MINUTE
    # A minute for its drain service, and one to shut down.
    assert instance.ended_s == instance.drain_from_s + 2 * _MINUTE
    assert record.desired[-1][1] == 0
    assert record.end_s >= instance.ended_s
    assert (record.fleet, record.accelerators, record.minimum, record.maximum) == (record.fleet, 1, 0, 4)
    assert record.notes == []


def test_start_of_the_clock_does_not_change_what_a_fleet_without_hours_does() -> None:
    later = replace(SCENARIO, start=datetime(2027, 3, 4, 15, 20, tzinfo=timezone(timedelta(hours=2))))
    at_first, at_last = (simulate(queue_fleet(), trace((30, 600)), scenario=each) for each in (SCENARIO, later))
    assert at_last == at_first


def test_long_silence_costs_nothing_and_the_next_job_is_served_as_the_first_one() -> None:
    record = simulate(queue_fleet(), trace((30, 60), (20 * _DAY + 30, 60)), scenario=SCENARIO)
    first, second = record.jobs
    assert (first.wait_s, second.wait_s) == (120 + READY_S - 30,) * 2
    assert [each.launched_s for each in record.instances] == [120, 20 * _DAY + 120]


def test_a_burst_brings_as_many_instances_as_it_needs_and_no_more_than_the_maximum() -> None:
    record = simulate(queue_fleet(), trace(*[(10, 400)] * 6), scenario=SCENARIO)
    assert len(record.instances) == 4
    assert sorted(job.started_s or 0 for job in record.jobs) == [120 + READY_S] * 4 + [520 + READY_S] * 2
    assert max(desired for _, desired in record.desired) == 4


def test_jobs_share_an_instance_as_far_as_its_accelerators_go() -> None:
    template = queue_fleet("g5.12xlarge", at_once=4, most=1)
    record = simulate(template, trace((0, 100, 2), (0, 100, 2), (0, 100, 1)), scenario=SCENARIO)
    assert record.accelerators == 4
    assert [job.started_s for job in record.jobs] == [60 + _MINUTE + READY_S] * 2 + [220 + READY_S]


def test_job_that_fits_on_no_instance_is_refused_before_anything_runs() -> None:
    with pytest.raises(ArgumentError, match=r"job 2 needs 2.*larger instance type") as refusal:
        simulate(queue_fleet(), trace((0, 1), (5, 1, 2)), scenario=SCENARIO)
    assert "has 1 accelerator" in str(refusal.value)


def test_fleet_is_chosen_by_the_beginning_of_its_name() -> None:
    record = simulate(queue_fleet(), trace((0, 60)), fleet="FleetAuto", scenario=SCENARIO)
    assert record.fleet.startswith("FleetAuto")
    with pytest.raises(ArgumentError, match="FleetAuto"):
        simulate(queue_fleet(), trace((0, 60)), fleet="Nobody", scenario=SCENARIO)


def test_fleet_without_a_queue_gets_its_jobs_from_outside_and_the_record_says_so() -> None:
    record = simulate(fleet_without_a_queue(), trace((30, 60), (1_000, 60)), scenario=SCENARIO)
    assert len(record.instances) == 1
    assert [job.started_s for job in record.jobs] == [60 + READY_S, 1_000]
    assert any("handed to any instance" in note for note in record.notes)
    assert record.instances[0].ended_s is None


@pytest.mark.parametrize("action", ["sqs:GetQueueAttributes", "autoscaling:SetDesiredCapacity"])
def test_template_that_lacks_a_permission_does_not_wake_and_shows_it(
    action: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_WEEK", _DAY)  # each minute of it a function fails
    template = _without_permission(queue_fleet(), action)
    record = simulate(template, trace((30, 600)), scenario=SCENARIO)
    assert record.instances == []
    assert record.jobs[0].started_s is None
    assert record.end_s >= 30 + _DAY
    assert any("Wake" in note and "AccessDenied" in note for note in record.notes)


def test_template_without_the_right_to_terminate_never_rests() -> None:
    template = _without_permission(queue_fleet(), "autoscaling:TerminateInstanceInAutoScalingGroup")
    record = simulate(template, trace((30, 600)), scenario=SCENARIO)
    assert [each.ended_s for each in record.instances] == [None]
    assert record.jobs[0].is_finished
    assert any("Release" in note and "failed" in note for note in record.notes)


def test_nothing_is_launched_while_there_is_no_capacity() -> None:
    scenario = replace(SCENARIO, no_capacity=((0, 1_800),))
    record = simulate(queue_fleet(), trace((30, 600)), scenario=scenario)
    assert all(each.launched_s >= 1_800 for each in record.instances)
    assert record.jobs[0].is_finished
    assert record.launch_failures
    assert all(at < 1_800 and "InsufficientInstanceCapacity" in said for at, said in record.launch_failures)


def test_fleet_that_gets_nothing_for_more_than_an_hour_stops_launching_and_says_so() -> None:
    """The release function suspends launching then, and only a person lets it go on."""
    scenario = replace(SCENARIO, no_capacity=((0, 2 * _HOUR),))
    record = simulate(queue_fleet(), trace((30, 600)), scenario=scenario)
    assert record.instances == []
    assert not record.jobs[0].is_finished
    assert any("Launch of the group was suspended" in note for note in record.notes)


def test_launches_that_all_fail_serve_nobody() -> None:
    record = simulate(queue_fleet(), trace((30, 600)), scenario=replace(SCENARIO, launch_failures=1.0))
    assert record.instances == []
    assert not record.jobs[0].is_finished
    assert record.launch_failures


def test_reclaimed_instance_is_gone_in_the_second_and_its_work_begins_anew() -> None:
    """Half of the instance-hours end in a reclaim; twenty jobs of half an hour cannot all escape."""
    scenario = replace(SCENARIO, reclaims_per_hour=2.0)
    record = simulate(queue_fleet(), trace(*[(60.0 * n, 1_800) for n in range(20)]), scenario=scenario, seed=3)
    gone = [each for each in record.instances if each.cause == "reclaimed"]
    assert gone
    cut = [job for job in record.jobs if job.cuts]
    assert cut
    assert sum(job.cuts for job in cut) == len(record.slices)
    for each in record.slices:
        instance = record.instances[each.instance]
        # One that was on its way out already keeps its cause.
        if instance.cause == "reclaimed":
            assert instance.drain_from_s == instance.ended_s == each.end_s
    assert all(job.lost_s > 0 for job in cut)
    assert any(job.is_finished for job in cut)


def test_who_is_told_of_its_reclaim_takes_nothing_new() -> None:
    scenario = replace(SCENARIO, reclaims_per_hour=3.0)
    record = simulate(queue_fleet(), trace(*[(30.0 * n, 20) for n in range(200)]), scenario=scenario)
    gone = [number for number, each in enumerate(record.instances) if each.cause == "reclaimed"]
    assert gone
    for number in gone:
        end = record.instances[number].ended_s
        assert end is not None
        assert all((job.started_s or 0) <= end - 120 for job in record.jobs if job.instance == number)


def test_same_seed_same_record_and_another_seed_another_one() -> None:
    scenario = Scenario(cold_start=ColdStart.default(), reclaims_per_hour=0.5, launch_failures=0.2)
    jobs = trace(*[(97.0 * n, 300) for n in range(30)])
    once, again, other = (simulate(queue_fleet(), jobs, scenario=scenario, seed=seed) for seed in (1, 1, 2))
    assert once == again
    assert once != other


class _AlwaysTwo:
    """Keeps two instances, whatever the template says."""

    def __init__(self) -> None:
        self.minutes = 0

    def minute(self, world: World) -> None:
        self.minutes += 1
        if world.group.desired != 2:
            world.group.set_desired(2)


def test_controller_acts_in_place_of_alarms_and_functions() -> None:
    controller = _AlwaysTwo()
    record = simulate(queue_fleet(), trace((1_000, 60)), scenario=SCENARIO, controller=controller)
    assert len(record.instances) == 2
    assert record.alarms == []
    assert record.jobs[0].wait_s == 0
    # It never comes to rest, so it is left alone a day after the last job.
    assert record.end_s == pytest.approx(1_000 + 60 + _DAY, abs=_MINUTE)
    assert controller.minutes == record.end_s / _MINUTE


def test_progress_is_told_from_nothing_to_all() -> None:
    told: list[float] = []
    simulate(queue_fleet(), trace((0, 60), (2 * _DAY, 60)), scenario=SCENARIO, said=told.append)
    assert told
    assert told == sorted(told)
    assert told[0] >= 0
    assert told[-1] == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"reclaims_per_hour": -1},
        {"launch_failures": 1.5},
        {"no_capacity": ((10, 5),)},
        {"start": datetime(2026, 1, 5)},  # without a time zone
        {"start": datetime(2026, 1, 5, 0, 0, 1, tzinfo=timezone.utc)},
    ],
    ids=["rate", "share", "period", "zone", "second"],
)
def test_scenario_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=f"Scenario: {next(iter(wrong))} must"):
        Scenario(cold_start=COLD_START, **wrong)


def test_record_is_of_the_run_and_not_shared_between_two() -> None:
    first = simulate(queue_fleet(), trace((0, 60)), scenario=SCENARIO)
    second = simulate(queue_fleet(), trace((0, 60)), scenario=SCENARIO)
    assert isinstance(first, Record)
    assert first.jobs is not second.jobs


@pytest.mark.parametrize("least", [0, 2])
def test_functions_that_find_nothing_are_not_run(monkeypatch: pytest.MonkeyPatch, least: int) -> None:
    """In two quiet days the wake function is due 2,880 times and the release function 576 times."""
    ran: list[str] = []
    run = Runtime.invoke

    def counted(self: Runtime, event: Mapping[str, Any]) -> Outcome:
        ran.append(self.function.id)
        return run(self, event)

    monkeypatch.setattr(Runtime, "invoke", counted)

    simulate(queue_fleet(least=least), trace((30, 60), (2 * _DAY, 60)), scenario=SCENARIO)

    assert 0 < len(ran) < 40
