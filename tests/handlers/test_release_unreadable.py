"""What cannot be read is not idle, and nobody goes because of it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any, cast

import pytest

from release_idle.release_pass import PassIncomplete
from tests.handlers.driving import (
    GROUP,
    Release,
    idle_fleet,
)
from tests.handlers.fake_aws import FakeAws, refusal
from tests.handlers.removed_guards import read_unknown_as_idle

# ---- case 7: what cannot be read is not idle


def throttled(aws: FakeAws) -> None:
    aws.fail("GetMetricData", "Throttling")


def denied(aws: FakeAws) -> None:
    aws.fail("GetMetricData", "AccessDenied")


def no_data(aws: FakeAws) -> None:
    aws.cloudwatch.samples.clear()


def partial(aws: FakeAws) -> None:
    aws.cloudwatch.statuses = {"i-1": "PartialData", "i-2": "PartialData"}


def forbidden(aws: FakeAws) -> None:
    aws.cloudwatch.statuses = {"i-1": "Forbidden", "i-2": "InternalError"}


def not_a_number(aws: FakeAws) -> None:
    aws.cloudwatch.raw_values = {"i-1": [float("nan")] * 64, "i-2": [float("nan")] * 64}


def text(aws: FakeAws) -> None:
    aws.cloudwatch.raw_values = {"i-1": ["0"] * 64, "i-2": [True] * 64}


def negative(aws: FakeAws) -> None:
    aws.publish("i-1", -1)
    aws.publish("i-2", -1)


def fewer_values_than_times(aws: FakeAws) -> None:
    result = aws.cloudwatch._result

    def short(*args: Any) -> Any:
        answer = result(*args)
        assert answer is not None
        return {**answer, "Values": answer["Values"][:-1]}

    spoiled = cast(Any, aws.cloudwatch)
    spoiled._result = short


def whole_call_in_doubt(aws: FakeAws) -> None:
    aws.cloudwatch.messages = [{"Code": "MaxMetricsExceeded", "Value": "allowed metrics exceeded"}]


def left_out(aws: FakeAws) -> None:
    aws.cloudwatch.left_out = {"i-1", "i-2"}


UNREADABLE = [
    (throttled, "Throttling", True),
    (denied, "AccessDenied", True),
    (no_data, "no data", False),
    (partial, "PartialData", True),
    (forbidden, "Forbidden", True),
    (not_a_number, "nan", False),
    (text, "'0'", True),
    (negative, "-1", False),
    (fewer_values_than_times, "values", True),
    (whole_call_in_doubt, "MaxMetricsExceeded", True),
    (left_out, "left the instance out", True),
]


@pytest.mark.parametrize(("spoil", "told", "fails"), UNREADABLE, ids=[each[0].__name__ for each in UNREADABLE])
def test_case_07_failed_read_keeps_everything(
    aws: FakeAws, spoil: Callable[[FakeAws], None], told: str, fails: bool
) -> None:
    idle_fleet(aws, "i-1", "i-2")
    spoil(aws)
    release = Release(aws)
    if fails:
        with pytest.raises(PassIncomplete):
            release.run()
        assert "signal gpu" in [line["source"] for line in release.lines.documents("read failed")]
    else:
        release.run()
    assert aws.changes() == []
    assert release.verdicts() == {"i-1": "unknown", "i-2": "unknown"}
    assert told in release.reasons()["i-1"]
    assert release.lines.metrics()[0]["MembersUnknown"] == 2


@pytest.mark.parametrize("spoil", [each[0] for each in UNREADABLE], ids=[each[0].__name__ for each in UNREADABLE])
def test_case_07_without_the_guard_they_would_go(
    aws: FakeAws, spoil: Callable[[FakeAws], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    idle_fleet(aws, "i-1", "i-2")
    spoil(aws)
    read_unknown_as_idle(monkeypatch)
    with contextlib.suppress(PassIncomplete):
        Release(aws).run()
    assert aws.terminated() == ["i-1", "i-2"]


def test_case_07_f_one_of_three_unreadable_lets_the_two_others_go(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", "i-2", "i-3")
    aws.cloudwatch.statuses = {"i-2": "InternalError"}
    release = Release(aws)
    with pytest.raises(PassIncomplete, match="signal gpu"):
        release.run()
    assert aws.terminated() == ["i-1", "i-3"]
    assert release.verdicts()["i-2"] == "unknown"


def test_case_07_a_throttled_read_that_recovers_costs_nothing(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1")
    aws.fail("GetMetricData", "ThrottlingException", times=2)
    assert Release(aws).run()["released"] == ["i-1"]
    assert len(aws.clock.slept) == 2


def test_a_group_that_cannot_be_read_fails_the_invocation(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1")
    denied_error = refusal("AccessDenied")
    aws.fail("DescribeAutoScalingGroups", denied_error)
    with pytest.raises(type(denied_error), match="AccessDenied"):
        Release(aws).run()
    assert aws.changes() == []


def test_case_05_a_series_with_other_dimensions_is_no_data(aws: FakeAws) -> None:
    aws.add_group(GROUP, ["i-1"])
    now = aws.clock.now()
    aws.cloudwatch.publish(
        "AcceleratedFleet",
        "nvidia_smi_utilization_gpu",
        {"InstanceId": "i-1", "index": "0"},
        {now - timedelta(minutes=n): 0.0 for n in range(1, 60)},
    )
    release = Release(aws)
    release.run()
    assert release.verdicts() == {"i-1": "unknown"}
    assert aws.terminated() == []
