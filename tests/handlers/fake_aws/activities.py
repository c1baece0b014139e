"""What an Auto Scaling group has done, as its activity history tells it."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

ACTIVITIES_PER_PAGE = 100

_ids = itertools.count(1)


@dataclass
class FakeActivity:
    description: str
    started_at: datetime
    ended_at: datetime | None = None
    status_code: str = "Successful"
    status_message: str | None = None
    cause: str = "an instance was started in response to a difference between desired and actual capacity"
    zone: str | None = "eu-west-1a"
    activity_id: str = field(default_factory=lambda: f"activity-{next(_ids)}")

    def document(self, group_name: str) -> dict[str, Any]:
        ended = {} if self.ended_at is None else {"EndTime": self.ended_at}
        message = {} if self.status_message is None else {"StatusMessage": self.status_message}
        details = {} if self.zone is None else {"Details": json.dumps({"Availability Zone": self.zone})}
        return {
            "ActivityId": self.activity_id,
            "AutoScalingGroupName": group_name,
            "Description": self.description,
            "Cause": self.cause,
            "StartTime": self.started_at,
            "StatusCode": self.status_code,
            **ended,
            **message,
            **details,
        }


def launching(instance_id: str, at: datetime, **more: Any) -> FakeActivity:
    """Return the activity of a launch that gave an instance."""
    return FakeActivity(f"Launching a new EC2 instance: {instance_id}", at, at, **more)


def failed_launch(message: str, at: datetime, *, status_code: str = "Failed", **more: Any) -> FakeActivity:
    """Return the activity of a launch that gave none."""
    description = f"Launching a new EC2 instance.  Status Reason: {message}"
    return FakeActivity(description, at, at, status_code=status_code, status_message=message, **more)


def preparing(instance_id: str, at: datetime, **more: Any) -> FakeActivity:
    """Return the activity of a launch into the warm pool, where the instance then waits."""
    return FakeActivity(f"Launching a new EC2 instance into warm pool: {instance_id}", at, at, **more)


def waking(instance_id: str, at: datetime, **more: Any) -> FakeActivity:
    """Return the activity of a start from the warm pool into service."""
    return FakeActivity(f"Launching a new EC2 instance from warm pool: {instance_id}", at, at, **more)


def terminating(instance_id: str, at: datetime, cause: str, **more: Any) -> FakeActivity:
    """Return the activity of a termination, under way unless told otherwise."""
    details = {"status_code": "InProgress", **more}
    return FakeActivity(f"Terminating EC2 instance: {instance_id}", at, cause=cause, **details)
