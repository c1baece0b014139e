"""How much capacity a queue asks for: one rule, used to wake a fleet and to keep it from being released."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runtime.environment import SettingError, read_text, read_whole_number


@dataclass(frozen=True, kw_only=True)
class QueueDemand:
    """A queue, and how many of its messages one unit of capacity is meant to take."""

    queue_url: str
    messages_per_instance: int


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
