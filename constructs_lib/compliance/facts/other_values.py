"""Accelerators that a deployment gets with other values of its parameters than those that were settled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from constructs_lib.catalog.withdrawn import withdrawn_family
from constructs_lib.compliance.deployment import Deployment, Resource
from constructs_lib.compliance.facts.hosts import hosts
from constructs_lib.compliance.facts.launches import Launch, accelerated_launches
from constructs_lib.compliance.facts.machines import types_named
from constructs_lib.compliance.facts.other_services import KINDS, accelerated
from constructs_lib.compliance.values import NotKnown, Value
from constructs_lib.template.plain_values import items, mapping

_ANY_OTHER = "\0"
"""Stands for a value that a condition does not name, where the template does not limit what there is."""


@dataclass(frozen=True)
class OtherValues:
    """An owner of accelerators that the deployment, as it was settled, does not have.

    Attributes:
        owner: as it is with these values.
        values: of parameters, by name. None: any that the conditions do not name.
    """

    owner: Resource
    values: Mapping[str, str | None]


def accelerated_with_other_values(deployment: Deployment) -> Iterator[OtherValues]:
    """Each owner of accelerators that one has only with other values, once, with values that give it some."""
    choices = {name: each for name, each in _choices(deployment) if each}
    if not choices:
        return
    told = {(each.stack.name, each.id) for places in _accelerated(deployment) for each in places}
    single = [{name: choice} for name, each in choices.items() for choice in each]
    together = {name: each[0] for name, each in choices.items()}
    for values in (*single, *([together] if len(together) > 1 else [])):
        for places in _accelerated(deployment.with_parameters(values), doubtful=False):
            named = {(each.stack.name, each.id) for each in places}
            if told.isdisjoint(named):
                shown = {name: None if each == _ANY_OTHER else each for name, each in values.items()}
                yield OtherValues(places[0], shown)
            told |= named


def _accelerated(deployment: Deployment, *, doubtful: bool = True) -> Iterator[tuple[Resource, ...]]:
    """Who has accelerators, and the resource that says so; with ``doubtful`` those too of whom nobody can tell."""
    for each in chain(accelerated_launches(deployment), hosts(deployment), accelerated(*KINDS)(deployment)):
        if isinstance(each, NotKnown):
            if doubtful:
                yield (each.place.resource if isinstance(each.place, Value) else each.place,)
        elif isinstance(each, Launch):
            yield tuple(dict.fromkeys((each.owner, each.resource)))
        else:
            yield (each if isinstance(each, Resource) else each.resource,)


def _choices(deployment: Deployment) -> Iterator[tuple[str, list[str]]]:
    """What each parameter that has its default can be, as far as it may bring accelerators."""
    for source in deployment.sources:
        compared: dict[str, list[str]] = {}
        for name, value in _comparisons(source.content.get("Conditions")):
            compared.setdefault(name, []).append(value)
        keys = list(_keys_to_accelerators(source.content.get("Mappings")))
        for name, declared in mapping(source.content.get("Parameters")).items():
            default = mapping(declared).get("Default")
            if default is None or name in deployment.parameters or isinstance(default, (list, dict)):
                continue
            allowed = [str(each) for each in items(mapping(declared).get("AllowedValues"))]
            yield name, _others(str(default), allowed, compared.get(name, []), keys)


def _others(default: str, allowed: list[str], compared: list[str], keys: list[tuple[set[str], str]]) -> list[str]:
    named = [each for each in allowed if _is_accelerated(each) and each != default][:1]
    if compared:
        # One value for each that a condition names, and one that none does.
        unnamed = [each for each in allowed if each not in compared][:1] or ([] if allowed else [_ANY_OTHER])
        named += [*compared, *(unnamed if default in compared else [])]
    named += [key for siblings, key in keys if default in siblings]
    return [each for each in dict.fromkeys(named) if each != default and (not allowed or each in allowed or not each)]


def _is_accelerated(name: str) -> bool:
    return bool(types_named(name)) or withdrawn_family(name) is not None


def _comparisons(conditions: Any) -> Iterator[tuple[str, str]]:
    """The parameters that conditions compare with a text, and the text."""
    pending = [conditions]
    while pending:
        value = pending.pop()
        if isinstance(value, list):
            pending += value
        elif isinstance(value, Mapping):
            sides = items(value.get("Fn::Equals"))
            for side, other in (sides, sides[::-1]) if len(sides) == 2 else ():
                name = mapping(side).get("Ref")
                if isinstance(name, str) and isinstance(other, (str, int, float)):
                    yield name, str(other).lower() if isinstance(other, bool) else str(other)
            pending += value.values()


def _keys_to_accelerators(mappings: Any) -> Iterator[tuple[set[str], str]]:
    """The keys of mappings under which an accelerated type stands, each with all keys of its level."""
    for table in mapping(mappings).values():
        rows = {str(key): mapping(row) for key, row in mapping(table).items()}
        columns = {str(key) for row in rows.values() for key in row}
        for key, row in rows.items():
            for column, cell in row.items():
                if isinstance(cell, str) and _is_accelerated(cell):
                    yield set(rows), key
                    yield columns, str(column)
