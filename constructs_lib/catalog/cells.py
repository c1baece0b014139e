"""What each cell of a table may hold: one that was broken by hand or by half an answer is told before it is used."""

from __future__ import annotations

import re
from collections.abc import Mapping

_TYPE = r"[a-z][a-z0-9-]*\.[a-z0-9-]+"
_FAMILY = r"[a-z][a-z0-9-]*"
_REGION = r"[a-z]{2,}(-[a-z]+)+-\d+"
_DAY = r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
_COUNT = r"[1-9]\d{0,11}"
_WORD = r"yes|no"
_ARCHITECTURE = r"x86_64|arm64"
_CARD = r"([1-9]\d{0,3}\*)?[1-9]\d{0,3}e?"
_STRATEGY = r"cluster|partition|spread"


def _maybe(pattern: str) -> str:
    return f"({pattern})?"


def _several(pattern: str) -> str:
    return f"({pattern})( ({pattern}))*"


_CELLS: Mapping[str, Mapping[str, str]] = {
    "instance_types.csv": {
        "type": _TYPE,
        "kind": r"[a-z]+",
        "model": r"[^\s#\"][^\n\r\"]*",
        "count": r"[1-9]\d{0,4}",
        "fraction": _maybe(r"0?\.\d*[1-9]\d*"),
        "memory_mib": _COUNT,
        "architecture": _ARCHITECTURE,
        "driver": _maybe("open|proprietary"),
        "video_encoder": _WORD,
        "instance_store_gb": r"\d{1,12}",
        "efa_interfaces": r"\d{0,4}",
        "vcpus": _maybe(_COUNT),
        "host_memory_mib": _maybe(_COUNT),
        "network_cards": _maybe(_several(_CARD)),
        **dict.fromkeys(("spot", "on_demand", "capacity_block", "hibernation", "bare_metal"), _maybe(_WORD)),
        "placement": _maybe(_several(_STRATEGY)),
        "status": "current|previous|retired",
        "retired_on": _maybe(_DAY),
        "successor": _maybe(_TYPE),
    },
    "cpu_types.csv": {
        "type": _TYPE,
        "vcpus": _COUNT,
        "memory_mib": _COUNT,
        "architecture": _ARCHITECTURE,
        "processor": r"\S[^\n\r\"]*",
    },
    "cpu_families.csv": {"family": _FAMILY},
    "offerings.csv": {
        "family": _FAMILY,
        "sizes": _several(r"[a-z0-9-]+"),
        "regions": _maybe(_several(_REGION)),
    },
    "regions.csv": {"region": _REGION, "asked_on": _DAY},
    "prices.csv": {
        "type": _TYPE,
        "region": _REGION,
        "usd_per_hour": r"(?=.*[1-9])\d{1,9}(\.\d{1,12})?",
        "date": _DAY,
        "estimated": _WORD,
    },
    "images.csv": {
        "parameter": r"/\S+",
        "region": _maybe(_REGION),
        "image_id": r"\S*",
        "asked_on": _maybe(_DAY),
    },
}
_KEYS: Mapping[str, tuple[str, ...]] = {
    "offerings.csv": ("family", "sizes"),
    "prices.csv": ("type", "region"),
    "images.csv": ("parameter", "region"),
}


def is_type(name: object) -> bool:
    """Whether it can be the name of an instance type."""
    return isinstance(name, str) and re.fullmatch(_TYPE, name) is not None


def is_region(name: object) -> bool:
    """Whether it can be the name of a region."""
    return isinstance(name, str) and re.fullmatch(_REGION, name) is not None


def key(table: str, row: Mapping[str, str]) -> tuple[str, ...]:
    """What tells a row from all others of its table."""
    return tuple(row.get(column) or "" for column in _KEYS.get(table, (next(iter(_CELLS[table])),)))


def wrong_cell(table: str, row: Mapping[str, str]) -> str | None:
    """The column whose cell cannot be true, alone or beside the others, or None. A missing column is not looked at."""
    for column, pattern in _CELLS[table].items():
        if column in row and (row[column] is None or re.fullmatch(pattern, row[column]) is None):
            return column
    return _contradiction(row) if table == "instance_types.csv" else None


def _contradiction(row: Mapping[str, str]) -> str | None:
    cards = row.get("network_cards", "").split()
    if cards and row.get("efa_interfaces"):
        with_efa = sum(int(card.partition("*")[0]) if "*" in card else 1 for card in cards if card.endswith("e"))
        if with_efa != int(row["efa_interfaces"]):
            return "efa_interfaces"
    if row.get("fraction") and row.get("count") != "1":
        return "fraction"
    if row.get("driver") and row.get("kind") != "nvidia":
        return "driver"
    if row.get("retired_on") and row.get("status") != "retired":
        return "retired_on"
    return "successor" if row.get("successor") == row.get("type") else None
