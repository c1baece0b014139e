"""Warm pools: prepared, stopped and started whole, refused where AWS refuses them, and gone with the stack."""

from __future__ import annotations

import math
from typing import Any

import pytest
from aws_cdk import Duration, Size
from aws_cdk import aws_ec2 as ec2

from constructs_lib import (
    AcceleratedType,
    ArgumentError,
    FleetSchedule,
    FleetStorage,
    Hours,
    IdlePolicy,
    KeepWarm,
    PoolState,
    Purchase,
    WakeUp,
    WarmPool,
)
from constructs_lib.catalog import known_types
from tests.constructs.purchasing import findings, group_of, launch_data, told
from tests.constructs.reading import needs, only, resources, role_statements, text, user_data
from tests.support.stacks import fleet, fleet_template, stack

POOL = "AWS::AutoScaling::WarmPool"
CLEANUP = "Custom::AcceleratedFleetCleanup"
FACTS: dict[str, Any] = {
    "kind": "nvidia",
    "model": "R10",
    "accelerators": 1,
    "accelerator_memory_mib": 24_576,
    "architecture": "x86_64",
}


def pool_of(pool: WarmPool, **arguments: Any) -> dict[str, Any]:
    made = fleet_template(warm_pool=pool, **arguments)
    assert findings(made) == []
    found = dict(only(made, POOL)["Properties"])
    assert text(found.pop("AutoScalingGroupName")) == "<FleetAutoScalingGroupASG>"
    return found


def test_a_fleet_without_one_has_none() -> None:
    made = fleet_template()
    assert resources(made, POOL) == {}
    assert "accelerated-warm" not in user_data(made)


@pytest.mark.parametrize(
    ("pool", "least", "most", "state"),
    [
        (WarmPool(min_size=2), 2, 2, "Stopped"),
        (WarmPool(max_prepared=3), 0, 3, "Stopped"),
        (WarmPool(min_size=1, max_prepared=8, state=PoolState.STOPPED), 1, 8, "Stopped"),
    ],
)
def test_it_has_the_size_that_was_asked_for_and_not_the_whole_maximum(
    pool: WarmPool, least: int, most: int, state: str
) -> None:
    """AWS's own default prepares the group's maximum: with eight, eight accelerated instances boot at the deploy."""
    assert pool_of(pool) == {
        "MinSize": least,
        "MaxGroupPreparedCapacity": most,
        "PoolState": state,
        "InstanceReusePolicy": {"ReuseOnScaleIn": False},
    }


def test_several_types_on_demand_are_allowed() -> None:
    assert pool_of(WarmPool(min_size=1), instance_types=["g6.xlarge", "g5.xlarge"])["MinSize"] == 1


def test_case_11_an_instance_is_not_stopped_in_the_middle_of_its_first_boot() -> None:
    group = group_of(fleet_template(warm_pool=WarmPool(min_size=1, prepare_within=Duration.minutes(45))))
    drain, ready = group["LifecycleHookSpecificationList"]
    assert drain["LifecycleHookName"] == "Drain"
    assert ready == {
        "LifecycleHookName": "Ready",
        "LifecycleTransition": "autoscaling:EC2_INSTANCE_LAUNCHING",
        "HeartbeatTimeout": 2700,
        # One that is half prepared would stay so: user data runs once.
        "DefaultResult": "ABANDON",
    }


def test_an_instance_may_complete_both_hooks_of_its_own_group_alone() -> None:
    statement = next(
        each
        for each in role_statements(fleet_template(warm_pool=WarmPool(min_size=1)), "FleetRole")
        if each["Action"] == "autoscaling:CompleteLifecycleAction"
    )
    assert list(statement["Condition"]["StringEquals"]) == ["autoscaling:ResourceTag/accelerated-fleet:id"]


def workload() -> ec2.UserData:
    script = ec2.UserData.for_linux()
    script.add_commands("systemctl start inference")
    return script


def test_the_workload_starts_in_service_and_at_each_boot_and_never_in_the_pool() -> None:
    script = user_data(fleet_template(warm_pool=WarmPool(min_size=1), user_data=workload())).splitlines()
    assert "systemctl start inference" in script
    assert "/etc/accelerated-fleet/workload" not in script
    assert 'exec "$CONFIG/workload"' in script
    assert "READY_HOOK='Ready'" in script
    begins = script.index(
        'until target=$(fleet_metadata autoscaling/target-lifecycle-state) && [ "$target" = InService ]; do'
    )
    assert begins < script.index('exec "$CONFIG/workload"')
    assert {"After=cloud-final.service", "Type=oneshot", "RemainAfterExit=yes"} <= set(script)


