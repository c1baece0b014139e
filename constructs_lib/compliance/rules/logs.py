"""Logs beside accelerated capacity: log groups whose entries expire, also those of functions that act on it.

"Sending Lambda function logs to CloudWatch Logs", AWS Lambda Developer Guide: a function without a log group of its own
makes /aws/lambda/NAME, which never expires and belongs to no stack.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from constructs_lib.compliance.deployment import Deployment, Resource
from constructs_lib.compliance.facts.accelerated_stacks import beside_accelerators
from constructs_lib.compliance.facts.launches import launches
from constructs_lib.compliance.facts.reach import ENDING
from constructs_lib.compliance.facts.roles import FUNCTION, SERVERLESS_FUNCTION, allows, role_of_function
from constructs_lib.compliance.rule import WARNING, Itself, Rule
from constructs_lib.compliance.values import Broken, NotKnown, Value, any_of
from constructs_lib.template.plain_values import mapping

_LOG_GROUP = "AWS::Logs::LogGroup"
_RETENTION = "Custom::LogRetention"
_PREFIX = "/aws/lambda/"


def _functions(deployment: Deployment) -> Iterator[Itself | NotKnown]:
    """Functions that know a group or an instance by reference, or may end one."""
    owners = frozenset(each.owner for each in launches(deployment))
    for function in beside_accelerators(deployment, FUNCTION, SERVERLESS_FUNCTION):
        if isinstance(function, NotKnown):
            yield function
            continue
        try:
            if not owners.isdisjoint(function.uses()) or _may_end(function):
                yield Itself(function)
        except NotKnown as not_known:
            yield not_known


def _functions_and_groups(deployment: Deployment) -> Iterator[Itself | NotKnown]:
    yield from _functions(deployment)
    for group in beside_accelerators(deployment, _LOG_GROUP):
        yield group if isinstance(group, NotKnown) else Itself(group)


def _may_end(function: Resource) -> bool:
    role = role_of_function(function) or function
    return any_of(lambda action: allows(role, action), ENDING.actions)


def _logs_expire(subject: Itself) -> Iterator[Broken]:
    if subject.resource.type == _LOG_GROUP:
        yield from _entries_expire(subject.resource)
    else:
        yield from _logs_of_function_expire(subject.resource)


def _entries_expire(group: Resource) -> Iterator[Broken]:
    retention = group.properties.at("RetentionInDays")
    if retention.whole() is None and not _has_retention_set(group):
        yield retention.broken(
            must="be a number of days", cure="set RetentionInDays: 30, or what your rules for logs ask for"
        )


def _logs_of_function_expire(function: Resource) -> Iterator[Broken]:
    configured = _configured(function)
    group = _by_name(configured) if not configured.is_absent else _own_group(function)
    if group is not None:
        yield from _entries_expire(group)
    elif not _has_retention_set(function) and _makes_one(function):
        yield configured.broken(
            must="be a log group of the templates with RetentionInDays",
            cure="add an AWS::Logs::LogGroup with RetentionInDays and name it in LoggingConfig.LogGroup",
        )


def _configured(function: Resource) -> Value:
    own = function.properties.at("LoggingConfig.LogGroup")
    if own.is_absent and function.type == SERVERLESS_FUNCTION:
        shared = mapping(mapping(function.stack.source.content.get("Globals")).get("Function")).get("LoggingConfig")
        raw = mapping(function.stack.template.settle(mapping(shared))).get("LogGroup")
        return Value(function, own.path, raw)
    return own


def _by_name(name: Value) -> Resource:
    made = name.made()
    found = made if made is not None else name.resource.deployment.once(_groups).get(name.searchable() or "")
    if found is None or found.type != _LOG_GROUP:
        raise name.not_known("the log group is not in the templates")
    return found


def _own_group(function: Resource) -> Resource | None:
    """The log group with the name that the function would give it."""
    by_reference = [each for each in function.users(_LOG_GROUP) if _is_named_for_a_function(each)]
    if by_reference:
        return by_reference[0]
    name = function.properties.at("FunctionName")
    return None if name.is_absent else function.deployment.once(_groups).get(f"{_PREFIX}{name.searchable()}")


def _is_named_for_a_function(group: Resource) -> bool:
    return (group.properties.at("LogGroupName").searchable() or "").startswith(_PREFIX)


def _groups(deployment: Deployment) -> Mapping[str, Resource]:
    """Log groups by name; one whose name only a deploy tells has none."""
    found = {}
    for each in deployment.resources(_LOG_GROUP):
        try:
            name = each.properties.at("LogGroupName").searchable()
        except NotKnown:
            continue
        if name is not None:
            found[name] = each
    return found


def _has_retention_set(resource: Resource) -> bool:
    """Whether a custom resource of the CDK sets the retention of a group, or of the one that a function makes."""
    return any_of(lambda each: each.properties.whole("RetentionInDays") is not None, resource.users(_RETENTION))


def _makes_one(function: Resource) -> bool:
    """Whether the function makes a log group at its first run: it may, and no stack that is not at hand has one."""
    deployment = function.deployment
    if deployment.unread:
        raise NotKnown(function, f"{deployment.unread[0]} may have its log group")
    if deployment.exported(function):
        raise NotKnown(function, "another stack may have its log group: an output exports it")
    role = role_of_function(function)
    # SAM gives a role that it makes the right to write logs.
    return role is None or allows(role, "logs:CreateLogGroup")


RULES = (
    Rule(
        id="logs-never-expire",
        title="Logs beside accelerated capacity expire",
        severity=WARNING,
        practices=("SEC04-BP01", "COST04-BP04"),
        why=(
            "What is in a log group without a retention is paid for by the month, for ever. A function without a log "
            "group of its own makes such a one, which stays when the stack is gone."
        ),
        cure_here="The handlers of AcceleratedFleet have log groups that expire; nothing is to be set.",
        cure_plain=(
            "Set RetentionInDays on each AWS::Logs::LogGroup, add one for the function, and name it in "
            "LoggingConfig.LogGroup."
        ),
        link="https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs.html",
        subjects=_functions_and_groups,
        judge=_logs_expire,
    ),
)
