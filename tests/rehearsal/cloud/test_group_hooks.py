"""Lifecycle hooks ("Amazon EC2 Auto Scaling lifecycle hooks"; SR-8): who waits, for how long, and what then."""

from __future__ import annotations

from itertools import pairwise

import pytest

from constructs_lib.errors import ArgumentError
from constructs_lib.rehearsal.cloud.group import Refused
from tests.rehearsal.cloud.groups import MINUTE, answers_after, hook, make_group, nobody_answers, run, started


def test_launch_hook_that_nobody_completes_is_abandoned_by_default_and_the_instance_replaced() -> None:
    group = make_group(boot=nobody_answers(), LifecycleHookSpecificationList=[hook("Ready", launching=True)])
    group.set_desired(1)

    run(group, 10)
    assert [each.state for each in group.members] == ["Pending:Wait"]
    run(group, 5)

    first, second, *_ = group.everyone
    assert (first.state, first.cause) == ("Terminated", "launch hook abandoned")
    assert second.launched - first.launched >= 10 * MINUTE
    assert group.in_service == []


def test_launches_that_are_abandoned_one_after_the_other_are_tried_less_often() -> None:
    hooks = [hook("Ready", launching=True, heartbeat=60)]
    group = make_group(boot=nobody_answers(), LifecycleHookSpecificationList=hooks)
    group.set_desired(1)

    run(group, 60)

    begun = [each.launched // MINUTE for each in group.everyone]
    assert begun[:3] == [1, 3, 5]
    pauses = [later - earlier for earlier, later in pairwise(begun)]
    assert max(pauses) <= 2 + 5


def test_abandoned_launch_is_in_the_history_with_what_aws_says_of_it() -> None:
    group = make_group(boot=nobody_answers(), LifecycleHookSpecificationList=[hook("Ready", launching=True)])
    group.set_desired(1)
    run(group, 12)

    (cancelled,) = [each for each in group.activities if each.status == "Cancelled"]
    assert cancelled.description.startswith("Launching a new EC2 instance: i-")
    assert "complete user's Lifecycle Action" in cancelled.message


def test_launch_hook_with_continue_lets_the_instance_serve_when_its_time_is_up() -> None:
    hooks = [hook("Ready", launching=True, heartbeat=300, default="CONTINUE")]
    group = make_group(boot=nobody_answers(), LifecycleHookSpecificationList=hooks)
    group.set_desired(1)

    run(group, 5)
    assert group.in_service == []
    run(group, 1)
    assert len(group.in_service) == 1


def test_machine_that_completes_its_launch_hook_serves_from_that_second_on() -> None:
    group = make_group(boot=answers_after(200), LifecycleHookSpecificationList=[hook("Ready", launching=True)])
    group.set_desired(1)
    run(group, 6)

    (instance,) = group.in_service
    assert instance.launched_at == 60
    assert instance.in_service_at == 260
    assert instance.in_service_since == 300


def test_function_can_complete_or_abandon_a_launch() -> None:
    group = make_group(
        boot=nobody_answers(),
        LifecycleHookSpecificationList=[hook("Ready", launching=True), hook("Second", launching=True)],
    )
    group.set_desired(2)
    run(group, 2)
    first, second = group.members

    group.complete(first.id, "Ready")
    group.complete(second.id, "Ready", "ABANDON")
    run(group, 1)
    assert (first.state, second.state) == ("Pending:Wait", "Terminated"), "the first waits for its other hook"
    group.complete(first.id, "Second")
    run(group, 1)
    assert first.state == "InService"
    with pytest.raises(Refused, match="No active Lifecycle Action"):
        group.complete(first.id, "Ready")


@pytest.mark.parametrize("default", ["CONTINUE", "ABANDON"])
def test_termination_hook_delays_and_cannot_keep(default: str) -> None:
    group = started(1, LifecycleHookSpecificationList=[hook("Drain", default=default)])
    (instance,) = group.in_service
    group.terminate(instance.id, decrement=True)

    run(group, 9)
    assert (instance.state, instance.runs) == ("Terminating:Wait", True)
    run(group, 2)
    assert instance.ended is not None
    assert instance.ended - (instance.drain_from or 0) == 11 * MINUTE


def test_termination_hooks_wait_side_by_side_and_abandon_skips_the_rest() -> None:
    hooks = [hook("Short", heartbeat=120, default="CONTINUE"), hook("Long", heartbeat=600, default="CONTINUE")]
    group = started(2, LifecycleHookSpecificationList=hooks)
    waiting, abandoned = group.in_service
    group.terminate(waiting.id, abandoned.id, decrement=True)
    assert waiting.waits_until == group.now + 600

    group.complete(abandoned.id, "Short", "ABANDON")
    assert abandoned.state == "Terminating"
    group.complete(waiting.id, "Short")
    assert waiting.state == "Terminating:Wait"
    group.complete(waiting.id, "Long")
    assert waiting.state == "Terminating"


def test_heartbeats_keep_a_hook_waiting_up_to_a_hundred_of_them() -> None:
    group = started(1, LifecycleHookSpecificationList=[hook("Drain", heartbeat=120)])
    (instance,) = group.in_service
    group.terminate(instance.id, decrement=True)
    begun = group.now

    while instance.state == "Terminating:Wait":
        group.record_heartbeat(instance.id, "Drain")
        run(group, 1)

    assert group.now - begun == 100 * 120


def test_deleting_a_hook_lets_a_termination_go_on_and_abandons_a_launch() -> None:
    hooks = [hook("Ready", launching=True, heartbeat=7200), hook("Drain", heartbeat=7200)]
    group = make_group(boot=nobody_answers(), LifecycleHookSpecificationList=hooks)
    group.set_desired(2)
    run(group, 2)
    served, held = group.members
    group.complete(served.id, "Ready")
    run(group, 1)
    group.terminate(served.id, decrement=True)

    group.delete_hook("Drain")
    group.delete_hook("Ready")

    assert (served.state, held.state) == ("Terminating", "Terminating")
    assert held.cause == "launch hook abandoned"


def test_pending_instance_has_no_termination_to_wait_for() -> None:
    group = make_group(LifecycleHookSpecificationList=[hook("Drain")])
    group.set_desired(1)
    run(group, 1)
    (instance,) = group.members

    group.terminate(instance.id, decrement=True)

    assert instance.state == "Terminating"


def test_group_that_would_keep_abandoned_instances_names_itself_unless_its_hooks_continue() -> None:
    policy = {"RetentionTriggers": {"TerminateHookAbandon": "retain"}}
    with pytest.raises(ArgumentError, match="InstanceLifecyclePolicy"):
        make_group(InstanceLifecyclePolicy=policy, LifecycleHookSpecificationList=[hook("Drain")])
    hooks = [hook("Drain", default="CONTINUE")]
    assert make_group(InstanceLifecyclePolicy=policy, LifecycleHookSpecificationList=hooks).members == []
