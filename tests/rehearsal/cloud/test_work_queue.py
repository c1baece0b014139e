"""When a queue publishes metrics ("Available CloudWatch metrics for Amazon SQS": while active, and six hours after)."""

from __future__ import annotations

from constructs_lib.rehearsal.cloud.work_queue import CALLS_KEEP_AWAKE, WAKES_LATE, QueueReading, WorkQueue
from constructs_lib.rehearsal.world import World
from tests.behaviour.workers import Workers
from tests.rehearsal.cloud.plain import plain_template

HOUR, MINUTE = 3_600, 60
_VISIBLE, _NOT_VISIBLE, _DELAYED = (
    ("AWS/SQS", f"ApproximateNumberOfMessages{which}", frozenset({("QueueName", "Jobs.QueueName")}))
    for which in ("Visible", "NotVisible", "Delayed")
)


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


# What AWS leaves open.


def test_zeros_of_what_is_in_flight_or_delayed_may_not_be_reported() -> None:
    """The page says both: while the queue is active, and if there are such messages."""
    usual, other = WorkQueue("Jobs"), WorkQueue("Jobs")
    other.reading = QueueReading(zeros=False)
    for queue in (usual, other):
        queue.send(0, 1)
    assert usual.figures(0) == {_VISIBLE: 1, _NOT_VISIBLE: 0, _DELAYED: 0}
    assert other.figures(0) == {_VISIBLE: 1}
    for queue in (usual, other):
        queue.visible.clear()
        queue.in_flight = 1
    assert usual.figures(60) == {_VISIBLE: 0, _NOT_VISIBLE: 1, _DELAYED: 0}
    assert other.figures(60) == {_VISIBLE: 0, _NOT_VISIBLE: 1}


def test_lag_of_a_queue_that_wakes_is_a_quarter_of_an_hour_at_most_and_in_doubt_while_work_waits() -> None:
    queue = WorkQueue("Jobs")
    queue.poll(0)
    queue.figures(0)
    assert queue.doubts == set(), "nobody waits"
    queue.send(14 * MINUTE, 1)
    queue.figures(14 * MINUTE)
    assert queue.doubts == {WAKES_LATE}

    other = WorkQueue("Jobs")
    other.reading = QueueReading(wake_lag=60)
    other.send(0, 1)
    assert other.lag_until == MINUTE


def test_asking_for_the_attributes_may_not_keep_it_awake() -> None:
    """That it does follows from what "active" means; nobody has measured it. Workers and messages do in any case."""
    usual, other = WorkQueue("Jobs"), WorkQueue("Jobs")
    other.reading = QueueReading(calls_keep_awake=False)
    for queue in (usual, other):
        queue.poll(0)
        queue.attributes(5 * HOUR)
        assert _publishes(queue, 5 * HOUR)
    assert usual.doubts == set()
    assert _publishes(usual, 7 * HOUR)
    assert not _publishes(other, 7 * HOUR)
    assert usual.doubts == {CALLS_KEEP_AWAKE}

    for queue in (usual, other):
        queue.send(8 * HOUR, 1)
    assert usual.lag_until == 15 * MINUTE, "it has been awake since its first call"
    assert other.lag_until == 8 * HOUR + 15 * MINUTE
