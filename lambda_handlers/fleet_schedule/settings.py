"""The settings of the schedule function, read from its environment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from fleet_schedule.decision import Plan
from fleet_schedule.memory import Sizes
from fleet_schedule.timetable import Timetable, WakeUp
from runtime.environment import SettingError, read_text, read_whole_number
from runtime.hours import Hours, read_hours

_SCHEDULE = "SCHEDULE"
_MOST_INSTANCES = 1_000_000
_LONGEST_AHEAD_SECONDS = 12 * 3600


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The group, where its sizes are saved, and what the schedule asks for."""

    auto_scaling_group: str
    state_parameter: str
    plan: Plan


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Return the settings. Raises `SettingError`, naming the variable that is missing or makes no sense."""
    return Settings(
        auto_scaling_group=read_text(environment, "AUTO_SCALING_GROUP_NAME"),
        state_parameter=read_text(environment, "STATE_PARAMETER"),
        plan=Plan(timetable=_timetable(read_text(environment, _SCHEDULE)), template=_template(environment)),
    )


def _timetable(text: str) -> Timetable:
    """Read ``{"office": [H, ...], "wake_ups": [{"at": H, "instances": n, "ahead_seconds": s}, ...]}``.

    H is what `runtime.hours` reads; a wake-up is at its beginning. Both keys may be left out.
    """
    try:
        document = json.loads(text)
        if not isinstance(document, dict) or not document.keys() <= {"office", "wake_ups"}:
            raise ValueError("it must be an object with 'office', 'wake_ups', both or neither")
        office = document.get("office")
        return Timetable(
            office_hours=None if office is None else tuple(read_hours(each) for each in _list(office, "office")),
            wake_ups=tuple(_wake_up(each) for each in _list(document.get("wake_ups", []), "wake_ups")),
        )
    except ValueError as error:
        raise SettingError(_SCHEDULE, f"be a schedule as JSON ({error})", text) from None


def _wake_up(document: object) -> WakeUp:
    if not isinstance(document, dict) or document.keys() != {"at", "instances", "ahead_seconds"}:
        raise ValueError(f"a wake-up must have 'at', 'instances' and 'ahead_seconds', got {document!r}")
    at: Hours = read_hours(document["at"])
    ahead = _number(document, "ahead_seconds", _LONGEST_AHEAD_SECONDS)
    return WakeUp(at=at, instances=_number(document, "instances", _MOST_INSTANCES), ahead=timedelta(seconds=ahead))


def _list(value: object, key: str) -> list[object]:
    if not isinstance(value, list):
        raise ValueError(f"{key!r} must be a list, got {value!r}")
    return value


def _number(document: Mapping[str, object], key: str, most: int) -> int:
    value = document[key]
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise ValueError(f"{key!r} must be a whole number from 1 to {most}, got {value!r}")
    return value


def _template(environment: Mapping[str, str]) -> Sizes | None:
    # Of a group that the template does not describe, its sizes there are not known.
    if "TEMPLATE_MAX_SIZE" not in environment:
        return None
    high = read_whole_number(environment, "TEMPLATE_MAX_SIZE", at_least=0, at_most=_MOST_INSTANCES)
    return Sizes(min=read_whole_number(environment, "TEMPLATE_MIN_SIZE", at_least=0, at_most=high), max=high)
