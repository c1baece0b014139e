"""Jobs on a queue, worked on by a Spot and On-Demand GPU fleet that rests at zero.

``cdk deploy InferenceQueue`` makes a VPC of its own; with ``-c vpc_id=vpc-...`` the fleet goes into that one.
``-c email=you@example.com`` subscribes you to the alarms; with ``-c expire_after_days=7`` the stack ends by itself.
"""

from __future__ import annotations

import os
from pathlib import Path

from aws_cdk import (
    Acknowledgment,
    Annotations,
    App,
    CfnOutput,
    Duration,
    Environment,
    RemovalPolicy,
    Stack,
    Validations,
)
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from constructs_lib import AcceleratedFleet, Drain, IdlePolicy, Purchase, QueueDemand, StackExpiry

_JOBS_AT_A_TIME = 4
_JOB_TIMEOUT = Duration.minutes(15)
_WORKER = Path(__file__).with_name("worker.sh")


class Network(Stack):
    """A VPC that costs nothing while the fleet is at zero: public subnets, no NAT gateway.

    The instances have no inbound rule; the public address is only their way out.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id, description="Network of the inference queue example")
        self.vpc = ec2.Vpc(
            self,
            "Vpc",
            max_azs=3,
            nat_gateways=0,
            subnet_configuration=[ec2.SubnetConfiguration(name="Fleet", subnet_type=ec2.SubnetType.PUBLIC)],
            restrict_default_security_group=False,
        )
        Validations.of(self.vpc).acknowledge(
            Acknowledgment(
                id="AwsSolutions-VPC7",
                reason="Flow logs bill for every byte that jobs move; a team that needs them deploys into its own VPC.",
            )
        )


class InferenceQueue(Stack):
    """The queue, the fleet that works on it, and where its alarms go."""

    def __init__(self, scope: Construct, id: str, *, vpc: ec2.IVpc | None = None, vpc_id: str | None = None) -> None:
        """
        Args:
            vpc: where the fleet runs, from this app.
            vpc_id: where the fleet runs, looked up in the account that the CDK command line deploys to.
        """
        super().__init__(
            scope,
            id,
            description="GPU fleet that works on a queue",
            env=None if vpc else _from_command_line(),
            suppress_template_indentation=True,  # a quarter of the file, and nobody reads it unformatted
        )
        Annotations.of(self).acknowledge_warning(
            "@aws-cdk/core:crossStackReferencesDefaultStrong", "the network must outlive the fleet that stands in it"
        )
        network = vpc or ec2.Vpc.from_lookup(self, "Vpc", vpc_id=vpc_id)
        jobs = self._build_queue()
        fleet = AcceleratedFleet(
            self,
            "Inference",
            vpc=network,
            instance_types=["g6.xlarge", "g5.xlarge", "g4dn.xlarge"],
            max_capacity=8,
            demand=QueueDemand(jobs, messages_per_instance=_JOBS_AT_A_TIME),
            idle=IdlePolicy(window=Duration.minutes(15)),
            drain=Drain(deadline=_JOB_TIMEOUT),
            purchase=Purchase.spot(on_demand_percent=25),
            user_data=self._build_worker(jobs),
        )
        jobs.grant_consume_messages(fleet)
        email = self.node.try_get_context("email")
        if email:
            fleet.notifications.add_subscription(subscriptions.EmailSubscription(email))
        days = self.node.try_get_context("expire_after_days")
        if days:
            StackExpiry(self, "Expiry", after=Duration.days(int(days)), notifications=fleet.notifications)
        CfnOutput(self, "QueueUrl", value=jobs.queue_url, description="Put jobs here")
        CfnOutput(self, "GroupName", value=fleet.auto_scaling_group.auto_scaling_group_name)
        CfnOutput(self, "TopicArn", value=fleet.notifications.topic_arn, description="Alarms and failed launches")

    def _build_queue(self) -> sqs.Queue:
        failed = sqs.Queue(
            self,
            "FailedJobs",
            enforce_ssl=True,
            retention_period=Duration.days(14),
            removal_policy=RemovalPolicy.DESTROY,
        )
        return sqs.Queue(
            self,
            "Jobs",
            enforce_ssl=True,
            visibility_timeout=_JOB_TIMEOUT,
            dead_letter_queue=sqs.DeadLetterQueue(queue=failed, max_receive_count=3),
            removal_policy=RemovalPolicy.DESTROY,
        )

    def _build_worker(self, jobs: sqs.IQueue) -> ec2.UserData:
        user_data = ec2.UserData.for_linux()
        user_data.add_commands(
            f"export QUEUE_URL={jobs.queue_url} AWS_DEFAULT_REGION={self.region} SLOTS={_JOBS_AT_A_TIME}",
            _WORKER.read_text(encoding="utf-8"),
        )
        return user_data


def build(app: App) -> None:
    """Add the example's stacks to an app."""
    vpc_id = app.node.try_get_context("vpc_id")
    if vpc_id:
        InferenceQueue(app, "InferenceQueue", vpc_id=vpc_id)
    else:
        InferenceQueue(app, "InferenceQueue", vpc=Network(app, "InferenceQueueNetwork").vpc)


def _from_command_line() -> Environment:
    """The account and Region of the CDK command line's credentials; a lookup needs them."""
    account, region = os.environ.get("CDK_DEFAULT_ACCOUNT"), os.environ.get("CDK_DEFAULT_REGION")
    if not account or not region:
        raise SystemExit(
            "-c vpc_id=... looks the VPC up in your account: give the cdk command credentials and a Region"
        )
    return Environment(account=account, region=region)


if __name__ == "__main__":
    application = App()
    build(application)
    application.synth()
