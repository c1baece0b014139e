"""Acknowledged findings of synth-time rule packs, each with its reason beside the resource.

The acknowledgements ride on the CDK's own ``Validations`` mechanism: they cost nothing in the template, and
a user who runs cdk-nag's AwsSolutions pack over an app with our constructs sees no finding that has no answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aws_cdk import Acknowledgment, Stack, Validations
from constructs import IConstruct

_TOKEN = "${Token["


def acknowledge(construct: IConstruct, reasons: Mapping[str, str]) -> None:
    """Record why each finding, for example ``AwsSolutions-L1``, does not apply to ``construct`` and all below it."""
    acknowledgements = [Acknowledgment(id=finding, reason=reason) for finding, reason in reasons.items()]
    Validations.of(construct).acknowledge(*acknowledgements)


def wildcard(construct: IConstruct, resource: str) -> str:
    """The finding that a policy of ``construct`` names the wildcard ``resource``: ``*``, or an ARN with a ``*``."""
    # Asking the CDK to resolve is a call into another process; plain text needs none.
    name = _flatten(Stack.of(construct).resolve(resource)) if _TOKEN in resource else resource
    return f"AwsSolutions-IAM5[Resource::{name}]"


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
