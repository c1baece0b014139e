"""The usual ways to run the same work: what each pays for small traces by hand, and what each does to work."""

from __future__ import annotations

import random
from typing import Any

import pytest

from constructs_lib.rehearsal.alternatives import ALTERNATIVES, alternative
from constructs_lib.rehearsal.clairvoyant import optimum_of
from constructs_lib.rehearsal.cold_start import ColdStart
from constructs_lib.rehearsal.record import InstanceRecord, Record
from constructs_lib.rehearsal.simulate import Scenario
from constructs_lib.rehearsal.trace import Job, Trace

GROUP = "Group"
SCENARIO = Scenario(cold_start=ColdStart.fixed(boot_s=60, ready_s=200))
"""An instance is in service a minute after its launch, and takes work after 200 s."""


def template(maximum: int = 3) -> dict[str, Any]:
    """A group of instances with one accelerator, as anybody writes it, and its queue."""
    return {
        "Resources": {
            "Jobs": {"Type": "AWS::SQS::Queue"},
            "Launch": {
                "Type": "AWS::EC2::LaunchTemplate",
                "Properties": {"LaunchTemplateData": {"InstanceType": "g6.xlarge"}},
            },
            "Configuration": {
                "Type": "AWS::SSM::Parameter",
                "Properties": {"Name": "agent", "Value": '{"metrics": {"metrics_collected": {}}}'},
            },
            GROUP: {
                "Type": "AWS::AutoScaling::AutoScalingGroup",
                "Properties": {
                    "MinSize": "0",
                    "MaxSize": str(maximum),
                    "LaunchTemplate": {"LaunchTemplateId": {"Ref": "Launch"}, "Version": "1"},
                },
            },
        }
    }


def play(name: str, jobs: list[Job], maximum: int = 3, seed: int = 0) -> Record:
    like = Record(GROUP, accelerators=1, minimum=0, maximum=maximum)
    trace = Trace(tuple(jobs), "test")
    return alternative(name).run(template(maximum), trace, like=like, scenario=SCENARIO, seed=seed)


def paid_s(record: Record) -> list[float]:
    return [_end(each, record) - each.launched_s for each in record.instances]


def _end(instance: InstanceRecord, record: Record) -> float:
    return record.end_s if instance.ended_s is None else instance.ended_s


def paid_at(record: Record, at: float) -> int:
    return sum(each.launched_s <= at < _end(each, record) for each in record.instances)


def most_at_a_time(record: Record) -> int:
    """How many count towards the group's size at a time; who is on its way out no longer does."""
    return max(
        (
            sum(
                each.launched_s <= other.launched_s
                and (each.drain_from_s is None or other.launched_s < each.drain_from_s)
                for each in record.instances
            )
            for other in record.instances
        ),
        default=0,
    )


# Idle nodes

ONE_JOB = [Job(100, 600)]


@pytest.mark.parametrize(("name", "idle", "ended"), [("idle_10_min", 1_620, 1_680), ("idle_5_min", 1_320, 1_380)])
def test_idle_node_ends_after_its_minutes(name: str, idle: float, ended: float) -> None:
    """Seen at 120 s, launched a minute later; work from 380 to 980, then idle until the first look after the time.

    980 + 600 = 1,580 and the next look is at 1,620; 980 + 300 = 1,280, and 1,320. A minute later it is terminated.
    """
    record = play(name, ONE_JOB)

    (only,) = record.instances
    assert (only.launched_s, only.ready_s, only.drain_from_s, only.ended_s) == (180, 380, idle, ended)
    assert [(job.started_s, job.ended_s) for job in record.jobs] == [(380, 980)]
    assert paid_s(record) == [ended - 180]


def test_node_that_gets_work_within_its_minutes_stays() -> None:
    # Idle from 980 until 1,500: 520 s are less than ten minutes and more than five.
    jobs = [Job(100, 600), Job(1_500, 60)]

    assert len(play("idle_10_min", jobs).instances) == 1
    assert len(play("idle_5_min", jobs).instances) == 2


def test_what_the_queue_needs_is_launched_at_once() -> None:
    record = play("idle_10_min", [Job(100, 600)] * 3)

    assert [each.launched_s for each in record.instances] == [180, 180, 180]
    assert [job.wait_s for job in record.jobs] == [280, 280, 280]


@pytest.mark.parametrize("name", ["idle_10_min", "idle_5_min"])
@pytest.mark.parametrize("seed", range(3))
def test_idle_nodes_never_cut_work_off(name: str, seed: int) -> None:
    record = play(name, random_jobs(seed), seed=seed)

    assert [job for job in record.jobs if job.cuts or not job.is_finished] == []
    assert {each.cause for each in record.instances} == {"released"}
    assert paid_at(record, record.end_s) == 0


