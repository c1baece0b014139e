"""CloudFormation's own language: parameters, conditions, mappings and intrinsic functions, resolved when asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from constructs_lib.errors import ArgumentError
from constructs_lib.rehearsal.property_shapes import NESTED
from constructs_lib.rehearsal.value_shapes import Shape, an_object, anything, missing
from constructs_lib.validation import complaint

REGION = "us-east-1"
_PSEUDO = {
    "AWS::Region": REGION,
    "AWS::AccountId": "111122223333",
    "AWS::Partition": "aws",
    "AWS::URLSuffix": "amazonaws.com",
    "AWS::StackName": "Fleet",
    "AWS::StackId": f"arn:aws:cloudformation:{REGION}:111122223333:stack/Fleet/1",
    "AWS::NotificationARNs": [],
}
_NO_VALUE = {"Ref": "AWS::NoValue"}
_CONDITIONS = "be made of Fn::Equals, Fn::And, Fn::Or, Fn::Not and Condition"
_MISUSED = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""What comes of a function that is given something else than it takes."""
_SUBSTITUTION = re.compile(r"\$\{(!?)([^}]+)\}")


class Resolver:
    """Resolves values of one template; a reference to a resource becomes its logical id, a stable placeholder.

    ``parameters`` are values for the template's parameters; those without one take their default.
    """

    def __init__(self, body: Mapping[str, Any], parameters: Mapping[str, str] | None = None) -> None:
        self._body = body
        self._given = parameters or {}
        self._judged: list[str] = []

    def exists(self, logical_id: str) -> bool:
        """Return whether a resource is there: it is, or its condition holds."""
        condition = self._body["Resources"][logical_id].get("Condition")
        return condition is None or self.holds(condition, logical_id)

    def holds(self, condition: str, where: str) -> bool:
        """Return whether a condition of the template holds."""
        if condition not in self._body.get("Conditions", {}):
            raise _complaint(where, "name a condition of the template", condition, "add it to Conditions")
        where = f"condition {condition}"
        if condition in self._judged:
            raise _complaint(where, "not depend on itself", self._judged, "correct it in the template")
        self._judged.append(condition)
        try:
            return self._judge(self._body["Conditions"][condition], where)
        except _MISUSED as error:
            if isinstance(error, ArgumentError):
                raise
            raise _complaint(where, _CONDITIONS, self._body["Conditions"][condition], "write it so") from error
        finally:
            self._judged.pop()

    def value(self, raw: Any, where: str) -> Any:
        """Return a value with every intrinsic function resolved; ``where`` names resource and property.

        Raises:
            ArgumentError: it cannot be known, or needs a function that is not simulated.
        """
        if isinstance(raw, list):
            return [self.value(item, where) for item in raw if not self.is_absent(item, where)]
        if not isinstance(raw, Mapping):
            return raw
        if len(raw) == 1:
            name, argument = next(iter(raw.items()))
            if name == "Ref" or name.startswith("Fn::"):
                return self._called(name, argument, where)
        return {key: self.value(item, where) for key, item in raw.items() if not self.is_absent(item, where)}

    def is_absent(self, raw: Any, where: str) -> bool:
        """Return whether a value is left out of the template, by AWS::NoValue."""
        return bool(self.chosen(raw, where) == _NO_VALUE)

    def chosen(self, raw: Any, where: str) -> Any:
        """Return what the conditions around a value leave of it, else as it is written."""
        while isinstance(raw, Mapping) and len(raw) == 1 and "Fn::If" in raw:
            raw = self._branch(raw["Fn::If"], where)
        return raw

    def _called(self, name: str, argument: Any, where: str) -> Any:
        try:
            return self._reference(argument, where) if name == "Ref" else self._intrinsic(name, argument, where)
        except _MISUSED as error:
            if isinstance(error, ArgumentError):
                raise
            raise _complaint(where, f"be a valid {name}", argument, "correct it in the template") from error

    def _reference(self, name: str, where: str) -> Any:
        if name in self._body.get("Parameters", {}):
            return self._parameter(name, where)
        return _PSEUDO.get(name, name)

    def _parameter(self, name: str, where: str) -> Any:
        declared = self._body["Parameters"][name]
        value = self._given.get(name, declared.get("Default"))
        if value is None:
            rule = f"be known, and the parameter {name} has no default"
            raise _complaint(where, rule, {"Ref": name}, "give the parameter a default in the template")
        kind = str(declared.get("Type", "String"))
        if "CommaDelimitedList" in kind or kind.startswith("List<"):
            return [each.strip() for each in str(value).split(",")]
        return value

    def _branch(self, argument: Any, where: str) -> Any:
        try:
            condition, yes, no = argument
            return yes if self.holds(condition, where) else no
        except _MISUSED as error:
            if isinstance(error, ArgumentError):
                raise
            raise _complaint(where, "be a valid Fn::If", argument, "correct it in the template") from error

    def _judge(self, raw: Any, where: str) -> bool:
        if not isinstance(raw, Mapping) or len(raw) != 1:
            raise _complaint(where, _CONDITIONS, raw, "write it so")
        name, argument = next(iter(raw.items()))
        if name == "Condition":
            return self.holds(argument, where)
        if name == "Fn::Equals":
            left, right = (self.value(each, where) for each in argument)
            return bool(str(left) == str(right))
        if name in ("Fn::And", "Fn::Or"):
            return (all if name == "Fn::And" else any)(self._judge(each, where) for each in argument)
        if name == "Fn::Not":
            return not self._judge(argument[0], where)
        raise _complaint(where, _CONDITIONS, name, "write it so")

    def _intrinsic(self, name: str, argument: Any, where: str) -> Any:
        if name == "Fn::If":
            return self.value(self._branch(argument, where), where)
        if name == "Fn::Sub":
            text, names = (argument, {}) if isinstance(argument, str) else argument
            return self._substituted(text, self.value(names, where), where)
        if name == "Fn::FindInMap":
            return self._mapped(self.value(argument, where), where)
        function = _FUNCTIONS.get(name)
        if function is None:
            raise _complaint(where, "use functions that are simulated", name, "write the value itself in the template")
        return function(self.value(argument, where))

    def _substituted(self, text: str, names: Mapping[str, Any], where: str) -> str:
        def replace(match: re.Match[str]) -> str:
            literal, name = match.groups()
            if literal:
                return f"${{{name}}}"
            return str(names[name] if name in names else self._reference(name, where))

        return _SUBSTITUTION.sub(replace, text)

    def _mapped(self, path: list[Any], where: str) -> Any:
        name, *keys = (each for each in path if not isinstance(each, Mapping))
        found = self._body.get("Mappings", {}).get(name)
        for key in keys:
            found = found.get(str(key)) if isinstance(found, Mapping) else None
        if found is None:
            defaults = [each["DefaultValue"] for each in path if isinstance(each, Mapping) and "DefaultValue" in each]
            if not defaults:
                raise _complaint(where, "be in the mappings of the template", path, "add it to Mappings")
            return defaults[0]
        return found


