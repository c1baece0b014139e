"""Settings that are tried on a copy of a template: read and written as the construct writes them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from aws_cdk import Duration, Stack
from aws_cdk import aws_sqs as sqs
from aws_cdk.assertions import Template

from constructs_lib import (
    FleetSchedule,
    Hours,
    IdlePolicy,
    IdleSignal,
    PoolState,
    Purchase,
    QueueDemand,
    WarmPool,
)
from constructs_lib.errors import ArgumentError
from constructs_lib.rehearsal.tunable import Settings, Tunable
from constructs_lib.statements import KEY
from tests.support.stacks import fleet, stack

GROUP = "AWS::AutoScaling::AutoScalingGroup"
OFFICE = FleetSchedule(office_hours=[Hours(start="08:00", end="18:00", time_zone="Europe/Berlin")])
NEEDS_NO_USE = (IdleSignal.IDLE_SECONDS,)


def policy(minutes: int = 15, **more: Any) -> IdlePolicy:
    return IdlePolicy(window=Duration.minutes(minutes), **more)


def built(*, messages: int | None = 4, **arguments: Any) -> Stack:
    of = stack()
    if messages is not None:
        arguments["demand"] = QueueDemand(sqs.Queue(of, "Jobs"), messages_per_instance=messages)
    fleet(of, **{"idle": policy(), **arguments})
    return of


def synthesized(**arguments: Any) -> dict[str, Any]:
    return dict(Template.from_stack(built(**arguments)).to_json())


@cache
def usual() -> dict[str, Any]:
    return synthesized()


def tunable(template: Mapping[str, Any]) -> Tunable:
    (group,) = [name for name, each in template["Resources"].items() if each["Type"] == GROUP]
    return Tunable(template, group)


def test_settings_are_read_from_the_template() -> None:
    assert tunable(usual()).now == Settings(window_s=900, warm_up_s=600, messages_per_instance=4, minimum=0, pool=0)
    other = synthesized(messages=None, min_capacity=1, warm_pool=WarmPool(min_size=2), idle=policy(5))
    assert tunable(other).now == Settings(window_s=300, warm_up_s=300, messages_per_instance=None, minimum=1, pool=2)


@pytest.mark.parametrize(
    "arguments",
    [
        {"idle": policy(5)},
        {"idle": policy(13), "min_capacity": 2},
        {"messages": 8, "min_capacity": 1, "idle": policy(60)},
        {"idle": IdlePolicy.adaptive(cold_start=Duration.minutes(3), window=Duration.minutes(45))},
    ],
    ids=["5 min", "13 min and 2 at least", "all", "adaptive"],
)
def test_a_changed_copy_is_the_template_that_the_construct_would_write(arguments: dict[str, Any]) -> None:
    meant = synthesized(**arguments)

    assert tunable(usual()).written(tunable(meant).now) == _as_played(meant)


def _as_played(template: Mapping[str, Any]) -> Mapping[str, Any]:
    """The template without what it states to people, of which nothing is played."""
    played = copy.deepcopy(dict(template))
    for resource in played["Resources"].values():
        resource.get("Metadata", {}).pop(KEY, None)
    return played


def test_so_it_is_for_a_fleet_with_hours() -> None:
    before = synthesized(schedule=OFFICE)
    meant = synthesized(schedule=OFFICE, idle=policy(30), min_capacity=1)

    assert tunable(before).written(tunable(meant).now) == _as_played(meant)


def test_an_adaptive_policy_becomes_a_fixed_one() -> None:
    before = synthesized(idle=IdlePolicy.adaptive(cold_start=Duration.minutes(6), window=Duration.minutes(15)))

    assert tunable(before).now.cold_start_s == 360
    assert tunable(before).written(tunable(usual()).now) == usual()


def test_so_it_is_where_instances_count_their_idle_time() -> None:
    before = synthesized(idle=policy(15, signals=NEEDS_NO_USE))
    meant = synthesized(idle=policy(30, signals=NEEDS_NO_USE))

    assert tunable(before).written(tunable(meant).now) == meant


def test_so_it_is_with_a_warm_up_that_was_given() -> None:
    before = synthesized(idle=policy(30, warm_up=Duration.minutes(20)))
    meant = synthesized(idle=policy(60, warm_up=Duration.minutes(20)))

    assert tunable(before).written(tunable(meant).now) == meant


def _pool(template: Mapping[str, Any]) -> Any:
    (pool,) = [each for each in template["Resources"].values() if each["Type"] == "AWS::AutoScaling::WarmPool"]
    return pool["Properties"]


def _group(template: Mapping[str, Any]) -> Any:
    (group,) = [each for each in template["Resources"].values() if each["Type"] == GROUP]
    return group["Properties"]


def test_a_warm_pool_is_written_as_the_construct_writes_it() -> None:
    meant = synthesized(warm_pool=WarmPool(min_size=2))
    written = tunable(usual()).written(tunable(meant).now)

    assert _pool(written) == _pool(meant)
    assert _group(written) == _group(meant)


def test_the_size_of_a_warm_pool_is_changed_and_the_pool_taken_away() -> None:
    before = synthesized(warm_pool=WarmPool(min_size=2))

    assert tunable(before).written(replace(tunable(before).now, pool=4)) == synthesized(warm_pool=WarmPool(min_size=4))
    without = tunable(before).written(replace(tunable(before).now, pool=0))
    assert _group(without) == _group(usual())
    assert "AWS::AutoScaling::WarmPool" not in {each["Type"] for each in without["Resources"].values()}


def test_the_template_itself_stays() -> None:
    before = copy.deepcopy(usual())
    asked = Settings(window_s=300, warm_up_s=300, messages_per_instance=1, minimum=1, pool=1)

    assert tunable(usual()).written(asked) != before
    assert usual() == before
    assert tunable(usual()).written(tunable(usual()).now) == before


# --- what is tried is what the construct takes -----------------------------------------------------------------------


def _takes(**arguments: Any) -> bool:
    try:
        built(**arguments)
    except ArgumentError:
        return False
    return True


LIMITED = {
    "max_instance_life": Duration.minutes(60),
    "max_unknown": Duration.minutes(45),
}


@pytest.mark.parametrize("minutes", [4, 5, 15, 30, 31, 60, 1441])
def test_windows_are_those_that_the_policy_takes(minutes: int) -> None:
    """It has a shortest, a longest, and two other limits that it stays below."""
    found = tunable(synthesized(idle=policy(15, **LIMITED)))

    def takes() -> bool:
        try:
            policy(minutes, **LIMITED)
        except ArgumentError:
            return False
        return True

    assert found.accepts(found.with_window(found.now, minutes * 60)) == takes()


@pytest.mark.parametrize("minutes", [0, 1, 6, 7])
@pytest.mark.parametrize("window", [5, 15, 120, 121])
def test_an_adaptive_policy_is_tried_where_the_policy_takes_it(minutes: int, window: int) -> None:
    found = tunable(usual())
    asked = found.with_cold_start(found.with_window(found.now, window * 60), minutes * 60)

    def takes() -> bool:
        try:
            IdlePolicy.adaptive(cold_start=Duration.minutes(minutes), window=Duration.minutes(window))
        except ArgumentError:
            return False
        return True

    assert found.accepts(asked) == takes()


def test_with_an_adaptive_policy_the_warm_up_becomes_as_long_as_a_start_and_back() -> None:
    found = tunable(usual())
    adaptive = found.with_cold_start(found.now, 240)
    shorter = found.with_window(found.with_cold_start(found.now, 360), 300)

    assert (adaptive.warm_up_s, shorter.warm_up_s) == (300, 300)
    assert found.with_cold_start(found.now, 360).warm_up_s == 360
    assert found.accepts(adaptive)
    assert found.with_cold_start(adaptive, None) == found.now


def test_a_long_warm_up_stays_with_an_adaptive_policy() -> None:
    found = tunable(synthesized(idle=policy(30, warm_up=Duration.minutes(20))))

    assert found.with_cold_start(found.now, 240).warm_up_s == 1_200
    assert found.accepts(found.with_cold_start(found.now, 240))


def test_a_warm_up_that_was_given_is_not_shortened() -> None:
    """With one of more than ten minutes it is in an alarm on missing readings, too: there the window stays longer."""
    found = tunable(synthesized(idle=policy(30, warm_up=Duration.minutes(20))))

    assert not found.accepts(found.with_window(found.now, 15 * 60))
    assert found.accepts(found.with_window(found.now, 20 * 60))


@pytest.mark.parametrize("size", [8, 9])
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"purchase": Purchase.spot()},
        {"instance_types": ["g6.xlarge", "g5.xlarge"]},
    ],
    ids=["on-demand", "spot", "two types"],
)
def test_a_warm_pool_is_tried_where_the_fleet_takes_one(arguments: dict[str, Any], size: int) -> None:
    found = tunable(synthesized(**arguments))

    assert found.accepts(replace(found.now, pool=size)) == _takes(warm_pool=WarmPool(min_size=size), **arguments)


def test_a_pool_of_another_sort_keeps_its_size() -> None:
    found = tunable(synthesized(warm_pool=WarmPool(min_size=1, state=PoolState.RUNNING)))

    assert found.accepts(found.now)
    assert not found.accepts(replace(found.now, pool=2))


@pytest.mark.parametrize("minimum", [-1, 0, 8, 9])
def test_minima_are_those_that_the_fleet_takes(minimum: int) -> None:
    found = tunable(usual())

    assert found.accepts(replace(found.now, minimum=minimum)) == _takes(min_capacity=minimum)


def test_a_capacity_block_keeps_nothing() -> None:
    """It ends, and nothing may be wanted after that."""
    template = copy.deepcopy(usual())
    for each in template["Resources"].values():
        if each["Type"] == "AWS::EC2::LaunchTemplate":
            each["Properties"]["LaunchTemplateData"]["InstanceMarketOptions"] = {"MarketType": "capacity-block"}
    found = tunable(template)

    assert not found.accepts(replace(found.now, minimum=1))
    assert not found.accepts(replace(found.now, pool=1))


def test_without_a_release_function_there_is_nothing_to_tune() -> None:
    template = {"Resources": {"Group": {"Type": GROUP, "Properties": {"MinSize": "0", "MaxSize": "1"}}}}

    with pytest.raises(ArgumentError, match="without --tune"):
        Tunable(template, "Group")


# --- what is printed -------------------------------------------------------------------------------------------------


def _evaluated(changes: list[str]) -> dict[str, Any]:
    """What the construct would get if the words stood in its call."""

    def queue_demand(_: object, messages_per_instance: int) -> int:
        return messages_per_instance

    known = {"IdlePolicy": IdlePolicy, "Duration": Duration, "QueueDemand": queue_demand, "WarmPool": WarmPool}
    given: dict[str, Any] = eval(f"dict({', '.join(changes)})", known)
    if "demand" in given:
        given["messages"] = given.pop("demand")
    return given


@pytest.mark.parametrize(
    "settings",
    [
        Settings(window_s=300, warm_up_s=300, messages_per_instance=4, minimum=0, pool=0),
        Settings(window_s=1_800, warm_up_s=600, messages_per_instance=2, minimum=1, pool=0),
        Settings(window_s=900, warm_up_s=600, messages_per_instance=4, minimum=0, pool=3),
        Settings(window_s=3_600, warm_up_s=360, messages_per_instance=4, minimum=0, pool=0, cold_start_s=360),
        Settings(window_s=3_600, warm_up_s=600, messages_per_instance=4, minimum=0, pool=0, cold_start_s=360),
        Settings(window_s=900, warm_up_s=600, messages_per_instance=4, minimum=0, pool=0),
    ],
    ids=["window", "three", "pool", "adaptive", "adaptive and slow to warm up", "as it is"],
)
def test_what_is_printed_makes_the_template_that_was_rehearsed(settings: Settings) -> None:
    changes = settings.changes(tunable(usual()).now)
    meant = synthesized(**_evaluated(changes))

    assert tunable(meant).now == settings
    assert bool(changes) == (settings != tunable(usual()).now)


def test_a_warm_up_is_printed_where_it_is_not_the_usual_one() -> None:
    before = Settings(window_s=1_800, warm_up_s=1_200, messages_per_instance=None, minimum=0, pool=1)

    assert replace(before, window_s=3_600).changes(before) == [
        "idle=IdlePolicy(window=Duration.minutes(60), warm_up=Duration.minutes(20))"
    ]
    assert replace(before, pool=0).changes(before) == ["warm_pool=None"]
