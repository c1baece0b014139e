"""The settings of the expiry function, read from its environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from runtime.environment import SettingError, read_choice, read_text, read_whole_number
from stack_expiry.decision import Policy, Start

_HOUR = 3600
_LONGEST_SECONDS = 366 * 24 * _HOUR


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The stack, how long it may live, where people are told, and where the function remembers what it told them."""

    stack_id: str
    policy: Policy
    topic_arn: str
    state_parameter: str


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Return the settings. Raises `SettingError`, naming the variable that is missing or makes no sense."""
    stack_id = read_text(environment, "STACK_ID")
    # A name could meanwhile be another stack's.
    if not stack_id.startswith("arn:") or ":stack/" not in stack_id:
        raise SettingError("STACK_ID", "be the ARN of a stack", stack_id)
    after = read_whole_number(environment, "EXPIRES_AFTER_SECONDS", at_least=_HOUR, at_most=_LONGEST_SECONDS)
    warn_before = read_whole_number(environment, "WARN_BEFORE_SECONDS", at_least=_HOUR, at_most=_LONGEST_SECONDS)
    return Settings(
        stack_id=stack_id,
        policy=Policy(
            after=timedelta(seconds=after),
            warn_before=timedelta(seconds=warn_before),
            start=Start(read_choice(environment, "COUNTED_FROM", [each.value for each in Start])),
            tag_key=read_text(environment, "EXPIRES_TAG_KEY"),
        ),
        topic_arn=read_text(environment, "TOPIC_ARN"),
        state_parameter=read_text(environment, "STATE_PARAMETER"),
    )
