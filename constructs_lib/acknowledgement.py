"""Acknowledged findings of synth-time rule packs, each with its reason beside the resource.

The acknowledgements ride on the CDK's own ``Validations`` mechanism: they cost nothing in the template, and
a user who runs cdk-nag's AwsSolutions pack over an app with our constructs sees no finding that has no answer.
"""

from __future__ import annotations

from typing import Any

from aws_cdk import Acknowledgment, Stack, Validations
from constructs import IConstruct


def acknowledge(construct: IConstruct, rule: str, reason: str) -> None:
    """Record why ``rule`` (for example ``AwsSolutions-L1``) does not apply to ``construct``."""
    Validations.of(construct).acknowledge(Acknowledgment(id=rule, reason=reason))


def acknowledge_wildcard(construct: IConstruct, resource: str, reason: str) -> None:
    """Record why a policy under ``construct`` names the wildcard ``resource`` (``*`` or an ARN with a ``*``)."""
    finding = f"Resource::{_flatten(Stack.of(construct).resolve(resource))}"
    acknowledge(construct, f"AwsSolutions-IAM5[{finding}]", reason)


def _flatten(value: Any) -> str:
    """Write a resolved reference the way cdk-nag names it in a finding: ``<LogicalId>``, ``<LogicalId.Attr>``."""
    match value:
        case str():
            return value
        case {"Ref": name}:
            return f"<{name}>"
        case {"Fn::GetAtt": [name, attribute]}:
            return f"<{name}.{attribute}>"
        case {"Fn::Join": [delimiter, parts]}:
            return str(delimiter).join(_flatten(part) for part in parts)
    raise TypeError(f"cannot name {value!r} in a finding")
