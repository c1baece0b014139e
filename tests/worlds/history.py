"""Living through a world: passes of the real release function on a clock that only moves when told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from release_idle import index
from release_idle.aws import Clients
from release_idle.release_pass import PassIncomplete
from release_idle.settings import Settings, read_settings
from runtime.aws_errors import AWS_ERRORS
from runtime.patience import OutOfTime
from runtime.structured_log import StructuredLog
from tests.handlers.driving import CPU_SIGNAL, GPU_SIGNAL, SCHEDULED
from tests.handlers.fake_aws import START, Call, Context
from tests.handlers.fake_aws.auto_scaling import FakeGroup, FakeMember
from tests.handlers.fake_aws.hooks import FakeHook
from tests.handlers.fake_aws.machines import FakeMachine
from tests.handlers.fake_aws.world import NAMESPACE
from tests.worlds.account import FaultyAccount, is_leaving
from tests.worlds.faults import Faults
from tests.worlds.world import (
    DRAIN,
    GROUP_TAG,
    HISTORY,
    HOLD,
    MINUTE,
    STATE_PARAMETER,
    Course,
    Doing,
    Event,
    Happening,
    Truth,
    World,
)

LONGEST_LIFE = 300
"""Minutes for which courses are published."""

BYSTANDERS = ("i-0000000000000aaaa", "i-0000000000000bbbb", "i-0000000000000cccc")
"""Idle instances that are none of the group's: one of another group, one detached with the tag left on, one alone."""

FAILURES = (*AWS_ERRORS, OutOfTime, PassIncomplete)
"""How a pass may end. Anything else is a fault of ours."""


@lru_cache(maxsize=4096)
def samples(course: Course, since: int) -> dict[datetime, float]:
    """Return what is published in a course, from so many minutes before the first pass. Not to be changed."""
    done = Truth(course=course)
    published = {}
    for minute in range(-since, LONGEST_LIFE):
        at = START + minute * MINUTE
        doing = done.doing(at, signals=1)
        if doing is not Doing.SILENT:
            published[at] = 95.0 if doing is Doing.BUSY else 0.0
    return published


