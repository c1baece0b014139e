"""One look at the group: everything is read and decided on at one moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from release_idle.decision import Decision, Facts, decide, nobody_could_go
from release_idle.launches import silent_members
from release_idle.measurement import span_to_read
from release_idle.members import Member, Verdict
from release_idle.survey import Surveyor
from runtime.demand import Backlog
from runtime.group import Group


@dataclass(frozen=True, kw_only=True)
class Earlier:
    """What an earlier look, or an earlier pass, knows of members: who was asked to leave, and who need not be asked.

    `spare` says of those that an earlier look chose, because the fleet had more than it used, why; None without one.
    """

    asked_to_leave: Mapping[str, datetime] = field(default_factory=dict)
    settled: Mapping[str, Verdict] = field(default_factory=dict)
    spare: Mapping[str, str] | None = None


@dataclass(frozen=True, kw_only=True)
class Look:
    """What was decided at one moment, and on which members. `silent` are those that have never reported."""

    at: datetime
    group: Group
    members: tuple[Member, ...]
    decision: Decision
    silent: frozenset[str]

    @property
    def chosen(self) -> list[str]:
        """Who is to go, in order."""
        return [release.instance_id for release in self.decision.plan.releases]


def look_at(surveyor: Surveyor, group: Group, earlier: Earlier, only: Sequence[str] | None = None) -> Look:
    """Read the members, or `only` some of them, and decide. The readings are not kept: they are large."""
    backlog = _backlog_if_nobody_could_go(surveyor, group)
    first_signal_only = backlog is not None and backlog.messages == 0
    survey = surveyor.survey(group, only, first_signal_only=first_signal_only)
    facts = Facts(
        now=survey.at,
        min_size=group.min_size,
        max_size=group.max_size,
        desired=group.desired_capacity,
        members=survey.members,
        readings=survey.readings,
        findings=survey.findings,
        # After the metrics: what has been taken from the queue meanwhile is still among its messages.
        backlog=backlog if first_signal_only else surveyor.backlog(),
        suspended_processes=group.suspended_processes,
        asked_to_leave=earlier.asked_to_leave,
        settled=earlier.settled,
        first_signal_only=first_signal_only,
        used_before=surveyor.used_before(survey.at) if earlier.spare is None else None,
        spare=earlier.spare,
    )
    policy = surveyor.settings.policy
    decision = decide(facts, policy)
    # The first signal tells who never reported; others may be those of the machine around a dead accelerator.
    first = policy.signals[0]
    read = {each: {first.name: of[first.name]} for each, of in survey.readings.items() if first.name in of}
    read_from = span_to_read(first, policy.window(survey.at), survey.at).start
    silent = silent_members(survey.members, decision.verdicts, read, read_from=read_from)
    return Look(at=survey.at, group=group, members=survey.members, decision=decision, silent=silent)


def _backlog_if_nobody_could_go(surveyor: Surveyor, group: Group) -> Backlog | None:
    """Return the backlog of a group of which nobody could go; None if somebody could, or if it could not be read.

    While there are messages all signals are asked: they tell who is at work, which the messages are compared with.
    """
    settings = surveyor.settings
    now = surveyor.patience.clock.now()
    nobody = nobody_could_go(
        group.members, min_size=group.min_size, max_size=group.max_size, policy=settings.policy, now=now
    )
    return surveyor.backlog() if nobody else None
