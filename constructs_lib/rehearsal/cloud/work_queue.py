"""An SQS queue with its metrics asleep and awake."""

from __future__ import annotations

from collections import deque

from constructs_lib.rehearsal.cloud.metrics import Key

_AWAKE_SECONDS = 6 * 3_600


class WorkQueue:
    """Messages that wait, in turn, and how many are in flight. What a message says is its sender's and taker's affair.

    Metrics come each minute while the queue is awake: it holds a message, or a call touched it within six hours.
    When a sleeping queue wakes, its metrics lag by ``wake_lag`` at first.
    """

    def __init__(self, name: str, *, wake_lag: int = 900) -> None:
        self.name = name
        self.visible: deque[int] = deque()
        self.in_flight = 0
        self.lag_until = 0
        """Nothing that is published now can be read before."""
        self._wake_lag = wake_lag
        self._touched: int | None = None
        dimensions = frozenset({("QueueName", f"{name}.QueueName")})
        self._keys: tuple[Key, ...] = tuple(
            ("AWS/SQS", f"ApproximateNumberOfMessages{which}", dimensions) for which in ("Visible", "NotVisible")
        )

    def send(self, now: int, message: int, count: int = 1) -> None:
        """Put messages on the queue."""
        self.touch(now)
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
            self._touched = now
        elif self._asleep(now):
            return {}
        return dict(zip(self._keys, (len(self.visible), self.in_flight), strict=True))

    def touch(self, now: int) -> None:
        """Note that somebody called the queue, which keeps it awake."""
        if self._asleep(now):
            self.lag_until = now + self._wake_lag
        self._touched = now

    def _asleep(self, now: int) -> bool:
        return self._touched is None or now - self._touched >= _AWAKE_SECONDS
