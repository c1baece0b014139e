"""Scaling policies of accelerated groups: steps that match, signals that are awake at zero, work in flight.

Source: "Step and simple scaling policies", "Target tracking scaling policies", Amazon EC2 Auto Scaling User Guide;
"Available CloudWatch metrics for Amazon SQS", Amazon SQS Developer Guide, read 2026-11.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from constructs_lib.compliance.deployment import Deployment, Resource, once
from constructs_lib.compliance.facts.alarms import FUNCTIONS, ON_ALARM, ON_OK, Alarm, Series, alarms_acting_on
from constructs_lib.compliance.facts.capacity_actions import tag_keys
from constructs_lib.compliance.facts.lifecycle_hooks import HOOK, holds_what_ends
from constructs_lib.compliance.facts.roles import allows, role_of_function
from constructs_lib.compliance.facts.scaling_policies import (
    POLICY,
    STEP,
    TARGET_TRACKING,
    Policy,
    policies_by_group,
    policies_of_accelerated,
    protects_what_works,
)
from constructs_lib.compliance.facts.watching import is_of_accelerators
from constructs_lib.compliance.rule import ERROR, Itself, Rule
from constructs_lib.compliance.values import Broken, NotKnown, Value

_RAISING_ACTIONS = ("autoscaling:SetDesiredCapacity", "autoscaling:UpdateAutoScalingGroup")
_RAISING_CALL = re.compile(r"setDesiredCapacity|updateAutoScalingGroup|lambda", re.IGNORECASE)
_CALLING = ("AWS::Scheduler::Schedule", "AWS::StepFunctions::StateMachine", "AWS::SSM::Document")
_CLUSTER = re.compile(r"k8s\.io/|kubernetes\.io/|karpenter|autoscal", re.IGNORECASE)
_VISIBLE = "ApproximateNumberOfMessagesVisible"
_OF_INSTANCES = ("AWS/EC2", "CWAgent")
_ASLEEP = ("ASGAverageCPUUtilization", "ASGAverageNetworkIn", "ASGAverageNetworkOut")
_STEP_PAGE = "https://docs.aws.amazon.com/autoscaling/ec2/userguide/as-scaling-simple-step.html"
_TRACKING_PAGE = "https://docs.aws.amazon.com/autoscaling/ec2/userguide/as-scaling-target-tracking.html"
_QUEUE_PAGE = (
    "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html"
)


def _step_policies(deployment: Deployment) -> Iterator[Policy | NotKnown]:
    for each in policies_of_accelerated(deployment):
        if isinstance(each, NotKnown) or each.properties.at("PolicyType").raw == STEP:
            yield each


@dataclass(frozen=True)
class _Step:
    """One step: from a bound, to a bound, both relative to the alarm's threshold."""

    value: Value
    lower: float
    upper: float


def _steps(policy: Policy) -> list[_Step]:
    found = []
    for each in policy.properties.each("StepAdjustments"):
        lower = each.number("MetricIntervalLowerBound")
        upper = each.number("MetricIntervalUpperBound")
        found.append(_Step(each, -math.inf if lower is None else lower, math.inf if upper is None else upper))
    return sorted(found, key=lambda step: (step.lower, step.upper))


def _steps_fit(policy: Policy) -> Iterator[Broken]:
    """Neither gaps nor overlaps, and no bound missing."""
    steps = _steps(policy)
    for first, second in pairwise(steps):
        if first.upper != second.lower:
            wrong = "overlap with" if first.upper > second.lower else "leave a gap to"
            yield second.value.broken(
                must=f"not {wrong} the step that ends at {_bound(first.upper)}",
                cure="let each step begin where the one before it ends: Auto Scaling refuses the policy",
            )


def _steps_match(policy: Policy) -> Iterator[Broken]:
    steps = _steps(policy)
    if not steps:
        return
    for state in (ON_ALARM, ON_OK):
        for alarm in _direct(policy, state):
            below = alarm.breaches_below
            if below is None:
                continue
            side = below if state == ON_ALARM else not below
            if not _covers(steps, below=side):
                yield policy.properties.broken(
                    "StepAdjustments",
                    must=(
                        f"have a step for each figure {'below' if side else 'above'} the threshold, where "
                        f"{alarm.resource.id} acts"
                    ),
                    got=", ".join(f"{_bound(each.lower)} to {_bound(each.upper)}" for each in steps),
                    cure=(
                        "write MetricIntervalUpperBound: 0 and no lower bound for the last step"
                        if side
                        else "write MetricIntervalLowerBound: 0 for the first step and no upper bound for the last"
                    ),
                )


