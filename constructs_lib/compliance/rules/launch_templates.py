"""What a launch template says, whatever is started from it: which version, how much user data, hibernation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from constructs_lib.compliance.deployment import Deployment, Resource
from constructs_lib.compliance.facts.launches import (
    FLEET,
    GROUP,
    NODE_GROUP,
    SPOT_FLEET,
    Launch,
    accelerated_launches,
)
from constructs_lib.compliance.facts.warm_pools import warm_pool_of
from constructs_lib.compliance.rule import ERROR, WARNING, Rule
from constructs_lib.compliance.values import Broken, NotKnown, Value
from constructs_lib.template.markers import PartText

_MOST_USER_DATA = 16_384
"""Bytes before they are encoded: "Run commands when you launch an EC2 instance with user data input"."""
_LONGEST_REFERENCE = 256
"""Of the names and ARNs that references become, more than nearly all of them have."""
_HIBERNATED = "Hibernated"
_FLOATING = ("$Latest", "$Default")
_VERSIONS = "https://docs.aws.amazon.com/autoscaling/ec2/userguide/create-auto-scaling-groups-launch-template.html"
_USER_DATA = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html"
_HIBERNATION = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/hibernating-prerequisites.html"


@dataclass(frozen=True)
class _Specification:
    """Where an owner names a launch template and its version."""

    value: Value

    @property
    def resource(self) -> Resource:
        return self.value.resource


def _specifications(deployment: Deployment) -> Iterator[_Specification | NotKnown]:
    for launch in accelerated_launches(deployment):
        if isinstance(launch, NotKnown):
            yield launch
            continue
        try:
            found = [each for each in _named(launch.owner) if not each.is_absent]
        except NotKnown as not_known:
            yield not_known
            continue
        for each in found:
            yield _Specification(each)


def _named(owner: Resource) -> list[Value]:
    properties = owner.properties
    if owner.type == GROUP:
        mixed = properties.at("MixedInstancesPolicy.LaunchTemplate")
        overrides = [each.at("LaunchTemplateSpecification") for each in mixed.each("Overrides")]
        return [properties.at("LaunchTemplate"), mixed.at("LaunchTemplateSpecification"), *overrides]
    if owner.type == NODE_GROUP:
        return [properties.at("LaunchTemplate")]
    path = {
        FLEET: "LaunchTemplateConfigs",
        SPOT_FLEET: "SpotFleetRequestConfigData.LaunchTemplateConfigs",
    }.get(owner.type)
    return [] if path is None else [each.at("LaunchTemplateSpecification") for each in properties.each(path)]


def _version(specification: _Specification) -> Iterator[Broken]:
    value = specification.value
    version = value.at("Version")
    # Of a resource: Fn::GetAtt LatestVersionNumber, which is a new value with each change.
    if version.made() is not None:
        return
    if version.text() is None or version.text() in _FLOATING:
        what = "a new version reaches instances without a deploy of the group, and is never rolled"
        if value.resource.type == NODE_GROUP:
            what = "a new version does not reach the node group"
        yield version.broken(
            must=f"be a fixed version: {what}",
            cure="write Version: !GetAtt <LaunchTemplate>.LatestVersionNumber, or a number",
        )


def _user_data(launch: Launch) -> Iterator[Broken]:
    if launch.is_left_to_service:
        return
    value = launch.setting("UserData")
    if value.is_absent:
        return
    known = _known_part(value)
    size = len(known.encode("utf-8", "surrogatepass"))
    if size <= _MOST_USER_DATA and isinstance(value.raw, PartText):
        # A reference becomes a name or an ARN: room for those is enough to be sure that it fits.
        room = _MOST_USER_DATA - size - _LONGEST_REFERENCE * len(list(value.raw.markers()))
        if room < 0:
            raise value.not_known("how long it becomes is known at the deploy only")
    if size > _MOST_USER_DATA:
        yield value.broken(
            must=f"be at most {_MOST_USER_DATA} bytes",
            got=f"{size} bytes",
            cure="fetch the long part from S3 in the script, or bake it into the image",
        )


def _known_part(value: Value) -> str:
    if isinstance(value.raw, PartText):
        return "".join(part for part in value.raw.parts if isinstance(part, str))
    return value.text() or ""


def _hibernation(launch: Launch) -> Iterator[Broken]:
    cannot = [each.name for each in launch.facts if each.hibernation is False]
    if not cannot:
        return
    must = f"be left out, since {', '.join(cannot[:3])} cannot hibernate"
    if not launch.is_left_to_service and launch.setting("HibernationOptions").flag("Configured", default=False):
        yield launch.setting("HibernationOptions.Configured").broken(must=must, cure="remove HibernationOptions")
    pool = warm_pool_of(launch.owner)
    if pool is not None and pool.properties.text("PoolState") == _HIBERNATED:
        yield pool.properties.broken("PoolState", must=must, cure="write PoolState: Stopped")


RULES = (
    Rule(
        id="launch-template-version-floats",
        title="A launch template is used in a version that a deploy chooses",
        severity=WARNING,
        practices=("REL08-BP05",),
        why=(
            "With $Latest or $Default a node group of EKS keeps the version of the first day, so that a fix of a "
            "driver never arrives, and a group takes each new one at once, without a rollout or a way back."
        ),
        cure_here="AcceleratedFleet refers to the version that the same deploy makes.",
        cure_plain="Write Version: !GetAtt <LaunchTemplate>.LatestVersionNumber.",
        link=_VERSIONS,
        subjects=_specifications,
        judge=_version,
    ),
    Rule(
        id="user-data-too-long",
        title="User data is no longer than EC2 takes",
        severity=ERROR,
        practices=("REL07-BP01",),
        why="EC2 takes 16 KB of user data: a launch template with more is refused, and the deploy fails.",
        cure_here="AcceleratedFleet keeps its own part small and fetches the rest as an asset.",
        cure_plain="Fetch the long part from S3 in the script, or bake it into the image.",
        link=_USER_DATA,
        subjects=accelerated_launches,
        judge=_user_data,
    ),
    Rule(
        id="hibernation-not-possible",
        title="Types that cannot hibernate are not asked to",
        severity=ERROR,
        practices=("REL07-BP01",),
        why="No accelerated type hibernates: a launch that asks for it is refused, and a warm pool stays empty.",
        cure_here="WarmPool(state=PoolState.STOPPED), which is the default.",
        cure_plain="Remove HibernationOptions, and let a warm pool keep its instances Stopped.",
        link=_HIBERNATION,
        subjects=accelerated_launches,
        judge=_hibernation,
    ),
)
