"""What a pass knows at one moment, and what it decides from that. Plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from release_idle.measurement import Finding, Reading
from release_idle.members import Member, Verdict
from release_idle.planning import Plan
from release_idle.unknown_memory import UnknownMemory
from runtime.demand import Backlog


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Everything that a pass knows at one moment.

    `readings` holds an entry, by signal name and maybe empty, for each member that was looked at; only those can go.
    `findings` are what is known already of what they say under the pass's own policy; the others are worked out.
    `settled` are the verdicts on the others from an earlier look. `backlog` is None when the queue could not be read.
    `asked_to_leave` says when an earlier pass asked for a member's termination: whatever the group says, it goes.
    `first_signal_only` says that the other signals were not asked: whoever is idle by the first one alone stays.
    `used_before` is the most members in use at once in each slot of time up to now, None where nobody asks or it could
    not be read. At a second look `spare` says of those that the first one chose, because they were more than that, why.
    """

    now: datetime
    min_size: int
    max_size: int
    desired: int
    members: tuple[Member, ...]
    readings: Mapping[str, Mapping[str, Reading]]
    backlog: Backlog | None
    suspended_processes: tuple[str, ...] = ()
    asked_to_leave: Mapping[str, datetime] = field(default_factory=dict)
    settled: Mapping[str, Verdict] = field(default_factory=dict)
    first_signal_only: bool = False
    used_before: Sequence[int] | None = None
    spare: Mapping[str, str] | None = None
    findings: Mapping[str, Mapping[str, Finding]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What each member is, who goes, and what the next pass has to remember.

    `remember` are the members of which nothing is known now, `forget` those of which that was so: empty unless the
    policy limits how long a member may be unknown. `in_use` is the most members in use at once since the pass before,
    None where nobody counts them, and `spare` says of those that are idle now, before their window is over, why the
    fleet has more than it uses.
    """

    verdicts: Mapping[str, Verdict]
    plan: Plan
    remember: Mapping[str, UnknownMemory]
    forget: tuple[str, ...]
    in_use: int | None = None
    spare: Mapping[str, str] = field(default_factory=dict)
