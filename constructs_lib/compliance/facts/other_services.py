"""Accelerated machines that services other than EC2 and SageMaker keep, by what their resources are told.

Source: the property lists of the AWS CloudFormation Template Reference, read 2026-12.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from constructs_lib.compliance.deployment import Deployment, Resource
from constructs_lib.compliance.facts.kept_machines import BIG_DATA, types_of_cluster
from constructs_lib.compliance.facts.machines import names_accelerators
from constructs_lib.compliance.rule import Itself, resources_of
from constructs_lib.compliance.values import NotKnown, any_of

STREAMS = "AWS::AppStream::Fleet"
IMAGE_BUILDER = "AWS::AppStream::ImageBuilder"
DESKTOP = "AWS::WorkSpaces::Workspace"
BUILDS = "AWS::CodeBuild::Fleet"
PCS = "AWS::PCS::ComputeNodeGroup"
DEADLINE = "AWS::Deadline::Fleet"
GAME_SERVERS = "AWS::GameLift::Fleet"
GAME_CONTAINERS = "AWS::GameLift::ContainerFleet"


def accelerated(*types: str) -> Callable[[Deployment], Iterator[Itself | NotKnown]]:
    """Subjects: the accelerated resources of these types of services."""
    return resources_of(*types, having=is_accelerated)


def is_accelerated(resource: Resource) -> bool:
    """Whether a resource of such a service keeps accelerated machines.

    Raises:
        NotKnown: what tells it is not known.
    """
    return KINDS[resource.type](resource)


def _streams_graphics(resource: Resource) -> bool:
    return (resource.properties.text("InstanceType") or "").startswith("stream.graphics")


def _shows_graphics(desktop: Resource) -> bool:
    return (desktop.properties.text("WorkspaceProperties.ComputeTypeName") or "").startswith("GRAPHICS")


def _computes(cluster: Resource) -> bool:
    return any_of(names_accelerators, types_of_cluster(cluster.properties))


def _builds(fleet: Resource) -> bool:
    return "GPU" in (fleet.properties.text("EnvironmentType") or "") or names_accelerators(
        fleet.properties.at("ComputeConfiguration.InstanceType")
    )


def _schedules(nodes: Resource) -> bool:
    return any_of(lambda each: names_accelerators(each.at("InstanceType")), nodes.properties.each("InstanceConfigs"))


def _renders(fleet: Resource) -> bool:
    asked = fleet.properties.at("Configuration.ServiceManagedEc2.InstanceCapabilities.AcceleratorCapabilities")
    return not asked.is_absent


def _plays(fleet: Resource) -> bool:
    return names_accelerators(fleet.properties.at("EC2InstanceType"))


def _plays_in_containers(fleet: Resource) -> bool:
    return names_accelerators(fleet.properties.at("InstanceType"))


KINDS: Mapping[str, Callable[[Resource], bool]] = {
    STREAMS: _streams_graphics,
    IMAGE_BUILDER: _streams_graphics,
    DESKTOP: _shows_graphics,
    BIG_DATA: _computes,
    BUILDS: _builds,
    PCS: _schedules,
    DEADLINE: _renders,
    GAME_SERVERS: _plays,
    GAME_CONTAINERS: _plays_in_containers,
}
"""Whether a resource keeps accelerated machines, by its type."""
