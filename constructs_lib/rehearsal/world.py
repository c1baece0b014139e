"""One fleet on a simulated clock: each tick moves the group, the work, the metrics, the alarms and the schedules."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from constructs_lib.errors import ArgumentError
from constructs_lib.rehearsal.cloud.alarm_watch import AlarmWatch
from constructs_lib.rehearsal.cloud.alarms import Alarm, State
from constructs_lib.rehearsal.cloud.clients import Account
from constructs_lib.rehearsal.cloud.functions import Functions
from constructs_lib.rehearsal.cloud.group import Boot, Ending, Group, Instance
from constructs_lib.rehearsal.cloud.lambdas import Outcome
from constructs_lib.rehearsal.cloud.metrics import MetricStore
from constructs_lib.rehearsal.cloud.policies import PolicyRunner
from constructs_lib.rehearsal.cloud.scheduled_actions import ScheduledActions
from constructs_lib.rehearsal.cloud.steady import Steady
from constructs_lib.rehearsal.cloud.work_queue import WorkQueue
from constructs_lib.rehearsal.machine.crew import Crew
from constructs_lib.rehearsal.machine.instance import Image
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.proofs import Proofs
from constructs_lib.rehearsal.staff import Staff
from constructs_lib.rehearsal.template import Function, Template
from constructs_lib.validation import complaint

MINUTE = 60
LATE_BUT_USUAL = {"AWS/AutoScaling": 120, "AWS/EC2": 120, "AWS/SQS": 120, "AWS/Lambda": 120}


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
    zones: int | None = None
    """Over how many zones the group is spread. Default: as many as it has subnets."""
    alarm_delivery_seconds: int = 0
    """How late an alarm's action arrives."""
    deliveries: int = 1
    """How often each event is delivered."""
    scheduled_action_seconds: int = 0
    """How late a scheduled action of the group runs, 0 to 120."""
    rebalancing_spares_protected: bool = True
    """Whether the evening out of zones spares members that are protected from scale-in."""

    def describe(self) -> dict[str, Any]:
        """Return the reading of what AWS leaves open, fit for JSON."""
        return {
            "evaluation_range_extra_periods": self.extra_periods,
            "fill_fills_an_empty_metric": self.fill_empty,
            "alarm_delivery_seconds": self.alarm_delivery_seconds,
            "deliveries": self.deliveries,
            "scheduled_action_seconds": self.scheduled_action_seconds,
            "rebalancing_spares_protected": self.rebalancing_spares_protected,
        }


class Controller(Protocol):
    """Something that acts on the fleet each minute in place of the template's alarms and functions."""

    def minute(self, world: World) -> None: ...


class Workers(Protocol):
    """Programs on the instances that take messages minute by minute."""

    @property
    def queue(self) -> WorkQueue: ...

    def tick(self, now: int, in_service: Sequence[Instance], draining: Sequence[Instance]) -> None: ...

    def load(self, instance: Instance, now: int, /) -> Load: ...


