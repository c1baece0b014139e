"""What a pass decides. Pure: everything that it knows in, verdicts with reasons and a plan out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Protocol

from release_idle.early import members_in_use, spare_members
from release_idle.facts import Decision, Facts
from release_idle.measurement import Busy, Finding, Idle, Reading, Series, Signal, Unknown, examine
from release_idle.members import Machine, Member, State, Verdict, is_retained
from release_idle.planning import Candidate, CapacityLimits, Cause, members_at_work, plan_release
from release_idle.policy import AtMinimum, IdlePolicy
from release_idle.unknown_memory import UNKNOWN_TAG, UnknownMemory, unknown_again
from runtime.group import LAUNCH, is_active, is_coming
from runtime.hold_tag import why_held

__all__ = [
    "AtMinimum",
    "Decision",
    "Facts",
    "IdlePolicy",
    "Machine",
    "Member",
    "State",
    "Verdict",
    "decide",
    "find",
    "is_active",
    "is_to_be_asked",
    "judge",
    "judge_standing",
]


_JUDGED = (State.BUSY, State.IDLE, State.UNKNOWN)
_NO_FINDINGS: Mapping[str, Finding] = {}


class Capacity(Protocol):
    """What a member takes of its group's capacity, and whether it does."""

    @property
    def lifecycle_state(self) -> str: ...

    @property
    def capacity(self) -> int: ...


def decide(facts: Facts, policy: IdlePolicy) -> Decision:
    """Return the verdict on each member, and which of those that were looked at go, in which order and why.

    Those past a hard limit go first, oldest first: their places are then filled by idle ones. Then the idle ones go,
    longest idle first; of those that are equally idle the dearest first, On-Demand before Spot, then by instance id.
    """
    verdicts = {member.instance_id: verdict for member in facts.members if (verdict := _verdict(member, facts, policy))}
    in_use = members_in_use(facts, verdicts, policy)
    spare = spare_members(facts, verdicts, policy, in_use, judge)
    verdicts |= {each: verdict for each, (verdict, _) in spare.items()}
    unknown = _unknown_members(facts, verdicts, policy) if policy.max_unknown_seconds is not None else {}
    candidates = [
        candidate
        for member in facts.members
        if member.instance_id in facts.readings
        and (candidate := _candidate(member, verdicts[member.instance_id], unknown, policy, facts))
    ]
    candidates.sort(key=lambda candidate: _turn(candidate, verdicts[candidate.member.instance_id], policy))
    limits = _limits(facts, verdicts, policy)
    return Decision(
        verdicts=verdicts,
        plan=plan_release(facts.members, verdicts, candidates, limits),
        remember=unknown,
        forget=_forgotten(facts, verdicts, policy) if policy.max_unknown_seconds is not None else (),
        in_use=in_use,
        spare={each: why for each, (_, why) in spare.items()},
    )


def judge(
    member: Member,
    readings: Mapping[str, Reading],
    policy: IdlePolicy,
    now: datetime,
    findings: Mapping[str, Finding] = _NO_FINDINGS,
) -> Verdict:
    """Return the verdict on one member from what EC2, Session Manager and its signals say.

    `readings` are keyed by signal name, and so are `findings`, which are known of some of them. Signals are taken in
    the policy's order and the first that is not idle decides, so later ones need not be there; a signal that is needed
    and missing makes the member unknown.
    """
    standing = judge_standing(member, policy, now)
    return standing or _judge_signals(member, readings, policy, now, findings)


