"""The settings of the release function, read from its environment."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import cast, get_args

from release_idle.measurement import Meaning, Signal, Statistic
from release_idle.policy import AtMinimum, IdlePolicy, KeepWarm
from runtime.demand import QueueDemand, read_optional_queue_demand, read_stands_in_for
from runtime.environment import (
    SettingError,
    read_choice,
    read_positive_number,
    read_text,
    read_whole_number,
)
from runtime.hours import Hours, read_hours

_SEVEN_DAYS = 7 * 24 * 3600
_ONE_YEAR = 365 * 24 * 3600
_SHORTEST_UNKNOWN_SECONDS = 900
_SIGNAL_FIELDS = {"name", "metric", "statistic", "idle_below", "means"}
_OPTIONAL_TEXTS = {"less", "namespace"}
_OPTIONAL_FIELDS = {*_OPTIONAL_TEXTS, "dimensions"}
_HOURS_FIELDS = {"quiet", "warm", "maintenance"}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything that a release pass is told from outside.

    `demand` is None for a fleet without a queue, `stands_in_for` for one that no other group's shortfall wakes,
    `drain_hook` for a group without a termination hook of ours, `max_failed_launches` where launches are not watched,
    and `retained_after_seconds` where nothing ends the instances that the group retains.
    """

    auto_scaling_group: str
    namespace: str
    watch_sessions: bool
    demand: QueueDemand | None
    stands_in_for: str | None
    policy: IdlePolicy
    state_parameter: str
    drain_hook: str | None
    retained_after_seconds: int | None
    max_failed_launches: int | None
    topic_arn: str | None


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Return the settings. Raises `SettingError`, naming the variable that is missing or makes no sense."""
    demand = read_optional_queue_demand(environment)
    max_failed_launches = _optional_number(environment, "MAX_FAILED_LAUNCHES", at_least=1, at_most=1000)
    topic_arn = _optional_text(environment, "TOPIC_ARN")
    if max_failed_launches is not None and topic_arn is None:
        raise SettingError("TOPIC_ARN", "be set when MAX_FAILED_LAUNCHES is, so that somebody is told", None)
    return Settings(
        auto_scaling_group=read_text(environment, "AUTO_SCALING_GROUP_NAME"),
        namespace=read_text(environment, "METRIC_NAMESPACE"),
        watch_sessions=read_choice(environment, "WATCH_SESSIONS", ("true", "false")) == "true",
        demand=demand,
        stands_in_for=read_stands_in_for(environment),
        policy=_read_policy(environment, demand),
        state_parameter=read_text(environment, "STATE_PARAMETER"),
        drain_hook=_optional_text(environment, "DRAIN_HOOK"),
        retained_after_seconds=_optional_number(environment, "RETAINED_AFTER_SECONDS", at_least=1, at_most=_ONE_YEAR),
        max_failed_launches=max_failed_launches,
        topic_arn=topic_arn,
    )


def _read_policy(environment: Mapping[str, str], demand: QueueDemand | None) -> IdlePolicy:
    period = read_whole_number(environment, "METRIC_PERIOD_SECONDS", at_least=60, at_most=3600)
    if period % 60:
        # CloudWatch returns nothing at all for a period between two minutes.
        raise SettingError("METRIC_PERIOD_SECONDS", "be a multiple of 60", environment["METRIC_PERIOD_SECONDS"])
    window = read_whole_number(environment, "WINDOW_SECONDS", at_least=period, at_most=_SEVEN_DAYS)
    warm_up = read_whole_number(environment, "WARM_UP_SECONDS", at_least=0, at_most=_SEVEN_DAYS)
    min_life = _optional_number(environment, "MIN_LIFE_SECONDS", at_least=0, at_most=_ONE_YEAR)
    max_life = _read_max_life(environment, window, warm_up, min_life or 0)
    max_unknown = _optional_number(
        environment, "MAX_UNKNOWN_SECONDS", at_least=window + _SHORTEST_UNKNOWN_SECONDS, at_most=_ONE_YEAR
    )
    hours = _read_hours(environment, max_life)
    return IdlePolicy(
        window_seconds=window,
        warm_up_seconds=warm_up,
        period_seconds=period,
        signals=_read_signals(environment),
        max_release_share=read_positive_number(environment, "MAX_RELEASE_SHARE", at_most=1),
        hold_tag_key=read_text(environment, "HOLD_TAG_KEY"),
        protection_holds=read_choice(environment, "SCALE_IN_PROTECTION", ("hold", "ignore")) == "hold",
        messages_per_instance=1 if demand is None else demand.messages_per_instance,
        min_life_seconds=min_life or 0,
        max_releases=_optional_number(environment, "MAX_RELEASES", at_least=1, at_most=100_000),
        max_life_seconds=max_life,
        max_unknown_seconds=max_unknown,
        at_minimum=_read_at_minimum(environment, max_life, max_unknown),
        quiet=tuple(_hours(each) for each in _list_of(hours, "quiet")),
        warm=tuple(_keep_warm(each) for each in _list_of(hours, "warm")),
        maintenance=tuple(_hours(each) for each in _list_of(hours, "maintenance")) if "maintenance" in hours else None,
        start_worth_seconds=_optional_number(environment, "START_WORTH_SECONDS", at_least=60, at_most=_SEVEN_DAYS),
        usd_per_hour=_read_prices(environment),
        leave_from=_read_leave_from(environment),
    )


def _read_leave_from(environment: Mapping[str, str]) -> datetime | None:
    given = _optional_text(environment, "LEAVE_FROM")
    if given is None:
        return None
    try:
        return datetime.strptime(given, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    except ValueError as error:
        raise SettingError("LEAVE_FROM", "be a moment in UTC, as 2027-03-01T11:00:00Z", given) from error


def _read_max_life(environment: Mapping[str, str], window: int, warm_up: int, min_life: int) -> int | None:
    max_life = _optional_number(environment, "MAX_LIFE_SECONDS", at_least=1, at_most=_ONE_YEAR)
    others = {"WINDOW_SECONDS": window, "WARM_UP_SECONDS": warm_up, "MIN_LIFE_SECONDS": min_life}
    for name, seconds in others.items():
        if max_life is not None and max_life <= seconds:
            # Every member would be too old before it could be judged.
            raise SettingError("MAX_LIFE_SECONDS", f"be more than {name}, which is {seconds}", str(max_life))
    return max_life


def _read_at_minimum(environment: Mapping[str, str], max_life: int | None, max_unknown: int | None) -> AtMinimum:
    if "AT_MINIMUM" not in environment:
        return AtMinimum.LEAVE
    at_minimum = AtMinimum(read_choice(environment, "AT_MINIMUM", [each.value for each in AtMinimum]))
    if at_minimum is AtMinimum.REPLACE and max_life is None and max_unknown is None:
        rule = "be leave without MAX_LIFE_SECONDS and MAX_UNKNOWN_SECONDS: nothing is past a limit"
        raise SettingError("AT_MINIMUM", rule, at_minimum.value)
    return at_minimum


def _read_hours(environment: Mapping[str, str], max_life: int | None) -> Mapping[str, object]:
    if "HOURS" not in environment:
        return {}
    document = _read_json(environment, "HOURS")
    if not isinstance(document, dict) or set(document) - _HOURS_FIELDS:
        raise SettingError("HOURS", f"be a JSON object with at most {sorted(_HOURS_FIELDS)}", document)
    if "maintenance" in document and (max_life is None or not document["maintenance"]):
        rule = "name maintenance hours only with MAX_LIFE_SECONDS, and then at least one: they are when it acts"
        raise SettingError("HOURS", rule, document["maintenance"])
    return document


def _list_of(hours: Mapping[str, object], name: str) -> list[object]:
    value = hours.get(name, [])
    if not isinstance(value, list):
        raise SettingError("HOURS", f"have a list as {name}", value)
    return value


def _hours(document: object) -> Hours:
    try:
        return read_hours(document)
    except ValueError as error:
        raise SettingError("HOURS", f"hold hours that make sense ({error})", document) from None


def _keep_warm(document: object) -> KeepWarm:
    if not isinstance(document, dict) or set(document) != {"instances", "hours"}:
        raise SettingError("HOURS", "have objects with ['hours', 'instances'] in warm", document)
    instances = document["instances"]
    if not isinstance(instances, int) or isinstance(instances, bool) or instances < 1:
        raise SettingError("HOURS", "keep a whole number of at least 1 instances warm", document)
    return KeepWarm(instances=instances, hours=_hours(document["hours"]))


def _read_prices(environment: Mapping[str, str]) -> Mapping[str, float]:
    if "TYPE_USD_PER_HOUR" not in environment:
        return {}
    document = _read_json(environment, "TYPE_USD_PER_HOUR")
    if not isinstance(document, dict) or not all(_is_positive(price) for price in document.values()):
        raise SettingError("TYPE_USD_PER_HOUR", "be a JSON object with a number above 0 for each type", document)
    return {name: float(price) for name, price in document.items()}


def _read_signals(environment: Mapping[str, str]) -> tuple[Signal, ...]:
    documents = _read_json(environment, "SIGNALS")
    if not isinstance(documents, list) or not documents:
        raise SettingError("SIGNALS", "be a JSON list with at least one signal", documents)
    signals = tuple(_signal(document) for document in documents)
    if len({signal.name for signal in signals}) < len(signals):
        raise SettingError("SIGNALS", "give each signal a name of its own", documents)
    return signals


def _signal(document: object) -> Signal:
    if not isinstance(document, dict) or set(document) - _OPTIONAL_FIELDS != _SIGNAL_FIELDS:
        rule = f"hold objects with {sorted(_SIGNAL_FIELDS)}, and at most {sorted(_OPTIONAL_FIELDS)} besides"
        raise SettingError("SIGNALS", rule, document)
    for field in ("name", "metric", *(_OPTIONAL_TEXTS & set(document))):
        if not isinstance(document[field], str) or not document[field]:
            raise SettingError("SIGNALS", f"give each signal a {field}", document)
    statistics = get_args(Statistic)
    if document["statistic"] not in statistics:
        raise SettingError("SIGNALS", f"use one of the statistics {', '.join(statistics)}", document)
    if not _is_positive(document["idle_below"]):
        # At 0 or below nothing could ever be idle.
        raise SettingError("SIGNALS", "have a number above 0 as idle_below", document)
    meanings = get_args(Meaning)
    if document["means"] not in meanings:
        raise SettingError("SIGNALS", f"use one of the meanings {', '.join(meanings)}", document)
    if document["means"] == "idle_time" and (document["statistic"] != "Minimum" or "less" in document):
        # The maximum of a period would hide that the instance worked within it.
        raise SettingError("SIGNALS", "use the Minimum of a metric that means idle_time, and no other less", document)
    return Signal(
        name=document["name"],
        metric=document["metric"],
        statistic=cast(Statistic, document["statistic"]),
        idle_below=float(document["idle_below"]),
        means=cast(Meaning, document["means"]),
        less=document.get("less"),
        namespace=document.get("namespace"),
        dimensions=_dimensions(document),
    )


def _dimensions(document: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    dimensions = document.get("dimensions", {})
    if not isinstance(dimensions, dict) or not all(
        isinstance(text, str) and text for pair in dimensions.items() for text in pair
    ):
        raise SettingError("SIGNALS", "have a name and a value for each of the dimensions", document)
    if "InstanceId" in dimensions:
        # Every instance has its own, which is added.
        raise SettingError("SIGNALS", "leave InstanceId out of the dimensions", document)
    return tuple(sorted(dimensions.items()))


def _optional_number(environment: Mapping[str, str], name: str, *, at_least: int, at_most: int) -> int | None:
    if name not in environment:
        return None
    return read_whole_number(environment, name, at_least=at_least, at_most=at_most)


def _optional_text(environment: Mapping[str, str], name: str) -> str | None:
    return read_text(environment, name) if name in environment else None


def _read_json(environment: Mapping[str, str], name: str) -> object:
    text = read_text(environment, name)
    try:
        return cast(object, json.loads(text))
    except ValueError:
        raise SettingError(name, "be JSON", text) from None


def _is_positive(value: object) -> bool:
    # At 0 or below nothing could ever be idle, and nothing is free.
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return math.isfinite(value) and value > 0
