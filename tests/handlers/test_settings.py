"""Settings: each one missing or nonsensical is an error that names it, before any call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from release_idle import index as release_index
from release_idle.measurement import Signal
from release_idle.policy import AtMinimum, KeepWarm
from release_idle.settings import read_settings as read_release_settings
from runtime.demand import QueueDemand, ShortfallDemand
from runtime.environment import SettingError
from runtime.hours import read_hours
from tests.handlers.driving import (
    GPU_SIGNAL,
    GROUP,
    QUEUE_ENVIRONMENT,
    QUEUE_URL,
    RELEASE_ENVIRONMENT,
    STATE_PARAMETER,
)
from tests.handlers.fake_aws import Context, ManualClock
from wake_on_demand import index as wake_index
from wake_on_demand.settings import read_settings as read_wake_settings

WAKE_ENVIRONMENT = {"AUTO_SCALING_GROUP_NAME": GROUP, **QUEUE_ENVIRONMENT}
SHORTFALL_ENVIRONMENT = {"SHORTFALL_OF_GROUP": "spot", "SHORTFALL_AFTER_SECONDS": "900"}
STAND_IN_ENVIRONMENT = {"AUTO_SCALING_GROUP_NAME": GROUP, **SHORTFALL_ENVIRONMENT}


def without(environment: Mapping[str, str], name: str) -> dict[str, str]:
    return {key: value for key, value in environment.items() if key != name}


def signals(**changes: Any) -> str:
    return json.dumps([{**GPU_SIGNAL, **changes}])


def test_release_settings_mean_what_they_say() -> None:
    settings = read_release_settings({**RELEASE_ENVIRONMENT, **QUEUE_ENVIRONMENT, "MAX_RELEASE_SHARE": "0.5"})
    assert settings.auto_scaling_group == GROUP
    assert settings.demand == QueueDemand(queue_url=QUEUE_URL, messages_per_instance=1)
    assert settings.watch_sessions is False
    policy = settings.policy
    assert (policy.window_seconds, policy.warm_up_seconds, policy.period_seconds) == (1800, 600, 60)
    assert policy.signals == (
        Signal(name="gpu", metric="nvidia_smi_utilization_gpu", statistic="Maximum", idle_below=5, means="work"),
    )
    assert (policy.max_release_share, policy.protection_holds) == (0.5, False)


def test_a_fleet_without_a_queue_has_no_demand() -> None:
    assert read_release_settings(RELEASE_ENVIRONMENT).demand is None


@pytest.mark.parametrize("name", RELEASE_ENVIRONMENT)
def test_a_missing_release_setting_is_named(name: str) -> None:
    with pytest.raises(SettingError, match=rf"^environment variable {name} must .*, got nothing"):
        read_release_settings(without(RELEASE_ENVIRONMENT, name))


@pytest.mark.parametrize("name", WAKE_ENVIRONMENT)
def test_a_missing_wake_setting_is_named(name: str) -> None:
    with pytest.raises(SettingError, match=rf"^environment variable {name} must .*, got nothing"):
        read_wake_settings(without(WAKE_ENVIRONMENT, name))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AUTO_SCALING_GROUP_NAME", " "),
        ("METRIC_NAMESPACE", ""),
        ("METRIC_PERIOD_SECONDS", "30"),
        ("METRIC_PERIOD_SECONDS", "90"),
        ("METRIC_PERIOD_SECONDS", "1m"),
        ("WINDOW_SECONDS", "0"),
        ("WINDOW_SECONDS", "59"),
        ("WINDOW_SECONDS", "604801"),
        ("WINDOW_SECONDS", "1800.5"),
        ("WARM_UP_SECONDS", "-1"),
        ("WARM_UP_SECONDS", "nan"),
        ("MAX_RELEASE_SHARE", "0"),
        ("MAX_RELEASE_SHARE", "1.01"),
        ("MAX_RELEASE_SHARE", "nan"),
        ("MAX_RELEASE_SHARE", "inf"),
        ("MAX_RELEASE_SHARE", "half"),
        ("WATCH_SESSIONS", "True"),
        ("WATCH_SESSIONS", "1"),
        ("SCALE_IN_PROTECTION", "hold "),
        ("HOLD_TAG_KEY", ""),
        ("SIGNALS", "gpu"),
        ("SIGNALS", "{}"),
        ("SIGNALS", "[]"),
        ("SIGNALS", "[1]"),
        ("SIGNALS", "[{}]"),
        ("SIGNALS", signals(name="")),
        ("SIGNALS", signals(metric=7)),
        ("SIGNALS", signals(statistic="p99")),
        ("SIGNALS", signals(statistic=["Maximum"])),
        ("SIGNALS", signals(idle_below=0)),
        ("SIGNALS", signals(idle_below=-5)),
        ("SIGNALS", signals(idle_below="5")),
        ("SIGNALS", signals(idle_below=True)),
        ("SIGNALS", signals(idle_below=float("nan"))),
        ("SIGNALS", signals(idle_below=float("inf"))),
        ("SIGNALS", signals(means="use")),
        ("SIGNALS", signals(less="")),
        ("SIGNALS", signals(less=None)),
        ("SIGNALS", signals(unit="Percent")),
        ("SIGNALS", json.dumps([GPU_SIGNAL, GPU_SIGNAL])),
        ("SIGNALS", signals(namespace="")),
        ("SIGNALS", signals(namespace=None)),
        ("SIGNALS", signals(dimensions=[])),
        ("SIGNALS", signals(dimensions={"Path": ""})),
        ("SIGNALS", signals(dimensions={"": "x"})),
        ("SIGNALS", signals(dimensions={"Path": 1})),
        ("SIGNALS", signals(dimensions={"InstanceId": "i-1"})),
        # The maximum of a period would hide work within it.
        ("SIGNALS", signals(means="idle_time")),
        ("SIGNALS", signals(means="idle_time", statistic="Minimum", less="other")),
        ("STATE_PARAMETER", " "),
        ("MIN_LIFE_SECONDS", "-1"),
        ("MIN_LIFE_SECONDS", ""),
        ("MAX_RELEASES", "0"),
        ("MAX_RELEASES", "1.5"),
        ("MAX_LIFE_SECONDS", "1h"),
        ("MAX_LIFE_SECONDS", "31536001"),
        ("MAX_UNKNOWN_SECONDS", "899"),
        ("AT_MINIMUM", "Leave"),
        ("AT_MINIMUM", ""),
        ("RETAINED_AFTER_SECONDS", "0"),
        ("START_WORTH_SECONDS", "59"),
        ("START_WORTH_SECONDS", "604801"),
        ("START_WORTH_SECONDS", ""),
        ("MAX_FAILED_LAUNCHES", "0"),
        ("TOPIC_ARN", ""),
        ("DRAIN_HOOK", ""),
        ("HOURS", "x"),
        ("HOURS", "[]"),
        ("HOURS", '{"silent":[]}'),
        ("HOURS", '{"quiet":{}}'),
        ("HOURS", '{"quiet":[{}]}'),
        ("HOURS", '{"quiet":[{"days":[7],"from":"08:00","to":"18:00","zone":"UTC"}]}'),
        ("HOURS", '{"quiet":[{"days":[1],"from":"08:00","to":"18:00","zone":"Mars/Olympus"}]}'),
        ("HOURS", '{"warm":[{"days":[1],"from":"08:00","to":"18:00","zone":"UTC"}]}'),
        ("HOURS", '{"warm":[{"instances":0,"hours":{"days":[1],"from":"08:00","to":"18:00","zone":"UTC"}}]}'),
        ("HOURS", '{"warm":[{"instances":true,"hours":{"days":[1],"from":"08:00","to":"18:00","zone":"UTC"}}]}'),
        ("HOURS", '{"warm":[{"instances":1,"hours":{}}]}'),
        ("TYPE_USD_PER_HOUR", "[]"),
        ("TYPE_USD_PER_HOUR", '{"g6.xlarge":0}'),
        ("TYPE_USD_PER_HOUR", '{"g6.xlarge":"0.8"}'),
        ("QUEUE_URL", ""),
        ("MESSAGES_PER_INSTANCE", "0"),
        ("MESSAGES_PER_INSTANCE", "1.5"),
        ("MESSAGES_PER_INSTANCE", ""),
    ],
)
def test_a_nonsensical_setting_is_named_with_rule_and_value(name: str, value: str) -> None:
    with pytest.raises(SettingError, match=rf"^environment variable {name} must ") as caught:
        read_release_settings({**RELEASE_ENVIRONMENT, **QUEUE_ENVIRONMENT, name: value})
    assert ", got " in str(caught.value)


OFFICE = {"days": [0, 1, 2, 3, 4], "from": "08:00", "to": "18:00", "zone": "Europe/Berlin"}
NIGHT = {"days": [6], "from": "22:00", "to": "04:00", "zone": "UTC", "except": ["2026-12-27"]}


def test_everything_else_is_off_unless_set() -> None:
    settings = read_release_settings(RELEASE_ENVIRONMENT)
    policy = settings.policy
    assert (policy.min_life_seconds, policy.max_releases, policy.messages_per_instance) == (0, None, 1)
    assert (policy.max_life_seconds, policy.max_unknown_seconds, policy.at_minimum) == (None, None, AtMinimum.LEAVE)
    assert (policy.quiet, policy.warm, policy.maintenance, policy.usd_per_hour) == ((), (), None, {})
    assert policy.start_worth_seconds is None
    assert settings.state_parameter == STATE_PARAMETER
    assert (settings.drain_hook, settings.retained_after_seconds) == (None, None)
    assert (settings.max_failed_launches, settings.topic_arn) == (None, None)


def test_everything_else_means_what_it_says() -> None:
    settings = read_release_settings(
        {
            **RELEASE_ENVIRONMENT,
            **QUEUE_ENVIRONMENT,
            "MESSAGES_PER_INSTANCE": "4",
            "MIN_LIFE_SECONDS": "3600",
            "MAX_RELEASES": "5",
            "MAX_LIFE_SECONDS": "86400",
            "MAX_UNKNOWN_SECONDS": "2700",
            "AT_MINIMUM": "replace",
            "RETAINED_AFTER_SECONDS": "7200",
            "START_WORTH_SECONDS": "1500",
            "MAX_FAILED_LAUNCHES": "5",
            "TOPIC_ARN": "arn:aws:sns:eu-west-1:123456789012:fleet",
            "DRAIN_HOOK": "Drain",
            "HOURS": json.dumps(
                {"quiet": [OFFICE], "warm": [{"instances": 2, "hours": OFFICE}], "maintenance": [NIGHT]}
            ),
            "TYPE_USD_PER_HOUR": '{"g6.xlarge":0.8,"p5.48xlarge":55}',
            "SIGNALS": json.dumps(
                [
                    GPU_SIGNAL,
                    {**GPU_SIGNAL, "name": "mine", "namespace": "Mine", "dimensions": {"b": "2", "a": "1"}},
                    {**GPU_SIGNAL, "name": "idle", "means": "idle_time", "statistic": "Minimum"},
                ]
            ),
        }
    )
    policy = settings.policy
    assert (policy.min_life_seconds, policy.max_releases, policy.messages_per_instance) == (3600, 5, 4)
    assert (policy.max_life_seconds, policy.max_unknown_seconds) == (86400, 2700)
    assert policy.at_minimum is AtMinimum.REPLACE
    assert policy.start_worth_seconds == 1500
    assert policy.quiet == (read_hours(OFFICE),)
    assert policy.warm == (KeepWarm(instances=2, hours=read_hours(OFFICE)),)
    assert policy.maintenance == (read_hours(NIGHT),)
    assert policy.usd_per_hour == {"g6.xlarge": 0.8, "p5.48xlarge": 55.0}
    assert (policy.signals[1].namespace, policy.signals[1].dimensions) == ("Mine", (("a", "1"), ("b", "2")))
    assert policy.signals[2].means == "idle_time"
    assert (settings.retained_after_seconds, settings.drain_hook) == (7200, "Drain")
    assert (settings.max_failed_launches, settings.topic_arn) == (5, "arn:aws:sns:eu-west-1:123456789012:fleet")


@pytest.mark.parametrize(
    ("name", "environment"),
    [
        ("MAX_LIFE_SECONDS", {"MAX_LIFE_SECONDS": "3600", "MIN_LIFE_SECONDS": "3600"}),
        ("MAX_LIFE_SECONDS", {"MAX_LIFE_SECONDS": "1800"}),
        ("MAX_LIFE_SECONDS", {"MAX_LIFE_SECONDS": "7200", "WARM_UP_SECONDS": "7200"}),
        ("MAX_UNKNOWN_SECONDS", {"MAX_UNKNOWN_SECONDS": "2699"}),
        ("AT_MINIMUM", {"AT_MINIMUM": "replace"}),
        ("TOPIC_ARN", {"MAX_FAILED_LAUNCHES": "5"}),
        ("HOURS", {"HOURS": json.dumps({"maintenance": [NIGHT]})}),
        ("HOURS", {"HOURS": json.dumps({"maintenance": []}), "MAX_LIFE_SECONDS": "86400"}),
        ("HOURS", {"HOURS": json.dumps({"maintenance": NIGHT}), "MAX_LIFE_SECONDS": "86400"}),
    ],
)
def test_what_cannot_work_together_is_refused(name: str, environment: Mapping[str, str]) -> None:
    with pytest.raises(SettingError, match=rf"^environment variable {name} must .*, got "):
        read_release_settings({**RELEASE_ENVIRONMENT, **environment})


@pytest.mark.parametrize("name", QUEUE_ENVIRONMENT)
def test_a_queue_is_given_whole_or_not_at_all(name: str) -> None:
    with pytest.raises(SettingError, match=f"environment variable {name} "):
        read_release_settings({**RELEASE_ENVIRONMENT, **without(QUEUE_ENVIRONMENT, name)})


def test_a_wake_function_serves_a_queue_or_another_group() -> None:
    assert read_wake_settings(WAKE_ENVIRONMENT).demand == QueueDemand(queue_url=QUEUE_URL, messages_per_instance=1)
    assert read_wake_settings(STAND_IN_ENVIRONMENT).demand == ShortfallDemand(of_group="spot", after_seconds=900)


@pytest.mark.parametrize("name", STAND_IN_ENVIRONMENT)
def test_a_missing_setting_of_a_stand_in_is_named(name: str) -> None:
    with pytest.raises(SettingError, match=rf"^environment variable {name} must .*, got nothing"):
        read_wake_settings(without(STAND_IN_ENVIRONMENT, name))


@pytest.mark.parametrize(
    ("changes", "name", "rule"),
    [
        (QUEUE_ENVIRONMENT, "QUEUE_URL", "be left out when SHORTFALL_OF_GROUP is set"),
        ({"MESSAGES_PER_INSTANCE": "1"}, "MESSAGES_PER_INSTANCE", "be left out when SHORTFALL_OF_GROUP is set"),
        ({"SHORTFALL_OF_GROUP": GROUP}, "SHORTFALL_OF_GROUP", "name another group than AUTO_SCALING_GROUP_NAME"),
        ({"SHORTFALL_OF_GROUP": " "}, "SHORTFALL_OF_GROUP", "be set and not be blank"),
        *(
            ({"SHORTFALL_AFTER_SECONDS": value}, "SHORTFALL_AFTER_SECONDS", "be a whole number from 300 to 21600")
            for value in ("299", "21601", "15m", "-900", "")
        ),
        ({"SHORTFALL_AFTER_SECONDS": "330"}, "SHORTFALL_AFTER_SECONDS", "be a multiple of 60"),
    ],
)
def test_settings_of_a_stand_in_that_cannot_work_are_refused(changes: dict[str, str], name: str, rule: str) -> None:
    with pytest.raises(SettingError, match=f"environment variable {name} must {rule}"):
        read_wake_settings({**STAND_IN_ENVIRONMENT, **changes})


def test_a_release_knows_whom_its_group_stands_in_for() -> None:
    settings = read_release_settings({**RELEASE_ENVIRONMENT, **SHORTFALL_ENVIRONMENT})
    assert (settings.stands_in_for, settings.demand) == ("spot", None)
    assert read_release_settings(RELEASE_ENVIRONMENT).stands_in_for is None


@pytest.mark.parametrize("changes", [QUEUE_ENVIRONMENT, {"SHORTFALL_OF_GROUP": GROUP}])
def test_a_release_that_has_two_demands_or_itself_as_one_is_refused(changes: dict[str, str]) -> None:
    with pytest.raises(SettingError):
        read_release_settings({**RELEASE_ENVIRONMENT, **SHORTFALL_ENVIRONMENT, **changes})


@pytest.mark.parametrize("index", [release_index, wake_index])
def test_a_handler_with_bad_settings_makes_no_client(index: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    index.load_settings.cache_clear()
    monkeypatch.setattr(index, "make_clients", lambda: pytest.fail("a client was made"))
    monkeypatch.setattr(index, "os", _Machine({}))
    with pytest.raises(SettingError):
        index.handler({"source": "accelerated-fleet.manual"}, Context(ManualClock()))


def test_settings_are_read_once_per_cold_start_and_a_failure_is_not_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wake_index.load_settings.cache_clear()
    monkeypatch.setattr(wake_index, "os", _Machine({}))
    with pytest.raises(SettingError):
        wake_index.load_settings()
    monkeypatch.setattr(wake_index, "os", _Machine(WAKE_ENVIRONMENT))
    first = wake_index.load_settings()
    monkeypatch.setattr(wake_index, "os", _Machine({}))
    assert wake_index.load_settings() is first
    wake_index.load_settings.cache_clear()


class _Machine:
    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ
