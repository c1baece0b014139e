"""Which scheduled runs of the handlers provably change nothing, by the handlers' own rules: those need not be run.

A fleet's functions run every minute for weeks, and nearly always find nothing to do. What is proven here is that a run
would succeed, would change nothing and would publish certain figures; whatever is odd is left to the handler itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from datetime import timedelta
from functools import cache, lru_cache
from importlib import import_module
from types import ModuleType
from typing import Any, Literal, NamedTuple, TypeAlias

from constructs_lib.rehearsal.cloud.clients import Account, moment, seconds
from constructs_lib.rehearsal.cloud.group import Instance
from constructs_lib.rehearsal.cloud.lambdas import Runtime
from constructs_lib.rehearsal.cloud.metrics import Key
from constructs_lib.rehearsal.machine.crew import Evidence
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.template import Function

_MINUTE = 60
_LONGEST_WINDOW = 170 * _MINUTE
"""What is longer may be read in coarser periods."""
_READS = (
    "autoscaling:DescribeAutoScalingGroups",
    "autoscaling:DescribeScalingActivities",
    "cloudwatch:GetMetricData",
    "ec2:DescribeInstances",
    "sqs:GetQueueAttributes",
    "ssm:DescribeSessions",
    "ssm:GetParameter",
)
_ACTIVE = ("InService", "Pending")
_STATES = (*_ACTIVE, "Terminating:Wait", "Terminating:Proceed", "Terminating")
_WAKE_READS = ("autoscaling:DescribeAutoScalingGroups", "sqs:GetQueueAttributes")
_FRESH = 5 * _MINUTE
"""A known minute of work that is older is looked for anew before a pass: what is newer shortens what that reads."""
_UNKNOWN_TAG = "accelerated-fleet:unknown"


_Is: TypeAlias = Literal["busy", "idle", "starting", "unsure"]
"""What the handler would surely find a member to be; only the handler itself can tell of one that is unsure."""


class Proofs:
    """Asked before each scheduled run; ``evidence`` tells of an instance up to a second."""

    def __init__(self, account: Account, evidence: Callable[[Instance, int], Evidence | None]) -> None:
        self._account = account
        self._evidence = evidence
        self._idle_loads: set[Load] = set()
        self._activities_seen = 0
        self._launches_failed = False
        self._keys: dict[str, Key] = {}
        """The first signal's series of instances, under the settings below."""
        self._settings: Any = None

    def __call__(self, runtime: Runtime, now: int) -> Mapping[Key, float] | None:
        """Return what a run would publish beside Lambda's own figures, None if it is not proven to change nothing."""
        package = runtime.function.handler.partition(".")[0]
        if package == "wake_on_demand":
            return self._wake(runtime, now)
        if package != "release_idle":
            return None
        published = self._release(runtime, now)
        if published is None:
            self._look_for_newer_work(runtime, now)
        return published

    def _wake(self, runtime: Runtime, now: int) -> Mapping[Key, float] | None:
        demands, waking = _rules_of_waking()
        group, queue = self._account.group, self._account.queue
        settings = _settings(runtime)
        demand = getattr(settings, "demand", None)
        if not isinstance(demand, demands.QueueDemand) or not _may(runtime.function, _WAKE_READS):
            return None
        if demand.queue_url != queue.name or settings.auto_scaling_group != group.name:
            return None
        backlog = demands.Backlog(visible=len(queue.visible), in_flight=queue.in_flight)
        needed = backlog.needed_capacity(demand.messages_per_instance)
        if needed:
            decision = waking.decide_wake(needed=needed, desired=group.desired, max_size=group.maximum)
            if decision.set_desired_to is not None:
                return None
        queue.touch(now)
        return {}

    def _release(self, runtime: Runtime, now: int) -> Mapping[Key, float] | None:
        from release_idle.settings import Settings

        group, settings = self._account.group, _settings(runtime)
        if not isinstance(settings, Settings) or settings.auto_scaling_group != group.name:
            return None
        if not _may(runtime.function, _READS) or group.pool is not None or "Launch" in group.suspended:
            return None
        there = group.members
        if any(each.state not in _STATES or not (each.runs or each.state == "Terminating") for each in there):
            return None
        # Who drains on a machine that runs is left alone.
        members = [each for each in there if each.state in _ACTIVE]
        if len(members) != group.desired or self._launches_are_amiss(settings):
            return None
        if not there:
            return {}
        found = self._verdicts(settings, members, now)
        if found is None:
            return None
        if settings.demand is not None:
            self._account.queue.touch(now)
        may_go = "idle" in found and not self._nobody_could_go(settings, members, now)
        if not may_go and "unsure" not in found:
            return _figures(settings, found.count("busy"), found.count("idle"), 0)
        by_id = {member.id: verdict for member, verdict in zip(members, found, strict=True)}
        stay = self._idle_ones_stay(settings, members, by_id, now)
        if stay is None:
            return self._look_at_the_idle(runtime, by_id, now)
        idle = sum(verdict in ("idle", "unsure") for verdict in found)
        return _figures(settings, found.count("busy"), idle, idle) if stay else None

    def _idle_ones_stay(
        self, settings: Any, members: list[Instance], found: Mapping[str, _Is], now: int
    ) -> bool | None:
        """Return whether all that are not surely busy stay because of the queue; None if they may not all be idle.

        The handler releases nobody while it sees fewer members at work than there are messages. What it finds idle
        under a load that has lasted for the whole window it finds idle again under the same load.
        """
        queue = self._account.queue
        if settings.demand is None:
            return None
        at_work = serving = 0
        start = seconds(settings.policy.window(moment(now)).start)
        for member in members:
            if member.state != "InService":
                continue
            serving += 1
            evidence = self._evidence(member, now)
            if evidence is None:
                return None
            since = evidence.busy_since
            at_work += evidence.last_busy == now - _MINUTE and since is not None and since <= now - 2 * _MINUTE
            lasts = evidence.since <= start and int(member.launched_at) + settings.policy.warm_up_seconds <= start
            if found[member.id] in ("idle", "unsure") and not (lasts and evidence.load in self._idle_loads):
                return None
        return at_work < min(len(queue.visible) + queue.in_flight, serving)

    def _learn(self, settings: Any, instance_ids: Collection[str], now: int) -> None:
        """Remember under which loads the handler finds a member idle that has had nothing else in the whole window."""
        start = seconds(settings.policy.window(moment(now)).start)
        for instance_id in instance_ids:
            evidence = self._evidence(self._account.group.member(instance_id), now)
            if evidence is not None and evidence.since <= start:
                self._idle_loads.add(evidence.load)

    def _look_at_the_idle(self, runtime: Runtime, found: Mapping[str, _Is], now: int) -> Mapping[Key, float] | None:
        """Have the handler itself look at those that seem idle, and at nobody else: what the others are is sure.

        That is what its second look does, with the members that the first one did not choose.
        """
        from release_idle.look import Earlier, look_at
        from release_idle.members import State, Verdict
        from release_idle.survey import Surveyor
        from runtime.patience import Patience
        from runtime.structured_log import StructuredLog

        settings, clock = runtime.settings, runtime.clock()
        deadline = clock.now() + timedelta(seconds=runtime.function.timeout)
        log = StructuredLog(clock, _say_nothing)
        patience = Patience(clock=clock, deadline=deadline, attempts=1)
        surveyor = Surveyor(settings=settings, clients=runtime.clients, patience=patience, log=log)
        settled = {
            each: Verdict(
                state=State.BUSY if verdict == "busy" else State.STARTING,
                reason="surely",
                at_work=verdict == "busy" and self._is_at_work(settings, each, now),
            )
            for each, verdict in found.items()
            if verdict in ("busy", "starting")
        }
        only = [each for each in found if each not in settled]
        group = surveyor.group()
        if group is None:
            return None
        decision = look_at(surveyor, group, Earlier(settled=settled), only=only).decision
        states = [verdict.state for verdict in decision.verdicts.values()]
        if surveyor.failures or decision.plan.releases or decision.remember or decision.forget:
            return None
        if len(states) != len(found) or not {*states} <= {State.BUSY, State.STARTING, State.IDLE}:
            return None
        self._learn(settings, [each for each, what in decision.verdicts.items() if what.state is State.IDLE], now)
        idle_despite_work = len(set(decision.plan.kept_for_work))
        return _figures(settings, states.count(State.BUSY), states.count(State.IDLE), idle_despite_work)

    def _is_at_work(self, settings: Any, instance_id: str, now: int) -> bool:
        """Return whether the newest two points of the first signal show work, as the handler takes them."""
        minutes = (now - 2 * _MINUTE, now - _MINUTE)
        points = self._account.store.series(self._key(settings, instance_id), "Maximum", _MINUTE, minutes, now)
        below = settings.policy.signals[0].idle_below
        return len(points) == len(minutes) and all(each >= below for each in points.values())

    def _launches_are_amiss(self, settings: Any) -> bool:
        """Return whether launches have come to nothing, or passes remember that some have."""
        activities = self._account.group.activities
        while self._activities_seen < len(activities):
            each = activities[self._activities_seen]
            self._launches_failed |= each.status in ("Failed", "Cancelled") or "health check" in each.cause
            self._activities_seen += 1
        if self._launches_failed:
            return True
        versions = self._account.parameters.get(settings.state_parameter)
        remembered = None if versions is None else _remembered_of_launches(versions[-1][1])
        if remembered is None:
            return True
        never_known = {f"i-{each}" for each in remembered.get("never_known", "").split()}
        if not remembered.keys() <= {"never_known"} or len(never_known) >= (settings.max_failed_launches or 1):
            return True
        # Of one that is gone no pass learns anything any more.
        return any(member.id in never_known for member in self._account.group.members)

    def _verdicts(self, settings: Any, members: list[Instance], now: int) -> list[_Is] | None:
        """Return what each member surely is, None if that is not sure of one. Who is idle by the first signal may be
        busy by another one."""
        if not self._is_plain(settings, now):
            return None
        if settings is not self._settings:
            self._settings = settings
            self._keys.clear()
        start = seconds(settings.policy.window(moment(now)).start)
        found = []
        for member in members:
            verdict = self._verdict(settings, member, start, now)
            if verdict is None:
                return None
            found.append(verdict)
        return found

    def _is_plain(self, settings: Any, now: int) -> bool:
        """Return whether the settings are those that these proofs know, the first signal above all."""
        policy, demand = settings.policy, settings.demand
        signal = policy.signals[0]
        return (
            not (policy.protection_holds or policy.ends_all(moment(now)))
            # Passes that count who is in use learn from it: none of them finds nothing.
            and policy.start_worth_seconds is None
            and policy.period_seconds == _MINUTE
            and policy.window_seconds <= _LONGEST_WINDOW
            and (signal.means, signal.statistic) == ("work", "Maximum")
            and not (signal.less or signal.dimensions)
            and (demand is None or demand.queue_url == self._account.queue.name)
        )

    def _nobody_could_go(self, settings: Any, members: list[Instance], now: int) -> bool:
        """Return whether nobody who is idle may go: the fleet is as small as it may be, and no work waits."""
        from release_idle.decision import nobody_could_go

        group, queue = self._account.group, self._account.queue
        if settings.demand is not None and (queue.visible or queue.in_flight):
            return False
        return bool(
            nobody_could_go(
                [_Capacity(each.state) for each in members],
                min_size=group.minimum,
                max_size=group.maximum,
                policy=settings.policy,
                now=moment(now),
            )
        )

    def _verdict(self, settings: Any, member: Instance, start: int, now: int) -> _Is | None:
        policy = settings.policy
        if member.state == "Pending":
            return "starting"
        tags, account = member.tags, self._account
        if policy.hold_tag_key in tags or _UNKNOWN_TAG in tags:
            return None
        age = now - int(member.launched_at)
        if policy.max_life_seconds is not None and age >= policy.max_life_seconds:
            return None
        if age < policy.warm_up_seconds:
            return "starting"
        if account.load(member, now).session:
            return None
        key = self._keys.get(member.id) or self._key(settings, member.id)
        known = account.at_work.get(key)
        # One minute of work within the window is enough.
        return (
            "busy"
            if known is not None and known > start - _MINUTE
            else self._by_its_series(settings, member, key, start, now)
        )

    def _by_its_series(self, settings: Any, member: Instance, key: Key, start: int, now: int) -> _Is:
        """Return what the first signal surely says of a member of which no work in the window is known: idleness needs
        every minute of it."""
        evidence = self._evidence(member, now)
        if evidence is None:
            return "unsure"
        at = evidence.last_busy
        if at is not None and at > start - _MINUTE:
            return "busy" if self._find_work(settings, key, start, at, now) else "unsure"
        if evidence.first > start or int(member.launched_at) + settings.policy.warm_up_seconds > start:
            return "unsure"
        minutes = range(start, now - _MINUTE, _MINUTE)
        points = self._account.store.series(key, "Maximum", _MINUTE, minutes, now)
        silent = any(minute not in points for minute in minutes)
        below = settings.policy.signals[0].idle_below
        return "unsure" if silent or any(not 0 <= each < below for each in points.values()) else "idle"

    def _find_work(self, settings: Any, key: Key, start: int, at: int, now: int) -> bool:
        """Return whether a minute from ``start`` to ``at`` can be read that shows work, and remember the newest one."""
        least = settings.policy.signals[0].idle_below
        # The newest minute of work may not be readable yet, and an earlier one does as well.
        for minutes in ((at,), range(start, at, _MINUTE)):
            points = self._account.store.series(key, "Maximum", _MINUTE, minutes, now)
            busy = [minute for minute, point in points.items() if point >= least]
            if busy:
                self._account.at_work[key] = max(busy)
                return True
        return False

    def _look_for_newer_work(self, runtime: Runtime, now: int) -> None:
        """Look for newer minutes of work of those of whom one is known: a pass will read their series from there on."""
        settings = _settings(runtime)
        for member in self._account.group.members if self._keys else ():
            key = self._keys.get(member.id)
            known = None if key is None else self._account.at_work.get(key)
            if key is None or known is None or known >= now - _FRESH:
                continue
            evidence = self._evidence(member, now)
            if evidence is not None and evidence.last_busy is not None and evidence.last_busy > known:
                self._find_work(settings, key, known, evidence.last_busy, now)

    def _key(self, settings: Any, instance_id: str) -> Key:
        """Return the first signal's series of an instance."""
        key = self._keys.get(instance_id)
        if key is None:
            signal = settings.policy.signals[0]
            namespace = signal.namespace or settings.namespace
            key = self._keys[instance_id] = namespace, signal.metric, frozenset({("InstanceId", instance_id)})
        return key


