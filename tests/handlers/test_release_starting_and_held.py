"""Members that are not asked: booting, leaving, or held by a person."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta

import pytest

from release_idle.release_pass import PassIncomplete
from tests.handlers.driving import (
    CPU_SIGNAL,
    GPU_SIGNAL,
    GROUP,
    Release,
    idle_fleet,
)
from tests.handlers.fake_aws import FakeAws
from tests.handlers.removed_guards import read_standing_as_nothing

PROBE = "cpu_usage_active"


# ---- case 11: booting is not idleness


def test_case_11_d_the_old_idle_one_goes_and_the_booting_one_stays(aws: FakeAws) -> None:
    idle_fleet(aws, "i-old", "i-new")
    aws.ec2.machines["i-new"].launched_at = aws.clock.now() - timedelta(seconds=599)
    release = Release(aws)
    release.run()
    assert aws.terminated() == ["i-old"]
    assert release.verdicts()["i-new"] == "starting"
    assert "warm-up is 600 s" in release.reasons()["i-new"]


def test_case_11_without_the_guard_the_booting_one_would_go(aws: FakeAws, monkeypatch: pytest.MonkeyPatch) -> None:
    idle_fleet(aws, "i-new")
    aws.ec2.machines["i-new"].launched_at = aws.clock.now() - timedelta(seconds=599)
    read_standing_as_nothing(monkeypatch)
    Release(aws).run()
    assert aws.terminated() == ["i-new"]


@pytest.mark.parametrize(
    ("state", "verdict"),
    [
        ("Pending", "starting"),
        ("Pending:Wait", "starting"),
        ("Pending:Proceed", "starting"),
        ("ReplacingRootVolume", "starting"),
        ("Terminating", "leaving"),
        ("Terminating:Wait", "leaving"),
        ("Terminating:Retained", "held"),
        ("Detaching", "leaving"),
        ("Standby", "held"),
        ("EnteringStandby", "leaving"),
    ],
)
def test_members_out_of_service_are_asked_nothing(aws: FakeAws, state: str, verdict: str) -> None:
    idle_fleet(aws, "i-1")
    aws.autoscaling.groups[GROUP].members[0].lifecycle_state = state
    release = Release(aws)
    release.run()
    assert release.verdicts() == {"i-1": verdict}
    assert state in release.reasons()["i-1"]
    assert aws.operations() == ["DescribeAutoScalingGroups"]


def test_an_instance_that_ec2_still_starts_is_starting(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1")
    aws.ec2.machines["i-1"].state = "pending"
    release = Release(aws)
    release.run()
    assert (release.verdicts(), aws.changes()) == ({"i-1": "starting"}, [])


def test_an_instance_that_ec2_is_ending_is_not_released_a_second_time(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1")
    aws.ec2.machines["i-1"].state = "shutting-down"
    release = Release(aws)
    release.run()
    assert (release.verdicts(), aws.changes()) == ({"i-1": "leaving"}, [])


# ---- case 68 and holds: a person's word


def open_session(aws: FakeAws) -> None:
    aws.ssm.active = ["i-1"]


def hold_by_tag(aws: FakeAws) -> None:
    aws.ec2.machines["i-1"].tags["accelerated-fleet:hold"] = "until Friday, anna"


def hold_by_protection(aws: FakeAws) -> None:
    aws.autoscaling.groups[GROUP].members[0].protected = True


HOLDS = [
    (open_session, {"WATCH_SESSIONS": "true"}, "busy", "session"),
    (hold_by_tag, {}, "held", "anna"),
    (hold_by_protection, {"SCALE_IN_PROTECTION": "hold"}, "held", "protected"),
]


@pytest.mark.parametrize(("hold", "environment", "verdict", "told"), HOLDS)
def test_case_68_what_a_person_holds_stays(
    aws: FakeAws, hold: Callable[[FakeAws], None], environment: dict[str, str], verdict: str, told: str
) -> None:
    idle_fleet(aws, "i-1", protected=False)
    hold(aws)
    release = Release(aws, environment)
    release.run()
    assert release.verdicts() == {"i-1": verdict}
    assert told in release.reasons()["i-1"]
    assert aws.terminated() == []


@pytest.mark.parametrize(("hold", "environment", "verdict", "told"), HOLDS)
def test_case_68_without_the_guard_it_would_go(
    aws: FakeAws,
    hold: Callable[[FakeAws], None],
    environment: dict[str, str],
    verdict: str,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    idle_fleet(aws, "i-1", protected=False)
    hold(aws)
    read_standing_as_nothing(monkeypatch)
    Release(aws, environment).run()
    assert aws.terminated() == ["i-1"]


def test_whoever_is_held_is_counted_for_as_long_as_it_costs_money(aws: FakeAws) -> None:
    """One by its tag, one parked in Standby, one retained after a failed hook; the fourth is at work."""
    idle_fleet(aws, "i-1", "i-2", "i-3", "i-4", busy=("i-4",))
    hold_by_tag(aws)
    members = aws.autoscaling.groups[GROUP].members
    members[1].lifecycle_state = "Standby"
    members[2].lifecycle_state = "Terminating:Retained"
    release = Release(aws)
    assert release.run()["counts"]["held"] == 3
    assert release.lines.metrics()[0]["MembersHeld"] == 3
    assert release.reasons()["i-2"] == "parked in Standby"


@pytest.mark.parametrize("mark", ["false", "False", " FALSE "])
def test_a_hold_tag_that_says_false_holds_nothing(aws: FakeAws, mark: str) -> None:
    idle_fleet(aws, "i-1")
    aws.ec2.machines["i-1"].tags["accelerated-fleet:hold"] = mark
    Release(aws).run()
    assert aws.terminated() == ["i-1"]


@pytest.mark.parametrize("mark", ["", "0", "no", "true"])
def test_a_hold_tag_with_any_other_value_holds(aws: FakeAws, mark: str) -> None:
    idle_fleet(aws, "i-1")
    aws.ec2.machines["i-1"].tags["accelerated-fleet:hold"] = mark
    Release(aws).run()
    assert aws.terminated() == []


def test_case_68_sessions_that_are_not_watched_keep_nobody(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1")
    open_session(aws)
    Release(aws, {"WATCH_SESSIONS": "false"}).run()
    assert aws.terminated() == ["i-1"]
    assert "DescribeSessions" not in aws.operations()


def test_case_68_sessions_that_cannot_be_read_keep_everybody(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1")
    aws.fail("DescribeSessions", "AccessDeniedException")
    release = Release(aws, {"WATCH_SESSIONS": "true"})
    with pytest.raises(PassIncomplete, match="DescribeSessions"):
        release.run()
    assert (release.verdicts(), aws.terminated()) == ({"i-1": "unknown"}, [])


def test_case_48_a_session_on_the_second_page_is_seen(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1")
    aws.ssm.active = [f"i-other{n}" for n in range(200)] + ["i-1"]
    release = Release(aws, {"WATCH_SESSIONS": "true"})
    release.run()
    assert (release.verdicts(), aws.terminated()) == ({"i-1": "busy"}, [])


def test_case_68_b_work_on_the_cpu_keeps_an_instance_whose_gpu_rests(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", "i-2")
    aws.publish("i-1", 80, metric=PROBE)
    aws.publish("i-2", 3, metric=PROBE)
    release = Release(aws, {"SIGNALS": json.dumps([GPU_SIGNAL, CPU_SIGNAL])})
    release.run()
    assert aws.terminated() == ["i-2"]
    assert "cpu" in release.reasons()["i-1"]


def test_a_second_signal_is_asked_only_for_those_still_idle(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", "i-2", busy=("i-1",))
    aws.publish("i-2", 80, metric=PROBE)
    Release(aws, {"SIGNALS": json.dumps([GPU_SIGNAL, CPU_SIGNAL])}).run()
    asked = [
        [query["MetricStat"]["Metric"]["Dimensions"][0]["Value"] for query in call.parameters["MetricDataQueries"]]
        for call in aws.calls
        if call.operation == "GetMetricData"
    ]
    assert asked == [["i-1", "i-2"], ["i-2"]]
