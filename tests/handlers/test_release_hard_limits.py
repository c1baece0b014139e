"""Hard limits from pass to pass: who is unknown for too long (cases 34, 35, 66), and who is too old (case 7)."""

from __future__ import annotations

import contextlib
import json
from datetime import timedelta
from typing import Any

import pytest

from release_idle.release_pass import PassIncomplete
from release_idle.unknown_memory import UNKNOWN_TAG
from tests.handlers.driving import CPU_SIGNAL, GPU_SIGNAL, GROUP, MANUAL, Release, idle_fleet
from tests.handlers.fake_aws import Call, FakeAws
from tests.handlers.removed_guards import count_no_passes, forget_who_is_held

UNKNOWN = {"MAX_UNKNOWN_SECONDS": "3600"}
OLD = {"MAX_LIFE_SECONDS": "172800"}
TERMINATE = "TerminateInstanceInAutoScalingGroup"


def later(aws: FakeAws, minutes: int, **values: float) -> None:
    """Let minutes pass, in which these instances report."""
    aws.clock.advance(60 * minutes)
    for instance_id, value in values.items():
        aws.publish(instance_id.replace("_", "-"), value, minutes=minutes + 5)


def fleet(aws: FakeAws, *ids: str, silent: tuple[str, ...] = (), **group: Any) -> None:
    """Create a group of members at work, some of which have never reported."""
    aws.add_group(GROUP, ids, **group)
    for each in ids:
        if each not in silent:
            aws.publish(each, 95)


