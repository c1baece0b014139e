"""Every option of an ``IdlePolicy``: rendered by the constructs, read by the release handler's own settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import Any

import pytest
from aws_cdk import Duration
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk.assertions import Template

from constructs_lib import (
    AtMinimum,
    CustomSignal,
    FleetSchedule,
    Hours,
    IdlePolicy,
    IdleRelease,
    IdleSignal,
    KeepWarm,
    Weekday,
)
from constructs_lib.telemetry import names
from release_idle.policy import AtMinimum as HandlersAtMinimum
from release_idle.settings import Settings, read_settings
from release_idle.unknown_memory import UNKNOWN_TAG
from runtime.environment import SettingError
from tests.constructs.reading import plain, properties
from tests.constructs.scenarios import SCENARIOS, template
from tests.support.stacks import fleet_template, stack

OFFICE = Hours(
    start="08:00",
    end="18:00",
    time_zone="Europe/Berlin",
    days=[Weekday.MONDAY, Weekday.FRIDAY],
    exceptions=["2026-12-25"],
)
NIGHT = Hours(start="22:00", end="06:00", time_zone="America/New_York")
MONDAY_NOON, MONDAY_NIGHT = (datetime(2026, 11, 30, hour, tzinfo=timezone.utc) for hour in (12, 22))
CHRISTMAS = datetime(2026, 12, 25, 12, tzinfo=timezone.utc)  # a Friday
LIFE = Duration.days(7)


def environment(made: Mapping[str, Any], function: str = "FleetReleaseHandler") -> dict[str, str]:
    return dict(plain(properties(made, function, "AWS::Lambda::Function")["Environment"]["Variables"]))


def settings(policy: IdlePolicy, **arguments: Any) -> Settings:
    return read_settings(environment(fleet_template(idle=policy, **arguments)))


def signal(read: Settings, name: str) -> tuple[Any, ...]:
    (found,) = [each for each in read.policy.signals if each.name == name]
    return found.metric, found.statistic, found.idle_below, found.means


def at(instants: Callable[[Settings, datetime], object]) -> Callable[[Settings], object]:
    """What holds at noon and at night of a Monday, and at noon of a Friday that is Christmas, all in UTC."""
    return lambda read: [instants(read, now) for now in (MONDAY_NOON, MONDAY_NIGHT, CHRISTMAS)]


# Option, the policy's arguments, what the handler has of it, and its value.
OPTIONS: list[tuple[str, Mapping[str, Any], Callable[[Settings], object], object]] = [
    ("window", {"window": Duration.hours(2)}, lambda read: read.policy.window_seconds, 7200),
    ("warm_up", {"warm_up": Duration.minutes(0)}, lambda read: read.policy.warm_up_seconds, 0),
    (
        "threshold_percent",
        {"threshold_percent": 12.5},
        lambda read: signal(read, "accelerator"),
        ("nvidia_smi_utilization_gpu", "Maximum", 12.5, "work"),
    ),
    (
        "threshold_memory_mib",
        {"signals": [IdleSignal.MEMORY], "threshold_memory_mib": 900},
        lambda read: signal(read, "memory"),
        ("nvidia_smi_memory_used", "Maximum", 900.0, "work"),
    ),
    (
        "threshold_power_watts",
        {"signals": [IdleSignal.POWER], "threshold_power_watts": 40},
        lambda read: signal(read, "power"),
        ("nvidia_smi_power_draw", "Maximum", 40.0, "work"),
    ),
    (
        "threshold_network_mib_s",
        {"signals": [IdleSignal.ACCELERATOR, IdleSignal.NETWORK], "threshold_network_mib_s": 2},
        lambda read: signal(read, "network"),
        ("network_bytes_per_second", "Maximum", 2_097_152.0, "work"),
    ),
    (
        "signals",
        {"signals": [IdleSignal.IDLE_SECONDS, IdleSignal.SESSIONS], "window": Duration.minutes(20)},
        lambda read: (signal(read, "idle_seconds"), read.watch_sessions, len(read.policy.signals)),
        # The count of silent accelerators is always with them.
        (("accelerator_idle_seconds", "Minimum", 1200.0, "idle_time"), True, 2),
    ),
    (
        "cpu_threshold_percent",
        {"cpu_threshold_percent": 33},
        lambda read: signal(read, "cpu"),
        ("cpu_usage_active", "Maximum", 33.0, "work"),
    ),
    (
        "custom_signals",
        {
            "custom_signals": [
                CustomSignal(namespace="Jobs", metric_name="running", idle_below=1),
                CustomSignal(
                    namespace="Jobs",
                    metric_name="waiting",
                    idle_below=0.5,
                    statistic="Average",
                    dimensions={"Service": "training"},
                ),
            ]
        },
        lambda read: [
            (each.metric, each.statistic, each.idle_below, each.means, each.namespace, each.dimensions)
            for each in read.policy.signals
            if each.name.startswith("custom")
        ],
        [
            ("running", "Maximum", 1.0, "work", "Jobs", ()),
            ("waiting", "Average", 0.5, "work", "Jobs", (("Service", "training"),)),
        ],
    ),
    ("max_release_share", {"max_release_share": 0.25}, lambda read: read.policy.max_release_share, 0.25),
    ("max_releases_per_pass", {"max_releases_per_pass": 3}, lambda read: read.policy.max_releases, 3),
    (
        "min_instance_life",
        {"min_instance_life": Duration.minutes(50)},
        lambda read: read.policy.min_life_seconds,
        3000,
    ),
    (
        "quiet_hours",
        {"quiet_hours": [OFFICE]},
        at(lambda read, now: read.policy.is_quiet(now)),
        [True, False, False],
    ),
    (
        "keep_warm",
        {"keep_warm": [KeepWarm(instances=3, hours=OFFICE), KeepWarm(instances=1, hours=NIGHT)]},
        # It is night in New York until 11 and from 3 o'clock, UTC.
        lambda read: [
            read.policy.warm_capacity(now)
            for now in (MONDAY_NOON, MONDAY_NIGHT, datetime(2026, 11, 30, 4, tzinfo=timezone.utc))
        ],
        [3, 0, 1],
    ),
    # Twice four minutes, and a pass of five.
    ("cold_start", {"cold_start": Duration.minutes(4)}, lambda read: read.policy.start_worth_seconds, 780),
    ("max_instance_life", {"max_instance_life": LIFE}, lambda read: read.policy.max_life_seconds, 604_800),
    ("max_unknown", {"max_unknown": Duration.hours(4)}, lambda read: read.policy.max_unknown_seconds, 14_400),
    (
        "at_minimum",
        {"max_instance_life": LIFE, "at_minimum": AtMinimum.REPLACE},
        lambda read: read.policy.at_minimum,
        HandlersAtMinimum.REPLACE,
    ),
    (
        "end_retained_after",
        {"end_retained_after": Duration.hours(12)},
        lambda read: read.retained_after_seconds,
        43_200,
    ),
    (
        "max_failed_launches",
        {"max_failed_launches": 3},
        lambda read: (read.max_failed_launches, read.topic_arn),
        (3, "<FleetNotifications>"),
    ),
]


@pytest.mark.parametrize(("arguments", "read", "value"), [row[1:] for row in OPTIONS], ids=[row[0] for row in OPTIONS])
def test_the_handler_understands(
    arguments: Mapping[str, Any], read: Callable[[Settings], object], value: object
) -> None:
    assert read(settings(IdlePolicy(**arguments))) == value


def test_thresholds_in_transfers_are_understood_too() -> None:
    read = read_settings(environment(template("fpga")))
    assert signal(read, "accelerator") == ("accelerator_transfers", "Maximum", 1000.0, "work")


def test_maintenance_hours_of_the_schedule_are_told_to_the_release_handler() -> None:
    policy = IdlePolicy(max_instance_life=LIFE)
    limited = settings(policy, schedule=FleetSchedule(maintenance=[OFFICE])).policy
    assert [limited.ends_the_old(now) for now in (MONDAY_NOON, MONDAY_NIGHT, CHRISTMAS)] == [True, False, False]
    assert settings(policy, schedule=FleetSchedule()).policy.maintenance is None


def test_every_option_has_its_row() -> None:
    options = {field.name for field in dataclasses.fields(IdlePolicy) if field.init}
    assert {row[0] for row in OPTIONS} | {"threshold_transfers"} == options


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_scenarios_settings_are_understood(scenario: str) -> None:
    function = "ReleaseHandler" if scenario == "idle_release" else "FleetReleaseHandler"
    written = environment(template(scenario), function)
    read = read_settings(written)
    assert read.state_parameter == ("<ReleaseState>" if scenario == "idle_release" else "<FleetReleaseState>")
    assert read.drain_hook == (None if scenario == "idle_release" else "Drain")
    # Nothing is written that nobody reads.
    assert all(_is_read(name, written) for name in written)


def _is_read(name: str, written: Mapping[str, str]) -> bool:
    """Whether the settings come out otherwise, or not at all, once the variable's value makes no sense."""
    try:
        read_settings({**written, name: " "})
    except SettingError as error:
        return name in str(error)
    return False


