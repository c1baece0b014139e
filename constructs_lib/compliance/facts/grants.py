"""Which resources somebody in the templates may act on: by a role, or from outside of what is seen here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from constructs_lib.compliance.deployment import Deployment, Resource, once
from constructs_lib.compliance.facts.policies import EVERYTHING, Statement, elements, policy_statements
from constructs_lib.compliance.facts.roles import (
    FUNCTION,
    MANAGED_POLICY,
    ROLE,
    SERVERLESS_FUNCTION,
    by_wildcard,
    statements_of,
)
from constructs_lib.compliance.values import NotKnown, Value, any_of
from constructs_lib.template.markers import Made, markers_in
from constructs_lib.template.plain_values import mapping

CUSTOM = ("Custom::", "AWS::CloudFormation::CustomResource")
"""How the types of resources begin that do what their own function or provider makes of them."""

_OF_PEOPLE = ("AWS::IAM::Policy", "AWS::IAM::UserPolicy", "AWS::IAM::GroupPolicy", MANAGED_POLICY)
_SCHEDULE = "AWS::Scheduler::Schedule"
_PROGRAMS = (FUNCTION, SERVERLESS_FUNCTION, "AWS::StepFunctions::StateMachine")
_HOLDERS = (*_PROGRAMS, _SCHEDULE)
_ROLES = {
    FUNCTION: "Role",
    SERVERLESS_FUNCTION: "Role",
    "AWS::StepFunctions::StateMachine": "RoleArn",
}
# What takes a role for AWS to work with, or for people who log in: nothing of the templates acts by itself under it.
_FOR_SERVICES_AND_PEOPLE = frozenset(
    {
        "AWS::ApplicationAutoScaling::ScalableTarget",
        "AWS::AutoScaling::LifecycleHook",
        "AWS::Batch::ComputeEnvironment",
        "AWS::CodeDeploy::DeploymentGroup",
        "AWS::EC2::FlowLog",
        "AWS::EC2::SpotFleet",
        "AWS::EKS::Cluster",
        "AWS::SageMaker::App",
        "AWS::SageMaker::Cluster",
        "AWS::SageMaker::Domain",
        "AWS::SageMaker::Model",
        "AWS::SageMaker::NotebookInstance",
        "AWS::SageMaker::Space",
        "AWS::SageMaker::UserProfile",
    }
)
_RULE = "AWS::Events::Rule"
_PERMISSION = "AWS::Lambda::Permission"
# Of a schedule that asks for what changes capacity by itself; one for Systems Manager runs under another role.
_UNIVERSAL = re.compile(r":scheduler:::aws-sdk:(?:ec2|autoscaling|ecs|eks|sagemaker):")
_BESIDE_FUNCTIONS = ("AWS::Logs::LogGroup", "AWS::Lambda::EventInvokeConfig", "AWS::CloudWatch::Alarm")
_OF_AWS = ":iam::aws:policy/"
_WIDE = ("AutoScaling", "FullAccess", "Administrator", "PowerUser", "Automation")
_TAG_KEYS = ("aws:resourcetag/", "autoscaling:resourcetag/", "ec2:resourcetag/")
_NAMES = ("AutoScalingGroupName", "EndpointName", "NotebookInstanceName", "ClusterName", "ServiceName", "Name")
# What refers to capacity without changing how much of it there is, or only by rights that statements tell.
_HARMLESS = (
    "AWS::ApplicationAutoScaling::",
    "AWS::AutoScaling::",
    "AWS::CloudFormation::Wait",
    "AWS::CloudWatch::",
    "AWS::CodeDeploy::",
    "AWS::EC2::",
    "AWS::ECS::",
    "AWS::ElasticLoadBalancing",
    "AWS::Events::",
    "AWS::IAM::",
    "AWS::Lambda::",
    "AWS::Logs::",
    "AWS::Route53::",
    "AWS::SNS::",
    "AWS::SQS::",
    "AWS::SageMaker::",
    "AWS::Scheduler::",
    "AWS::Serverless::Function",
    "AWS::StepFunctions::",
)


@dataclass(frozen=True, eq=False)
class _Grant:
    """A statement that allows something, and whose it is: a role, a function, or a policy of people."""

    holder: Resource
    statement: Statement


def is_allowed_on(resource: Resource, actions: Sequence[str]) -> bool:
    """Whether something in the templates may do one of the actions to a resource, and not only at deploys.

    Raises:
        NotKnown: nothing names the resource, and something might act on it that does not name it.
    """
    grants, doubts = resource.deployment.once(_allowing, tuple(actions))
    if any_of(lambda each: _concerns(each, resource), grants):
        return True
    if doubts:
        raise doubts[0]
    return False


def is_allowed_at_all(deployment: Deployment, actions: Sequence[str]) -> bool:
    """Whether something in the templates is given one of the actions by its name, be it at deploys only.

    Raises:
        NotKnown: only a wildcard gives one; or nothing is seen to, and something might.
    """
    doubt: NotKnown | None = None
    for holder, statement in _statements(deployment):
        try:
            if isinstance(statement, NotKnown):
                doubt = doubt or (statement if _may_be_wide(statement) else None)
            elif statement.allows() and any(map(statement.names, actions)):
                return True
            elif statement.allows() and any_of(statement.covers, actions):
                doubt = doubt or NotKnown(holder, by_wildcard(next(filter(statement.covers, actions))))
        except NotKnown as not_known:
            doubt = doubt or not_known
    if doubt is not None:
        raise doubt
    return False


def check_outside(resource: Resource) -> bool:
    """That nobody acts on a resource whom nobody sees here: always False, to be the last of several questions.

    Raises:
        NotKnown: somebody might.
    """
    deployment = resource.deployment
    if deployment.unread:
        raise NotKnown(resource, f"{deployment.unread[0]} may change it")
    if deployment.exported(resource):
        raise NotKnown(resource, "an output exports it: another stack may change it")
    for user in resource.users():
        if user.type.startswith(CUSTOM) and _provider(user) is not None:
            continue  # What its function may do is told by the statements of its role.
        if _is_off(user):
            continue
        if not user.type.startswith(_HARMLESS) or _acts_by_what_is_not_here(user, resource):
            raise NotKnown(resource, f"{user.id} refers to it and may change it")
    return False


def _acts_by_what_is_not_here(user: Resource, resource: Resource) -> bool:
    """Whether it may do to a resource what no statement of the templates tells."""
    path = _ROLES.get(user.type)
    if user.type == _SCHEDULE:
        target = user.properties.at("Target")
        return not _is_universal(target.at("Arn")) or _role_is_elsewhere(target, "RoleArn")
    if path is not None:
        return _role_is_elsewhere(user.properties, path)
    if user.type != _RULE:
        return False
    return any(_is_given(each, resource) for each in _targets(user))


def _is_universal(arn: Value) -> bool:
    return isinstance(arn.raw, str) and bool(_UNIVERSAL.search(arn.raw))


def _is_off(user: Resource) -> bool:
    """Whether it does nothing by itself: a schedule or a rule that is switched off, or what only such ones call."""
    if user.type in (_RULE, _SCHEDULE):
        return bool(user.properties.at("State").raw == "DISABLED")
    if user.type == _PERMISSION:
        callers = user.uses(_RULE, _SCHEDULE)
    elif user.type in _PROGRAMS:
        callers = [each for each in user.users() if each.type not in _BESIDE_FUNCTIONS]
        events = mapping(mapping(user.written.get("Properties")).get("Events")).values()
        if not all(map(_is_event_off, events)):
            return False
        if events and not callers:
            return True
    else:
        return False
    return bool(callers) and all(each.type not in _PROGRAMS and _is_off(each) for each in callers)


def _is_event_off(event: object) -> bool:
    """Whether an event of a function of SAM is a schedule that is switched off."""
    properties = mapping(mapping(event).get("Properties"))
    is_off = properties.get("Enabled") in (False, "false") or properties.get("State") == "DISABLED"
    return is_off and mapping(event).get("Type") in ("Schedule", "ScheduleV2")


def _role_is_elsewhere(holder: Value, path: str) -> bool:
    role = holder.at(path)
    return not role.is_absent and not any(_made(holder.resource.deployment, each) for each in markers_in(role.raw))


def _targets(rule: Resource) -> list[Value]:
    try:
        return rule.properties.each("Targets")
    except NotKnown:
        return []


def _is_given(target: Value, resource: Resource) -> bool:
    """Whether a rule gives a resource to a document of Systems Manager, say; what functions do, their roles tell."""
    named = [_made(resource.deployment, each) for each in markers_in(target.raw)]
    called = [_made(resource.deployment, each) for each in markers_in(target.at("Arn").raw)] if target.is_known else []
    return resource in named and not any(called)


def only_at_deploys(holder: Resource) -> bool:
    """Whether a role is of functions that nothing but custom resources calls: they run when the stack changes."""
    functions = [holder] if holder.type == SERVERLESS_FUNCTION else holder.users(FUNCTION, SERVERLESS_FUNCTION)
    return bool(functions) and all(map(_is_called_at_deploys, functions))


def _is_called_at_deploys(function: Resource) -> bool:
    users = [each for each in function.users() if each.type not in _BESIDE_FUNCTIONS]
    return bool(users) and all(each.type.startswith(CUSTOM) for each in users)


def _provider(custom: Resource) -> Resource | None:
    """The function of the templates that a custom resource calls. None: it is not in them."""
    token = custom.properties.at("ServiceToken")
    found = (_made(custom.deployment, each) for each in markers_in(token.raw))
    return next((each for each in found if each is not None), None)


def _made(deployment: Deployment, marker: object) -> Resource | None:
    return deployment.resource_made(marker) if isinstance(marker, Made) else None


def _allowing(deployment: Deployment, actions: tuple[str, ...]) -> tuple[Sequence[_Grant], Sequence[NotKnown]]:
    """The statements that allow one of the actions, and reasons why there may be more."""
    grants: list[_Grant] = []
    doubts: list[NotKnown] = []
    for holder, statement in _statements(deployment):
        if only_at_deploys(holder):
            continue
        try:
            if isinstance(statement, NotKnown):
                doubts += [statement] if _may_be_wide(statement) else []
            elif statement.allows() and any_of(statement.covers, actions):
                grants.append(_Grant(holder, statement))
        except NotKnown as not_known:
            doubts.append(not_known)
    return grants, doubts


@once
def _statements(deployment: Deployment) -> Sequence[tuple[Resource, Statement | NotKnown]]:
    found: list[tuple[Resource, Statement | NotKnown]] = []
    for holder in filter(_may_act, deployment.resources(ROLE, SERVERLESS_FUNCTION)):
        found += [(holder, each) for each in statements_of(holder)]
    for policy in deployment.resources(*_OF_PEOPLE):
        # Those of roles are among the statements of the roles.
        if not policy.uses(ROLE):
            found += [(policy, each) for each in _of_document(policy)]
    return found


def _may_act(holder: Resource) -> bool:
    """Whether a program of the templates, or somebody who is not seen here, may run under a role by itself.

    A notebook's role lets people act who are there; what its script at the start does is asked of the script.
    """
    if holder.type == SERVERLESS_FUNCTION and _is_off(holder):
        return False
    takers = [each for each in holder.users() if not each.type.startswith("AWS::IAM::")]
    acting = {each.type for each in takers if not _is_off(each)}
    return not takers or not acting <= _FOR_SERVICES_AND_PEOPLE or holder.deployment.exported(holder)


def _of_document(policy: Resource) -> list[Statement | NotKnown]:
    try:
        return policy_statements(policy.properties.at("PolicyDocument"))
    except NotKnown as not_known:
        return [not_known]


def _may_be_wide(unknown: NotKnown) -> bool:
    """Whether a policy that is not known may be about capacity: those of AWS for one service are not."""
    place = unknown.place
    try:
        text = (place.searchable() or "") if isinstance(place, Value) else ""
    except NotKnown:
        return True
    return _OF_AWS not in text or any(each in text for each in _WIDE)


def _concerns(grant: _Grant, resource: Resource) -> bool:
    value = grant.statement.value
    if not value.at("NotResource").is_absent:
        return _knows(grant, resource)
    return any_of(lambda each: _names(grant, each, resource), elements(value.at("Resource")))


def _names(grant: _Grant, named: Value, resource: Resource) -> bool:
    made = [each for marker in markers_in(named.raw) if (each := _made(resource.deployment, marker)) is not None]
    if made:
        return resource in made
    text = named.searchable() or ""
    last = text.replace(":", "/").rpartition("/")[2]
    if EVERYTHING in last or "${" in last:
        return _knows(grant, resource)
    return last in _own_names(resource)


def _own_names(resource: Resource) -> list[object]:
    return [name for each in _NAMES if isinstance(name := resource.properties.raw.get(each), str)]


def _knows(grant: _Grant, resource: Resource) -> bool:
    """Whether one that may act on everything is about this resource.

    Raises:
        NotKnown: nothing says so, and nothing says otherwise.
    """
    if any(resource in each.uses() for each in (grant.holder, *grant.holder.users(*_HOLDERS))):
        return True
    wanted = dict(_tags_asked_for(grant.statement))
    if wanted and wanted.items() <= _tags(resource).items():
        return True
    raise NotKnown(grant.holder, f"it may act on {resource.id}, and nothing says whether it does")


def _tags_asked_for(statement: Statement) -> Iterator[tuple[str, object]]:
    for operator, key, value in statement.conditions():
        prefix = next((each for each in _TAG_KEYS if key.startswith(each)), None)
        if prefix is not None and operator.startswith("stringequals") and isinstance(value.raw, str):
            yield key.removeprefix(prefix), value.raw


def _tags(resource: Resource) -> Mapping[str, object]:
    try:
        listed = resource.properties.each("Tags")
        return {(each.text("Key") or "").lower(): each.at("Value").raw for each in listed if each.is_known}
    except NotKnown:
        return {}
