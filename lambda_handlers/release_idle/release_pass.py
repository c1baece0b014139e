"""One pass over the group: look and decide; look again at the chosen ones and act; tell."""

from __future__ import annotations

from dataclasses import dataclass

from release_idle.acting import Acting
from release_idle.decision import Decision
from release_idle.instance_tags import write_memories
from release_idle.launch_watch import LaunchWatch
from release_idle.leaving import complete_for_the_dead, waiting_to_drain
from release_idle.look import Earlier, look_at
from release_idle.report import PassReport
from release_idle.survey import Surveyor
from runtime.group import Group
from runtime.group_reader import UnreadableGroup
from runtime.structured_log import Json, StructuredLog


class PassIncomplete(Exception):
    """Something could not be read or done.

    Raised when everything else is done and told, so that the invocation counts as failed. Whoever could not be
    judged has been kept.
    """


@dataclass(frozen=True)
class ReleasePass:
    """A pass over one group. With `dry_run` it judges and tells, and changes nothing.

    `holder` is a name that no other pass has.
    """

    surveyor: Surveyor
    log: StructuredLog
    dry_run: bool
    holder: str

    def run(self) -> dict[str, Json]:
        """Return the summary of the pass.

        Raises `PassIncomplete` after a partial one, and the AWS error when the group itself cannot be read.
        """
        report = self._new_report()
        launches = LaunchWatch(surveyor=self.surveyor, log=self.log)
        acting = Acting(surveyor=self.surveyor, log=self.log, report=report, launches=launches, holder=self.holder)
        group = self._group()
        if group is None or group.being_deleted:
            self.log.info("nothing to release", why="the group is gone or being deleted")
            return self._tell_of_drains(group, report)
        is_unfilled = acting.is_unfilled(group, group.min_size)
        if not (group.members or is_unfilled or launches.is_amiss(group)):
            self.log.info("nothing to release", why="the group is empty")
            return report.summary()
        look = look_at(self.surveyor, group, Earlier())
        report.take(look.decision, look.members)
        if self.dry_run:
            report.would_release = look.chosen
            report.spared.update(dict.fromkeys(look.chosen, "would be released, but this is a dry run"))
        else:
            self._remember(look.decision, acting)
            acting.act(look)
            self._complete_drains(group, report)
        return self._tell(report)

    def complete_drains(self) -> dict[str, Json]:
        """Do no more than to complete the drains that nobody is there to do: the cheap pass, for each termination.

        A group that loses a hundred members sends a hundred events; none of them says that somebody is idle.
        """
        return self._tell_of_drains(self._group(), self._new_report())

    def _group(self) -> Group | None:
        try:
            return self.surveyor.group()
        except UnreadableGroup as error:
            raise PassIncomplete(str(error)) from error

    def _new_report(self) -> PassReport:
        return PassReport(group_name=self.surveyor.settings.auto_scaling_group, dry_run=self.dry_run)

    def _tell_of_drains(self, group: Group | None, report: PassReport) -> dict[str, Json]:
        if group is not None and not self.dry_run:
            self._complete_drains(group, report)
        if report.drains_abandoned or report.failures or self.surveyor.failures:
            return self._tell(report)
        return report.summary()

    def _tell(self, report: PassReport) -> dict[str, Json]:
        report.failures[:0] = self.surveyor.failures
        report.write(self.log, self.surveyor.settings.namespace, self.surveyor.patience.clock.now())
        if report.failures:
            raise PassIncomplete(f"{len(report.failures)} failures, first: {report.failures[0]}")
        return report.summary()

    def _remember(self, decision: Decision, acting: Acting) -> None:
        """Write down who is unknown, for the next pass."""
        patience = self.surveyor.patience
        for failure in write_memories(self.surveyor.clients.ec2, decision.remember, decision.forget, patience):
            acting.failed("remembering who is unknown", failure)

    def _complete_drains(self, group: Group, report: PassReport) -> None:
        """Let those members go whose termination waits for a node that is no longer there."""
        hook, waiting = self.surveyor.settings.drain_hook, waiting_to_drain(group.members)
        if hook is None or not waiting:
            return
        drains = complete_for_the_dead(
            self.surveyor.clients.autoscaling,
            self.surveyor.clients.ec2,
            group_name=group.name,
            hook_name=hook,
            waiting=waiting,
            machines=self.surveyor.machines(waiting),
            patience=self.surveyor.patience,
        )
        report.drains_abandoned = drains.completed
        report.failures += drains.failures
        if drains.completed:
            self.log.info(
                "drains abandoned", hook=hook, instance_ids=drains.completed, why="the machine is not running"
            )
