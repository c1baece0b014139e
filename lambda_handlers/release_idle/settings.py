"""The settings of the release function, read from its environment."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast, get_args

from release_idle.decision import IdlePolicy
from release_idle.measurement import Meaning, Signal, Statistic
from runtime.demand import QueueDemand, read_optional_queue_demand
from runtime.environment import (
    SettingError,
    read_choice,
    read_positive_number,
    read_text,
    read_whole_number,
)

_SEVEN_DAYS = 7 * 24 * 3600
_SIGNAL_FIELDS = {"name", "metric", "statistic", "idle_below", "means"}
_OPTIONAL_FIELDS = {"less"}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything that a release pass is told from outside. `demand` is None for a fleet without a queue."""

    auto_scaling_group: str
    namespace: str
    watch_sessions: bool
    demand: QueueDemand | None
    policy: IdlePolicy


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Return the settings. Raises `SettingError`, naming the variable that is missing or makes no sense."""
    period = read_whole_number(environment, "METRIC_PERIOD_SECONDS", at_least=60, at_most=3600)
    if period % 60:
        # CloudWatch returns nothing at all for a period between two minutes.
        raise SettingError("METRIC_PERIOD_SECONDS", "be a multiple of 60", environment["METRIC_PERIOD_SECONDS"])
    return Settings(
        auto_scaling_group=read_text(environment, "AUTO_SCALING_GROUP_NAME"),
        namespace=read_text(environment, "METRIC_NAMESPACE"),
        watch_sessions=read_choice(environment, "WATCH_SESSIONS", ("true", "false")) == "true",
        demand=read_optional_queue_demand(environment),
        policy=IdlePolicy(
            window_seconds=read_whole_number(environment, "WINDOW_SECONDS", at_least=period, at_most=_SEVEN_DAYS),
            warm_up_seconds=read_whole_number(environment, "WARM_UP_SECONDS", at_least=0, at_most=_SEVEN_DAYS),
            period_seconds=period,
            signals=_read_signals(environment),
            max_release_share=read_positive_number(environment, "MAX_RELEASE_SHARE", at_most=1),
            hold_tag_key=read_text(environment, "HOLD_TAG_KEY"),
            protection_holds=read_choice(environment, "SCALE_IN_PROTECTION", ("hold", "ignore")) == "hold",
        ),
    )


def _read_signals(environment: Mapping[str, str]) -> tuple[Signal, ...]:
    text = read_text(environment, "SIGNALS")
    try:
        documents = json.loads(text)
    except ValueError:
        raise SettingError("SIGNALS", "be JSON", text) from None
    if not isinstance(documents, list) or not documents:
        raise SettingError("SIGNALS", "be a JSON list with at least one signal", text)
    signals = tuple(_signal(document) for document in documents)
    if len({signal.name for signal in signals}) < len(signals):
        raise SettingError("SIGNALS", "give each signal a name of its own", text)
    return signals


def _signal(document: object) -> Signal:
    if not isinstance(document, dict) or set(document) - _OPTIONAL_FIELDS != _SIGNAL_FIELDS:
        rule = f"hold objects with {sorted(_SIGNAL_FIELDS)}, and at most {sorted(_OPTIONAL_FIELDS)} besides"
        raise SettingError("SIGNALS", rule, document)
    for field in ("name", "metric", *(_OPTIONAL_FIELDS & set(document))):
        if not isinstance(document[field], str) or not document[field]:
            raise SettingError("SIGNALS", f"give each signal a {field}", document)
    statistics = get_args(Statistic)
    if document["statistic"] not in statistics:
        raise SettingError("SIGNALS", f"use one of the statistics {', '.join(statistics)}", document)
    idle_below = document["idle_below"]
    is_number = isinstance(idle_below, (int, float)) and not isinstance(idle_below, bool)
    if not is_number or not math.isfinite(idle_below) or idle_below <= 0:
        # At 0 or below nothing could ever be idle.
        raise SettingError("SIGNALS", "have a number above 0 as idle_below", document)
    meanings = get_args(Meaning)
    if document["means"] not in meanings:
        raise SettingError("SIGNALS", f"use one of the meanings {', '.join(meanings)}", document)
    return Signal(
        name=document["name"],
        metric=document["metric"],
        statistic=cast(Statistic, document["statistic"]),
        idle_below=float(idle_below),
        means=cast(Meaning, document["means"]),
        less=document.get("less"),
    )
