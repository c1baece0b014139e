"""Bringing a group to the state in which CloudFormation can delete it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from fleet_cleanup.aws import FleetAccess
from fleet_cleanup.decision import Hook, Step, drained_by, draining, next_step
from runtime.aws_errors import AWS_ERRORS, error_code
from runtime.group import Group
from runtime.structured_log import StructuredLog

_LOOK_EVERY_SECONDS = 10.0
# A parked member that the group has been asked for goes within seconds; after this, EC2 is asked.
_PARKED_TOO_LONG = timedelta(minutes=2)
# What ending the hooks, the last look and the list of survivors may take.
_CLOSING = timedelta(seconds=90)
_REFUSES_DELETION = "prevent-all-deletion"


class DeletionProtected(Exception):
    """Somebody has protected the group from deletion: nothing may be emptied for a deletion that AWS will refuse."""


@dataclass(kw_only=True)
class CleanUp:
    """Empties one fleet's group, in one run."""

    access: FleetAccess
    log: StructuredLog
    _asked: dict[str, datetime] = field(default_factory=dict, init=False)
    _hooks: tuple[Hook, ...] | None = field(default=None, init=False)
    _drained_by: datetime | None = field(default=None, init=False)
    _pool_asked: bool = field(default=False, init=False)

    def run(self) -> dict[str, str]:
        """Return what there is to tell, when every member is on its way out or the group is gone.

        CloudFormation sets the size of a group to 0 before it deletes it and waits, for about an hour, but
        takes no protection away: protected instances would outlive that wait and go on billing. So this goes
        first, in an order that no step undoes another:

        1. a running instance refresh cancelled, and every process suspended that could start an instance; 2. all
        sizes to 0, and no instance born protected: from here on nothing can start, whatever the wake function, an
        alarm or a schedule asks for; 3. protection cleared, so that the group takes its members itself and their
        termination hooks run; 4. members that the group never takes are terminated one by one; 5. launch hooks are
        deleted at once, since a member that waits in one cannot leave, and termination hooks when the members have
        had their time to drain, at most 8 minutes: what waits then goes on.

        This is repeated until nobody is left who needs help. A member that came into service meanwhile, or a
        size that somebody raised, is seen at the next look. Waiting until the last machine is gone is left to
        CloudFormation, which waits anyway. Raises `OutOfTime` when a member that needs help is left at the
        end, `DeletionProtected` before anything is touched, and AWS's refusals.
        """
        first = True
        while True:
            group = self.access.group()
            # CloudFormation may be deleting it already, which AWS lets it do only once the group is empty.
            if group is None or group.being_deleted:
                self.log.info("the group is gone")
                return self._report(())
            _refuse_protected(group)
            step = next_step(group)
            self.log.info("clean-up step", **_told(group, step))
            if first and not step.is_done:
                self._cancel_refresh()
            first = False
            self._do(group, step)
            waits = self._waits_for(group, step)
            if waits is None:
                return self._report(tuple(member.instance_id for member in group.members))
            # Right after closing an empty group there is nothing to wait for but the proof that it is closed.
            self.access.patience.wait(waits, _LOOK_EVERY_SECONDS if group.members or group.has_warm_pool else 1.0)

    def _cancel_refresh(self) -> None:
        try:
            cancelled = self.access.cancel_instance_refresh()
        except AWS_ERRORS as error:
            # It can start nothing once its process is suspended, and a group is deleted with it.
            self.log.error("the instance refresh was not cancelled", why=str(error))
            return
        if cancelled:
            self.log.info("the instance refresh is cancelled")

    def _do(self, group: Group, step: Step) -> None:
        if step.suspend:
            self.access.suspend(step.suspend)
        if step.close:
            self.access.close_group()
        if group.members:
            self._end_hooks([hook for hook in self._known_hooks() if hook.launching])
        if group.has_warm_pool and not self._pool_asked:
            # Its instances are no members: neither the sizes nor a member's termination reach them.
            self.access.delete_warm_pool()
            self._pool_asked = True
        refused = self.access.unprotect(step.unprotect)
        for instance_id, why in refused.items():
            # It has most likely left service, which is what we want. If not, the next look finds it again.
            self.log.warning("protection not cleared", instance_id=instance_id, why=why)
        for instance_id in step.terminate:
            self._terminate(instance_id)

    def _terminate(self, instance_id: str) -> None:
        now = self.access.patience.clock.now()
        since = self._asked.setdefault(instance_id, now)
        if now - since >= _PARKED_TOO_LONG:
            self.access.terminate_by_ec2(instance_id)
            self.log.warning("terminated by EC2: its group has not taken it", instance_id=instance_id)
        else:
            self.access.terminate(instance_id)
            self.log.info("terminated", instance_id=instance_id)

    def _waits_for(self, group: Group, step: Step) -> str | None:
        """Return what is still waited for, and end the hooks once the drains have had their time."""
        if not step.is_done:
            self._drained_by = None
            return f"{len(step.remaining)} members are not on their way out"
        held = draining(group)
        hooks = [hook for hook in self._known_hooks() if not hook.launching] if held else []
        if not hooks and not group.has_warm_pool:
            return None
        patience = self.access.patience
        now = patience.clock.now()
        if self._drained_by is None:
            self._drained_by = drained_by(now, hooks, patience.deadline - _CLOSING)
        if hooks and now + timedelta(seconds=_LOOK_EVERY_SECONDS) < self._drained_by:
            return f"{len(held)} members drain"
        if hooks:
            self.log.warning("drains are cut short", instance_ids=list(held))
            self._end_hooks(hooks)
        if group.has_warm_pool and now + timedelta(seconds=_LOOK_EVERY_SECONDS) < patience.deadline - _CLOSING:
            return "the warm pool is not gone yet"
        return None

    def _known_hooks(self) -> tuple[Hook, ...]:
        """The group's hooks, asked for once, less those that have been deleted."""
        if self._hooks is None:
            try:
                self._hooks = self.access.hooks()
            except AWS_ERRORS as error:
                # Then each of them ends after its own heartbeat, and CloudFormation's wait is what is left.
                self.log.error("the hooks could not be listed", why=str(error))
                self._hooks = ()
        return self._hooks

    def _end_hooks(self, hooks: Sequence[Hook]) -> None:
        for hook in hooks:
            try:
                self.access.delete_hook(hook.name)
                self.log.info("hook deleted", hook=hook.name)
            except AWS_ERRORS as error:
                self.log.error("hook not deleted", hook=hook.name, why=str(error))
        self._hooks = tuple(hook for hook in self._known_hooks() if hook not in hooks)

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


def _refuse_protected(group: Group) -> None:
    """Raise when AWS would refuse to delete the group. It is a person's own no, like a stack's termination protection;
    what protects an instance from scale-in or from EC2 is not."""
    if group.deletion_protection != _REFUSES_DELETION:
        return
    raise DeletionProtected(
        f"the group {group.name} is protected from deletion ({_REFUSES_DELETION}), so nothing was done; run `aws "
        f"autoscaling update-auto-scaling-group --auto-scaling-group-name {group.name} --deletion-protection none` and "
        "delete the stack again"
    )


def _told(group: Group, step: Step) -> dict[str, int | bool]:
    return {
        "members": len(group.members),
        "remaining": len(step.remaining),
        "suspend": len(step.suspend),
        "close": step.close,
        "unprotect": len(step.unprotect),
        "terminate": len(step.terminate),
    }