class Properties(Mapping[str, Any]):
    """The properties of one resource, each resolved when it is asked for."""

    def __init__(
        self, resolver: Resolver, logical_id: str, raw: Mapping[str, Any], shapes: Mapping[str, Shape]
    ) -> None:
        self._resolver = resolver
        self._logical_id = logical_id
        self._raw = raw
        self._shapes = shapes
        self._resolved: dict[str, Any] = {}

    def nested(self, name: str) -> Properties:
        """Return the entries of one property, each resolved when it is asked for."""
        where = f"{self._logical_id}.{name}"
        raw = self._resolver.chosen(self._raw.get(name, {}), where)
        return Properties(self._resolver, where, {} if raw == _NO_VALUE else an_object(raw, where), NESTED[name])

    def as_written(self, name: str) -> Any:
        """Return a property as the template has it, None if it has none: a reference tells where a value is from."""
        return self._resolver.chosen(self._raw.get(name), f"{self._logical_id}.{name}")

    def __getitem__(self, name: str) -> Any:
        if name not in self._resolved:
            where = f"{self._logical_id}.{name}"
            if name not in self:
                raise missing(where)
            shape = self._shapes.get(name, anything)
            self._resolved[name] = shape(self._resolver.value(self._raw[name], where), where)
        return self._resolved[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._raw if name in self)

    def __contains__(self, name: object) -> bool:
        raw = self._raw.get(str(name), _NO_VALUE)
        return not self._resolver.is_absent(raw, f"{self._logical_id}.{name}")

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _attribute(argument: Any) -> str:
    resource, _, attribute = (argument if isinstance(argument, str) else ".".join(argument)).partition(".")
    # The name of a file system goes into a mount, where no dot may be.
    return f"{resource}-{attribute}" if attribute == "LustreMountName" else f"{resource}.{attribute}"


def _selected(argument: Any) -> Any:
    index, choices = argument
    return choices[int(index)]


def _split(argument: Any) -> list[str]:
    separator, text = argument
    return str(text).split(separator)


def _joined(argument: Any) -> str:
    separator, parts = argument
    return str(separator).join(map(str, parts))


_FUNCTIONS: Mapping[str, Callable[[Any], Any]] = {
    "Fn::Base64": lambda argument: argument,
    "Fn::GetAtt": _attribute,
    "Fn::GetAZs": lambda _argument: [f"{REGION}{letter}" for letter in "abc"],
    "Fn::GetStackOutput": lambda argument: f"output:{argument['StackName']}:{argument['OutputName']}",
    "Fn::ImportValue": lambda argument: f"import:{argument}",
    "Fn::Join": _joined,
    "Fn::Length": len,
    "Fn::Select": _selected,
    "Fn::Split": _split,
    "Fn::ToJsonString": json.dumps,
}


def is_true(value: object) -> bool:
    """Return whether a property is true: a template may have it as text."""
    return str(value).lower() == "true"


def _complaint(where: str, rule: str, value: object, cure: str) -> ArgumentError:
    resource, _, name = where.partition(".")
    return ArgumentError(complaint(resource, name or "value", rule, value, cure))
