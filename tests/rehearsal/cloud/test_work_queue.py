"""When a queue publishes metrics ("Available CloudWatch metrics for Amazon SQS": while active, and six hours after)."""

from __future__ import annotations

from constructs_lib.rehearsal.cloud.work_queue import WorkQueue
from constructs_lib.rehearsal.world import World
from tests.behaviour.workers import Workers
from tests.rehearsal.cloud.plain import plain_template

HOUR, MINUTE = 3_600, 60
_VISIBLE = ("AWS/SQS", "ApproximateNumberOfMessagesVisible", frozenset({("QueueName", "Jobs.QueueName")}))


def _publishes(queue: WorkQueue, now: int) -> bool:
    return _VISIBLE in queue.figures(now)


def test_queue_that_nobody_has_touched_sleeps() -> None:
    assert not _publishes(WorkQueue("Jobs"), 0)


def test_call_keeps_it_awake_for_six_hours() -> None:
    queue = WorkQueue("Jobs")
    queue.attributes(0)
    assert _publishes(queue, 6 * HOUR - MINUTE)
    assert not _publishes(queue, 6 * HOUR)


def test_queue_that_holds_a_message_is_awake_and_six_hours_longer() -> None:
    queue = WorkQueue("Jobs")
    queue.send(0, 1)
    for now in range(0, 9 * HOUR, MINUTE):
        assert _publishes(queue, now)
    queue.visible.clear()
    assert _publishes(queue, 14 * HOUR)
    assert not _publishes(queue, 15 * HOUR)


def test_metrics_of_a_queue_that_wakes_lag_by_a_quarter_of_an_hour_and_of_one_awake_do_not() -> None:
    queue = WorkQueue("Jobs")
    queue.send(HOUR, 1)
    assert queue.lag_until == HOUR + 15 * MINUTE
    queue.visible.clear()

    queue.send(6 * HOUR, 1)
    assert queue.lag_until == HOUR + 15 * MINUTE, "it was awake"
    queue.visible.clear()

    queue.send(20 * HOUR, 1)
    assert queue.lag_until == 20 * HOUR + 15 * MINUTE


def test_instances_that_poll_keep_it_awake() -> None:
    """Nobody but they ask for messages, and there are none."""
    published = {}
    for size in ("0", "1"):
        world = World(plain_template(MinSize=size), workers=Workers(WorkQueue("Jobs")))
        world.queue.attributes(world.now)
        world.run(8 * 60)
        at = world.now - 10 * MINUTE
        published[size] = at in world.store.series(_VISIBLE, "Maximum", MINUTE, [at], world.now)
    assert published == {"0": False, "1": True}
