"""Which services of AWS an instance calls: those that its role allows it to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from constructs_lib.template.markers import Made
from constructs_lib.template.plain_values import items, mapping

# Name of the endpoint service where it is not the prefix of the action.
_ENDPOINTS = {"cloudwatch": "monitoring"}
# What the managed policies that instances usually carry allow them to call.
_MANAGED = {
    "AmazonSSMManagedInstanceCore": ("ec2messages", "ssm", "ssmmessages"),
    "CloudWatchAgentServerPolicy": ("ec2", "logs", "monitoring", "ssm"),
}
_STATEMENTS_OF = ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy")


def called_services(profile: Made) -> frozenset[str] | None:
    """Endpoint services, for example ``monitoring``, that an instance profile of the template lets instances call.

    Return None if the role is not in the template.
    """
    roles = items(profile.home.properties(profile.logical_id).get("Roles"))
    services: set[str] = set()
    for role in roles:
        if not isinstance(role, Made) or role.home.kind(role.logical_id) != "AWS::IAM::Role":
            return None
        services |= _of_role(role)
    return frozenset(services) if roles else None


def _of_role(role: Made) -> set[str]:
    properties = role.home.properties(role.logical_id)
    services: set[str] = set()
    for policy in items(properties.get("Policies")):
        services |= _of_document(mapping(policy).get("PolicyDocument"))
    for arn in items(properties.get("ManagedPolicyArns")):
        services |= set(_MANAGED.get(str(arn).rpartition("/")[2], ()))
    for kind in _STATEMENTS_OF:
        for policy in role.home.resources(kind).values():
            if any(_is_same(role, each) for each in items(policy.get("Roles"))):
                services |= _of_document(policy.get("PolicyDocument"))
    return services


def _is_same(role: Made, other: object) -> bool:
    return isinstance(other, Made) and (other.home, other.logical_id) == (role.home, role.logical_id)


def _of_document(document: object) -> set[str]:
    services: set[str] = set()
    statements = mapping(document).get("Statement")
    for statement in [statements] if isinstance(statements, Mapping) else items(statements):
        allowed = mapping(statement)
        if allowed.get("Effect") == "Allow":
            services |= {_endpoint(action) for action in _actions(allowed) if ":" in action}
    return services


def _actions(statement: Mapping[str, Any]) -> list[str]:
    actions = statement.get("Action")
    return [actions] if isinstance(actions, str) else [each for each in items(actions) if isinstance(each, str)]


def _endpoint(action: str) -> str:
    prefix = action.partition(":")[0].lower()
    return _ENDPOINTS.get(prefix, prefix)
