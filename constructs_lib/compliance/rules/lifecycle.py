"""How instances come and go: who is protected at work, how long one drains, what waits beside the group.

Source: "Use instance scale-in protection", "Amazon EC2 Auto Scaling lifecycle hooks", "Warm pools", Amazon EC2 Auto
Scaling User Guide; ``UpdatePolicy`` attribute, AWS CloudFormation User Guide, read 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from constructs_lib.compliance.deployment import Deployment, Resource, once
from constructs_lib.compliance.facts.alarms import ON_ALARM, Alarm, Series, alarms_acting_on
from constructs_lib.compliance.facts.capacity_actions import (
    capacity_providers_of,
    lowering_policies,
    policies_of,
)
from constructs_lib.compliance.facts.grants import CUSTOM, check_outside, is_allowed_at_all
from constructs_lib.compliance.facts.launches import GROUP
from constructs_lib.compliance.facts.lifecycle_hooks import HOOK, TERMINATING
from constructs_lib.compliance.facts.owners import accelerated_owners
from constructs_lib.compliance.facts.reasons import has_stated
from constructs_lib.compliance.facts.scaling_policies import TARGET_TRACKING, Policy, protects_what_works
from constructs_lib.compliance.rule import ERROR, WARNING, Itself, Rule
from constructs_lib.compliance.values import Broken, NotKnown, Value, all_of, any_of
from constructs_lib.statements import RUNNING
from constructs_lib.template.markers import ZoneAt
from constructs_lib.template.plain_values import mapping

_WARM_POOL = "AWS::AutoScaling::WarmPool"
_PROTECTED = "NewInstancesProtectedFromScaleIn"
_BEHIND = ("TargetGroupARNs", "LoadBalancerNames", "TrafficSources")
_PROTECTS = "autoscaling:SetInstanceProtection"
_FREES = (
    _PROTECTS,
    "autoscaling:DeleteAutoScalingGroup",
    "ec2:TerminateInstances",
)
_ENDS_HOOKS = ("autoscaling:DeleteLifecycleHook", "autoscaling:DeleteAutoScalingGroup")
_REPLACING = frozenset({"AutoScalingRollingUpdate", "AutoScalingReplacingUpdate"})
_HOUR = 3600
_MAXIMUM = ("maximum", "max")
_IN_FLIGHT = "ApproximateNumberOfMessagesNotVisible"
_OF_MACHINES = ("AWS/", "CWAgent")
_HOOKS_LINK = "https://docs.aws.amazon.com/autoscaling/ec2/userguide/lifecycle-hooks.html"
_PROTECTION_LINK = "https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-instance-protection.html"


@dataclass(frozen=True)
class _Hook:
    """A lifecycle hook.

    Attributes:
        value: its properties, or its entry in the group's list.
        group: the group that it is of.
    """

    value: Value
    group: Resource

    @property
    def resource(self) -> Resource:
        """The resource that has it."""
        return self.value.resource

    def ends(self) -> bool:
        """Whether it holds instances that are about to end."""
        return self.value.text("LifecycleTransition") == TERMINATING


def _hooks_of(group: Resource) -> list[_Hook]:
    own = group.properties.each("LifecycleHookSpecificationList")
    return [*(_Hook(each, group) for each in own), *(_Hook(each, group) for each in _separate(group))]


def _separate(group: Resource) -> Sequence[Value]:
    return _hooks_beside(group.deployment).get(group, ())


@once
def _hooks_beside(deployment: Deployment) -> Mapping[Resource, Sequence[Value]]:
    found: dict[Resource, list[Value]] = {}
    for hook in deployment.resources(HOOK):
        for group in hook.uses(GROUP):
            found.setdefault(group, []).append(hook.properties)
    return found


# --- instances at work -----------------------------------------------------------------------------------------------


def _keeps_work(group: Resource) -> bool:
    """Whether work survives the end of an instance, or an instance at work is not chosen to end.

    It is protected, by itself or by others, has time to drain, has its requests drained by a load balancer or its tasks
    by ECS, or a function chooses who ends.
    """
    return any_of(lambda way: way(group), _WAYS_TO_KEEP_WORK)


def _is_protected(group: Resource) -> bool:
    return group.properties.flag(_PROTECTED, default=False)


def _is_drained_by_others(group: Resource) -> bool:
    behind = any(not group.properties.at(each).is_absent for each in _BEHIND)
    return behind or bool(capacity_providers_of(group)) or _is_attached(group)


def _is_attached(group: Resource) -> bool:
    return bool(group.users("AWS::AutoScaling::TrafficSourceAttachment"))


def _has_hook_at_end(group: Resource) -> bool:
    return any_of(_Hook.ends, _hooks_of(group))


def _has_own_choice(group: Resource) -> bool:
    """Whether a function is its termination policy: the built-in ones are words."""
    policies = group.properties.each("TerminationPolicies")
    return any_of(lambda each: each.made() is not None or ":" in (each.searchable() or ""), policies)


def _may_be_protected_by_others(group: Resource) -> bool:
    """Whether a function protects instances while they work, as "Design your applications" of the guide has it."""
    return is_allowed_at_all(group.deployment, (_PROTECTS,))


_WAYS_TO_KEEP_WORK = (
    protects_what_works,
    _is_drained_by_others,
    _has_hook_at_end,
    _has_own_choice,
    _may_be_protected_by_others,
)


def _has_policies(group: Resource) -> bool:
    return bool(policies_of(group))


def _spares_the_busy(subject: Itself) -> Iterator[Broken]:
    group = subject.resource
    lowering = lowering_policies(group)
    if not lowering or _is_of_one(group) or _keeps_work(group) or all_of(_acts_when_all_are_idle, lowering):
        return
    check_outside(group)
    yield group.properties.broken(
        _PROTECTED,
        must="be true where a policy lowers the capacity: the group chooses who ends, and may choose one at work",
        cure=f"set {_PROTECTED}: true and lift it from idle instances only, or add a hook at {TERMINATING}",
    )


def _is_of_one(group: Resource) -> bool:
    most = group.properties.number("MaxSize")
    return most is not None and most <= 1


def _acts_when_all_are_idle(policy: Policy) -> bool:
    """Whether it acts on the busiest of all, so that nobody is at work when it does."""
    if policy.kind == TARGET_TRACKING:
        return False
    acting = [root for each in alarms_acting_on(policy.resource, ON_ALARM) for root in each.roots]
    if not acting:
        raise NotKnown(policy.resource, "no alarm of the templates acts on it")
    return any_of(_reads_the_busiest, acting)


def _reads_the_busiest(alarm: Alarm) -> bool:
    formulas = [each.searchable("Expression") or "" for each in alarm.resource.properties.each("Metrics")]
    if any("MAX" in each.upper() for each in formulas):
        return True
    if not alarm.series:
        raise NotKnown(alarm.resource, "the metrics that it reads are not listed in it")
    return any_of(_is_of_the_busiest, alarm.series)


def _is_of_the_busiest(series: Series) -> bool:
    if (series.statistic.text() or "").lower() in _MAXIMUM or series.name == _IN_FLIGHT:
        return True
    if not (series.namespace or "").startswith(_OF_MACHINES) and "util" not in (series.name or "").lower():
        raise series.metric.not_known("a metric of one's own may count the instances at work")
    return False


def _has_places(group: Resource) -> bool:
    return (
        not group.properties.at("VPCZoneIdentifier").is_absent or not group.properties.at("AvailabilityZones").is_absent
    )


def _is_not_rebalanced(subject: Itself) -> Iterator[Broken]:
    group = subject.resource
    if _is_of_one(group) or _keeps_work(group):
        return
    places, zones = _zones(group)
    if zones < 2 or is_allowed_at_all(group.deployment, ("autoscaling:SuspendProcesses",)):
        return
    if any(each.type.startswith(CUSTOM) for each in group.users()):
        raise NotKnown(group, "a custom resource may suspend AZRebalance on it")
    check_outside(group)
    yield places.broken(
        must="be in one zone, or the instances be protected: to even out zones the group ends some that are at work",
        got=f"{zones} zones, and no protection",
        cure=f"set {_PROTECTED}: true, suspend AZRebalance, or name subnets of one zone",
    )


def _zones(group: Resource) -> tuple[Value, int]:
    """Where the zones of a group are stated, and how many they are.

    Raises:
        NotKnown: the zone of a subnet is not in the templates.
    """
    subnets = group.properties.at("VPCZoneIdentifier")
    if subnets.is_absent:
        named = group.properties.at("AvailabilityZones")
        return named, len({_zone(each) for each in named.each()})
    entries = subnets.each()
    if len(entries) < 2:
        return subnets, len(entries)
    return subnets, len({_zone_of(each) for each in entries})


def _zone_of(subnet: Value) -> str | ZoneAt:
    made = subnet.made()
    if made is None:
        raise subnet.not_known("the templates do not say in which zone the subnet is")
    return _zone(made.properties.at("AvailabilityZone"))


def _zone(named: Value) -> str | ZoneAt:
    if isinstance(named.raw, (str, ZoneAt)):
        return named.raw
    raise named.not_known("the templates do not say which zone it is")


def _may_be_updated_by_replacing(group: Resource) -> bool:
    policy = group.attribute("UpdatePolicy")
    return not policy.is_known or not _REPLACING.isdisjoint(mapping(policy.raw))


def _is_not_replaced(subject: Itself) -> Iterator[Broken]:
    """A rolling update does not look at protection; it waits for hooks and load balancers."""
    group = subject.resource
    policy = group.attribute("UpdatePolicy")
    rolling = policy.at("AutoScalingRollingUpdate")
    replacing = policy.at("AutoScalingReplacingUpdate")
    replaced = not rolling.is_absent or replacing.flag("WillReplace", default=False)
    if not replaced or any_of(lambda way: way(group), (_is_drained_by_others, _has_hook_at_end)):
        return
    check_outside(group)
    yield (replacing if rolling.is_absent else rolling).broken(
        must="be left out, or instances have time to drain: each deploy of a new launch template ends those at work",
        got="an update that replaces running instances",
        cure=f"remove it, so that new instances use the new launch template, or add a hook at {TERMINATING}",
    )


# --- deletion --------------------------------------------------------------------------------------------------------


def _protects(group: Resource) -> bool:
    return not group.properties.at(_PROTECTED).is_absent


def _can_be_deleted(subject: Itself) -> Iterator[Broken]:
    group = subject.resource
    if not _is_protected(group):
        return
    if any(each.type.startswith(CUSTOM) for each in group.users()) or is_allowed_at_all(group.deployment, _FREES):
        return
    check_outside(group)
    yield group.properties.broken(
        _PROTECTED,
        must="be lifted when the stack is deleted: the deletion waits an hour for protected instances and leaves them",
        cure="add a custom resource that sets the sizes to 0 and lifts the protection, and depends on the group",
    )


# --- hooks and pools -------------------------------------------------------------------------------------------------


def _hooks(deployment: Deployment) -> Iterator[_Hook | NotKnown]:
    for each in accelerated_owners(GROUP, having=_may_have_hooks)(deployment):
        if isinstance(each, NotKnown):
            yield each
            continue
        try:
            yield from _hooks_of(each.resource)
        except NotKnown as not_known:
            yield not_known


def _may_have_hooks(group: Resource) -> bool:
    return not group.properties.at("LifecycleHookSpecificationList").is_absent or bool(_separate(group))


def _states_limits(hook: _Hook) -> Iterator[Broken]:
    if hook.value.at("HeartbeatTimeout").is_absent:
        yield hook.value.broken(
            "HeartbeatTimeout",
            must="be stated: an instance that does not answer is held, and billed, for an hour",
            cure="set HeartbeatTimeout to the seconds that a drain or a boot takes at most",
        )
    if hook.value.at("DefaultResult").is_absent:
        yield hook.value.broken(
            "DefaultResult",
            must="be stated: it decides what becomes of an instance that does not answer",
            cure="set DefaultResult: CONTINUE for the end of an instance, ABANDON for one that does not boot",
        )


def _ends_within_an_hour(hook: _Hook) -> Iterator[Broken]:
    timeout = hook.value.at("HeartbeatTimeout")
    if not hook.ends() or (timeout.number() or 0) <= _HOUR:
        return
    if is_allowed_at_all(hook.group.deployment, _ENDS_HOOKS):
        return
    check_outside(hook.group)
    yield timeout.broken(
        must=f"be at most {_HOUR}: the deletion of the stack waits no longer, and the instance is billed",
        cure=f"set HeartbeatTimeout to {_HOUR} or less, or let a custom resource remove the hook on delete",
    )


def _warm_pools(deployment: Deployment) -> Iterator[Itself | NotKnown]:
    pools = {group: pool for pool in deployment.resources(_WARM_POOL) for group in pool.uses(GROUP)}
    for each in accelerated_owners(GROUP, having=lambda owner: owner in pools)(deployment):
        yield each if isinstance(each, NotKnown) else Itself(pools[each.resource])


def _waits_switched_off(subject: Itself) -> Iterator[Broken]:
    state = subject.resource.properties.at("PoolState")
    if state.text() == "Running" and not has_stated(subject.resource, RUNNING):
        yield state.broken(
            must="be 'Stopped', or have its reason stated: what waits switched on is billed as in service",
            cure="set PoolState: Stopped, or write why: Metadata: {accel-fleet: {running: reason}}",
        )


RULES = (
    Rule(
        id="busy-instances-unprotected",
        title="Scale-in does not end an accelerated instance at work",
        severity=WARNING,
        practices=("SUS05-BP04/release", "REL07-BP01"),
        why="A lower capacity says how many instances go, not which: a job of hours is lost, and is paid for twice.",
        cure_here="AcceleratedFleet protects every instance, and ends only those that are idle.",
        cure_plain="Protect the instances from scale-in and lift it from idle ones, or give them a hook to drain.",
        link=_PROTECTION_LINK,
        subjects=accelerated_owners(GROUP, having=_has_policies),
        judge=_spares_the_busy,
    ),
    Rule(
        id="rebalancing-ends-busy-instances",
        title="Evening out zones does not end an accelerated instance at work",
        severity=WARNING,
        practices=("REL07-BP01", "SUS05-BP04/release"),
        why="After a loss in one zone the group launches there, and ends an instance in another, whatever it does.",
        cure_here="AcceleratedFleet protects every instance, and suspends AZRebalance.",
        cure_plain="Protect the instances, suspend AZRebalance, or keep the group in one zone.",
        link="https://docs.aws.amazon.com/autoscaling/ec2/userguide/auto-scaling-benefits.html",
        subjects=accelerated_owners(GROUP, having=_has_places),
        judge=_is_not_rebalanced,
    ),
    Rule(
        id="deploy-replaces-busy-instances",
        title="A deploy does not replace accelerated instances at work",
        severity=WARNING,
        practices=("REL08-BP05",),
        why="A rolling update ends running instances in batches; scale-in protection does not count for it.",
        cure_here="AcceleratedFleet has no rolling update: later instances use the new launch template.",
        cure_plain="Remove the rolling update, or give the instances a hook to drain.",
        link="https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-updatepolicy.html",
        subjects=accelerated_owners(GROUP, having=_may_be_updated_by_replacing),
        judge=_is_not_replaced,
    ),
    Rule(
        id="protection-blocks-deletion",
        title="Protected accelerated instances are freed when the stack is deleted",
        severity=ERROR,
        practices=("COST04-BP04", "SUS05-BP04/release"),
        why="CloudFormation sets the size to zero and waits; protected instances stay, the deletion fails after "
        "about an hour, and they bill on.",
        cure_here="AcceleratedFleet frees its instances when the stack goes; nothing is to be set.",
        cure_plain="Add a custom resource that depends on the group and lifts the protection on delete.",
        link=_PROTECTION_LINK,
        subjects=accelerated_owners(GROUP, having=_protects),
        judge=_can_be_deleted,
    ),
    Rule(
        id="hook-limits-unstated",
        title="Lifecycle hooks of accelerated groups state how long they hold, and what comes then",
        severity=WARNING,
        practices=("COST02-BP05", "REL07-BP01"),
        why="An instance in a hook is billed; by default it is held for an hour, and then abandoned.",
        cure_here="Give the fleet Drain(...); its hook states both.",
        cure_plain="Set HeartbeatTimeout and DefaultResult on each hook.",
        link=_HOOKS_LINK,
        subjects=_hooks,
        judge=_states_limits,
    ),
    Rule(
        id="drain-outlasts-deletion",
        title="An accelerated instance drains for at most an hour",
        severity=WARNING,
        practices=("COST02-BP05", "COST04-BP04"),
        why="A hook that nobody answers holds the instance, billed, for its whole time; the deletion of a stack fails "
        "after about an hour.",
        cure_here="Give the fleet a Drain of less than an hour.",
        cure_plain="Set HeartbeatTimeout to 3600 or less on hooks at the end of an instance.",
        link=_HOOKS_LINK,
        subjects=_hooks,
        judge=_ends_within_an_hour,
    ),
    Rule(
        id="warm-pool-running",
        title="Accelerated instances in a warm pool wait switched off, or the reason is stated",
        severity=WARNING,
        practices=("SUS05-BP04/release", "COST09-BP03"),
        why="A pool of running instances bills like instances at work, day and night, and does none.",
        cure_here="Give WarmPool no state: its instances wait stopped.",
        cure_plain="Set PoolState: Stopped.",
        link="https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-warm-pools.html",
        subjects=_warm_pools,
        judge=_waits_switched_off,
    ),
)
