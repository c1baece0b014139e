"""Accelerators that other services hold: streamed desktops and applications, big-data clusters, builds, game servers.

Source: "Fleet types" and "Image Builder Actions", Amazon AppStream 2.0 Administration Guide; "Using an auto-termination
policy", Amazon EMR Management Guide; "Run builds on reserved capacity fleets", AWS CodeBuild User Guide, read 2026-11;
"Manage Scaling an Amazon GameLift Servers Fleet To/From Zero", Amazon GameLift Servers Developer Guide, read 2026-12.
"""

from __future__ import annotations

from collections.abc import Iterator

from constructs_lib.compliance.facts.grants import check_outside, is_allowed_on
from constructs_lib.compliance.facts.kept_machines import BIG_DATA
from constructs_lib.compliance.facts.other_services import (
    BUILDS,
    DESKTOP,
    GAME_CONTAINERS,
    GAME_SERVERS,
    IMAGE_BUILDER,
    STREAMS,
    accelerated,
)
from constructs_lib.compliance.facts.reasons import has_stated
from constructs_lib.compliance.facts.scalable_targets import scales_to_zero, unmoved
from constructs_lib.compliance.rule import WARNING, Itself, Rule
from constructs_lib.compliance.values import Broken, Value
from constructs_lib.statements import MINIMUM

_STOPS_STREAMS = ("appstream:StopFleet", "appstream:UpdateFleet", "appstream:DeleteFleet")
_STOPS_BUILDERS = ("appstream:StopImageBuilder", "appstream:DeleteImageBuilder")
_ENDS_CLUSTER = ("elasticmapreduce:TerminateJobFlows",)
_LOWERS_GAMES = (
    "gamelift:UpdateFleetCapacity",
    "gamelift:DeleteFleet",
    "gamelift:UpdateContainerFleet",
    "gamelift:DeleteContainerFleet",
    "gamelift:PutScalingPolicy",
)
_TO_ZERO = "SCALE_TO_AND_FROM_ZERO"
_RELEASE = ("SUS05-BP04/release", "COST09-BP03")


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


def _builder_stops(subject: Itself) -> Iterator[Broken]:
    builder = subject.resource
    if has_stated(builder, MINIMUM) or is_allowed_on(builder, _STOPS_BUILDERS):
        return
    check_outside(builder)
    yield builder.properties.broken(
        must="be stopped by something: it starts with the deploy, and is billed until somebody stops it",
        got="nothing that does",
        cure="let a scheduled function call appstream:StopImageBuilder, or remove it once its image is made",
    )


def _desktop_stops(subject: Itself) -> Iterator[Broken]:
    mode = subject.resource.properties.at("WorkspaceProperties.RunningMode")
    if mode.is_absent:
        raise mode.not_known("the template does not say whether it stops by itself")
    if mode.text() == "ALWAYS_ON" and not has_stated(subject.resource, MINIMUM):
        yield mode.broken(
            must="be 'AUTO_STOP': otherwise it runs, and is paid for, day and night",
            cure="set RunningMode: AUTO_STOP and RunningModeAutoStopTimeoutInMinutes: 60",
        )


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


def _games_reach_zero(subject: Itself) -> Iterator[Broken]:
    """A minimum of the whole fleet is another rule's; a scaling policy follows the players."""
    fleet = subject.resource
    own = fleet.properties
    policies = own.at("ScalingPolicies")
    if has_stated(fleet, MINIMUM) or policies.each() or (own.number("MinSize") or 0) > 0:
        return
    if is_allowed_on(fleet, _LOWERS_GAMES):
        return
    places = [each.at("LocationCapacity") for each in own.each("Locations")]
    kept = [each for each in places if not each.is_absent and _keeps_servers(each)]
    if places and not kept:
        return
    check_outside(fleet)
    if kept:
        yield kept[0].broken(
            "ManagedCapacityConfiguration.ZeroCapacityStrategy",
            must=f"be {_TO_ZERO!r}: nothing lowers this location when nobody plays",
            cure=f"set ManagedCapacityConfiguration: {{ZeroCapacityStrategy: {_TO_ZERO}}}, and leave MinSize out",
        )
    elif own.number("DesiredEC2Instances") != 0:
        yield policies.broken(
            must="follow the players, or locations have to go to zero by themselves: one instance always runs",
            cure="add Locations with LocationCapacity: "
            f"{{ManagedCapacityConfiguration: {{ZeroCapacityStrategy: {_TO_ZERO}}}}}",
        )


def _keeps_servers(capacity: Value) -> bool:
    """Whether instances stay at a location; as many are wanted as its minimum, unless it says how many."""
    if capacity.text("ManagedCapacityConfiguration.ZeroCapacityStrategy") == _TO_ZERO:
        return False
    wanted = capacity.number("DesiredEC2Instances")
    return (capacity.number("MinSize") or 0) > 0 if wanted is None else wanted > 0


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
        subjects=accelerated(STREAMS),
        judge=_streams_on_demand,
    ),
    Rule(
        id="image-builder-never-stops",
        title="Image builders of AppStream with graphics instances are stopped by something",
        severity=WARNING,
        practices=_RELEASE,
        why="It is needed while somebody makes an image, and costs as much as an instance of a fleet until it is "
        "stopped.",
        cure_here="Give a function the right to stop it; the library has no construct for AppStream.",
        cure_plain="Add a scheduled function that calls appstream:StopImageBuilder, or leave the image builder out.",
        link="https://docs.aws.amazon.com/appstream2/latest/developerguide/managing-image-builders-actions.html",
        subjects=accelerated(IMAGE_BUILDER),
        judge=_builder_stops,
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
        subjects=accelerated(DESKTOP),
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
        subjects=accelerated(BIG_DATA),
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
        subjects=accelerated(BUILDS),
        judge=_builds_on_demand,
    ),
    Rule(
        id="game-servers-never-at-zero",
        title="Accelerated game servers go to zero when nobody plays",
        severity=WARNING,
        practices=_RELEASE,
        why="A fleet without a scaling policy keeps its instances whether somebody plays or not.",
        cure_here="Set the capacity of its locations; the library has no construct for GameLift.",
        cure_plain="Set ManagedCapacityConfiguration: {ZeroCapacityStrategy: SCALE_TO_AND_FROM_ZERO} at each location, "
        "or add ScalingPolicies.",
        link="https://docs.aws.amazon.com/gameliftservers/latest/developerguide/fleets_scale-to-from-zero.html",
        subjects=accelerated(GAME_SERVERS, GAME_CONTAINERS),
        judge=_games_reach_zero,
    ),
)