def test_what_is_off_is_not_written() -> None:
    read = settings(IdlePolicy(max_failed_launches=0))
    assert (read.max_failed_launches, read.topic_arn, read.retained_after_seconds) == (None, None, None)
    policy = read.policy
    assert (policy.max_life_seconds, policy.max_unknown_seconds, policy.max_releases) == (None, None, None)
    assert policy.start_worth_seconds is None
    assert (policy.min_life_seconds, policy.quiet, policy.warm, policy.maintenance) == (0, (), (), None)
    assert policy.at_minimum is HandlersAtMinimum.LEAVE


def test_a_shorter_life_of_zero_is_none() -> None:
    assert settings(IdlePolicy(min_instance_life=Duration.minutes(0))).policy.min_life_seconds == 0


def test_case_42_a_fleet_stops_after_five_launches_and_a_foreign_group_when_told_to() -> None:
    assert settings(IdlePolicy()).max_failed_launches == 5
    assert read_settings(environment(template("idle_release"), "ReleaseHandler")).max_failed_launches is None
    made = stack()
    group = autoscaling.AutoScalingGroup.from_auto_scaling_group_name(made, "Group", "workers")
    IdleRelease(made, "Release", auto_scaling_group=group, idle=IdlePolicy(max_failed_launches=2))
    read = read_settings(environment(Template.from_stack(made).to_json(), "ReleaseHandler"))
    assert (read.max_failed_launches, read.topic_arn) == (2, "<ReleaseNotifications>")