def test_without_a_pool_the_boot_script_starts_it_as_ever() -> None:
    assert user_data(fleet_template(user_data=workload())).splitlines()[-1] == "/etc/accelerated-fleet/workload"


def test_what_is_added_later_prepares_the_instance_before_the_service_begins() -> None:
    test_stack = stack()
    made = fleet(test_stack, warm_pool=WarmPool(min_size=1))
    made.add_user_data("docker pull model")
    from aws_cdk.assertions import Template

    script = user_data(dict(Template.from_stack(test_stack).to_json())).splitlines()
    # The service is started here, and waits until the whole script is over.
    assert script.index("docker pull model") > script.index(
        "systemctl daemon-reload; systemctl enable accelerated-warm.service; "
        "systemctl start --no-block accelerated-warm.service"
    )


def test_case_04_the_clean_up_ends_the_pool_before_cloudformation_waits_for_it() -> None:
    made = fleet_template(warm_pool=WarmPool(min_size=1))
    (pool,) = resources(made, POOL)
    (cleanup,) = resources(made, CLEANUP)
    (group,) = resources(made, "AWS::AutoScaling::AutoScalingGroup")
    # What needs another is deleted before it.
    assert pool in needs(made, cleanup)
    assert group in needs(made, pool)
    assert cleanup not in needs(made, pool)
    actions = [each for statement in role_statements(made, "FleetCleanup") for each in _list(statement["Action"])]
    assert "autoscaling:DeleteWarmPool" in actions


def _list(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value]


HIBERNATES = AcceleratedType(name="g9.xlarge", memory_mib=64 * 1024, hibernation=True, **FACTS)
ROOM = FleetStorage(root_volume_size=Size.gibibytes(165))


def test_hibernation_where_the_type_can_and_the_volume_has_room() -> None:
    pool = WarmPool(min_size=1, state=PoolState.HIBERNATED)
    made = fleet_template(instance_types=HIBERNATES, warm_pool=pool, storage=ROOM)
    assert only(made, POOL)["Properties"]["PoolState"] == "Hibernated"
    assert launch_data(made)["HibernationOptions"] == {"Configured": True}
    (device,) = launch_data(made)["BlockDeviceMappings"]
    assert device["Ebs"]["Encrypted"] is True
    assert "HibernationOptions" not in launch_data(fleet_template(warm_pool=WarmPool(min_size=1)))


def typed(**facts: Any) -> AcceleratedType:
    return AcceleratedType(**{"name": "g9.xlarge", "memory_mib": 65_536, "hibernation": True, **FACTS, **facts})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"purchase": Purchase.spot()}, "warm_pool must be left out where instances are not bought On-Demand"),
        ({"purchase": Purchase.mixed(on_demand_base=1)}, "warm_pool must be left out where"),
        ({"purchase": Purchase.reservation()}, "warm_pool must be left out where"),
        ({"warm_pool": WarmPool(min_size=9)}, r"warm_pool.max_prepared must not exceed max_capacity \(8\), got 9"),
        (
            {"warm_pool": WarmPool(min_size=1, state=PoolState.RUNNING)},
            "warm_pool.state must not be RUNNING without a demand",
        ),
        (
            {"instance_types": "g6.xlarge"},
            "warm_pool.state must not be HIBERNATED for g6.xlarge, which are not known to",
        ),
        ({"instance_types": typed(hibernation=None)}, "not be HIBERNATED for g9.xlarge"),
        ({"instance_types": typed(bare_metal=True)}, "not be HIBERNATED for g9.xlarge"),
        ({"instance_types": typed(memory_mib=150 * 1024)}, "not known to have less than 150 GiB of memory"),
        ({"instance_types": typed(memory_mib=None)}, "not known to have less than 150 GiB of memory"),
        ({"instance_types": HIBERNATES}, "storage.root_volume_size must be above 64 GiB"),
        (
            {"instance_types": HIBERNATES, "storage": FleetStorage(root_volume_size=Size.gibibytes(64))},
            "storage.root_volume_size must be above 64 GiB, .* got '64 GiB'",
        ),
    ],
)
def test_refused_where_it_would_not_work(arguments: dict[str, Any], message: str) -> None:
    hibernates = {"warm_pool": WarmPool(min_size=1, state=PoolState.HIBERNATED)}
    given = {"warm_pool": WarmPool(min_size=1)} if "purchase" in arguments else hibernates
    with pytest.raises(ArgumentError, match=message):
        fleet_template(**{**given, **arguments})


