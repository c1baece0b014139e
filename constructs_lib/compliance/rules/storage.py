"""Volumes of accelerated instances: gone with their instance, and encrypted.

"Preserve data when an instance is terminated", Amazon EC2 User Guide, read 2026-11: DeleteOnTermination decides. Where
it is absent, volumes that are attached at launch by a program are deleted, the root volume and those for data. A member
of a group is one of many, and nobody comes back for its volume; the data volume of one instance may be kept on purpose.
"Device names for volumes", the same guide: which names are for the root volume.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from constructs_lib.compliance.deployment import Deployment, Resource
from constructs_lib.compliance.facts.launches import INSTANCE, Launch, accelerated_launches
from constructs_lib.compliance.rule import ERROR, WARNING, Rule
from constructs_lib.compliance.values import Broken, NotKnown, Value

_VOLUME = "AWS::EC2::Volume"
_ATTACHMENT = "AWS::EC2::VolumeAttachment"
_ROOTS = ("/dev/sda1", "/dev/xvda")


@dataclass(frozen=True)
class _Volume:
    """A volume that each instance of a launch gets.

    Attributes:
        launch: that makes it.
        mapping: the entry of ``BlockDeviceMappings`` that asks for it.
    """

    launch: Launch
    mapping: Value

    @property
    def settings(self) -> Value:
        """Of the volume."""
        return self.mapping.at("Ebs")

    @property
    def resource(self) -> Resource:
        return self.mapping.resource


def _volumes(deployment: Deployment) -> Iterator[_Volume | NotKnown]:
    for launch in accelerated_launches(deployment):
        if isinstance(launch, NotKnown):
            yield launch
            continue
        if launch.is_left_to_service:
            continue
        try:
            yield from [_Volume(launch, each) for each in _of(launch)]
        except NotKnown as not_known:
            yield not_known


def _of(launch: Launch) -> Iterator[Value]:
    for mapping in launch.setting("BlockDeviceMappings").each():
        if not mapping.at("Ebs").is_absent:
            yield mapping


def _of_many(deployment: Deployment) -> Iterator[_Volume | NotKnown]:
    for each in _volumes(deployment):
        if isinstance(each, NotKnown) or each.launch.owner.type != INSTANCE:
            yield each


def _of_one(deployment: Deployment) -> Iterator[_Volume | NotKnown]:
    for each in _volumes(deployment):
        if isinstance(each, NotKnown) or each.launch.owner.type == INSTANCE:
            yield each


@dataclass(frozen=True)
class _Disk:
    """A volume of its own that is attached to an accelerated instance."""

    settings: Value

    @property
    def resource(self) -> Resource:
        return self.settings.resource


def _volumes_and_disks(deployment: Deployment) -> Iterator[_Volume | _Disk | NotKnown]:
    yield from _volumes(deployment)
    for launch in accelerated_launches(deployment):
        if isinstance(launch, Launch) and launch.owner.type == INSTANCE:
            yield from (_Disk(each.properties) for each in _attached_to(launch.owner))


def _attached_to(instance: Resource) -> Iterator[Resource]:
    """Volumes of the templates that the instance names, or that an attachment ties to it."""
    yield from instance.uses(_VOLUME)
    for attachment in instance.users(_ATTACHMENT):
        yield from attachment.uses(_VOLUME)


def _goes_with_its_instance(volume: _Volume) -> Iterator[Broken]:
    deleted = volume.settings.at("DeleteOnTermination")
    if not deleted.flag(default=True):
        yield deleted.broken(
            must="be true: nothing takes back the volume of an instance that is gone",
            cure="set DeleteOnTermination: true; keep what has to last in S3, EFS or FSx",
        )


def _root_goes_with_its_instance(volume: _Volume) -> Iterator[Broken]:
    if volume.mapping.text("DeviceName") in _ROOTS:
        yield from _goes_with_its_instance(volume)


def _is_encrypted(volume: _Volume | _Disk) -> Iterator[Broken]:
    encrypted = volume.settings.at("Encrypted")
    if encrypted.is_absent:
        if not volume.settings.at("KmsKeyId").is_absent:
            return
        if not volume.settings.at("SnapshotId").is_absent:
            raise encrypted.not_known("the snapshot decides whether the volume is encrypted")
        yield encrypted.broken(
            must="be true: what it does not say is left to the account's default", cure="set Encrypted: true"
        )
    elif not encrypted.flag(default=True):
        yield encrypted.broken(must="be true", cure="set Encrypted: true")


RULES = (
    Rule(
        id="volume-outlives-instance",
        title="The volumes of accelerated instances of a group go with them",
        severity=ERROR,
        practices=("COST04-BP04", "SUS05-BP04/release"),
        why=(
            "Each instance that is released leaves a volume that is paid for and that nobody uses again. A fleet that "
            "scales in every day leaves hundreds of gigabytes a day."
        ),
        cure_here="AcceleratedFleet deletes volumes with their instance; nothing is to be set.",
        cure_plain="Set DeleteOnTermination: true in each Ebs of BlockDeviceMappings.",
        link="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/preserving-volumes-on-termination.html",
        subjects=_of_many,
        judge=_goes_with_its_instance,
    ),
    Rule(
        id="root-volume-outlives-instance",
        title="The root volume of an accelerated instance goes with it",
        severity=WARNING,
        practices=("COST04-BP04",),
        why=(
            "Only the system is on it, and each update that replaces the instance leaves another one, which is paid "
            "for. Data that has to last is better on a volume of its own."
        ),
        cure_here="AcceleratedFleet deletes volumes with their instance; nothing is to be set.",
        cure_plain=(
            "Set DeleteOnTermination: true for the root volume; keep data on an AWS::EC2::Volume with a DeletionPolicy."
        ),
        link="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/preserving-volumes-on-termination.html",
        subjects=_of_one,
        judge=_root_goes_with_its_instance,
    ),
    Rule[_Volume | _Disk](
        id="volume-not-encrypted",
        title="The volumes of accelerated instances are encrypted",
        severity=WARNING,
        practices=("SEC08-BP02",),
        why=(
            "Model weights, data sets and checkpoints lie on these volumes and in their snapshots. Encryption costs "
            "nothing and takes no time of the accelerator."
        ),
        cure_here="AcceleratedFleet encrypts volumes; nothing is to be set.",
        cure_plain="Set Encrypted: true in each Ebs of BlockDeviceMappings, and on each AWS::EC2::Volume.",
        link="https://docs.aws.amazon.com/ebs/latest/userguide/ebs-encryption.html",
        subjects=_volumes_and_disks,
        judge=_is_encrypted,
    ),
)
