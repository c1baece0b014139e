"""The settings of the clean-up function, read from its environment.

Only an event needs them. A custom resource's request carries everything itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runtime.environment import SettingError, read_text


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The tag that marks the fleet's group and instances, and the stack that they belong to."""

    tag_key: str
    tag_value: str
    stack_id: str
    group_logical_id: str


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Return the settings. Raises `SettingError`, naming the variable that is missing or makes no sense."""
    stack_id = read_text(environment, "STACK_ID")
    # No event would ever match anything else, and the function would stay silent for ever.
    if not stack_id.startswith("arn:") or ":stack/" not in stack_id:
        raise SettingError("STACK_ID", "be the ARN of a stack", stack_id)
    return Settings(
        tag_key=read_text(environment, "FLEET_TAG_KEY"),
        tag_value=read_text(environment, "FLEET_TAG_VALUE"),
        stack_id=stack_id,
        group_logical_id=read_text(environment, "GROUP_LOGICAL_ID"),
    )
