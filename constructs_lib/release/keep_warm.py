"""Instances that stay although they are idle."""

from __future__ import annotations

from dataclasses import dataclass

from constructs_lib.scaling import Hours
from constructs_lib.validation import instance_of, integer


@dataclass(frozen=True, kw_only=True)
class KeepWarm:
    """In these hours the capacity is not lowered below so many instances. It starts none.

    Attributes:
        instances: how many stay, at least 1.
        hours: when.

    Raises:
        ArgumentError: a value is of the wrong type or out of range.
    """

    instances: int
    hours: Hours

    def __post_init__(self) -> None:
        cure = "give the number of instances that stay although they are idle"
        integer("KeepWarm", "instances", self.instances, minimum=1, cure=cure)
        cure = "write Hours(start='08:00', end='18:00', time_zone='Europe/Berlin')"
        instance_of("KeepWarm", "hours", self.hours, Hours, cure=cure)

    def settings(self) -> dict[str, object]:
        """What the release handler is told."""
        return {"instances": self.instances, "hours": self.hours.settings()}