def judge_standing(member: Member, policy: IdlePolicy, now: datetime) -> Verdict | None:
    """Return the verdict on a member whose signals need not be asked, or None when they decide."""
    out_of_service = _judge_lifecycle(member)
    if out_of_service:
        return out_of_service
    if policy.protection_holds and member.protected:
        return Verdict(state=State.HELD, reason="protected from scale-in")
    machine = member.machine
    if machine is None:
        return Verdict(state=State.UNKNOWN, reason="EC2 did not return the instance")
    if machine.state == "pending":
        return Verdict(state=State.STARTING, reason="EC2 says that it is pending")
    if machine.state != "running":
        return Verdict(state=State.LEAVING, reason=f"EC2 says that it is {machine.state}")
    held = why_held(machine.tags, policy.hold_tag_key)
    if held is not None:
        return Verdict(state=State.HELD, reason=held)
    age = (now - machine.launched_at).total_seconds()
    if age < policy.warm_up_seconds:
        return Verdict(state=State.STARTING, reason=f"launched {age:.0f} s ago, warm-up is {policy.warm_up_seconds} s")
    if member.in_session is None:
        return Verdict(state=State.UNKNOWN, reason="active sessions could not be read")
    if member.in_session:
        return Verdict(state=State.BUSY, reason="a Session Manager session is active")
    return None


def is_to_be_asked(finding: Finding | Verdict | None, policy: IdlePolicy) -> bool:
    """Return whether a member's next signal has to be read after this finding, or this verdict on its standing.

    The first that is not idle decides. But only of a member that no signal at all shows busy is nothing known, and a
    limit on that asks for all of them. So does counting who is in use, which takes all signals to deny.
    """
    if finding is None or isinstance(finding, Idle):
        return True
    if policy.start_worth_seconds is not None and not _is_settled(finding):
        return True
    is_unknown = isinstance(finding, Unknown) or (isinstance(finding, Verdict) and finding.state is State.UNKNOWN)
    return is_unknown and policy.max_unknown_seconds is not None


def nobody_could_go(
    members: Sequence[Capacity], *, min_size: int, max_size: int, policy: IdlePolicy, now: datetime
) -> bool:
    """Return whether no member could go for idleness, whatever its signals say: a reading costs money.

    Not when somebody counts for how long nothing has been known of a member, or who is in use: that needs all of its
    signals.
    """
    if policy.max_unknown_seconds is not None or policy.start_worth_seconds is not None:
        return False
    active = sum(member.capacity for member in members if is_active(member.lifecycle_state))
    serving = [member.capacity for member in members if member.lifecycle_state == "InService"]
    floor = max(min_size, min(policy.warm_capacity(now), max_size))
    return (policy.is_quiet(now) and max_size > 0) or active - min(serving, default=0) < floor


def find(signal: Signal, readings: Mapping[str, Reading], member: Member, policy: IdlePolicy, now: datetime) -> Finding:
    """Return what one signal says about a member whose standing leaves it to its signals."""
    reading = readings.get(signal.name)
    # judge_standing has let only members with a machine through.
    if reading is None or member.machine is None:
        return Unknown(f"{signal.name} was not read")
    expected_from = member.machine.launched_at + timedelta(seconds=policy.warm_up_seconds)
    return examine(signal, reading, policy.window(now), expected_from=expected_from, now=now)


def _is_settled(finding: Finding | Verdict) -> bool:
    """Return whether no reading could add to a verdict on a member's standing: it is leaving, held, or in a session."""
    return isinstance(finding, Verdict) and finding.state is not State.STARTING


def _judge_lifecycle(member: Member) -> Verdict | None:
    if member.lifecycle_state == "InService":
        return None
    if member.lifecycle_state == "Standby":
        return Verdict(state=State.HELD, reason="parked in Standby")
    if is_retained(member.lifecycle_state):
        return Verdict(state=State.HELD, reason=f"retained by the group: {member.lifecycle_state}")
    state = State.STARTING if is_coming(member.lifecycle_state) else State.LEAVING
    return Verdict(state=state, reason=f"not in service: {member.lifecycle_state}")


