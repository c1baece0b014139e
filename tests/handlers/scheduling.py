"""Running the schedule function on a fake AWS, and doing to the group what others do to it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

from fleet_schedule.aws import Clients
from fleet_schedule.index import handle
from fleet_schedule.memory import UNTOUCHED, Memory, read_memory
from fleet_schedule.settings import Settings, read_settings
from runtime.structured_log import StructuredLog
from tests.handlers.driving import GROUP, MANUAL, SCHEDULED, Lines
from tests.handlers.fake_aws import Context, FakeAws
from tests.handlers.fake_aws.auto_scaling import FakeGroup

PARAMETER = "CFN-Schedule-1"
PAUSE = {**MANUAL, "action": "pause"}
RESUME = {**MANUAL, "action": "resume"}
WEEKDAYS = [0, 1, 2, 3, 4]

# 2026-11-30 is a Monday.
NIGHT = datetime(2026, 11, 30, 5, 0, tzinfo=timezone.utc)
DAY = datetime(2026, 11, 30, 12, 0, tzinfo=timezone.utc)
EVENING = datetime(2026, 11, 30, 20, 0, tzinfo=timezone.utc)
NEXT_DAY = datetime(2026, 12, 1, 12, 0, tzinfo=timezone.utc)


def hours(start: str = "08:00", end: str = "18:00", *, zone: str = "UTC", but: Sequence[str] = ()) -> dict[str, Any]:
    return {"days": WEEKDAYS, "from": start, "to": end, "zone": zone, "except": list(but)}


def wake_up(at: str, instances: int, ahead_minutes: int = 30) -> dict[str, Any]:
    return {"at": hours(at, at), "instances": instances, "ahead_seconds": 60 * ahead_minutes}


class DeployRefused(Exception):
    """CloudFormation rolls back."""


@dataclass
class Schedule:
    """The schedule function over a fake AWS. Without `office` it is always open."""

    aws: FakeAws
    office: list[dict[str, Any]] | None = field(default_factory=lambda: [hours()])
    wake_ups: list[dict[str, Any]] = field(default_factory=list)
    template: tuple[int, int] | None = None
    seconds: float = 50
    lines: Lines = field(default_factory=Lines)

    def __post_init__(self) -> None:
        if PARAMETER not in self.aws.ssm.parameters:
            self.aws.add_parameter(PARAMETER)

    @property
    def settings(self) -> Settings:
        document = {"wake_ups": self.wake_ups, **({} if self.office is None else {"office": self.office})}
        low, high = self.template or (None, None)
        template = {} if low is None else {"TEMPLATE_MIN_SIZE": str(low), "TEMPLATE_MAX_SIZE": str(high)}
        return read_settings(
            {
                "AUTO_SCALING_GROUP_NAME": GROUP,
                "STATE_PARAMETER": PARAMETER,
                "SCHEDULE": json.dumps(document),
                **template,
            }
        )

    def run(self, event: object = SCHEDULED, *, at: datetime | None = None) -> dict[str, Any]:
        if at is not None:
            self.move_to(at)
        clients = Clients(autoscaling=self.aws.client("autoscaling"), ssm=self.aws.client("ssm"))
        log = StructuredLog(self.aws.clock, self.lines.lines.append)
        context = Context(self.aws.clock, self.seconds)
        return dict(handle(event, context, self.settings, clients, self.aws.clock, log))

    def move_to(self, moment: datetime) -> None:
        self.aws.clock.advance((moment - self.aws.clock.now()).total_seconds())

    def tick(self, minutes: int = 1) -> dict[str, Any]:
        self.aws.clock.advance(60 * minutes)
        return self.run()

    def run_through(self, end: datetime, *, every: timedelta = timedelta(minutes=1)) -> None:
        while self.aws.clock.now() + every <= end:
            self.aws.clock.advance(every.total_seconds())
            self.run()

    @property
    def group(self) -> FakeGroup:
        return self.aws.autoscaling.groups[GROUP]

    @property
    def sizes(self) -> tuple[int, int, int]:
        return self.group.min_size, self.group.max_size, self.group.desired

    @property
    def memory(self) -> Memory:
        """What the function wrote last; a deploy may have written over it since."""
        values = [value for value, _ in self.aws.ssm.parameters[PARAMETER].versions if value != UNTOUCHED]
        return read_memory(values[-1]) if values else Memory()

    def deploy(self, low: int, high: int, *, writes_all: bool = False) -> None:
        """Change the sizes in the template, and lift or cut the desired capacity to fit, as CloudFormation does.

        It writes only what has changed, or everything (`writes_all`), as in a rollback. AWS refuses a minimum above the
        maximum.
        """
        before = self.template or (None, None)
        new_low = low if writes_all or before[0] != low else self.group.min_size
        new_high = high if writes_all or before[1] != high else self.group.max_size
        if new_low > new_high:
            raise DeployRefused
        self.template = (low, high)
        self.group.min_size, self.group.max_size = new_low, new_high
        self.group.desired = min(max(self.group.desired, new_low), new_high)
        self.group.settle()


def work(aws: FakeAws, *members: str, low: int = 0, high: int = 8) -> FakeGroup:
    """Create the group with protected members at work."""
    return aws.add_group(GROUP, members, min_size=low, max_size=high, desired=max(low, len(members)))
