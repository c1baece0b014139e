"""Accelerators that other services hold: streamed desktops and applications, big-data clusters, builds.

Source: the property lists of the AWS CloudFormation Template Reference; "Fleet types", Amazon AppStream 2.0
Administration Guide; "Using an auto-termination policy", Amazon EMR Management Guide; "Run builds on reserved capacity
fleets", AWS CodeBuild User Guide, read 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterator

from constructs_lib.compliance.deployment import Resource
from constructs_lib.compliance.facts.grants import check_outside, is_allowed_on
from constructs_lib.compliance.facts.kept_machines import BIG_DATA, types_of_cluster
from constructs_lib.compliance.facts.machines import names_accelerators
from constructs_lib.compliance.facts.reasons import has_stated
from constructs_lib.compliance.facts.scalable_targets import scales_to_zero, unmoved
from constructs_lib.compliance.rule import WARNING, Itself, Rule, resources_of
from constructs_lib.compliance.values import Broken, any_of
from constructs_lib.statements import MINIMUM

_STREAMS = "AWS::AppStream::Fleet"
_DESKTOP = "AWS::WorkSpaces::Workspace"
_BUILDS = "AWS::CodeBuild::Fleet"
_STOPS_STREAMS = ("appstream:StopFleet", "appstream:UpdateFleet", "appstream:DeleteFleet")
_ENDS_CLUSTER = ("elasticmapreduce:TerminateJobFlows",)
_RELEASE = ("SUS05-BP04/release", "COST09-BP03")


def _streams_graphics(fleet: Resource) -> bool:
    return (fleet.properties.text("InstanceType") or "").startswith("stream.graphics")


def _streams_on_demand(subject: Itself) -> Iterator[Broken]:
    fleet = subject.resource
    kind = fleet.properties.at("FleetType")
    if kind.text() not in (None, "ALWAYS_ON") or has_stated(fleet, MINIMUM):
        return
    name = fleet.properties.at("Name").text()
    if scales_to_zero(fleet, name) or is_allowed_on(fleet, _STOPS_STREAMS):
        return
    check_outside(fleet)
    yield from list(unmoved(fleet, name)) or [
        kind.broken(
            must="be 'ON_DEMAND': instances of a fleet that is always on are billed in full without a user",
            cure="set FleetType: ON_DEMAND, or register a scalable target with MinCapacity: 0 and a policy",
        )
    ]


def _shows_graphics(desktop: Resource) -> bool:
    return (desktop.properties.text("WorkspaceProperties.ComputeTypeName") or "").startswith("GRAPHICS")


def _desktop_stops(subject: Itself) -> Iterator[Broken]:
    mode = subject.resource.properties.at("WorkspaceProperties.RunningMode")
    if mode.is_absent:
        raise mode.not_known("the template does not say whether it stops by itself")
    if mode.text() == "ALWAYS_ON" and not has_stated(subject.resource, MINIMUM):
        yield mode.broken(
            must="be 'AUTO_STOP': otherwise it runs, and is paid for, day and night",
            cure="set RunningMode: AUTO_STOP and RunningModeAutoStopTimeoutInMinutes: 60",
        )


def _computes_accelerated(cluster: Resource) -> bool:
    return any_of(names_accelerators, types_of_cluster(cluster.properties))


def _cluster_ends(subject: Itself) -> Iterator[Broken]:
    """A cluster that ends after its steps needs no policy.

    Whether it does by default is not told: the reference of its template has named true and, later, false.
    """
    cluster = subject.resource
    policy = cluster.properties.at("AutoTerminationPolicy")
    kept = cluster.properties.at("Instances.KeepJobFlowAliveWhenNoSteps")
    if not policy.is_absent or has_stated(cluster, MINIMUM) or not kept.flag(default=True):
        return
    if is_allowed_on(cluster, _ENDS_CLUSTER):
        return
    if kept.is_absent:
        raise kept.not_known("the template does not say whether it ends after its steps")
    check_outside(cluster)
    yield policy.broken(
        must="be set: the cluster is kept when it has no more steps, and nothing ends it",
        cure="set AutoTerminationPolicy: {IdleTimeout: 3600}, or KeepJobFlowAliveWhenNoSteps: false",
    )


def _builds_with_gpus(fleet: Resource) -> bool:
    return "GPU" in (fleet.properties.text("EnvironmentType") or "") or names_accelerators(
        fleet.properties.at("ComputeConfiguration.InstanceType")
    )


def _builds_on_demand(subject: Itself) -> Iterator[Broken]:
    fleet = subject.resource
    if has_stated(fleet, MINIMUM):
        return
    capacity = fleet.properties.at("BaseCapacity")
    reserved = capacity.number()
    if reserved is None:
        raise capacity.not_known("the template does not say how many machines are reserved")
    if reserved > 0:
        yield capacity.broken(
            must="be left to builds on demand: reserved machines are billed without a build",
            cure="remove the fleet, and give the projects the environment type LINUX_GPU_CONTAINER without it",
        )


RULES = (
    Rule(
        id="streaming-always-on",
        title="Fleets of AppStream with graphics instances run on demand",
        severity=WARNING,
        practices=_RELEASE,
        why="An instance of a fleet that is always on costs its full price without a user; one on demand a small fee.",
        cure_here="Set the type of the fleet; the library has no construct for AppStream.",
        cure_plain="Set FleetType: ON_DEMAND.",
        link="https://docs.aws.amazon.com/appstream2/latest/developerguide/fleet-type.html",
        subjects=resources_of(_STREAMS, having=_streams_graphics),
        judge=_streams_on_demand,
    ),
    Rule(
        id="desktop-always-on",
        title="WorkSpaces with graphics processors stop when nobody uses them",
        severity=WARNING,
        practices=_RELEASE,
        why="A desktop is used for a third of the day at most.",
        cure_here="Set the running mode; the library has no construct for WorkSpaces.",
        cure_plain="Set RunningMode: AUTO_STOP.",
        link="https://docs.aws.amazon.com/workspaces/latest/adminguide/running-mode.html",
        subjects=resources_of(_DESKTOP, having=_shows_graphics),
        judge=_desktop_stops,
    ),
    Rule(
        id="emr-cluster-never-ends",
        title="An EMR cluster with accelerators ends when it is idle",
        severity=WARNING,
        practices=_RELEASE,
        why="A cluster that is kept alive between steps bills for all its instances until somebody ends it.",
        cure_here="For single jobs use AcceleratedFleet, which goes back to zero after them.",
        cure_plain="Set AutoTerminationPolicy: {IdleTimeout: 3600}.",
        link="https://docs.aws.amazon.com/emr/latest/ManagementGuide/emr-auto-termination-policy.html",
        subjects=resources_of(BIG_DATA, having=_computes_accelerated),
        judge=_cluster_ends,
    ),
    Rule(
        id="build-fleet-reserved",
        title="Builds with GPUs run on demand",
        severity=WARNING,
        practices=_RELEASE,
        why="A reserved fleet is billed by the minute, whether there is a build or not.",
        cure_here="Leave the fleet out; the library has no construct for CodeBuild.",
        cure_plain="Use the environment type LINUX_GPU_CONTAINER on demand.",
        link="https://docs.aws.amazon.com/codebuild/latest/userguide/fleets.html",
        subjects=resources_of(_BUILDS, having=_builds_with_gpus),
        judge=_builds_on_demand,
    ),
)