@dataclass
class History:
    """One life of a world. `refused` are how passes failed that said so, `crashes` how others ended."""

    world: World
    account: FaultyAccount = field(default_factory=FaultyAccount)
    refused: list[Exception] = field(default_factory=list)
    crashes: list[Exception] = field(default_factory=list)
    guarded_since: dict[str, datetime] = field(default_factory=dict)
    """Since when a member may not be taken, whatever its signals say."""
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.account = FaultyAccount(plan=Faults(self.world.faults))
        self.settings: Settings = read_settings(self.world.policy.environment())
        self.clients = Clients(**{each.name: self.account.client(each.name) for each in fields(Clients)})
        self._build()

    @property
    def group(self) -> FakeGroup:
        return self.account.autoscaling.groups[self.world.name]

    # ---- building

    def _build(self) -> None:
        account, world = self.account, self.world
        group = account.add_group(world.name, min_size=world.min_size)
        if world.policy.drain is not None:
            group.hooks.append(FakeHook(DRAIN, heartbeat_seconds=world.policy.drain * 60, default_result="CONTINUE"))
        account.add_parameter(STATE_PARAMETER)
        group.protects_new = not world.policy.protection_holds
        group.suspended = list(world.suspended)
        group.zones = [f"eu-west-1{letter}" for letter in "abc"[: world.zones]]
        for instance_id, truth in world.truths.items():
            self._add(instance_id, truth)
            # A fleet of ours protects every member; in a group of others, who is protected is a person's choice.
            protected = truth.protected or not world.policy.protection_holds
            group.members.append(FakeMember(instance_id, truth.lifecycle, protected=protected, weight=truth.weight))
            if truth.held or truth.lifecycle == "Standby":
                self.guarded_since[instance_id] = START - timedelta(days=1)
            if truth.in_session:
                account.ssm.active.append(instance_id)
        group.desired = max(group.min_size, group.active + world.desired_above)
        for instance_id, of in zip(BYSTANDERS, ("other", world.name, None), strict=True):
            self._add(instance_id, Truth(), group=of)
        account.add_group("other").members.append(FakeMember(BYSTANDERS[0], protected=True))
        # What the group would have done by itself is done before anybody looks.
        group.settle()
        if world.policy.queue:
            account.sqs.hold(visible=world.policy.queue[0])
        account.remember()

    def _add(self, instance_id: str, truth: Truth, group: str | None = "") -> None:
        tags = {} if group is None else {GROUP_TAG: group or self.world.name}
        if truth.held:
            tags[HOLD] = "true"
        launched = START - truth.age * MINUTE
        self.account.ec2.machines[instance_id] = FakeMachine(instance_id, launched, tags, truth.machine)
        courses = (truth.course, truth.second)[: self.world.policy.signals]
        for signal, course in zip((GPU_SIGNAL, CPU_SIGNAL), courses, strict=False):
            identity = (NAMESPACE, str(signal["metric"]), frozenset({("InstanceId", instance_id)}))
            self.account.cloudwatch.samples[identity] = samples(course, min(HISTORY, truth.age))

    # ---- living

    def live(self) -> None:
        """Run every pass of the world, time passing in between."""
        for number, gap in enumerate(self.world.gaps):
            self.run(number)
            self.wait(gap)

    def run(self, number: int = -1) -> None:
        """Run one pass; what it raises is kept."""
        self.begin(number)
        seen = 0

        def second_look(call: Call) -> None:
            nonlocal seen
            seen += call.operation == "DescribeAutoScalingGroups"
            if seen == 2 and call.operation == "DescribeAutoScalingGroups":
                self._happen(number, between=True)

        self.account.before.append(second_look)
        try:
            self.invoke()
        except FAILURES as error:
            self.refused.append(error)
        except Exception as error:
            self.crashes.append(error)
        finally:
            self.account.before.remove(second_look)

    def begin(self, number: int) -> None:
        """Let happen what happens before a pass; its faults are in force from now on."""
        self.account.plan.pass_number = number
        self._happen(number, between=False)

    def invoke(self, seconds: float = 240) -> Any:
        """Call the release function as Lambda does."""
        clock = self.account.clock
        log = StructuredLog(clock, self.lines.append)
        return index.handle(SCHEDULED, Context(clock, seconds), self.settings, self.clients, clock, log)

    def wait(self, minutes: int) -> None:
        """Let time pass: who was leaving is gone, who was coming is there."""
        if not minutes:
            return
        self.account.clock.advance(minutes * 60)
        group = self.group
        for member in list(group.members):
            if member.instance_id not in self.account.ec2.machines:
                tags = {GROUP_TAG: group.name}
                launched = self.account.clock.now()
                self.account.ec2.machines[member.instance_id] = FakeMachine(member.instance_id, launched, tags)
            if self.account.ec2.machines[member.instance_id].state in ("shutting-down", "terminated"):
                # The health check finds out, and the group replaces it.
                if not is_leaving(member.lifecycle_state):
                    group.take(member, "an EC2 health check")
            elif member.lifecycle_state == "Pending":
                member.lifecycle_state = "InService"
                member.protected = group.protects_new
        self.account.bury(group.name)
        group.settle()
        self.account.remember()

    def _happen(self, number: int, *, between: bool) -> None:
        for each in self.world.happenings:
            if each.pass_number == number and each.between == between:
                self._apply(each)

    def _apply(self, happening: Happening) -> None:
        account = self.account
        account.remember()
        group = account.autoscaling.groups[self.world.name]
        instance_id = self.world.ids[happening.member % len(self.world.ids)]
        member = group.member(instance_id)
        act: dict[Event, Callable[[], None]] = {
            Event.RAISE_MINIMUM: lambda: self._resize(minimum=1),
            Event.RAISE_DESIRED: lambda: self._resize(desired=1),
            Event.LOWER_DESIRED: lambda: self._resize(desired=-1),
        }
        if happening.event in act:
            act[happening.event]()
        elif member is not None and member.lifecycle_state == "InService":
            self._change_member(happening.event, member)
        group.settle()

    def _resize(self, *, minimum: int = 0, desired: int = 0) -> None:
        group = self.group
        group.min_size += minimum
        group.desired = max(group.min_size, group.desired + desired)

    def _change_member(self, event: Event, member: FakeMember) -> None:
        group = self.group
        now = self.account.clock.now()
        guards = (Event.HOLD, Event.STANDBY, Event.DETACH)
        if event in guards or (event is Event.PROTECT and self.world.policy.protection_holds):
            self.guarded_since.setdefault(member.instance_id, now)
        if event is Event.HOLD:
            self.account.ec2.machines[member.instance_id].tags[HOLD] = "true"
        elif event is Event.PROTECT:
            member.protected = True
        elif event is Event.STANDBY:
            member.lifecycle_state = "Standby"
            group.desired = max(group.min_size, group.desired - member.capacity)
        elif event is Event.DETACH:
            group.members.remove(member)
            group.desired = max(group.min_size, group.desired - member.capacity)
        elif event is Event.END:
            self.account.ec2.machines[member.instance_id].state = "shutting-down"
        elif event is Event.LOG_IN:
            self.account.ssm.active.append(member.instance_id)
            if self.world.policy.sessions:
                self.guarded_since.setdefault(member.instance_id, now)
