"""Makes the templates beside it: accelerated stacks with constructs of others, written as their own examples are.

``python stacks.py`` in an environment with the packages that ``README.md`` names. No part of the tests.
"""

# mypy: ignore-errors

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

from aws_cdk import App, Duration, Environment, Size, Stack
from aws_cdk import aws_applicationautoscaling as scaling
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_batch as batch
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_ecs_patterns as patterns
from aws_cdk import aws_eks as eks
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from aws_cdk.aws_sagemaker_alpha import (
    ContainerDefinition,
    ContainerImage,
    Endpoint,
    EndpointConfig,
    InstanceProductionVariantProps,
    InstanceType,
    Model,
    ModelData,
)
from aws_cdk.lambda_layer_kubectl_v34 import KubectlV34Layer
from cloudsnorkel import cdk_github_runners as runners

HERE = Path(__file__).parent
IMAGE = ecs.ContainerImage.from_registry("nvidia/cuda:12.8.1-base-ubuntu24.04")


def network(stack: Stack) -> ec2.IVpc:
    return ec2.Vpc.from_vpc_attributes(
        stack,
        "Vpc",
        vpc_id="vpc-0123456789abcdef0",
        availability_zones=["us-east-1a", "us-east-1b"],
        public_subnet_ids=["subnet-0123456789abcde00", "subnet-0123456789abcde01"],
        private_subnet_ids=["subnet-0123456789abcdf00", "subnet-0123456789abcdf01"],
    )


def gpu_task(stack: Stack) -> ecs.Ec2TaskDefinition:
    task = ecs.Ec2TaskDefinition(stack, "Task")
    task.add_container("Worker", image=IMAGE, memory_limit_mib=8192, gpu_count=1)
    return task


def gpu_cluster(stack: Stack, **capacity: object) -> ecs.Cluster:
    cluster = ecs.Cluster(stack, "Cluster", vpc=network(stack))
    cluster.add_capacity(
        "Gpus",
        instance_type=ec2.InstanceType("g5.xlarge"),
        machine_image=ecs.EcsOptimizedImage.amazon_linux2(ecs.AmiHardwareType.GPU),
        **capacity,
    )
    return cluster


def ecs_service(stack: Stack) -> None:
    """A service on a group that the cluster makes itself."""
    ecs.Ec2Service(stack, "Service", cluster=gpu_cluster(stack), task_definition=gpu_task(stack))