def _judge_signals(
    member: Member,
    readings: Mapping[str, Reading],
    policy: IdlePolicy,
    now: datetime,
    findings: Mapping[str, Finding],
) -> Verdict:
    idle: list[Idle] = []
    for signal in policy.signals:
        finding = findings.get(signal.name) or find(signal, readings, member, policy, now)
        if isinstance(finding, Busy):
            return Verdict(state=State.BUSY, reason=finding.reason, at_work=finding.at_work)
        if isinstance(finding, Unknown):
            return Verdict(state=State.UNKNOWN, reason=finding.reason)
        idle.append(finding)
    if member.machine is not None and not all(finding.whole_window for finding in idle):
        age = (now - member.machine.launched_at).total_seconds()
        return Verdict(
            state=State.STARTING,
            reason=f"launched {age:.0f} s ago, too young to have been idle for {policy.window_seconds} s",
        )
    idle_seconds = int((now - max(finding.since for finding in idle)).total_seconds())
    return Verdict(state=State.IDLE, reason="; ".join(finding.reason for finding in idle), idle_seconds=idle_seconds)


def _verdict(member: Member, facts: Facts, policy: IdlePolicy) -> Verdict | None:
    """Return the verdict on a member, None for one that nobody has looked at yet."""
    asked_at = facts.asked_to_leave.get(member.instance_id)
    if asked_at is not None:
        return Verdict(state=State.LEAVING, reason=f"asked to leave at {asked_at:%Y-%m-%dT%H:%M:%SZ}")
    readings = facts.readings.get(member.instance_id)
    if readings is None:
        return facts.settled.get(member.instance_id)
    findings = facts.findings.get(member.instance_id, _NO_FINDINGS)
    if not facts.first_signal_only:
        return judge(member, readings, policy, facts.now, findings)
    verdict = judge(member, readings, replace(policy, signals=policy.signals[:1]), facts.now, findings)
    return replace(verdict, is_partial=verdict.state is State.IDLE and len(policy.signals) > 1)


def _candidate(
    member: Member,
    verdict: Verdict,
    unknown: Mapping[str, UnknownMemory],
    policy: IdlePolicy,
    facts: Facts,
) -> Candidate | None:
    """Return the member as one that may go, None when nothing says that it may."""
    machine = member.machine
    # Who is held stays past every hard limit. Of an instance that EC2 did not return nobody knows whether it is held.
    if machine is None or not (verdict.state in _JUDGED or _leaves_starting(member, verdict, policy, facts)):
        return None
    age = int((facts.now - machine.launched_at).total_seconds())
    if policy.ends_all(facts.now):
        reason = f"all leave from {policy.leave_from:%Y-%m-%dT%H:%M:%SZ} on; {verdict.reason}"
        return Candidate(member=member, cause=Cause.LEAVE_FROM, reason=reason)
    if policy.max_life_seconds is not None and age >= policy.max_life_seconds and policy.ends_the_old(facts.now):
        reason = f"launched {age} s ago, maximum life is {policy.max_life_seconds} s; {verdict.reason}"
        return Candidate(member=member, cause=Cause.MAX_LIFE, reason=reason)
    memory = unknown.get(member.instance_id)
    if memory is not None and policy.max_unknown_seconds is not None and memory.has_lasted(policy.max_unknown_seconds):
        lasted = f"unknown since {memory.since:%Y-%m-%dT%H:%M:%SZ}, the limit is {policy.max_unknown_seconds} s"
        return Candidate(member=member, cause=Cause.MAX_UNKNOWN, reason=f"{lasted}; {verdict.reason}")
    if verdict.state is not State.IDLE:
        return None
    objection = None
    if verdict.is_partial:
        objection = "nobody could go, so its other signals were not asked"
    elif facts.max_size == 0:
        # The fleet is paused: whoever set that wants nobody, and no policy keeps what is idle.
        objection = None
    elif age < policy.min_life_seconds:
        objection = f"launched {age} s ago, minimum life is {policy.min_life_seconds} s"
    elif policy.is_quiet(facts.now):
        objection = "these are hours in which nothing idle is released"
    return Candidate(member=member, cause=Cause.IDLE, reason=verdict.reason, objection=objection)


