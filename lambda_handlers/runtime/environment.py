"""Reading settings from environment variables, with errors that name the variable, the rule and the value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence


class SettingError(ValueError):
    """A setting is missing or makes no sense; the message names the variable, the rule and the value."""

    def __init__(self, name: str, rule: str, value: object) -> None:
        got = "nothing (it is not set)" if value is None else repr(value)
        super().__init__(f"environment variable {name} must {rule}, got {got}")


def read_text(environment: Mapping[str, str], name: str) -> str:
    """Return the text of a variable that must be there and not be blank."""
    value = environment.get(name)
    if value is None or not value.strip():
        raise SettingError(name, "be set and not be blank", value)
    return value


def read_whole_number(environment: Mapping[str, str], name: str, *, at_least: int, at_most: int) -> int:
    """Return a variable that must hold a whole number between both bounds, which are allowed themselves."""
    value = environment.get(name)
    rule = f"be a whole number from {at_least} to {at_most}"
    if value is None:
        raise SettingError(name, rule, value)
    try:
        number = int(value)
    except ValueError:
        raise SettingError(name, rule, value) from None
    if not at_least <= number <= at_most:
        raise SettingError(name, rule, value)
    return number


def read_positive_number(environment: Mapping[str, str], name: str, *, at_most: float) -> float:
    """Return a variable that must hold a number above 0 and not above `at_most`."""
    value = environment.get(name)
    rule = f"be a number above 0 and at most {at_most:g}"
    if value is None:
        raise SettingError(name, rule, value)
    try:
        number = float(value)
    except ValueError:
        raise SettingError(name, rule, value) from None
    if not (math.isfinite(number) and 0 < number <= at_most):
        raise SettingError(name, rule, value)
    return number


def read_choice(environment: Mapping[str, str], name: str, choices: Sequence[str]) -> str:
    """Return a variable that must be one of `choices`, letter for letter."""
    value = environment.get(name)
    if value is None or value not in choices:
        raise SettingError(name, f"be one of {', '.join(choices)}", value)
    return value
