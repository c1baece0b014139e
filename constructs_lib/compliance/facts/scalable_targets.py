"""Targets of Application Auto Scaling: whose capacity they scale, how far down, and whether anything does it.

A target by itself moves nothing: a policy or a scheduled action does. Source: ``RegisterScalableTarget`` and
``PutScalingPolicy``, Application Auto Scaling API Reference, read 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from constructs_lib.compliance.deployment import Deployment, Resource, once
from constructs_lib.compliance.facts.grants import is_allowed_on
from constructs_lib.compliance.values import Broken, NotKnown, Value, any_of
from constructs_lib.template.markers import Made, PartText, markers_in

TARGET = "AWS::ApplicationAutoScaling::ScalableTarget"

_POLICY = "AWS::ApplicationAutoScaling::ScalingPolicy"
_MOVES = (
    "application-autoscaling:PutScalingPolicy",
    "application-autoscaling:PutScheduledAction",
    "application-autoscaling:RegisterScalableTarget",
)


def scales_to_zero(scaled: Resource, name: str | None) -> bool:
    """Whether the capacity of a resource comes to 0 by a target of the templates, always or at times.

    Args:
        scaled: a service, an endpoint, a fleet.
        name: that it is given. None: the deploy gives it one.

    Raises:
        NotKnown: it is not seen to, and might.
    """
    if any_of(_comes_to_zero, targets_of(scaled, name)):
        return True
    for target in _targets(scaled.deployment).get(None, ()):
        raise NotKnown(target, f"it may be of {scaled.id}: what it scales is not known")
    return False


def targets_of(scaled: Resource, name: str | None) -> Sequence[Resource]:
    """The targets that are known to be of a resource."""
    targets = _targets(scaled.deployment)
    return (*targets.get(scaled, ()), *(() if name is None else targets.get(name, ())))


def unmoved(scaled: Resource, name: str | None) -> Iterator[Broken]:
    """What is wrong with targets that would let a resource come to 0, if something lowered it."""
    for target in targets_of(scaled, name):
        if _may_be_zero(target):
            yield target.properties.at("MinCapacity").broken(
                must="be come to by a policy or a scheduled action: a scalable target by itself moves nothing",
                cure="add an AWS::ApplicationAutoScaling::ScalingPolicy with this target as ScalingTargetId, or "
                "ScheduledActions with a MaxCapacity of 0",
            )


def is_lowered(target: Resource) -> bool:
    """Whether a policy, or a scheduled action, lowers the capacity of a target.

    Raises:
        NotKnown: none is seen to, and something might.
    """
    most = target.properties.number("MaxCapacity")
    return any_of(lambda each: _is_below(each, most), _maxima(target)[1:]) or _is_lowered_by_policy(target)


def _comes_to_zero(target: Resource) -> bool:
    # A maximum below the capacity lowers it at once; a minimum only lets others do so.
    if any_of(lambda each: each.number() == 0, _maxima(target)):
        return True
    return _may_be_zero(target) and _is_lowered_by_policy(target)


def _is_lowered_by_policy(target: Resource) -> bool:
    policies = _policies(target.deployment)
    if target.properties.flag("SuspendedState.DynamicScalingInSuspended", default=False):
        return is_allowed_on(target, _MOVES)
    if any_of(_lowers, policies.get(target, ())):
        return True
    for policy in policies.get(None, ()):
        raise NotKnown(policy, f"it may be of {target.id}: what it scales is not known")
    if target.deployment.exported(target):
        raise NotKnown(target, "an output exports it: another stack may have a policy for it")
    return is_allowed_on(target, _MOVES)


def _lowers(policy: Resource) -> bool:
    properties = policy.properties
    kind = properties.text("PolicyType")
    if kind == "TargetTrackingScaling":
        return not properties.flag("TargetTrackingScalingPolicyConfiguration.DisableScaleIn", default=False)
    steps = properties.at("StepScalingPolicyConfiguration")
    adjustments = [each.at("ScalingAdjustment") for each in steps.each("StepAdjustments")]
    if steps.text("AdjustmentType") == "ExactCapacity":
        return any_of(lambda each: each.number() == 0, adjustments)
    return any_of(lambda each: (each.number() or 0) < 0, adjustments)


@once
def _policies(deployment: Deployment) -> Mapping[Resource | None, Sequence[Resource]]:
    """By the target whose capacity they move; None: not known."""
    found: dict[Resource | None, list[Resource]] = {}
    for policy in deployment.resources(_POLICY):
        for each in policy.uses(TARGET) or _named(policy):
            found.setdefault(each, []).append(policy)
    return found


def _named(policy: Resource) -> Sequence[Resource | None]:
    """The targets with the id that a policy has in place of its target's own. None: the id is not known."""
    keys = _keys(policy)
    if not keys or None in keys:
        return [None]
    return [each for each in policy.deployment.resources(TARGET) if _keys(each) == keys]


@once
def _targets(deployment: Deployment) -> Mapping[object, Sequence[Resource]]:
    """By what they scale: resources that their ids refer to, parts of ids that are plain text, None: not known."""
    found: dict[object, list[Resource]] = {}
    for target in deployment.resources(TARGET):
        for key in _keys(target):
            found.setdefault(key, []).append(target)
    return found


def _keys(target: Resource) -> list[object]:
    """What a target, or a policy in place of its target, is of."""
    id = target.properties.at("ResourceId")
    markers = list(markers_in(id.raw))
    made = [target.deployment.resource_made(each) for each in markers if isinstance(each, Made)]
    text = id.raw.known if isinstance(id.raw, PartText) else id.raw
    known = [each for each in text.split("/") if "${" not in each] if isinstance(text, str) else []
    # The text as a whole is a marker too, which says nothing beyond its parts.
    doubts = [each for each in markers if not isinstance(each, (Made, PartText))] or None in made
    return [*(each for each in made if each is not None), *known, *([None] if doubts else [])]


def _may_be_zero(target: Resource) -> bool:
    return any_of(lambda each: each.number() == 0, _each(target, "MinCapacity"))


def _maxima(target: Resource) -> list[Value]:
    return _each(target, "MaxCapacity")


def _each(target: Resource, name: str) -> list[Value]:
    """A value of the target, and of each of its scheduled actions."""
    actions = target.properties.each("ScheduledActions")
    return [target.properties.at(name), *(each.at(f"ScalableTargetAction.{name}") for each in actions)]


def _is_below(value: Value, most: float | None) -> bool:
    number = value.number()
    return number is not None and (most is None or number < most)
