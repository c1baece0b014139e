"""Keys of KMS that the templates make, and whom their policies let in."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from constructs_lib.compliance.deployment import Deployment, Resource
from constructs_lib.compliance.facts.policies import Statement, policy_statements, settled
from constructs_lib.compliance.values import NotKnown, Value, any_of
from constructs_lib.template.markers import PartText

KEY = "AWS::KMS::Key"
REPLICA = "AWS::KMS::ReplicaKey"
ALIAS = "AWS::KMS::Alias"

_OPAQUE = ("Custom::", "AWS::CloudFormation::CustomResource")


def key_of(value: Value) -> Resource | None:
    """The key that a value names, itself or by an alias. None: absent, or the key is one that AWS manages.

    Raises:
        NotKnown: the key is not in the templates, or nobody can tell which it is.
    """
    made = value.made() or value.resource.deployment.once(_aliases).get(_plain(value))
    if made is not None and made.type == ALIAS:
        return key_of(made.properties.at("TargetKeyId"))
    if made is not None and made.type in (KEY, REPLICA):
        return made
    if value.is_absent or is_of_aws(value):
        return None
    raise value.not_known("the key is not in the templates")


def _aliases(deployment: Deployment) -> Mapping[str, Resource]:
    names = [(each.properties.at("AliasName").raw, each) for each in deployment.resources(ALIAS)]
    return {name: alias for name, alias in names if isinstance(name, str)}


def _plain(value: Value) -> str:
    return value.raw if isinstance(value.raw, str) else ""


def is_of_aws(value: Value) -> bool:
    """Whether a value names a key that AWS manages: by an alias that begins with ``aws/``."""
    name = value.searchable() if isinstance(value.raw, (str, PartText)) else None
    return name is not None and (name.startswith("alias/aws/") or ":alias/aws/" in name)


def lets_in(key: Resource, is_for: Callable[[Statement], bool], action: str) -> bool:
    """Whether the policy of a key allows an action to somebody, under some condition.

    Args:
        key: of the templates.
        is_for: whether a statement is for the one that asks.
        action: of KMS.

    Raises:
        NotKnown: none of its statements that are known does, and something that is not may.
    """

    def gives(statement: Statement | NotKnown) -> bool:
        known = settled(statement)
        return known.allows() and known.covers(action) and is_for(known)

    # Without a policy of its own a key has one that lets in nobody but the account's users and roles.
    if any_of(gives, policy_statements(key.properties.at("KeyPolicy"))):
        return True
    opaque = next((each for each in key.users() if each.type.startswith(_OPAQUE)), None)
    if opaque is not None:
        raise NotKnown(key, f"{opaque.id} may give grants on it")
    return False
