"""One pass over the group: read, judge, plan; read the chosen ones again; terminate; tell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

from release_idle.decision import is_active
from release_idle.group_changes import ZONE_REBALANCING, set_desired_capacity, suspend_zone_rebalancing
from release_idle.measurement import PROVISIONAL_PERIODS
from release_idle.planning import CapacityLimits, Plan, filled_capacity, members_at_work, plan_release
from release_idle.report import PassReport
from release_idle.survey import Survey, Surveyor
from release_idle.termination import terminate_all
from runtime.aws_errors import AWS_ERRORS
from runtime.group import Group
from runtime.patience import OutOfTime, Patience
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
        if group is None or group.being_deleted or not (group.members or self._is_unfilled(group)):
            why = "is empty" if group is not None and not group.being_deleted else "is gone or being deleted"
            self.log.info("nothing to release", why=f"the group {why}")
            return report.summary()
        survey = self.surveyor.survey(group)
        chosen = [release.instance_id for release in self._plan(group, survey, report).releases]
        if self.dry_run:
            report.would_release = chosen
            report.spared.update(dict.fromkeys(chosen, "would be released, but this is a dry run"))
        else:
            if self._is_unfilled(group):
                self._take_back_unfilled(report)
            if chosen:
                self._act(chosen, report)
        report.failures[:0] = self.surveyor.failures
        report.write(self.log, self.surveyor.settings.namespace, self.surveyor.patience.clock.now())
        if report.failures:
            raise PassIncomplete(f"{len(report.failures)} failures, first: {report.failures[0]}")
        return report.summary()

    def _is_unfilled(self, group: Group) -> bool:
        # Without a queue a person or a schedule set the number, and only they know what it is for.
        asked_by_work = self.surveyor.settings.demand is not None
        return asked_by_work and group.desired_capacity > max(_active_capacity(group), group.min_size)

    def _take_back_unfilled(self, report: PassReport) -> None:
        """Lower a desired capacity that AWS could not fill, and that no work needs any more, to what is there.

        Otherwise each release would be followed, once there is capacity, by an instance that nobody needs. Auto Scaling
        has no victim to choose here: the number is never set below what is in service or on its way as read just
        before, and a fleet's members are protected besides.
        """
        group = None if report.floor is None else self.surveyor.group_again()
        if report.floor is None or group is None or group.being_deleted:
            return
        active = _active_capacity(group)
        target = filled_capacity(active, group.desired_capacity, max(report.floor, group.min_size))
        if target is None:
            return
        act = partial(set_desired_capacity, self.surveyor.clients.autoscaling, group.name, target)
        if self._change("SetDesiredCapacity", act, self.surveyor.patience, report):
            report.desired_lowered_to = target
            why = f"of {group.desired_capacity} AWS filled {active}, and work needs {report.floor} with the minimum"
            self.log.info("desired capacity lowered", before=group.desired_capacity, now=target, why=why)

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
        patience = self._patience_for(survey)
        if plan.releases and not self._keeps_zones_uneven(group, patience, report):
            why = "AZRebalance could not be suspended: it would even out the zones with members at work"
            report.spared.update({release.instance_id: why for release in plan.releases})
            return
        outcome = terminate_all(self.surveyor.clients.autoscaling, plan.releases, patience)
        report.released = outcome.released
        report.spared.update(outcome.failed)
        report.failures += [f"{each}: {why}" for each, why in outcome.failed.items()]

    def _plan(self, group: Group, survey: Survey, report: PassReport) -> Plan:
        # Of the members that are not looked at again, the first reading still tells who works.
        report.verdicts.update(survey.verdicts)
        settings = self.surveyor.settings
        backlog = self.surveyor.backlog()
        per_instance = 1 if settings.demand is None else settings.demand.messages_per_instance
        limits = CapacityLimits(
            min_size=group.min_size,
            desired=group.desired_capacity,
            messages=None if backlog is None else backlog.messages,
            demand=None if backlog is None else backlog.needed_capacity(per_instance),
            at_work=members_at_work(survey.members, report.verdicts),
        )
        share = settings.policy.max_release_share
        plan = plan_release(survey.members, survey.verdicts, limits, share)
        report.spared.update(plan.spared)
        report.kept_for_work.update(plan.kept_for_work)
        report.floor = plan.floor
        return plan

    def _keeps_zones_uneven(self, group: Group, patience: Patience, report: PassReport) -> bool:
        """Return whether the group will leave its zones as uneven as the releases make them, asking it to if need be.

        Where protection holds, the members at work are not protected, and Auto Scaling would terminate any of them for
        balance. A fleet's own members are, and its custom resource has suspended the process.
        """
        exposed = self.surveyor.settings.policy.protection_holds and len(group.zones) > 1
        if not exposed or ZONE_REBALANCING in group.suspended_processes:
            return True
        act = partial(suspend_zone_rebalancing, self.surveyor.clients.autoscaling, group.name)
        done = self._change("SuspendProcesses", act, patience, report)
        if done:
            why = "releases make zones uneven, and members at work would be terminated to even them out"
            self.log.info("zone rebalancing suspended", process=ZONE_REBALANCING, why=why)
        return done

    def _change(self, what: str, act: Callable[[Patience], None], patience: Patience, report: PassReport) -> bool:
        """Change the group; return whether it was done. What goes wrong is told and does not end the pass."""
        try:
            act(patience)
        except (*AWS_ERRORS, OutOfTime) as error:
            report.failures.append(f"Auto Scaling {what}: {error}")
            self.log.error("change failed", what=what, why=str(error))
            return False
        return True

    def _patience_for(self, survey: Survey) -> Patience:
        # The evidence ages while calls are retried. It is stale beyond the delay that metrics have anyhow.
        fresh_for = timedelta(seconds=PROVISIONAL_PERIODS * self.surveyor.settings.policy.period_seconds)
        return replace(self.surveyor.patience.until(survey.at + fresh_for), attempts=None)


def _active_capacity(group: Group) -> int:
    return sum(member.capacity for member in group.members if is_active(member.lifecycle_state))
