"""What policies that AWS manages give of the actions that rules ask for.

From the tables ``managed_policies.csv`` and ``managed_policies_elsewhere.csv`` of the catalogue, which say whence they
are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from constructs_lib.catalog import tables

_GIVING = "managed_policies.csv"
_ELSEWHERE = "managed_policies_elsewhere.csv"
_LISTS = {"Action": "actions", "NotAction": "not_actions", "Resource": "resources", "NotResource": "not_resources"}

_Statement = Mapping[str, Any]


def managed_policy(name: str) -> Sequence[_Statement] | None:
    """Statements of a policy, none if it gives nothing that a rule asks for. None: the policy is not known."""
    return managed_policies().get(name)


@cache
def managed_policies() -> Mapping[str, Sequence[_Statement]]:
    """Statements of all policies that are known, by name."""
    found: dict[str, list[_Statement]] = {each["policy"]: [] for each in tables.read(_ELSEWHERE)}
    for row in tables.read(_GIVING):
        found.setdefault(row["policy"], []).append(dict(_words(row)))
    return found


def _words(row: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    yield "Effect", row["effect"] or "Allow"
    for word, column in _LISTS.items():
        if row[column]:
            yield word, row[column].split(" ")
    if row["condition"]:
        yield "Condition", json.loads(row["condition"])
