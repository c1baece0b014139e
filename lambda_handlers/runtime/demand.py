"""What asks for capacity: a queue, by one rule that wakes a fleet and keeps it, or what another group cannot get."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runtime.environment import SettingError, read_text, read_whole_number

_MINUTE = 60
_SHORTEST_AFTER_SECONDS = 5 * _MINUTE
_LONGEST_AFTER_SECONDS = 6 * 3600


@dataclass(frozen=True, kw_only=True)
class QueueDemand:
    """A queue, and how many of its messages one unit of capacity is meant to take."""

    queue_url: str
    messages_per_instance: int


@dataclass(frozen=True, kw_only=True)
class ShortfallDemand:
    """Another group, and for how long it must have had less than it wants until this one stands in for it."""

    of_group: str
    after_seconds: int


@dataclass(frozen=True, kw_only=True)
class Backlog:
    """Messages that wait (`visible`) and that a worker holds (`in_flight`). Both need capacity."""

    visible: int
    in_flight: int

    @property
    def messages(self) -> int:
        """How many messages there are, waiting or held."""
        return self.visible + self.in_flight

    def needed_capacity(self, messages_per_instance: int) -> int:
        """Return the smallest capacity with a place for every message; 0 only when there is none."""
        return -(-self.messages // messages_per_instance)


def read_queue_demand(environment: Mapping[str, str]) -> QueueDemand:
    """Return the queue settings, both of which must be set."""
    return QueueDemand(
        queue_url=read_text(environment, "QUEUE_URL"),
        messages_per_instance=read_whole_number(environment, "MESSAGES_PER_INSTANCE", at_least=1, at_most=1_000_000),
    )


def read_optional_queue_demand(environment: Mapping[str, str]) -> QueueDemand | None:
    """Return the queue settings, or None when neither variable is set; one without the other is an error."""
    if "QUEUE_URL" not in environment:
        if "MESSAGES_PER_INSTANCE" in environment:
            raise SettingError("QUEUE_URL", "be set when MESSAGES_PER_INSTANCE is", None)
        return None
    return read_queue_demand(environment)


def read_demand(environment: Mapping[str, str]) -> QueueDemand | ShortfallDemand:
    """Return what asks for capacity: exactly one of the two must be set, and wholly."""
    of_group = read_stands_in_for(environment)
    if of_group is None:
        if "SHORTFALL_AFTER_SECONDS" in environment:
            raise SettingError("SHORTFALL_OF_GROUP", "be set when SHORTFALL_AFTER_SECONDS is", None)
        return read_queue_demand(environment)
    after = read_whole_number(
        environment, "SHORTFALL_AFTER_SECONDS", at_least=_SHORTEST_AFTER_SECONDS, at_most=_LONGEST_AFTER_SECONDS
    )
    if after % _MINUTE:
        # The group's own metrics have one point a minute.
        raise SettingError("SHORTFALL_AFTER_SECONDS", "be a multiple of 60", environment["SHORTFALL_AFTER_SECONDS"])
    return ShortfallDemand(of_group=of_group, after_seconds=after)


def read_stands_in_for(environment: Mapping[str, str]) -> str | None:
    """Return the name of the group that this one stands in for, or None when it has another demand or none."""
    if "SHORTFALL_OF_GROUP" not in environment:
        return None
    of_group = read_text(environment, "SHORTFALL_OF_GROUP")
    for other in ("QUEUE_URL", "MESSAGES_PER_INSTANCE"):
        if other in environment:
            raise SettingError(other, "be left out when SHORTFALL_OF_GROUP is set", environment[other])
    if of_group == environment.get("AUTO_SCALING_GROUP_NAME"):
        raise SettingError("SHORTFALL_OF_GROUP", "name another group than AUTO_SCALING_GROUP_NAME", of_group)
    return of_group
