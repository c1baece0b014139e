"""The settings of the wake function, read from its environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runtime.demand import QueueDemand, ShortfallDemand, read_demand
from runtime.environment import read_text


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The group to raise, and what tells how far."""

    auto_scaling_group: str
    demand: QueueDemand | ShortfallDemand


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Return the settings. Raises `SettingError`, naming the variable that is missing or makes no sense."""
    return Settings(
        auto_scaling_group=read_text(environment, "AUTO_SCALING_GROUP_NAME"),
        demand=read_demand(environment),
    )