def _direct(policy: Policy, state: str) -> Sequence[Alarm]:
    found = alarms_acting_on(policy.resource, state)
    return [each for each in found if not each.is_composite]


def _covers(steps: Sequence[_Step], *, below: bool) -> bool:
    """Whether there is a step for each figure on one side of the threshold; bounds are offsets from it."""
    if below:
        return steps[0].lower == -math.inf and any(each.upper >= 0 for each in steps if each.lower < 0)
    return steps[-1].upper == math.inf and any(each.lower <= 0 for each in steps if each.upper > 0)


def _bound(value: float) -> str:
    return "no bound" if math.isinf(value) else f"{value:g}"


def _groups(deployment: Deployment) -> Iterator[Itself | NotKnown]:
    """The accelerated groups that rest at zero and have a policy that raises them."""
    for group in policies_by_group(deployment):
        try:
            if group.properties.number("MinSize") == 0:
                yield Itself(group)
        except NotKnown as not_known:
            yield not_known


def _wakes(subject: Itself) -> Iterator[Broken]:
    group = subject.resource
    own = policies_by_group(group.deployment)[group]
    policies = [each for each in own if each.raises()]
    if not policies or not _comes_to_zero(group, own) or not all(_sleeps(each, group) for each in policies):
        return
    doubt = _woken_otherwise(group)
    if doubt is not None:
        raise NotKnown(group, doubt)
    yield group.properties.broken(
        "MinSize",
        must="not be 0 where only figures of running instances raise the capacity",
        cure=(
            f"let {policies[0].resource.id}, or another policy beside it, follow what is there without instances: the "
            "messages of a queue, requests, a schedule"
        ),
    )


def _comes_to_zero(group: Resource, policies: Sequence[Policy]) -> bool:
    """Whether the group begins without instances, or a policy may take the last one."""
    if not group.properties.number("DesiredCapacity"):
        return True
    lowering = [each for each in policies if each.lowers()]
    return any(not each.sets_capacity() or any(to.number() == 0 for to in each.adjustments) for each in lowering)


def _sleeps(policy: Policy, group: Resource) -> bool:
    """Whether nothing tells this policy to raise the capacity of a group without instances."""
    if policy.kind == TARGET_TRACKING:
        return _tracks_instances(policy, group)
    if policy.kind not in (STEP, "SimpleScaling"):
        return False
    acting = alarms_acting_on(policy.resource)
    if not acting or any(each.is_composite for each in acting):
        raise NotKnown(policy.resource, "no alarm in the templates acts on it")
    return all(each.series and all(_is_of_instances(series, group) for series in each.series) for each in acting)


def _tracks_instances(policy: Policy, group: Resource) -> bool:
    configuration = policy.properties.at("TargetTrackingConfiguration")
    predefined = configuration.text("PredefinedMetricSpecification.PredefinedMetricType")
    if predefined is not None:
        return predefined in _ASLEEP
    if not configuration.at("CustomizedMetricSpecification.Metrics").is_absent:
        return False  # An expression may have a value without any of its series.
    return all(_is_of_instances(each, group) for each in policy.tracked)


def _is_of_instances(series: Series, group: Resource) -> bool:
    """Whether a series has figures only while the group has instances."""
    if series.namespace == "AWS/EC2" or is_of_accelerators(series):
        return series.is_of(group)
    return series.namespace in _OF_INSTANCES and series.is_of(group)


def _woken_otherwise(group: Resource) -> str | None:
    """What else may raise the group's capacity."""
    deployment = group.deployment
    if deployment.unread:
        return f"{deployment.unread[0]} may raise its capacity"
    if any(_CLUSTER.search(each) for each in tag_keys(group)):
        return "the autoscaler of a cluster finds it by its tags"
    if deployment.exported(group):
        return "another stack may raise its capacity: an output exports it"
    quiet = (POLICY, "AWS::CloudWatch::Alarm", "AWS::CloudWatch::Dashboard", HOOK)
    other = next((each for each in group.users() if each.type not in quiet), None)
    if other is not None:
        return f"{other.id} may raise its capacity"
    caller = _caller(deployment)
    return None if caller is None else f"{caller.id} may raise its capacity"


@once
def _caller(deployment: Deployment) -> Resource | None:
    """A resource that may raise the capacity of groups by a call: a function with the right to, a schedule."""
    for each in deployment.resources(*FUNCTIONS):
        if _may_call(each):
            return each
    others = deployment.resources(*_CALLING)
    return next((each for each in others if _RAISING_CALL.search(str(each.written))), None)


