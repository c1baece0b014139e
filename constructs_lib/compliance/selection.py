"""Which rules are asked."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

from constructs_lib.compliance.rule import Rule
from constructs_lib.compliance.rules import RULES
from constructs_lib.errors import ArgumentError
from constructs_lib.validation import closest, complaint

_WHERE = "check"
_CURE = "accel-fleet check --list shows them"


def chosen_rules(select: Iterable[str] | None = None, ignore: Iterable[str] | None = None) -> tuple[Rule[Any], ...]:
    """The rules that are asked, in the order of reports.

    Args:
        select: their ids, or patterns with ``*``. Default: all.
        ignore: ids or patterns of those that are left out. Default: none.

    Raises:
        ArgumentError: one of them is no rule's, or no rule is left.
    """
    asked = set(RULES) if select is None else _named("select", select)
    left = asked - (set() if ignore is None else _named("ignore", ignore))
    if not left:
        raise ArgumentError(complaint(_WHERE, "ignore", "leave a rule to be asked", sorted(ignore or ()), _CURE))
    return tuple(rule for id, rule in RULES.items() if id in left)


def rule_with(id: str, rules: Iterable[Rule[Any]], *, parameter: str) -> Rule[Any]:
    """The rule of that id.

    Raises:
        ArgumentError: there is none; the message names the one that was probably meant.
    """
    by_id = {each.id: each for each in rules}
    if id not in by_id:
        raise ArgumentError(complaint(_WHERE, parameter, "be the id of a rule", id, closest(id, list(by_id)) + _CURE))
    return by_id[id]


def _named(parameter: str, patterns: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for pattern in _ids(parameter, patterns):
        matching = {id for id in RULES if fnmatchcase(id, pattern)}
        found |= matching or {rule_with(pattern, RULES.values(), parameter=parameter).id}
    return found


def _ids(parameter: str, given: object) -> list[str]:
    entries: list[object] = list(given) if isinstance(given, Iterable) else [given]
    ids = [each for each in entries if isinstance(each, str)]
    # A text is an iterable of texts, and not meant as one.
    if isinstance(given, str) or len(ids) < len(entries):
        raise ArgumentError(complaint(_WHERE, parameter, "be a list of ids of rules", given, _CURE))
    return ids