def passes(aws: FakeAws, environment: dict[str, str], minutes: int, **values: float) -> list[str]:
    """Run a pass every five minutes; return who went."""
    gone: list[str] = []
    for _ in range(minutes // 5):
        gone += Release(aws, environment).run()["released"]
        later(aws, 5, **values)
    return gone


def tag(aws: FakeAws, instance_id: str) -> str | None:
    return aws.ec2.machines[instance_id].tags.get(UNKNOWN_TAG)


# ---- unknown for too long


def test_case_66_a_member_that_never_reported_goes_at_the_limit_and_not_before(aws: FakeAws) -> None:
    fleet(aws, "i-1", "i-2", silent=("i-1",))
    assert passes(aws, UNKNOWN, 60, i_2=95) == []
    release = Release(aws, UNKNOWN)
    assert release.run()["released"] == ["i-1"]
    line = release.lines.documents("verdict")[0]
    assert line["verdict"] == "unknown"
    assert line["released_because"].startswith("unknown since 2026-11-30T12:00:00Z, the limit is 3600 s; gpu ")
    assert aws.autoscaling.groups[GROUP].desired == 1


def test_case_35_without_a_limit_it_stays_for_ever_and_is_counted(aws: FakeAws) -> None:
    fleet(aws, "i-1", "i-2", silent=("i-1",))
    assert passes(aws, {}, 26 * 60, i_2=95) == []
    assert aws.changes() == []
    release = Release(aws)
    release.run()
    assert release.lines.metrics()[0]["MembersUnknown"] == 1


def test_case_07_an_outage_of_the_metrics_counts_for_no_limit(aws: FakeAws) -> None:
    """It says nothing about an instance, and all are at work."""
    fleet(aws, "i-1", "i-2")
    aws.fail("GetMetricData", "AccessDenied")
    for _ in range(5 * 12):
        with pytest.raises(PassIncomplete):
            Release(aws, UNKNOWN).run()
        later(aws, 5, i_1=95, i_2=95)
    assert aws.changes() == []
    aws.faults.clear()
    assert Release(aws, UNKNOWN).run()["released"] == []


@pytest.mark.parametrize("status", ["InternalError", "Forbidden", "PartialData"])
def test_case_07_results_that_aws_failed_to_give_count_for_no_limit(aws: FakeAws, status: str) -> None:
    """An answer can be there, and each result in it be a failure: all are at work."""
    fleet(aws, "i-1", "i-2")
    aws.cloudwatch.statuses = {"i-1": status, "i-2": status}
    for _ in range(5 * 12):
        with pytest.raises(PassIncomplete):
            Release(aws, UNKNOWN).run()
        later(aws, 5, i_1=95, i_2=95)
    assert aws.changes() == []


def test_case_07_an_answer_without_any_result_counts_for_no_limit(aws: FakeAws) -> None:
    fleet(aws, "i-1", "i-2")
    aws.cloudwatch.left_out = {"i-1", "i-2"}
    for _ in range(5 * 12):
        with pytest.raises(PassIncomplete):
            Release(aws, UNKNOWN).run()
        later(aws, 5, i_1=95, i_2=95)
    assert aws.changes() == []


@pytest.mark.parametrize("cpu", [0, None])
def test_case_07_one_signal_that_aws_fails_to_give_may_show_work(aws: FakeAws, cpu: int | None) -> None:
    """The processor idles, or is silent, and what the accelerator does cannot be read: it is at work."""
    fleet(aws, "i-1")
    if cpu is not None:
        until = aws.clock.now() + timedelta(minutes=300)
        aws.publish("i-1", cpu, metric="cpu_usage_active", minutes=600, until=until)
    gpu = GPU_SIGNAL["metric"]
    aws.fail(
        "GetMetricData",
        "Throttling",
        matches=lambda p: p["MetricDataQueries"][0]["MetricStat"]["Metric"]["MetricName"] == gpu,
    )
    for _ in range(3 * 12):
        with pytest.raises(PassIncomplete):
            Release(aws, {**UNKNOWN, "SIGNALS": json.dumps([GPU_SIGNAL, CPU_SIGNAL])}).run()
        later(aws, 5, i_1=95)
    assert aws.changes() == []


@pytest.mark.parametrize("silent", [(), ("i-1",)])
def test_case_68_while_sessions_cannot_be_read_no_time_is_counted(aws: FakeAws, silent: tuple[str, ...]) -> None:
    """Somebody may be on the machine, mending the driver that is silent."""
    fleet(aws, "i-1", silent=silent)
    if not silent:
        aws.publish("i-1", 0)
    aws.fail("DescribeSessions", "AccessDeniedException")
    for _ in range(3 * 12):
        with pytest.raises(PassIncomplete):
            Release(aws, {**UNKNOWN, "WATCH_SESSIONS": "true"}).run()
        later(aws, 5, **({} if silent else {"i_1": 0}))
    assert aws.changes() == []


def test_case_34_one_pass_that_leaves_a_member_out_changes_nothing_but_a_tag(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", "i-2", busy=("i-1", "i-2"))
    aws.cloudwatch.left_out = {"i-1"}
    with pytest.raises(PassIncomplete, match="left the instance out"):
        Release(aws, UNKNOWN).run()
    assert [call.operation for call in aws.changes()] == ["CreateTags"]
    assert tag(aws, "i-1") == "2026-11-30T12:00:00Z 1 2026-11-30T12:00:00Z"
    aws.cloudwatch.left_out = set()
    Release(aws, UNKNOWN).run()
    assert tag(aws, "i-1") is None


def test_case_34_an_instance_that_ec2_leaves_out_is_asked_for_and_stays(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", "i-2", busy=("i-2",))
    aws.ec2.lost = {"i-1"}
    for _ in range(20):
        release = Release(aws, {**UNKNOWN, **OLD})
        release.run()
        later(aws, 5, i_1=0, i_2=95)
    asked = [call.parameters["Filters"][0]["Values"] for call in aws.calls if call.operation == "DescribeInstances"]
    assert asked == [["i-1", "i-2"], ["i-1"]] * 20
    assert release.verdicts()["i-1"] == "unknown"
    assert aws.changes() == []


def test_case_34_the_memory_survives_because_it_is_not_in_the_function(aws: FakeAws) -> None:
    """Each pass here has settings, clients and objects of its own: nothing but AWS carries anything over."""
    fleet(aws, "i-1", silent=("i-1",))
    passes(aws, UNKNOWN, 15)
    assert tag(aws, "i-1") == "2026-11-30T12:00:00Z 3 2026-11-30T12:10:00Z"


def test_case_34_passes_that_follow_each_other_too_fast_are_not_enough(aws: FakeAws) -> None:
    fleet(aws, "i-1", silent=("i-1",))
    for _ in range(10):
        assert Release(aws, UNKNOWN).run()["released"] == []


def test_case_34_without_counting_passes_one_stale_tag_would_be_enough(
    aws: FakeAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet(aws, "i-1", silent=("i-1",))
    aws.ec2.machines["i-1"].tags[UNKNOWN_TAG] = "2026-11-29T12:00:00Z 1 2026-11-29T12:00:00Z"
    assert Release(aws, UNKNOWN).run()["released"] == []
    aws.ec2.machines["i-1"].tags[UNKNOWN_TAG] = "2026-11-29T12:00:00Z 1 2026-11-29T12:00:00Z"
    count_no_passes(monkeypatch)
    Release(aws, UNKNOWN).run()
    assert aws.terminated() == ["i-1"]


def test_what_is_known_again_between_starts_anew(aws: FakeAws) -> None:
    fleet(aws, "i-1", silent=("i-1",))
    passes(aws, UNKNOWN, 55)
    later(aws, 1, i_1=95)
    assert Release(aws, UNKNOWN).run()["released"] == []
    later(aws, 40)
    assert passes(aws, UNKNOWN, 60) == []
    assert Release(aws, UNKNOWN).run()["released"] == ["i-1"]


def test_members_that_share_a_value_are_tagged_by_one_call(aws: FakeAws) -> None:
    ids = [f"i-{n:03}" for n in range(600)]
    fleet(aws, *ids, silent=tuple(ids))
    Release(aws, UNKNOWN).run()
    assert [len(call.parameters["Resources"]) for call in aws.changes()] == [500, 100]


def test_case_35_a_tag_that_cannot_be_written_fails_the_invocation_and_holds_up_nobody(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", "i-2")
    fleet_of = aws.autoscaling.groups[GROUP]
    aws.cloudwatch.statuses = {"i-2": "InternalError"}
    aws.fail("CreateTags", "UnauthorizedOperation")
    with pytest.raises(PassIncomplete, match="GetMetricData: InternalError"):
        Release(aws, UNKNOWN).run()
    assert aws.terminated() == ["i-1"]
    assert fleet_of.desired == 1


def test_a_dry_run_writes_no_tag(aws: FakeAws) -> None:
    fleet(aws, "i-1", silent=("i-1",))
    Release(aws, UNKNOWN).run(MANUAL)
    later(aws, 5)
    before = len(aws.changes())
    Release(aws, UNKNOWN).run({**MANUAL, "dry_run": True})
    assert len(aws.changes()) == before


def test_case_12_an_unknown_member_that_reports_at_the_second_look_stays(aws: FakeAws) -> None:
    fleet(aws, "i-1", silent=("i-1",))
    passes(aws, UNKNOWN, 60)
    reads = 0

    def happen(call: Call) -> None:
        nonlocal reads
        reads += call.operation == "GetMetricData"
        if reads == 2:
            aws.publish("i-1", 95, minutes=5)

    aws.before.append(happen)
    assert Release(aws, UNKNOWN).run()["released"] == []
    assert aws.terminated() == []


@pytest.mark.parametrize("sessions", ["true", "false"])
def test_case_06_a_member_whose_driver_is_silent_and_whose_cpu_works_is_not_ended(aws: FakeAws, sessions: str) -> None:
    fleet(aws, "i-1", silent=("i-1",))
    aws.publish("i-1", 95, metric="cpu_usage_active", minutes=600, until=aws.clock.now() + timedelta(minutes=300))
    aws.publish("i-1", 0, metric="other", minutes=600, until=aws.clock.now() + timedelta(minutes=300))
    signals = [GPU_SIGNAL, {**CPU_SIGNAL, "name": "other", "metric": "other"}, CPU_SIGNAL]
    environment = {**UNKNOWN, "WATCH_SESSIONS": sessions, "SIGNALS": json.dumps(signals)}
    if sessions == "true":
        aws.fail("DescribeSessions", "AccessDeniedException")
    for _ in range(30):
        with contextlib.suppress(PassIncomplete):
            Release(aws, environment).run()
        aws.clock.advance(300)
    assert aws.changes() == []


def test_without_a_limit_the_first_signal_that_is_not_idle_ends_the_reading(aws: FakeAws) -> None:
    fleet(aws, "i-1", silent=("i-1",))
    environment = {"SIGNALS": json.dumps([GPU_SIGNAL, CPU_SIGNAL])}
    Release(aws, environment).run()
    assert aws.operations().count("GetMetricData") == 1
    Release(aws, {**environment, **UNKNOWN}).run()
    assert aws.operations().count("GetMetricData") == 3


# ---- too old


def test_case_07_a_maximum_life_ends_a_busy_member(aws: FakeAws) -> None:
    fleet(aws, "i-1", "i-2", age=timedelta(days=3))
    aws.ec2.machines["i-2"].launched_at = aws.clock.now() - timedelta(days=1)
    release = Release(aws, OLD)
    assert release.run()["released"] == ["i-1"]
    assert release.lines.documents("verdict")[0]["released_because"].startswith("launched 259200 s ago, maximum life")


@pytest.mark.parametrize("environment", [OLD, {**OLD, "AT_MINIMUM": "replace"}])
def test_who_is_held_is_never_too_old(aws: FakeAws, environment: dict[str, str]) -> None:
    fleet(aws, "i-1", age=timedelta(days=3))
    aws.ec2.machines["i-1"].tags["accelerated-fleet:hold"] = "true"
    assert Release(aws, environment).run()["released"] == []
    assert aws.changes() == []


def test_without_that_guard_a_held_member_would_go(aws: FakeAws, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet(aws, "i-1", age=timedelta(days=3))
    aws.ec2.machines["i-1"].tags["accelerated-fleet:hold"] = "true"
    forget_who_is_held(monkeypatch)
    Release(aws, OLD).run()
    assert aws.terminated() == ["i-1"]


def test_an_instance_whose_tags_are_not_told_may_be_held_and_stays(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", age=timedelta(days=3))
    aws.ec2.machines["i-1"].tags = {}
    release = Release(aws, OLD)
    release.run()
    assert release.verdicts() == {"i-1": "unknown"}
    assert aws.changes() == []


# ---- case 32: at the minimum


@pytest.mark.parametrize(("at_minimum", "gone", "replacements"), [("leave", [], 0), ("replace", ["i-1"], 1)])
def test_case_32_at_the_minimum_the_policy_says(
    aws: FakeAws, at_minimum: str, gone: list[str], replacements: int
) -> None:
    fleet(aws, "i-1", age=timedelta(days=3), min_size=1)
    summary = Release(aws, {**OLD, "AT_MINIMUM": at_minimum}).run()
    group = aws.autoscaling.groups[GROUP]
    assert (summary["released"], group.desired, group.replacements) == (gone, 1, replacements)
    assert [call.parameters["ShouldDecrementDesiredCapacity"] for call in aws.changes()] == [False] * len(gone)


@pytest.mark.parametrize(("at_minimum", "decrements"), [("leave", [True]), ("replace", [True, False])])
def test_case_32_a_minimum_raised_meanwhile_is_met_by_a_replacement_only_if_the_policy_says_so(
    aws: FakeAws, at_minimum: str, decrements: list[bool]
) -> None:
    fleet(aws, "i-1", age=timedelta(days=3))
    group = aws.autoscaling.groups[GROUP]

    def happen(call: Call) -> None:
        if call.operation == TERMINATE:
            group.min_size = 1

    aws.before.append(happen)
    release = Release(aws, {**OLD, "AT_MINIMUM": at_minimum})
    if at_minimum == "leave":
        with pytest.raises(PassIncomplete, match=r"i-1: termination refused: .*minSize"):
            release.run()
    else:
        assert release.run()["released"] == ["i-1"]
    assert [c.parameters["ShouldDecrementDesiredCapacity"] for c in aws.changes()] == decrements
    assert (group.desired, group.replacements) == (1, len(decrements) - 1)


def test_case_32_an_idle_member_is_never_replaced_whatever_the_policy_says(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1")
    group = aws.autoscaling.groups[GROUP]

    def happen(call: Call) -> None:
        if call.operation == TERMINATE:
            group.min_size = 1

    aws.before.append(happen)
    with pytest.raises(PassIncomplete):
        Release(aws, {**OLD, "AT_MINIMUM": "replace"}).run()
    assert (len(aws.changes()), group.replacements) == (1, 0)


@pytest.mark.parametrize("code", ["AccessDenied", "ValidationError"])
def test_case_32_another_refusal_is_no_reason_to_replace(aws: FakeAws, code: str) -> None:
    fleet(aws, "i-1", age=timedelta(days=3))
    aws.fail(TERMINATE, code)
    with pytest.raises(PassIncomplete):
        Release(aws, {**OLD, "AT_MINIMUM": "replace"}).run()
    assert len(aws.changes()) == 1
