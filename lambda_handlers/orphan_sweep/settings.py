"""The settings of the sweep, read from its environment."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from orphan_sweep.decision import Rules
from orphan_sweep.prices import PriceList
from runtime.environment import SettingError, read_choice, read_text, read_whole_number

_LONGEST_SECONDS = 10 * 365 * 86_400


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Whose leftovers to look for and what to do with them.

    `acts` is false in a dry run: it notes and tells, and frees nothing. `endpoints_path` is where the fleet's instances
    are published, one parameter for each, named by the instance.
    """

    auto_scaling_group: str
    stack_id: str
    rules: Rules
    orphan_tag_key: str
    endpoints_path: str
    acts: bool
    topic_arn: str
    namespace: str
    prices: PriceList


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Return the settings. Raises `SettingError`, naming the variable that is missing or makes no sense."""
    return Settings(
        auto_scaling_group=read_text(environment, "AUTO_SCALING_GROUP_NAME"),
        stack_id=_read_stack(environment),
        rules=Rules(
            tag_key=read_text(environment, "FLEET_TAG_KEY"),
            tag_value=read_text(environment, "FLEET_TAG_VALUE"),
            hold_tag_key=read_text(environment, "HOLD_TAG_KEY"),
            min_age=_read_seconds(environment, "MIN_AGE_SECONDS", at_least=3600),
            snapshot_age=_read_seconds(environment, "SNAPSHOT_AGE_SECONDS", at_least=86_400)
            if "SNAPSHOT_AGE_SECONDS" in environment
            else None,
        ),
        orphan_tag_key=read_text(environment, "ORPHAN_TAG_KEY"),
        endpoints_path=_read_path(environment),
        acts=read_choice(environment, "ACT", ("true", "false")) == "true",
        topic_arn=read_text(environment, "TOPIC_ARN"),
        namespace=read_text(environment, "METRIC_NAMESPACE"),
        prices=PriceList(
            usd_per_hour=_read_prices(environment, "TYPE_USD_PER_HOUR"), rates=_read_prices(environment, "USD_RATES")
        ),
    )


def _read_stack(environment: Mapping[str, str]) -> str:
    stack_id = read_text(environment, "STACK_ID")
    if not stack_id.startswith("arn:") or ":stack/" not in stack_id:
        raise SettingError("STACK_ID", "be the ARN of a stack", stack_id)
    return stack_id


def _read_path(environment: Mapping[str, str]) -> str:
    path = read_text(environment, "ENDPOINTS_PATH")
    # A path of one part would take in what belongs to everybody.
    if not path.startswith("/") or path.endswith("/") or path.count("/") < 2:
        raise SettingError("ENDPOINTS_PATH", "be a path of at least two parts without a slash at its end", path)
    return path


def _read_seconds(environment: Mapping[str, str], name: str, *, at_least: int) -> timedelta:
    return timedelta(seconds=read_whole_number(environment, name, at_least=at_least, at_most=_LONGEST_SECONDS))


def _read_prices(environment: Mapping[str, str], name: str) -> Mapping[str, float]:
    rule = "be a JSON object of prices of at least 0"
    given = read_text(environment, name)
    try:
        document = json.loads(given)
    except ValueError:
        raise SettingError(name, rule, given) from None
    if not isinstance(document, dict):
        raise SettingError(name, rule, given)
    for price in document.values():
        is_number = isinstance(price, (int, float)) and not isinstance(price, bool)
        if not is_number or not math.isfinite(price) or price < 0:
            raise SettingError(name, rule, given)
    return {item: float(price) for item, price in document.items()}
