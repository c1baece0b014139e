"""Bringing a group to the state in which CloudFormation can delete it."""

from __future__ import annotations

from dataclasses import dataclass

from fleet_cleanup.aws import FleetAccess
from fleet_cleanup.decision import Step, next_step
from runtime.aws_errors import AWS_ERRORS, error_code
from runtime.group import Group
from runtime.structured_log import StructuredLog

_LOOK_EVERY_SECONDS = 10.0


@dataclass(frozen=True, kw_only=True)
class CleanUp:
    """Empties one fleet's group."""

    access: FleetAccess
    log: StructuredLog

    def run(self) -> dict[str, str]:
        """Return what there is to tell, when every member is on its way out or the group is gone.

        CloudFormation sets the size of a group to 0 before it deletes it and waits, for about an hour, but
        takes no protection away: protected instances would outlive that wait and go on billing. So this goes
        first, in an order that no step undoes another:

        1. all sizes to 0, and no instance born protected: from here on nothing can start, whatever the wake
        function, an alarm or a schedule asks for; 2. protection cleared, so that the group takes its members
        itself and their termination hooks run; 3. members that the group never takes are terminated one by
        one.

        This is repeated until nobody is left who needs help. A member that came into service meanwhile, or a
        size that somebody raised, is seen at the next look. Waiting until the last one is gone is left to
        CloudFormation, which waits anyway. Raises `OutOfTime` when a member that needs help is left at the
        end, and AWS's refusals.
        """
        while True:
            group = self.access.group()
            # CloudFormation may be deleting it already, which AWS lets it do only once the group is empty.
            if group is None or group.being_deleted:
                self.log.info("the group is gone")
                return self._report(())
            step = next_step(group)
            self.log.info("clean-up step", **_told(group, step))
            self._do(step)
            if not step.remaining and not step.close:
                return self._report(tuple(member.instance_id for member in group.members))
            # Right after closing an empty group there is nothing to wait for but the proof that it is closed.
            wait = _LOOK_EVERY_SECONDS if step.remaining else 1.0
            self.access.patience.wait(f"{len(step.remaining)} members are not on their way out", wait)

    def _do(self, step: Step) -> None:
        if step.close:
            self.access.close_group()
        refused = self.access.unprotect(step.unprotect)
        for instance_id, why in refused.items():
            # It has most likely left service, which is what we want. If not, the next look finds it again.
            self.log.warning("protection not cleared", instance_id=instance_id, why=why)
        for instance_id in step.terminate:
            self.access.terminate(instance_id)
            self.log.info("terminated", instance_id=instance_id)

    def _report(self, members: tuple[str, ...]) -> dict[str, str]:
        """List what bills under the fleet's tag outside the group. It is told and never touched: somebody
        took it out of the group on purpose, or copied the tag."""
        try:
            survivors = self.access.survivors(members)
        except AWS_ERRORS as error:
            # The group is ready to be deleted; that its leftovers cannot be listed must not keep it alive.
            self.log.error("survivors could not be listed", why=error_code(error))
            return {"Survivors": "unknown"}
        if survivors:
            self.log.warning("instances of the fleet run on outside the group", instance_ids=survivors)
        return {"Survivors": str(len(survivors))}


def _told(group: Group, step: Step) -> dict[str, int | bool]:
    return {
        "members": len(group.members),
        "remaining": len(step.remaining),
        "close": step.close,
        "unprotect": len(step.unprotect),
        "terminate": len(step.terminate),
    }
