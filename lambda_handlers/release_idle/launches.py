"""Launches that come to nothing, again and again: counted, stopped at the policy's number, and told with the cause.

A launch has come to nothing when it failed or was cancelled, when a health check took its instance out before it can
have been ready, and when its instance is past its warm-up and has never reported. One good boot ends the row: an
instance that is known to work or to idle, or that lived on well beyond its warm-up. What is neither, such as a launch
under way or an instance that fell silent later, counts for nothing.

Launches into a warm pool are a row of their own, which a preparation that succeeds ends: an instance that waits says
nothing of those in service, and those in service nothing of a pool that tries on and on while the fleet rests.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import Any, Protocol

from release_idle.launch_trouble import (
    FailedLaunch,
    FailureCause,
    LaunchTrouble,
    Message,
    classify_failure,
    stopped_message,
    suspended_by_aws_message,
)
from release_idle.measurement import Reading, Series
from release_idle.members import Member, State, Verdict
from release_idle.state import ASKED_LASTS, MOST_NEVER_KNOWN, LaunchMemory
from runtime.activities import Activity, ActivityKind, ActivityReader, read_activities
from runtime.group import LAUNCH, Group
from runtime.patience import Patience

_READY_AFTER_WARM_UP = timedelta(minutes=15)
_CAPACITY_MAY_BE_SHORT = timedelta(hours=1)
# Without a try for so long nobody knows whether the next one would fail.
_SAYS_NOTHING_AFTER = timedelta(days=7)
_FAILED = ("Failed", "Cancelled")
_DONE = "Successful"
# Five pages. What is older says little about the launches of today.
_MOST_ACTIVITIES = 500
_HEALTH_CHECK = re.compile(r"health[- ]check|status check|volume check", re.IGNORECASE)
_SUSPENDED_BY_A_USER = "User suspended"


@dataclass(frozen=True, kw_only=True)
class LaunchPolicy:
    """After how many launches in a row that came to nothing launching stops, and when an instance must be ready."""

    most_in_a_row: int
    warm_up_seconds: int

    @property
    def warm_up(self) -> timedelta:
        """How long an instance may take until it reports."""
        return timedelta(seconds=self.warm_up_seconds)

    @property
    def ready_within(self) -> timedelta:
        """An instance that lives longer was ready once."""
        return self.warm_up + _READY_AFTER_WARM_UP


@dataclass(frozen=True, kw_only=True)
class LaunchReview:
    """What a pass makes of the launches: whether it stops them, what it tells, and what later passes must know."""

    memory: LaunchMemory
    suspend: bool = False
    message: Message | None = None
    trouble: LaunchTrouble | None = None

    @property
    def stopped(self) -> bool:
        """Whether launching is stopped because launches come to nothing."""
        return self.memory.stopped_at is not None

    def changes(self, before: LaunchMemory) -> bool:
        """Return whether there is something to do or to remember, for which the pass needs its lease."""
        return self.suspend or self.message is not None or self.memory != before


@dataclass(kw_only=True)
class _Row:
    """Launches of one kind, newest first. `next_try` is when the one after the oldest of them was tried."""

    next_try: datetime
    failures: list[FailedLaunch] = field(default_factory=list)


class SuspensionReader(Protocol):
    """The call that tells why a process is suspended."""

    def describe_auto_scaling_groups(self, *, AutoScalingGroupNames: Sequence[str]) -> Mapping[str, Any]: ...


class HistoryClient(ActivityReader, SuspensionReader, Protocol):
    """What is asked of Auto Scaling about launches."""


class SuspendingClient(Protocol):
    """The call that stops launching."""

    def suspend_processes(self, *, AutoScalingGroupName: str, ScalingProcesses: Sequence[str]) -> object: ...


class TopicClient(Protocol):
    """The call that tells the fleet's owner."""

    def publish(self, *, TopicArn: str, Subject: str, Message: str) -> object: ...


def silent_members(
    members: Iterable[Member],
    verdicts: Mapping[str, Verdict],
    readings: Mapping[str, Mapping[str, Reading]],
    *,
    read_from: datetime,
) -> frozenset[str]:
    """Return the members that are past their warm-up and have never reported.

    `read_from` is the beginning of what was read: of an instance that is older nobody knows whether it once reported.
    What could not be read is not silence.
    """
    return frozenset(
        member.instance_id
        for member in members
        if (verdict := verdicts.get(member.instance_id)) is not None
        and verdict.state is State.UNKNOWN
        and member.machine is not None
        and member.machine.launched_at >= read_from
        and (read := readings.get(member.instance_id))
        and all(isinstance(each, Series) and not each.points and not each.newest for each in read.values())
    )


