"""The clean-up function's entry point: a custom resource that answers CloudFormation itself, and an event's target."""

from __future__ import annotations

import os
from functools import cache, lru_cache

from fleet_cleanup.aws import Clients, FleetAccess
from fleet_cleanup.cleanup import CleanUp
from fleet_cleanup.request import FleetIdentity, Request, read_identity, read_request
from fleet_cleanup.response import Response, Send, answer, put
from fleet_cleanup.settings import Settings, read_settings
from fleet_cleanup.stack_end import handle_stack_event
from fleet_cleanup.stack_event import is_from_cloudformation
from fleet_cleanup.stack_status import read_stack_status, takes_its_fleet_along
from runtime.clients import make_client
from runtime.clock import Clock, InvocationContext, SystemClock, deadline_of
from runtime.patience import OutOfTime, Patience
from runtime.structured_log import Json, StructuredLog
from runtime.triggers import understood

NOT_CREATED = "not-created:"
"""Begins the physical id of a resource whose Create failed; no group's name may hold a colon."""

# Kept free for the answer, which is tried several times.
_ANSWER_SECONDS = 20.0


@lru_cache(maxsize=1)
def load_settings() -> Settings:
    """Return the settings, read from the environment once per cold start. A failure is not remembered."""
    return read_settings(os.environ)


@cache
def make_clients() -> Clients:
    """Return the AWS clients, made once per cold start."""
    return Clients(
        autoscaling=make_client("autoscaling"), cloudformation=make_client("cloudformation"), ec2=make_client("ec2")
    )


def handler(event: object, context: InvocationContext) -> dict[str, Json]:
    """Suspend zone rebalancing on Create and Update; make the group deletable when it or its stack goes."""
    if is_from_cloudformation(event):
        return handle_stack_event(event, context, load_settings(), make_clients(), SystemClock())
    return handle(event, context, make_clients(), SystemClock(), put)


def handle(
    event: object,
    context: InvocationContext,
    clients: Clients,
    clock: Clock,
    send: Send,
    log: StructuredLog | None = None,
) -> dict[str, Json]:
    """Do what `handler` does for a custom resource. `log` writes to standard output by default.

    Sends exactly one response, whatever happens, with one exception: a Delete that runs out of time raises
    `OutOfTime` and sends none. Lambda then runs the same event again, twice by default, and each run goes on
    where the last one stopped. Nothing tells a run that it is the last one, so none of them gives up on its
    own: if the third ends without an answer too, CloudFormation's time-out for the resource (`ServiceTimeout`
    in the template) ends the wait.
    """
    log = log or StructuredLog(clock)
    request = understood(read_request, event, log)
    log = log.bind(request=request.type, logical_id=request.logical_id, physical_id=request.physical_id)
    working = Patience(clock=clock, deadline=deadline_of(context, clock, reserve_seconds=_ANSWER_SECONDS))
    answering = Patience(clock=clock, deadline=deadline_of(context, clock, reserve_seconds=0))
    response = _respond(request, clients, working, log)
    log.info("answer", status=response.status, reason=response.reason, data=response.data)
    answer(request, response, send, answering)
    return {"status": response.status, "physical_id": response.physical_id, "data": response.data}


def _respond(request: Request, clients: Clients, patience: Patience, log: StructuredLog) -> Response:
    try:
        return _carry_out(request, clients, patience, log)
    except OutOfTime as error:
        log.error("ran out of time", why=str(error))
        if request.type == "Delete":
            raise
        return _failure(request, str(error))
    # Whatever it is, CloudFormation must hear of it: without an answer it would wait for an hour.
    except Exception as error:
        log.error("request failed", error=type(error).__name__, why=str(error))
        return _failure(request, f"{type(error).__name__}: {error}")


def _carry_out(request: Request, clients: Clients, patience: Patience, log: StructuredLog) -> Response:
    if request.type == "Delete" and (request.physical_id or "").startswith(NOT_CREATED):
        return _success(request.physical_id or "", "nothing had been created")
    fleet = read_identity(request.properties)
    access = FleetAccess(clients=clients, fleet=fleet, patience=patience)
    if request.type != "Delete":
        access.suspend_zone_rebalancing()
        return _success(fleet.group_name, "AZRebalance is suspended")
    if request.physical_id != fleet.group_name:
        return _not_ours(request, fleet)
    # A failure to read it is answered with FAILED. To act would risk a living group; to let it pass would let the
    # deletion go on as if the fleet had been freed, with nobody told that only the group's own event is left to do it.
    status = read_stack_status(clients.cloudformation, request.stack_id, patience)
    if not takes_its_fleet_along(status):
        return _lives_on(fleet, status)
    data = CleanUp(access=access, log=log).run()
    return _success(fleet.group_name, "the group can be deleted", data)


def _not_ours(request: Request, fleet: FleetIdentity) -> Response:
    """Answer a Delete whose physical id we never gave: CloudFormation's own, for a Create that it heard
    nothing of.

    Nothing is touched: that Create may have belonged to an update that is rolled back now, and the group
    lives on.
    """
    reason = f"nothing done: the physical id is not the group {fleet.group_name}"
    return _success(request.physical_id or "", reason)


def _lives_on(fleet: FleetIdentity, status: str) -> Response:
    """Answer a Delete of the custom resource in a stack that is not going: it was removed, or became another.

    The group may live on, with work on it. If this update deletes it as well, the event of its own deletion frees it.
    """
    reason = f"nothing done: the stack is in {status}, which does not end it; the group's own deletion would free it"
    return _success(fleet.group_name, reason)


def _success(physical_id: str, reason: str, data: dict[str, str] | None = None) -> Response:
    return Response(status="SUCCESS", physical_id=physical_id, reason=reason, data=data or {})


def _failure(request: Request, reason: str) -> Response:
    # An Update or Delete that fails must keep its id: a new one would mean that the resource was replaced.
    physical_id = request.physical_id or f"{NOT_CREATED}{request.request_id}"
    return Response(status="FAILED", physical_id=physical_id, reason=reason)
