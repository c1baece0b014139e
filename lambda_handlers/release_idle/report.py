"""What a pass found and did, as it is returned, logged and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from release_idle.decision import Decision
from release_idle.members import Member, State, Verdict, is_retained
from release_idle.planning import Release
from release_idle.use_history import IN_USE
from runtime.embedded_metrics import embedded_counts
from runtime.structured_log import Json, StructuredLog


@dataclass(kw_only=True)
class PassReport:
    """The account of one pass, filled as it goes on.

    `spared` says why a member that may go stays and `kept_for_work` which of them stay because work waits, `causes` why
    each one goes that does. `floor` is the capacity that has to stay (None: not known, or not asked for),
    `desired_lowered_to` the desired capacity after what AWS never filled was taken back (None: nothing was), and
    `failures` are the reads and acts that did not succeed. `launches_stopped` is None where nobody had to ask, and
    `in_use`, the most members in use at once since the pass before, where nobody counts them.
    """

    group_name: str
    dry_run: bool
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    spared: dict[str, str] = field(default_factory=dict)
    kept_for_work: set[str] = field(default_factory=set)
    causes: dict[str, Release] = field(default_factory=dict)
    released: list[str] = field(default_factory=list)
    would_release: list[str] = field(default_factory=list)
    retained: list[str] = field(default_factory=list)
    drains_abandoned: list[str] = field(default_factory=list)
    launches_stopped: bool | None = None
    floor: int | None = None
    desired_lowered_to: int | None = None
    in_use: int | None = None
    failures: list[str] = field(default_factory=list)

    def take(self, decision: Decision, members: Iterable[Member]) -> None:
        """Note what was decided; what was noted earlier of the same members no longer holds."""
        self.verdicts.update(decision.verdicts)
        self.spared.update(decision.plan.spared)
        self.kept_for_work.update(decision.plan.kept_for_work)
        self.causes.update({release.instance_id: release for release in decision.plan.releases})
        self.retained = [member.instance_id for member in members if is_retained(member.lifecycle_state)]
        self.floor = decision.plan.floor
        self.in_use = self.in_use if decision.in_use is None else decision.in_use

    def summary(self) -> dict[str, Json]:
        """Return the account as the function returns it: who goes, who stays, and why."""
        return {**self._totals(), "kept": self._kept()}

    def write(self, log: StructuredLog, namespace: str, at: datetime) -> None:
        """Write a line for each verdict, one for the pass, and one with its metrics if there is something to count."""
        for instance_id, verdict in self.verdicts.items():
            gone = instance_id in self.released
            log.info(
                "verdict",
                instance_id=instance_id,
                verdict=verdict.state.value,
                reason=verdict.reason,
                idle_seconds=verdict.idle_seconds,
                released=gone,
                released_because=self.causes[instance_id].reason if gone else None,
                kept_because=self.spared.get(instance_id),
            )
        log.info("release pass", **self._totals(), failures=self.failures)
        counts = self._counts()
        if counts:
            dimensions = {"AutoScalingGroupName": self.group_name}
            log.document(embedded_counts(namespace=namespace, dimensions=dimensions, counts=counts, at=at))

    def _counts(self) -> dict[str, int]:
        """Return the pass's metrics. Of a group in which nobody was judged it says only what it knows: a zero would
        speak of members."""
        counts: dict[str, int] = {}
        if self.verdicts:
            counted = Counter(verdict.state for verdict in self.verdicts.values())
            counts = {
                "MembersBusy": counted[State.BUSY],
                "MembersIdle": counted[State.IDLE],
                "MembersUnknown": counted[State.UNKNOWN],
                "MembersHeld": counted[State.HELD],
                "MembersRetained": len(self.retained),
                "MembersIdleDespiteWork": len(self.kept_for_work),
                "InstancesReleased": len(self.released),
            }
        if self.in_use is not None:
            counts[IN_USE] = self.in_use
        if self.verdicts or self.launches_stopped is not None:
            counts["LaunchesStopped"] = int(self.launches_stopped or False)
        if self.verdicts or self.drains_abandoned:
            counts["DrainsAbandoned"] = len(self.drains_abandoned)
        return counts

    def _totals(self) -> dict[str, Json]:
        counted = Counter(verdict.state for verdict in self.verdicts.values())
        return {
            "auto_scaling_group": self.group_name,
            "dry_run": self.dry_run,
            "released": self.released,
            "would_release": self.would_release,
            "counts": {state.value: counted[state] for state in State},
            "floor": self.floor,
            "desired_lowered_to": self.desired_lowered_to,
            "drains_abandoned": self.drains_abandoned,
            "launches_stopped": self.launches_stopped,
        }

    def _kept(self) -> list[Json]:
        return [
            {
                "instance_id": instance_id,
                "verdict": verdict.state.value,
                "reason": _with_cause(verdict.reason, self.spared.get(instance_id)),
            }
            for instance_id, verdict in self.verdicts.items()
            if instance_id not in self.released
        ]


def _with_cause(reason: str, cause: str | None) -> str:
    return reason if cause is None else f"{reason}; kept: {cause}"
