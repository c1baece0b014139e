"""What a pass found and did, as it is returned, logged and counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

from release_idle.decision import State, Verdict
from runtime.embedded_metrics import embedded_counts
from runtime.structured_log import Json, StructuredLog


@dataclass(kw_only=True)
class PassReport:
    """The account of one pass, filled as it goes on.

    `spared` says why an idle member stays and `kept_for_work` which of them stay because work waits, `floor` is the
    capacity that has to stay (None: not known, or not asked for), `desired_lowered_to` the desired capacity after what
    AWS never filled was taken back (None: nothing was), and `failures` are the reads and acts that did not succeed.
    """

    group_name: str
    dry_run: bool
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    spared: dict[str, str] = field(default_factory=dict)
    kept_for_work: set[str] = field(default_factory=set)
    released: list[str] = field(default_factory=list)
    would_release: list[str] = field(default_factory=list)
    floor: int | None = None
    desired_lowered_to: int | None = None
    failures: list[str] = field(default_factory=list)

    def summary(self) -> dict[str, Json]:
        """Return the account as the function returns it: who goes, who stays, and why."""
        return {**self._totals(), "kept": self._kept()}

    def write(self, log: StructuredLog, namespace: str, at: datetime) -> None:
        """Write a line for each verdict, one for the pass, and one with its metrics unless the group is empty."""
        for instance_id, verdict in self.verdicts.items():
            log.info(
                "verdict",
                instance_id=instance_id,
                verdict=verdict.state.value,
                reason=verdict.reason,
                idle_seconds=verdict.idle_seconds,
                released=instance_id in self.released,
                kept_because=self.spared.get(instance_id),
            )
        log.info("release pass", **self._totals(), failures=self.failures)
        if not self.verdicts:
            return
        counted = Counter(verdict.state for verdict in self.verdicts.values())
        counts = {
            "MembersBusy": counted[State.BUSY],
            "MembersIdle": counted[State.IDLE],
            "MembersUnknown": counted[State.UNKNOWN],
            "MembersHeld": counted[State.HELD],
            "MembersIdleDespiteWork": len(self.kept_for_work),
            "InstancesReleased": len(self.released),
        }
        dimensions = {"AutoScalingGroupName": self.group_name}
        log.document(embedded_counts(namespace=namespace, dimensions=dimensions, counts=counts, at=at))

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
