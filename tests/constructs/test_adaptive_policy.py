"""``IdlePolicy.adaptive``: what it stands for, and that a fleet without it does not change."""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import Duration
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk.assertions import Template

from constructs_lib import IdlePolicy, IdleRelease
from constructs_lib.errors import ArgumentError
from tests.constructs.reading import plain, properties
from tests.support.stacks import fleet_template, stack

ONLY_ADAPTIVE = "START_WORTH_SECONDS"


def environment(made: dict[str, Any], function: str = "FleetReleaseHandler") -> dict[str, str]:
    return dict(plain(properties(made, function, "AWS::Lambda::Function")["Environment"]["Variables"]))


def test_by_default_a_start_takes_five_minutes_and_nobody_stays_idle_for_more_than_an_hour() -> None:
    policy = IdlePolicy.adaptive()
    assert (policy.cold_start_seconds, policy.window_seconds, policy.start_worth_seconds) == (300, 3600, 900)
    assert policy == IdlePolicy(cold_start=Duration.minutes(5), window=Duration.hours(1))
    assert hash(policy) == hash(IdlePolicy.adaptive(cold_start=None, window=None))


def test_the_warm_up_is_as_long_as_a_start_unless_it_is_given_or_the_window_is_shorter() -> None:
    start = Duration.minutes(6)
    assert IdlePolicy.adaptive().warm_up_seconds == 300
    assert IdlePolicy.adaptive(cold_start=start).warm_up_seconds == 360
    assert IdlePolicy.adaptive(cold_start=start, warm_up=Duration.minutes(10)).warm_up_seconds == 600
    assert IdlePolicy.adaptive(cold_start=start, warm_up=Duration.minutes(0)).warm_up_seconds == 0
    assert IdlePolicy.adaptive(cold_start=start, window=Duration.minutes(5)).warm_up_seconds == 300
    assert IdlePolicy(cold_start=start).warm_up_seconds == 360


@pytest.mark.parametrize("minutes", [1, 4, 5])
def test_the_warm_up_leaves_five_minutes_for_the_first_readings(minutes: int) -> None:
    assert IdlePolicy.adaptive(cold_start=Duration.minutes(minutes)).warm_up_seconds == 300


def test_slower_starts_are_for_a_fixed_window() -> None:
    with pytest.raises(ArgumentError, match="cold_start must be whole minutes from 1 to 6") as refused:
        IdlePolicy.adaptive(cold_start=Duration.minutes(7))
    assert "give a fixed window for slower starts" in str(refused.value)
    assert "with slow starts it cost more" in str(refused.value)


def test_policies_that_differ_in_it_are_not_equal() -> None:
    window = Duration.minutes(30)
    different = [
        IdlePolicy(window=window),
        IdlePolicy.adaptive(window=window),
        IdlePolicy.adaptive(cold_start=Duration.minutes(6), window=window),
    ]
    assert len(set(different)) == 3
    assert "cold_start_seconds=360" in repr(different[2])


def test_a_fixed_window_is_the_usual() -> None:
    policy = IdlePolicy()
    assert (policy.cold_start_seconds, policy.start_worth_seconds, policy.window_seconds) == (None, None, 900)


def test_all_other_attributes_go_with_it() -> None:
    policy = IdlePolicy.adaptive(max_unknown=Duration.hours(2), threshold_percent=3, max_releases_per_pass=4)
    assert (policy.max_unknown_seconds, policy.threshold_percent, policy.max_releases_per_pass) == (7200, 3.0, 4)
    with pytest.raises(ArgumentError, match="max_unknown must be at least window and 15 minutes"):
        IdlePolicy.adaptive(max_unknown=Duration.hours(1))
    with pytest.raises(TypeError, match="cold_strat"):
        IdlePolicy.adaptive(cold_strat=Duration.minutes(5))


def test_its_own_setting_is_added_to_a_fleet_and_its_alarm_asks_soon() -> None:
    fixed = fleet_template(idle=IdlePolicy(window=Duration.hours(1), warm_up=Duration.minutes(5)))
    adaptive = fleet_template(idle=IdlePolicy.adaptive())
    soon = fleet_template(idle=IdlePolicy(window=Duration.minutes(5)))
    assert ONLY_ADAPTIVE not in str(fixed)
    assert environment(adaptive) == {**environment(fixed), ONLY_ADAPTIVE: "900"}
    (alarm,) = [name for name in fixed["Resources"] if "IdleAlarm" in name and "Permission" not in name]
    assert adaptive["Resources"][alarm] == soon["Resources"][alarm] != fixed["Resources"][alarm]
    for made in (adaptive, fixed):
        del made["Resources"][alarm]
        for each in made["Resources"].values():
            each.get("Properties", {}).get("Environment", {}).get("Variables", {}).pop(ONLY_ADAPTIVE, None)
    assert adaptive == fixed


def test_a_group_that_is_not_ours_may_have_it_too() -> None:
    made = stack()
    group = autoscaling.AutoScalingGroup.from_auto_scaling_group_name(made, "Group", "workers")
    IdleRelease(made, "Release", auto_scaling_group=group, idle=IdlePolicy.adaptive(cold_start=Duration.minutes(2)))
    written = environment(dict(Template.from_stack(made).to_json()), "ReleaseHandler")
    assert (written[ONLY_ADAPTIVE], written["WINDOW_SECONDS"]) == ("540", "3600")
