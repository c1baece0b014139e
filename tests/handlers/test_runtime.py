"""Patience, errors, time and the log that the handlers share."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import Any

import boto3
import pytest
from botocore.exceptions import (
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ReadTimeoutError,
)

from runtime import structured_log
from runtime.aws_errors import Trouble, classify, error_code
from runtime.clients import _in_utc, _read_times_in_utc, make_client
from runtime.clock import SystemClock, deadline_of
from runtime.embedded_metrics import embedded_counts
from runtime.patience import OutOfTime, Patience
from runtime.structured_log import StructuredLog
from tests.handlers.fake_aws import START, Context, ManualClock, refusal

URL = "https://autoscaling.eu-west-1.amazonaws.com"


@pytest.mark.parametrize(
    ("error", "trouble"),
    [
        (refusal("Throttling"), Trouble.THROTTLED),
        (refusal("RequestLimitExceeded", status=503), Trouble.THROTTLED),
        (refusal("ScalingActivityInProgress"), Trouble.CONFLICT),
        (refusal("ScalingActivityInProgressFault"), Trouble.CONFLICT),
        (refusal("ResourceContention", status=500), Trouble.CONFLICT),
        (refusal("ResourceInUse"), Trouble.CONFLICT),
        (refusal("InternalFailure", status=500), Trouble.UNCERTAIN),
        (refusal("ServiceUnavailable", status=503), Trouble.UNCERTAIN),
        (EndpointConnectionError(endpoint_url=URL), Trouble.UNCERTAIN),
        (ConnectTimeoutError(endpoint_url=URL), Trouble.UNCERTAIN),
        (ReadTimeoutError(endpoint_url=URL), Trouble.UNCERTAIN),
        (refusal("ValidationError"), Trouble.REFUSED),
        (refusal("AccessDenied", status=403), Trouble.REFUSED),
        (NoCredentialsError(), Trouble.REFUSED),
    ],
)
def test_errors_are_told_apart(error: Exception, trouble: Trouble) -> None:
    assert classify(error) is trouble


def test_an_error_is_named_by_its_code_or_else_by_itself() -> None:
    assert error_code(refusal("ValidationError")) == "ValidationError"
    assert error_code(ReadTimeoutError(endpoint_url=URL)) == "ReadTimeoutError"


class Flaky:
    """Fails as often as it is told, then answers."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls = 0

    def __call__(self) -> str:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"


def patience(clock: ManualClock, seconds: float = 60, attempts: int | None = None) -> Patience:
    return Patience(
        clock=clock, deadline=clock.now() + timedelta(seconds=seconds), attempts=attempts, jitter=lambda: 1.0
    )


def test_pauses_grow_and_are_bounded() -> None:
    clock = ManualClock()
    flaky = Flaky(*[refusal("Throttling")] * 8)
    assert patience(clock, seconds=600).call("reading", flaky) == "done"
    assert clock.slept == [0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0, 15.0]


def test_jitter_keeps_at_least_half_of_a_pause() -> None:
    clock = ManualClock()
    calm = Patience(clock=clock, deadline=START + timedelta(minutes=1), jitter=lambda: 0.0)
    calm.call("reading", Flaky(refusal("Throttling")))
    assert clock.slept == [0.25]


def test_a_refusal_is_raised_at_once() -> None:
    clock = ManualClock()
    flaky = Flaky(refusal("AccessDenied"))
    with pytest.raises(ClientError, match="AccessDenied"):
        patience(clock).call("reading", flaky)
    assert (flaky.calls, clock.slept) == (1, [])


def test_attempts_are_counted_and_the_last_error_is_raised() -> None:
    flaky = Flaky(*[refusal("Throttling")] * 9)
    with pytest.raises(ClientError, match="Throttling"):
        patience(ManualClock(), attempts=3).call("reading", flaky)
    assert flaky.calls == 3


def test_it_never_waits_past_the_deadline() -> None:
    clock = ManualClock()
    flaky = Flaky(*[refusal("Throttling")] * 99)
    with pytest.raises(OutOfTime, match=r"ran out of time: reading \(last answer: Throttling\)"):
        patience(clock, seconds=5).call("reading", flaky)
    assert clock.now() < START + timedelta(seconds=5)


def test_nothing_is_begun_after_the_deadline() -> None:
    flaky = Flaky()
    with pytest.raises(OutOfTime):
        patience(ManualClock(), seconds=0).call("reading", flaky)
    assert flaky.calls == 0


def test_an_earlier_deadline_wins_and_a_later_one_does_not() -> None:
    given = patience(ManualClock(), seconds=60)
    assert given.until(START + timedelta(seconds=10)).deadline == START + timedelta(seconds=10)
    assert given.until(START + timedelta(seconds=90)).deadline == START + timedelta(seconds=60)


def test_a_fault_in_our_own_code_is_not_retried() -> None:
    flaky = Flaky(KeyError("x"))
    with pytest.raises(KeyError):
        patience(ManualClock()).call("reading", flaky)
    assert flaky.calls == 1


def test_the_deadline_leaves_the_reserve() -> None:
    clock = ManualClock()
    assert deadline_of(Context(clock, 30), clock, reserve_seconds=5) == START + timedelta(seconds=25)


def test_the_system_clock_tells_utc() -> None:
    assert SystemClock().now().utcoffset() == timedelta(0)


def test_a_log_line_is_one_json_object_with_time_and_level() -> None:
    lines: list[str] = []
    log = StructuredLog(ManualClock(), lines.append, auto_scaling_group="train").bind(trigger="schedule")
    log.warning("two\nlines", reason="ü")
    assert "\n" not in lines[0]
    assert json.loads(lines[0]) == {
        "timestamp": "2026-11-30T12:00:00.000Z",
        "level": "WARN",
        "message": "two\nlines",
        "auto_scaling_group": "train",
        "trigger": "schedule",
        "reason": "ü",
    }


def test_lines_go_to_standard_output_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    StructuredLog(ManualClock()).info("hello")
    assert json.loads(capsys.readouterr().out)["message"] == "hello"
    structured_log.write_to_stdout("plain")
    assert capsys.readouterr().out == "plain\n"


def test_embedded_metrics_have_one_dimension_set_and_the_time_in_milliseconds() -> None:
    document = embedded_counts(namespace="N", dimensions={"G": "g"}, counts={"A": 0, "B": 2}, at=START)
    assert document == {
        "_aws": {
            "Timestamp": 1796040000000,
            "CloudWatchMetrics": [
                {
                    "Namespace": "N",
                    "Dimensions": [["G"]],
                    "Metrics": [{"Name": "A", "Unit": "Count"}, {"Name": "B", "Unit": "Count"}],
                }
            ],
        },
        "G": "g",
        "A": 0,
        "B": 2,
    }


@pytest.mark.parametrize("value", [1_796_040_000, 1_796_040_000.0, "2026-11-30T12:00:00Z", "2026-11-30T13:00:00+01:00"])
def test_times_in_answers_are_in_utc_whatever_form_they_come_in(value: Any) -> None:
    at = _in_utc(value)
    assert at == datetime(2026, 11, 30, 12, tzinfo=timezone.utc)
    assert at.tzinfo is timezone.utc


def test_every_client_shares_the_session_that_reads_times_so(monkeypatch: pytest.MonkeyPatch) -> None:
    _read_times_in_utc.cache_clear()
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    for name in ("AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "eu-west-1")
    parsers = make_client("cloudwatch")._endpoint._response_parser_factory
    assert parsers._defaults["timestamp_parser"] is _in_utc
