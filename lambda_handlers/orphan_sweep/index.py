"""The sweep's entry point."""

from __future__ import annotations

import os
from functools import cache, lru_cache, partial

from orphan_sweep.aws import Clients
from orphan_sweep.leftovers import Account
from orphan_sweep.settings import Settings, read_settings
from orphan_sweep.sweep import Sweep
from runtime.clients import make_client
from runtime.clock import Clock, InvocationContext, SystemClock, deadline_of
from runtime.patience import Patience
from runtime.structured_log import Json, StructuredLog
from runtime.triggers import recognise, understood

_ATTEMPTS = 5
_CLOSING_SECONDS = 10.0


@lru_cache(maxsize=1)
def load_settings() -> Settings:
    """Return the settings, read from the environment once per cold start. A failure is not remembered."""
    return read_settings(os.environ)


@cache
def make_clients() -> Clients:
    """Return the AWS clients, made once per cold start."""
    return Clients(
        autoscaling=make_client("autoscaling"),
        cloudformation=make_client("cloudformation"),
        ec2=make_client("ec2"),
        logs=make_client("logs"),
        sns=make_client("sns"),
        ssm=make_client("ssm"),
        tagging=make_client("resourcegroupstaggingapi"),
    )


def handler(event: object, context: InvocationContext) -> dict[str, Json]:
    """Look for what carries the fleet's tag and belongs to nothing, tell it, and free it after the second sighting."""
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
    trigger = understood(partial(recognise, alarms=False), event, log)
    log = log.bind(trigger=trigger.kind)
    patience = Patience(
        clock=clock, deadline=deadline_of(context, clock, reserve_seconds=_CLOSING_SECONDS), attempts=_ATTEMPTS
    )
    account = Account(clients=clients, settings=settings, patience=patience)
    return Sweep(account=account, log=log, changes_nothing=trigger.dry_run).run()
