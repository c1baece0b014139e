"""What started an invocation. Only its kind is taken from the event; facts are always read anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from runtime.structured_log import StructuredLog

Event = TypeVar("Event")

MANUAL_SOURCE = "accelerated-fleet.manual"

TERMINATION = "termination"
"""The kind of an event about an instance that waits for a termination hook."""

_TERMINATION_DETAIL = "EC2 Instance-terminate Lifecycle Action"


class MalformedEvent(ValueError):
    """The event is none that this function knows."""


@dataclass(frozen=True, kw_only=True)
class Trigger:
    """A recognised event. `acts` is false for one that asks for nothing, with `why` saying so."""

    kind: str
    acts: bool = True
    dry_run: bool = False
    why: str = ""


def understood(read: Callable[[object], Event], event: object, log: StructuredLog) -> Event:
    """Return what `read` makes of the event. One that it does not know is logged before `MalformedEvent` goes on."""
    try:
        return read(event)
    except MalformedEvent as error:
        log.error("event not understood", why=str(error))
        raise


def recognise(event: object, *, alarms: bool, leaving: str | None = None) -> Trigger:
    """Return what the event is: a schedule's tick, a person's request or, with `alarms`, an alarm's change.

    With `leaving`, the name of a group, also the news that one of its instances waits for a termination hook; the same
    news of another group asks for nothing. Raises `MalformedEvent` for everything else.
    """
    if not isinstance(event, Mapping):
        raise MalformedEvent(f"the event must be a JSON object, got {type(event).__name__}")
    source = event.get("source")
    if source == "aws.events" and event.get("detail-type") == "Scheduled Event":
        return Trigger(kind="schedule")
    if source == MANUAL_SOURCE:
        return _manual(event)
    if alarms and source == "aws.cloudwatch" and "alarmData" in event:
        return _alarm(event)
    if leaving is not None and source == "aws.autoscaling" and event.get("detail-type") == _TERMINATION_DETAIL:
        return _termination(event, leaving)
    kinds = "a scheduled event, an alarm's action" if alarms else "a scheduled event"
    raise MalformedEvent(f"the event must be {kinds} or have the source {MANUAL_SOURCE!r}, got source {source!r}")


def _manual(event: Mapping[str, object]) -> Trigger:
    dry_run = event.get("dry_run", False)
    if not isinstance(dry_run, bool):
        raise MalformedEvent(f"dry_run must be true or false, got {dry_run!r}")
    return Trigger(kind="manual", dry_run=dry_run)


def _alarm(event: Mapping[str, object]) -> Trigger:
    data = event["alarmData"]
    state = data.get("state") if isinstance(data, Mapping) else None
    value = state.get("value") if isinstance(state, Mapping) else None
    if value not in ("ALARM", "OK", "INSUFFICIENT_DATA"):
        raise MalformedEvent(f"alarmData.state.value must be an alarm state, got {value!r}")
    if value != "ALARM":
        return Trigger(kind="alarm", acts=False, why=f"the alarm went to {value}, which asks for nothing")
    return Trigger(kind="alarm")


def _termination(event: Mapping[str, object], group_name: str) -> Trigger:
    detail = event.get("detail")
    about = detail.get("AutoScalingGroupName") if isinstance(detail, Mapping) else None
    if not isinstance(about, str) or not about:
        raise MalformedEvent(f"detail.AutoScalingGroupName must name a group, got {about!r}")
    if about != group_name:
        return Trigger(kind=TERMINATION, acts=False, why=f"the event is about the group {about}, not this one")
    return Trigger(kind=TERMINATION)