def _may_call(function: Resource) -> bool:
    try:
        role = role_of_function(function) or function
        return any(allows(role, each) for each in _RAISING_ACTIONS)
    except NotKnown:
        return True


def _lowering(deployment: Deployment) -> Iterator[Policy | NotKnown]:
    for each in policies_of_accelerated(deployment):
        if isinstance(each, NotKnown):
            yield each
            continue
        try:
            if each.kind != TARGET_TRACKING and each.lowers():
                yield each
        except NotKnown as not_known:
            yield not_known


def _in_flight(policy: Policy) -> Iterator[Broken]:
    """Waiting messages alone say nothing of those that a worker holds."""
    for alarm in _direct(policy, ON_ALARM):
        names = {(each.namespace, each.name) for each in alarm.series}
        threshold = alarm.properties.number("Threshold")
        if names != {("AWS/SQS", _VISIBLE)} or not alarm.breaches_below or threshold is None or threshold > 1:
            continue  # Above one, it follows the load, and does not take the queue for empty.
        if _lets_work_end(policy.group):
            continue
        place = alarm.series[0].metric.at("MetricName")
        yield place.broken(
            must=f"not be the only reason for {policy.resource.id} to lower the capacity: a worker may hold a message",
            cure=(
                "judge ApproximateNumberOfMessagesVisible + ApproximateNumberOfMessagesNotVisible in metric math, and "
                "fill both"
            ),
        )


def _lets_work_end(group: Resource | None) -> bool:
    """Whether instances that work are protected, or are waited for."""
    return group is None or protects_what_works(group) or holds_what_ends(group)


RULES = (
    Rule(
        id="steps-do-not-fit",
        title="The steps of a scaling policy have neither gaps nor overlaps",
        severity=ERROR,
        practices=("REL07-BP01",),
        why="Auto Scaling refuses a policy whose steps overlap or leave a gap, and the deploy fails.",
        cure_here="QueueDemand and IdlePolicy need no steps; a policy of your own is checked by the CDK.",
        cure_plain="Let each step's MetricIntervalLowerBound be the upper bound of the one before it.",
        link=_STEP_PAGE,
        subjects=_step_policies,
        judge=_steps_fit,
    ),
    Rule(
        id="step-matches-nothing",
        title="A scaling policy has a step for each figure on which its alarm acts",
        severity=ERROR,
        practices=("SUS05-BP04/release", "SUS02-BP01"),
        why=(
            "Bounds of steps are offsets from the alarm's threshold. A policy whose steps are all on the other side of "
            "it does nothing when the alarm fires, without an error: idle accelerators stay, or work waits."
        ),
        cure_here="QueueDemand and IdlePolicy need no steps: their functions work the capacity out.",
        cure_plain=(
            "For an alarm with LessThanThreshold write one step with MetricIntervalUpperBound: 0, for one with "
            "GreaterThanThreshold one with MetricIntervalLowerBound: 0."
        ),
        link=_STEP_PAGE,
        subjects=_step_policies,
        judge=_steps_match,
    ),
    Rule(
        id="asleep-at-zero",
        title="A group that rests at zero is woken by what is there without instances",
        severity=ERROR,
        practices=("SUS02-BP01", "COST09-BP03"),
        why=(
            "Figures of instances exist only while instances run. A group at zero has none, so that its alarms and "
            "target tracking policies never raise it again: work waits for ever."
        ),
        cure_here="Give AcceleratedFleet demand=QueueDemand(queue) or a schedule: both wake it from zero.",
        cure_plain="Add a step policy on the queue's ApproximateNumberOfMessagesVisible, or a scheduled action.",
        link=_TRACKING_PAGE,
        subjects=_groups,
        judge=_wakes,
    ),
    Rule(
        id="in-flight-work-ignored",
        title="Messages that are being worked on count as work",
        severity=ERROR,
        practices=("SUS05-BP04/release",),
        why=(
            "A message that a worker has taken is not visible. When it is the last one, a queue of visible messages "
            "reads 0, and the instance that works on it is ended."
        ),
        cure_here="QueueDemand counts messages in flight; nothing is to be set.",
        cure_plain="Add ApproximateNumberOfMessagesNotVisible in metric math, or protect instances that work.",
        link=_QUEUE_PAGE,
        subjects=_lowering,
        judge=_in_flight,
    ),
)
