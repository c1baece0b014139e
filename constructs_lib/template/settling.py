"""Reads a CloudFormation template and settles its intrinsic functions as far as that goes without a deploy.

What a value is in the end is one of: plain data, or one of the markers, which say who would know it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from constructs_lib.errors import ArgumentError
from constructs_lib.template.markers import (
    Made,
    PartText,
    SsmParameter,
    StackOutput,
    Unknown,
    ZoneAt,
    Zones,
    holds_marker,
    is_marker,
)
from constructs_lib.template.plain_values import items, mapping, whole
from constructs_lib.validation import complaint

_DEEPEST = 60
_VARIABLE = re.compile(r"\$\{([^}]{0,600})\}")
"""No name is that long; without a limit, a text of braces that open alone takes a time that grows with its square."""
_LONGEST = 1_000_000
"""Of a text that is put together; a template has at most 1 MB ("CloudFormation quotas", AWS, 2026)."""
_DYNAMIC = re.compile(r"\{\{resolve:ssm:([^:}]+)(?::[0-9]+)?\}\}")
_REFERENCE = re.compile(r"\{\{resolve:[^{}]*\}\}")
_OUTPUTS = "Outputs."
_SSM_PARAMETER = "AWS::SSM::Parameter::Value<"
_SAY_IT = "write the value into the template"


_NO_VALUE = object()
_CONDITIONS = "Fn::Equals, Fn::And, Fn::Or, Fn::Not and Condition"


@dataclass(frozen=True)
class Surroundings:
    """What a deploy knows beside the template.

    Attributes:
        region: that it goes to. None: not known.
        account: number of the account. None: not known.
        parameters: values that the deploy passes for the template's parameters: texts, or what a parent stack passes,
            settled.
        beside: templates of other stacks that are deployed with it, by the name of the stack.
        pseudo: values of pseudo parameters, such as ``AWS::StackId``, that the others do not tell.
    """

    region: str | None
    account: str | None = None
    parameters: Mapping[str, object] = field(default_factory=dict)
    beside: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    pseudo: Mapping[str, object] = field(default_factory=dict)


class Template:
    """A template in its surroundings.

    Args:
        document: the template as plain data.
        surroundings: of the deploy.
        stack: name of the stack. None: not known.

    Raises:
        ArgumentError: ``document`` is no template.
    """

    def __init__(self, document: object, surroundings: Surroundings, *, stack: str | None = None) -> None:
        if not isinstance(document, Mapping):
            cure = "load the JSON that cdk synth writes, for example cdk.out/MyStack.template.json"
            raise ArgumentError(complaint("preflight", "template", "be a CloudFormation template", document, cure))
        self.document = document
        self._surroundings = surroundings
        self._stack = stack
        self._neighbours: dict[str, Template] = {}
        self._nested: dict[str, Template] = {}
        self._conditions: dict[str, bool | Unknown] = {}
        self._outputs: dict[str, object] = {}
        self._exports: dict[str, str] | None = None
        self._functions: Mapping[str, Callable[[Any, int], object]] = {
            "Ref": self._ref,
            "Fn::GetAtt": self._attribute,
            "Fn::Join": self._join,
            "Fn::Sub": self._sub,
            "Fn::Select": self._select,
            "Fn::Split": self._split,
            "Fn::FindInMap": self._find_in_map,
            "Fn::If": self._if,
            "Fn::GetAZs": self._zones,
            "Fn::ImportValue": self._import_value,
            "Fn::GetStackOutput": self._stack_output,
            "Fn::Base64": self._settle,
            "Fn::Length": self._length,
            "Fn::ToJsonString": self._json,
        }

    def take_nested(self, logical_id: str, template: Template) -> None:
        """Let a resource be a nested stack of this template, whose outputs are attributes of the resource."""
        self._nested[logical_id] = template

    @property
    def region(self) -> str | None:
        """The Region that the deploy goes to. None: not known."""
        return self._surroundings.region

    def resources(self, kind: str) -> dict[str, dict[str, Any]]:
        """Properties of the resources of one type by logical id, settled; those that a condition leaves out are not."""
        return {id: self.properties(id) for id in self.ids() if self.kind(id) == kind}

    def ids(self) -> list[str]:
        """Logical ids of the resources that a deploy makes."""
        return [id for id, resource in self._section("Resources").items() if self._is_made(resource)]

    def kind(self, logical_id: str) -> str | None:
        """Type of a resource."""
        kind = mapping(self._section("Resources").get(logical_id)).get("Type")
        return kind if isinstance(kind, str) else None

    def properties(self, logical_id: str) -> dict[str, Any]:
        """Properties of a resource, settled."""
        resource = mapping(self._section("Resources").get(logical_id))
        return mapping(self.settle(mapping(resource.get("Properties"))))

    def has_default(self, parameter: str) -> bool:
        """Whether a parameter of the template has its default, since nobody passes a value."""
        declared = mapping(self._section("Parameters").get(parameter))
        return "Default" in declared and parameter not in self._surroundings.parameters

    def condition(self, name: str) -> bool | Unknown:
        """Whether a condition of the template holds."""
        return self._named_condition(name, 0)

    def settle(self, value: object) -> Any:
        """Plain data, with a marker where the template alone does not tell."""
        settled = self._settle(value, 0)
        return None if settled is _NO_VALUE else settled

    def _section(self, name: str) -> Mapping[str, Any]:
        return mapping(self.document.get(name))

    def _is_made(self, resource: object) -> bool:
        condition = mapping(resource).get("Condition")
        return not isinstance(condition, str) or self.condition(condition) is not False

    def _settle(self, value: object, depth: int) -> object:
        if depth > _DEEPEST:
            return Unknown("it refers to itself, or is nested too deeply", "look at the template")
        if isinstance(value, str):
            return _dynamic(value)
        if isinstance(value, (list, tuple)):
            items = [self._settle(item, depth + 1) for item in value]
            return [item for item in items if item is not _NO_VALUE]
        if isinstance(value, (dict, Mapping)):
            return self._settle_mapping(value, depth)
        return value

    def _settle_mapping(self, value: Mapping[str, Any], depth: int) -> object:
        if len(value) == 1:
            ((name, argument),) = value.items()
            if name in self._functions:
                return self._functions[name](argument, depth + 1)
            if str(name).startswith("Fn::"):
                return Unknown(f"{name} is worked out by the deploy", _SAY_IT)
        settled = {name: self._settle(item, depth + 1) for name, item in value.items()}
        return {name: item for name, item in settled.items() if item is not _NO_VALUE}

    def _ref(self, name: object, depth: int) -> object:
        if not isinstance(name, str):
            return _malformed("Ref")
        if name.startswith("AWS::"):
            return self._pseudo(name)
        if name in self._section("Parameters"):
            return self._parameter(name)
        if name in self._section("Resources"):
            return Made(self, name)
        return Unknown(f"{name} is neither a parameter nor a resource of the template", "correct the reference")

    def _pseudo(self, name: str) -> object:
        region = self._surroundings.region
        known = {
            **self._surroundings.pseudo,
            "AWS::NoValue": _NO_VALUE,
            "AWS::Region": region,
            "AWS::AccountId": self._surroundings.account,
            "AWS::StackName": self._stack,
            "AWS::Partition": None if region is None else partition(region),
            "AWS::URLSuffix": None if region is None else _suffix(region),
        }
        value = known.get(name)
        return Unknown(f"{name} is known at the deploy only", _SAY_IT, name=name) if value is None else value

    def _parameter(self, name: str) -> object:
        declared = mapping(self._section("Parameters").get(name))
        value = self._surroundings.parameters.get(name, declared.get("Default"))
        if is_marker(value) or isinstance(value, (list, dict)):
            return value
        if value is None:
            allowed = tuple(items(declared.get("AllowedValues")))
            reason, cure = f"parameter {name} has no default", f"pass --parameter {name}=VALUE"
            return Unknown(reason, cure, choices=allowed, name=name)
        kind = str(declared.get("Type"))
        if kind.startswith(_SSM_PARAMETER):
            return SsmParameter(str(value))
        if isinstance(value, str) and (kind == "CommaDelimitedList" or kind.startswith("List<")):
            return [item.strip() for item in value.split(",") if item.strip()]
        return value

    def _attribute(self, argument: object, depth: int) -> object:
        parts = argument.split(".", 1) if isinstance(argument, str) else argument
        if not isinstance(parts, (list, tuple)) or len(parts) != 2:
            return _malformed("Fn::GetAtt")
        id, attribute = parts
        if not isinstance(id, str) or id not in self._section("Resources"):
            return Unknown(f"{id} is no resource of the template", "correct the reference")
        if id in self._nested and isinstance(attribute, str) and attribute.startswith(_OUTPUTS):
            return self._nested[id]._output(attribute.removeprefix(_OUTPUTS), depth)
        return Made(self, id, attribute if isinstance(attribute, str) else None)

    def _join(self, argument: object, depth: int) -> object:
        if not isinstance(argument, (list, tuple)) or len(argument) != 2 or not isinstance(argument[0], str):
            return _malformed("Fn::Join")
        items = self._settle(argument[1], depth)
        if not isinstance(items, list):
            return items if is_marker(items) else _malformed("Fn::Join")
        return _joined(argument[0], items)

    def _sub(self, argument: object, depth: int) -> object:
        text: object = argument
        own: Mapping[str, Any] = {}
        if isinstance(argument, (list, tuple)) and len(argument) == 2:
            text, own = argument[0], mapping(argument[1])
        if not isinstance(text, str):
            return _malformed("Fn::Sub")
        parts: list[object] = []
        end = 0
        for match in _VARIABLE.finditer(text):
            parts += [text[end : match.start()], self._variable(match[1], own, depth)]
            end = match.end()
        parts.append(text[end:])
        filled = [part for part in parts if part != ""]
        if len(filled) == 1:
            return _dynamic(filled[0]) if isinstance(filled[0], str) else filled[0]
        return _joined("", filled)

    def _variable(self, name: str, own: Mapping[str, Any], depth: int) -> object:
        if name.startswith("!"):
            return f"${{{name[1:]}}}"
        if name in own:
            return self._settle(own[name], depth)
        return self._attribute(name, depth) if "." in name else self._ref(name, depth)

    def _length(self, argument: object, depth: int) -> object:
        items = self._settle(argument, depth)
        if isinstance(items, list):
            return len(items)
        return items if isinstance(items, Unknown) else Unknown("it is the length of a list not known yet", _SAY_IT)

    def _json(self, argument: object, depth: int) -> object:
        value = self._settle(argument, depth)
        if value is _NO_VALUE:
            return _malformed("Fn::ToJsonString")
        if holds_marker(value):
            return value if isinstance(value, Unknown) else Unknown("a part of it is known at the deploy only", _SAY_IT)
        return json.dumps(value)

    def _select(self, argument: object, depth: int) -> object:
        if not isinstance(argument, (list, tuple)) or len(argument) != 2:
            return _malformed("Fn::Select")
        index, items = whole(self._settle(argument[0], depth)), self._settle(argument[1], depth)
        if index is None:
            return _malformed("Fn::Select")
        if isinstance(items, Zones):
            return ZoneAt(index)
        if isinstance(items, list):
            return items[index] if 0 <= index < len(items) else _malformed("Fn::Select")
        return items if isinstance(items, Unknown) else Unknown("it is a part of a value not known yet", _SAY_IT)

    def _split(self, argument: object, depth: int) -> object:
        if not isinstance(argument, (list, tuple)) or len(argument) != 2 or not isinstance(argument[0], str):
            return _malformed("Fn::Split")
        text = self._settle(argument[1], depth)
        if isinstance(text, str) and argument[0]:
            return text.split(argument[0])
        return text if isinstance(text, Unknown) else Unknown("it is a part of a value not known yet", _SAY_IT)

    def _find_in_map(self, argument: object, depth: int) -> object:
        if not isinstance(argument, (list, tuple)) or len(argument) < 3:
            return _malformed("Fn::FindInMap")
        table, first, second = (self._settle(part, depth) for part in argument[:3])
        rows = mapping(self._section("Mappings").get(table)) if isinstance(table, str) else {}
        row = mapping(rows.get(first)) if isinstance(first, str) else {}
        if isinstance(second, str) and second in row:
            return row[second]
        default = mapping(argument[3]).get("DefaultValue") if len(argument) > 3 else None
        if is_marker(first) or is_marker(second):
            # An unknown key leaves each row, or each column, that there is.
            asked = [mapping(each) for each in rows.values()] if is_marker(first) else [row]
            cells = [each.get(second, default) for each in asked] if isinstance(second, str) else list(row.values())
            reason = f"only a deploy tells which entry of mapping {table} is meant"
            cure = "pass --region, or --parameter NAME=VALUE"
            return Unknown(reason, cure, choices=_choices([self._settle(each, depth) for each in cells]))
        if default is not None:
            return self._settle(default, depth)
        return Unknown(f"mapping {table} has no value for this", "look at the template's Mappings")

    def _if(self, argument: object, depth: int) -> object:
        if not isinstance(argument, (list, tuple)) or len(argument) != 3:
            return _malformed("Fn::If")
        if not isinstance(argument[0], str):
            return _malformed("Fn::If")
        truth = self._named_condition(argument[0], depth)
        if isinstance(truth, Unknown):
            sides = [self._settle(side, depth) for side in argument[1:]]
            if sides[0] == sides[1] and not holds_marker(sides[0]):
                return sides[0]
            return replace(truth, choices=_choices(sides))
        return self._settle(argument[1] if truth else argument[2], depth)

    def _named_condition(self, name: str, depth: int) -> bool | Unknown:
        """Whether a condition of the template holds, which is worked out once."""
        if name not in self._section("Conditions"):
            return Unknown(f"the template has no condition {name}", "add it to its Conditions")
        if name not in self._conditions:
            self._conditions[name] = Unknown(f"condition {name} refers to itself", "correct the template")
            self._conditions[name] = self._judge(name, self._section("Conditions")[name], depth + 1)
        return self._conditions[name]

    def _judge(self, name: str, condition: object, depth: int) -> bool | Unknown:
        """Whether a condition, or a part of it, holds; ``name`` is that of the whole."""
        misspelt = Unknown(f"condition {name} is not made of {_CONDITIONS}", "correct the template")
        if depth > _DEEPEST or not isinstance(condition, Mapping) or len(condition) != 1:
            return misspelt
        ((function, argument),) = condition.items()
        if function == "Condition":
            return self._named_condition(argument, depth) if isinstance(argument, str) else misspelt
        if not isinstance(argument, (list, tuple)) or not argument:
            return misspelt
        if function == "Fn::Equals" and len(argument) == 2:
            left, right = (self._settle(side, depth + 1) for side in argument)
            if is_marker(left) or is_marker(right):
                return Unknown(f"condition {name} depends on what the deploy is given", "pass --parameter NAME=VALUE")
            return str(left) == str(right)
        truths = [self._judge(name, item, depth + 1) for item in argument]
        combined = _combined(function, truths)
        return misspelt if combined is None else combined

    def _zones(self, argument: object, depth: int) -> object:
        region = self._settle(argument, depth)
        if argument == {"Ref": "AWS::Region"} or region in ("", self._surroundings.region):
            return Zones()
        return Unknown("its zones are those of another Region", "name the zones")

    def _import_value(self, argument: object, depth: int) -> object:
        name = self._settle(argument, depth)
        if not isinstance(name, str):
            return name if isinstance(name, Unknown) else _malformed("Fn::ImportValue")
        for stack in self._surroundings.beside:
            neighbour = self._neighbour(stack)
            output = neighbour._exported(depth).get(name)
            if output is not None:
                return neighbour._output(output, depth)
        return StackOutput(name)

    def _exported(self, depth: int) -> Mapping[str, str]:
        """The outputs by the name that they are exported by, which are looked for once; of two, the first counts."""
        if self._exports is None:
            self._exports = {}  # for a name that hangs on itself
            for id, output in self._section("Outputs").items():
                name = self._settle(mapping(mapping(output).get("Export")).get("Name"), depth)
                if isinstance(name, str):
                    self._exports.setdefault(name, id)
        return self._exports

    def _output(self, name: str, depth: int) -> object:
        if name not in self._section("Outputs"):
            return Unknown(f"the nested stack has no output {name}", "correct the reference")
        if name not in self._outputs:
            self._outputs[name] = Unknown(f"output {name} refers to itself", "look at the template")
            self._outputs[name] = self._settle(mapping(self._section("Outputs")[name]).get("Value"), depth)
        return self._outputs[name]

    def _stack_output(self, argument: object, depth: int) -> object:
        asked = mapping(argument)
        stack, output = self._settle(asked.get("StackName"), depth), self._settle(asked.get("OutputName"), depth)
        region = self._settle(asked.get("Region", self._surroundings.region), depth)
        if not isinstance(stack, str) or not isinstance(output, str) or region != self._surroundings.region:
            return Unknown("it is an output of a stack that the template does not name", _SAY_IT)
        if stack in self._surroundings.beside:
            neighbour = self._neighbour(stack)
            if output in neighbour._section("Outputs"):
                return neighbour._output(output, depth)
        return StackOutput(output, stack)

    def _neighbour(self, stack: str) -> Template:
        if stack not in self._neighbours:
            around = Surroundings(self.region, self._surroundings.account, {}, self._surroundings.beside)
            self._neighbours[stack] = Template(self._surroundings.beside[stack], around, stack=stack)
            self._neighbours[stack]._neighbours = self._neighbours
        return self._neighbours[stack]


def partition(region: str) -> str:
    """The partition of a Region, as ARNs write it."""
    if region.startswith("cn-"):
        return "aws-cn"
    return "aws-us-gov" if region.startswith("us-gov-") else "aws"


def _suffix(region: str) -> str:
    return "amazonaws.com.cn" if partition(region) == "aws-cn" else "amazonaws.com"


def _malformed(function: str) -> Unknown:
    return Unknown(f"{function} is not written as CloudFormation wants it", "correct the template")


def _dynamic(value: str) -> object:
    if "{{resolve:" not in value:
        return value
    match = _DYNAMIC.fullmatch(value)
    if match:
        return SsmParameter(match[1])
    resolved = Unknown("it is a dynamic reference that the deploy resolves", _SAY_IT)
    first, *others = _REFERENCE.split(value)
    if not others:
        return value  # The beginning of one, which a function joins to its end.
    if not first and others == [""]:
        return resolved
    parts = [first, *(part for text in others for part in (resolved, text))]
    return PartText(resolved.reason, _SAY_IT, tuple(part for part in parts if part))


def _joined(separator: str, parts: Sequence[object]) -> object:
    """The text, or a text in part with the reason of its first part that is not known."""
    pieces: list[object] = []
    for number, part in enumerate(parts):
        pieces += [separator] if number and separator else []
        if isinstance(part, PartText):
            pieces += part.parts
        elif isinstance(part, (list, dict)):
            pieces.append(Unknown("it is put together from values that only a deploy settles", _SAY_IT))
        else:
            pieces.append(part if is_marker(part) else _as_text(part))
    if sum(len(piece) if isinstance(piece, str) else 1 for piece in pieces) > _LONGEST:
        return Unknown("it is put together to a text that is too long to deploy", "look at the template")
    if not any(is_marker(piece) for piece in pieces):
        return _dynamic("".join(map(str, pieces)))
    why = next((piece for piece in pieces if isinstance(piece, Unknown)), None)
    reason = "it is put together from values that only a deploy settles" if why is None else why.reason
    return PartText(reason, _SAY_IT if why is None else why.cure, tuple(pieces))


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _choices(sides: Sequence[object]) -> tuple[object, ...]:
    """All that one of these values can be; empty if one of them can be anything."""
    each_side = [side.choices if isinstance(side, Unknown) else (side,) for side in sides]
    flat = tuple(choice for side in each_side for choice in side)
    is_open = any(each is None or each is _NO_VALUE or holds_marker(each) for each in flat)
    return () if is_open or not all(each_side) else flat


def _combined(function: str, truths: Sequence[bool | Unknown]) -> bool | Unknown | None:
    """What a function makes of conditions, as far as those that are known decide it; None if it takes none such."""
    doubt = next((each for each in truths if isinstance(each, Unknown)), None)
    if function == "Fn::Not" and len(truths) == 1:
        return not truths[0] if doubt is None else doubt
    deciding = {"Fn::And": False, "Fn::Or": True}.get(function)
    if deciding is None or deciding in truths:
        return deciding
    return not deciding if doubt is None else doubt
