"""The release function's entry point."""

from __future__ import annotations

import os
from functools import cache, lru_cache, partial
from uuid import uuid4

from release_idle.aws import Clients
from release_idle.release_pass import ReleasePass
from release_idle.settings import Settings, read_settings
from release_idle.survey import Surveyor
from runtime.clients import make_client
from runtime.clock import Clock, InvocationContext, SystemClock, deadline_of
from runtime.patience import Patience
from runtime.structured_log import Json, StructuredLog
from runtime.triggers import TERMINATION, recognise, understood

# A read that fails this often is a failure of the source; the pass goes on without it.
_READ_ATTEMPTS = 5
_CLOSING_SECONDS = 5.0


@lru_cache(maxsize=1)
def load_settings() -> Settings:
    """Return the settings, read from the environment once per cold start. A failure is not remembered."""
    return read_settings(os.environ)


@cache
def make_clients() -> Clients:
    """Return the AWS clients, made once per cold start."""
    return Clients(
        autoscaling=make_client("autoscaling"),
        cloudwatch=make_client("cloudwatch"),
        ec2=make_client("ec2"),
        sns=make_client("sns"),
        sqs=make_client("sqs"),
        ssm=make_client("ssm"),
    )


def handler(event: object, context: InvocationContext) -> dict[str, Json]:
    """Judge every member of the group and release those that have been idle for the whole window, or may not stay."""
    return handle(event, context, load_settings(), make_clients(), SystemClock())


def handle(
    event: object,
    context: InvocationContext,
    settings: Settings,
    clients: Clients,
    clock: Clock,
    log: StructuredLog | None = None,
) -> dict[str, Json]:
    """Do what `handler` does with everything passed in. `log` writes to standard output by default."""
    log = (log or StructuredLog(clock)).bind(auto_scaling_group=settings.auto_scaling_group)
    trigger = understood(partial(recognise, alarms=True, leaving=settings.auto_scaling_group), event, log)
    log = log.bind(trigger=trigger.kind)
    if not trigger.acts:
        log.info("nothing to do", why=trigger.why)
        return {"auto_scaling_group": settings.auto_scaling_group, "released": [], "why": trigger.why}
    patience = Patience(
        clock=clock,
        deadline=deadline_of(context, clock, reserve_seconds=_CLOSING_SECONDS),
        attempts=_READ_ATTEMPTS,
    )
    surveyor = Surveyor(settings=settings, clients=clients, patience=patience, log=log)
    # Every invocation is a holder of its own, also one that Lambda repeats.
    one_pass = ReleasePass(surveyor=surveyor, log=log, dry_run=trigger.dry_run, holder=uuid4().hex)
    return one_pass.complete_drains() if trigger.kind == TERMINATION else one_pass.run()
