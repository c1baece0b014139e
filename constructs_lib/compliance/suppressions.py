"""Findings that somebody has answered: in the metadata of a resource, or of a template for all of its resources.

::

    Metadata:
      accel-fleet:
        suppress:
          - rule: minimum-above-zero
            reason: the model has to answer within a second, day and night
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from constructs_lib.compliance.deployment import Resource, Stack
from constructs_lib.statements import ALL, KEY, SUPPRESS
from constructs_lib.template.plain_values import mapping


@dataclass(frozen=True)
class Suppression:
    """An answer to a finding.

    Attributes:
        rule: id.
        reason: why the finding stays.
    """

    rule: str
    reason: str


def reason_for(resource: Resource, rule: str) -> str | None:
    """Why the findings of a rule about a resource stay. None: nobody has said."""
    for metadata in (resource.written.get("Metadata"), resource.stack.source.content.get("Metadata")):
        for each in _listed(metadata):
            if isinstance(each, Suppression) and each.rule == rule:
                return each.reason
    return None


def faults_of(stack: Stack, rules: Collection[str]) -> Iterator[tuple[str | None, str, object]]:
    """Suppressions that nobody can act on: logical id (None: the template's own), what must hold, what is there."""
    places: list[tuple[str | None, Any]] = [(None, stack.source.content.get("Metadata"))]
    places += [(each.id, each.written.get("Metadata")) for each in stack.resources.values()]
    for logical_id, metadata in places:
        for each in _listed(metadata):
            if not isinstance(each, Suppression):
                yield logical_id, "be a list of objects with a rule and a reason that is not empty", each
            elif each.rule not in rules:
                yield logical_id, "name a rule that there is", each.rule


def _listed(metadata: object) -> Iterator[Suppression | object]:
    ours = mapping(metadata).get(KEY) if metadata else None
    if ours is None or (isinstance(ours, Mapping) and SUPPRESS not in ours and ours.keys() <= set(ALL)):
        return
    listed = ours.get(SUPPRESS) if isinstance(ours, Mapping) else ours
    if not isinstance(listed, list):
        yield listed
        return
    for each in listed:
        rule, reason = mapping(each).get("rule"), mapping(each).get("reason")
        good = isinstance(rule, str) and isinstance(reason, str) and reason.strip()
        yield Suppression(str(rule), str(reason).strip()) if good else each
