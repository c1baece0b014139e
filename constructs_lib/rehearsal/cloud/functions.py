"""The template's Lambda functions: who invokes them and when, what AWS counts of it, and what it tries again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from constructs_lib.rehearsal.cloud.clients import EPOCH, Account
from constructs_lib.rehearsal.cloud.lambdas import (
    Outcome,
    Runtime,
    alarm_event,
    is_simulated,
    schedule_event,
    termination_event,
)
from constructs_lib.rehearsal.cloud.metrics import Key, MetricStore
from constructs_lib.rehearsal.cloud.steady import Steady
from constructs_lib.rehearsal.template import EventRule, Function, Schedule, Template

_MINUTE = 60
_RETRIES = 2
_OLDEST_EVENT = 6 * 3_600
"""Lambda tries an event that failed twice more, unless it is older ("Error handling for asynchronous invocation")."""

Proof = Callable[[Runtime, int], "Mapping[Key, float] | None"]
"""What a scheduled run would publish if it provably changed nothing, else None: then it has to run."""


@dataclass(frozen=True)
class _Delivery:
    """One event on its way to a function; ``schedule`` is the rule that sends it again and again."""

    due: int
    function: str
    event: Mapping[str, Any]
    sent: int
    attempt: int = 1
    schedule: str | None = None


class Functions:
    """The functions of one template at a time; what is on its way outlives an update of the stack."""

    def __init__(
        self,
        template: Template,
        account: Account,
        store: MetricStore,
        minute_passes: Callable[[], object],
        *,
        deliveries: int = 1,
        changes_nothing: Proof | None = None,
    ) -> None:
        self.outcomes: list[Outcome] = []
        self.notes: list[str] = []
        self._account = account
        self._store = store
        self._minute_passes = minute_passes
        self._deliveries_each = deliveries
        self._changes_nothing = changes_nothing
        self._waiting: list[_Delivery] = []
        self._steady: dict[tuple[str, str], Steady] = {}
        self.read(template)

    def read(self, template: Template) -> None:
        """Take the functions and their rules from a template."""
        self.all: dict[str, Function] = template.functions()
        self.schedules: dict[str, Schedule] = template.schedules()
        self.event_rules: dict[str, EventRule] = template.event_rules()
        self._runtimes: dict[str, Runtime] = {}
        self._limits: dict[str, tuple[int, int]] = {}
        for each in template.resources("AWS::Lambda::EventInvokeConfig").values():
            limits = (
                int(each.get("MaximumRetryAttempts", _RETRIES)),
                int(each.get("MaximumEventAgeInSeconds", _OLDEST_EVENT)),
            )
            self._limits[each["FunctionName"].removesuffix(".Arn")] = limits

    # What sends events

    def alarm_acts(self, alarm: str, target: str, now: int, due: int) -> bool:
        """Send an alarm's action to a function; return whether the target is one."""
        function = self.all.get(target.removesuffix(".Arn"))
        if function is None:
            return False
        if self._may_invoke(alarm, function.id):
            self._send(_Delivery(due, function.id, alarm_event(alarm, now), now))
        return True

    def fire_schedules(self, now: int) -> None:
        """Send the events of the schedules that are due."""
        for schedule, name in self._scheduled():
            if schedule.is_due(now):
                self._fire(schedule, name, now)
        for rule, name in [each for each in self._steady if each[0] not in self.schedules]:
            self._steady.pop((rule, name)).end(now)

    def instance_waits(self, group: str, instance_id: str, now: int) -> None:
        """Send the event of an instance that has begun to wait for a termination hook."""
        event = termination_event(group, instance_id, now)
        for rule in self.event_rules.values():
            if rule.matches(event):
                for name in rule.functions:
                    if self._may_invoke(rule.id, name):
                        self._send(_Delivery(now, name, event, now))

    def _scheduled(self) -> Iterator[tuple[Schedule, str]]:
        """Return each schedule with each function that it may invoke."""
        for schedule in self.schedules.values():
            for name in schedule.functions:
                if self._may_invoke(schedule.id, name):
                    yield schedule, name

    def _may_invoke(self, source: str, name: str) -> bool:
        return not self.all[name].invokers.isdisjoint((source, "*"))

    def _send(self, delivery: _Delivery) -> None:
        self._waiting += [delivery] * self._deliveries_each

    def _fire(self, schedule: Schedule, name: str, now: int) -> None:
        published = self._without_a_run(schedule, name, now)
        if published is not None:
            self._steadily(schedule.id, name).tell(now, {**_counted(name, failed=False), **published})
            return
        regular = None if schedule.seconds is None else schedule.id
        self._send(_Delivery(now, name, schedule_event(schedule.id, now), now, schedule=regular))

    def next_run(self, now: int) -> float:
        """Return when the next scheduled run is due that has to take place, if all else stays as it is."""
        due = [
            schedule.timing.next_after(now) or float("inf")
            for schedule, name in self._scheduled()
            if is_simulated(self.all[name]) and self._without_a_run(schedule, name, now) is None
        ]
        return min(due, default=float("inf"))

    def _without_a_run(self, schedule: Schedule, name: str, now: int) -> Mapping[Key, float] | None:
        """Return what a run would publish if it need not take place, else None."""
        if self._changes_nothing is None or schedule.seconds is None or not is_simulated(self.all[name]):
            return None
        return self._changes_nothing(self._runtime(name), now)

    # What comes of them

    @property
    def is_waiting(self) -> bool:
        """Return whether any event is on its way."""
        return bool(self._waiting)

    def deliver(self, now: int) -> None:
        """Run the functions whose events have arrived."""
        due = [delivery for delivery in self._waiting if delivery.due <= now]
        if due:
            self._waiting = [delivery for delivery in self._waiting if delivery.due > now]
        told: set[tuple[str, str | None]] = set()
        for delivery in due:
            case = (delivery.function, delivery.schedule)
            regular = delivery.schedule if delivery.attempt == 1 and case not in told else None
            told.add(case)
            outcome = self.invoke(delivery.function, delivery.event, regular)
            if outcome is not None and outcome.error is not None:
                self._try_again(delivery)

    def invoke(self, name: str, event: Mapping[str, Any], schedule: str | None = None) -> Outcome | None:
        """Run one function now, None if it is not one of ours; its embedded metrics and errors become metrics."""
        if not is_simulated(self.all[name]):
            note = f"the function {name} is not one of the library's and was not run"
            if note not in self.notes:
                self.notes.append(note)
            return None
        outcome = self._runtime(name).invoke(event)
        self.outcomes.append(outcome)
        counted = _counted(name, failed=outcome.error is not None)
        now = self._account.now
        embedded = [each for line in outcome.embedded for each in _embedded(line)]
        if schedule is not None and outcome.at == now and all(at == now for at, _, _ in embedded):
            self._steadily(schedule, name).tell(now, {**counted, **{key: value for _, key, value in embedded}})
            return outcome
        for key, value in counted.items():
            self._store.add(key, now, value)
        for at, key, value in embedded:
            self._store.add(key, at, value)
        if schedule is not None:
            self._steadily(schedule, name).end(now)
        return outcome

    def _try_again(self, failed: _Delivery) -> None:
        retries, oldest = self._limits.get(failed.function, (_RETRIES, _OLDEST_EVENT))
        due = self._account.now + failed.attempt * _MINUTE
        if failed.attempt <= retries and due - failed.sent <= oldest:
            self._waiting.append(replace(failed, due=due, attempt=failed.attempt + 1))

    def _runtime(self, name: str) -> Runtime:
        known = self._runtimes.get(name)
        if known is None or known.function is not self.all[name]:
            self._runtimes[name] = Runtime(self.all[name], self._account, self._minute_passes)
        return self._runtimes[name]

    def _steadily(self, schedule: str, name: str) -> Steady:
        steady = self._steady.get((schedule, name))
        if steady is None:
            every = self.schedules[schedule].seconds or _MINUTE
            steady = self._steady[schedule, name] = Steady(self._store, every)
        return steady


@cache
def _counted(function: str, *, failed: bool) -> Mapping[Key, float]:
    """Return what Lambda counts of one invocation."""
    dimensions = frozenset({("FunctionName", function)})
    return {("AWS/Lambda", "Invocations", dimensions): 1.0, ("AWS/Lambda", "Errors", dimensions): float(failed)}


def _embedded(line: Mapping[str, Any]) -> list[tuple[int, Key, float]]:
    """Return the metrics in a log line: minute, series and value."""
    at = line["_aws"]["Timestamp"] // 1000 - EPOCH
    return [
        (
            at - at % _MINUTE,
            (directive["Namespace"], metric["Name"], frozenset((name, line[name]) for name in names)),
            float(line[metric["Name"]]),
        )
        for directive in line["_aws"]["CloudWatchMetrics"]
        for names in directive["Dimensions"]
        for metric in directive["Metrics"]
    ]
