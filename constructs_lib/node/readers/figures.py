"""Figures out of what a tool wrote: what is out of its range, or not plainly a number, is unknown.

Each takes a text, with or without the unit that is named, or a number out of JSON. Another unit makes it no figure:
"12 GiB" is not twelve of anything that was asked for.
"""

from __future__ import annotations

import re

HIGHEST_POWER_WATTS = 5000.0
LOWEST_TEMPERATURE_CELSIUS = -50.0
HIGHEST_TEMPERATURE_CELSIUS = 200.0
HIGHEST_MEMORY_MIB = float(2**30)
"""A PiB. No accelerator comes near it, and a tool that says so is wrong."""
HIGHEST_COUNT = 2**64 - 1

_NUMBER = re.compile(r"([+-]?[0-9]{1,20}(?:\.[0-9]{1,20})?)(.*)", re.DOTALL)
_COUNT = re.compile(r"[0-9]{1,20}")
_MEBIBYTES = {"MiB": 1.0, "MB": 1.0, "KiB": 1 / 1024, "KB": 1 / 1024}
_BYTES_PER_MIB = 1024 * 1024


def number(value: object, unit: str = "") -> float | None:
    """Return the number that a text or a JSON value is, or None. Only `unit` may follow it."""
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value.strip())
        return float(match.group(1)) if match and match.group(2).strip() in ("", unit) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if abs(value) <= HIGHEST_COUNT else None


def percent(value: object) -> float | None:
    """Return a share between 0 and 100 %, or None."""
    return _within(number(value, "%"), 0.0, 100.0)


def share(part: object, whole: object) -> float | None:
    """Return `part` of `whole` as percent, or None if one is no count, or the part is more than the whole."""
    parts, wholes = count(part), count(whole)
    if parts is None or not wholes or parts > wholes:
        return None
    return 100.0 * parts / wholes


def mebibytes(value: object) -> float | None:
    """Return an amount of memory that is given in MiB, or None."""
    return _within(number(value, "MiB"), 0.0, HIGHEST_MEMORY_MIB)


def mebibytes_with_unit(value: str) -> float | None:
    """Return an amount of memory, in MiB, whose unit must be said: MiB or KiB, which some tools write MB and KB."""
    for unit, factor in _MEBIBYTES.items():
        if value.rstrip().endswith(unit):
            amount = number(value, unit)
            return None if amount is None else _within(amount * factor, 0.0, HIGHEST_MEMORY_MIB)
    return None


def mebibytes_of_bytes(value: object) -> float | None:
    """Return an amount of memory that is given in bytes, in MiB, or None."""
    size = number(value)
    return None if size is None else _within(size / _BYTES_PER_MIB, 0.0, HIGHEST_MEMORY_MIB)


def watts(value: object, unit: str = "W") -> float | None:
    """Return the power that a device draws, W, or None."""
    return _within(number(value, unit), 0.0, HIGHEST_POWER_WATTS)


def celsius(value: object) -> float | None:
    """Return a temperature in degrees Celsius, or None."""
    return _within(number(value, "C"), LOWEST_TEMPERATURE_CELSIUS, HIGHEST_TEMPERATURE_CELSIUS)


def scaled(value: object, divisor: float) -> float | None:
    """Return a number that is given in a fraction of a unit, such as thousandths, in that unit, or None."""
    amount = number(value)
    return None if amount is None else amount / divisor


def count(value: object) -> int | None:
    """Return a whole number of at least 0 that fits a counter of 64 bits, or None."""
    if isinstance(value, str):
        text = value.strip()
        value = int(text) if _COUNT.fullmatch(text) else None
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= HIGHEST_COUNT else None


def _within(value: float | None, lowest: float, highest: float) -> float | None:
    """Return the value if it lies in the range. NaN lies in none."""
    return value if value is not None and lowest <= value <= highest else None
