"""Launches into a warm pool and out of it (field case 42): each may come to nothing, again and again, on its own.

An instance that never gets ready in its pool is ended when its launch hook runs out, and the group tries the next: a
machine of the fleet is billed day and night, although the fleet rests at zero.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from release_idle.launch_trouble import FailureCause, classify_failure
from tests.handlers.driving import GROUP, Release
from tests.handlers.fake_aws import FakeAws
from tests.handlers.fake_aws.activities import FakeActivity, preparing, terminating, waking
from tests.handlers.fake_aws.groups import FakeGroup
from tests.handlers.test_launches import IDLE, STOPPED, at, judged
from tests.handlers.test_release_launches import TOPIC, WATCH

# "Troubleshoot lifecycle hooks", Auto Scaling: what an instance that says nothing is ended for.
NEVER_READY = (
    "Instance failed to complete user's Lifecycle Action: Lifecycle Action with token 0f1b4d7e was abandoned: "
    "Heartbeat Timeout"
)


def unprepared(instance_id: str, since: datetime) -> FakeActivity:
    """An instance that never got ready in its pool."""
    return preparing(instance_id, since, status_code="Cancelled", status_message=NEVER_READY)


def resting(aws: FakeAws, *history: FakeActivity) -> FakeGroup:
    """A fleet at zero whose pool has this history."""
    group = aws.add_group(GROUP, (), desired=0)
    group.has_warm_pool = True
    group.activities += history
    return group


def ago(aws: FakeAws, minutes: float) -> datetime:
    return aws.clock.now() - timedelta(minutes=minutes)


def test_case_42_a_pool_whose_instances_never_get_ready_is_stopped_although_the_fleet_rests(aws: FakeAws) -> None:
    group = resting(aws, *(unprepared(f"i-{n}", ago(aws, 100 - 30 * n)) for n in range(3)))
    release = Release(aws, WATCH)
    assert release.run()["launches_stopped"] is True
    assert group.suspended == ["Launch"]
    (told,) = aws.sns.published
    assert told["TopicArn"] == TOPIC
    assert "Heartbeat Timeout" in told["Message"]
    assert "What to do (never ready)" in told["Message"]
    aws.clock.advance(1800)
    assert Release(aws, WATCH).run()["launches_stopped"] is True
    assert len(aws.sns.published) == 1


def test_case_42_also_while_members_work(aws: FakeAws) -> None:
    group = aws.add_group(GROUP, ("i-9",))
    group.has_warm_pool = True
    group.activities += [unprepared(f"i-{n}", ago(aws, 100 - 30 * n)) for n in range(3)]
    aws.publish("i-9", 95)
    assert Release(aws, WATCH).run()["launches_stopped"] is True
    assert aws.terminated() == []


def test_a_pool_that_fills_is_left_alone(aws: FakeAws) -> None:
    group = resting(
        aws,
        *(unprepared(f"i-{n}", ago(aws, 200 - 30 * n)) for n in range(3)),
        preparing("i-3", ago(aws, 60)),
        unprepared("i-4", ago(aws, 30)),
    )
    assert Release(aws, WATCH).run()["launches_stopped"] is False
    assert (group.suspended, aws.sns.published) == ([], [])
    assert "PutParameter" not in aws.operations()


def test_a_preparation_under_way_says_nothing(aws: FakeAws) -> None:
    under_way = [preparing(f"i-{n}", ago(aws, 3 - n), status_code="InProgress") for n in range(3)]
    resting(aws, *under_way)
    assert Release(aws, WATCH).run()["launches_stopped"] is False


def test_case_42_an_instance_prepared_long_ago_is_no_good_boot_of_a_group_in_which_none_serves() -> None:
    """Each waits for a while in the pool, and is taken out by a health check minutes after it enters service."""
    history = [
        each
        for n, (since, woken, ended) in enumerate([(130, 90, 80), (89, 60, 50), (59, 30, 20)])
        for each in (
            preparing(f"i-{n}", at(since)),
            waking(f"i-{n}", at(woken)),
            terminating(f"i-{n}", at(ended), STOPPED),
        )
    ]
    assert judged(*sorted(history, key=lambda each: each.started_at), with_pool=True) == 3


def test_case_42_a_pool_that_fills_does_not_hide_instances_that_never_report() -> None:
    history = [
        each
        for n, woken in enumerate([90, 60, 30])
        for each in (waking(f"i-{n}", at(woken)), preparing(f"i-next{n}", at(woken - 5)))
    ]
    never = ["i-0", "i-1", "i-2"]
    assert judged(*history, never_known=never, with_pool=True) == 3
    assert judged(*history, never_known=never, most=4, with_pool=True) == 0


def test_an_instance_that_never_reported_counts_once_although_it_was_launched_twice() -> None:
    """Once into the pool and once from it."""
    history = [preparing("i-0", at(300)), preparing("i-1", at(200)), waking("i-0", at(90)), waking("i-1", at(60))]
    assert judged(*history, never_known=["i-0", "i-1"], with_pool=True) == 0
    assert judged(*history, never_known=["i-0", "i-1"], most=2, with_pool=True) == 2


def test_service_does_not_hide_a_pool_whose_preparation_fails() -> None:
    """What is in service was launched another way, and works: the pool tries on and on all the same."""
    history = [unprepared("i-1", at(100)), waking("i-9", at(80)), unprepared("i-2", at(70)), unprepared("i-3", at(40))]
    assert judged(*history, verdicts={"i-9": IDLE}, with_pool=True) == 3


@pytest.mark.parametrize("end", [5.0, 400.0])
def test_one_that_leaves_its_pool_unused_says_nothing_of_service(end: float) -> None:
    history = [preparing("i-1", at(500)), terminating("i-1", at(end), "a pool that is to be smaller")]
    assert judged(*history, most=1, with_pool=True) == 0


def test_what_a_hook_that_ran_out_says_is_read_as_never_ready() -> None:
    assert classify_failure(NEVER_READY) is FailureCause.NEVER_READY


def test_case_42_a_health_check_that_takes_out_what_has_just_been_prepared_is_a_failure() -> None:
    """Its preparation ends with the machine, as when user data shuts it down: the pool tries the next at once."""
    history = [
        each
        for n, since in enumerate([90, 60, 30])
        for each in (preparing(f"i-{n}", at(since)), terminating(f"i-{n}", at(since - 10), STOPPED))
    ]
    assert judged(*history, with_pool=True) == 3
    late = [
        each
        for n, since in enumerate([90, 60, 30])
        for each in (preparing(f"i-{n}", at(since)), terminating(f"i-{n}", at(since - 28), STOPPED))
    ]
    assert judged(*late, with_pool=True) == 0


def test_case_42_the_try_under_way_does_not_end_the_row() -> None:
    history = [unprepared(f"i-{n}", at(100 - 30 * n)) for n in range(3)]
    assert judged(*history, preparing("i-3", at(2), status_code="InProgress"), with_pool=True) == 3


def test_a_group_without_a_pool_is_not_judged_by_that_of_earlier_days() -> None:
    assert judged(*(unprepared(f"i-{n}", at(100 - 30 * n)) for n in range(3))) == 0
