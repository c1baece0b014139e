"""Trying again with growing pauses, within a time budget."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from runtime.aws_errors import AWS_ERRORS, Trouble, classify, error_code
from runtime.clock import Clock

T = TypeVar("T")

_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 15.0


class OutOfTime(Exception):
    """The time budget ended before an operation succeeded."""


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long to keep trying: until `deadline`, and at most `attempts` times when that is given."""

    clock: Clock
    deadline: datetime
    attempts: int | None = None
    jitter: Callable[[], float] = random.random

    def until(self, earlier: datetime) -> Patience:
        """Return the same patience with a deadline no later than `earlier`."""
        return Patience(
            clock=self.clock, deadline=min(self.deadline, earlier), attempts=self.attempts, jitter=self.jitter
        )

    def call(self, what: str, operation: Callable[[], T]) -> T:
        """Return what `operation` returns, trying again after throttling, conflicts and missing answers.

        Only for operations that may run twice. Raises the AWS error when it is a refusal or the attempts are
        used up, and `OutOfTime` when the next attempt would start too late.
        """
        attempt = 0
        self.check(what)
        while True:
            try:
                return operation()
            except AWS_ERRORS as error:
                attempt += 1
                if classify(error) is Trouble.REFUSED or attempt == self.attempts:
                    raise
                self.pause(f"{what} (last answer: {error_code(error)})", attempt - 1)

    def pause(self, what: str, previous_pauses: int) -> None:
        """Wait, longer each time and not in step with others; raise `OutOfTime` if the budget ends first."""
        longest = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2.0 ** min(previous_pauses, 10))
        self.wait(what, longest * (0.5 + self.jitter() / 2))

    def wait(self, what: str, seconds: float) -> None:
        """Wait exactly `seconds`; raise `OutOfTime` without waiting when the deadline comes first."""
        if self.clock.now() + timedelta(seconds=seconds) >= self.deadline:
            raise OutOfTime(f"ran out of time: {what}")
        self.clock.sleep(seconds)

    def check(self, what: str) -> None:
        """Raise `OutOfTime` when the deadline has passed."""
        if self.clock.now() >= self.deadline:
            raise OutOfTime(f"ran out of time: {what}")
