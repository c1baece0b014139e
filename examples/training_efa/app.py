"""Training on several machines: EFA between them, input and checkpoints on FSx for Lustre, no machine left running.

``cdk deploy TrainingEfa`` takes two p5.48xlarge On-Demand; ``-c training_family=p4d`` or ``trn1`` takes others,
``-c nodes=4`` more of them. ``-c reservation=cr-... -c zone=us-east-1b`` uses a capacity reservation,
``-c capacity_block=cr-... -c block_end=2027-03-08T11:30:00Z -c zone=us-east-1b`` a Capacity Block, which
``-c block_start=...`` opens by itself. ``-c vpc_id=vpc-... -c subnet_id=subnet-... -c zone=us-east-1b`` puts all of it
into a private subnet of yours, ``-c file_system_gib=2400`` enlarges the file system, ``-c email=you@example.com``
subscribes you to the alarms, and ``-c expire_after_days=7`` ends the stack.
"""

from __future__ import annotations

from pathlib import Path

from aws_cdk import Acknowledgment, Annotations, App, CfnOutput, Duration, RemovalPolicy, Stack, Validations
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from constructs_lib import (
    AcceleratedFleet,
    Drain,
    FleetNetwork,
    FleetStorage,
    IdlePolicy,
    LustreMount,
    Purchase,
    StackExpiry,
)
from examples.jobs import JobBucket

# The type, and how many processes train on each machine: one for each GPU or NeuronCore.
_FAMILIES = {"p5": ("p5.48xlarge", 8), "p4d": ("p4d.24xlarge", 8), "trn1": ("trn1.32xlarge", 32)}
_SMALLEST_FILE_SYSTEM_GIB = 1_200
_WORKER = Path(__file__).with_name("worker.sh")
_FSX, _NVME = "/fsx", "/scratch"


class Network(Stack):
    """A VPC in one zone, which EFA and the file system do not leave: a private subnet behind a NAT gateway.

    A machine with several network interfaces gets no public address, so that a public subnet would not do. Traffic to
    S3 goes through a gateway endpoint, which costs nothing.
    """

    def __init__(self, scope: Construct, id: str, *, zone: str | None) -> None:
        super().__init__(scope, id, description="Network of the training example")
        self.vpc = ec2.Vpc(
            self,
            "Vpc",
            availability_zones=None if zone is None else [zone],
            max_azs=1 if zone is None else None,
            nat_gateways=1,
            gateway_endpoints={"S3": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.S3)},
            restrict_default_security_group=False,
        )
        Validations.of(self.vpc).acknowledge(
            Acknowledgment(
                id="AwsSolutions-VPC7",
                reason="Flow logs bill for every byte that jobs move; a team that needs them deploys into its own VPC.",
            )
        )


