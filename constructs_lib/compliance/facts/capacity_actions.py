"""What changes how much capacity a group, an instance or a fleet has: policies, schedules, services, functions, people.

Source: "Choose your scaling method", Amazon EC2 Auto Scaling User Guide; "Amazon ECS cluster auto scaling", Amazon ECS
Developer Guide; "Add stop actions to CloudWatch alarms", Amazon CloudWatch User Guide, read 2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from constructs_lib.compliance.deployment import Deployment, Resource, Stack, once
from constructs_lib.compliance.facts.agents import start_of
from constructs_lib.compliance.facts.alarms import ON_ALARM, alarms
from constructs_lib.compliance.facts.grants import check_outside, is_allowed_on
from constructs_lib.compliance.facts.launches import FLEET, GROUP, INSTANCE, SPOT_FLEET, Launch
from constructs_lib.compliance.facts.owners import launches_of
from constructs_lib.compliance.facts.roles import ROLE, SERVERLESS_FUNCTION
from constructs_lib.compliance.facts.scalable_targets import is_lowered as is_lowered_target
from constructs_lib.compliance.facts.scalable_targets import targets_of
from constructs_lib.compliance.facts.scaling_policies import POLICY, TARGET_TRACKING, Policy, groups_by_name
from constructs_lib.compliance.facts.tags import STOPPING
from constructs_lib.compliance.values import NotKnown, Value, any_of
from constructs_lib.template.markers import Made, markers_in

SCHEDULED_ACTION = "AWS::AutoScaling::ScheduledAction"
CAPACITY_PROVIDER = "AWS::ECS::CapacityProvider"

_DELETES_STACKS = "cloudformation:DeleteStack"
_LOWERS_GROUP = (
    "autoscaling:UpdateAutoScalingGroup",
    "autoscaling:SetDesiredCapacity",
    "autoscaling:TerminateInstanceInAutoScalingGroup",
    "autoscaling:DeleteAutoScalingGroup",
    "autoscaling:ExecutePolicy",
    "autoscaling:BatchPutScheduledUpdateGroupAction",
    "autoscaling:PutScheduledUpdateGroupAction",
)
_RAISES_GROUP = (
    "autoscaling:UpdateAutoScalingGroup",
    "autoscaling:SetDesiredCapacity",
    "autoscaling:ExecutePolicy",
    "autoscaling:LaunchInstances",
)
_ENDS_INSTANCE = ("ec2:StopInstances", "ec2:TerminateInstances")
_ENDS_FLEET = ("ec2:ModifyFleet", "ec2:DeleteFleets")
_ENDS_SPOT_FLEET = ("ec2:ModifySpotFleetRequest", "ec2:CancelSpotFleetRequests")
_STOPS = re.compile(r":(?:ec2:|action/.*AWS_EC2\.InstanceId\.)(?:stop|terminate)", re.IGNORECASE)
_SWITCHES_ITSELF_OFF = re.compile(
    r"\b(?:shutdown|poweroff|halt|stop-instances|terminate-instances|set-desired-capacity|"
    r"terminate-instance-in-auto-scaling-group|StopInstances|TerminateInstances|"
    r"Stop-Computer|Stop-EC2Instance|Remove-EC2Instance|Set-ASDesiredCapacity)\b"
)
_WINDOW_TARGET = "AWS::SSM::MaintenanceWindowTarget"
_RUN_DOCUMENTS = (
    "AWS::SSM::Association",
    "AWS::SSM::MaintenanceWindowTask",
    "AWS::SSMQuickSetup::ConfigurationManager",
)
_ENDS_BY_ITS_NAME = re.compile(r"stop|terminat|scheduler|shutdown", re.IGNORECASE)
# Tags by which programs outside of the templates find what they scale, start or stop.
_AUTOSCALER = re.compile(r"k8s\.io/cluster-autoscaler/|karpenter\.sh/|kubernetes\.io/cluster/|AmazonECSManaged")
_STOPPED_BY_TAG = re.compile(rf"{STOPPING}|ttl|idle|gitlab|buildkite", re.IGNORECASE)


def is_lowered(owner: Resource) -> bool:
    """Whether something in the templates lowers the capacity of a group, a fleet, or ends an instance.

    Raises:
        NotKnown: nothing is seen to, and something might.
    """
    return any_of(lambda way: way(owner), (*_BY_NUMBER, *_LOWERING[owner.type]))


def is_lowered_by_others(group: Resource) -> bool:
    """Whether something besides scaling policies and scheduled actions lowers the capacity of a group.

    Raises:
        NotKnown: nothing is seen to, and something might.
    """
    return any_of(lambda way: way(group), _LOWERING[GROUP])


def is_raised(group: Resource) -> bool:
    """Whether something in the templates raises a group above zero, its own sizes among it.

    Raises:
        NotKnown: nothing is seen to, and something might.
    """
    return any_of(lambda way: way(group), (_has_size, _policy_raises, _schedule_raises, _role_raises, _is_provided))


def is_raised_by_itself(group: Resource) -> bool:
    """Whether a scaling policy or a schedule raises a group, with nobody looking on.

    Raises:
        NotKnown: neither is seen to, and one might.
    """
    return any_of(lambda way: way(group), (_policy_raises, _schedule_raises))


def reaches_zero(owner: Resource) -> bool:
    """Whether the capacity of a group, instance or fleet can come to nothing by what is in the templates.

    Raises:
        NotKnown: it is not seen to, and might.
    """
    return any_of(
        lambda way: way(owner), (_stack_expires, _schedule_empties, _comes_to_minimum_of_zero, _role_sets_sizes)
    )


def lowering_policies(group: Resource) -> list[Policy]:
    """The scaling policies of a group that may lower its capacity.

    Raises:
        NotKnown: of one it is not known.
    """
    return [each for each in policies_of(group) if each.lowers()]


def policies_of(group: Resource) -> Sequence[Policy]:
    """The scaling policies of a group."""
    return _policies(group.deployment).get(group, ())


def scheduled_actions_of(group: Resource) -> Sequence[Value]:
    """The properties of the scheduled actions of a group."""
    return _scheduled_actions(group.deployment).get(group, ())


def capacity_providers_of(group: Resource) -> list[Resource]:
    """The capacity providers of ECS that a group is behind."""
    return group.users(CAPACITY_PROVIDER)


# --- groups ----------------------------------------------------------------------------------------------------------


def _policy_lowers(group: Resource) -> bool:
    return any_of(lambda each: _may_lower(each, group), policies_of(group))


def _may_lower(policy: Policy, group: Resource) -> bool:
    if policy.kind != TARGET_TRACKING and policy.sets_capacity():
        # What is below the maximum lowers a group that is larger.
        most = group.properties.number("MaxSize") or 0
        return any_of(lambda each: (each.number() or 0) < most, policy.adjustments)
    return policy.lowers()


def _schedule_lowers(group: Resource) -> bool:
    return any_of(lambda each: lowers_by_schedule(each, group), scheduled_actions_of(group))


def lowers_by_schedule(action: Value, group: Resource) -> bool:
    """Whether a scheduled action sets a group to less than something else has raised it to.

    Raises:
        NotKnown: it is not known.
    """
    sizes = [each for name in ("DesiredCapacity", "MaxSize") if (each := action.number(name)) is not None]
    most = group.properties.number("MaxSize")
    if not sizes or (most is not None and min(sizes) >= most):
        return False
    if min(sizes) <= _minimum(group):
        return True
    return any_of(lambda way: way(group, min(sizes)), (_starts_above, _is_set_above, _is_raised_by_need))


def _starts_above(group: Resource, size: float) -> bool:
    return (group.properties.number("DesiredCapacity") or _minimum(group)) > size


def _is_set_above(group: Resource, size: float) -> bool:
    """Whether another scheduled action sets it to more."""
    set_to = (each.number(name) for each in scheduled_actions_of(group) for name in ("DesiredCapacity", "MinSize"))
    return any_of(lambda each: (each or 0) > size, set_to)


def _is_raised_by_need(group: Resource, _: float) -> bool:
    return any_of(lambda way: way(group), (_policy_raises, is_scaled_by_ecs, _role_raises))


def _schedule_empties(owner: Resource) -> bool:
    least = _minimum(owner)
    return any_of(lambda each: _sets_zero(each, least), scheduled_actions_of(owner))


def _sets_zero(action: Value, least: float) -> bool:
    if action.number("MaxSize") == 0:
        return True
    minimum = action.number("MinSize")
    return action.number("DesiredCapacity") == 0 and (least if minimum is None else minimum) == 0


def _comes_to_minimum_of_zero(owner: Resource) -> bool:
    return not _minimum(owner) and is_lowered(owner)


def _minimum(owner: Resource) -> float:
    return owner.properties.number("MinSize") or 0


def is_scaled_by_ecs(group: Resource) -> bool:
    """Whether ECS scales a group by the tasks that want its instances.

    Raises:
        NotKnown: a capacity provider of it does not say so.
    """
    return any_of(_is_managed, capacity_providers_of(group))


def _is_managed(provider: Resource) -> bool:
    scaling = provider.properties.at("AutoScalingGroupProvider.ManagedScaling")
    status = scaling.at("Status")
    if status.is_absent:
        raise status.not_known("the template does not say whether ECS scales the group")
    return status.text() == "ENABLED"


def _is_provided(group: Resource) -> bool:
    return bool(capacity_providers_of(group))


def _has_size(group: Resource) -> bool:
    return any_of(lambda name: bool(group.properties.number(name)), ("MinSize", "DesiredCapacity"))


def _policy_raises(group: Resource) -> bool:
    return any_of(lambda each: each.raises(), policies_of(group))


def _schedule_raises(group: Resource) -> bool:
    return any_of(
        lambda each: bool(each.number("DesiredCapacity") or each.number("MinSize")), scheduled_actions_of(group)
    )


def _role_raises(group: Resource) -> bool:
    return is_allowed_on(group, _RAISES_GROUP)


def _role_lowers(group: Resource) -> bool:
    return is_allowed_on(group, _LOWERS_GROUP)


def _role_sets_sizes(owner: Resource) -> bool:
    actions = ("autoscaling:UpdateAutoScalingGroup", "autoscaling:DeleteAutoScalingGroup")
    return owner.type == GROUP and is_allowed_on(owner, actions)


def _stack_expires(owner: Resource) -> bool:
    return owner.stack in _expiring(owner.deployment)


@once
def _expiring(deployment: Deployment) -> frozenset[Stack]:
    """The stacks with a role or a policy that may delete stacks: it is there for that."""
    holders = deployment.resources(ROLE, SERVERLESS_FUNCTION, "AWS::IAM::Policy", "AWS::IAM::ManagedPolicy")
    return frozenset(each.stack for each in holders if _DELETES_STACKS in str(each.written.get("Properties")))


def _autoscaler_is_told(group: Resource) -> bool:
    return any(_AUTOSCALER.search(key) for key in tag_keys(group))


def _is_told_by_tag(owner: Resource) -> bool:
    found = next((key for key in tag_keys(owner) if _STOPPED_BY_TAG.search(key)), None)
    if found is not None:
        raise NotKnown(owner, f"its tag {found} may tell a program outside of the templates to end it")
    return False


def tag_keys(owner: Resource) -> list[str]:
    """The keys of its tags.

    Raises:
        NotKnown: they are not known.
    """
    return [each.text("Key") or "" for each in owner.properties.each("Tags")]


# --- instances -------------------------------------------------------------------------------------------------------


def _alarm_ends(instance: Resource) -> bool:
    return any_of(lambda alarm: _is_ended_by(alarm, instance), _ending_alarms(instance.deployment))


def _is_ended_by(alarm: Resource, instance: Resource) -> bool:
    return instance in alarm.uses(INSTANCE)


@once
def _ending_alarms(deployment: Deployment) -> Sequence[Resource]:
    """The alarms that stop or terminate the instance that they watch."""
    found = []
    for alarm in alarms(deployment):
        try:
            actions = [each.searchable() or "" for each in alarm.named_actions(ON_ALARM) if _is_text(each)]
        except NotKnown:
            continue
        if any(map(_STOPS.search, actions)):
            found.append(alarm.resource)
    return tuple(found)


def _is_text(value: Value) -> bool:
    return not isinstance(value.raw, Made)


def _role_ends_instance(instance: Resource) -> bool:
    return is_allowed_on(instance, _ENDS_INSTANCE)


def _document_may_end(instance: Resource) -> bool:
    """Systems Manager runs documents on the instances that it is given, or on those with a tag."""
    for each in instance.deployment.resources(*_RUN_DOCUMENTS):
        if not _ENDS_BY_ITS_NAME.search(str(each.written.get("Properties"))):
            continue
        given = {used for one in (each, *each.uses(_WINDOW_TARGET)) for used in one.uses(INSTANCE)}
        if instance in given:
            raise NotKnown(instance, f"{each.id} refers to it and may change it")
        if not given:
            raise NotKnown(instance, f"{each.id} may stop it, if it has the tags that are looked for")
    return False


def _switches_itself_off(owner: Resource) -> bool:
    return any_of(_has_command, launches_of(owner))


def _has_command(launch: Launch) -> bool:
    return any(_SWITCHES_ITSELF_OFF.search(each.commands) for each in start_of(launch).told)


# --- fleets ----------------------------------------------------------------------------------------------------------


def _fleet_ends(fleet: Resource) -> bool:
    data = _request(fleet)
    return not data.at("ValidUntil").is_absent and data.flag("TerminateInstancesWithExpiration", default=False)


def _request(fleet: Resource) -> Value:
    return fleet.properties.at("SpotFleetRequestConfigData") if fleet.type == SPOT_FLEET else fleet.properties


def _role_ends_fleet(fleet: Resource) -> bool:
    return is_allowed_on(fleet, _ENDS_SPOT_FLEET if fleet.type == SPOT_FLEET else _ENDS_FLEET)


def _target_lowers(fleet: Resource) -> bool:
    return any_of(is_lowered_target, targets_of(fleet, None))


_BY_NUMBER = (_policy_lowers, _schedule_lowers)
_LOWERING: Mapping[str, Sequence[Callable[[Resource], bool]]] = {
    GROUP: (
        is_scaled_by_ecs,
        _autoscaler_is_told,
        _is_told_by_tag,
        _switches_itself_off,
        _role_lowers,
        check_outside,
    ),
    INSTANCE: (
        _alarm_ends,
        _switches_itself_off,
        _is_told_by_tag,
        _role_ends_instance,
        _document_may_end,
        check_outside,
    ),
    FLEET: (_fleet_ends, _role_ends_fleet, check_outside),
    SPOT_FLEET: (_fleet_ends, _target_lowers, _role_ends_fleet, check_outside),
}


@once
def _policies(deployment: Deployment) -> Mapping[Resource, Sequence[Policy]]:
    found: dict[Resource, list[Policy]] = {}
    for resource in deployment.resources(POLICY):
        group = _group_of(resource)
        if group is not None:
            found.setdefault(group, []).append(Policy(resource))
    return found


@once
def _scheduled_actions(deployment: Deployment) -> Mapping[Resource, Sequence[Value]]:
    found: dict[Resource, list[Value]] = {}
    for resource in deployment.resources(SCHEDULED_ACTION):
        group = _group_of(resource)
        if group is not None:
            found.setdefault(group, []).append(resource.properties)
    return found


def _group_of(resource: Resource) -> Resource | None:
    """The group that a policy or scheduled action names, by reference or by name."""
    named = resource.properties.at("AutoScalingGroupName")
    for marker in markers_in(named.raw):
        made = resource.deployment.resource_made(marker) if isinstance(marker, Made) else None
        if made is not None and made.type == GROUP:
            return made
    groups = (each for each in resource.uses(GROUP))
    return next(groups, None) or groups_by_name(resource.deployment).get(str(named.raw))
