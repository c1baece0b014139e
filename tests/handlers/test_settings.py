"""Settings: each one missing or nonsensical is an error that names it, before any call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from release_idle import index as release_index
from release_idle.measurement import Signal
from release_idle.settings import read_settings as read_release_settings
from runtime.demand import QueueDemand
from runtime.environment import SettingError
from tests.handlers.driving import GPU_SIGNAL, GROUP, QUEUE_ENVIRONMENT, QUEUE_URL, RELEASE_ENVIRONMENT
from tests.handlers.fake_aws import Context, ManualClock
from wake_on_demand import index as wake_index
from wake_on_demand.settings import read_settings as read_wake_settings

WAKE_ENVIRONMENT = {"AUTO_SCALING_GROUP_NAME": GROUP, **QUEUE_ENVIRONMENT}


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


@pytest.mark.parametrize("name", QUEUE_ENVIRONMENT)
def test_a_queue_is_given_whole_or_not_at_all(name: str) -> None:
    with pytest.raises(SettingError, match=f"environment variable {name} "):
        read_release_settings({**RELEASE_ENVIRONMENT, **without(QUEUE_ENVIRONMENT, name)})


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
