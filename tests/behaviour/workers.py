"""Programs that take messages from a queue minute by minute, for cases whose jobs are counted in minutes."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field

from constructs_lib.rehearsal.cloud.group import Instance
from constructs_lib.rehearsal.cloud.work_queue import WorkQueue
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.world import World


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


def workers_of(world: World) -> Workers:
    """Return the workers that a world was given."""
    assert isinstance(world.workers, Workers)
    return world.workers
