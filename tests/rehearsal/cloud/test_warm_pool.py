"""Warm pools ("Decrease latency for applications with long boot times using warm pools")."""

from __future__ import annotations

from typing import Any

import pytest

from constructs_lib.errors import ArgumentError
from constructs_lib.rehearsal.cloud.group import Boot, Group, Instance
from tests.rehearsal.cloud.groups import hook, make_group, run


def _pooled(
    *, maximum: int = 4, boot: Any = 600, hooks: list[dict[str, Any]] | None = None, **properties: Any
) -> Group:
    return make_group(
        maximum=maximum, boot=boot, WarmPool=properties, LifecycleHookSpecificationList=hooks if hooks else []
    )


def _states(group: Group) -> list[str]:
    assert group.pool is not None
    return sorted(each.state for each in group.pool.instances)


@pytest.mark.parametrize(
    ("minimum", "prepared", "desired", "size"),
    [(0, None, 0, 4), (0, None, 3, 1), (1, None, 4, 1), (0, 2, 0, 2), (0, 2, 1, 1), (1, 2, 2, 1), (1, 2, 4, 1)],
)
def test_pool_holds_what_is_prepared_beyond_the_desired_capacity_and_its_minimum(
    minimum: int, prepared: int | None, desired: int, size: int
) -> None:
    given: dict[str, Any] = {} if prepared is None else {"MaxGroupPreparedCapacity": prepared}
    group = _pooled(MinSize=minimum, **given)
    group.set_desired(desired)
    run(group, 60)
    assert _states(group) == ["Warmed:Stopped"] * size
    assert len(group.in_service) == desired


def test_instance_boots_once_is_switched_off_and_bills_no_more() -> None:
    group = _pooled(MinSize=1, MaxGroupPreparedCapacity=1)
    run(group, 5)
    assert _states(group) == ["Warmed:Pending"]
    run(group, 8)

    assert group.pool is not None
    (stay,) = group.pool.stays
    assert stay.state == "Warmed:Stopped"
    assert stay.paid_until == 60 + 600 + 60
    assert group.everyone == group.members == [], "what is in the pool is no member"


def test_prepared_instance_is_taken_first_and_starts_quickly() -> None:
    group = _pooled(MinSize=1, MaxGroupPreparedCapacity=1)
    run(group, 20)
    group.set_desired(2)
    run(group, 1)

    warm, cold = group.members
    assert (warm.is_warm, cold.is_warm) == (True, False)
    run(group, 1)
    assert group.in_service == [warm]
    assert warm.in_service_at == 21 * 60 + 60
    run(group, 9)
    assert group.in_service == [warm, cold]


def test_pool_is_filled_again_after_one_was_taken() -> None:
    group = _pooled(MinSize=1)
    run(group, 20)
    group.set_desired(1)
    run(group, 20)
    assert group.pool is not None
    assert len(group.pool.stays) == 4
    assert _states(group) == ["Warmed:Stopped"] * 3


def test_prepared_instance_without_capacity_is_a_failed_launch_and_lost() -> None:
    group = _pooled(MinSize=1, MaxGroupPreparedCapacity=1)
    run(group, 20)
    group.capacity = 0
    group.set_desired(1)
    run(group, 1)
    assert [each.status for each in group.activities[-1:]] == ["Failed"]
    assert _states(group) == []


def test_released_instance_is_not_put_back() -> None:
    group = _pooled(MinSize=1, MaxGroupPreparedCapacity=1)
    run(group, 20)
    group.set_desired(1)
    run(group, 20)
    (member,) = group.in_service
    group.terminate(member.id, decrement=True)
    run(group, 3)
    assert member.state == "Terminated"


def test_preparation_waits_for_its_hook_and_again_when_it_is_taken() -> None:
    def boot(instance: Instance) -> Boot:
        return Boot(0.0, 30.0, answered_s=90.0 if instance.is_warm else 900.0)

    group = _pooled(
        MinSize=1, MaxGroupPreparedCapacity=1, boot=boot, hooks=[hook("Ready", launching=True, heartbeat=1800)]
    )
    run(group, 15)
    assert _states(group) == ["Warmed:Pending:Wait"]
    run(group, 3)
    assert _states(group) == ["Warmed:Stopped"]
    group.set_desired(1)
    run(group, 2)
    assert [each.state for each in group.members] == ["Pending:Wait"]
    run(group, 1)
    (member,) = group.in_service
    assert member.in_service_at == member.launched_at + 90


def test_preparation_that_nobody_completes_is_ended_and_tried_again() -> None:
    group = _pooled(
        MinSize=1,
        MaxGroupPreparedCapacity=1,
        boot=lambda _instance: Boot(0.0, 30.0),
        hooks=[hook("Ready", launching=True, heartbeat=300)],
    )
    run(group, 20)
    assert group.pool is not None
    assert [each.state for each in group.pool.stays][:2] == ["Warmed:Terminated", "Warmed:Terminated"]
    cancelled = [each for each in group.activities if each.status == "Cancelled"]
    assert all(each.description.startswith("Launching a new EC2 instance into warm pool: i-") for each in cancelled)
    assert len(cancelled) >= 2


def test_running_pool_bills_until_its_instances_leave_it() -> None:
    group = _pooled(MinSize=1, MaxGroupPreparedCapacity=1, PoolState="Running")
    run(group, 30)
    assert _states(group) == ["Warmed:Running"]
    assert group.pool is not None
    (stay,) = group.pool.stays
    assert stay.paid_until is None
    group.set_desired(1)
    run(group, 1)
    assert stay.paid_until == 31 * 60


def test_pool_is_told_of_in_the_metrics_of_the_group() -> None:
    group = make_group(maximum=2, WarmPool={"MinSize": 1}, MetricsCollection=[{"Granularity": "1Minute"}], boot=0)
    run(group, 5)
    group.set_desired(1)
    run(group, 5)
    values = group.metrics()
    assert (values["WarmPoolMinSize"], values["WarmPoolWarmedCapacity"], values["WarmPoolDesiredCapacity"]) == (1, 1, 1)
    assert values["GroupAndWarmPoolTotalCapacity"] == 2
    assert values["GroupTotalInstances"] == 1


@pytest.mark.parametrize("properties", [{"PoolState": "Hibernated"}, {"InstanceReusePolicy": {"ReuseOnScaleIn": True}}])
def test_what_is_not_simulated_of_a_pool_names_itself(properties: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=next(iter(properties))):
        _pooled(**properties)
