"""One fleet on a simulated clock: each tick moves the group, the work, the metrics, the alarms and the schedules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from constructs_lib.node.names import DRAIN_HOOK
from constructs_lib.rehearsal.cloud.alarms import Alarm, State
from constructs_lib.rehearsal.cloud.clients import EPOCH, Account
from constructs_lib.rehearsal.cloud.group import Ending, Group, Instance
from constructs_lib.rehearsal.cloud.lambdas import Outcome, alarm_event, invoke, schedule_event, termination_event
from constructs_lib.rehearsal.cloud.metrics import MetricStore
from constructs_lib.rehearsal.cloud.policies import PolicyRunner
from constructs_lib.rehearsal.cloud.work_queue import Workers, WorkQueue
from constructs_lib.rehearsal.machine.drain import DrainService
from constructs_lib.rehearsal.machine.instance import Image, Machine
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.template import Template

MINUTE = 60
LATE_BUT_USUAL = {"AWS/AutoScaling": 120, "AWS/SQS": 120, "AWS/Lambda": 120}


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """What AWS leaves open; every scenario may be run under several of them."""

    extra_periods: int = 2
    """How many periods the evaluation range is longer than N."""
    delays: Mapping[str, int] | None = None
    """Seconds until a sample can be read, by namespace. Default: LATE_BUT_USUAL, else 60."""
    fill_empty: bool = True
    """Whether FILL fills a metric without any point in the range."""
    boot_seconds: int = 120
    """From launch to InService; the agent's first sample comes a minute later."""
    zones: int = 2
    alarm_delivery_seconds: int = 0
    """How late an alarm's action arrives."""
    deliveries: int = 1
    """How often each event is delivered."""


