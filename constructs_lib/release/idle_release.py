"""The release of idle instances for a group that exists already."""

from __future__ import annotations

from aws_cdk import Annotations, Stack
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk.aws_cloudwatch_actions import SnsAction
from constructs import Construct

from constructs_lib.catalog import AcceleratedType, known_types
from constructs_lib.claims import claim
from constructs_lib.errors import ArgumentError
from constructs_lib.notifications import notifications_topic
from constructs_lib.references import check_references
from constructs_lib.release.handler_settings import ReleaseSettings, ScaleInProtection
from constructs_lib.release.loop import RELEASED_BY, ReleaseLoop
from constructs_lib.release.policy import IdlePolicy
from constructs_lib.release.signals import doubt_of_agent
from constructs_lib.scaling import Demand
from constructs_lib.scaling.sizes import known_maximum
from constructs_lib.telemetry import NVIDIA, AgentConfiguration, FleetMetrics, telemetry_statements
from constructs_lib.validation import complaint, instance_of, is_token

_GROUP_TAG = "aws:autoscaling:groupName"
"""Auto Scaling gives it to each instance of a group, and nobody else can."""


class IdleRelease(Construct):
    """Releases the idle instances of an existing group, one by one, and never a busy or unknown one.

    For NVIDIA GPUs. The group's instances must run the CloudWatch agent with ``agent_configuration``, else every
    instance is *unknown*, is kept, and an alarm says so. Without the group's metrics collection
    (``GroupInServiceInstances``) the idle alarm rests, and the schedule alone finds what is idle, every five minutes.

    Limitations: an instance that is protected from scale-in counts as held by somebody and is never released. Anything
    else that lowers the group's capacity (a scaling policy, a schedule) still picks victims by itself. Work is drained
    by the group's own termination hooks, if it has any. Launches that come to nothing are counted only if the policy's
    ``max_failed_launches`` says so, since the group then launches no more until somebody resumes it.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        auto_scaling_group: autoscaling.IAutoScalingGroup,
        idle: IdlePolicy | None = None,
        demand: Demand | None = None,
        notifications: sns.ITopic | None = None,
    ) -> None:
        """
        Args:
            auto_scaling_group: the group; its minimum size is read at each pass and never undercut.
            idle: when an instance is idle. Default: ``IdlePolicy()``, 15 minutes below 5 %.
            demand: work that keeps instances even when they are idle. Default: only the group's minimum does.
            notifications: topic for failed passes and unknown instances. Default: a new topic.

        Raises:
            ArgumentError: an argument has the wrong type, something else releases the group's instances already, more
                are to be kept warm than it may have, or it protects each new instance from scale-in, so that none could
                ever be released.
        """
        super().__init__(scope, id)
        path = self.node.path
        check_references(path, auto_scaling_group=auto_scaling_group, notifications=notifications)
        policy = IdlePolicy() if idle is None else idle
        instance_of(path, "idle", policy, IdlePolicy, cure="write IdlePolicy(window=Duration.minutes(15))")
        _claim_group(self, auto_scaling_group)
        most = known_maximum(auto_scaling_group)
        if most is not None:
            policy.check_capacity(most, where=path)
        if demand is not None:
            instance_of(path, "demand", demand, Demand, cure="write QueueDemand(queue, messages_per_instance=1)")
            if not demand.keeps_instances:
                cure = "leave it out: it starts instances of an AcceleratedFleet, and keeps none"
                raise ArgumentError(complaint(path, "demand", "be one that keeps instances", demand, cure))
            demand.claim(path)
            for warning, text in demand.warnings().items():
                Annotations.of(self).add_warning_v2(warning, text)
        _refuse_protected(path, auto_scaling_group)
        signals = policy.signals_without_node_program(where=path)
        policy.threshold(NVIDIA, where=path)
        types = _any_nvidia_type()
        policy.check_figures(NVIDIA, types, NVIDIA.standard_measurements(types), where=path)
        self._notifications = notifications_topic(self, "Notifications", notifications)
        group_name = auto_scaling_group.auto_scaling_group_name
        settings = ReleaseSettings(
            auto_scaling_group=auto_scaling_group,
            metrics=FleetMetrics(group_name, NVIDIA),
            policy=policy,
            signals=signals,
            doubt=doubt_of_agent(signals, NVIDIA),
            protection=ScaleInProtection.HOLD,
            demand=demand,
            notifications=self._notifications,
            max_failed_launches=0 if policy.max_failed_launches is None else policy.max_failed_launches,
            member_tag=(_GROUP_TAG, group_name),
        )
        self._loop = ReleaseLoop(self, "Release", settings, alarm_action=SnsAction(self._notifications))

    @property
    def notifications(self) -> sns.ITopic:
        """Where alarms of failed passes and unknown instances go."""
        return self._notifications

    @property
    def agent_configuration(self) -> str:
        """What the CloudWatch agent on each instance must be configured with, as JSON.

        Without it no instance can be judged. Put it into an SSM parameter or a file, and load it once the driver
        answers; see ``grant_telemetry`` for what the instances' role needs.
        """
        return AgentConfiguration.without_node_program(_any_nvidia_type(), where=self.node.path).to_json()

    def grant_telemetry(self, grantee: iam.IGrantable) -> None:
        """Allow the instances' role to publish the metrics, and the agent to learn the group's name from a tag.

        Args:
            grantee: the role, or the group if its launch template has one.

        Raises:
            ArgumentError: nothing can be added to the grantee, so that the agent would stay silent.
        """
        for statement in telemetry_statements():
            if not grantee.grant_principal.add_to_principal_policy(statement).statement_added:
                rule = "be something that permissions can be added to"
                cure = "give the role of the group's instances"
                raise ArgumentError(complaint(self.node.path, "grantee", rule, grantee, cure))

    @property
    def release_function(self) -> lambda_.Function:
        """The function that judges and releases."""
        return self._loop.function

    @property
    def idle_alarm(self) -> cloudwatch.Alarm:
        """The alarm that triggers a pass as soon as the whole group is idle."""
        return self._loop.idle_alarm


def _any_nvidia_type() -> list[AcceleratedType]:
    """The group's types are not known here, so the configuration holds only what every NVIDIA type can report."""
    return [each for each in known_types().values() if each.kind == NVIDIA.name]


def _claim_group(release: Construct, group: autoscaling.IAutoScalingGroup) -> None:
    """Two that release one group would each take what the other leaves."""
    path, name = release.node.path, group.auto_scaling_group_name
    # Each import of a group is a construct of its own: the name is what they share.
    by_name = not is_token(name)
    owner = Stack.of(release).node if by_name else group.node
    taken = claim(owner, f"released-by:{name}" if by_name else RELEASED_BY, path)
    if taken is None:
        return
    rule = f"be a group whose instances nothing else releases ({taken})"
    cure = "remove one of the two, or give each a group of its own"
    if group.node.path.startswith(f"{taken}/"):
        cure = "remove this one: this fleet releases already, and takes the policy as its own argument idle"
    raise ArgumentError(complaint(path, "auto_scaling_group", rule, name if by_name else group.node.path, cure))


def _refuse_protected(path: str, group: autoscaling.IAutoScalingGroup) -> None:
    if isinstance(group, autoscaling.AutoScalingGroup) and group.are_new_instances_protected_from_scale_in():
        cure = "turn that off, since it means 'keep this one' here, or use AcceleratedFleet, which owns its protection"
        rule = "not protect new instances from scale-in"
        got = "new_instances_protected_from_scale_in=True"
        raise ArgumentError(complaint(path, "auto_scaling_group", rule, got, cure))
