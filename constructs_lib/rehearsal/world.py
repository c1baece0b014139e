"""One fleet on a simulated clock: each tick moves the group, the work, the metrics, the alarms and the schedules."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from constructs_lib.errors import ArgumentError
from constructs_lib.rehearsal.cloud.alarm_watch import AlarmWatch
from constructs_lib.rehearsal.cloud.alarms import Alarm, State
from constructs_lib.rehearsal.cloud.clients import Account
from constructs_lib.rehearsal.cloud.functions import Functions
from constructs_lib.rehearsal.cloud.group import Boot, Ending, Group, Instance
from constructs_lib.rehearsal.cloud.lambdas import Outcome
from constructs_lib.rehearsal.cloud.metric_math import MathReading
from constructs_lib.rehearsal.cloud.metrics import MetricStore
from constructs_lib.rehearsal.cloud.policies import PolicyReading, PolicyRunner, Seen
from constructs_lib.rehearsal.cloud.retries import LONGEST_DELAY
from constructs_lib.rehearsal.cloud.scheduled_actions import ScheduledActions
from constructs_lib.rehearsal.cloud.steady import Steady
from constructs_lib.rehearsal.cloud.work_queue import QueueReading, WorkQueue
from constructs_lib.rehearsal.machine.crew import Crew
from constructs_lib.rehearsal.machine.instance import Image
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.proofs import Proofs
from constructs_lib.rehearsal.staff import Staff
from constructs_lib.rehearsal.template import Function, Template
from constructs_lib.rehearsal.watched import Watched
from constructs_lib.validation import complaint

MINUTE = 60
LATE_BUT_USUAL = {"AWS/AutoScaling": 120, "AWS/EC2": 120, "AWS/SQS": 120, "AWS/Lambda": 120}
EARLY_BUT_USUAL = dict.fromkeys(LATE_BUT_USUAL, 60)
SEEN_LATE = "how late the metrics of AWS come"
"""One or two minutes. Those of the agent come within the minute, which is all the same here."""


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """What AWS leaves open; every scenario may be run under several of them."""

    extra_periods: int = 2
    """How many periods the evaluation range is longer than N."""
    delays: Mapping[str, int] | None = None
    """Seconds until a sample can be read, by namespace. Default: LATE_BUT_USUAL, else 60."""
    fill_empty: bool = True
    """Whether FILL fills a metric without any point in the range."""
    repeat_reaches_back: bool = False
    """Whether FILL with REPEAT fills what is before the first point, with that point."""
    both_missing_is_zero: bool = False
    """Whether an operation on two series takes both for 0 where neither has a point."""
    silence_is_zeros: bool = True
    """Whether an expression with TIME_SERIES has points though a metric in it has none in the whole range."""
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
    longest_retry_seconds: int = LONGEST_DELAY
    """After how many seconds at the latest a launch that failed is tried again; it is after a minute at first."""

    steps_by_aggregate: bool = False
    """Whether a step-scaling policy goes by all datapoints that its alarm judges, and not by the newest one."""
    steps_by_silence: bool = True
    """Whether a step-scaling policy takes silence that the alarm counts as breaching for the first step."""
    least_change_wakes: bool = True
    """Whether MinAdjustmentMagnitude applies to a percentage of nothing."""
    tracking_wakes: bool = False
    """Whether target tracking wakes an empty group."""

    queue_zeros: bool = True
    """Whether a queue reports that no message is in flight or delayed. If not, it is silent of them then."""
    calls_keep_awake: bool = True
    """Whether asking a queue for its attributes keeps its metrics awake."""
    wake_lag_seconds: int = 900
    """How late the metrics come at first of a queue that slept."""

    @property
    def of_queue(self) -> QueueReading:
        """Return how a queue's metrics are read."""
        return QueueReading(
            zeros=self.queue_zeros, calls_keep_awake=self.calls_keep_awake, wake_lag=self.wake_lag_seconds
        )

    @property
    def of_policies(self) -> PolicyReading:
        """Return how scaling policies are read."""
        return PolicyReading(
            steps_by_aggregate=self.steps_by_aggregate,
            steps_by_silence=self.steps_by_silence,
            least_change_wakes=self.least_change_wakes,
            tracking_wakes=self.tracking_wakes,
        )

    @property
    def of_math(self) -> MathReading:
        """Return how metric math is read."""
        return MathReading(
            fill_empty=self.fill_empty,
            repeat_reaches_back=self.repeat_reaches_back,
            both_missing_is_zero=self.both_missing_is_zero,
            silence_is_zeros=self.silence_is_zeros,
        )

    def describe(self) -> dict[str, Any]:
        """Return the reading of what AWS leaves open, fit for JSON."""
        return {
            "evaluation_range_extra_periods": self.extra_periods,
            "fill_fills_an_empty_metric": self.fill_empty,
            "fill_repeats_the_first_point_before_it": self.repeat_reaches_back,
            "operation_on_two_gaps_is_on_zeros": self.both_missing_is_zero,
            "time_series_makes_up_for_an_empty_metric": self.silence_is_zeros,
            "alarm_delivery_seconds": self.alarm_delivery_seconds,
            "deliveries": self.deliveries,
            "scheduled_action_seconds": self.scheduled_action_seconds,
            "rebalancing_spares_protected": self.rebalancing_spares_protected,
            "longest_retry_seconds": self.longest_retry_seconds,
            "step_policy_goes_by_all_datapoints": self.steps_by_aggregate,
            "step_policy_acts_on_breaching_silence": self.steps_by_silence,
            "least_change_of_a_percentage_wakes": self.least_change_wakes,
            "target_tracking_wakes": self.tracking_wakes,
            "queue_reports_zeros": self.queue_zeros,
            "asking_keeps_a_queue_awake": self.calls_keep_awake,
            "queue_wake_lag_seconds": self.wake_lag_seconds,
            "metric_delay_seconds": dict(LATE_BUT_USUAL if self.delays is None else self.delays),
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
            longest_retry=self.conditions.longest_retry_seconds,
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
        self.queue.reading = self.conditions.of_queue
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
        self.watch = AlarmWatch(self.store, extra=self.conditions.extra_periods, reading=self.conditions.of_math)
        self._scripted: list[tuple[int, Callable[[], None]]] = []
        self._group_figures = Steady(self.store)
        self._stirred = -1
        """How often something had happened to the group when those were found who wait."""
        self._waiters: list[str] = []
        self._told_of_group: Mapping[str, int] | None = None
        self._queue_figures = Steady(self.store)
        self._read_template()

    def _read_template(self) -> None:
        self._policies = PolicyRunner(self.template, self.group, self.conditions.of_policies)
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

    @property
    def doubts(self) -> set[str]:
        """Return what AWS leaves open and could have mattered to the fleet."""
        queue = self.queue.doubts if self.watch.acts_on(self.queue.keys) else set()
        return self.group.doubts | self.watch.doubts | queue

    # One minute

    def tick(self) -> None:
        """Move everything by one minute."""
        self.now += MINUTE
        self.account.now = self.now
        waited = self._waiting()
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
        # The functions whose runs are left out call the queue, but not in minutes that are skipped.
        next_run = self.lambdas.next_run(self.now)
        falls_asleep = self.queue.awake_until if self.queue.awake_until > self.now else float("inf")
        return min(nothing_more, self.scheduled_actions.next_due, next_run, falls_asleep - MINUTE)

    def skip_to(self, now: int) -> None:
        """Let time pass in which nothing happens, up to a full minute."""
        self.now = self.account.now = now

    def _image(self) -> Image:
        return Image(self.template, Watched.by(self.template) if self._leaves_out else None)

    def _busyness(self, instance: Instance, now: int) -> float:
        return self.crew.busyness(instance, now)

    def _publish(self) -> None:
        self.crew.publish(self.now, None if self.staff is None else self.staff.changed())
        metrics = self.group.metrics()
        if metrics is not self._told_of_group:
            self._told_of_group = metrics
            group = frozenset({("AutoScalingGroupName", self.group.name)})
            figures = {("AWS/AutoScaling", metric, group): value for metric, value in metrics.items()}
            self._group_figures.tell(self.now, figures)
        if self.group.in_service:
            # Workers ask for messages all the time.
            self.queue.poll(self.now)
        self._queue_figures.tell(self.now, self.queue.figures(self.now), hidden_until=self.queue.lag_until)

    def _act_on_alarms(self) -> None:
        for action in self.watch.tick(self.now):
            if self._policies.knows(action.target):
                alarm = self.alarms[action.alarm]
                if action.has_changed and any(namespace in LATE_BUT_USUAL for namespace, _, _ in alarm.metrics):
                    self.group.doubts.add(SEEN_LATE)
                seen = Seen.of(action.threshold, action.points, alarm.n, from_below=alarm.breaches_below)
                self._policies.run(action.target, self.now, seen)
            elif action.has_changed:
                due = self.now + self.conditions.alarm_delivery_seconds
                if not self.lambdas.alarm_acts(action.alarm, action.target, self.now, due):
                    self.notifications.append((self.now, action.alarm, action.target))

    def _tell_of_hooks(self, before: Collection[str]) -> None:
        """Send the event of each instance that has begun to wait for a termination hook."""
        for instance_id in self._waiting():
            if instance_id not in before:
                self.lambdas.instance_waits(self.group.name, instance_id, self.now)

    def _waiting(self) -> Collection[str]:
        """Return who waits for a termination hook: nobody else, while nothing happens to the group."""
        if self._stirred != self.group.stirred:
            self._stirred = self.group.stirred
            self._waiters = [each.id for each in self.group.members if each.waits_until is not None]
        return self._waiters

    def invoke(self, function: str, event: Mapping[str, Any]) -> Outcome:
        """Run one function now. Raises ArgumentError for one that is not simulated."""
        outcome = self.lambdas.invoke(function, event)
        if outcome is None:
            rule, cure = "be one of the library's, which alone are simulated", "invoke another one"
            raise ArgumentError(complaint(self.group.name, "function", rule, function, cure))
        return outcome


def _idling(image: Image) -> Callable[[Instance, int], Load]:
    load = Load(accelerators=(0.0,) * image.accelerators)
    return lambda _instance, _now: load
