"""An adaptive policy: members that the fleet does not use together go before their window is over, and nobody else."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from release_idle.release_pass import PassIncomplete
from tests.handlers.driving import CPU_SIGNAL, GPU_SIGNAL, GROUP, QUEUE_ENVIRONMENT, Release, idle_fleet
from tests.handlers.fake_aws import Call, FakeAws, refusal
from tests.handlers.removed_guards import overlook_the_newest_minutes, read_unknown_as_idle

# A start is worth 15 idle minutes; whoever is idle for an hour goes in any case.
ADAPTIVE = {"WINDOW_SECONDS": "3600", "START_WORTH_SECONDS": "900"}
NAMESPACE = "AcceleratedFleet"
QUARTER = timedelta(minutes=15)


def minutes_of_work(aws: FakeAws, instance_id: str, *ago: int) -> None:
    """Let an instance have worked in these minutes before now."""
    for minute in ago:
        aws.publish(instance_id, 95, minutes=1, until=aws.clock.now() - timedelta(minutes=minute - 1))


def taking_turns(aws: FakeAws, *ids: str) -> None:
    """One job a time, a minute or two each, that any of them may get: nobody is idle for half an hour."""
    idle_fleet(aws, *ids)
    for turn, instance_id in enumerate(ids):
        minutes_of_work(aws, instance_id, *range(8 + 2 * turn, 60, 2 * len(ids)))


def used(aws: FakeAws, *members: int) -> None:
    """Let passes have counted so many members in use at once, the last of them five minutes ago."""
    dimensions = {"AutoScalingGroupName": GROUP}
    samples = {
        aws.clock.now() - timedelta(minutes=5 * back): float(each)
        for back, each in zip(range(len(members), 0, -1), members, strict=True)
    }
    aws.cloudwatch.publish(NAMESPACE, "MembersInUse", dimensions, samples)


def test_by_a_fixed_window_a_fleet_that_takes_turns_keeps_everybody(aws: FakeAws) -> None:
    taking_turns(aws, "i-1", "i-2", "i-3")
    used(aws, *[1] * 12)
    assert Release(aws, {"WINDOW_SECONDS": "3600"}).run()["released"] == []


def test_what_the_fleet_does_not_use_together_goes_and_the_reason_says_so(aws: FakeAws) -> None:
    taking_turns(aws, "i-1", "i-2", "i-3")
    minutes_of_work(aws, "i-2", 1)
    used(aws, *[1] * 12)
    release = Release(aws, ADAPTIVE)
    # i-1 worked last 8 minutes ago, i-3 12 minutes ago.
    assert release.run()["released"] == ["i-3", "i-1"]
    assert release.verdicts() == {"i-1": "idle", "i-2": "busy", "i-3": "idle"}
    assert release.reasons()["i-3"].endswith(
        "; 3 are in service, and no more than 1 were in use at once in the past day"
    )
    assert "below 5 for 11 min" in release.reasons()["i-3"]


def test_with_the_queue_at_rest_the_last_may_go_too(aws: FakeAws) -> None:
    taking_turns(aws, "i-1", "i-2")
    used(aws, *[1] * 12)
    release = Release(aws, ADAPTIVE)
    assert release.run()["released"] == ["i-2", "i-1"]
    assert release.reasons()["i-2"].endswith("2 are in service, and no more than 0 were in use at once for 5 min")


def test_as_many_stay_as_past_gaps_say_it_pays_to_keep(aws: FakeAws) -> None:
    """Two were in use together every quarter of an hour: a start would cost as much as waiting for it."""
    taking_turns(aws, "i-1", "i-2", "i-3")
    minutes_of_work(aws, "i-1", 1)
    used(aws, *[2, 1, 1] * 6, 2)
    assert Release(aws, ADAPTIVE).run()["released"] == ["i-3"]


def test_who_was_in_use_together_a_moment_ago_stays(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", "i-2")
    minutes_of_work(aws, "i-1", 1, 6)
    minutes_of_work(aws, "i-2", 6)
    release = Release(aws, ADAPTIVE)
    assert release.run()["released"] == []
    assert release.lines.metrics()[0]["MembersInUse"] == 2


@pytest.mark.parametrize("minute", [1, 2, 3, 4, 5])
def test_at_work_in_the_newest_minutes_nobody_goes(aws: FakeAws, minute: int) -> None:
    taking_turns(aws, "i-1", "i-2")
    minutes_of_work(aws, "i-1", minute)
    assert Release(aws, ADAPTIVE).run()["released"] == ["i-2"]


def test_with_the_newest_minutes_overlooked_the_one_at_work_would_go(
    aws: FakeAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    """i-2 was idle for longest, until a minute ago."""
    taking_turns(aws, "i-1", "i-2")
    minutes_of_work(aws, "i-2", 1)
    overlook_the_newest_minutes(monkeypatch)
    assert Release(aws, ADAPTIVE).run()["released"] == ["i-2"]


def test_unknown_counts_as_in_use_and_stays(aws: FakeAws) -> None:
    """Nothing is known of i-2's newest quarter of an hour: it may be at work."""
    taking_turns(aws, "i-1", "i-2")
    aws.cloudwatch.samples = {
        key: {at: each for at, each in samples.items() if not _is_of(key, "i-2") or at < aws.clock.now() - QUARTER}
        for key, samples in aws.cloudwatch.samples.items()
    }
    release = Release(aws, ADAPTIVE)
    assert release.run()["released"] == ["i-1"]
    assert release.verdicts()["i-2"] == "unknown"
    assert release.lines.metrics()[0]["MembersInUse"] == 1


