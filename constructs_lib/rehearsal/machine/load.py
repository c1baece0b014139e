"""What one instance is doing at a time, and what its tools say about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property


@dataclass(frozen=True)
class Load:
    """What one instance is doing at a time; equal ones have one hash, so that what follows from one is worked out once.

    ``accelerators`` holds the use of each: percent, or transfers since the reading before for kinds that only count
    them. None in it is one that does not answer; None in place of it is a tool that gives nothing, because it hangs,
    fails or is missing. ``mig`` are the numbers of those in slices: the tool answers, and does not tell their use.
    ``driver`` False means that the driver has not answered while the instance booted. ``busy_marks`` and ``logins`` are
    None while the node program cannot count them; ``session`` is one through Session Manager, a login too.
    ``node_program``, ``agent`` and ``drain_service`` False mean that they do not run; without the agent nothing at all
    is published, without the drain service nobody on the instance completes a termination hook.
    """

    accelerators: Sequence[float | None] | None = (0.0,)
    cpu: float = 1.0
    memory: float = 0.0
    working: bool | None = None
    session: bool = False
    logins: int | None = 0
    busy_marks: int | None = 0
    mig: tuple[int, ...] = ()
    driver: bool = True
    node_program: bool = True
    agent: bool = True
    drain_service: bool = True

    def __post_init__(self) -> None:
        if self.accelerators is not None and not isinstance(self.accelerators, tuple):
            object.__setattr__(self, "accelerators", tuple(self.accelerators))

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(tuple(getattr(self, each.name) for each in fields(self)))

    @property
    def occupied(self) -> bool:
        """Return whether a person is on the machine."""
        return self.session or bool(self.logins)

    @cached_property
    def busiest(self) -> float:
        """Return the use of the busiest accelerator that answers."""
        return max((use for use in self.accelerators or () if use is not None), default=0.0)

    @property
    def busy(self) -> bool:
        """Return whether ending the instance now would lose work or throw a person out."""
        if self.working is not None:
            return self.working or self.occupied
        return self.occupied or bool(self.busy_marks) or self.cpu >= 50 or self.busiest >= 5