def test_prices_are_told_where_there_is_a_dearest() -> None:
    assert settings(IdlePolicy()).policy.usd_per_hour == {}
    prices = settings(IdlePolicy(), instance_types=["g6.xlarge", "g5.xlarge"]).policy.usd_per_hour
    assert set(prices) == {"g6.xlarge", "g5.xlarge"}
    assert all(price > 0 for price in prices.values())


@pytest.mark.parametrize(
    ("types", "percent"),
    [(["g6.xlarge"], 10.0), (["g5.12xlarge"], 4.17), (["p5.48xlarge"], 1.04), (["g6.xlarge", "g6.48xlarge"], 1.04)],
    ids=str,
)
def test_case_68_the_cpu_floor_counts_cores(types: list[str], percent: float) -> None:
    """Two cores at work are 50 % of a small machine and 1 % of a large one."""
    assert signal(settings(IdlePolicy(), instance_types=types), "cpu")[2] == percent


def test_a_demand_is_told_beside_the_policy() -> None:
    read = settings(IdlePolicy(), queue={"messages_per_instance": 3})
    assert read.demand is not None
    assert read.demand.messages_per_instance == 3


def test_both_sides_know_the_same_tag() -> None:
    assert names.UNKNOWN_TAG == UNKNOWN_TAG