def random_jobs(seed: int) -> list[Job]:
    """Six hours of short and long jobs, with bursts."""
    dice = random.Random(seed)
    jobs = []
    at = 0.0
    while at < 6 * 3_600:
        at += dice.choice([5, 300, 1_500]) * dice.expovariate(1.0)
        jobs.append(Job(at, dice.choice([20, 400, 2_000]) * dice.uniform(0.5, 1.5)))
    return jobs


# Always on


def test_always_on_pays_its_peak_from_the_first_minute_to_the_last() -> None:
    # Two jobs at a time at most. Launched with the group at 60 s; the last job ends at 2,600, the minute after is over
    # at 2,640.
    jobs = [Job(1_000, 600), Job(1_200, 600), Job(2_000, 600)]

    record = play("always_on", jobs)

    assert paid_s(record) == [2_640 - 60] * 2
    assert [job.wait_s for job in record.jobs] == [0, 0, 0]


@pytest.mark.parametrize("seed", range(3))
def test_always_on_makes_nobody_wait_after_its_start(seed: int) -> None:
    jobs = random_jobs(seed)
    record = play("always_on", jobs, maximum=40, seed=seed)

    assert [job.wait_s for job in record.jobs if job.arrival_s > 3_600 and job.wait_s] == []
    assert all(each.ended_s is None for each in record.instances)


def test_always_on_has_no_more_than_the_fleet_may_have() -> None:
    assert len(play("always_on", [Job(1_000, 600)] * 10, maximum=3).instances) == 3


# Target tracking


def test_target_tracking_never_reaches_zero() -> None:
    record = play("target_tracking", [Job(1_000, 60), Job(20_000, 60)])

    assert {paid_at(record, at) for at in range(120, int(record.end_s), 60)} == {1}
    assert [job.wait_s for job in record.jobs] == [0, 0]


def test_target_tracking_grows_with_the_backlog_to_the_maximum() -> None:
    # One job is taken and nine wait: nine times the target of one for each instance.
    record = play("target_tracking", [Job(1_000, 1_200)] * 10)

    assert len([each for each in record.instances if each.launched_s < 2_000]) == 3
    assert most_at_a_time(record) == 3


def test_target_tracking_cuts_long_work_off() -> None:
    """All jobs are taken, so no message waits: a quarter of an hour later the group shrinks, at work as it is."""
    record = play("target_tracking", [Job(1_000, 3_600)] * 3)

    assert sum(job.cuts > 0 for job in record.jobs) >= 1
    assert "scale-in" in {each.cause for each in record.instances}


# Idle alarm of the group


def test_group_alarm_cuts_off_the_last_long_job_of_many_nodes() -> None:
    """Eight nodes do a minute's work each, one of them goes on for two hours: the average of the group is 4.6 %."""
    record = play("group_idle_alarm", [Job(100, 7_200)] + [Job(101, 60)] * 7, maximum=8)

    long, *short = record.jobs
    assert [job.cuts for job in short] == [0] * 7
    assert long.cuts >= 1
    assert long.lost_s > 0


def test_group_alarm_keeps_two_nodes_of_which_one_works() -> None:
    # (30 + 1) / 2 = 15.5 %: well above the threshold, so the idle one is paid until the long job is done.
    record = play("group_idle_alarm", [Job(100, 7_200), Job(101, 60)], maximum=2)

    assert [job.cuts for job in record.jobs] == [0, 0]
    ends = [job.ended_s for job in record.jobs if job.ended_s is not None]
    assert min(each.drain_from_s or 0 for each in record.instances) > max(ends)
    assert paid_at(record, record.end_s) == 0


# What holds for all


def test_report_names_five() -> None:
    assert [each.name for each in ALTERNATIVES] == [
        "always_on",
        "target_tracking",
        "group_idle_alarm",
        "idle_10_min",
        "idle_5_min",
    ]


@pytest.mark.parametrize("name", [each.name for each in ALTERNATIVES])
def test_no_alternative_pays_less_than_its_optimum_or_is_larger_than_the_fleet(name: str) -> None:
    record = play(name, random_jobs(7), maximum=4, seed=7)

    assert sum(paid_s(record)) >= optimum_of(record).node_seconds
    assert most_at_a_time(record) <= 4


@pytest.mark.parametrize("name", [each.name for each in ALTERNATIVES])
def test_same_seed_gives_the_same_record(name: str) -> None:
    assert play(name, random_jobs(3), seed=3) == play(name, random_jobs(3), seed=3)


@pytest.mark.parametrize("name", [each.name for each in ALTERNATIVES])
def test_trace_without_work_costs_nothing_but_what_is_always_there(name: str) -> None:
    record = play(name, [])

    assert len(record.instances) == (1 if name == "target_tracking" else 0)


def test_fleet_that_may_have_no_instance_has_none() -> None:
    record = play("always_on", ONE_JOB, maximum=0)

    assert record.instances == []
    assert [job.started_s for job in record.jobs] == [None]
