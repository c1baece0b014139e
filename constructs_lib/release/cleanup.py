"""Whatever state the fleet is in, the stack can be deleted."""

from __future__ import annotations

import jsii
from aws_cdk import ArnFormat, Aws, CfnDeletionPolicy, CfnElement, CustomResource, Duration, Stack
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct, IDependable, IValidation

from constructs_lib.handlers import EventTrigger, HandlerFunction
from constructs_lib.telemetry import names
from constructs_lib.validation import complaint

# Lambda's longest run is 15 minutes, of which members get 10 to drain, and it retries an asynchronous event twice,
# after 1 and 2 minutes: three runs fit, and CloudFormation's own limit of an hour is never reached.
_RUN_SECONDS = 15 * 60
_LONGEST_ANSWER_SECONDS = 50 * 60
_REFUSES_DELETION = "prevent-all-deletion"


class FleetCleanup(Construct):
    """Frees the fleet's instances when the stack goes, from before the group exists until after it is gone.

    Every instance is protected from scale-in, and CloudFormation waits an hour for protected instances, gives up, and
    leaves them running. One function cancels an instance refresh, suspends what could start an instance, sets the sizes
    to zero, lifts the protection, lets the members drain for as long as the group's termination hook says but at most
    8 minutes, and deletes the hooks, so that nothing waits on. It is called twice:

    * by a custom resource, which depends on the group and is therefore deleted before it. On create and update it
      suspends AZRebalance, for which CloudFormation has no property. On delete it acts only if the stack is being
      deleted or its creation rolled back: an update that deletes nothing but this resource leaves a group at work.
    * by the event that CloudFormation deletes the group, in a rollback, an update or with its stack. The group depends
      on the function and this trigger, so they are there even when a creation fails before the custom resource is, and
      stay until the group has gone.

    The function cannot refer to a group that depends on it: it knows the group by the fleet's tag, and may change only
    what carries that tag.

    The order of deletion (custom resource, group, function) keeps the function until the group has gone, however often
    a deletion fails and is tried again. Only somebody who deletes it by hand can make it miss; the stack then ends in
    DELETE_FAILED, and is freed by: ``aws autoscaling delete-auto-scaling-group --force-delete --auto-scaling-group-name
    GROUP`` (ends the instances at once, without a drain), then ``aws cloudformation delete-stack --stack-name STACK
    --deletion-mode FORCE_DELETE_STACK`` (accepted in DELETE_FAILED only).

    A group that is protected from deletion is never emptied: that protection is a person's own no. It is refused at
    synth, and told as the reason of the failed deletion when it was set later.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        auto_scaling_group: autoscaling.AutoScalingGroup,
        fleet_tag_value: str,
        network: IDependable | None = None,
    ) -> None:
        """
        Args:
            auto_scaling_group: the fleet's group.
            fleet_tag_value: marks the fleet's group and instances.
            network: what the instances need to reach AWS. Nothing else in a stack depends on its routes, which would
                be the first to go, while instances complete their hooks and upload their checkpoints. Default: it
                outlives the stack.
        """
        super().__init__(scope, id)
        group_logical_id = _logical_id(auto_scaling_group)
        handler = self._build_handler(group_logical_id, fleet_tag_value)
        self.function: lambda_.Function = handler.function
        trigger = EventTrigger(self, "GroupGoes", function=self.function, pattern=_group_goes())
        auto_scaling_group.node.add_dependency(handler, trigger)
        self.resource = self._build_resource(auto_scaling_group, fleet_tag_value)
        if network is not None:
            self.resource.node.add_dependency(network)
        self.node.add_validation(_Deletable(auto_scaling_group))

    def _build_handler(self, group_logical_id: str, fleet_tag_value: str) -> HandlerFunction:
        groups = Stack.of(self).format_arn(
            service="autoscaling",
            resource="autoScalingGroup",
            resource_name="*:autoScalingGroupName/*",
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )
        return HandlerFunction(
            self,
            "Handler",
            handler="fleet_cleanup",
            description="Suspends AZRebalance on an accelerated group; frees its instances when the stack is deleted",
            environment={
                "FLEET_TAG_KEY": names.FLEET_TAG,
                "FLEET_TAG_VALUE": fleet_tag_value,
                "STACK_ID": Aws.STACK_ID,
                "GROUP_LOGICAL_ID": group_logical_id,
            },
            statements=_statements(groups, fleet_tag_value),
            wildcards={
                "*": "The Describe calls cannot be limited; the two EC2 calls are limited to this fleet's tag.",
                groups: "The group depends on this role, which cannot name it: this fleet's tag limits the calls.",
            },
            timeout_seconds=_RUN_SECONDS,
        )

    def _build_resource(self, group: autoscaling.AutoScalingGroup, fleet_tag_value: str) -> CustomResource:
        resource = CustomResource(
            self,
            "Resource",
            service_token=self.function.function_arn,
            resource_type="Custom::AcceleratedFleetCleanup",
            service_timeout=Duration.seconds(_LONGEST_ANSWER_SECONDS),
            properties={
                "AutoScalingGroupName": group.auto_scaling_group_name,
                "FleetTagKey": names.FLEET_TAG,
                "FleetTagValue": fleet_tag_value,
            },
        )
        resource.node.add_dependency(group)
        return resource


@jsii.implements(IValidation)
class _Deletable:
    """A group that outlives its stack would be emptied with it, and nobody would be left to release its instances; one
    that is protected from deletion would keep its stack."""

    def __init__(self, group: autoscaling.AutoScalingGroup) -> None:
        self._group = group

    def validate(self) -> list[str]:
        """Return what is wrong, as the CDK asks."""
        resource = self._group.node.default_child
        assert isinstance(resource, autoscaling.CfnAutoScalingGroup)
        found = []
        policy = resource.cfn_options.deletion_policy
        if policy not in (None, CfnDeletionPolicy.DELETE):
            cure = "remove the removal policy from the group: the stack's own functions run it, and end with it"
            found.append(self._complaint("removal policy", "not outlive the stack", policy.value, cure))
        if resource.deletion_protection == _REFUSES_DELETION:
            cure = "remove it, or write 'prevent-force-deletion', which lets an empty group go"
            rule = "let the group be deleted with its stack"
            found.append(self._complaint("deletion_protection", rule, _REFUSES_DELETION, cure))
        return found

    def _complaint(self, parameter: str, rule: str, value: str, cure: str) -> str:
        return complaint(self._group.node.path, parameter, rule, value, cure)


def _logical_id(group: autoscaling.AutoScalingGroup) -> str:
    """The group's name in the template: plain text, no reference, so that the group may depend on its reader."""
    resource = group.node.default_child
    assert isinstance(resource, CfnElement)
    return resource.logical_id


