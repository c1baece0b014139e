"""Runs the handlers' own entry points: only boto3's clients, the system clock and the environment are replaced."""

from __future__ import annotations

import importlib
import io
import json
import os
import sys
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import patch

import boto3

from constructs_lib.handler_source import handlers_directory
from constructs_lib.rehearsal.cloud.clients import Account, moment
from constructs_lib.rehearsal.template import Function


@dataclass(frozen=True)
class Outcome:
    """One invocation: its log lines, what it answered to CloudFormation, and the error that failed it."""

    at: int
    function: str
    lines: tuple[Mapping[str, Any], ...]
    answers: tuple[Mapping[str, Any], ...]
    error: Exception | None


@dataclass(frozen=True)
class _Context:
    remaining_ms: int
    aws_request_id: str = "simulated"
    function_name: str = "simulated"

    def get_remaining_time_in_millis(self) -> int:
        return self.remaining_ms


class _Clock:
    """Starts at the account's time; a handler's sleep lets the simulated minutes pass."""

    def __init__(self, account: Account, minute_passes: Callable[[], None]) -> None:
        self._account = account
        self._minute_passes = minute_passes
        self._slept = 0.0

    def now(self, _clock: object) -> datetime:
        return moment(self._account.now) + timedelta(seconds=self._slept)

    def sleep(self, _clock: object, seconds: float) -> None:
        self._slept += seconds
        while self._slept >= 60:
            self._minute_passes()
            self._slept -= 60


def invoke(
    function: Function, event: Mapping[str, Any], account: Account, minute_passes: Callable[[], None]
) -> Outcome:
    """Run a function's handler on an event with the settings and permissions that the template gives it."""
    _make_importable(handlers_directory())
    from runtime.clock import SystemClock

    clock = _Clock(account, minute_passes)
    path, _, entry = function.handler.rpartition(".")
    module = importlib.import_module(path)
    output = io.StringIO()
    answers: list[Mapping[str, Any]] = []
    error: Exception | None = None
    started = account.now
    with (
        patch.object(os, "environ", dict(function.environment)),
        patch.object(boto3, "client", lambda service, **_: account.client(service, function.may)),
        patch.object(SystemClock, "now", lambda self: clock.now(self)),
        patch.object(SystemClock, "sleep", lambda self, seconds: clock.sleep(self, seconds)),
        patch.object(urllib.request, "urlopen", lambda request, **_: _accept(request.data, answers)),
        redirect_stdout(output),
        _cold_start(module),
    ):
        try:
            getattr(module, entry)(event, _Context(function.timeout * 1000))
        except Exception as raised:  # a failed invocation is an outcome; the tests assert on it
            error = raised
    lines = tuple(json.loads(line) for line in output.getvalue().splitlines())
    return Outcome(started, function.id, lines, tuple(answers), error)


def _make_importable(directory: Path) -> None:
    if str(directory) not in sys.path:
        sys.path.append(str(directory))


@contextmanager
def _accept(body: bytes, answers: list[Mapping[str, Any]]) -> Iterator[SimpleNamespace]:
    """Take an answer to CloudFormation, as its pre-signed address does."""
    answers.append(json.loads(body))
    yield SimpleNamespace(status=200)


@contextmanager
def _cold_start(module: ModuleType) -> Iterator[None]:
    """Forget what the handler remembers between invocations, before this one and after it."""
    remembered = [each for each in vars(module).values() if hasattr(each, "cache_clear")]
    for each in remembered:
        each.cache_clear()
    try:
        yield
    finally:
        for each in remembered:
            each.cache_clear()


def alarm_event(name: str, at: int) -> dict[str, Any]:
    """Return what CloudWatch sends to a function when an alarm goes to ALARM."""
    stamp = moment(at).isoformat()
    return {
        "source": "aws.cloudwatch",
        "alarmArn": f"arn:aws:cloudwatch:us-east-1:111122223333:alarm:{name}",
        "accountId": "111122223333",
        "region": "us-east-1",
        "time": stamp,
        "alarmData": {
            "alarmName": name,
            "state": {"value": "ALARM", "reason": "Threshold crossed", "timestamp": stamp},
            "previousState": {"value": "OK", "reason": "", "timestamp": stamp},
            "configuration": {},
        },
    }


def schedule_event(rule: str, at: int) -> dict[str, Any]:
    """Return what EventBridge sends when a schedule rule fires."""
    return {
        "version": "0",
        "id": f"{rule}-{at}",
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": "111122223333",
        "time": moment(at).isoformat(),
        "region": "us-east-1",
        "resources": [f"arn:aws:events:us-east-1:111122223333:rule/{rule}"],
        "detail": {},
    }


def termination_event(group: str, instance_id: str, at: int) -> dict[str, Any]:
    """Return what EventBridge sends when an instance begins to wait for a termination hook."""
    return {
        "version": "0",
        "id": f"{instance_id}-{at}",
        "detail-type": "EC2 Instance-terminate Lifecycle Action",
        "source": "aws.autoscaling",
        "account": "111122223333",
        "time": moment(at).isoformat(),
        "region": "us-east-1",
        "resources": [f"arn:aws:autoscaling:us-east-1:111122223333:autoScalingGroup:1:autoScalingGroupName/{group}"],
        "detail": {
            "LifecycleActionToken": f"token-{instance_id}",
            "AutoScalingGroupName": group,
            "LifecycleHookName": "Drain",
            "EC2InstanceId": instance_id,
            "LifecycleTransition": "autoscaling:EC2_INSTANCE_TERMINATING",
            "Origin": "AutoScalingGroup",
            "Destination": "EC2",
        },
    }
