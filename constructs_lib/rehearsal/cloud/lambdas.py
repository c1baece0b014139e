"""Runs the handlers' own code with simulated clients, clock and context; nothing of the handlers is replaced."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from functools import cached_property, partial
from types import ModuleType
from typing import Any

from constructs_lib.errors import ArgumentError
from constructs_lib.handler_source import handlers_directory
from constructs_lib.rehearsal.cloud.clients import Account, moment
from constructs_lib.rehearsal.template import Function
from constructs_lib.validation import complaint

_OURS = ("release_idle", "wake_on_demand", "fleet_schedule", "fleet_cleanup", "stack_expiry")
_CLEANUP = "fleet_cleanup"


@dataclass(frozen=True)
class Outcome:
    """One invocation: what it logged, what it answered to CloudFormation, and the error that failed it."""

    at: int
    function: str
    output: tuple[str, ...]
    answers: tuple[Mapping[str, Any], ...]
    error: Exception | None

    @cached_property
    def lines(self) -> tuple[Mapping[str, Any], ...]:
        """Return the log lines."""
        return tuple(json.loads(line) for line in self.output)

    @property
    def embedded(self) -> tuple[Mapping[str, Any], ...]:
        """Return the log lines that are metrics."""
        return tuple(json.loads(line) for line in self.output if line.startswith('{"_aws":'))


@dataclass(frozen=True)
class _Context:
    remaining_ms: int
    aws_request_id: str = "simulated"
    function_name: str = "simulated"

    def get_remaining_time_in_millis(self) -> int:
        return self.remaining_ms


class Clock:
    """Starts at the account's time; a handler's sleep lets the simulated minutes pass."""

    def __init__(self, account: Account, minute_passes: Callable[[], object]) -> None:
        self._account = account
        self._minute_passes = minute_passes
        self._slept = 0.0

    def now(self) -> datetime:
        at = moment(self._account.now)
        return at + timedelta(seconds=self._slept) if self._slept else at

    def sleep(self, seconds: float) -> None:
        self._slept += seconds
        while self._slept >= 60:
            self._minute_passes()
            self._slept -= 60


def is_simulated(function: Function) -> bool:
    """Return whether a function is one of the library's own that can be run here."""
    return function.handler.partition(".")[0] in _OURS


class Runtime:
    """One function, ready to be invoked: its settings are read once, as in a function that stays warm.

    A template whose settings make no sense fails each invocation, as it does in AWS, and so does a call that the
    function's role does not allow.
    """

    def __init__(self, function: Function, account: Account, minute_passes: Callable[[], object]) -> None:
        _make_importable()
        self.function = function
        self._account = account
        self._minute_passes = minute_passes
        self.package, _, entry = function.handler.partition(".")
        if entry != "index.handler":
            rule, cure = "be one that is simulated", f"write {self.package}.index.handler"
            raise ArgumentError(complaint(function.id, "Handler", rule, function.handler, cure))
        self._index: ModuleType = importlib.import_module(f"{self.package}.index")

    @cached_property
    def settings(self) -> Any:
        """The settings that the environment gives. Raises the handler's own error for one that makes no sense."""
        return self._index.read_settings(self.function.environment)

    @cached_property
    def settings_or_none(self) -> Any:
        """The settings, None if they make no sense: then each run fails, as it has to."""
        try:
            return self.settings
        except ValueError:
            return None

    def clock(self) -> Clock:
        """Return the clock of one invocation that begins now."""
        return Clock(self._account, self._minute_passes)

    def invoke(self, event: Mapping[str, Any]) -> Outcome:
        """Run the function on an event now."""
        from runtime.structured_log import StructuredLog

        clock = self.clock()
        output: list[str] = []
        answers: list[Mapping[str, Any]] = []
        started = self._account.now
        error: Exception | None = None
        try:
            self._call(event, clock, StructuredLog(clock, output.append), answers)
        except Exception as raised:  # a failed invocation is an outcome: it is counted, and maybe repeated
            error = raised
        return Outcome(started, self.function.id, tuple(output), tuple(answers), error)

    def _call(self, event: Mapping[str, Any], clock: Clock, log: Any, answers: list[Mapping[str, Any]]) -> None:
        index, context = self._index, _Context(self.function.timeout * 1000)
        if self.package != _CLEANUP:
            index.handle(event, context, self.settings, self.clients, clock, log)
        elif index.is_from_cloudformation(event):
            index.handle_stack_event(event, context, self.settings, self.clients, clock, log)
        else:
            index.handle(event, context, self.clients, clock, partial(_accept, answers), log)

    @cached_property
    def clients(self) -> Any:
        """The function's own clients, which its role limits."""
        kinds = self._index.Clients
        may = self.function.may
        return kinds(**{each.name: self._account.client(each.name, may) for each in fields(kinds)})


def _make_importable() -> None:
    directory = str(handlers_directory())
    if directory not in sys.path:
        sys.path.append(directory)


def _accept(answers: list[Mapping[str, Any]], _url: str, body: bytes) -> int:
    """Take an answer to CloudFormation, as its pre-signed address does."""
    answers.append(json.loads(body))
    return 200


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