def _group_goes() -> dict[str, object]:
    # Not the stack's own status: a deletion that is refused, because another stack imports from it, takes it too.
    # Not the group's logical id: an update that changes it would change this rule before it deletes the old group.
    return {
        "source": ["aws.cloudformation"],
        "detail-type": ["CloudFormation Resource Status Change"],
        "detail": {
            "stack-id": [Aws.STACK_ID],
            "resource-type": [autoscaling.CfnAutoScalingGroup.CFN_RESOURCE_TYPE_NAME],
            "status-details": {"status": ["DELETE_IN_PROGRESS"]},
        },
    }


def _statements(groups: str, fleet_tag_value: str) -> list[iam.PolicyStatement]:
    return [
        iam.PolicyStatement(
            actions=[
                "autoscaling:DescribeAutoScalingGroups",
                "autoscaling:DescribeLifecycleHooks",
                "ec2:DescribeInstances",
            ],
            resources=["*"],
        ),
        iam.PolicyStatement(actions=["cloudformation:DescribeStacks"], resources=[Aws.STACK_ID]),
        iam.PolicyStatement(
            actions=[
                "autoscaling:CancelInstanceRefresh",
                "autoscaling:DeleteLifecycleHook",
                "autoscaling:DeleteWarmPool",
                "autoscaling:SetInstanceProtection",
                "autoscaling:SuspendProcesses",
                "autoscaling:TerminateInstanceInAutoScalingGroup",
                "autoscaling:UpdateAutoScalingGroup",
            ],
            resources=[groups],
            conditions={"StringEquals": {f"autoscaling:ResourceTag/{names.FLEET_TAG}": fleet_tag_value}},
        ),
        iam.PolicyStatement(
            actions=["ec2:ModifyInstanceAttribute", "ec2:TerminateInstances"],
            resources=["*"],
            conditions={"StringEquals": {f"aws:ResourceTag/{names.FLEET_TAG}": fleet_tag_value}},
        ),
    ]
