"""The hours of a Capacity Block: when its fleet may have instances, and from when on they have to leave."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from aws_cdk import aws_autoscaling as autoscaling

from constructs_lib.errors import ArgumentError
from constructs_lib.validation import complaint, is_token

# "Capacity Blocks for ML", EC2 User Guide: instances are terminated from so much before the end on, unless the facts of
# their type say otherwise, as for UltraServers.
_USUALLY_TAKEN_BEFORE_END = 30
# A scheduled action may come two minutes late, and the release function looks every five minutes, for as long as a pass
# takes: twice that, so that a pass that fails is made up for.
_ROOM = timedelta(minutes=15)
# What is far beyond is a mistake, and could not be reckoned with.
_EARLIEST, _LATEST = (datetime(year, 1, 1, tzinfo=timezone.utc) for year in (2000, 3000))


@dataclass(frozen=True, kw_only=True)
class SizeChange:
    """Sizes that a group gets at a moment in UTC, with a minimum of 0. Without a desired capacity that stays."""

    id: str
    at: datetime
    max_size: int
    desired_capacity: int | None

    def build(self, group: autoscaling.AutoScalingGroup) -> autoscaling.CfnScheduledAction:
        """The group's scheduled action.

        Auto Scaling forgets one that has run, so that it could not be updated to another time: that is another one.
        """
        return autoscaling.CfnScheduledAction(
            group,
            f"{self.id}{self.at:%Y%m%dT%H%M}",
            auto_scaling_group_name=group.auto_scaling_group_name,
            start_time=stamp(self.at),
            min_size=0,
            max_size=self.max_size,
            desired_capacity=self.desired_capacity,
        )


@dataclass(frozen=True, kw_only=True)
class BlockHours:
    """From when to when a fleet uses its block.

    Attributes:
        begins: the block. None: it has begun.
        ends: the block.
        taken_before_end: from so many minutes before the end on EC2 ends the instances. None: the usual 30.
    """

    begins: datetime | None
    ends: datetime
    taken_before_end: int | None

    def leave_from(self, drain_seconds: int) -> datetime:
        """From when on nobody stays, so that who drains for so long is gone before EC2 takes the machines."""
        early = _USUALLY_TAKEN_BEFORE_END if self.taken_before_end is None else self.taken_before_end
        return self.ends - timedelta(minutes=early) - timedelta(seconds=drain_seconds) - _ROOM

    def check_room(self, where: str, drain_seconds: int) -> None:
        """Refuse a block that would be over for the fleet before it begins.

        Raises:
            ArgumentError: so it would be.
        """
        leaves = self.leave_from(drain_seconds)
        if self.begins is not None and self.begins >= leaves:
            rule = (
                f"be before {stamp(leaves)}, when the instances have to leave so that they drain before EC2 ends them"
            )
            cure = "shorten drain.deadline, or correct the times: they are those of the reservation"
            raise ArgumentError(complaint(where, "purchase.start", rule, stamp(self.begins), cure))

    def size_changes(
        self, *, max_capacity: int, instances_at_start: int | None, drain_seconds: int
    ) -> tuple[SizeChange, ...]:
        """Open the group at the beginning of the block, and close it ahead of the end.

        Without that Auto Scaling takes the end for failed health checks, and tries to replace the instances for ever.
        """
        end = SizeChange(id="BlockEnds", at=self.leave_from(drain_seconds), max_size=0, desired_capacity=0)
        if self.begins is None:
            return (end,)
        begin = SizeChange(id="BlockBegins", at=self.begins, max_size=max_capacity, desired_capacity=instances_at_start)
        return (begin, end)


def moment(where: str, parameter: str, value: object) -> datetime:
    """Return a moment in UTC: that of an aware ``datetime``, or of a text as ISO 8601 writes it, with its zone.

    Raises:
        ArgumentError: it is neither, names no zone, is not a whole minute, or is centuries away.
    """
    cure = "write the time that EC2 tells of the reservation, for example '2027-03-01T11:30:00Z'"
    if is_token(value):
        raise ArgumentError(
            complaint(where, parameter, "be known at synth, since times are computed from it", value, cure)
        )
    given = value
    if isinstance(given, str):
        try:
            # Python 3.10 reads no Z.
            given = datetime.fromisoformat(f"{given[:-1]}+00:00" if given.endswith(("Z", "z")) else given)
        except ValueError:
            given = None
    if not isinstance(given, datetime) or given.tzinfo is None or given.utcoffset() is None:
        rule = "be a datetime or a text in ISO 8601, with its time zone"
        raise ArgumentError(complaint(where, parameter, rule, value, cure))
    if given.second or given.microsecond:
        raise ArgumentError(complaint(where, parameter, "be a whole minute", given.isoformat(), cure))
    if not _EARLIEST <= given < _LATEST:
        raise ArgumentError(complaint(where, parameter, "be a time of this millennium", given.isoformat(), cure))
    return given.astimezone(timezone.utc)


def stamp(at: datetime) -> str:
    """A moment in UTC as Auto Scaling wants it."""
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
