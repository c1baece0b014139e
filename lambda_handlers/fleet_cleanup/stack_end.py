"""Freeing a fleet whose group is being deleted, whatever became of the custom resource."""

from __future__ import annotations

from fleet_cleanup.aws import Clients, FleetAccess
from fleet_cleanup.cleanup import CleanUp
from fleet_cleanup.lookup import groups_with_tag
from fleet_cleanup.request import FleetIdentity
from fleet_cleanup.settings import Settings
from fleet_cleanup.stack_event import StackEvent, read_stack_event
from runtime.clock import Clock, InvocationContext, deadline_of
from runtime.patience import Patience
from runtime.structured_log import Json, StructuredLog
from runtime.triggers import understood

_CLOSING_SECONDS = 1.0


class AmbiguousFleet(Exception):
    """Several groups carry the fleet's tag, so that none of them may be emptied."""


def handle_stack_event(
    event: object,
    context: InvocationContext,
    settings: Settings,
    clients: Clients,
    clock: Clock,
    log: StructuredLog | None = None,
) -> dict[str, Json]:
    """Make the group deletable if CloudFormation is deleting it. `log` writes to standard output by default.

    The custom resource is created after the group. A creation that fails before that, a group that never reaches
    its minimum for one, would leave protected instances that CloudFormation cannot remove. So would an update that
    replaces or removes the group, in which the custom resource's Delete does nothing. Nobody waits for an answer:
    whatever goes wrong is raised, and Lambda runs the same event again, twice by default.

    Raises `MalformedEvent`, `AmbiguousFleet`, `OutOfTime` and AWS's refusals.
    """
    log = log or StructuredLog(clock)
    happened = understood(read_stack_event, event, log)
    log = log.bind(stack_id=happened.stack_id, logical_id=happened.logical_id, status=happened.status)
    patience = Patience(clock=clock, deadline=deadline_of(context, clock, reserve_seconds=_CLOSING_SECONDS))
    try:
        return _free_fleet(happened, settings, clients, patience, log)
    except Exception as error:
        log.error("stack event failed", error=type(error).__name__, why=str(error))
        raise


def _free_fleet(
    happened: StackEvent, settings: Settings, clients: Clients, patience: Patience, log: StructuredLog
) -> dict[str, Json]:
    if not happened.ends(settings.stack_id, settings.group_logical_id):
        return _nothing_to_free("it is another stack's, no group of the fleet, or not being deleted", log)
    names = groups_with_tag(clients.autoscaling, settings.tag_key, settings.tag_value, patience)
    if happened.physical_id is not None:
        # A group that takes another's place carries the same tag, and lives on.
        names = [name for name in names if name == happened.physical_id]
    if not names:
        return _nothing_to_free("no group carries the fleet's tag", log)
    if len(names) > 1:
        raise AmbiguousFleet(f"several groups carry {settings.tag_key}={settings.tag_value}: {', '.join(names)}")
    fleet = FleetIdentity(group_name=names[0], tag_key=settings.tag_key, tag_value=settings.tag_value)
    access = FleetAccess(clients=clients, fleet=fleet, patience=patience)
    told = CleanUp(access=access, log=log.bind(auto_scaling_group=fleet.group_name)).run()
    return {"acted": True, "auto_scaling_group": fleet.group_name, "survivors": told["Survivors"]}


def _nothing_to_free(why: str, log: StructuredLog) -> dict[str, Json]:
    log.info("nothing to free", why=why)
    return {"acted": False, "why": why}