def may_be_amiss(group: Group, verdicts: Mapping[str, Verdict], silent: Collection[str]) -> bool:
    """Return whether launches may come to nothing, so that the history has to be asked.

    Capacity is missing, launching is suspended, a member has never reported, or one is starting: of a fleet whose
    instances are replaced as soon as they fail, more is never seen. Of a warm pool nothing is seen at all.
    """
    if group.has_warm_pool:
        return True
    starts = any(verdict.state is State.STARTING for verdict in verdicts.values())
    is_short = group.launches_suspended or group.active_capacity < group.desired_capacity
    return is_short or bool(silent) or starts


def judge_launches(
    activities: Iterable[Activity],
    verdicts: Mapping[str, Verdict],
    never_known: Collection[str],
    policy: LaunchPolicy,
    *,
    counted_from: datetime | None,
    now: datetime,
    with_pool: bool = False,
) -> LaunchTrouble | None:
    """Return the row of launches that came to nothing when it is as long as the policy allows, None when it is not.

    The activities come newest first, and are taken only until that is clear. `never_known` are instances that are, or
    were until they were ended, past their warm-up without ever having reported. `with_pool` says that launches into a
    warm pool are judged too.
    """
    ended: dict[str, Activity] = {}
    rows = {kind: _Row(next_try=now) for kind in (ActivityKind.LAUNCH, *([ActivityKind.PREPARATION] * with_pool))}
    for activity in activities:
        if counted_from is not None and activity.started_at < counted_from:
            break
        if activity.kind is ActivityKind.TERMINATION and activity.instance_id is not None:
            ended.setdefault(activity.instance_id, activity)
        row = rows.get(activity.kind)
        if row is None:
            continue
        end = ended.get(activity.instance_id or "")
        is_over = row.next_try - activity.started_at > _SAYS_NOTHING_AFTER
        row.next_try = activity.started_at
        if is_over or _was_good(activity, end, verdicts, never_known, policy, now):
            del rows[activity.kind]
            if not rows:
                break
            continue
        failure = _failure(activity, end, never_known, policy)
        if failure is not None:
            row.failures.append(failure)
        if failure is not None and _is_a_row(row.failures, policy):
            return LaunchTrouble(failures=tuple(row.failures))
    return None


def review_launches(
    client: HistoryClient,
    group: Group,
    members: Sequence[Member],
    verdicts: Mapping[str, Verdict],
    silent: Collection[str],
    policy: LaunchPolicy,
    memory: LaunchMemory,
    patience: Patience,
) -> LaunchReview:
    """Return what is to be done about the group's launches. Changes nothing; raises the AWS error it meets.

    The history is asked for only when something may be amiss.
    """
    now = patience.clock.now()
    suspended = group.launches_suspended
    if memory.stopped_at is not None:
        # A group that was just suspended may not show it yet.
        if suspended or now - memory.stopped_at < ASKED_LASTS:
            return LaunchReview(memory=memory)
        return LaunchReview(memory=LaunchMemory(counted_from=now))
    memory = replace(memory, never_known=_never_known(memory, verdicts, silent), told=memory.told and suspended)
    if not may_be_amiss(group, verdicts, silent):
        return LaunchReview(memory=memory)
    activities = islice(read_activities(client, group.name, patience), _MOST_ACTIVITIES)
    never_known = {*memory.never_known, *silent}
    trouble = judge_launches(
        activities,
        verdicts,
        never_known,
        policy,
        counted_from=memory.counted_from,
        now=now,
        with_pool=group.has_warm_pool,
    )
    if trouble is not None:
        trouble = replace(trouble, present_types=_types_present(trouble, members))
        stopped = replace(memory, stopped_at=now.replace(microsecond=0))
        return LaunchReview(
            memory=stopped, suspend=not suspended, message=stopped_message(group.name, trouble), trouble=trouble
        )
    reason = _suspension_reason(client, group.name, patience) if suspended and not memory.told else ""
    if reason and not reason.startswith(_SUSPENDED_BY_A_USER):
        return LaunchReview(memory=replace(memory, told=True), message=suspended_by_aws_message(group.name, reason))
    return LaunchReview(memory=memory)


