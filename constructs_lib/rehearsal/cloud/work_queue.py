"""An SQS queue with its metrics asleep and awake, and workers that take messages from it."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from constructs_lib.rehearsal.cloud.group import Instance
from constructs_lib.rehearsal.cloud.metrics import Key
from constructs_lib.rehearsal.machine.load import Load

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


@dataclass
class Workers:
    """The program on each instance: takes up to ``at_once`` messages and holds each until its work is done.

    A message is the minutes that its job takes. It goes to any instance that polls for one, as SQS hands it out:
    ``seed`` decides which.
    """

    queue: WorkQueue
    at_once: int = 1
    accelerators: int = 1
    finished_at: list[int] = field(default_factory=list)
    lost: int = 0
    seed: int = 0
    _running: dict[str, list[int]] = field(default_factory=dict)
    _dice: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._dice = random.Random(self.seed)

    @property
    def finished(self) -> int:
        """How many jobs are done."""
        return len(self.finished_at)

    @property
    def due_at(self) -> list[int]:
        """When the jobs in hand will be done."""
        return [end for running in self._running.values() for end in running]

    def tick(self, now: int, in_service: Iterable[Instance], draining: Iterable[Instance] = ()) -> None:
        """Finish, lose and take messages. Who drains finishes what it has and takes nothing new."""
        taking = {instance.id for instance in in_service}
        present = taking | {instance.id for instance in draining}
        for identity in [i for i in self._running if i not in present]:
            abandoned = self._running.pop(identity)
            self.lost += len(abandoned)
            self.queue.visible.extend(max(1, (end - now) // 60) for end in abandoned)
        for identity in sorted(present):
            running = [end for end in self._running.get(identity, []) if end > now]
            self.finished_at += [end for end in self._running.get(identity, []) if end <= now]
            self._running[identity] = running
        while self.queue.visible:
            free = [each for each in sorted(taking) if len(self._running[each]) < self.at_once]
            if not free:
                break
            self._running[self._dice.choice(free)].append(now + 60 * self.queue.visible.popleft())
        self.queue.in_flight = sum(len(running) for running in self._running.values())

    def load(self, instance: Instance, _now: int) -> Load:
        """Return what the agent on an instance sees."""
        running = len(self._running.get(instance.id, []))
        uses = [95.0 if index < running else 0.0 for index in range(self.accelerators)]
        return Load(accelerators=uses, cpu=30.0 if running else 1.0, working=running > 0)
