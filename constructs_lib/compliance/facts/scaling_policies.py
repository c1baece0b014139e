"""Scaling policies of Auto Scaling groups: whose they are, and which way they move the capacity.

Source: "Step and simple scaling policies" and "Target tracking scaling policies", Amazon EC2 Auto Scaling User Guide.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from constructs_lib.compliance.deployment import Deployment, Resource, once
from constructs_lib.compliance.facts.agents import starts_by_owner
from constructs_lib.compliance.facts.alarms import Series
from constructs_lib.compliance.facts.launches import GROUP, Launch, accelerated_launches
from constructs_lib.compliance.facts.roles import is_meant_to, role_of
from constructs_lib.compliance.values import NotKnown, Value, any_of

POLICY = "AWS::AutoScaling::ScalingPolicy"
SIMPLE = "SimpleScaling"
STEP = "StepScaling"
TARGET_TRACKING = "TargetTrackingScaling"

_EXACT = "ExactCapacity"
_PROTECT = "autoscaling:SetInstanceProtection"
_PROTECTS = re.compile(r"set-instance-protection|set_instance_protection|SetInstanceProtection")


@dataclass(frozen=True, eq=False)
class Policy:
    """A scaling policy.

    Attributes:
        resource: that it is.
    """

    resource: Resource

    @property
    def properties(self) -> Value:
        """Its properties."""
        return self.resource.properties

    @cached_property
    def group(self) -> Resource | None:
        """The group whose capacity it moves. None: it is not in the templates.

        Raises:
            NotKnown: nobody can tell which it is.
        """
        value = self.properties.at("AutoScalingGroupName")
        made = value.made()
        if made is not None:
            return made if made.type == GROUP else None
        return groups_by_name(self.resource.deployment).get(value.text() or "")

    @property
    def kind(self) -> str:
        """Its type.

        Raises:
            NotKnown: it is not known.
        """
        return self.properties.text("PolicyType") or SIMPLE

    @property
    def adjustments(self) -> list[Value]:
        """By how much it moves the capacity: one value, or one for each step. A tracked target has none.

        Raises:
            NotKnown: they are not known.
        """
        if self.kind == SIMPLE:
            return [self.properties.at("ScalingAdjustment")]
        return [each.at("ScalingAdjustment") for each in self.properties.each("StepAdjustments")]

    def sets_capacity(self) -> bool:
        """Whether its adjustments are the capacity itself, and no change of it.

        Raises:
            NotKnown: it is not known.
        """
        return self.properties.text("AdjustmentType") == _EXACT

    def lowers(self) -> bool:
        """Whether it may lower the capacity.

        Raises:
            NotKnown: it is not known.
        """
        if self.kind == TARGET_TRACKING:
            return not self.properties.flag("TargetTrackingConfiguration.DisableScaleIn", default=False)
        if self.sets_capacity():
            return any_of(lambda each: (each.number() or 0) <= self._least(), self.adjustments)
        return any_of(lambda each: (each.number() or 0) < 0, self.adjustments)

    def raises(self) -> bool:
        """Whether it may raise the capacity.

        Raises:
            NotKnown: it is not known.
        """
        if self.kind == TARGET_TRACKING:
            return True
        if self.kind not in (SIMPLE, STEP):
            return True  # A forecast.
        if self.sets_capacity():
            return any_of(lambda each: (each.number() or 0) > self._least(), self.adjustments)
        return any_of(lambda each: (each.number() or 0) > 0, self.adjustments)

    @cached_property
    def tracked(self) -> tuple[Series, ...]:
        """The series of its own choice that a target tracking policy follows.

        Raises:
            NotKnown: they are not known.
        """
        custom = self.properties.at("TargetTrackingConfiguration.CustomizedMetricSpecification")
        if custom.is_absent:
            return ()
        if custom.at("Metrics").is_absent:
            return (Series(custom, custom.at("Statistic"), custom.at("Period"), custom.at("Unit"), None, False),)
        stats = [each.at("MetricStat") for each in custom.each("Metrics")]
        return tuple(
            Series(each.at("Metric"), each.at("Stat"), each.at("Period"), each.at("Unit"), None, False)
            for each in stats
            if not each.is_absent
        )

    def _least(self) -> float:
        group = self.group
        return 0 if group is None else group.properties.number("MinSize") or 0


@once
def accelerated_groups(deployment: Deployment) -> dict[Resource, NotKnown | None]:
    """The groups with accelerators; those of which nobody can tell have the reason beside them."""
    found: dict[Resource, NotKnown | None] = {}
    for launch in accelerated_launches(deployment):
        if not isinstance(launch, NotKnown):
            if launch.owner.type == GROUP:
                found[launch.owner] = None
            continue
        place = launch.place.resource if isinstance(launch.place, Value) else launch.place
        for group in [place] if place.type == GROUP else place.users(GROUP):
            found.setdefault(group, launch)
    return found


@once
def policies_of_accelerated(deployment: Deployment) -> Sequence[Policy | NotKnown]:
    """The policies of groups with accelerators, and in place of one of which nobody can tell, why."""
    groups = accelerated_groups(deployment)
    found: list[Policy | NotKnown] = []
    for resource in deployment.resources(POLICY) if groups else ():
        policy = Policy(resource)
        try:
            group = policy.group
        except NotKnown as not_known:
            found.append(not_known)
            continue
        if group in groups:
            found.append(groups[group] or policy)
    return tuple(found)


@once
def policies_by_group(deployment: Deployment) -> dict[Resource, list[Policy]]:
    """The policies of groups with accelerators, as far as they are known, by the group."""
    found: dict[Resource, list[Policy]] = {}
    for each in policies_of_accelerated(deployment):
        if isinstance(each, Policy) and each.group is not None:
            found.setdefault(each.group, []).append(each)
    return found


def protects_what_works(group: Resource) -> bool:
    """Whether instances that work are kept from scale-in: all are at first, or each sees to it itself.

    Raises:
        NotKnown: it is not known what its instances may do.
    """
    if group.properties.flag("NewInstancesProtectedFromScaleIn", default=False):
        return True
    launched = [each.launch for each in starts_by_owner(group.deployment).get(group, ())]
    return any_of(_protects_itself, launched)


def _protects_itself(launch: Launch) -> bool:
    role = role_of(launch)
    if role is None:
        return False
    try:
        return is_meant_to(role, _PROTECT)
    except NotKnown:
        if _PROTECTS.search(launch.setting("UserData").searchable() or ""):
            return True
        raise


@once
def groups_by_name(deployment: Deployment) -> dict[str, Resource]:
    """The groups that have a name of their own."""
    named = ((each.properties.at("AutoScalingGroupName").raw, each) for each in deployment.resources(GROUP))
    return {name: each for name, each in named if isinstance(name, str)}
