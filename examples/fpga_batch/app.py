"""Batch jobs on the FPGAs of F2: each names the design that it needs, and the object that it works on.

AWS publishes no image with the FPGA tools on it, so you make one and keep its id in the SSM parameter
``/fpga-batch/image-id``, or in the one that ``-c image_parameter=/my/image`` names (``-c image_root_device=/dev/sda1``
if it is Ubuntu). ``-c fpga_type=f2.12xlarge`` takes larger instances, ``-c email=you@example.com`` subscribes you to
the alarms, ``-c vpc_id=vpc-...`` puts the fleet into a VPC of yours.
"""

from __future__ import annotations

from pathlib import Path

from aws_cdk import Annotations, App, CfnOutput, Duration
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from constructs_lib import AcceleratedFleet, Drain, FleetImage, IdlePolicy, Purchase, QueueDemand
from constructs_lib.catalog import lookup
from examples.jobs import JobBucket, JobQueue
from examples.network import FleetStack

_IMAGE = "/fpga-batch/image-id"
_TYPE = "f2.6xlarge"
# How long a message stays hidden after its worker last said that it is at work: see worker.sh.
_HIDDEN = Duration.minutes(5)
# The worker ends a job after 55 minutes.
_DRAIN = Duration.minutes(60)
_WORKER = Path(__file__).with_name("worker.sh")


class FpgaBatch(FleetStack):
    """The buckets, the queue and the fleet, and where its alarms go."""

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id, description="Batch jobs on FPGAs")
        context = self.node.try_get_context
        type_ = lookup(context("fpga_type") or _TYPE, where="FpgaBatch", parameter="-c fpga_type")
        if type_.kind != "fpga":
            raise SystemExit(f"-c fpga_type={type_.name}: it has no FPGA; {_TYPE} has one")
        inputs = JobBucket(self, "Inputs", keep=Duration.days(30))
        results = JobBucket(self, "Results", keep=Duration.days(30))
        jobs = JobQueue(self, "Jobs", visibility_timeout=_HIDDEN, max_tries=3)
        fleet = AcceleratedFleet(
            self,
            "Batch",
            vpc=self.vpc,
            instance_types=[type_.name],
            max_capacity=4,
            image=FleetImage.from_ssm_parameter(
                context("image_parameter") or _IMAGE, root_device=context("image_root_device")
            ),
            # A design takes its time to load, and a job that is cut off begins anew.
            purchase=Purchase.on_demand(),
            demand=QueueDemand(jobs.queue, messages_per_instance=type_.accelerators),
            # Any transfer over an FPGA's bus or memory ports is use; what moves nothing holds a busy mark.
            idle=IdlePolicy(window=Duration.minutes(15), threshold_transfers=1),
            drain=Drain(deadline=_DRAIN),
            user_data=self._build_worker(type_.accelerators, jobs.queue, inputs, results),
        )
        Annotations.of(fleet).acknowledge_warning(
            "@cdk-accelerated-fleet/fleet:TransfersOnly", "the worker holds a busy mark around each job"
        )
        jobs.queue.grant_consume_messages(fleet)
        inputs.allow_read(fleet, "*")
        results.allow_write(fleet, "*")
        # Whoever still drains can write: the buckets are emptied and deleted after the fleet.
        fleet.auto_scaling_group.node.add_dependency(inputs, results)
        if context("email"):
            fleet.notifications.add_subscription(subscriptions.EmailSubscription(context("email")))
        CfnOutput(self, "InputsBucket", value=inputs.bucket_name, description="Put inputs here")
        CfnOutput(self, "ResultsBucket", value=results.bucket_name, description="Results come out here")
        CfnOutput(self, "QueueUrl", value=jobs.queue.queue_url, description="Put jobs here")
        CfnOutput(self, "GroupName", value=fleet.auto_scaling_group.auto_scaling_group_name)
        CfnOutput(self, "TopicArn", value=fleet.notifications.topic_arn, description="Alarms and failed launches")

    def _build_worker(self, fpgas: int, jobs: sqs.IQueue, inputs: JobBucket, results: JobBucket) -> ec2.UserData:
        user_data = ec2.UserData.for_linux()
        user_data.add_commands(
            f"export QUEUE_URL={jobs.queue_url} INPUT_BUCKET={inputs.bucket_name}",
            f"export RESULT_BUCKET={results.bucket_name} AWS_DEFAULT_REGION={self.region} SLOTS={fpgas}",
            _WORKER.read_text(encoding="utf-8"),
        )
        return user_data


def build(app: App) -> None:
    """Add the example's stacks to an app."""
    FpgaBatch(app, "FpgaBatch")


if __name__ == "__main__":
    application = App()
    build(application)
    application.synth()
