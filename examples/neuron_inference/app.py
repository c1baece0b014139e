"""A model on Inferentia or Trainium that answers jobs from a queue, in office hours only, and rests at zero.

``cdk deploy NeuronInference`` takes Inf2; with ``-c neuron_family=trn1`` Trn1. ``-c time_zone=Europe/Berlin`` says by
which clock the office hours are, ``-c email=you@example.com`` subscribes you to the alarms, ``-c vpc_id=vpc-...`` puts
the fleet into a VPC of yours, and ``-c neuron_image_parameter=/my/image`` names another image.
"""

from __future__ import annotations

from pathlib import Path

from aws_cdk import App, CfnOutput, Duration
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from constructs_lib import (
    AcceleratedFleet,
    Drain,
    FleetImage,
    FleetSchedule,
    Hours,
    IdlePolicy,
    QueueDemand,
    Telemetry,
    Weekday,
)
from examples.jobs import JobBucket, JobQueue
from examples.network import FleetStack

# One device, which is two NeuronCores, on each of them; the second Inf2 is for when there is none of the first.
_TYPES = {"inf2": ["inf2.xlarge", "inf2.8xlarge"], "trn1": ["trn1.2xlarge"]}
_CORES = 2
# The last image with PyTorch for Neuron. Those from Neuron 2.32 on, which "latest" of the multi-framework image means,
# serve PyTorch models on Trn2 and Trn3 only.
_IMAGE = "/aws/service/neuron/dlami/pytorch-2.9/ubuntu-24.04/latest/image_id"
_UBUNTU_ROOT = "/dev/sda1"
_JOB_TIMEOUT = Duration.minutes(5)
_WORKING_DAYS = [day for day in Weekday if day not in (Weekday.SATURDAY, Weekday.SUNDAY)]
_HERE = Path(__file__).parent


class NeuronInference(FleetStack):
    """The queue, the bucket with the model and the answers, the fleet, and where its alarms go."""

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id, description="Inference on Inferentia or Trainium")
        context = self.node.try_get_context
        jobs = JobQueue(self, "Jobs", visibility_timeout=_JOB_TIMEOUT, max_tries=3)
        bucket = JobBucket(self, "Files", keep=Duration.days(30), keep_prefix="answers/")
        fleet = AcceleratedFleet(
            self,
            "Inference",
            vpc=self.vpc,
            instance_types=_types(context("neuron_family")),
            max_capacity=4,
            image=FleetImage.from_ssm_parameter(context("neuron_image_parameter") or _IMAGE, root_device=_UBUNTU_ROOT),
            demand=QueueDemand(jobs.queue, messages_per_instance=_CORES),
            # To fetch and load a compiled model takes long, and a loaded one uses no core: what comes within half an
            # hour finds it ready.
            idle=IdlePolicy(window=Duration.minutes(30), warm_up=Duration.minutes(15)),
            drain=Drain(deadline=_JOB_TIMEOUT),
            schedule=FleetSchedule(
                office_hours=[
                    Hours(start="07:00", end="20:00", time_zone=context("time_zone") or "UTC", days=_WORKING_DAYS)
                ]
            ),
            telemetry=Telemetry(application_metrics=["inference_latency"]),
            user_data=self._build_worker(jobs.queue, bucket),
        )
        jobs.queue.grant_consume_messages(fleet)
        bucket.allow_read(fleet, "model.pt")
        bucket.allow_write(fleet, "answers/*")
        # Whoever still drains can write: the bucket is emptied and deleted after the fleet.
        fleet.auto_scaling_group.node.add_dependency(bucket)
        if context("email"):
            fleet.notifications.add_subscription(subscriptions.EmailSubscription(context("email")))
        CfnOutput(self, "QueueUrl", value=jobs.queue.queue_url, description="Put jobs here")
        CfnOutput(self, "BucketName", value=bucket.bucket_name, description="model.pt goes here, answers/ come here")
        CfnOutput(self, "GroupName", value=fleet.auto_scaling_group.auto_scaling_group_name)
        CfnOutput(self, "TopicArn", value=fleet.notifications.topic_arn, description="Alarms and failed launches")

    def _build_worker(self, jobs: sqs.IQueue, bucket: JobBucket) -> ec2.UserData:
        user_data = ec2.UserData.for_linux()
        user_data.add_commands(
            "mkdir -p /opt/neuron-inference",
            "cat >/opt/neuron-inference/serve.py <<'END_OF_SERVE'",
            (_HERE / "serve.py").read_text(encoding="utf-8"),
            "END_OF_SERVE",
            f"export QUEUE_URL={jobs.queue_url} BUCKET={bucket.bucket_name}",
            f"export AWS_DEFAULT_REGION={self.region} CORES={_CORES}",
            (_HERE / "worker.sh").read_text(encoding="utf-8"),
        )
        return user_data


def _types(family: str | None) -> list[str]:
    chosen = "inf2" if family is None else family
    if chosen not in _TYPES:
        raise SystemExit(f"-c neuron_family={chosen}: give one of {', '.join(_TYPES)}")
    return _TYPES[chosen]


def build(app: App) -> None:
    """Add the example's stacks to an app."""
    NeuronInference(app, "NeuronInference")


if __name__ == "__main__":
    application = App()
    build(application)
    application.synth()
