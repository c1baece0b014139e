"""Roles of instances and functions, and what they may do, as far as the templates tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from constructs_lib.compliance.deployment import Deployment, Resource
from constructs_lib.compliance.facts.launches import BATCH, NODE_GROUP, Launch
from constructs_lib.compliance.facts.managed_policies import managed_policy
from constructs_lib.compliance.facts.policies import Statement, policy_statements, settled
from constructs_lib.compliance.values import NotKnown, Value, any_of
from constructs_lib.template.markers import Made, PartText, Unknown, markers_in

ROLE = "AWS::IAM::Role"
PROFILE = "AWS::IAM::InstanceProfile"
MANAGED_POLICY = "AWS::IAM::ManagedPolicy"
FUNCTION = "AWS::Lambda::Function"
SERVERLESS_FUNCTION = "AWS::Serverless::Function"

_POLICY = "AWS::IAM::Policy"
_ROLE_POLICY = "AWS::IAM::RolePolicy"
_OF_AWS = ":iam::aws:policy/"
_NAMES: Mapping[str, str] = MappingProxyType({ROLE: "RoleName", PROFILE: "InstanceProfileName"})
_OPAQUE = ("Custom::", "AWS::CloudFormation::CustomResource")


def role_of(launch: Launch) -> Resource | None:
    """The role of the instances of a launch. None: they have none.

    Raises:
        NotKnown: it is not in the templates, or nobody can tell which it is.
    """
    owner = launch.owner
    if owner.type == NODE_GROUP:
        return _named(owner.properties.at("NodeRole"), ROLE)
    if owner.type == BATCH:
        return _of_profile(owner.properties.at("ComputeResources.InstanceRole"))
    return _of_profile(launch.setting("IamInstanceProfile"))


def role_of_function(function: Resource) -> Resource | None:
    """The role of a Lambda function. None: the function is one of SAM's that gets its own from ``Policies``.

    Raises:
        NotKnown: it is not in the templates, or nobody can tell which it is.
    """
    role = function.properties.at("Role")
    if role.is_absent and function.type == SERVERLESS_FUNCTION:
        return None
    return _named(role, ROLE)


def statements_of(role: Resource) -> Sequence[Statement | NotKnown]:
    """What the templates give a role, or a function of SAM without one of its own; where they do not tell, why not."""
    return role.deployment.once(_statements_of, role)


def _statements_of(deployment: Deployment, role: Resource) -> Sequence[Statement | NotKnown]:
    return tuple(_given_to(role))


def _given_to(role: Resource) -> Iterator[Statement | NotKnown]:
    properties = role.properties
    if role.type == SERVERLESS_FUNCTION:
        yield from _of_list(properties.at("Policies"))
        return
    for each in _entries(properties.at("Policies")):
        yield from _of_document(each, "PolicyDocument")
    yield from _of_list(properties.at("ManagedPolicyArns"))
    for policy in role.deployment.once(_attached).get(role, ()):
        yield from _of_document(policy.properties, "PolicyDocument")


def allows(role: Resource, action: str) -> bool:
    """Whether a role may do an action on some resource, under some condition.

    Raises:
        NotKnown: nothing in the templates gives it, and something that is not in them may.
    """
    statements = statements_of(role)
    known = (each for each in statements if isinstance(each, Statement))
    if any_of(lambda each: _takes_away(each, action), known):
        return False
    given = any_of(lambda each: settled(each).allows() and settled(each).covers(action), statements)
    if not given and (doubt := _given_elsewhere(role)) is not None:
        raise NotKnown(role, doubt)
    return given


def is_meant_to(role: Resource, action: str) -> bool:
    """Whether a role is given an action by its name, which says that somebody means to use it.

    Raises:
        NotKnown: only a wildcard gives it; or nothing in the templates gives it, and something that is not in them may.
    """
    if not allows(role, action):
        return False
    known = (each for each in statements_of(role) if isinstance(each, Statement))
    if any_of(lambda each: each.allows() and each.names(action), known):
        return True
    raise NotKnown(role, by_wildcard(action))


def by_wildcard(action: str) -> str:
    """Why nobody can tell whether an action is used that only a wildcard gives."""
    return f"a wildcard lets it call {action}, and nothing says whether it does"


def _takes_away(statement: Statement, action: str) -> bool:
    return (
        not statement.allows()
        and statement.covers(action)
        and statement.is_about_everything()
        and not statement.is_conditional()
    )


def _given_elsewhere(role: Resource) -> str | None:
    """What may give the role more than is seen here."""
    deployment = role.deployment
    if deployment.unread:
        return f"{deployment.unread[0]} may give it more"
    if deployment.exported(role):
        return "another stack may give it more: an output exports it"
    opaque = next((each for each in role.users() if each.type.startswith(_OPAQUE)), None)
    return None if opaque is None else f"{opaque.id} may give it more"


def _of_profile(profile: Value) -> Resource | None:
    if profile.is_absent:
        return None
    if isinstance(profile.raw, Mapping):
        profile = profile.at("Arn") if not profile.at("Arn").is_absent else profile.at("Name")
    made = _named(profile, PROFILE)
    roles = made.properties.each("Roles")
    if len(roles) != 1:
        raise made.properties.at("Roles").not_known("it has to have one role")
    return _named(roles[0], ROLE)


def _named(value: Value, kind: str) -> Resource:
    """The resource that a value names: by reference, by its ARN put together, or by the name that it is given."""
    for marker in markers_in(value.raw):
        found = value.resource.deployment.resource_made(marker) if isinstance(marker, Made) else None
        if found is not None and found.type == kind:
            return found
    name = value.raw if isinstance(value.raw, str) else ""
    found = value.resource.deployment.once(_by_name).get((kind, name.rpartition("/")[2]))
    if found is None and isinstance(value.raw, Unknown) and not isinstance(value.raw, PartText):
        raise value.not_known()
    if found is None:
        raise value.not_known(f"what it names is not in the templates as an {kind}")
    return found


def _by_name(deployment: Deployment) -> Mapping[tuple[str, str], Resource]:
    """Roles and profiles that are given a name, by type and name."""
    found = {}
    for each in deployment.resources(*_NAMES):
        name = each.properties.at(_NAMES[each.type]).raw
        if isinstance(name, str):
            found[each.type, name] = each
    return found


def _attached(deployment: Deployment) -> Mapping[Resource, list[Resource]]:
    """Policies that are resources of their own, by the roles that they name."""
    found: dict[Resource, list[Resource]] = {}
    for policy in deployment.resources(_POLICY, _ROLE_POLICY, MANAGED_POLICY):
        properties = policy.properties
        names = [properties.at("RoleName")] if policy.type == _ROLE_POLICY else _entries(properties.at("Roles"))
        for name in names:
            try:
                found.setdefault(_named(name, ROLE), []).append(policy)
            except NotKnown:
                continue  # It is for a role that is not in the templates, or for none that they tell.
    return found


def _entries(value: Value) -> list[Value]:
    try:
        return value.each()
    except NotKnown as not_known:
        return [not_known.place] if isinstance(not_known.place, Value) else []


def _of_document(holder: Value, path: str) -> list[Statement | NotKnown]:
    try:
        return policy_statements(holder.at(path))
    except NotKnown as not_known:
        return [not_known]


def _of_list(policies: Value) -> Iterator[Statement | NotKnown]:
    """Statements of managed policies by ARN or name, and of what SAM takes in their place."""
    for each in _entries(policies):
        if isinstance(each.raw, Mapping):
            if "Statement" in each.raw:
                yield from policy_statements(each)
            else:
                yield each.not_known("it is a template of SAM")
        else:
            yield from _of_managed(each)


def _of_managed(policy: Value) -> Iterator[Statement | NotKnown]:
    try:
        made = policy.made()
        name = None if made is not None else policy.searchable()
    except NotKnown as not_known:
        yield not_known
        return
    if made is not None and made.type == MANAGED_POLICY:
        yield from _of_document(made.properties, "PolicyDocument")
        return
    bare = _name_of_managed(name or "")
    content = managed_policy(bare)
    if content is None:
        yield policy.not_known(f"the content of the managed policy {bare} is not known")
        return
    for each in content:
        yield Statement(Value(policy.resource, policy.path, each), managed=policy)


def _name_of_managed(arn: str) -> str:
    """Name of a policy of AWS, without its path; any other ARN as it is."""
    if arn.startswith("arn:"):
        return arn.rpartition("/")[2] if _OF_AWS in arn else arn
    return arn
