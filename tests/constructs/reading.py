"""How the tests read a template: by type, by meaning, and with references written as one readable text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Resource = Mapping[str, Any]
Statement = dict[str, Any]

_HASH = re.compile(r"[0-9A-F]{8}$")


def resources(template: Mapping[str, Any], type_: str) -> dict[str, Resource]:
    """The resources of a type by logical id."""
    return {id: each for id, each in template["Resources"].items() if each["Type"] == type_}


def only(template: Mapping[str, Any], type_: str) -> Resource:
    """The one resource of a type."""
    ((_, found),) = resources(template, type_).items()
    return found


def properties(template: Mapping[str, Any], id_begins: str, type_: str) -> dict[str, Any]:
    """The properties of the one resource of a type whose logical id begins so."""
    (found,) = [each for id, each in resources(template, type_).items() if id.startswith(id_begins)]
    return dict(found["Properties"])


def text(value: Any) -> str:
    """A value with its references resolved to names: ``<LogicalId>``, ``<LogicalId.Attribute>``, without CDK's hash."""
    match value:
        case str() | int() | float():
            return str(value)
        case {"Ref": name}:
            return f"<{_HASH.sub('', name)}>"
        case {"Fn::GetAtt": [name, attribute]}:
            return f"<{_HASH.sub('', name)}.{attribute}>"
        case {"Fn::Sub": str(pattern)}:
            return pattern
        case {"Fn::Join": [delimiter, parts]}:
            return str(delimiter).join(text(part) for part in parts)
        case {"Fn::Base64": inner}:
            return text(inner)
    raise TypeError(f"no text for {value!r}")


def plain(value: Any) -> Any:
    """The same structure with every reference replaced by its text."""
    if isinstance(value, Mapping):
        if len(value) == 1 and next(iter(value)) in ("Ref", "Fn::GetAtt", "Fn::Join", "Fn::Sub"):
            return text(value)
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return value


def references(value: Any) -> Iterator[str]:
    """Logical ids that a value refers to."""
    match value:
        case {"Ref": str(name)}:
            yield name
        case {"Fn::GetAtt": [str(name), *_]}:
            yield name
        case Mapping():
            for inner in value.values():
                yield from references(inner)
        case list():
            for inner in value:
                yield from references(inner)


def needs(template: Mapping[str, Any], id: str) -> set[str]:
    """Everything that a resource refers to or depends on, directly or through others: it outlives the resource."""
    found: set[str] = set()
    pending = [id]
    while pending:
        resource = template["Resources"][pending.pop()]
        depends = resource.get("DependsOn", [])
        direct = {*references(resource.get("Properties", {})), *([depends] if isinstance(depends, str) else depends)}
        new = (direct & template["Resources"].keys()) - found
        found |= new
        pending.extend(new)
    return found


def as_list(value: Any) -> list[Any]:
    """IAM writes a list of one as the one."""
    return value if isinstance(value, list) else [value]


def statements(template: Mapping[str, Any]) -> list[tuple[str, Statement]]:
    """Every statement of every identity policy, with the logical id of the role or policy that holds it."""
    found: list[tuple[str, Statement]] = []
    for id, resource in template["Resources"].items():
        for document in _identity_documents(resource):
            found.extend((id, plain(statement)) for statement in document["Statement"])
    return found


def role_statements(template: Mapping[str, Any], id_begins: str) -> list[Statement]:
    """The statements of the inline policies of one role."""
    role = properties(template, id_begins, "AWS::IAM::Role")
    return [plain(each) for policy in role["Policies"] for each in policy["PolicyDocument"]["Statement"]]


def _identity_documents(resource: Resource) -> list[Mapping[str, Any]]:
    given = resource.get("Properties", {})
    match resource["Type"]:
        case "AWS::IAM::Role":
            return [policy["PolicyDocument"] for policy in given.get("Policies", [])]
        case "AWS::IAM::Policy" | "AWS::IAM::ManagedPolicy":
            return [given["PolicyDocument"]]
    return []


def user_data(template: Mapping[str, Any]) -> str:
    """The boot script of the one launch template."""
    return text(only(template, "AWS::EC2::LaunchTemplate")["Properties"]["LaunchTemplateData"]["UserData"])


def agent_configuration(template: Mapping[str, Any]) -> dict[str, Any]:
    """What the one SSM parameter for it tells the agent."""
    written = properties(template, "FleetAgentConfiguration", "AWS::SSM::Parameter")["Value"]
    configuration: dict[str, Any] = json.loads(written)
    return configuration


def tag(tags: Sequence[Mapping[str, Any]], key: str) -> Any:
    """The value of a tag."""
    (value,) = [plain(each["Value"]) for each in tags if each["Key"] == key]
    return value
