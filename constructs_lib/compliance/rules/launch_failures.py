"""Launches of accelerators that fail: whether somebody is told.

Source: "Monitor your Auto Scaling groups", Amazon EC2 Auto Scaling User Guide; field cases of quotas of zero and of
types without capacity, where a group tries again for ever.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from constructs_lib.compliance.deployment import Deployment, Resource, once
from constructs_lib.compliance.facts.alarms import FUNCTIONS, alarms
from constructs_lib.compliance.facts.capacity_actions import is_raised_by_itself
from constructs_lib.compliance.facts.launches import GROUP
from constructs_lib.compliance.facts.owners import accelerated_owners
from constructs_lib.compliance.facts.roles import allows, role_of_function
from constructs_lib.compliance.facts.together import told_together
from constructs_lib.compliance.facts.watching import series_of
from constructs_lib.compliance.rule import WARNING, Rule
from constructs_lib.compliance.values import Broken, NotKnown, Value, any_of

_UNTOLD = "launch-failure-untold"
_EVENT_RULE = "AWS::Events::Rule"
_FAILED = "autoscaling:EC2_INSTANCE_LAUNCH_ERROR"
_EVENT = "EC2 Instance Launch Unsuccessful"
_SOURCE = "aws.autoscaling"
_ACTIVITIES = "autoscaling:DescribeScalingActivities"
_WATCHED = ("GroupInService", "GroupDesired", "GroupPending", "GroupTotal")


@dataclass(frozen=True)
class _Raised:
    """Groups that raise themselves: one of which somebody is told, or all those that one event rule would do for."""

    groups: Sequence[Resource]
    are_told: bool

    @property
    def resource(self) -> Resource:
        return self.groups[0]


def _raised_groups(deployment: Deployment) -> Iterator[_Raised | NotKnown]:
    """The accelerated groups that policies or schedules raise, with nobody looking on."""
    untold: list[Resource] = []
    for each in accelerated_owners(GROUP, having=is_raised_by_itself)(deployment):
        if isinstance(each, NotKnown):
            yield each
            continue
        try:
            if _is_told(each.resource):
                yield _Raised([each.resource], are_told=True)
            else:
                untold.append(each.resource)
        except NotKnown as not_known:
            yield not_known
    for together in told_together(_UNTOLD, untold):
        yield _Raised(together, are_told=False)


def _are_told(raised: _Raised) -> Iterator[Broken]:
    if raised.are_told:
        return
    others = f", also of {', '.join(each.id for each in raised.groups[1:])}" if len(raised.groups) > 1 else ""
    yield raised.resource.properties.broken(
        "NotificationConfigurations",
        must=f"tell somebody when a launch fails{others}",
        cure=(
            f"add an EventBridge rule for {_EVENT!r} with a topic as target, which does for all groups; or a topic for "
            f"{_FAILED}, or an alarm on GroupDesiredCapacity less GroupInServiceInstances"
        ),
    )


def _is_told(group: Resource) -> bool:
    """Whether somebody hears of failed launches of a group.

    Raises:
        NotKnown: nobody is seen to, and somebody might.
    """
    if _notifies(group) or group in _watched(group.deployment) or _has_event_rule(group.deployment):
        return True
    doubt = _may_be_told(group)
    if doubt is not None:
        raise NotKnown(group, doubt)
    return False


def _notifies(group: Resource) -> bool:
    several = group.properties.each("NotificationConfigurations")
    one = group.properties.at("NotificationConfiguration")
    configurations = [*several, *([] if one.is_absent else [one])]
    types = [name for each in configurations for name in each.each("NotificationTypes")]
    return any_of(lambda name: name.text() == _FAILED, types)


@once
def _watched(deployment: Deployment) -> frozenset[Resource]:
    """The groups with an alarm on how many instances they have."""
    return frozenset(
        resource
        for alarm in alarms(deployment)
        for series in series_of(alarm)
        if str(series.metric.at("MetricName").raw).startswith(_WATCHED)
        for resource in series.resources()
    )


@once
def _has_event_rule(deployment: Deployment) -> bool:
    """Whether a rule passes on that launches fail.

    Raises:
        NotKnown: there is none, and the pattern of one is not known.
    """
    return any_of(_passes_on, [each.properties.at("EventPattern") for each in deployment.resources(_EVENT_RULE)])


def _passes_on(pattern: Value) -> bool:
    if pattern.is_absent:
        return False
    sources = [each.text() for each in pattern.each("source")]
    kinds = [each.text() for each in pattern.each("detail-type")]
    return (not sources or _SOURCE in sources) and (not kinds or _EVENT in kinds)


def _may_be_told(group: Resource) -> str | None:
    deployment = group.deployment
    if deployment.unread:
        return f"{deployment.unread[0]} may tell somebody"
    if deployment.exported(group):
        return "another stack may watch it: an output exports it"
    reader = _reader(deployment)
    return None if reader is None else f"{reader.id} may read its activities"


@once
def _reader(deployment: Deployment) -> Resource | None:
    """A function that may read why launches fail."""
    return next((each for each in deployment.resources(*FUNCTIONS) if _may_read(each)), None)


def _may_read(function: Resource) -> bool:
    try:
        return allows(role_of_function(function) or function, _ACTIVITIES)
    except NotKnown:
        return True


RULES = (
    Rule(
        id=_UNTOLD,
        title="Somebody is told when accelerators cannot be launched",
        severity=WARNING,
        practices=("REL11-BP01", "REL06-BP01"),
        why=(
            "The quota of a new account is zero, and accelerators are often sold out. The group tries again for ever, "
            "the stack is complete, and nobody sees more than work that waits."
        ),
        cure_here="Give AcceleratedFleet notifications: it tells why launches fail, and stops them when they go on.",
        cure_plain=(
            "Add an AWS::Events::Rule for EC2 Instance Launch Unsuccessful of aws.autoscaling with a topic as target, "
            "or write NotificationConfigurations: [{TopicARN: ..., NotificationTypes: "
            "[autoscaling:EC2_INSTANCE_LAUNCH_ERROR]}] on the group."
        ),
        link="https://docs.aws.amazon.com/autoscaling/ec2/userguide/ts-as-instancelaunchfailure.html",
        subjects=_raised_groups,
        judge=_are_told,
    ),
)
