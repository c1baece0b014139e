"""Who may go before its own window is over, since the fleet has more members than it uses together. Pure.

Any free instance may take the next job, so that a member that has been idle for minutes says little, and how many were
in use at once says all. Only the window is shortened: who is not known to be idle now stays, and so do the minimum,
what is kept warm and what the queue needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from release_idle.facts import Facts
from release_idle.in_use import PASSES_APART, most_in_use
from release_idle.measurement import TOLERATED_PERIODS, Reading
from release_idle.members import Member, State, Verdict
from release_idle.planning import leaves
from release_idle.policy import IdlePolicy
from release_idle.spare import Enough, members_needed

Judge: TypeAlias = Callable[[Member, Mapping[str, Reading], IdlePolicy, datetime], Verdict]


def members_in_use(facts: Facts, verdicts: Mapping[str, Verdict], policy: IdlePolicy) -> int | None:
    """Return the most members in use at once since the pass before, None where nobody asks or not all are looked at."""
    if policy.start_worth_seconds is None or facts.first_signal_only or facts.spare is not None:
        return None
    return most_in_use(
        facts.members,
        verdicts,
        facts.readings,
        policy.signals,
        period_seconds=policy.period_seconds,
        now=facts.now,
    )


def spare_members(
    facts: Facts, verdicts: Mapping[str, Verdict], policy: IdlePolicy, in_use: int | None, judge: Judge
) -> dict[str, tuple[Verdict, str]]:
    """Return those that are idle now, before their window is over, and more than the fleet uses, each with the why.

    Each is known to be idle by all of its signals, for three periods and in whatever is newer; of equal ones those that
    have been so for longest. At a second look they are those of the first that are idle still.
    """
    if policy.start_worth_seconds is None:
        return {}
    idle = _idle_now(facts, verdicts, policy, judge)
    if facts.spare is not None:
        why = facts.spare
    else:
        serving = [each for each in facts.members if each.lifecycle_state == "InService" and not leaves(each, verdicts)]
        enough = _enough(facts, policy, in_use, len(serving))
        if enough is None or facts.backlog is None:
            return {}
        waiting = replace(facts.backlog, in_flight=0).needed_capacity(policy.messages_per_instance)
        # Whoever has been idle for the whole window goes anyhow.
        going = sum(verdict.state is State.IDLE for verdict in verdicts.values())
        spare = max(0, len(serving) - enough.members - waiting - going)
        longest_idle = sorted(idle, key=lambda each: (-(idle[each].idle_seconds or 0), each))
        why = dict.fromkeys(longest_idle[:spare], _why_spare(enough, len(serving)))
    return {
        each: (replace(verdict, reason=f"{verdict.reason}; {why[each]}"), why[each])
        for each, verdict in idle.items()
        if each in why
    }


def _idle_now(facts: Facts, verdicts: Mapping[str, Verdict], policy: IdlePolicy, judge: Judge) -> dict[str, Verdict]:
    """Return those that a window of three periods would let go."""
    briefly = replace(policy, window_seconds=TOLERATED_PERIODS * policy.period_seconds)
    return {
        member.instance_id: verdict
        for member in facts.members
        if member.instance_id in facts.readings
        # Of the others something is known that no window changes, or nothing.
        and verdicts[member.instance_id].state in (State.BUSY, State.STARTING)
        and not _is_young(member, policy, facts.now)
        and (verdict := judge(member, facts.readings[member.instance_id], briefly, facts.now)).state is State.IDLE
    }


def _enough(facts: Facts, policy: IdlePolicy, in_use: int | None, serving: int) -> Enough | None:
    """Return how many members the fleet needs by what it has used, None if that is not known."""
    if in_use is None or facts.used_before is None or policy.start_worth_seconds is None:
        return None
    slot = PASSES_APART.total_seconds()
    return members_needed(
        [*facts.used_before[:-1], max(in_use, *facts.used_before[-1:])],
        serving,
        start_worth=policy.start_worth_seconds / slot,
        longest=math.ceil(policy.window_seconds / slot),
    )


def _why_spare(enough: Enough, serving: int) -> str:
    times = "in the past day" if enough.unused is None else f"for {enough.unused * PASSES_APART.seconds // 60} min"
    return f"{serving} are in service, and no more than {enough.members} were in use at once {times}"


def _is_young(member: Member, policy: IdlePolicy, now: datetime) -> bool:
    return member.machine is None or (now - member.machine.launched_at).total_seconds() < policy.min_life_seconds
