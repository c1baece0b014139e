"""Fleets of one stack that stand in for each other, each in a world of its own, on one clock and with one queue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from constructs_lib.rehearsal.cloud.clients import Answer
from constructs_lib.rehearsal.cloud.group import Instance
from constructs_lib.rehearsal.cloud.work_queue import WorkQueue
from constructs_lib.rehearsal.world import Conditions, World
from tests.behaviour.workers import Workers


@dataclass
class _SharingWorkers(Workers):
    """The workers of one step; the messages in flight are those of all."""

    everyone: list[Workers] = field(default_factory=list)

    def tick(self, now: int, in_service: Sequence[Instance], draining: Sequence[Instance] = ()) -> None:  # type: ignore[override]
        super().tick(now, in_service, draining)
        self.queue.in_flight = sum(len(each.due_at) for each in self.everyone)


class Ladder:
    """The steps of a ladder, first the one that has the queue. ``names`` are the ids of their constructs.

    The metrics of each step, and its description, can be seen by those after it.
    """

    def __init__(self, template: Mapping[str, Any], names: Sequence[str], conditions: Conditions | None = None) -> None:
        self._workers: list[Workers] = []
        queue = WorkQueue(_queue_url(template))
        self.steps = [World(template, fleet=name, workers=self._hire(queue), conditions=conditions) for name in names]
        for number, step in enumerate(self.steps):
            describe = _describing(self.steps[: number + 1])
            vars(step.account)["autoscaling_describe_auto_scaling_groups"] = describe

    @property
    def finished(self) -> int:
        """How many jobs are done, on whatever step."""
        return sum(each.finished for each in self._workers)

    def send(self, minutes: int, count: int) -> None:
        """Put jobs on the queue that all work on."""
        self.steps[0].queue.send(self.steps[0].now, minutes, count)

    def run(self, minutes: int) -> Ladder:
        """Let time pass for all."""
        for _ in range(minutes):
            for number, step in enumerate(self.steps):
                step.tick()
                for later in self.steps[number + 1 :]:
                    for metric, value in step.group.metrics().items():
                        later.store.put(
                            "AWS/AutoScaling", metric, {"AutoScalingGroupName": step.group.name}, step.now, value
                        )
        return self

    def _hire(self, queue: WorkQueue) -> Workers:
        hired = _SharingWorkers(queue, everyone=self._workers)
        self._workers.append(hired)
        return hired


def take_spot_away(step: World) -> None:
    """Interrupt every instance, and give no other."""
    step.group.capacity = 0
    for instance in step.group.in_service:
        step.group.lose(instance.id, "Spot interruption")


def _describing(steps: Sequence[World]) -> Callable[[Answer], Answer]:
    answers = {step.group.name: step.account.autoscaling_describe_auto_scaling_groups for step in steps}
    *_, own = answers.values()

    def describe(request: Answer) -> Answer:
        (name,) = request["AutoScalingGroupNames"]
        return answers.get(name, own)(request)

    return describe


def _queue_url(template: Mapping[str, Any]) -> str:
    """What a reference to the queue stands for in the simulator."""
    return next((id for id, each in template["Resources"].items() if each["Type"] == "AWS::SQS::Queue"), "Jobs")
