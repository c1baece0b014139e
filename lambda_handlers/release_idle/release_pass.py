"""One pass over the group: read, judge, plan; read the chosen ones again; terminate; tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from release_idle.decision import CapacityLimits, Plan, capacity_at_work, plan_release
from release_idle.measurement import PROVISIONAL_PERIODS
from release_idle.report import PassReport
from release_idle.survey import Survey, Surveyor
from release_idle.termination import Outcome, terminate_all
from runtime.group import Group
from runtime.structured_log import Json, StructuredLog


class PassIncomplete(Exception):
    """Something could not be read or done.

    Raised when everything else is done and told, so that the invocation counts as failed. Whoever could not be
    judged has been kept.
    """


@dataclass(frozen=True)
class ReleasePass:
    """A pass over one group. With `dry_run` it judges and tells, and changes nothing."""

    surveyor: Surveyor
    log: StructuredLog
    dry_run: bool

    def run(self) -> dict[str, Json]:
        """Return the summary of the pass.

        Raises `PassIncomplete` after a partial one, and the AWS error when the group itself cannot be read.
        """
        report = PassReport(group_name=self.surveyor.settings.auto_scaling_group, dry_run=self.dry_run)
        group = self.surveyor.group()
        if group is None or group.being_deleted or not group.members:
            why = "is empty" if group is not None and not group.being_deleted else "is gone or being deleted"
            self.log.info("nothing to release", why=f"the group {why}")
            return report.summary()
        survey = self.surveyor.survey(group)
        chosen = [release.instance_id for release in self._plan(group, survey, report).releases]
        if self.dry_run:
            report.would_release = chosen
            report.spared.update(dict.fromkeys(chosen, "would be released, but this is a dry run"))
        elif chosen:
            self._act(chosen, report)
        report.failures[:0] = self.surveyor.failures
        report.write(self.log, self.surveyor.settings.namespace, self.surveyor.patience.clock.now())
        if report.failures:
            raise PassIncomplete(f"{len(report.failures)} failures, first: {report.failures[0]}")
        return report.summary()

    def _act(self, chosen: Sequence[str], report: PassReport) -> None:
        """Read the chosen members again and terminate those that are still idle and still not needed.

        Work can have arrived since the first reading, and sizes can have changed. Nobody is chosen anew: who
        was not idle a moment ago waits for the next pass.
        """
        group = self.surveyor.group_again()
        if group is None or group.being_deleted:
            report.spared.update(dict.fromkeys(chosen, "the group could not be read again, or is going"))
            return
        survey = self.surveyor.survey(group, only=chosen)
        gone = [each for each in chosen if each not in survey.verdicts]
        report.spared.update(dict.fromkeys(gone, "left the group meanwhile"))
        plan = self._plan(group, survey, report)
        outcome = self._terminate(plan, survey)
        report.released = outcome.released
        report.spared.update(outcome.failed)
        report.failures += [f"{each}: {why}" for each, why in outcome.failed.items()]

    def _plan(self, group: Group, survey: Survey, report: PassReport) -> Plan:
        # Of the members that are not looked at again, the first reading still tells who works.
        report.verdicts.update(survey.verdicts)
        limits = CapacityLimits(
            min_size=group.min_size,
            desired=group.desired_capacity,
            demand=self.surveyor.demand(),
            at_work=capacity_at_work(survey.members, report.verdicts),
        )
        share = self.surveyor.settings.policy.max_release_share
        plan = plan_release(survey.members, survey.verdicts, limits, share)
        report.spared.update(plan.spared)
        report.kept_for_work.update(plan.kept_for_work)
        report.floor = plan.floor
        return plan

    def _terminate(self, plan: Plan, survey: Survey) -> Outcome:
        # The evidence ages while calls are retried. It is stale beyond the delay that metrics have anyhow.
        fresh_for = timedelta(seconds=PROVISIONAL_PERIODS * self.surveyor.settings.policy.period_seconds)
        patience = replace(self.surveyor.patience.until(survey.at + fresh_for), attempts=None)
        return terminate_all(self.surveyor.clients.autoscaling, plan.releases, patience)