def ecs_capacity_provider(stack: Stack) -> None:
    """Managed scaling down to nothing, on a launch template."""
    cluster = ecs.Cluster(stack, "Cluster", vpc=network(stack))
    template = ec2.LaunchTemplate(
        stack,
        "Launch",
        instance_type=ec2.InstanceType("g6.xlarge"),
        machine_image=ecs.EcsOptimizedImage.amazon_linux2023(ecs.AmiHardwareType.GPU),
        user_data=ec2.UserData.for_linux(),
        require_imdsv2=True,
        role=iam.Role(stack, "Role", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com")),
        security_group=ec2.SecurityGroup(stack, "Instances", vpc=cluster.vpc),
    )
    group = autoscaling.AutoScalingGroup(
        stack, "Group", vpc=cluster.vpc, launch_template=template, min_capacity=0, max_capacity=4
    )
    provider = ecs.AsgCapacityProvider(stack, "Provider", auto_scaling_group=group)
    cluster.add_asg_capacity_provider(provider)
    strategy = ecs.CapacityProviderStrategy(capacity_provider=provider.capacity_provider_name, weight=1)
    ecs.Ec2Service(
        stack,
        "Service",
        cluster=cluster,
        task_definition=gpu_task(stack),
        desired_count=0,
        capacity_provider_strategies=[strategy],
    )


def ecs_queue_processing(stack: Stack) -> None:
    """The pattern for workers on a queue, with a GPU for each."""
    patterns.QueueProcessingEc2Service(
        stack,
        "Workers",
        cluster=gpu_cluster(stack, min_capacity=0, max_capacity=5),
        image=IMAGE,
        memory_limit_mib=8192,
        gpu_count=1,
        min_scaling_capacity=0,
        max_scaling_capacity=5,
        queue=sqs.Queue(stack, "Jobs"),
    )


def ecs_load_balanced(stack: Stack) -> None:
    """The pattern for a service behind a load balancer, on GPUs."""
    task = ecs.Ec2TaskDefinition(stack, "Task")
    container = task.add_container("Server", image=IMAGE, memory_limit_mib=8192, gpu_count=1)
    container.add_port_mappings(ecs.PortMapping(container_port=8000))
    service = patterns.ApplicationLoadBalancedEc2Service(
        stack, "Server", cluster=gpu_cluster(stack, min_capacity=2, max_capacity=6), task_definition=task
    )
    service.service.auto_scale_task_count(min_capacity=2, max_capacity=6).scale_on_cpu_utilization(
        "Cpu", target_utilization_percent=50
    )


def batch_on_demand(stack: Stack) -> None:
    """A job queue with GPUs that goes to nothing by itself."""
    environment = batch.ManagedEc2EcsComputeEnvironment(
        stack,
        "Environment",
        vpc=network(stack),
        instance_types=[ec2.InstanceType("g4dn.xlarge"), ec2.InstanceType("g5.xlarge")],
        use_optimal_instance_classes=False,
        maxv_cpus=64,
    )
    jobs = batch.JobQueue(stack, "Queue")
    jobs.add_compute_environment(environment, 1)
    container = batch.EcsEc2ContainerDefinition(
        stack, "Container", image=IMAGE, memory=Size.mebibytes(8192), cpu=4, gpu=1
    )
    batch.EcsJobDefinition(stack, "Job", container=container, timeout=Duration.hours(2))


def batch_spot_kept_warm(stack: Stack) -> None:
    """Spot instances for jobs, some of them always there."""
    environment = batch.ManagedEc2EcsComputeEnvironment(
        stack,
        "Environment",
        vpc=network(stack),
        instance_types=[ec2.InstanceType("p4d.24xlarge")],
        use_optimal_instance_classes=False,
        spot=True,
        minv_cpus=96,
        maxv_cpus=960,
    )
    batch.JobQueue(stack, "Queue").add_compute_environment(environment, 1)


def _kubernetes(stack: Stack) -> eks.Cluster:
    return eks.Cluster(
        stack,
        "Cluster",
        version=eks.KubernetesVersion.V1_34,
        default_capacity=0,
        vpc=network(stack),
        kubectl_layer=KubectlV34Layer(stack, "Kubectl"),
    )


def eks_node_group(stack: Stack) -> None:
    """A managed node group with GPUs."""
    _kubernetes(stack).add_nodegroup_capacity(
        "Gpus",
        instance_types=[ec2.InstanceType("g5.2xlarge")],
        ami_type=eks.NodegroupAmiType.AL2023_X86_64_NVIDIA,
        min_size=0,
        max_size=5,
        taints=[eks.TaintSpec(effect=eks.TaintEffect.NO_SCHEDULE, key="nvidia.com/gpu", value="true")],
    )


def eks_inferentia(stack: Stack) -> None:
    """Nodes of one's own with Inferentia, one of them always there."""
    _kubernetes(stack).add_auto_scaling_group_capacity(
        "Inferentia", instance_type=ec2.InstanceType("inf2.xlarge"), min_capacity=1, max_capacity=3
    )


def group_on_cpu(stack: Stack) -> None:
    """A group with GPUs that is scaled by its CPUs, as the examples of the module are."""
    group = autoscaling.AutoScalingGroup(
        stack,
        "Group",
        vpc=network(stack),
        instance_type=ec2.InstanceType("g6.xlarge"),
        machine_image=ec2.MachineImage.latest_amazon_linux2023(),
        min_capacity=1,
        max_capacity=8,
    )
    group.scale_on_cpu_utilization("Cpu", target_utilization_percent=60)


def group_of_spot_by_the_clock(stack: Stack) -> None:
    """A mix of types, mostly Spot, up in office hours."""
    template = ec2.LaunchTemplate(
        stack,
        "Launch",
        machine_image=ec2.MachineImage.from_ssm_parameter(
            "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-amazon-linux-2023/latest/ami-id"
        ),
        instance_type=ec2.InstanceType("g5.xlarge"),
        require_imdsv2=True,
        security_group=ec2.SecurityGroup(stack, "Instances", vpc=(vpc := network(stack))),
        block_devices=[ec2.BlockDevice(device_name="/dev/xvda", volume=ec2.BlockDeviceVolume.ebs(200, encrypted=True))],
    )
    group = autoscaling.AutoScalingGroup(
        stack,
        "Group",
        vpc=vpc,
        min_capacity=0,
        max_capacity=4,
        mixed_instances_policy=autoscaling.MixedInstancesPolicy(
            launch_template=template,
            launch_template_overrides=[
                autoscaling.LaunchTemplateOverrides(instance_type=ec2.InstanceType(each))
                for each in ("g5.xlarge", "g6.xlarge", "g4dn.xlarge")
            ],
            instances_distribution=autoscaling.InstancesDistribution(
                on_demand_percentage_above_base_capacity=20,
                spot_allocation_strategy=autoscaling.SpotAllocationStrategy.PRICE_CAPACITY_OPTIMIZED,
            ),
        ),
    )
    weekdays = {"week_day": "MON-FRI", "minute": "0"}
    group.scale_on_schedule("Up", schedule=autoscaling.Schedule.cron(hour="8", **weekdays), min_capacity=1)
    group.scale_on_schedule(
        "Down", schedule=autoscaling.Schedule.cron(hour="18", **weekdays), min_capacity=0, desired_capacity=0
    )


def one_instance(stack: Stack) -> None:
    """A workstation."""
    ec2.Instance(
        stack,
        "Workstation",
        vpc=network(stack),
        instance_type=ec2.InstanceType("g4dn.2xlarge"),
        machine_image=ec2.MachineImage.generic_linux({"us-east-1": "ami-0123456789abcdef0"}),
        block_devices=[ec2.BlockDevice(device_name="/dev/sda1", volume=ec2.BlockDeviceVolume.ebs(100))],
    )


def sagemaker_endpoint(stack: Stack) -> None:
    """An endpoint that follows the invocations."""
    model = Model(
        stack,
        "Model",
        containers=[
            ContainerDefinition(
                image=ContainerImage.from_dlc("pytorch-inference", "2.6.0-gpu-py312-cu124-ubuntu22.04-sagemaker"),
                model_data=ModelData.from_bucket(s3.Bucket.from_bucket_name(stack, "Models", "models"), "m.tar.gz"),
            )
        ],
    )
    configuration = EndpointConfig(
        stack,
        "Configuration",
        instance_production_variants=[
            InstanceProductionVariantProps(
                model=model, variant_name="main", instance_type=InstanceType.of("ml.g5.xlarge")
            )
        ],
    )
    endpoint = Endpoint(stack, "Endpoint", endpoint_config=configuration)
    variant = endpoint.find_instance_production_variant("main")
    variant.auto_scale_instance_count(max_capacity=3).scale_on_invocations("Load", max_requests_per_second=30)


def github_runners_on_instances(stack: Stack) -> None:
    """Runners that are instances of their own, one for each job."""
    provider = runners.Ec2RunnerProvider(
        stack,
        "Provider",
        labels=["gpu"],
        vpc=network(stack),
        instance_type=ec2.InstanceType("g4dn.xlarge"),
        image_builder=runners.Ec2RunnerProvider.image_builder(
            stack,
            "Builder",
            vpc=ec2.Vpc.from_vpc_attributes(
                stack,
                "BuilderVpc",
                vpc_id="vpc-0123456789abcdef0",
                availability_zones=["us-east-1a"],
                public_subnet_ids=["subnet-0123456789abcde00"],
            ),
        ),
    )
    runners.GitHubRunners(stack, "Runners", providers=[provider])


def github_runners_on_ecs(stack: Stack) -> None:
    """Runners in containers, on a group that goes to nothing."""
    provider = runners.EcsRunnerProvider(
        stack, "Provider", labels=["gpu"], vpc=network(stack), instance_type=ec2.InstanceType("g4dn.xlarge"), gpu=1
    )
    runners.GitHubRunners(stack, "Runners", providers=[provider])


def codebuild_with_a_gpu(stack: Stack) -> None:
    """A build that has a GPU while it runs."""
    codebuild.Project(
        stack,
        "Project",
        build_spec=codebuild.BuildSpec.from_object(
            {"version": "0.2", "phases": {"build": {"commands": ["nvidia-smi"]}}}
        ),
        environment=codebuild.BuildEnvironment(build_image=codebuild.LinuxGpuBuildImage.DLC_PYTORCH_1_5_0_INFERENCE),
    )


def ecs_tasks_by_the_clock(stack: Stack) -> None:
    """A nightly task on a group that is always up."""
    patterns.ScheduledEc2Task(
        stack,
        "Nightly",
        cluster=gpu_cluster(stack),
        schedule=scaling.Schedule.cron(hour="2", minute="0"),
        scheduled_ec2_task_definition_options=patterns.ScheduledEc2TaskDefinitionOptions(
            task_definition=gpu_task(stack)
        ),
    )


STACKS: tuple[Callable[[Stack], None], ...] = (
    ecs_service,
    ecs_capacity_provider,
    ecs_queue_processing,
    ecs_load_balanced,
    ecs_tasks_by_the_clock,
    batch_on_demand,
    batch_spot_kept_warm,
    eks_node_group,
    eks_inferentia,
    group_on_cpu,
    group_of_spot_by_the_clock,
    one_instance,
    sagemaker_endpoint,
    github_runners_on_instances,
    github_runners_on_ecs,
    codebuild_with_a_gpu,
)


def template_of(make: Callable[[Stack], None]) -> dict[str, object]:
    """The template of a stack with feature flags as a new project has them, its own nested stacks left out."""
    context = json.loads((HERE.parents[3] / "cdk.json").read_text())["context"]
    app = App(context={**context, "aws:cdk:bundling-stacks": []})
    stack = Stack(app, "Test", env=Environment(account="111122223333", region="us-east-1"))
    make(stack)
    template = app.synth().get_stack_artifact(stack.artifact_id).template
    return dict(json.loads(re.sub(r"[0-9a-f]{64}", "0" * 64, json.dumps(template))))


if __name__ == "__main__":
    for make in STACKS:
        if sys.argv[1:] and make.__name__ not in sys.argv[1:]:
            continue
        text = json.dumps(template_of(make), separators=(",", ":"))
        (HERE / f"{make.__name__}.json").write_text(text + "\n")
        print(make.__name__, len(text))
