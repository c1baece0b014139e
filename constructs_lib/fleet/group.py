"""The Auto Scaling group: which types, bought how, and what may never happen to it."""

from __future__ import annotations

from collections.abc import Collection

from aws_cdk import Duration, Tags
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from constructs_lib.acknowledgement import acknowledge
from constructs_lib.fleet.drain import HOOK_NAME, Drain
from constructs_lib.fleet.settings import FleetSettings
from constructs_lib.fleet.stated import reasons
from constructs_lib.statements import KEY
from constructs_lib.telemetry import names

_SHORTEST_GRACE_SECONDS = 300
_END_FIRST, _LAUNCH_FIRST = (0, 100), (100, 110)
_ANSWERED = {
    "AwsSolutions-AS3": "Scaling is what this group does all day: failed launches and missing capacity reach the "
    "fleet's topic, and every release is a line in the release function's log.",
    "AwsSolutions-EC26": "The rule cannot follow a mixed instances policy; the only volume is in the launch template, "
    "encrypted.",
}


def auto_scaling_group(
    scope: Construct,
    id: str,
    settings: FleetSettings,
    *,
    vpc: ec2.IVpc,
    vpc_subnets: ec2.SubnetSelection | None,
    launch_template: ec2.LaunchTemplate,
    fleet_tag_value: str,
    zones: Collection[str],
) -> autoscaling.AutoScalingGroup:
    """A group that grows by request only and from which nothing but the release handler takes a running instance.

    Every instance is protected from scale-in, so a lowered maximum, a changed desired capacity or a rebalancing of
    zones cannot pick a victim; the release handler's call is not subject to that protection. There is no desired
    capacity in the template and no rolling update: a deploy neither shrinks the fleet nor replaces a running instance,
    and a change of the launch template reaches the instances started after it.

    The hook that lets an instance drain is part of the group, so that there is no instance without it.
    """
    mixed = settings.is_mixed
    warm_up = Duration.seconds(settings.idle.warm_up_seconds)
    group = autoscaling.AutoScalingGroup(
        scope,
        id,
        vpc=vpc,
        vpc_subnets=vpc_subnets,
        launch_template=None if mixed else launch_template,
        mixed_instances_policy=_mixed_policy(launch_template, settings) if mixed else None,
        min_capacity=settings.min_capacity,
        # One that opens later has its sizes from its own clock: nothing may be tried before.
        max_capacity=0 if settings.purchase.opens_later else settings.max_capacity,
        new_instances_protected_from_scale_in=True,
        capacity_rebalance=settings.purchase.rebalances,
        default_instance_warmup=warm_up,
        health_checks=autoscaling.HealthChecks.ec2(
            grace_period=Duration.seconds(max(settings.idle.warm_up_seconds, _SHORTEST_GRACE_SECONDS))
        ),
        group_metrics=[autoscaling.GroupMetrics.all()],
    )
    Tags.of(group).add(names.FLEET_TAG, fleet_tag_value, apply_to_launched_instances=False)
    resource = group.node.default_child
    assert isinstance(resource, autoscaling.CfnAutoScalingGroup)
    ready = [] if settings.warm_pool is None else [settings.warm_pool.hook()]
    resource.lifecycle_hook_specification_list = [_drain_hook(settings.drain), *ready]
    # The order of replacements is a setting of the account unless the group has its own. An instance that failed is
    # ended first: a second one beside it would bill, and needs quota and capacity that are scarce for accelerators.
    # Only a group that rebalances starts the other one first, which is what it is asked for.
    least, most = _LAUNCH_FIRST if settings.purchase.rebalances else _END_FIRST
    resource.instance_maintenance_policy = autoscaling.CfnAutoScalingGroup.InstanceMaintenancePolicyProperty(
        min_healthy_percentage=least, max_healthy_percentage=most
    )
    resource.capacity_reservation_specification = settings.purchase.reservations()
    for change in settings.purchase.size_changes(
        settings.types, max_capacity=settings.max_capacity, drain_seconds=settings.drain.hook_heartbeat_seconds
    ):
        change.build(group)
    acknowledge(resource, _ANSWERED)
    resource.add_metadata(
        "AcceleratedFleet",
        {
            "Image": settings.image.description,
            "Updates": "none: a deploy replaces no running instance; later ones use the new launch template",
        },
    )
    stated = dict(reasons(settings, zones))
    if stated:
        resource.add_metadata(KEY, stated)
    return group


def _drain_hook(drain: Drain) -> autoscaling.CfnAutoScalingGroup.LifecycleHookSpecificationProperty:
    return autoscaling.CfnAutoScalingGroup.LifecycleHookSpecificationProperty(
        lifecycle_hook_name=HOOK_NAME,
        lifecycle_transition="autoscaling:EC2_INSTANCE_TERMINATING",
        heartbeat_timeout=drain.hook_heartbeat_seconds,
        # An abandoned hook may leave the instance behind, retained and billed; either way the termination goes on.
        default_result="CONTINUE",
    )


def _mixed_policy(launch_template: ec2.LaunchTemplate, settings: FleetSettings) -> autoscaling.MixedInstancesPolicy:
    return autoscaling.MixedInstancesPolicy(
        launch_template=launch_template,
        launch_template_overrides=_overrides(settings),
        instances_distribution=settings.purchase.distribution(by_attributes=settings.selection is not None),
    )


def _overrides(settings: FleetSettings) -> list[autoscaling.LaunchTemplateOverrides]:
    if settings.selection is not None:
        requirements = settings.selection.requirements(settings.types)
        return [autoscaling.LaunchTemplateOverrides(instance_requirements=requirements)]
    return [autoscaling.LaunchTemplateOverrides(instance_type=ec2.InstanceType(each.name)) for each in settings.types]