def _is_of(key: tuple[str, str, frozenset[tuple[str, str]]], instance_id: str) -> bool:
    return ("InstanceId", instance_id) in key[2]


def test_read_as_idle_the_unknown_one_would_go(aws: FakeAws, monkeypatch: pytest.MonkeyPatch) -> None:
    taking_turns(aws, "i-1", "i-2")
    aws.cloudwatch.samples = {
        key: {at: each for at, each in samples.items() if not _is_of(key, "i-2") or at < aws.clock.now() - QUARTER}
        for key, samples in aws.cloudwatch.samples.items()
    }
    read_unknown_as_idle(monkeypatch)
    assert "i-2" in Release(aws, ADAPTIVE).run()["released"]


def test_a_signal_that_nobody_asks_of_a_busy_member_counts_here(aws: FakeAws) -> None:
    """i-1's accelerator rested for ten minutes, its processors did not: two are in use."""
    taking_turns(aws, "i-1", "i-2")
    aws.publish("i-1", 90, metric="cpu_usage_active")
    aws.publish("i-2", 90, metric="cpu_usage_active")
    release = Release(aws, {**ADAPTIVE, "SIGNALS": json.dumps([GPU_SIGNAL, CPU_SIGNAL])})
    assert release.run()["released"] == []
    assert release.lines.metrics()[0]["MembersInUse"] == 2


def test_a_past_that_cannot_be_read_keeps_everybody_and_is_told(aws: FakeAws) -> None:
    taking_turns(aws, "i-1", "i-2")

    def deny(call: Call) -> None:
        if call.operation == "GetMetricData" and "MembersInUse" in str(call.parameters):
            raise refusal("AccessDenied", "not allowed")

    aws.before.append(deny)
    release = Release(aws, ADAPTIVE)
    with pytest.raises(PassIncomplete, match="members in use before: AccessDenied"):
        release.run()
    assert aws.changes() == []


def test_a_queue_that_cannot_be_read_keeps_everybody(aws: FakeAws) -> None:
    taking_turns(aws, "i-1", "i-2")

    def deny(call: Call) -> None:
        if call.operation == "GetQueueAttributes":
            raise refusal("AccessDenied", "not allowed")

    aws.before.append(deny)
    with pytest.raises(PassIncomplete):
        Release(aws, {**ADAPTIVE, **QUEUE_ENVIRONMENT}).run()
    assert aws.changes() == []


@pytest.mark.parametrize(("visible", "in_flight"), [(1, 0), (0, 1), (2, 3)])
def test_work_that_nobody_is_seen_at_keeps_everybody(aws: FakeAws, visible: int, in_flight: int) -> None:
    taking_turns(aws, "i-1", "i-2", "i-3")
    aws.sqs.hold(visible=visible, in_flight=in_flight)
    assert Release(aws, {**ADAPTIVE, **QUEUE_ENVIRONMENT}).run()["released"] == []


@pytest.mark.parametrize(
    ("group", "environment"),
    [
        ({"min_size": 2}, {}),
        ({}, {"MIN_LIFE_SECONDS": "500000"}),
        ({}, {"HOURS": json.dumps({"warm": [{"instances": 2, "hours": "ALWAYS"}]})}),
        ({}, {"HOURS": json.dumps({"quiet": ["ALWAYS"]})}),
    ],
    ids=["minimum", "minimum life", "kept warm", "quiet"],
)
def test_every_other_rule_holds(aws: FakeAws, group: dict[str, Any], environment: dict[str, str]) -> None:
    always = json.dumps({"zone": "UTC", "from": "00:00", "to": "00:00", "days": [0, 1, 2, 3, 4, 5, 6]})
    settings = {name: text.replace('"ALWAYS"', always) for name, text in environment.items()}
    idle_fleet(aws, "i-1", "i-2", **group)
    minutes_of_work(aws, "i-1", 20)
    minutes_of_work(aws, "i-2", 20)
    assert Release(aws, {**ADAPTIVE, **settings}).run()["released"] == []


def test_held_members_count_as_in_use_and_stay(aws: FakeAws) -> None:
    taking_turns(aws, "i-1", "i-2")
    aws.ec2.machines["i-2"].tags["accelerated-fleet:hold"] = "mine"
    release = Release(aws, ADAPTIVE)
    assert release.run()["released"] == ["i-1"]
    assert release.lines.metrics()[0]["MembersInUse"] == 1


def test_the_window_still_ends_whoever_is_idle_for_all_of_it(aws: FakeAws) -> None:
    """By what was in use together both would be worth keeping."""
    idle_fleet(aws, "i-1", "i-2")
    used(aws, *[2, 0, 0] * 6, 2)
    release = Release(aws, ADAPTIVE)
    assert release.run()["released"] == ["i-1", "i-2"]


def test_work_that_arrives_before_the_second_reading_keeps_its_member(aws: FakeAws) -> None:
    taking_turns(aws, "i-1", "i-2", "i-3")
    readings = 0

    def arrive(call: Call) -> None:
        nonlocal readings
        if call.operation == "GetMetricData" and "nvidia" in str(call.parameters):
            readings += 1
            if readings == 2:
                minutes_of_work(aws, "i-3", 1)

    aws.before.append(arrive)
    release = Release(aws, ADAPTIVE)
    assert release.run()["released"] == ["i-2", "i-1"]
    assert release.verdicts()["i-3"] == "busy"


def test_a_fleet_without_the_option_neither_counts_nor_asks(aws: FakeAws) -> None:
    taking_turns(aws, "i-1", "i-2")
    release = Release(aws)
    release.run()
    assert "MembersInUse" not in release.lines.text
    assert not [call for call in aws.calls if "MembersInUse" in str(call.parameters)]
