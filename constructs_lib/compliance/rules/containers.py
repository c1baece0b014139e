"""Accelerators behind Amazon ECS and AWS Batch.

Source: "Amazon ECS cluster auto scaling" and "Working with GPUs on Amazon ECS", Amazon ECS Developer Guide; "Compute
environment parameters", "Update compute environments" and "GPU workload AMI", AWS Batch User Guide, read 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterator

from constructs_lib.compliance.deployment import Deployment, Resource
from constructs_lib.compliance.facts.agents import start_of
from constructs_lib.compliance.facts.capacity_actions import CAPACITY_PROVIDER, is_scaled_by_ecs, reaches_zero
from constructs_lib.compliance.facts.grants import check_outside, is_allowed_on
from constructs_lib.compliance.facts.launches import BATCH, GROUP, Launch
from constructs_lib.compliance.facts.lifecycle_hooks import holds_what_ends
from constructs_lib.compliance.facts.machines import types_named
from constructs_lib.compliance.facts.owners import accelerated_owners, launches_of
from constructs_lib.compliance.facts.reasons import has_stated
from constructs_lib.compliance.facts.scalable_targets import scales_to_zero, unmoved
from constructs_lib.compliance.rule import ERROR, WARNING, Itself, Rule, resources_of
from constructs_lib.compliance.values import Broken, NotKnown, Value, all_of, any_of
from constructs_lib.statements import MINIMUM
from constructs_lib.template.markers import Made

_SERVICE = "AWS::ECS::Service"
_TASK = "AWS::ECS::TaskDefinition"
_JOB = "AWS::Batch::JobDefinition"
_PROVIDER = "AutoScalingGroupProvider"
_STOPS_SERVICE = ("ecs:UpdateService", "ecs:DeleteService")
_ACCELERATORS = ("GPU", "NeuronDevice")
_DEVICES = ("/dev/neuron", "/dev/nvidia")
_PLAIN_IMAGES = ("ECS_AL2", "ECS_AL2023")
_SHARED_BY = "NVIDIA_VISIBLE_DEVICES"
_DEFAULT_RUNTIME = "default-runtime"
_FLOATING = ("$Latest", "$Default")
_ECS = "https://docs.aws.amazon.com/AmazonECS/latest/developerguide"
_BATCH_GUIDE = "https://docs.aws.amazon.com/batch/latest/userguide"


# --- ECS -------------------------------------------------------------------------------------------------------------


def _providers(deployment: Deployment) -> Iterator[Itself | NotKnown]:
    """The capacity providers of accelerated groups."""
    behind = {group: each for each in deployment.resources(CAPACITY_PROVIDER) for group in each.uses(GROUP)}
    for each in accelerated_owners(GROUP, having=lambda owner: owner in behind)(deployment):
        yield each if isinstance(each, NotKnown) else Itself(behind[each.resource])


def _starts_what_is_needed(subject: Itself) -> Iterator[Broken]:
    scaling = subject.resource.properties.at(f"{_PROVIDER}.ManagedScaling")
    target, step = scaling.at("TargetCapacity"), scaling.at("MinimumScalingStepSize")
    if scaling.text("Status") == "DISABLED":
        return
    wanted = target.number()
    if wanted is not None and wanted < 100 and not has_stated(subject.resource, MINIMUM):
        yield target.broken(
            must="be 100: below it ECS keeps accelerators running that no task asks for", cure="set TargetCapacity: 100"
        )
    if (step.number() or 1) > 1:
        yield step.broken(
            must="be 1: each scale-out starts as many instances, for a single task too",
            cure="set MinimumScalingStepSize: 1",
        )


def _drains(subject: Itself) -> Iterator[Broken]:
    provider = subject.resource
    draining = provider.properties.at(f"{_PROVIDER}.ManagedDraining")
    if draining.text() != "DISABLED" or _ends_only_the_empty(provider) or any_of(holds_what_ends, provider.uses(GROUP)):
        return
    yield draining.broken(
        must="be 'ENABLED', or the group have a hook for instances that end: each takes its tasks with it",
        cure="set ManagedDraining: ENABLED",
    )


def _ends_only_the_empty(provider: Resource) -> bool:
    return provider.properties.text(f"{_PROVIDER}.ManagedTerminationProtection") == "ENABLED"


def _is_accelerated(service: Resource) -> bool:
    return any_of(_asks_for_accelerators, service.uses(_TASK)) and not _is_daemon(service)


def _is_daemon(service: Resource) -> bool:
    return service.properties.text("SchedulingStrategy") == "DAEMON"


def _asks_for_accelerators(task: Resource) -> bool:
    return any_of(
        lambda each: _names_accelerator(each.each("ResourceRequirements")) or _has_device(each), _containers(task)
    )


def _has_device(container: Value) -> bool:
    """Whether a container is given an accelerator of its host as a device, which is how tasks get Neuron cores."""
    paths = (each.searchable("HostPath") or "" for each in container.each("LinuxParameters.Devices"))
    return any(each.startswith(_DEVICES) for each in paths)


def _containers(task: Resource) -> list[Value]:
    return task.properties.each("ContainerDefinitions")


def _names_accelerator(requirements: list[Value]) -> bool:
    return any_of(lambda each: each.text("Type") in _ACCELERATORS, requirements)


def _service_rests(subject: Itself) -> Iterator[Broken]:
    service = subject.resource
    count = service.properties.at("DesiredCount")
    if count.number() == 0 or has_stated(service, MINIMUM):
        return
    name = service.properties.at("ServiceName").text()
    if scales_to_zero(service, name) or is_allowed_on(service, _STOPS_SERVICE):
        return
    if _instances_end_without_it(service.deployment):
        return
    check_outside(service)
    yield from list(unmoved(service, name)) or [
        count.broken(
            must="come to 0 by a scalable target: its tasks keep accelerators, and these their instances, running",
            cure="register the service as a scalable target with MinCapacity: 0 and a policy on its demand",
        )
    ]


def _instances_end_without_it(deployment: Deployment) -> bool:
    """Whether every accelerated group goes to zero whatever tasks want: only ECS keeps an instance for a task."""
    groups = [*accelerated_owners(GROUP)(deployment)]
    return bool(groups) and all_of(_ends_without_tasks, groups)


def _ends_without_tasks(group: Itself | NotKnown) -> bool:
    if isinstance(group, NotKnown):
        raise group
    return reaches_zero(group.resource) and not is_scaled_by_ecs(group.resource)


# --- Batch -----------------------------------------------------------------------------------------------------------


def _has_name(environment: Resource) -> bool:
    return not environment.properties.at("ComputeEnvironmentName").is_absent


def _can_be_replaced(subject: Itself) -> Iterator[Broken]:
    properties = subject.resource.properties
    if properties.flag("ReplaceComputeEnvironment", default=True):
        yield properties.broken(
            "ComputeEnvironmentName",
            must="be left out where updates replace the environment: the new one cannot have the name of the old one",
            cure="remove ComputeEnvironmentName, or set ReplaceComputeEnvironment: false",
        )


def _has_launch_template(environment: Resource) -> bool:
    return not environment.properties.at("ComputeResources.LaunchTemplate").is_absent


def _follows_launch_template(subject: Itself) -> Iterator[Broken]:
    version = subject.resource.properties.at("ComputeResources.LaunchTemplate.Version")
    if isinstance(version.raw, Made):
        return
    if version.text() in (None, *_FLOATING):
        yield version.broken(
            must="be a number: Batch keeps the version that was the newest when the environment was made",
            cure="set Version: {Fn::GetAtt: [the launch template, LatestVersionNumber]}",
        )


def _fits_by_progress(subject: Itself) -> Iterator[Broken]:
    if _fits_best(subject.resource):
        yield subject.resource.properties.broken(
            "ComputeResources.AllocationStrategy",
            must="be another than BEST_FIT: with it Batch waits for the one type, and no update changes the sizes",
            cure="set AllocationStrategy: BEST_FIT_PROGRESSIVE, or SPOT_PRICE_CAPACITY_OPTIMIZED for Spot",
        )


def _fits_best(environment: Resource) -> bool:
    """Whether its strategy is BEST_FIT, which it is without one too, but for environments on EKS."""
    strategy = environment.properties.text("ComputeResources.AllocationStrategy")
    if strategy is None:
        return environment.properties.at("EksConfiguration").is_absent
    return strategy == "BEST_FIT"


def _states_desired(environment: Resource) -> bool:
    return not environment.properties.at("ComputeResources.DesiredvCpus").is_absent


def _starts_for_jobs(subject: Itself) -> Iterator[Broken]:
    desired = subject.resource.properties.at("ComputeResources.DesiredvCpus")
    least = subject.resource.properties.at("ComputeResources.MinvCpus").number() or 0
    if (desired.number() or 0) > least:
        yield desired.broken(
            must="be left out: it starts instances at the deploy, whether there is a job or not",
            cure="remove DesiredvCpus: Batch sets it by the jobs in the queue",
        )


def _has_most(environment: Resource) -> bool:
    return not environment.properties.at("ComputeResources.MaxvCpus").is_absent


def _fits_one_instance(subject: Itself) -> Iterator[Broken]:
    most = subject.resource.properties.at("ComputeResources.MaxvCpus")
    sizes = _vcpus(subject.resource)
    number = most.number()
    if sizes and number is not None and number < min(sizes):
        if _may_exceed_maximum(subject.resource):
            raise most.not_known("Batch may exceed it by one instance with this strategy")
        yield most.broken(
            must=f"be at least {min(sizes)}, the vCPUs of its smallest type: otherwise no job ever starts",
            cure=f"set MaxvCpus to a multiple of {min(sizes)}",
        )


def _may_exceed_maximum(environment: Resource) -> bool:
    """Every strategy may, for Spot and On-Demand, but BEST_FIT for On-Demand (``ComputeResource``, Batch API)."""
    return not _fits_best(environment) or environment.properties.text("ComputeResources.Type") == "SPOT"


def _vcpus(environment: Resource) -> list[int]:
    """The vCPUs of its types; none if one is a family, or not among the accelerated types whose facts are known."""
    ways = launches_of(environment)
    facts = [each for way in ways for each in way.facts]
    sizes = [each.vcpus for each in facts if each.vcpus is not None]
    return sizes if len(sizes) == sum(len(way.types) for way in ways) else []


def _names_image(environment: Resource) -> bool:
    return not environment.properties.at("ComputeResources.Ec2Configuration").is_absent


def _has_drivers(subject: Itself) -> Iterator[Broken]:
    resources = subject.resource.properties.at("ComputeResources")
    launches = launches_of(subject.resource)
    if not resources.at("ImageId").is_absent or not all_of(_is_of_nvidia_alone, launches):
        return
    for each in resources.each("Ec2Configuration"):
        kind = each.at("ImageType")
        is_plain = kind.text() in _PLAIN_IMAGES and each.at("ImageIdOverride").is_absent
        if is_plain and not any_of(_may_bring_drivers, launches):
            yield kind.broken(
                must="be an image with NVIDIA's drivers: on this one no container finds the GPUs it is billed for",
                cure=f"set ImageType: {kind.text()}_NVIDIA",
            )


def _may_bring_drivers(launch: Launch) -> bool:
    brought = ("ImageId", "UserData")
    return not launch.is_left_to_service and any(not launch.setting(each).is_absent for each in brought)


def _is_of_nvidia_alone(launch: Launch) -> bool:
    named = [types_named(name) for name in launch.types]
    return all(named) and {each.kind for types in named for each in types} == {"nvidia"}


def _jobs_for_gpus(deployment: Deployment) -> Iterator[Itself | NotKnown]:
    """The jobs of templates whose compute environments all have GPUs: there is nowhere else for them to run."""
    environments = deployment.resources(BATCH)
    if not environments or not deployment.resources(_JOB):
        return
    try:
        if not all_of(_offers_only_gpus, environments):
            return
    except NotKnown as not_known:
        yield not_known
        return
    yield from (Itself(each) for each in deployment.resources(_JOB))


def _offers_only_gpus(environment: Resource) -> bool:
    ways = launches_of(environment)
    return bool(ways) and all_of(_is_of_nvidia_alone, ways)


def _asks_for_gpus(subject: Itself) -> Iterator[Broken]:
    job = subject.resource
    properties = job.properties
    container = properties.at("ContainerProperties")
    if container.is_absent or "FARGATE" in (each.text() for each in properties.each("PlatformCapabilities")):
        return
    requirements = container.at("ResourceRequirements")
    own_devices = not container.at("LinuxParameters.Devices").is_absent or container.flag("Privileged", default=False)
    if own_devices or _names_accelerator(requirements.each()) or _names_gpus(container):
        return
    if any_of(_gives_gpus_to_all, job.deployment.resources(BATCH)):
        return
    check_outside(job)
    yield requirements.broken(
        must="ask for GPUs: every environment of the template has them, and Batch gives a job none that asks for none",
        got="no requirement of type GPU",
        cure="add {Type: GPU, Value: '1'} to ResourceRequirements, or run the job where there are no accelerators",
    )


def _names_gpus(container: Value) -> bool:
    """Whether it tells NVIDIA's runtime which GPUs it wants, as containers do that share one."""
    return any_of(lambda each: each.text("Name") == _SHARED_BY, container.each("Environment"))