class World:
    """A fleet as its template describes it; ``load`` says what each instance does in each minute, or the workers."""

    def __init__(
        self,
        template: Mapping[str, Any],
        *,
        load: Callable[[Instance, int], Load] | None = None,
        workers: Workers | None = None,
        conditions: Conditions | None = None,
    ) -> None:
        self.conditions = conditions or Conditions()
        self.template = Template(template)
        self.now = 0
        self.workers = workers
        self._load = load or (workers.load if workers else self._nothing_to_do)
        name, properties = self.template.group()
        self.group = Group(
            name,
            properties,
            boot_seconds=self.conditions.boot_seconds,
            zones=self.conditions.zones,
            tags=self.template.instance_tags(),
            busy=self._busyness,
        )
        delays = self.conditions.delays
        self.store = MetricStore(LATE_BUT_USUAL if delays is None else delays)
        self.queue = workers.queue if workers else WorkQueue("Jobs")
        parameters = {name: [(0, value)] for name, value in self.template.parameters().items()}
        self.account = Account(self.group, self.store, self.queue, self._load, parameters)
        self.outcomes: list[Outcome] = []
        self.physical_ids: dict[str, str] = {}
        self.notifications: list[tuple[int, str, str]] = []
        self.alarm_history: list[tuple[int, str, State]] = []
        self._scripted: list[tuple[int, Callable[[], None]]] = []
        self._deliveries: list[tuple[int, str, Mapping[str, Any]]] = []
        self._machines: dict[str, Machine] = {}
        self._drains: dict[str, DrainService] = {}
        self._read_template()
        self.states: dict[str, State] = dict.fromkeys(self.alarms, "INSUFFICIENT_DATA")

    def _read_template(self) -> None:
        self.alarms: dict[str, Alarm] = self.template.alarms()
        self.functions = self.template.functions()
        self.schedules = self.template.schedules()
        self.event_rules = self.template.event_rules()
        self.scheduled_actions = self.template.scheduled_actions()
        self._image = Image(self.template)
        self._policies = PolicyRunner(self.template, self.group)

    # Scripting a scenario

    def at(self, minute: float, action: Callable[[], None]) -> None:
        """Do something at a minute, before anything else happens in it."""
        self._scripted.append((int(minute * MINUTE), action))

    def run(self, minutes: int) -> World:
        """Let time pass."""
        for _ in range(minutes):
            self.tick()
        return self

    def start(self, count: int) -> list[Instance]:
        """Raise the group to ``count`` by hand and wait until they are in service."""
        self.group.set_desired(count)
        self.run(self.conditions.boot_seconds // MINUTE + 1)
        return self.group.in_service

    def redeploy(self, template: Mapping[str, Any]) -> None:
        """Update the stack: live state stays, instances with it; the new template's settings apply."""
        self.template = Template(template)
        _, properties = self.template.group()
        self.group.update(properties, self.template.attribute(self.group.name, "UpdatePolicy"))
        self._read_template()
        self.states = {name: self.states.get(name, "INSUFFICIENT_DATA") for name in self.alarms}

    # Looking at the result

    @property
    def released(self) -> list[Ending]:
        """Return the endings that the release handler caused."""
        return [ending for ending in self.group.endings if ending.cause == "released"]

    @property
    def killed_at_work(self) -> list[Ending]:
        """Return every ending that cut work off."""
        return self.group.cut_off

    @property
    def failures(self) -> list[Outcome]:
        """Return the invocations that failed."""
        return [outcome for outcome in self.outcomes if outcome.error is not None]

    def billed_hours(self) -> float:
        """Return the instance-hours paid so far."""
        ends = ((i.launched, self.now if i.ended is None else i.ended) for i in self.group.everyone)
        return sum(end - start for start, end in ends) / 3_600

    def went_to(self, alarm: Alarm, state: State) -> list[int]:
        """Return the minutes at which an alarm changed to a state."""
        return [at // MINUTE for at, name, new in self.alarm_history if name == alarm.name and new == state]

    # One minute

    def tick(self) -> None:
        """Move everything by one minute."""
        self.now += MINUTE
        self.account.now = self.now
        waited = {instance.id for instance in self.group.everyone if instance.waits_until is not None}
        for due, action in [entry for entry in self._scripted if entry[0] <= self.now]:
            self._scripted.remove((due, action))
            action()
        self._take_scheduled_actions()
        self.group.tick(self.now)
        if self.workers is not None:
            self.workers.tick(self.now, self.group.in_service, self.group.draining)
        self._drain()
        self._tell_of_hooks(waited)
        self._publish()
        for name, alarm in self.alarms.items():
            self._evaluate(name, alarm)
        self._fire_schedules()
        self._deliver()

    def _take_scheduled_actions(self) -> None:
        for name, action in list(self.scheduled_actions.items()):
            at = datetime.fromisoformat(action["StartTime"].replace("Z", "+00:00")).timestamp() - EPOCH
            if at <= self.now:
                # Auto Scaling forgets one that has run.
                del self.scheduled_actions[name]
                sizes = (action.get(size) for size in ("MinSize", "MaxSize", "DesiredCapacity"))
                minimum, maximum, desired = (None if size is None else int(size) for size in sizes)
                self.group.resize(minimum=minimum, maximum=maximum, desired=desired)

    def _nothing_to_do(self, _instance: Instance, _now: int) -> Load:
        return Load(accelerators=(0.0,) * self._image.accelerators)

    def _busyness(self, instance: Instance, now: int) -> float:
        load = self._load(instance, now)
        return load.busiest + load.cpu + 1 if load.busy else 0.0

    def _publish(self) -> None:
        for instance in self.group.at_work:
            machine = self._machine(instance)
            if instance.in_service_since != self.now:
                machine.publish(self.store, self.now, self._load(instance, self.now))
        for metric, value in self.group.metrics().items():
            dimensions = {"AutoScalingGroupName": self.group.name}
            self.store.put("AWS/AutoScaling", metric, dimensions, self.now, value)
        self.queue.publish(self.store, self.now)

    def _drain(self) -> None:
        """Let the drain service of each instance that is to go do its part, if it lives."""
        for instance in self.group.draining:
            load = self._load(instance, self.now)
            if load.drain_service and self._image.settings is not None:
                self._drains.setdefault(instance.id, DrainService(self._image.settings)).pass_minute(
                    self.now, load, partial(self.group.complete, instance.id, DRAIN_HOOK)
                )

    def _machine(self, instance: Instance) -> Machine:
        if instance.id not in self._machines:
            identity = {"InstanceId": instance.id, "AutoScalingGroupName": self.group.name}
            self._machines[instance.id] = Machine(self._image, identity, instance.launched)
        return self._machines[instance.id]

    def _evaluate(self, name: str, alarm: Alarm) -> None:
        points = alarm.points(
            self.store, self.now, extra=self.conditions.extra_periods, fill_empty=self.conditions.fill_empty
        )
        state = alarm.evaluate(points, self.states[name])
        changed = state != self.states[name]
        self.states[name] = state
        if changed:
            self.alarm_history.append((self.now, name, state))
        for target in alarm.actions[state]:
            if self._policies.knows(target):
                self._policies.run(target, self.now, alarm.threshold, points)
            elif changed:
                self._act(name, target)

    def _act(self, alarm: str, target: str) -> None:
        function = self.functions.get(target.removesuffix(".Arn"))
        if function is None:
            self.notifications.append((self.now, alarm, target))
        elif {alarm, "*"} & function.invokers:
            due = self.now + self.conditions.alarm_delivery_seconds
            self._send(due, function.id, alarm_event(alarm, self.now))

    def _fire_schedules(self) -> None:
        for schedule in self.schedules.values():
            if self.now % schedule.seconds == 0:
                for name in schedule.functions:
                    if {schedule.id, "*"} & self.functions[name].invokers:
                        self._send(self.now, name, schedule_event(schedule.id, self.now))

    def _tell_of_hooks(self, before: set[str]) -> None:
        """Send the event of each instance that has begun to wait for a termination hook."""
        for instance in self.group.everyone:
            if instance.waits_until is None or instance.id in before:
                continue
            for rule in self.event_rules.values():
                event = termination_event(self.group.name, instance.id, self.now)
                if rule.matches(event):
                    for name in rule.functions:
                        if {rule.id, "*"} & self.functions[name].invokers:
                            self._send(self.now, name, event)

    def _send(self, due: int, function: str, event: Mapping[str, Any]) -> None:
        self._deliveries += [(due, function, event)] * self.conditions.deliveries

    def _deliver(self) -> None:
        due = [delivery for delivery in self._deliveries if delivery[0] <= self.now]
        self._deliveries = [delivery for delivery in self._deliveries if delivery[0] > self.now]
        for _, function, event in due:
            self.invoke(function, event)

    def invoke(self, function: str, event: Mapping[str, Any]) -> Outcome:
        """Run one function now; its embedded metrics and errors become metrics."""
        outcome = invoke(self.functions[function], event, self.account, self.tick)
        self.outcomes.append(outcome)
        failed = float(outcome.error is not None)
        self.store.put("AWS/Lambda", "Errors", {"FunctionName": function}, self.now, failed)
        for line in outcome.lines:
            if "_aws" in line:
                self._read_embedded(line)
        return outcome

    def _read_embedded(self, line: Mapping[str, Any]) -> None:
        timestamp = line["_aws"]["Timestamp"] // 1000 - EPOCH
        for directive in line["_aws"]["CloudWatchMetrics"]:
            for names in directive["Dimensions"]:
                for metric in directive["Metrics"]:
                    dimensions = {name: line[name] for name in names}
                    value = float(line[metric["Name"]])
                    minute = timestamp - timestamp % MINUTE
                    self.store.put(directive["Namespace"], metric["Name"], dimensions, minute, value)
