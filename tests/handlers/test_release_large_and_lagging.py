"""Answers that are long, late or incomplete, and neighbours in the account."""

from __future__ import annotations

import json

import pytest

from release_idle.release_pass import PassIncomplete
from tests.handlers.driving import (
    CPU_SIGNAL,
    GPU_SIGNAL,
    GROUP,
    MANUAL,
    QUEUE_ENVIRONMENT,
    Release,
    idle_fleet,
)
from tests.handlers.fake_aws import Call, FakeAws

# ---- cases 34, 48: what is missing from an answer


def test_case_34_a_member_missing_from_the_listing_is_asked_for_by_id(aws: FakeAws) -> None:
    ids = [f"i-{n:03}" for n in range(201)]
    aws.add_group(GROUP, ids)
    aws.ec2.left_out = {"i-003"}
    Release(aws).run({**MANUAL, "dry_run": True})
    asked = [call.parameters["Filters"] for call in aws.calls if call.operation == "DescribeInstances"]
    assert asked == [
        [{"Name": "tag:aws:autoscaling:groupName", "Values": [GROUP]}],
        [{"Name": "instance-id", "Values": ["i-003"]}],
    ]


def test_case_34_one_of_a_few_that_the_answer_lacks_is_asked_for_again(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", "i-2", "i-3")

    def happen(call: Call) -> None:
        aws.ec2.lost = {"i-2"} if aws.operations().count("DescribeInstances") == 1 else set()

    aws.before.append(happen)
    summary = Release(aws).run({**MANUAL, "dry_run": True})
    asked = [call.parameters["Filters"][0]["Values"] for call in aws.calls if call.operation == "DescribeInstances"]
    assert asked == [["i-1", "i-2", "i-3"], ["i-2"]]
    assert summary["counts"]["idle"] == 3


def test_case_34_a_member_missing_altogether_is_unknown_and_stays(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", "i-2", "i-3", "i-4", "i-5")
    aws.ec2.lost = {"i-3"}
    release = Release(aws)
    release.run()
    assert release.verdicts()["i-3"] == "unknown"
    assert aws.terminated() == ["i-1", "i-2", "i-4", "i-5"]


def test_case_34_instances_that_cannot_be_listed_stay(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1")
    aws.fail("DescribeInstances", "UnauthorizedOperation")
    release = Release(aws)
    with pytest.raises(PassIncomplete, match="DescribeInstances"):
        release.run()
    assert (release.verdicts(), aws.changes()) == ({"i-1": "unknown"}, [])


def test_case_37_only_members_that_the_group_lists_are_touched(aws: FakeAws) -> None:
    """Neighbours with names alike, and an instance outside with copied tags, all of them idle."""
    for name in ("train-2", "Train", "trai", "train*"):
        aws.add_group(name, [f"i-{name}"])
        aws.publish(f"i-{name}", 0)
    aws.add_machine("i-copy", tags={"aws:autoscaling:groupName": GROUP})
    aws.publish("i-copy", 0)
    idle_fleet(aws, "i-1")
    Release(aws).run()
    assert aws.terminated() == ["i-1"]
    assert all(call.parameters["InstanceId"] == "i-1" for call in aws.changes())


def test_case_48_an_empty_page_with_a_token_is_not_the_end(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1")
    aws.autoscaling.leading_empty_pages = 2
    assert Release(aws).run()["released"] == ["i-1"]


def test_case_48_twelve_hundred_instances_are_all_judged(aws: FakeAws) -> None:
    ids = [f"i-{n:04}" for n in range(1200)]
    aws.add_group(GROUP, ids)
    for instance_id in ids:
        aws.publish(instance_id, 0, minutes=70)
    aws.ec2.page_size = 500
    aws.cloudwatch.points_per_page = 20_000
    summary = Release(aws).run({**MANUAL, "dry_run": True})
    assert summary["counts"]["idle"] == 1200
    assert summary["would_release"] == ids[:200]
    assert max(len(c.parameters["MetricDataQueries"]) for c in aws.calls if c.operation == "GetMetricData") == 500


@pytest.mark.parametrize("load", [0, 95], ids=["all idle at the minimum", "all busy"])
@pytest.mark.parametrize("window", [30, 240])
def test_a_thousand_members_with_nothing_to_release_need_at_most_15_calls(aws: FakeAws, load: int, window: int) -> None:
    ids = [f"i-{n:04}" for n in range(1000)]
    aws.add_group(GROUP, ids, min_size=1000)
    signals = [
        GPU_SIGNAL,
        {**CPU_SIGNAL, "name": "busy_mark", "metric": "busy_marks"},
        CPU_SIGNAL,
        {**CPU_SIGNAL, "name": "logins", "metric": "interactive_sessions"},
    ]
    for instance_id in ids:
        for signal in signals:
            aws.publish(instance_id, load, metric=str(signal["metric"]), minutes=window + 40)
    aws.sqs.hold(visible=0)
    environment = {**QUEUE_ENVIRONMENT, "WATCH_SESSIONS": "true", "SIGNALS": json.dumps(signals)}
    environment["WINDOW_SECONDS"] = str(60 * window)
    summary = Release(aws, environment).run()
    assert summary["released"] == []
    assert summary["counts"]["idle" if load == 0 else "busy"] == 1000
    assert len(aws.calls) <= 15


@pytest.mark.parametrize("load", [0, 95], ids=["idle at the minimum", "busy"])
def test_ten_thousand_members_with_nothing_to_release_need_at_most_60_calls(aws: FakeAws, load: int) -> None:
    ids = [f"i-{n:05}" for n in range(10_000)]
    aws.add_group(GROUP, ids, min_size=10_000)
    for each in ids:
        aws.publish(each, load, minutes=35)
    signals = [GPU_SIGNAL, CPU_SIGNAL, *({**CPU_SIGNAL, "name": f"more{n}"} for n in range(3))]
    Release(aws, {"WATCH_SESSIONS": "true", "SIGNALS": json.dumps(signals)}).run()
    assert len(aws.calls) <= 60
    assert aws.changes() == []


def test_at_the_minimum_only_the_first_signal_is_asked(aws: FakeAws) -> None:
    """Each metric that is asked for costs money, every five minutes."""
    idle_fleet(aws, "i-1", "i-2", min_size=2)
    release = Release(aws, {"SIGNALS": json.dumps([GPU_SIGNAL, CPU_SIGNAL])})
    assert release.run()["released"] == []
    assert aws.operations().count("GetMetricData") == 1
    assert release.verdicts() == {"i-1": "idle", "i-2": "idle"}
    assert {line["kept_because"] for line in release.lines.documents("verdict")} == {
        "nobody could go, so its other signals were not asked"
    }


@pytest.mark.parametrize(("messages", "asked"), [(0, 1), (1, 2)])
def test_with_a_queue_only_while_it_is_empty(aws: FakeAws, messages: int, asked: int) -> None:
    """With messages all signals are asked: they say who is at work, and who takes nothing although work waits."""
    idle_fleet(aws, "i-1", "i-2", min_size=2)
    for each in ("i-1", "i-2"):
        aws.publish(each, 1, metric="cpu_usage_active")
    aws.sqs.hold(visible=messages)
    release = Release(aws, {**QUEUE_ENVIRONMENT, "SIGNALS": json.dumps([GPU_SIGNAL, CPU_SIGNAL])})
    assert release.run()["released"] == []
    assert aws.operations().count("GetMetricData") == asked


def test_above_the_minimum_every_signal_is_asked(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", "i-2", min_size=1)
    release = Release(aws, {"SIGNALS": json.dumps([GPU_SIGNAL, CPU_SIGNAL])})
    assert release.run()["released"] == []
    assert release.verdicts() == {"i-1": "unknown", "i-2": "unknown"}, "nothing tells of their CPUs"
