"""Videos that are put into a bucket, transcoded to H.264 on Spot instances with a hardware encoder.

``cdk deploy SpotTranscode`` takes NVIDIA GPUs with NVENC; ``-c transcode_types=g6.xlarge,g5.xlarge`` names others. With
``-c vt1_image_parameter=/my/image`` VT1 instances are taken, with an image of yours that has the vendor's Video SDK
(``-c vt1_root_device=/dev/sda1`` if it is Ubuntu).
``-c email=you@example.com`` subscribes you to the alarms, ``-c vpc_id=vpc-...`` puts the fleet into a VPC of yours.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from aws_cdk import App, CfnOutput, Duration
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from constructs_lib import (
    AcceleratedFleet,
    Drain,
    FleetImage,
    IdlePolicy,
    OperatingSystem,
    Purchase,
    QueueDemand,
)
from constructs_lib.catalog import lookup
from examples.jobs import JobBucket, JobQueue
from examples.network import FleetStack

_JOBS_AT_A_TIME = 2
# Four types in each zone are as many pools, and all of them are hardly ever taken back at once.
_NVENC_TYPES = ["g6.xlarge", "g4dn.xlarge", "g6.2xlarge", "g4dn.2xlarge"]
_VT1_TYPES = ["vt1.3xlarge", "vt1.6xlarge"]
# How long a message stays hidden after its worker last said that it is at work: see worker.sh.
_HIDDEN = Duration.minutes(2)
# Spot gives 120 seconds, of which the fleet keeps 15; the worker gives back after 60 what it cannot end.
_DRAIN = Duration.seconds(90)
_WORKER = Path(__file__).with_name("worker.sh")


@dataclass(frozen=True, kw_only=True)
class _Encoder:
    """What encodes: instance types, the image for them, and the name that ffmpeg has for it."""

    types: list[str]
    image: FleetImage
    name: str


class SpotTranscode(FleetStack):
    """The buckets, the queue between them and the fleet, and where its alarms go."""

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id, description="Spot fleet that transcodes videos")
        context = self.node.try_get_context
        vt1_image = context("vt1_image_parameter")
        encoder = _encoder(
            context("transcode_types"),
            FleetImage.from_ssm_parameter(vt1_image, root_device=context("vt1_root_device")) if vt1_image else None,
        )
        videos = JobBucket(self, "Videos", keep=Duration.days(7))
        transcoded = JobBucket(self, "Transcoded", keep=Duration.days(30))
        # A try that Spot ended counts as one.
        jobs = JobQueue(self, "Jobs", visibility_timeout=_HIDDEN, max_tries=6)
        self._make_jobs_of(videos, jobs.queue)
        fleet = AcceleratedFleet(
            self,
            "Transcode",
            vpc=self.vpc,
            instance_types=encoder.types,
            max_capacity=8,
            image=encoder.image,
            purchase=Purchase.spot(),
            demand=QueueDemand(jobs.queue, messages_per_instance=_JOBS_AT_A_TIME),
            idle=IdlePolicy(window=Duration.minutes(15)),
            drain=Drain(deadline=_DRAIN),
            user_data=self._build_worker(encoder.name, jobs.queue, videos, transcoded),
        )
        jobs.queue.grant_consume_messages(fleet)
        videos.allow_read(fleet, "*")
        transcoded.allow_write(fleet, "*")
        # Whoever still drains can write: the buckets are emptied and deleted after the fleet.
        fleet.auto_scaling_group.node.add_dependency(videos, transcoded)
        if context("email"):
            fleet.notifications.add_subscription(subscriptions.EmailSubscription(context("email")))
        CfnOutput(self, "VideosBucket", value=videos.bucket_name, description="Put videos here")
        CfnOutput(self, "TranscodedBucket", value=transcoded.bucket_name, description="They come out here")
        CfnOutput(self, "QueueUrl", value=jobs.queue.queue_url)
        CfnOutput(self, "GroupName", value=fleet.auto_scaling_group.auto_scaling_group_name)
        CfnOutput(self, "TopicArn", value=fleet.notifications.topic_arn, description="Alarms and failed launches")

    def _make_jobs_of(self, videos: JobBucket, jobs: sqs.IQueue) -> None:
        """Each object that is put into the bucket becomes a job: ``{"input": "its key"}``."""
        resource = videos.node.default_child
        assert isinstance(resource, s3.CfnBucket)
        # The CDK's own way to this needs a function that may change the notifications of every bucket.
        resource.notification_configuration = s3.CfnBucket.NotificationConfigurationProperty(
            event_bridge_configuration=s3.CfnBucket.EventBridgeConfigurationProperty(event_bridge_enabled=True)
        )
        job = events.RuleTargetInput.from_object({"input": events.EventField.from_path("$.detail.object.key")})
        events.Rule(
            self,
            "VideoPut",
            event_pattern=events.EventPattern(
                source=["aws.s3"],
                detail_type=["Object Created"],
                detail={"bucket": {"name": [videos.bucket_name]}},
            ),
            targets=[targets.SqsQueue(jobs, message=job)],
        )

    def _build_worker(self, encoder: str, jobs: sqs.IQueue, videos: JobBucket, transcoded: JobBucket) -> ec2.UserData:
        user_data = ec2.UserData.for_linux()
        user_data.add_commands(
            f"export QUEUE_URL={jobs.queue_url} INPUT_BUCKET={videos.bucket_name}",
            f"export OUTPUT_BUCKET={transcoded.bucket_name} AWS_DEFAULT_REGION={self.region}",
            f"export ENCODER={encoder} SLOTS={_JOBS_AT_A_TIME}",
            _WORKER.read_text(encoding="utf-8"),
        )
        return user_data


def _encoder(types: str | None, vt1_image: FleetImage | None) -> _Encoder:
    chosen = types.split(",") if types else _VT1_TYPES if vt1_image else _NVENC_TYPES
    facts = [lookup(name.strip(), where="SpotTranscode", parameter="-c transcode_types") for name in chosen]
    blind = [each.name for each in facts if not each.video_encoder]
    if blind:
        # Training GPUs are the dearest there are.
        raise SystemExit(
            f"-c transcode_types: AWS does not offer {', '.join(blind)} for media; {_NVENC_TYPES[0]} it does"
        )
    wanted = "media" if vt1_image else "nvidia"
    if {each.kind for each in facts} != {wanted}:
        raise SystemExit("-c transcode_types: name NVIDIA types, or VT1 types together with -c vt1_image_parameter=...")
    names = [each.name for each in facts]
    if vt1_image:
        return _Encoder(types=names, image=vt1_image, name="mpsoc_vcu_h264")
    ubuntu = FleetImage.deep_learning_base(OperatingSystem.UBUNTU_24_04)
    return _Encoder(types=names, image=ubuntu, name="h264_nvenc")


def build(app: App) -> None:
    """Add the example's stacks to an app."""
    SpotTranscode(app, "SpotTranscode")


if __name__ == "__main__":
    application = App()
    build(application)
    application.synth()