class World:
    """A fleet as its template describes it; ``load`` says what each instance does in each minute, or the workers.

    ``begin`` is the second, on the clock of the simulated account, at which it starts. ``hire`` brings jobs in
    continuous time to the group, ``boot`` says how long each launch takes, and a ``controller`` acts in place of alarms
    and functions. With ``leaves_out`` no scheduled run of a function takes place that provably changes nothing, and no
    metric is published that nobody reads.
    """

    def __init__(
        self,
        template: Mapping[str, Any],
        *,
        fleet: str | None = None,
        load: Callable[[Instance, int], Load] | None = None,
        workers: Workers | None = None,
        conditions: Conditions | None = None,
        begin: int = 0,
        hire: Callable[[Group], Staff] | None = None,
        boot: Callable[[Instance], Boot] | None = None,
        controller: Controller | None = None,
        leaves_out: bool = False,
    ) -> None:
        self.conditions = conditions or Conditions()
        self.template = Template(template, fleet=fleet)
        self.now = begin
        self.workers = workers
        self.controller = controller
        self._leaves_out = leaves_out
        image = self._image()
        name, properties = self.template.group()
        self.group = Group(
            name,
            properties,
            boot_seconds=boot or self.conditions.boot_seconds,
            zones=self.template.zones() if self.conditions.zones is None else self.conditions.zones,
            tags=self.template.instance_tags(),
            busy=self._busyness,
            purchasing=self.template.purchasing(),
            rebalancing_spares_protected=self.conditions.rebalancing_spares_protected,
        )
        self.scheduled_actions = ScheduledActions(
            self.template.scheduled_actions().values(),
            self.group,
            begin=begin,
            late=self.conditions.scheduled_action_seconds,
        )
        self.staff = None if hire is None else hire(self.group)
        hands = workers or self.staff
        self._load = load or (hands.load if hands else _idling(image))
        self.queue = hands.queue if hands else WorkQueue("Jobs")
        delays = self.conditions.delays
        self.store = MetricStore(LATE_BUT_USUAL if delays is None else delays)
        self.crew = Crew(self.group, self.store, image, self._load)
        parameters = {name: [(begin, value)] for name, value in self.template.parameters().items()}
        self.account = Account(self.group, self.store, self.queue, self._load, parameters, now=begin)
        self.lambdas = Functions(
            self.template,
            self.account,
            self.store,
            self.tick,
            deliveries=self.conditions.deliveries,
            changes_nothing=Proofs(self.account, self.crew.evidence) if leaves_out else None,
        )
        self.physical_ids: dict[str, str] = {}
        self.notifications: list[tuple[int, str, str]] = []
        extra, fill_empty = self.conditions.extra_periods, self.conditions.fill_empty
        self.watch = AlarmWatch(self.store, extra=extra, fill_empty=fill_empty)
        self._scripted: list[tuple[int, Callable[[], None]]] = []
        self._group_figures = Steady(self.store)
        self._queue_figures = Steady(self.store)
        self._read_template()

    def _read_template(self) -> None:
        self._policies = PolicyRunner(self.template, self.group)
        self.watch.read(self.template, self._can_change)

    def _can_change(self, target: str) -> bool:
        """Return whether an alarm's action can change the fleet: it scales it, or runs a function."""
        return self._policies.knows(target) or target.removesuffix(".Arn") in self.lambdas.all

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
        self.template = Template(template, fleet=self.group.name)
        _, properties = self.template.group()
        self.group.update(properties, self.template.attribute(self.group.name, "UpdatePolicy"))
        self.crew.image = self._image()
        self.lambdas.read(self.template)
        self.scheduled_actions.read(self.template.scheduled_actions().values(), self.now)
        self._read_template()

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
    def functions(self) -> dict[str, Function]:
        """Return the template's functions by logical id."""
        return self.lambdas.all

    @property
    def alarms(self) -> dict[str, Alarm]:
        """Return the metric alarms by logical id."""
        return self.watch.alarms

    @property
    def states(self) -> dict[str, State]:
        """Return the state of each alarm."""
        return self.watch.states

    @property
    def alarm_history(self) -> list[tuple[int, str, State]]:
        """Return when which alarm went to which state."""
        return self.watch.history

    @property
    def outcomes(self) -> list[Outcome]:
        """Return the invocations of functions, as far as they were run."""
        return self.lambdas.outcomes

    @property
    def failures(self) -> list[Outcome]:
        """Return the invocations that failed."""
        return [outcome for outcome in self.outcomes if outcome.error is not None]

    def billed_hours(self) -> float:
        """Return the instance-hours paid so far."""
        ends = ((i.launched, self.now if i.paid_until is None else i.paid_until) for i in self.group.everyone)
        return sum(end - start for start, end in ends) / 3_600

    def went_to(self, alarm: Alarm, state: State) -> list[int]:
        """Return the minutes at which an alarm changed to a state."""
        return [at // MINUTE for at, name, new in self.alarm_history if name == alarm.name and new == state]

    # One minute

    def tick(self) -> None:
        """Move everything by one minute."""
        self.now += MINUTE
        self.account.now = self.now
        waited = {instance.id for instance in self._waiting()}
        for due, action in [entry for entry in self._scripted if entry[0] <= self.now]:
            self._scripted.remove((due, action))
            action()
        if self.staff is not None:
            self.staff.go_on(self.now)
        self.scheduled_actions.tick(self.now)
        self.group.tick(self.now)
        if self.workers is not None:
            self.workers.tick(self.now, self.group.in_service, self.group.draining)
        self.crew.drain(self.now)
        self._tell_of_hooks(waited)
        if self.staff is not None:
            self.staff.settle()
        self._publish()
        if self.controller is not None:
            self.controller.minute(self)
        else:
            self._act_on_alarms()
            self.lambdas.fire_schedules(self.now)
            self.lambdas.deliver(self.now)
        if self.staff is not None:
            self.staff.settle()

    def sleeps_until(self) -> float:
        """Return until when surely nothing happens in an empty fleet; the present if that is not sure.

        Nobody is there or comes, nothing waits, no alarm can change, and the functions that run meanwhile find nothing.
        """
        if self.controller is not None or self.staff is None or self._scripted or self.lambdas.is_waiting:
            return self.now
        group = self.group
        if group.members or group.desired or group.pool is not None or self.queue.visible or self.queue.in_flight:
            return self.now
        acting = (each.actions[self.states[name]] for name, each in self.alarms.items())
        if not self.watch.is_settled(self.now) or any(
            self._policies.knows(each) for targets in acting for each in targets
        ):
            return self.now
        arrival = self.staff.work.next_arrival
        nothing_more = self.now if arrival is None else arrival
        return min(nothing_more, self.scheduled_actions.next_due, self.lambdas.next_run(self.now))

    def skip_to(self, now: int) -> None:
        """Let time pass in which nothing happens, up to a full minute."""
        self.now = self.account.now = now

    def _image(self) -> Image:
        if not self._leaves_out:
            return Image(self.template)
        return Image(self.template, watched_metrics(self.template), watched_dimensions(self.template))

    def _busyness(self, instance: Instance, now: int) -> float:
        return self.crew.busyness(instance, now)

    def _publish(self) -> None:
        self.crew.publish(self.now, None if self.staff is None else self.staff.changed())
        group = frozenset({("AutoScalingGroupName", self.group.name)})
        figures = {("AWS/AutoScaling", metric, group): value for metric, value in self.group.metrics().items()}
        self._group_figures.tell(self.now, figures)
        if self.group.in_service:
            # Workers ask for messages all the time.
            self.queue.touch(self.now)
        self._queue_figures.tell(self.now, self.queue.figures(self.now), hidden_until=self.queue.lag_until)

    def _act_on_alarms(self) -> None:
        for action in self.watch.tick(self.now):
            if self._policies.knows(action.target):
                self._policies.run(action.target, self.now, action.threshold, action.points)
            elif action.has_changed:
                due = self.now + self.conditions.alarm_delivery_seconds
                if not self.lambdas.alarm_acts(action.alarm, action.target, self.now, due):
                    self.notifications.append((self.now, action.alarm, action.target))

    def _tell_of_hooks(self, before: set[str]) -> None:
        """Send the event of each instance that has begun to wait for a termination hook."""
        for instance in self._waiting():
            if instance.id not in before:
                self.lambdas.instance_waits(self.group.name, instance.id, self.now)

    def _waiting(self) -> list[Instance]:
        """Return who waits for a termination hook."""
        leaving = [each for each in self.group.members if each.state == "Terminating:Wait"]
        return [each for each in leaving if each.waits_until is not None]

    def invoke(self, function: str, event: Mapping[str, Any]) -> Outcome:
        """Run one function now. Raises ArgumentError for one that is not simulated."""
        outcome = self.lambdas.invoke(function, event)
        if outcome is None:
            rule, cure = "be one of the library's, which alone are simulated", "invoke another one"
            raise ArgumentError(complaint(self.group.name, "function", rule, function, cure))
        return outcome


def watched_metrics(template: Template) -> frozenset[str]:
    """Return the names of the metrics that an alarm, or a setting of a function, mentions."""
    asked = {metric for alarm in template.alarms().values() for _, metric, _ in alarm.metrics}
    return frozenset(asked | _words_of_settings(template))


def watched_dimensions(template: Template) -> frozenset[str]:
    """Return the names of the dimensions by which an alarm or a function may ask for a metric."""
    keys = [key for alarm in template.alarms().values() for key in alarm.metrics]
    asked = {name for _, _, dimensions in keys for name, _ in dimensions}
    return frozenset({"AutoScalingGroupName", "InstanceId"} | asked | _words_of_settings(template))


def _words_of_settings(template: Template) -> set[str]:
    settings = [value for function in template.functions().values() for value in function.environment.values()]
    return {word for value in settings for word in re.findall(r"\w+", str(value))}


def _idling(image: Image) -> Callable[[Instance, int], Load]:
    load = Load(accelerators=(0.0,) * image.accelerators)
    return lambda _instance, _now: load