class TrainingEfa(Stack):
    """The bucket, the file system that is linked to it, the fleet that mounts it, and where its alarms go."""

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(
            scope,
            id,
            description="Training on several machines with EFA",
            suppress_template_indentation=True,  # a quarter of the file, and nobody reads it unformatted
        )
        context = self.node.try_get_context
        nodes = int(context("nodes") or 2)
        instance_type, processes = _family(context("training_family"))
        vpc = self._vpc()
        subnet = vpc.private_subnets[0]
        bucket = JobBucket(self, "Files", keep=Duration.days(90), keep_prefix="checkpoints/")
        file_system = self._build_file_system(vpc, subnet)
        links = self._link(file_system, bucket)
        fleet = AcceleratedFleet(
            self,
            "Training",
            vpc=vpc,
            vpc_subnets=ec2.SubnetSelection(subnets=[subnet]),
            instance_types=instance_type,
            max_capacity=nodes,
            purchase=self._purchase(nodes),
            # All network cards, and a cluster placement group where no reservation says otherwise.
            network=FleetNetwork.efa(),
            storage=FleetStorage(
                instance_store_path=_NVME,
                lustre=[LustreMount(file_system=file_system, path=_FSX)],
            ),
            # These machines take long to start, and the last one of a run may come late.
            idle=IdlePolicy(window=Duration.minutes(30), warm_up=Duration.minutes(30)),
            drain=Drain(deadline=Duration.minutes(20), checkpoint_command="/opt/training/checkpoint"),
            user_data=_worker(nodes, processes),
        )
        # So the last checkpoints still reach the bucket when the stack is deleted.
        fleet.auto_scaling_group.node.add_dependency(*links)
        Annotations.of(fleet).acknowledge_warning(
            "@cdk-accelerated-fleet/fleet:NoWayUp", "a person starts a run: the StartCommand of the outputs"
        )
        email, days = context("email"), context("expire_after_days")
        if email:
            fleet.notifications.add_subscription(subscriptions.EmailSubscription(email))
        if days:
            StackExpiry(self, "Expiry", after=Duration.days(int(days)), notifications=fleet.notifications)
        group = fleet.auto_scaling_group.auto_scaling_group_name
        CfnOutput(self, "BucketName", value=bucket.bucket_name, description="input/ goes here, checkpoints/ come here")
        CfnOutput(
            self,
            "StartCommand",
            value=f"aws autoscaling set-desired-capacity --auto-scaling-group-name {group} --desired-capacity {nodes}",
        )
        CfnOutput(self, "TopicArn", value=fleet.notifications.topic_arn, description="Alarms and failed launches")

    def _vpc(self) -> ec2.IVpc:
        context = self.node.try_get_context
        vpc_id, subnet_id, zone = context("vpc_id"), context("subnet_id"), context("zone")
        if not subnet_id:  # with vpc_id alone the other examples of this app go into that VPC
            Annotations.of(self).acknowledge_warning(
                "@aws-cdk/core:crossStackReferencesDefaultStrong",
                "the network must outlive the fleet that stands in it",
            )
            app = self.node.root
            assert isinstance(app, App)
            return Network(app, f"{self.node.id}Network", zone=zone).vpc
        if not vpc_id or not zone:
            raise SystemExit("-c subnet_id=..., a private subnet, needs its -c vpc_id=vpc-... and its -c zone=...")
        return ec2.Vpc.from_vpc_attributes(
            self, "Vpc", vpc_id=vpc_id, availability_zones=[zone], private_subnet_ids=[subnet_id]
        )

    def _purchase(self, nodes: int) -> Purchase:
        context = self.node.try_get_context
        reservation, block = context("reservation"), context("capacity_block")
        if not reservation and not block:
            return Purchase.on_demand()
        if reservation and block:
            raise SystemExit("-c reservation=... and -c capacity_block=...: give one of them")
        if not context("zone"):
            raise SystemExit("reserved capacity is in one zone: give it, for example -c zone=us-east-1b")
        Annotations.of(self).acknowledge_warning(
            "@cdk-accelerated-fleet/fleet:ReservedCapacityBills", "it was reserved for this run, which lasts as long"
        )
        if reservation:
            return Purchase.reservation(reservation_id=reservation, fall_back=False)
        start, end = context("block_start"), context("block_end")
        if not end:
            raise SystemExit("a Capacity Block ends: give its end, for example -c block_end=2027-03-08T11:30:00Z")
        return Purchase.capacity_block(
            reservation_id=block, end=end, start=start, instances_at_start=nodes if start else None
        )

    def _build_file_system(self, vpc: ec2.IVpc, subnet: ec2.ISubnet) -> fsx.LustreFileSystem:
        """A fast copy of the bucket, for as long as the stack is there; the bucket is what lasts."""
        size = int(self.node.try_get_context("file_system_gib") or _SMALLEST_FILE_SYSTEM_GIB)
        return fsx.LustreFileSystem(
            self,
            "FileSystem",
            vpc=vpc,
            vpc_subnet=subnet,
            storage_capacity_gib=size,
            file_system_type_version=fsx.FileSystemTypeVersion.V_2_15,
            lustre_configuration=fsx.LustreConfiguration(
                deployment_type=fsx.LustreDeploymentType.SCRATCH_2,
                data_compression_type=fsx.LustreDataCompressionType.LZ4,
            ),
            removal_policy=RemovalPolicy.DESTROY,
        )

    def _link(self, file_system: fsx.LustreFileSystem, bucket: JobBucket) -> list[fsx.CfnDataRepositoryAssociation]:
        """What is put into the bucket appears on the file system, and checkpoints go the other way."""
        link = fsx.CfnDataRepositoryAssociation
        brought = link.AutoImportPolicyProperty(events=["NEW", "CHANGED", "DELETED"])
        taken = link.AutoExportPolicyProperty(events=["NEW", "CHANGED"])
        directions = {
            "input": link.S3Property(auto_import_policy=brought),
            "checkpoints": link.S3Property(auto_export_policy=taken),
        }
        return [
            link(
                self,
                name.capitalize(),
                file_system_id=file_system.file_system_id,
                file_system_path=f"/{name}",
                data_repository_path=bucket.s3_url_for_object(name),
                # Of checkpoints too: a run goes on from those that an earlier file system has left.
                batch_import_meta_data_on_create=True,
                s3=direction,
            )
            for name, direction in directions.items()
        ]


def _family(name: str | None) -> tuple[str, int]:
    chosen = "p5" if name is None else name
    if chosen not in _FAMILIES:
        raise SystemExit(f"-c training_family={chosen}: give one of {', '.join(_FAMILIES)}")
    return _FAMILIES[chosen]


def _worker(nodes: int, processes: int) -> ec2.UserData:
    user_data = ec2.UserData.for_linux()
    user_data.add_commands(f"export NODES={nodes} PROCESSES={processes}", _WORKER.read_text(encoding="utf-8"))
    return user_data


def build(app: App) -> None:
    """Add the example's stacks to an app."""
    TrainingEfa(app, "TrainingEfa")


if __name__ == "__main__":
    application = App()
    build(application)
    application.synth()
