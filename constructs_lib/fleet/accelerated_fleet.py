"""The library's main construct."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import jsii
from aws_cdk import Stack
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns
from aws_cdk.aws_cloudwatch_actions import SnsAction
from constructs import Construct

from constructs_lib.claims import claim
from constructs_lib.errors import ArgumentError
from constructs_lib.fleet.advice import advise, advise_on_overrides
from constructs_lib.fleet.boot import check_user_data_size
from constructs_lib.fleet.drain import HOOK_NAME, Drain
from constructs_lib.fleet.encryption import open_volume_key
from constructs_lib.fleet.fleet_tag import fleet_tag_value
from constructs_lib.fleet.flexible_types import FlexibleTypes
from constructs_lib.fleet.group import auto_scaling_group
from constructs_lib.fleet.image import FleetImage
from constructs_lib.fleet.instance_role import instance_role
from constructs_lib.fleet.instance_software import InstanceSoftware
from constructs_lib.fleet.instance_types import InstanceTypes
from constructs_lib.fleet.launch_template import launch_template
from constructs_lib.fleet.lustre_access import reach_lustre
from constructs_lib.fleet.machine_setup import MachineSetup
from constructs_lib.fleet.metric_methods import MetricMethods
from constructs_lib.fleet.network import FleetNetwork
from constructs_lib.fleet.network_advice import advise_on_network
from constructs_lib.fleet.purchase import Purchase
from constructs_lib.fleet.security_group import instances_security_group
from constructs_lib.fleet.settings import FleetSettings
from constructs_lib.fleet.sizing import Surroundings, size
from constructs_lib.fleet.storage import FleetStorage
from constructs_lib.fleet.subnets import fleet_subnets, zones_of
from constructs_lib.fleet.warm_pool import WarmPool
from constructs_lib.fleet.watch import (
    capacity_shortfall_alarm,
    degraded_alarm,
    launch_failure_rule,
    telemetry_gap_alarm,
)
from constructs_lib.notifications import notifications_topic
from constructs_lib.references import check_references, check_regions
from constructs_lib.release import (
    RELEASED_BY,
    FleetCleanup,
    IdlePolicy,
    IdleSignal,
    ReleaseLoop,
    ReleaseSettings,
    ScaleInProtection,
    doubt_of_node_program,
)
from constructs_lib.scaling import Demand, FleetSchedule, ScheduledCapacity, WakeOnDemand
from constructs_lib.telemetry import FleetMetrics, Telemetry, billed_metrics, fleet_widgets, names
from constructs_lib.validation import complaint

if TYPE_CHECKING:
    from constructs_lib.rightsizing import Workload

_MOST_FAILED_LAUNCHES = 5


@jsii.implements(iam.IGrantable, ec2.IConnectable)
class AcceleratedFleet(MetricMethods, Construct):
    """A fleet of accelerated instances that is measured, wakes on demand, and goes back to zero when idle.

    Defines an Auto Scaling group with a launch template, role and security group of its own; the CloudWatch agent's
    configuration, and a program that measures what the agent cannot; the functions that wake the fleet, release idle
    instances and free everything when the stack is deleted; alarms for missing readings, accelerators and capacity,
    for unknown instances and failing functions; and a topic that they, and each failed launch, reach.

    Limitations: Linux only. A deploy replaces no running instance: a new image or agent configuration reaches the
    instances that start after it. A capacity reservation bills on while the fleet that would use it is at zero.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        vpc: ec2.IVpc,
        instance_types: InstanceTypes | FlexibleTypes | None = None,
        workload: Workload | None = None,
        max_capacity: int | None = None,
        min_capacity: int | None = None,
        vpc_subnets: ec2.SubnetSelection | None = None,
        image: FleetImage | None = None,
        purchase: Purchase | None = None,
        warm_pool: WarmPool | None = None,
        demand: Demand | None = None,
        idle: IdlePolicy | None = None,
        drain: Drain | None = None,
        schedule: FleetSchedule | None = None,
        telemetry: Telemetry | None = None,
        storage: FleetStorage | None = None,
        machine: MachineSetup | None = None,
        network: FleetNetwork | None = None,
        notifications: sns.ITopic | None = None,
        role: iam.IRole | None = None,
        security_group: ec2.ISecurityGroup | None = None,
        user_data: ec2.UserData | None = None,
        encryption_key: kms.IKey | None = None,
    ) -> None:
        """
        Args:
            vpc: where the instances run.
            instance_types: names, ``ec2.InstanceType`` or ``AcceleratedType`` (for a type newer than the catalogue), in
                order of preference; or ``FlexibleTypes``, all that have so much. They share accelerator kind, CPU
                architecture and driver. Default: chosen for the ``workload``.
            workload: what the fleet is for. Of the types that it fits on and that somebody measured, the one with the
                cheapest unit of work and up to three that do about as much are chosen, by the tables of this package;
                the template's metadata say by which figures. With ``instance_types`` it is checked that it fits on
                them. Default: not known, ``instance_types`` say what is needed.
            max_capacity: most instances at a time, at least 1. Default: what the workload's rate takes.
            min_capacity: instances kept even when idle. Default: none, the fleet rests at zero.
            vpc_subnets: Default: the VPC's private subnets, else its isolated, else its public ones.
            image: Default: the Deep Learning base image on Amazon Linux 2023 for the types' accelerators and
                architecture. AWS has one for NVIDIA GPUs and for Trainium and Inferentia 2; others need one given.
            purchase: how the instances are bought. Default: On-Demand.
            warm_pool: instances that are booted ahead and wait. Default: none.
            demand: what starts instances. Default: nothing does, except whoever sets the group's desired capacity.
            idle: when an instance is idle. Default: ``IdlePolicy()``, 15 minutes below 5 % on every accelerator; for a
                ``workload`` whose model takes long to load with a warm-up of twice the time that it should take.
            drain: how work on an instance is brought to its end before the instance goes. Default: ``Drain()``, which
                waits for it for up to 30 minutes; 5 with a Capacity Block, whose paid time ends with it.
            schedule: when the fleet is open, and when it is woken ahead of need. Default: always open.
            telemetry: what is measured. Default: what the fleet's types support, per accelerator, instance and group.
            storage: the root volume, what becomes of instance-store disks, and FSx for Lustre file systems to mount.
                Default: gp3 of the image's size, and the disks as the image leaves them.
            machine: settings of the machine that are made at each boot. Default: as the image has them.
            network: network interfaces, and where the instances stand in relation to each other. Default: one ordinary
                interface, wherever AWS has room.
            notifications: topic for all alarms and failed launches. Default: a new one without subscribers.
            role: of the instances, gets the permissions that the agent needs. Default: a new one with these alone.
            security_group: Default: a new one without inbound rules; outbound is open.
            user_data: script that starts the workload, run after the agent; with a ``warm_pool``, when the instance
                enters service. Default: nothing is started.
            encryption_key: for the volumes. Default: the account's default key for EBS.

        Raises:
            FleetError: an argument is wrong by itself or in combination; the message names the cure.
        """
        super().__init__(scope, id)
        check_references(
            self.node.path,
            vpc=vpc,
            notifications=notifications,
            role=role,
            security_group=security_group,
            user_data=user_data,
            encryption_key=encryption_key,
        )
        check_regions(self, vpc=vpc, security_group=security_group, encryption_key=encryption_key)
        sizing = size(
            self.node.path,
            workload=workload,
            instance_types=instance_types,
            max_capacity=max_capacity,
            idle=idle,
            surroundings=Surroundings(region=Stack.of(self).region, purchase=purchase, network=network, image=image),
        )
        settings = FleetSettings.check(
            self.node.path,
            instance_types=sizing.instance_types,
            max_capacity=sizing.max_capacity,
            min_capacity=min_capacity,
            vpc_subnets=vpc_subnets,
            image=image,
            purchase=purchase,
            demand=demand,
            idle=sizing.idle,
            drain=drain,
            schedule=schedule,
            telemetry=telemetry,
            storage=storage,
            machine=machine,
            network=network,
            warm_pool=warm_pool,
        )
        where_to, subnets = fleet_subnets(self.node.path, vpc, vpc_subnets, settings)
        settings.purchase.check_zones(self.node.path, subnets)
        self._settings = settings
        if settings.demand is not None:
            settings.demand.claim(self.node.path)
        self._tag_value = fleet_tag_value(self)
        self._notifications = notifications_topic(self, "Notifications", notifications)
        self._alarm_action = SnsAction(self._notifications)
        self._software = InstanceSoftware(self, settings)
        self._role = instance_role(self, "Role", role, own=self._software.statements())
        self._security_group = instances_security_group(
            self, "SecurityGroup", security_group, vpc=vpc, efa=settings.network.uses_efa
        )
        self._workload = user_data
        self._user_data = self._software.user_data(user_data)
        self._launch_template = self._build_launch_template(encryption_key)
        self._group = self._build_group(vpc, where_to, zones_of(subnets))
        self._metrics = FleetMetrics.of_fleet(self._group.auto_scaling_group_name, settings.types, settings.telemetry)
        self._release = self._build_release()
        self._wake = self._build_wake()
        self._build_watch()
        self._cleanup = FleetCleanup(
            self,
            "Cleanup",
            auto_scaling_group=self._group,
            fleet_tag_value=self._tag_value,
            network=subnets.internet_connectivity_established,
        )
        self._build_warm_pool()
        self._schedule = self._build_schedule()
        self.node.default_child = self._group.node.default_child
        reach_lustre(
            self,
            settings.storage.lustre or (),
            security_group=self._security_group,
            group=self._group,
            vpc=vpc,
            subnets=subnets,
        )
        advise(self, settings, vpc=vpc, subnets=subnets)
        sizing.advise(self, self._group)
        advise_on_network(
            self,
            settings,
            vpc=vpc,
            subnets=subnets,
            launch_template=self._launch_template,
            zone_chosen=where_to is not vpc_subnets,
        )
        advise_on_overrides(self, self._launch_template)

    # --- parts -----------------------------------------------------------------------------------------------------

    @property
    def auto_scaling_group(self) -> autoscaling.AutoScalingGroup:
        """The group; its ``node.default_child`` is the escape hatch to every property of CloudFormation."""
        return self._group

    @property
    def launch_template(self) -> ec2.LaunchTemplate:
        """The fleet's own launch template."""
        return self._launch_template

    @property
    def role(self) -> iam.IRole:
        """The instances' role."""
        return self._role

    @property
    def security_group(self) -> ec2.ISecurityGroup:
        """The instances' security group."""
        return self._security_group

    @property
    def idle_alarm(self) -> cloudwatch.Alarm:
        """In ALARM while every accelerator of the fleet has been idle for the whole window."""
        return self._release.idle_alarm

    @property
    def release_function(self) -> lambda_.Function:
        """The function that judges each instance and releases the idle ones."""
        return self._release.function

    @property
    def wake_function(self) -> lambda_.Function | None:
        """The function that raises the capacity to what the demand needs; none without a demand."""
        return None if self._wake is None else self._wake.function

    @property
    def max_failed_launches(self) -> int:
        """After so many launches in a row that came to nothing launching is stopped; 0 for never."""
        most = self._settings.idle.max_failed_launches
        return _MOST_FAILED_LAUNCHES if most is None else most

    @property
    def schedule_function(self) -> lambda_.Function | None:
        """The function that pauses, opens and wakes the fleet by its schedule; none without one."""
        return None if self._schedule is None else self._schedule.function

    @property
    def notifications(self) -> sns.ITopic:
        """Where alarms and failed launches go."""
        return self._notifications

    @property
    def log_group(self) -> logs.ILogGroup | None:
        """Where the instances' log files go; none without ``Telemetry(logs=...)``."""
        return self._software.log_group

    @property
    def fleet_tag_value(self) -> str:
        """Value of the tag ``accelerated-fleet:id`` on everything that this fleet starts, unique to stack and fleet."""
        return self._tag_value

    # --- the CDK's own manners -------------------------------------------------------------------------------------

    @property
    def grant_principal(self) -> iam.IPrincipal:
        """Grants to the fleet are grants to its instances: ``bucket.grant_read(fleet)``."""
        return self._role.grant_principal

    @property
    def connections(self) -> ec2.Connections:
        """Network rules from and to the instances."""
        return self._security_group.connections

    def add_user_data(self, *commands: str) -> None:
        """Append shell commands to what an instance does at boot, after the agent and the given ``user_data``.

        With a warm pool they run in it and prepare the instance, before its workload is ever started.

        Raises:
            ArgumentError: everything together is longer than EC2 takes.
        """
        self._user_data.add_commands(*commands)
        check_user_data_size(self.node.path, self._user_data, self._workload)

    def grant(self, grantee: iam.IGrantable, *actions: str) -> iam.Grant:
        """Allow Auto Scaling actions on this fleet's group and no other."""
        return iam.Grant.add_to_principal(
            grantee=grantee, actions=list(actions), resource_arns=[self._group.auto_scaling_group_arn]
        )

    def grant_wake(self, grantee: iam.IGrantable) -> iam.Grant:
        """Allow to set the group's desired capacity, for a scheduler of your own.

        Lowering it ends no instance, since all are protected from scale-in.
        """
        return self.grant(grantee, "autoscaling:SetDesiredCapacity")

    def grant_pause(self, grantee: iam.IGrantable) -> iam.Grant:
        """Allow to pause and resume the fleet by hand, which is to invoke the schedule function.

        Raises:
            ArgumentError: the fleet has no schedule.
        """
        if self._schedule is None:
            cure = "give FleetSchedule(), which need not name any hours"
            raise ArgumentError(complaint(self.node.path, "schedule", "be given to a fleet that is paused", None, cure))
        return self._schedule.grant_pause(grantee)

    def grant_hold(self, grantee: iam.IGrantable) -> iam.Grant:
        """Allow to mark instances of this fleet with the tag ``accelerated-fleet:hold``, and to remove the mark.

        A marked instance is never released. ``fleet.grant_hold(fleet)`` lets the workload hold its own instance.
        """
        return iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["ec2:CreateTags", "ec2:DeleteTags"],
            resource_arns=[Stack.of(self).format_arn(service="ec2", resource="instance", resource_name="*")],
            conditions={
                "StringEquals": {f"aws:ResourceTag/{names.FLEET_TAG}": self._tag_value},
                "ForAllValues:StringEquals": {"aws:TagKeys": [names.HOLD_TAG]},
                # DeleteTags without a key removes every tag, and "for all" of no key is true.
                "Null": {"aws:TagKeys": "false"},
            },
        )

    def billed_metrics(self, instances: int) -> int:
        """How many custom metrics the fleet publishes at most while this many instances run the whole month.

        The first 10,000 of an account and region cost 0.30 USD each a month in most regions (Amazon CloudWatch pricing,
        September 2026), in proportion to the hours in which they are published; a fleet at zero publishes none.

        Raises:
            ArgumentError: ``instances`` is not a whole number of at least 0.
        """
        settings = self._settings
        return billed_metrics(
            settings.kind,
            settings.types,
            settings.telemetry,
            instances,
            with_setup=bool(settings.machine_settings),
            with_network=IdleSignal.NETWORK in settings.idle.signals_with_node_program(),
        )

    def dashboard_widgets(self) -> list[cloudwatch.IWidget]:
        """A row of graphs for a dashboard of yours: utilisation, capacity, verdicts of the release handler."""
        return fleet_widgets(self._metrics, self.node.id)

    # --- construction ----------------------------------------------------------------------------------------------

    def _build_launch_template(self, encryption_key: kms.IKey | None) -> ec2.LaunchTemplate:
        settings = self._settings
        first = settings.types[0]
        if encryption_key is not None:
            open_volume_key(self, encryption_key, spot=settings.purchase.uses_spot)
        template = launch_template(
            self,
            "LaunchTemplate",
            instance_type=None if settings.is_mixed else first.name,
            machine_image=settings.image.machine_image(self.node.path, settings.types, settings.kind),
            root_device=settings.image.root_device,
            storage=settings.storage,
            encryption_key=encryption_key,
            role=self._role,
            security_group=self._security_group,
            interfaces=settings.interfaces,
            user_data=self._user_data,
            fleet_tag_value=self._tag_value,
        )
        resource = template.node.default_child
        assert isinstance(resource, ec2.CfnLaunchTemplate)
        pool = {} if settings.warm_pool is None else settings.warm_pool.launch_data()
        for name, value in {**settings.purchase.launch_data(), **pool}.items():
            resource.add_property_override(f"LaunchTemplateData.{name}", value)
        return template

    def _build_group(
        self, vpc: ec2.IVpc, vpc_subnets: ec2.SubnetSelection | None, zones: Collection[str]
    ) -> autoscaling.AutoScalingGroup:
        group = auto_scaling_group(
            self,
            "AutoScalingGroup",
            self._settings,
            vpc=vpc,
            vpc_subnets=vpc_subnets,
            launch_template=self._launch_template,
            fleet_tag_value=self._tag_value,
            zones=zones,
        )
        resource = group.node.default_child
        assert isinstance(resource, autoscaling.CfnAutoScalingGroup)
        placement_group = self._settings.placement.group_name(self, "PlacementGroup")
        if placement_group is not None:
            resource.placement_group = placement_group
        return group

    def _build_warm_pool(self) -> None:
        if self._settings.warm_pool is None:
            return
        pool = self._settings.warm_pool.build(self._group)
        # The clean-up goes first when the stack is deleted: it ends a pool at once, while CloudFormation would wait for
        # the termination hook of each instance that is switched off and cannot answer it.
        self._cleanup.resource.node.add_dependency(pool)

    def _build_release(self) -> ReleaseLoop:
        claim(self._group.node, RELEASED_BY, self.node.path)
        policy = self._settings.idle
        signals = policy.signals_with_node_program()
        settings = ReleaseSettings(
            auto_scaling_group=self._group,
            metrics=self._metrics,
            policy=policy,
            signals=signals,
            doubt=doubt_of_node_program(signals),
            protection=ScaleInProtection.IGNORE,
            demand=self._settings.demand,
            notifications=self._notifications,
            max_failed_launches=self.max_failed_launches,
            member_tag=(names.FLEET_TAG, self._tag_value),
            types=self._settings.types,
            maintenance=None if self._settings.schedule is None else self._settings.schedule.maintenance,
            drain_hook=HOOK_NAME,
            leave_from=self._settings.purchase.leave_from(
                self._settings.types, self._settings.drain.hook_heartbeat_seconds
            ),
        )
        return ReleaseLoop(self, "Release", settings, alarm_action=self._alarm_action)

    def _build_wake(self) -> WakeOnDemand | None:
        if self._settings.demand is None:
            return None
        return WakeOnDemand(
            self,
            "Wake",
            auto_scaling_group=self._group,
            demand=self._settings.demand,
            alarm_action=self._alarm_action,
        )

    def _build_schedule(self) -> ScheduledCapacity | None:
        if self._settings.schedule is None:
            return None
        scheduled = ScheduledCapacity(
            self,
            "Schedule",
            auto_scaling_group=self._group,
            schedule=self._settings.schedule,
            alarm_action=self._alarm_action,
        )
        # It goes first when the stack is deleted: it would give back the sizes that the clean-up has set to zero.
        scheduled.node.add_dependency(self._cleanup.resource)
        return scheduled

    def _build_watch(self) -> None:
        metrics, action = self._metrics, self._alarm_action
        warm_up = self._settings.idle.warm_up_seconds
        signals = self._settings.idle.signals_with_node_program()
        telemetry_gap_alarm(self, "TelemetryGapAlarm", metrics, signals, warm_up_seconds=warm_up, alarm_action=action)
        with_setup = bool(self._settings.machine_settings)
        degraded_alarm(self, "DegradedAlarm", metrics, with_setup=with_setup, alarm_action=action)
        capacity_shortfall_alarm(self, "CapacityShortfallAlarm", metrics, alarm_action=action)
        launch_failure_rule(
            self,
            "LaunchFailures",
            auto_scaling_group_name=self._group.auto_scaling_group_name,
            notifications=self._notifications,
        )