def _gives_gpus_to_all(environment: Resource) -> bool:
    """Whether its launch template makes NVIDIA's runtime that of every container, with or without a requirement."""
    launched = (each for each in launches_of(environment) if not each.is_left_to_service)
    return any_of(lambda each: any(_DEFAULT_RUNTIME in told.commands for told in start_of(each).told), launched)


RULES = (
    Rule(
        id="ecs-starts-more-than-needed",
        title="ECS starts as many accelerated instances as its tasks need",
        severity=WARNING,
        practices=("SUS02-BP01", "COST09-BP03"),
        why="A target below 100 % keeps spare accelerators running; a larger first step starts several for one task.",
        cure_here="AcceleratedFleet with a demand starts what the waiting work needs.",
        cure_plain="Set TargetCapacity: 100 and MinimumScalingStepSize: 1.",
        link=f"{_ECS}/cluster-auto-scaling.html",
        subjects=_providers,
        judge=_starts_what_is_needed,
    ),
    Rule(
        id="ecs-draining-off",
        title="Accelerated instances of ECS let their tasks end before they do",
        severity=WARNING,
        practices=("REL07-BP01",),
        why="Without draining the tasks on an instance are cut off with it.",
        cure_here="AcceleratedFleet drains its instances by a hook; nothing is to be set.",
        cure_plain="Set ManagedDraining: ENABLED.",
        link=f"{_ECS}/managed-instance-draining.html",
        subjects=_providers,
        judge=_drains,
    ),
    Rule(
        id="ecs-service-never-at-zero",
        title="A service of ECS whose tasks hold accelerators goes to zero when nobody asks",
        severity=WARNING,
        practices=("SUS05-BP04/release", "COST09-BP03"),
        why="Each task of the service holds its accelerators, so that the cluster cannot end the instance.",
        cure_here="For work from a queue use AcceleratedFleet, which goes back to zero after it.",
        cure_plain="Register the service as a scalable target with MinCapacity: 0 and a policy on its demand.",
        link=f"{_ECS}/service-auto-scaling.html",
        subjects=resources_of(_SERVICE, having=_is_accelerated),
        judge=_service_rests,
    ),
    Rule(
        id="batch-environment-named",
        title="An accelerated compute environment that updates replace has no fixed name",
        severity=ERROR,
        practices=("REL08-BP05",),
        why="CloudFormation makes the new environment before it deletes the old one: one name for both fails.",
        cure_here="AcceleratedFleet names nothing; nothing is to be set.",
        cure_plain="Leave ComputeEnvironmentName out, or set ReplaceComputeEnvironment: false.",
        link="https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-batch-computeenvironment.html",
        subjects=accelerated_owners(BATCH, having=_has_name),
        judge=_can_be_replaced,
    ),
    Rule(
        id="batch-launch-template-floating",
        title="An accelerated compute environment names the version of its launch template",
        severity=WARNING,
        practices=("REL08-BP05", "SUS05-BP04/tune"),
        why="Batch keeps the version of the day on which the environment was made: fixes of drivers and agents never "
        "arrive.",
        cure_here="AcceleratedFleet names the latest version by number; nothing is to be set.",
        cure_plain="Set Version to the attribute LatestVersionNumber of the launch template.",
        link=f"{_BATCH_GUIDE}/launch-templates.html",
        subjects=accelerated_owners(BATCH, having=_has_launch_template),
        judge=_follows_launch_template,
    ),
    Rule(
        id="batch-best-fit",
        title="An accelerated compute environment may use more than the one type that fits best",
        severity=WARNING,
        practices=("REL07-BP01", "SUS02-BP01"),
        why="BEST_FIT waits until the one type has capacity, and its environments take no updates of sizes and types.",
        cure_here="Give AcceleratedFleet several instance_types; it takes what there is.",
        cure_plain="Set AllocationStrategy: BEST_FIT_PROGRESSIVE, or SPOT_PRICE_CAPACITY_OPTIMIZED for Spot.",
        link=f"{_BATCH_GUIDE}/allocation-strategies.html",
        subjects=accelerated_owners(BATCH),
        judge=_fits_by_progress,
    ),
    Rule(
        id="batch-desired-stated",
        title="An accelerated compute environment starts instances for jobs only",
        severity=WARNING,
        practices=("SUS02-BP01", "COST09-BP03"),
        why="What DesiredvCpus asks for is started at the deploy, and billed without a job.",
        cure_here="AcceleratedFleet renders no desired capacity; nothing is to be set.",
        cure_plain="Leave DesiredvCpus out.",
        link=f"{_BATCH_GUIDE}/compute_environment_parameters.html",
        subjects=accelerated_owners(BATCH, having=_states_desired),
        judge=_starts_for_jobs,
    ),
    Rule(
        id="batch-maximum-too-small",
        title="An accelerated compute environment may start at least one instance",
        severity=ERROR,
        practices=("REL07-BP01",),
        why="With fewer vCPUs than its smallest type has, BEST_FIT can start no instance, and jobs wait for ever.",
        cure_here="Give AcceleratedFleet a max_capacity in instances.",
        cure_plain="Set MaxvCpus to at least the vCPUs of the smallest type.",
        link=f"{_BATCH_GUIDE}/compute_environment_parameters.html",
        subjects=accelerated_owners(BATCH, having=_has_most),
        judge=_fits_one_instance,
    ),
    Rule(
        id="batch-image-without-drivers",
        title="A compute environment of GPU types uses an image with drivers",
        severity=ERROR,
        practices=("SUS05-BP04/tune", "PERF02-BP06"),
        why="Without drivers jobs fail or stay in RUNNABLE, while the instances are billed.",
        cure_here="AcceleratedFleet chooses an image for the accelerators of its types.",
        cure_plain="Set ImageType to ECS_AL2023_NVIDIA, or leave Ec2Configuration out.",
        link=f"{_BATCH_GUIDE}/batch-gpu-ami.html",
        subjects=accelerated_owners(BATCH, having=_names_image),
        judge=_has_drivers,
    ),
    Rule(
        id="batch-job-without-gpu",
        title="A job for compute environments of GPU types asks for GPUs",
        severity=WARNING,
        practices=("SUS05-BP04/choose", "PERF02-BP06"),
        why="A job that asks for none gets none: it works on the processors of an instance with idle GPUs, or fails.",
        cure_here="AcceleratedFleet gives a worker all accelerators of its instance.",
        cure_plain="Add {Type: GPU, Value: '1'} to ResourceRequirements.",
        link=f"{_BATCH_GUIDE}/gpu-jobs.html",
        subjects=_jobs_for_gpus,
        judge=_asks_for_gpus,
    ),
)
