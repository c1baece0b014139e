"""Values that somebody passes for the parameters of templates, as a deploy would."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from constructs_lib.errors import ArgumentError
from constructs_lib.template.plain_values import items, mapping
from constructs_lib.validation import closest, complaint, instance_of, text


def check_parameters(
    where: str, option: str, given: object, templates: Iterable[Mapping[str, Any]]
) -> Mapping[str, str]:
    """Refuse what a deploy would not take, or what would answer nothing because a name is spelt wrongly.

    Args:
        where: it is asked, and as what ``option``, for the message.
        given: values by name.
        templates: each takes the values of those parameters that it has.

    Raises:
        ArgumentError: ``given`` has something else than texts; no template has such a parameter, or none allows the
            value.
    """
    cure = "write for example {'ImageId': 'ami-0123456789abcdef0'}"
    values = instance_of(where, option, given, Mapping, cure=cure)
    declared: dict[str, list[Mapping[str, Any]]] = {}
    for each in templates:
        for name, parameter in mapping(mapping(each).get("Parameters")).items():
            declared.setdefault(name, []).append(mapping(parameter))
    for name, value in values.items():
        text(where, option, name, cure=cure)
        place = f"{option}[{name!r}]"
        instance_of(where, place, value, str, cure=cure)
        if name not in declared:
            said = f"{closest(name, sorted(declared))}see Parameters of the template"
            raise ArgumentError(complaint(where, option, "be declared by a template", name, said))
        allowed = [[str(choice) for choice in items(each.get("AllowedValues"))] for each in declared[name]]
        if all(choices and value not in choices for choices in allowed):
            rule = f"be one of {', '.join(dict.fromkeys(choice for choices in allowed for choice in choices))}"
            raise ArgumentError(complaint(where, place, rule, value, "give a value that the template allows"))
    return values
