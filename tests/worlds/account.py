"""An account in which every call can fail, and a record of what each change did."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from tests.handlers.fake_aws import Call, FakeAws
from tests.handlers.fake_aws.auto_scaling import FakeGroup, FakeMember
from tests.handlers.fake_aws.calls import Parameters, operation_names
from tests.worlds.faults import Fault, Faults, Kind, error, list_of, split, with_bad_status, without_a_field

PUBLISHED_AFTER = timedelta(seconds=60)
"""A minute's sample can be read when the minute is over."""

OLDEST_ANSWER = timedelta(minutes=5)
"""No answer is older than this."""

_READS = ("Describe", "Get", "List")
_SERVICES = ("autoscaling", "ec2", "sqs", "ssm")
"""Whose answers may be old. Metrics are cut off at a time instead."""


@dataclass(frozen=True)
class Change:
    """What one changing call did to the group: read before and after it."""

    at: datetime
    call: Call
    before: FakeGroup
    after: FakeGroup

    @property
    def named(self) -> tuple[str, ...]:
        """The instances that the call names."""
        found: list[str] = []
        for name in ("InstanceId", "InstanceIds", "Resources"):
            value = self.call.parameters.get(name, ())
            found += [value] if isinstance(value, str) else value
        return tuple(found)

    def left(self) -> list[FakeMember]:
        """Return the members, as they were before, that this call put on their way out."""
        stay = {each.instance_id for each in self.after.members if not is_leaving(each.lifecycle_state)}
        return [
            each
            for each in self.before.members
            if not is_leaving(each.lifecycle_state) and each.instance_id not in stay
        ]


@dataclass(frozen=True)
class _Snapshot:
    at: datetime
    states: Mapping[str, dict[str, Any]]


@dataclass
class FaultyAccount(FakeAws):
    """A fake AWS with faults, that keeps what each change did."""

    plan: Faults = field(default_factory=Faults)
    changed: list[Change] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self._history: list[_Snapshot] = []
        self._rest: dict[str, dict[str, Any]] = {}

    def client(self, service: str) -> Any:
        return _Client(self, service)

    def remember(self) -> None:
        """Keep the present state as what a stale answer may tell."""
        if any(fault.kind is Kind.STALE for fault in self.plan.plan):
            self._history.append(_Snapshot(self.clock.now(), {name: self._copy(name) for name in _SERVICES}))

    def _copy(self, service: str) -> dict[str, Any]:
        # The clock is the world's: a state of the past reads the present time.
        return copy.deepcopy(vars(getattr(self, service)), {id(self.clock): self.clock})

    def perform(self, call: Call, implementation: Callable[[Parameters], Any]) -> Any:
        self.calls.append(call)
        for happen in self.before:
            happen(call)
        changing = not call.operation.startswith(_READS)
        fault = self.plan.strike(call.operation, changing=changing)
        raised = None if fault is None else error(fault.kind)
        if raised is not None and not (changing and fault is not None and fault.kind is Kind.UNHEARD):
            raise raised
        answer = self._change(call, implementation) if changing else self._read(call, implementation, fault)
        if raised is not None:
            raise raised
        return answer

    def _change(self, call: Call, implementation: Callable[[Parameters], Any]) -> Any:
        self.remember()
        before = {name: _sizes(group) for name, group in self.autoscaling.groups.items()}
        answer = implementation(call.parameters)
        for name, group in self.autoscaling.groups.items():
            self.changed.append(Change(self.clock.now(), call, before[name], _sizes(group)))
        return answer

    def _read(self, call: Call, implementation: Callable[[Parameters], Any], fault: Fault | None) -> Any:
        parameters, token = dict(call.parameters), str(call.parameters.get("NextToken", ""))
        if token in self._rest:
            answer = self._rest[token]
        elif fault is not None and fault.kind is Kind.STALE:
            answer = self._stale(call, implementation, fault)
        else:
            answer = implementation(self._readable(call, parameters, timedelta()))
        return self._spoilt(call, answer, fault)

    def _readable(self, call: Call, parameters: Parameters, lag: timedelta) -> Parameters:
        if call.operation != "GetMetricData":
            return parameters
        newest = self.clock.now() - PUBLISHED_AFTER - lag
        return {**parameters, "EndTime": min(parameters["EndTime"], newest + timedelta(seconds=1))}

    def _stale(self, call: Call, implementation: Callable[[Parameters], Any], fault: Fault) -> Any:
        lag = min(OLDEST_ANSWER, timedelta(minutes=1 + fault.choice))
        parameters = self._readable(call, call.parameters, lag)
        known = [each for each in self._history if each.at >= self.clock.now() - OLDEST_ANSWER]
        if call.operation == "GetMetricData" or not known:
            return implementation(parameters)
        with self._as_it_was(known[-1 - fault.choice % len(known)]):
            return implementation(parameters)

    @contextmanager
    def _as_it_was(self, snapshot: _Snapshot) -> Any:
        present = {name: vars(getattr(self, name)).copy() for name in _SERVICES}
        try:
            for name, state in snapshot.states.items():
                vars(getattr(self, name)).update(copy.deepcopy(state, {id(self.clock): self.clock}))
            yield
        finally:
            for name, state in present.items():
                vars(getattr(self, name)).update(state)

    def _spoilt(self, call: Call, answer: Any, fault: Fault | None) -> Any:
        if fault is None or answer is None:
            return answer
        if fault.kind is Kind.FIELD_MISSING:
            return without_a_field(call.service, call.operation, answer, fault.choice)
        if fault.kind is Kind.BAD_STATUS and call.operation == "GetMetricData":
            return with_bad_status(answer, fault.choice)
        name = list_of(call.operation)
        if name is None or fault.kind not in (Kind.SHORT_PAGE, Kind.EMPTY_PAGE):
            return answer
        at = 0 if fault.kind is Kind.EMPTY_PAGE else min(len(answer[name]), 1 + fault.choice % 3)
        first, rest = split(call.operation, answer, at)
        token = f"rest-{len(self._rest)}"
        self._rest[token] = rest
        return {**first, "NextToken": token}


class _Client:
    """Like the fake's own, without its checks of every call and answer: other tests make them, and they cost."""

    def __init__(self, account: FaultyAccount, service: str) -> None:
        self._account = account
        self._service = service

    def __getattr__(self, method: str) -> Callable[..., Any]:
        operation = operation_names(self._service)[method]
        implementation = getattr(getattr(self._account, self._service), method)
        return lambda **parameters: self._account.perform(Call(self._service, operation, parameters), implementation)


def _sizes(group: FakeGroup) -> FakeGroup:
    """Return a copy of what a change can change."""
    return replace(group, members=[replace(member) for member in group.members], suspended=list(group.suspended))


def is_leaving(lifecycle_state: str) -> bool:
    """Return whether a member is on its way out. One that is retained stays until somebody ends it."""
    return lifecycle_state.startswith("Terminat") and not lifecycle_state.endswith(":Retained")
