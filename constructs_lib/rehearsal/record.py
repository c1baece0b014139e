"""What a run leaves: each job and each instance with its times, in seconds from the start of the trace. Plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

Market = Literal["on-demand", "spot"]


class Slice(NamedTuple):
    """A try of a job that was cut off: from when until when, on which instance, with how many accelerators."""

    begin_s: float
    end_s: float
    instance: int
    accelerators: float


@dataclass
class JobRecord:
    """One job. ``started_s``, ``ended_s`` and ``instance`` are of its last try; None while it has none."""

    arrival_s: float
    service_s: float
    accelerators: float
    started_s: float | None = None
    ended_s: float | None = None
    instance: int | None = None
    """Index into the record's instances."""
    cuts: int = 0
    """How often it was cut off; it then begins anew."""
    lost_s: float = 0.0
    """Seconds of work thrown away by that."""
    first_started_s: float | None = None
    """When its first try began: until then it waited."""

    @property
    def wait_s(self) -> float | None:
        """Return how long the job waited for its first start; None if it never started."""
        return None if self.first_started_s is None else self.first_started_s - self.arrival_s

    @property
    def is_finished(self) -> bool:
        """Return whether the work was done in the end, cut off before or not."""
        return self.ended_s is not None


@dataclass
class InstanceRecord:
    """One instance from launch to end. None for what it did not reach; ``ended_s`` None is still there at the end."""

    id: str
    instance_type: str
    market: Market
    launched_s: float
    in_service_s: float | None = None
    ready_s: float | None = None
    """From when on it takes work."""
    drain_from_s: float | None = None
    """When its termination began."""
    ended_s: float | None = None
    cause: str = ""
    """Why it ended, such as "released", "scale-in", "reclaimed" or "unhealthy"."""


@dataclass
class Record:
    """A run of one fleet: ``accelerators`` is how many each instance has, ``end_s`` when the run was over."""

    fleet: str
    accelerators: int
    minimum: int
    maximum: int
    jobs: list[JobRecord] = field(default_factory=list)
    instances: list[InstanceRecord] = field(default_factory=list)
    end_s: float = 0.0
    desired: list[tuple[float, int]] = field(default_factory=list)
    """When the desired capacity became what."""
    alarms: list[tuple[float, str, str]] = field(default_factory=list)
    """When which alarm (logical id) went to which state."""
    launch_failures: list[tuple[float, str]] = field(default_factory=list)
    """When a launch failed, and what the cloud said."""
    slices: list[Slice] = field(default_factory=list)
    """The tries that were cut off; the last try of a job is in the job itself."""
    notes: list[str] = field(default_factory=list)
    """What the rehearsal did not simulate, or chose."""
    conditions: dict[str, Any] = field(default_factory=dict)
    """The reading of AWS's unverified facts that this run used."""
    doubts: list[str] = field(default_factory=list)
    """Which of them could have come out differently in this run with another reading."""
