"""The expiry function's entry point."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, lru_cache, partial
from typing import Protocol

from runtime.aws_errors import AWS_ERRORS
from runtime.clients import make_client
from runtime.clock import Clock, InvocationContext, SystemClock, deadline_of
from runtime.patience import Patience
from runtime.structured_log import Json, StructuredLog
from runtime.triggers import recognise, understood
from stack_expiry.decision import Decision, Memory, decide
from stack_expiry.memory_store import MemoryStore, ParameterClient
from stack_expiry.settings import Settings, read_settings
from stack_expiry.stack import CloudFormationClient, Stack, delete_stack, read_stack
from stack_expiry.words import message

_CLOSING_SECONDS = 1.0
# To tell people is tried for a few seconds, so that the time is left for the deletion that it comes before.
_ATTEMPTS = 5


class TopicClient(Protocol):
    """The SNS call of the expiry function."""

    def publish(self, *, TopicArn: str, Subject: str, Message: str) -> object: ...


@dataclass(frozen=True, kw_only=True)
class Clients:
    """The AWS clients of the expiry function."""

    cloudformation: CloudFormationClient
    sns: TopicClient
    ssm: ParameterClient


@lru_cache(maxsize=1)
def load_settings() -> Settings:
    """Return the settings, read from the environment once per cold start. A failure is not remembered."""
    return read_settings(os.environ)


@cache
def make_clients() -> Clients:
    """Return the AWS clients, made once per cold start."""
    return Clients(cloudformation=make_client("cloudformation"), sns=make_client("sns"), ssm=make_client("ssm"))


def handler(event: object, context: InvocationContext) -> dict[str, Json]:
    """Warn of the stack's end, and delete the stack when it has come."""
    return handle(event, context, load_settings(), make_clients(), SystemClock())


def handle(
    event: object,
    context: InvocationContext,
    settings: Settings,
    clients: Clients,
    clock: Clock,
    log: StructuredLog | None = None,
) -> dict[str, Json]:
    """Do what `handler` does with everything passed in. `log` writes to standard output by default.

    A warning is remembered only after it has been published, and nothing is deleted without a warning that is
    remembered: whatever fails in between, people are rather warned twice than not at all. Raises `MalformedEvent`,
    `OutOfTime`, `StackUnreadable` and AWS's refusals; the next hour tries again.
    """
    log = (log or StructuredLog(clock)).bind(stack_id=settings.stack_id)
    trigger = understood(partial(recognise, alarms=False), event, log)
    patience = Patience(clock=clock, deadline=deadline_of(context, clock, reserve_seconds=_CLOSING_SECONDS))
    stack = read_stack(clients.cloudformation, settings.stack_id, patience)
    if stack is None:
        log.info("the stack is gone")
        return {"deleted": False, "told": None, "reason": "the stack is gone"}
    brief = replace(patience, attempts=_ATTEMPTS)
    store = MemoryStore(client=clients.ssm, parameter=settings.state_parameter, patience=brief)
    memory = store.read()
    decision = decide(clock.now(), stack, settings.policy, memory)
    told = _told(stack, decision)
    log.info("expiry", **told, dry_run=trigger.dry_run)
    if not trigger.dry_run:
        acting = _Acting(settings=settings, clients=clients, store=store, patience=patience, log=log)
        acting.carry_out(decision, stack, memory)
    return {"deleted": decision.delete and not trigger.dry_run, **told}


@dataclass(frozen=True, kw_only=True)
class _Acting:
    settings: Settings
    clients: Clients
    store: MemoryStore
    patience: Patience
    log: StructuredLog

    def carry_out(self, decision: Decision, stack: Stack, memory: Memory) -> None:
        if decision.delete:
            self._tell_of_deletion(decision, stack, memory)
            delete_stack(self.clients.cloudformation, stack.id, self.patience)
            return
        self._tell(decision, stack, memory)

    def _tell_of_deletion(self, decision: Decision, stack: Stack, memory: Memory) -> None:
        try:
            self._tell(decision, stack, memory)
        except AWS_ERRORS as error:
            # People have been warned: that they cannot be told once more does not let the stack bill on.
            self.log.error("nobody could be told of the deletion", why=str(error))

    def _tell(self, decision: Decision, stack: Stack, memory: Memory) -> None:
        if decision.tell is not None:
            said = message(decision.tell, stack, decision, self.settings.policy)
            publish = partial(
                self.clients.sns.publish, TopicArn=self.settings.topic_arn, Subject=said.subject, Message=said.text
            )
            replace(self.patience, attempts=_ATTEMPTS).call("telling people", publish)
        if decision.memory != memory:
            self.store.write(decision.memory)


def _told(stack: Stack, decision: Decision) -> dict[str, Json]:
    return {
        "status": stack.status,
        "told": None if decision.tell is None else decision.tell.value,
        "delete": decision.delete,
        "reason": decision.reason,
        "expires_at": _moment(decision.expires_at),
        "delete_after": _moment(decision.delete_after),
    }


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
