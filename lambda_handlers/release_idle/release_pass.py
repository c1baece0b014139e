"""One pass over the group: read, judge, plan; read the chosen ones again; terminate; tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from release_idle.decision import CapacityLimits, Plan, State, Verdict, plan_release
from release_idle.measurement import PROVISIONAL_PERIODS
from release_idle.survey import Survey, Surveyor
from release_idle.termination import Outcome, terminate_all
from runtime.embedded_metrics import embedded_counts
from runtime.group import Group
from runtime.group_reader import read_group
from runtime.structured_log import Json, StructuredLog


class PassIncomplete(Exception):
    """Something could not be read or done. Raised when everything else is done and logged, so that the
    invocation counts as failed; whatever was unknown has been kept."""


@dataclass
class ReleasePass:
    """A pass over one group. With `dry_run` it judges and tells, and changes nothing."""

    surveyor: Surveyor
    log: StructuredLog
    dry_run: bool
    _act_failures: list[str] = field(default_factory=list)

    def run(self) -> dict[str, Json]:
        """Return the summary of the pass. Raises `PassIncomplete` after a partial one, and the AWS error when
        the group itself cannot be read."""
        group = self._read_group()
        if group is None or group.being_deleted:
            self.log.info("nothing to release", why="the group is gone or being deleted")
            return self._summary({}, {}, [], None, [])
        if not group.members:
            self.log.info("nothing to release", why="the group is empty")
            return self._summary({}, {}, [], None, [])
        survey = self.surveyor.survey(group)
        plan = self._plan(group, survey)
        verdicts, spared, released = dict(survey.verdicts), dict(plan.spared), list[str]()
        chosen = [release.instance_id for release in plan.releases]
        if self.dry_run:
            spared.update(dict.fromkeys(chosen, "would be released, but this is a dry run"))
        elif chosen:
            verdicts_again, spared_again, released = self._act(chosen)
            verdicts.update(verdicts_again)
            spared.update(spared_again)
        would_release = chosen if self.dry_run else []
        summary = self._tell(verdicts, spared, released, plan.floor, would_release)
        failures = [*self.surveyor.failures, *self._act_failures]
        if failures:
            raise PassIncomplete(f"{len(failures)} failures, first: {failures[0]}")
        return summary

    def _act(self, chosen: Sequence[str]) -> tuple[dict[str, Verdict], dict[str, str], list[str]]:
        """Read the chosen members again and terminate those that are still idle and still not needed.

        Work can have arrived since the first reading, and sizes can have changed. Nobody is chosen anew: who
        was not idle a moment ago waits for the next pass.
        """
        group = self._read_group()
        if group is None or group.being_deleted:
            return {}, dict.fromkeys(chosen, "the group is gone or being deleted"), []
        survey = self.surveyor.survey(group, only=chosen)
        gone = {each: "left the group meanwhile" for each in chosen if each not in survey.verdicts}
        plan = self._plan(group, survey)
        outcome = self._terminate(plan, survey)
        self._act_failures += [f"{each}: {why}" for each, why in outcome.failed.items()]
        return dict(survey.verdicts), {**gone, **plan.spared, **outcome.failed}, outcome.released

    def _terminate(self, plan: Plan, survey: Survey) -> Outcome:
        # The evidence ages while calls are retried. Beyond the delay that is granted to metrics anyhow it is
        # stale.
        fresh_for = timedelta(seconds=PROVISIONAL_PERIODS * self.surveyor.settings.policy.period_seconds)
        patience = replace(self.surveyor.patience.until(survey.at + fresh_for), attempts=None)
        return terminate_all(self.surveyor.clients.autoscaling, plan.releases, patience)

    def _plan(self, group: Group, survey: Survey) -> Plan:
        limits = CapacityLimits(
            min_size=group.min_size, desired=group.desired_capacity, demand=self.surveyor.demand()
        )
        return plan_release(
            survey.members, survey.verdicts, limits, self.surveyor.settings.policy.max_release_share
        )

    def _read_group(self) -> Group | None:
        settings = self.surveyor.settings
        return read_group(
            self.surveyor.clients.autoscaling, settings.auto_scaling_group, self.surveyor.patience
        )

    def _tell(
        self,
        verdicts: dict[str, Verdict],
        spared: dict[str, str],
        released: list[str],
        floor: int | None,
        would_release: list[str],
    ) -> dict[str, Json]:
        for instance_id, verdict in verdicts.items():
            self.log.info(
                "verdict",
                instance_id=instance_id,
                verdict=verdict.state.value,
                reason=verdict.reason,
                idle_seconds=verdict.idle_seconds,
                released=instance_id in released,
                kept_because=spared.get(instance_id),
            )
        summary = self._summary(verdicts, spared, released, floor, would_release)
        told = {key: value for key, value in summary.items() if key != "kept"}
        self.log.info("release pass", **told, failures=[*self.surveyor.failures, *self._act_failures])
        counted = Counter(verdict.state for verdict in verdicts.values())
        self.log.document(
            embedded_counts(
                namespace=self.surveyor.settings.namespace,
                dimensions={"AutoScalingGroupName": self.surveyor.settings.auto_scaling_group},
                counts={
                    "MembersBusy": counted[State.BUSY],
                    "MembersIdle": counted[State.IDLE],
                    "MembersUnknown": counted[State.UNKNOWN],
                    "InstancesReleased": len(released),
                },
                at=self.surveyor.patience.clock.now(),
            )
        )
        return summary

    def _summary(
        self,
        verdicts: dict[str, Verdict],
        spared: dict[str, str],
        released: list[str],
        floor: int | None,
        would_release: list[str],
    ) -> dict[str, Json]:
        kept = [
            {
                "instance_id": instance_id,
                "verdict": verdict.state.value,
                "reason": _with_cause(verdict.reason, spared.get(instance_id)),
            }
            for instance_id, verdict in verdicts.items()
            if instance_id not in released
        ]
        counts = Counter(verdict.state.value for verdict in verdicts.values())
        return {
            "auto_scaling_group": self.surveyor.settings.auto_scaling_group,
            "dry_run": self.dry_run,
            "released": released,
            "would_release": would_release,
            "kept": kept,
            "counts": {state.value: counts[state.value] for state in State},
            "floor": floor,
        }


def _with_cause(reason: str, cause: str | None) -> str:
    return reason if cause is None else f"{reason}; kept: {cause}"
