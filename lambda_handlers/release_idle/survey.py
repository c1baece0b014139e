"""Reading everything that a decision needs to know of a group's members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from release_idle.aws import Clients, UnreadableSessions, read_active_sessions, read_machines
from release_idle.decision import find, is_to_be_asked, judge_standing
from release_idle.measurement import (
    Finding,
    Reading,
    Series,
    Signal,
    Span,
    Unreadable,
    difference,
    newest_span,
    span_to_read,
)
from release_idle.members import Machine, Member, is_retained
from release_idle.metric_reader import read_signal
from release_idle.settings import Settings
from release_idle.use_history import read_use_history
from runtime.aws_errors import AWS_ERRORS, error_code
from runtime.demand import Backlog
from runtime.group import Group, GroupMember
from runtime.group_metrics_reader import UnreadableMetrics
from runtime.group_reader import UnreadableGroup, read_group, read_warm_pool
from runtime.patience import OutOfTime, Patience
from runtime.queue_reader import UnreadableQueue, read_backlog
from runtime.shortfall import missing_capacity
from runtime.structured_log import StructuredLog

_GROUP_SOURCE = "Auto Scaling DescribeAutoScalingGroups"


@dataclass(frozen=True, kw_only=True)
class Survey:
    """All members of the group as they were at one moment.

    `readings` has an entry for each member that was looked at: its signals by name, empty if none had to be asked.
    `findings` are what those say, as far as that had to be known to ask on.
    """

    at: datetime
    members: tuple[Member, ...]
    readings: Mapping[str, Mapping[str, Reading]]
    findings: Mapping[str, Mapping[str, Finding]] = field(default_factory=dict)


@dataclass
class Surveyor:
    """Reads. What cannot be read is logged and kept in `failures`, and is told to the decision as not known."""

    settings: Settings
    clients: Clients
    patience: Patience
    log: StructuredLog
    failures: list[str] = field(default_factory=list)

    def group(self) -> Group | None:
        """Return the group, None when it is gone. Raises when it cannot be read: then there is no pass."""
        try:
            return self._read_group()
        except (*AWS_ERRORS, OutOfTime, UnreadableGroup) as error:
            self._failed(_GROUP_SOURCE, str(error))
            raise

    def group_again(self) -> Group | None:
        """Return the group for a second look, None when it is gone or cannot be read."""
        try:
            return self._read_group()
        except (*AWS_ERRORS, OutOfTime, UnreadableGroup) as error:
            self._failed(_GROUP_SOURCE, str(error))
            return None

    def survey(self, group: Group, only: Sequence[str] | None = None, *, first_signal_only: bool = False) -> Survey:
        """Return the survey of the group; `only` limits it to these members, the others are not looked at."""
        now = self.patience.clock.now()
        wanted = None if only is None else frozenset(only)
        looked_at = [m for m in group.members if wanted is None or m.instance_id in wanted]
        # Who is on the way in or out needs no further question.
        in_service = [m.instance_id for m in looked_at if m.lifecycle_state == "InService"]
        machines = self.machines(in_service) if in_service else {}
        sessions = self._sessions() if in_service and self.settings.watch_sessions else frozenset()
        members = tuple(_member(each, machines, sessions) for each in group.members)
        ids = {each.instance_id for each in looked_at}
        signals = self.settings.policy.signals[: 1 if first_signal_only else None]
        return self._survey(members, [member for member in members if member.instance_id in ids], signals, now)

    def backlog(self) -> Backlog | None:
        """Return the work on the queue: none without a queue, None if it cannot be read."""
        queue = self.settings.demand
        if queue is None:
            return Backlog(visible=0, in_flight=0)
        try:
            return read_backlog(self.clients.sqs, queue.queue_url, self.patience)
        except UnreadableQueue as error:
            self._failed("SQS GetQueueAttributes", str(error))
        except (*AWS_ERRORS, OutOfTime) as error:
            self._failed("SQS GetQueueAttributes", _told(error))
        return None

    def used_before(self, now: datetime) -> Sequence[int] | None:
        """Return the most members in use at once in each slot of the past day, None unless it is asked and readable."""
        settings = self.settings
        if settings.policy.start_worth_seconds is None:
            return None
        try:
            return read_use_history(
                self.clients.cloudwatch, settings.namespace, settings.auto_scaling_group, now, self.patience
            )
        except UnreadableMetrics as error:
            self._failed("members in use before", str(error))
        except (*AWS_ERRORS, OutOfTime) as error:
            self._failed("members in use before", _told(error))
        return None

    def missing_elsewhere(self) -> int | None:
        """Return what the group lacks that this one stands in for: nothing without one, None if it cannot be read."""
        if self.settings.stands_in_for is None:
            return 0
        try:
            return missing_capacity(read_group(self.clients.autoscaling, self.settings.stands_in_for, self.patience))
        except (*AWS_ERRORS, OutOfTime, UnreadableGroup) as error:
            self._failed(_GROUP_SOURCE, str(error))
            return None

    def members_of(self, group: Group, instance_ids: Sequence[str]) -> list[Member]:
        """Return these members with their machines; nobody is asked whether they are in use."""
        machines = self.machines(instance_ids)
        wanted = frozenset(instance_ids)
        return [_member(each, machines, None) for each in group.members if each.instance_id in wanted]

    def machines(self, instance_ids: Sequence[str]) -> Mapping[str, Machine]:
        """Return what EC2 knows of these instances; those that it does not tell of are left out."""
        group_name = self.settings.auto_scaling_group
        try:
            return read_machines(self.clients.ec2, group_name, instance_ids, self.patience)
        except (*AWS_ERRORS, OutOfTime) as error:
            self._failed("EC2 DescribeInstances", _told(error))
            return {}

    def _read_group(self) -> Group | None:
        group = read_group(self.clients.autoscaling, self.settings.auto_scaling_group, self.patience)
        if group is None or not group.has_warm_pool or self.settings.retained_after_seconds is None:
            return group
        listed = {member.instance_id for member in group.members}
        retained = (each for each in self._warm_pool() if is_retained(each.lifecycle_state))
        return replace(group, members=(*group.members, *(each for each in retained if each.instance_id not in listed)))

    def _warm_pool(self) -> Sequence[GroupMember]:
        group_name = self.settings.auto_scaling_group
        try:
            return read_warm_pool(self.clients.autoscaling, group_name, self.patience)
        except (*AWS_ERRORS, OutOfTime, UnreadableGroup) as error:
            self._failed("Auto Scaling DescribeWarmPool", str(error))
            return ()

    def _survey(
        self, members: tuple[Member, ...], looked_at: Sequence[Member], signals: Sequence[Signal], now: datetime
    ) -> Survey:
        """Read the signals of those that are looked at, each one only of those that nothing before it has decided."""
        policy = self.settings.policy
        readings: dict[str, dict[str, Reading]] = {member.instance_id: {} for member in looked_at}
        findings: dict[str, dict[str, Finding]] = {member.instance_id: {} for member in looked_at}
        undecided = [
            member
            for member in looked_at
            if member.machine is not None and is_to_be_asked(judge_standing(member, policy, now), policy)
        ]
        for signal in signals:
            if not undecided:
                break
            self._read(signal, undecided, readings, now)
            for member in undecided:
                finding = find(signal, readings[member.instance_id], member, policy, now)
                findings[member.instance_id][signal.name] = finding
            undecided = [
                member for member in undecided if is_to_be_asked(findings[member.instance_id][signal.name], policy)
            ]
        return Survey(at=now, members=members, readings=readings, findings=findings)

    def _read(
        self,
        signal: Signal,
        members: Sequence[Member],
        readings: Mapping[str, dict[str, Reading]],
        now: datetime,
    ) -> None:
        window = self.settings.policy.window(now)
        span = span_to_read(signal, window, now)
        answers = self._ask(signal, [member.instance_id for member in members], span)
        if signal.less is not None:
            taken = self._ask(replace(signal, metric=signal.less), list(answers), span)
            answers = {instance_id: difference(reading, taken[instance_id]) for instance_id, reading in answers.items()}
        if span.period_seconds > window.period_seconds and self.settings.demand is not None:
            self._add_newest(signal, answers, newest_span(window, now))
        for instance_id, reading in answers.items():
            readings[instance_id][signal.name] = reading

    def _add_newest(self, signal: Signal, answers: dict[str, Reading], span: Span) -> None:
        """Add their newest points to the series that show work: a queue's messages ask who has some now."""
        coarse = {
            instance_id: reading
            for instance_id, reading in answers.items()
            if isinstance(reading, Series) and any(point.value >= signal.idle_below for point in reading.points)
        }
        for instance_id, fine in self._ask(signal, list(coarse), span).items():
            if isinstance(fine, Series):
                answers[instance_id] = replace(coarse[instance_id], newest=fine.points)

    def _ask(self, signal: Signal, instance_ids: Sequence[str], span: Span) -> dict[str, Reading]:
        namespace = self.settings.namespace
        answers = read_signal(self.clients.cloudwatch, namespace, signal, instance_ids, span, self.patience)
        unreadable = [each.reason for each in answers.values() if isinstance(each, Unreadable)]
        for reason in sorted(set(unreadable)):
            self._failed(f"signal {signal.name}", f"{reason} ({unreadable.count(reason)} instances)")
        return answers

    def _sessions(self) -> frozenset[str] | None:
        try:
            return read_active_sessions(self.clients.ssm, self.patience)
        except UnreadableSessions as error:
            self._failed("Systems Manager DescribeSessions", str(error))
        except (*AWS_ERRORS, OutOfTime) as error:
            self._failed("Systems Manager DescribeSessions", _told(error))
        return None

    def _failed(self, source: str, why: str) -> None:
        self.failures.append(f"{source}: {why}")
        self.log.error("read failed", source=source, why=why)


def _member(member: GroupMember, machines: Mapping[str, Machine], sessions: frozenset[str] | None) -> Member:
    return Member(
        instance_id=member.instance_id,
        lifecycle_state=member.lifecycle_state,
        protected=member.protected_from_scale_in,
        capacity=member.capacity,
        machine=machines.get(member.instance_id),
        in_session=None if sessions is None else member.instance_id in sessions,
    )


def _told(error: Exception) -> str:
    return str(error) if isinstance(error, OutOfTime) else error_code(error)
