"""The activity history of an Auto Scaling group: what was launched and terminated, and what became of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from functools import partial
from typing import Protocol, TypedDict

from runtime.patience import Patience

_ACTIVITIES_PER_PAGE = 100
_INSTANCE_ID = re.compile(r"\bi-[0-9a-z]+\b")


class ActivityKind(Enum):
    """What an activity does, as far as it matters here. A preparation is a launch into a warm pool."""

    LAUNCH = "launch"
    PREPARATION = "preparation"
    TERMINATION = "termination"
    OTHER = "other"


@dataclass(frozen=True, kw_only=True)
class Activity:
    """One entry of the history. `message` and `cause` are AWS's words, `instance_id` is None for a launch that gave
    no instance."""

    kind: ActivityKind
    instance_id: str | None
    status: str
    message: str
    cause: str
    zone: str | None
    started_at: datetime
    ended_at: datetime | None


class ActivityDocument(TypedDict, total=False):
    Description: str
    Cause: str
    StartTime: datetime
    EndTime: datetime
    StatusCode: str
    StatusMessage: str
    Details: str


class ActivitiesPage(TypedDict, total=False):
    Activities: list[ActivityDocument]
    NextToken: str


class ActivityReader(Protocol):
    """The call that `read_activities` makes."""

    def describe_scaling_activities(
        self, *, AutoScalingGroupName: str, MaxRecords: int, NextToken: str = ...
    ) -> ActivitiesPage: ...


def read_activities(client: ActivityReader, group_name: str, patience: Patience) -> Iterator[Activity]:
    """Yield the group's activities, newest first; the next page is asked for only when somebody wants it."""
    ask = partial(client.describe_scaling_activities, AutoScalingGroupName=group_name, MaxRecords=_ACTIVITIES_PER_PAGE)
    page = patience.call("reading the scaling activities", ask)
    while True:
        yield from map(_activity, page.get("Activities", []))
        # A page may be empty although more follow: the token decides, not the count.
        token = page.get("NextToken")
        if not token:
            return
        page = patience.call("reading the scaling activities", partial(ask, NextToken=token))


def _activity(document: ActivityDocument) -> Activity:
    description = document.get("Description", "")
    named = _INSTANCE_ID.search(description)
    return Activity(
        kind=_kind(description),
        instance_id=named.group() if named else None,
        status=document["StatusCode"],
        message=document.get("StatusMessage", ""),
        cause=document.get("Cause", ""),
        zone=_zone(document.get("Details", "")),
        started_at=document["StartTime"],
        ended_at=document.get("EndTime"),
    )


def _kind(description: str) -> ActivityKind:
    if description.startswith("Launching a new EC2 instance into warm pool"):
        return ActivityKind.PREPARATION
    if description.startswith("Launching a new EC2 instance"):
        return ActivityKind.LAUNCH
    if description.startswith("Terminating EC2 instance"):
        return ActivityKind.TERMINATION
    return ActivityKind.OTHER


def _zone(details: str) -> str | None:
    try:
        document = json.loads(details)
    except ValueError:
        return None
    zone = document.get("Availability Zone") if isinstance(document, dict) else None
    return zone if isinstance(zone, str) else None
