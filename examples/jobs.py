"""Jobs of the examples: the queue that they wait on, and the buckets that they read from and write to."""

from __future__ import annotations

from aws_cdk import Acknowledgment, CfnElement, Duration, RemovalPolicy, Stack, Validations
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from constructs_lib import AcceleratedFleet


class JobQueue(Construct):
    """A queue, and beside it one for the jobs that fail again and again.

    Attributes:
        queue: where jobs wait.
        failed: where they go after ``max_tries``; it keeps them for 14 days.
    """

    def __init__(self, scope: Construct, id: str, *, visibility_timeout: Duration, max_tries: int) -> None:
        super().__init__(scope, id)
        self.failed = sqs.Queue(
            self,
            "Failed",
            enforce_ssl=True,
            retention_period=Duration.days(14),
            removal_policy=RemovalPolicy.DESTROY,
        )
        self.queue = sqs.Queue(
            self,
            "Queue",
            enforce_ssl=True,
            visibility_timeout=visibility_timeout,
            dead_letter_queue=sqs.DeadLetterQueue(queue=self.failed, max_receive_count=max_tries),
            removal_policy=RemovalPolicy.DESTROY,
        )


class JobBucket(s3.Bucket):
    """A bucket that nobody reaches from outside or without TLS. It is emptied and deleted with its stack."""

    def __init__(self, scope: Construct, id: str, *, keep: Duration, keep_prefix: str | None = None) -> None:
        """
        Args:
            keep: after this time objects are deleted.
            keep_prefix: only those whose key begins so. Default: all.
        """
        super().__init__(
            scope,
            id,
            encryption=s3.BucketEncryption.S3_MANAGED,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            enforce_ssl=True,
            lifecycle_rules=[
                s3.LifecycleRule(expiration=keep, prefix=keep_prefix),
                # The parts of an upload that broke off are billed and listed nowhere.
                s3.LifecycleRule(abort_incomplete_multipart_upload_after=Duration.days(1)),
            ],
            removal_policy=RemovalPolicy.DESTROY,
            auto_delete_objects=True,
        )
        Validations.of(self).acknowledge(
            Acknowledgment(
                id="AwsSolutions-S1",
                reason="Access logs would fill a second bucket that outlives the example; a team has CloudTrail.",
            )
        )

    def allow_read(self, fleet: AcceleratedFleet, keys: str) -> None:
        """Let the instances of a fleet read these objects, ``*`` for all, and neither list nor delete any."""
        self._allow(fleet, "s3:GetObject", keys)

    def allow_write(self, fleet: AcceleratedFleet, keys: str) -> None:
        """Let the instances of a fleet write these objects, and do nothing else with them."""
        self._allow(fleet, "s3:PutObject", keys)

    def _allow(self, fleet: AcceleratedFleet, action: str, keys: str) -> None:
        iam.Grant.add_to_principal(grantee=fleet, actions=[action], resource_arns=[self.arn_for_objects(keys)])
        if "*" in keys:
            resource = self.node.default_child
            assert isinstance(resource, CfnElement)
            finding = f"AwsSolutions-IAM5[Resource::<{Stack.of(self).get_logical_id(resource)}.Arn>/{keys}]"
            reason = "Each job has objects of its own here; no other bucket is within reach."
            Validations.of(fleet).acknowledge(Acknowledgment(id=finding, reason=reason))
