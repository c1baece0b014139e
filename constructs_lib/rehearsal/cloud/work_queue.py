"""An SQS queue with its metrics asleep and awake."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from constructs_lib.rehearsal.cloud.metrics import Key

WAKES_LATE = "how late the metrics come of a queue that slept"
CALLS_KEEP_AWAKE = "whether asking a queue for its attributes keeps its metrics awake"

_AWAKE_SECONDS = 6 * 3_600


@dataclass(frozen=True)
class QueueReading:
    """How that is read which AWS leaves open of a queue's metrics."""

    zeros: bool = True
    """Whether it is reported that no message is in flight or delayed; both is documented."""
    calls_keep_awake: bool = True
    """Whether somebody who asks for the attributes keeps the queue awake, as its workers and messages do."""
    wake_lag: int = 900
    """By how many seconds the metrics of a queue lag at first that wakes: a quarter of an hour at the most."""


class WorkQueue:
    """Messages that wait, in turn, and how many are in flight. What a message says is its sender's and taker's affair.

    Metrics come each minute while the queue is awake: it holds a message, or somebody called it within six hours.
    ``doubts`` names what AWS leaves open and could have mattered here to those who read them.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.reading = QueueReading()
        self.doubts: set[str] = set()
        self.visible: deque[int] = deque()
        self.in_flight = 0
        self.lag_until = 0
        """Nothing that is published now can be read before."""
        self._used = self._asked = -_AWAKE_SECONDS
        dimensions = frozenset({("QueueName", f"{name}.QueueName")})
        self.keys: tuple[Key, ...] = tuple(
            ("AWS/SQS", f"ApproximateNumberOfMessages{which}", dimensions)
            for which in ("Visible", "NotVisible", "Delayed")
        )

    def send(self, now: int, message: int, count: int = 1) -> None:
        """Put messages on the queue."""
        self.poll(now)
        self.visible.extend([message] * count)

    def attributes(self, now: int) -> dict[str, str]:
        """Return the approximate counts; asking keeps the queue awake."""
        self.touch(now)
        return {
            "ApproximateNumberOfMessages": str(len(self.visible)),
            "ApproximateNumberOfMessagesNotVisible": str(self.in_flight),
            "ApproximateNumberOfMessagesDelayed": "0",
        }

    def figures(self, now: int) -> dict[Key, float]:
        """Return a minute's metrics, none while the queue sleeps; what it holds keeps it awake."""
        if self.visible or self.in_flight:
            self._used = now
            if now < self.lag_until:
                self.doubts.add(WAKES_LATE)
        elif now - self._asked < _AWAKE_SECONDS <= now - self._used:
            self.doubts.add(CALLS_KEEP_AWAKE)
        if now >= self.awake_until:
            return {}
        counts = zip(self.keys, (len(self.visible), self.in_flight, 0), strict=True)
        return {key: count for key, count in counts if count or self.reading.zeros or key is self.keys[0]}

    def poll(self, now: int) -> None:
        """Note that a worker asked for messages, or somebody sent one, which keeps the queue awake."""
        self._wake(now)
        self._used = now

    def touch(self, now: int) -> None:
        """Note that somebody asked for the attributes."""
        if self.reading.calls_keep_awake:
            self._wake(now)
        self._asked = now

    @property
    def awake_until(self) -> int:
        """Return the second from which on no metrics come, unless somebody calls until then."""
        last = max(self._used, self._asked) if self.reading.calls_keep_awake else self._used
        return last + _AWAKE_SECONDS

    def _wake(self, now: int) -> None:
        if now >= self.awake_until:
            self.lag_until = now + self.reading.wake_lag