@pytest.mark.parametrize(
    ("pool", "shown"),
    [
        (WarmPool(min_size=1), "WarmPool(min_size=1)"),
        (WarmPool(max_prepared=3), "WarmPool(max_prepared=3)"),
        (
            WarmPool(min_size=1, max_prepared=2, state=PoolState.RUNNING, prepare_within=Duration.minutes(45)),
            "WarmPool(min_size=1, max_prepared=2, state=PoolState.RUNNING, prepare_within=Duration.minutes(45))",
        ),
    ],
)
def test_a_message_shows_it_as_it_was_written(pool: WarmPool, shown: str) -> None:
    assert repr(pool) == shown
    with pytest.raises(ArgumentError) as refused:
        fleet_template(warm_pool=pool, purchase=Purchase.spot())
    assert f"got {shown}; " in str(refused.value)


def test_no_type_of_the_catalogue_can_hibernate() -> None:
    """What ``PoolState.HIBERNATED`` and docs/machines.md say."""
    assert [each.name for each in known_types().values() if each.status != "retired" and each.hibernation] == []


def test_one_that_runs_bills_as_in_service_and_says_so() -> None:
    from tests.support.stacks import queue_demand

    test_stack = stack()
    fleet(test_stack, demand=queue_demand(test_stack), warm_pool=WarmPool(min_size=1, state=PoolState.RUNNING))
    from aws_cdk.assertions import Annotations, Match

    found = Annotations.from_stack(test_stack).find_warning("*", Match.string_like_regexp(".*fleet:WarmPoolBills.*"))
    assert len(found) == 1
    assert told(warm_pool=WarmPool(min_size=1)) == []


@pytest.mark.parametrize(
    ("rate", "minutes", "covered", "expected"),
    [
        # The textbook's table of the Poisson distribution: mean 1 -> P(N<=2)=0.920, P(N<=3)=0.981.
        (60, 1, 0.95, 3),
        (60, 1, 0.90, 2),
        # Mean 5 -> P(N<=8)=0.932, P(N<=9)=0.968, P(N<=12)=0.998.
        (60, 5, 0.95, 9),
        (60, 5, 0.99, 11),
        # One start in two days: one instance is enough, and none is not a pool.
        (0.02, 8, 0.95, 1),
    ],
)
def test_the_size_covers_the_starts_during_a_cold_start(
    rate: float, minutes: int, covered: float, expected: int
) -> None:
    assert WarmPool.size_for(starts_per_hour=rate, cold_start=Duration.minutes(minutes), covered=covered) == expected


def test_the_size_for_many_starts_is_the_mean_and_some_deviations() -> None:
    found = WarmPool.size_for(starts_per_hour=3_600, cold_start=Duration.hours(1))
    assert 3_600 + 1.6 * math.sqrt(3_600) < found < 3_600 + 1.7 * math.sqrt(3_600)


def test_two_that_say_the_same_are_equal() -> None:
    assert WarmPool(min_size=2) == WarmPool(min_size=2, max_prepared=2, prepare_within=Duration.minutes(30))
    assert WarmPool(min_size=2) != WarmPool(min_size=2, prepare_within=Duration.minutes(31))


def test_instances_that_wait_running_are_not_woken_ahead_of_their_work_unless_they_are_kept() -> None:
    """They have been idle for hours: with nothing on the queue yet, the next pass would release them."""
    wake = FleetSchedule(wake_ups=[WakeUp(at="08:00", instances=1, time_zone="UTC")])
    morning = KeepWarm(instances=1, hours=Hours(start="08:00", end="10:00", time_zone="UTC"))
    running: dict[str, Any] = {
        "warm_pool": WarmPool(min_size=1, state=PoolState.RUNNING),
        "queue": {"messages_per_instance": 1},
    }
    with pytest.raises(ArgumentError, match=r"warm_pool.state must not be RUNNING where FleetSchedule\(wake_ups=...\)"):
        fleet_template(**running, schedule=wake)
    fleet_template(**running, schedule=wake, idle=IdlePolicy(keep_warm=[morning]))
    fleet_template(**running, schedule=FleetSchedule())
    fleet_template(**{**running, "warm_pool": WarmPool(min_size=1)}, schedule=wake)
