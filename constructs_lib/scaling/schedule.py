"""When a fleet is open, when it is woken ahead of need, and when its machines are renewed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from aws_cdk import Duration

from constructs_lib.errors import ArgumentError
from constructs_lib.scaling.hours import Hours, Weekday, hours_of, leave_no_minute
from constructs_lib.validation import complaint, instance_of, integer, list_of

_WHERE = "FleetSchedule"
_MINUTE = 60
_DEFAULT_AHEAD = 15 * _MINUTE
_LONGEST_AHEAD = 12 * 60 * _MINUTE  # the handler takes no more, so that one wake-up is over before its next
_MOST_INSTANCES = 1_000_000  # more than any group has; the handler refuses more, too
# "Lambda quotas": all variables of a function together hold 4 KB; the names that only a deploy settles need the rest.
_LONGEST_SETTINGS = 3_000


@dataclass(frozen=True, kw_only=True)
class WakeUp:
    """At this time so many instances shall be there: the desired capacity is raised to their number ahead of it.

    It is raised once, at most to the maximum, and never lowered. An instance that stays idle is released as any other;
    ``IdlePolicy(keep_warm=...)`` keeps some for hours. A wake-up that was missed is made up for until ten minutes after
    its time. Two that say the same are equal.

    Attributes:
        at: ``HH:MM``, when the instances are needed.
        instances: how many, 1 to 1,000,000.
        time_zone: name of the IANA database, for example ``Europe/Berlin``, or ``UTC``.
        days: Default: every day.
        ahead: how long it takes until an instance can work: launch, boot, driver, data. Whole minutes up to 12 hours.
            Default: 15 minutes.
        exceptions: dates (``YYYY-MM-DD``) without it. Default: none.

    Raises:
        ArgumentError: a value is of the wrong type or out of range.
    """

    at: str
    instances: int
    time_zone: str
    days: Sequence[Weekday] | None = None
    # The CDK's Durations have no equality, so the seconds stand for it.
    ahead: Duration | None = field(default=None, compare=False)
    exceptions: Sequence[str] | None = None
    hours: Hours = field(init=False, repr=False, compare=False)
    """The rest of the day from then on: what the handlers take its beginning from."""
    ahead_seconds: int = field(init=False)

    def __post_init__(self) -> None:
        cure = "give the number of instances that are needed then"
        integer("WakeUp", "instances", self.instances, minimum=1, maximum=_MOST_INSTANCES, cure=cure)
        ahead = _DEFAULT_AHEAD if self.ahead is None else _ahead_seconds(self.ahead)
        hours = self._hours()
        settled = {"hours": hours, "days": hours.days, "exceptions": hours.exceptions, "ahead_seconds": ahead}
        for name, value in {**settled, "ahead": Duration.seconds(ahead)}.items():
            object.__setattr__(self, name, value)

    def settings(self) -> dict[str, object]:
        """What the handler is told."""
        return {"at": self.hours.settings(), "instances": self.instances, "ahead_seconds": self.ahead_seconds}

    def _hours(self) -> Hours:
        try:
            return Hours(
                start=self.at, end="24:00", time_zone=self.time_zone, days=self.days, exceptions=self.exceptions
            )
        except ArgumentError as error:
            # The values are the same, and so are their rules; the message must name the object that was written.
            named = str(error).replace("Hours: start ", "WakeUp: at ", 1).replace("Hours: ", "WakeUp: ", 1)
            raise ArgumentError(named) from None


@dataclass(frozen=True, kw_only=True)
class FleetSchedule:
    """When a fleet may have instances, and when it gets some ahead of need.

    Outside its office hours the fleet is paused: its sizes are saved and set to 0, so that nothing starts an instance,
    whatever waits. Nobody who is at work is ended: instances are protected, finish what they have, and are released
    when they are idle. In office hours the saved minimum and maximum come back. The desired capacity begins at the
    minimum, or at what a wake-up asks for, since what was desired before was for work that is done, and work that
    waits asks for itself.

    A person can pause the fleet at any time, and resume it, by invoking the schedule function with
    ``{"source": "accelerated-fleet.manual", "action": "pause"}``, or ``"resume"``. A pause by hand beats hours and
    wake-ups until it is resumed by hand. A fleet that is resumed outside its office hours stays open until the next
    ones begin, and is paused when those end.

    A deploy that changes the sizes of a paused fleet leaves it paused, and they hold from its next opening on. One that
    raises the minimum alone can be refused by Auto Scaling, which compares it with the maximum of 0: resume the fleet
    before it. One that takes the schedule away, also by a rollback, leaves a paused fleet at 0 for good, since nobody
    is left who knows its sizes: resume it before, or set them by hand after. Sizes of a paused fleet that are changed
    by hand become the saved ones, and it is paused again.

    Attributes:
        office_hours: when the fleet is open. Each begins and ends by the clocks of its own time zone, daylight-saving
            time included; dates in ``exceptions`` are days off. Default: always.
        maintenance: the only hours in which an instance past ``IdlePolicy(max_instance_life=...)`` is ended for its
            age. Default: any time.
        wake_ups: when instances are started ahead of need. One for a time outside the office hours, a day off among
            them, starts none; one for their beginning opens the fleet so much earlier. Default: never.

    Without any of these, the fleet can be paused and resumed by hand.

    Raises:
        ArgumentError: a value is of the wrong type, the office hours leave no time to pause, a wake-up is never within
            them, or it is more than the function can be told.
    """

    office_hours: Sequence[Hours] | None = None
    maintenance: Sequence[Hours] | None = None
    wake_ups: Sequence[WakeUp] | None = None

    def __post_init__(self) -> None:
        for name in ("office_hours", "maintenance"):
            given = getattr(self, name)
            object.__setattr__(self, name, None if given is None else hours_of(_WHERE, name, given))
        if self.wake_ups is not None:
            cure = "leave it out for none, or write [WakeUp(at='08:30', instances=2, time_zone='Europe/Berlin')]"
            object.__setattr__(self, "wake_ups", list_of(_WHERE, "wake_ups", self.wake_ups, WakeUp, cure=cure))
        if self.office_hours is not None:
            _check_office_hours(self.office_hours, self.wake_ups or ())
        length = len(self.settings().encode())
        if length > _LONGEST_SETTINGS:
            cure = "give fewer hours, wake-ups or exceptions, such as those of the coming year only"
            rule = f"be no longer than {_LONGEST_SETTINGS} bytes as JSON"
            raise ArgumentError(complaint(_WHERE, "office_hours and wake_ups", rule, length, cure))

    def settings(self) -> str:
        """What the handler is told, as JSON."""
        document = {
            **({} if self.office_hours is None else {"office": [each.settings() for each in self.office_hours]}),
            **({} if self.wake_ups is None else {"wake_ups": [each.settings() for each in self.wake_ups]}),
        }
        return json.dumps(document, separators=(",", ":"))


def _ahead_seconds(value: Duration) -> int:
    instance_of("WakeUp", "ahead", value, Duration, cure="write for example Duration.minutes(20)")
    rule = f"be whole minutes from 1 to {_LONGEST_AHEAD // _MINUTE}"
    if value.is_unresolved():
        raise ArgumentError(complaint("WakeUp", "ahead", rule, "a token", "give a literal Duration"))
    milliseconds = value.to_milliseconds()
    if milliseconds % (1000 * _MINUTE) or not _MINUTE * 1000 <= milliseconds <= _LONGEST_AHEAD * 1000:
        cure = "give the time from the launch of an instance until it can work"
        raise ArgumentError(complaint("WakeUp", "ahead", rule, value.to_human_string(), cure))
    return int(milliseconds // 1000)


def _check_office_hours(office_hours: Sequence[Hours], wake_ups: Sequence[WakeUp]) -> None:
    if leave_no_minute(office_hours):
        cure = "leave it out: without office hours the fleet is always open"
        raise ArgumentError(complaint(_WHERE, "office_hours", "leave time to pause", list(office_hours), cure))
    for wake_up in wake_ups:
        # Of clocks in different zones only the day itself can tell.
        same_clock = all(each.time_zone == wake_up.time_zone for each in office_hours)
        if same_clock and not any(_falls_into(wake_up.hours, each) for each in office_hours):
            cure = "lengthen the office hours: the fleet stays paused outside them"
            rule = "be for a time within the office hours"
            raise ArgumentError(complaint(_WHERE, "wake_ups", rule, wake_up.at, cure))


def _falls_into(point: Hours, span: Hours) -> bool:
    """Whether the beginning of one is within the other on some day of the week; both are by the same clock."""
    assert point.days is not None
    assert span.days is not None
    days = {day.value for day in span.days}
    over_midnight = span.end <= span.start
    for day in point.days:
        today, yesterday = day.value in days, (day.value - 1) % 7 in days
        if over_midnight:
            inside = (today and point.start >= span.start) or (yesterday and point.start < span.end)
        else:
            inside = today and span.start <= point.start < span.end
        if inside:
            return True
    return False