def _leaves_starting(member: Member, verdict: Verdict, policy: IdlePolicy, facts: Facts) -> bool:
    """Return whether a member is too young to be judged, and has to go all the same with all others."""
    return policy.ends_all(facts.now) and verdict.state is State.STARTING and member.lifecycle_state == "InService"


def _turn(candidate: Candidate, verdict: Verdict, policy: IdlePolicy) -> tuple[bool, float, float, bool, str]:
    member = candidate.member
    assert member.machine is not None
    if candidate.is_overdue:
        return (False, member.machine.launched_at.timestamp(), 0.0, False, member.instance_id)
    price = policy.usd_per_hour.get(member.machine.instance_type or "", 0.0)
    return (True, -(verdict.idle_seconds or 0), -price, member.machine.spot, member.instance_id)


def _limits(facts: Facts, verdicts: Mapping[str, Verdict], policy: IdlePolicy) -> CapacityLimits:
    at_work = members_at_work(facts.members, verdicts)
    if policy.ends_all(facts.now):
        # Their machines are taken soon, all at once: neither work that waits nor a share keeps anybody.
        everybody = len(facts.members)
        return CapacityLimits(
            min_size=facts.min_size,
            desired=facts.desired,
            messages=0,
            demand=0,
            at_work=at_work,
            most_releases=everybody,
        )
    backlog = facts.backlog
    serving = sum(member.lifecycle_state == "InService" for member in facts.members)
    share = math.ceil(policy.max_release_share * serving)
    return CapacityLimits(
        min_size=facts.min_size,
        desired=facts.desired,
        messages=None if backlog is None else backlog.messages,
        demand=None if backlog is None else backlog.needed_capacity(policy.messages_per_instance),
        at_work=at_work,
        most_releases=share if policy.max_releases is None else min(share, policy.max_releases),
        # A fleet that is paused has a maximum of 0: nothing stays warm in it.
        warm=min(policy.warm_capacity(facts.now), facts.max_size),
        # Without launches there is no replacement: the capacity would fall.
        replaces=policy.at_minimum is AtMinimum.REPLACE and LAUNCH not in facts.suspended_processes,
    )


def _unknown_members(facts: Facts, verdicts: Mapping[str, Verdict], policy: IdlePolicy) -> dict[str, UnknownMemory]:
    """Return the memory of those of which nothing is known: neither that they are idle nor, by any signal, busy.

    What AWS failed to tell is no news of a member, which may be at work: meanwhile no time is counted.
    """
    return {
        member.instance_id: unknown_again(member.machine.tags, facts.now)
        for member in facts.members
        if member.machine is not None and _was_told_of(member, facts) and _is_unknown(member, facts, verdicts, policy)
    }


def _forgotten(facts: Facts, verdicts: Mapping[str, Verdict], policy: IdlePolicy) -> tuple[str, ...]:
    return tuple(
        member.instance_id
        for member in facts.members
        if member.machine is not None
        and UNKNOWN_TAG in member.machine.tags
        and member.instance_id in facts.readings
        and not _is_unknown(member, facts, verdicts, policy)
    )


def _is_unknown(member: Member, facts: Facts, verdicts: Mapping[str, Verdict], policy: IdlePolicy) -> bool:
    readings = facts.readings.get(member.instance_id)
    if readings is None or verdicts[member.instance_id].state is not State.UNKNOWN:
        return False
    return not any(isinstance(find(signal, readings, member, policy, facts.now), Busy) for signal in policy.signals)


def _was_told_of(member: Member, facts: Facts) -> bool:
    """Return whether AWS answered every question about a member, be it with nothing at all."""
    readings = facts.readings.get(member.instance_id)
    if not readings or member.in_session is None:
        return False
    return all(isinstance(reading, Series) or reading.absent for reading in readings.values())