def act_on_launches(
    client: SuspendingClient,
    topics: TopicClient,
    group_name: str,
    topic_arn: str,
    review: LaunchReview,
    patience: Patience,
) -> None:
    """Stop launching and tell why. Only when this has returned may the review's memory be remembered.

    Raises the AWS error, and `OutOfTime`; the next pass then does it again, so that it is told once too often rather
    than never.
    """
    if review.suspend:
        suspend = partial(client.suspend_processes, AutoScalingGroupName=group_name, ScalingProcesses=[LAUNCH])
        patience.call("suspending Launch", suspend)
    if review.message is not None:
        tell = partial(topics.publish, TopicArn=topic_arn, Subject=review.message.subject, Message=review.message.text)
        patience.call("telling the topic", tell)


def _is_a_row(failures: Sequence[FailedLaunch], policy: LaunchPolicy) -> bool:
    """Return whether so many are enough. Want of capacity costs nothing and passes by itself, so it has to last."""
    if len(failures) < policy.most_in_a_row:
        return False
    return any(each.cause is not FailureCause.NO_CAPACITY for each in failures) or _lasts(failures)


def _lasts(failures: Sequence[FailedLaunch]) -> bool:
    """Return whether launches have failed for an hour, without a pause of an hour in which nobody tried."""
    first = failures[0]
    for earlier in failures[1:]:
        if first.at - earlier.at >= _CAPACITY_MAY_BE_SHORT:
            break
        first = earlier
    return failures[0].at - first.at >= _CAPACITY_MAY_BE_SHORT


def _was_good(
    launch: Activity,
    end: Activity | None,
    verdicts: Mapping[str, Verdict],
    never_known: Collection[str],
    policy: LaunchPolicy,
    now: datetime,
) -> bool:
    if launch.instance_id is None or launch.status in _FAILED:
        return False
    if launch.kind is ActivityKind.PREPARATION:
        # It has completed its hook. For how long it then waits says nothing.
        return launch.status == _DONE and not _was_taken_out_early(launch, end, policy)
    if launch.instance_id in never_known:
        return False
    if end is not None:
        # However it ended: passes have looked at it meanwhile, and none of them has found that it never reported.
        return end.started_at - launch.started_at > policy.ready_within
    verdict = verdicts.get(launch.instance_id)
    known = verdict is not None and verdict.state in (State.BUSY, State.IDLE, State.HELD)
    return known and now - launch.started_at >= policy.warm_up


def _failure(
    launch: Activity, end: Activity | None, never_known: Collection[str], policy: LaunchPolicy
) -> FailedLaunch | None:
    if launch.status in _FAILED:
        return _failed(launch, classify_failure(launch.message), launch.message or f"the launch was {launch.status}")
    if end is not None and _was_taken_out_early(launch, end, policy):
        return _failed(launch, FailureCause.NEVER_READY, end.cause)
    if launch.instance_id in never_known:
        return _failed(launch, FailureCause.NEVER_READY, f"{launch.instance_id} has never reported")
    return None


def _was_taken_out_early(launch: Activity, end: Activity | None, policy: LaunchPolicy) -> bool:
    """Return whether a health check took the instance out before it can have been ready."""
    early = end is not None and end.started_at - launch.started_at <= policy.ready_within
    return early and end is not None and _HEALTH_CHECK.search(end.cause) is not None


def _failed(launch: Activity, cause: FailureCause, message: str) -> FailedLaunch:
    return FailedLaunch(
        cause=cause, message=message, instance_id=launch.instance_id, zone=launch.zone, at=launch.started_at
    )


def _never_known(memory: LaunchMemory, verdicts: Mapping[str, Verdict], silent: Collection[str]) -> tuple[str, ...]:
    """Return the instances that have never reported, newly found ones last: an instance that is ended leaves no trace
    of that elsewhere."""
    known = {
        instance_id
        for instance_id, verdict in verdicts.items()
        if verdict.state in (State.BUSY, State.IDLE) and instance_id in memory.never_known
    }
    still = [each for each in memory.never_known if each not in known]
    return tuple([*still, *sorted(set(silent) - set(still))][-MOST_NEVER_KNOWN:])


def _types_present(trouble: LaunchTrouble, members: Sequence[Member]) -> tuple[str, ...]:
    failed = {failure.instance_id for failure in trouble.failures}
    machines = [member.machine for member in members if member.instance_id in failed]
    return tuple(machine.instance_type for machine in machines if machine is not None and machine.instance_type)


def _suspension_reason(client: SuspensionReader, group_name: str, patience: Patience) -> str:
    page = patience.call(
        "reading why Launch is suspended",
        partial(client.describe_auto_scaling_groups, AutoScalingGroupNames=[group_name]),
    )
    processes = [each for group in page.get("AutoScalingGroups", []) for each in group.get("SuspendedProcesses", [])]
    return next((str(each.get("SuspensionReason", "")) for each in processes if each.get("ProcessName") == LAUNCH), "")