class _Capacity(NamedTuple):
    """A member as the handler counts capacity; groups with weights are not simulated."""

    lifecycle_state: str
    capacity: int = 1


@cache
def _rules_of_waking() -> tuple[ModuleType, ModuleType]:
    """Return the handlers' modules on demand and on waking, which can be imported once there is a function."""
    return import_module("runtime.demand"), import_module("wake_on_demand.decision")


def _settings(runtime: Runtime) -> Any:
    """Return the function's settings, None if they make no sense: then its run fails, as it has to."""
    try:
        return runtime.settings
    except ValueError:
        return None


def _may(function: Function, actions: tuple[str, ...]) -> bool:
    return all(map(function.may, actions))


def _figures(settings: Any, busy: int, idle: int, idle_despite_work: int) -> dict[Key, float]:
    """Return what a pass counts that finds so many members busy and idle, and does nothing."""
    dimensions = frozenset({("AutoScalingGroupName", settings.auto_scaling_group)})
    counted = {
        "MembersBusy": busy,
        "MembersIdle": idle,
        "MembersIdleDespiteWork": idle_despite_work,
        **dict.fromkeys(("MembersUnknown", "MembersHeld", "MembersRetained"), 0),
        **dict.fromkeys(("InstancesReleased", "LaunchesStopped", "DrainsAbandoned"), 0),
    }
    return {(settings.namespace, name, dimensions): float(value) for name, value in counted.items()}


def _say_nothing(_line: str) -> None:
    """What a look logs that stands for a pass which is left out is logged by nobody."""


@lru_cache(maxsize=16)
def _remembered_of_launches(state: str) -> Mapping[str, str] | None:
    """Return what passes remember of launches that came to nothing; None of a text that none of them wrote."""
    try:
        document = json.loads(state)
    except ValueError:
        return None
    found = document.get("launches", {}) if isinstance(document, Mapping) else None
    return found if isinstance(found, Mapping) else None
