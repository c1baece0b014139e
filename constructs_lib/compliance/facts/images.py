"""Machine images: what is on one, as far as its public parameter, or a service's word for it, tells.

Sources, read in November 2026: the release notes of the AWS Deep Learning AMIs and of the Neuron DLAMIs; "Retrieving
Amazon ECS-optimized Linux AMI metadata"; "Retrieve recommended Amazon Linux AMI IDs" (EKS); ``API_Ec2Configuration``
(AWS Batch); ``amiType`` of ``CreateNodegroup`` (EKS); "AMI public parameters" (Systems Manager). Amazon Linux 2 has
been without support since 2026-06-30, its images for EKS since 2025-11-26 ("Build a custom Amazon Linux AMI", EKS).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from constructs_lib.catalog import ARCHITECTURES
from constructs_lib.compliance.facts.launches import BATCH, GROUP, NODE_GROUP, Launch
from constructs_lib.compliance.values import NotKnown, Value
from constructs_lib.template.markers import SsmParameter

_X86_64, _ARM64 = ARCHITECTURES
_AL2_ENDED = "2026-06-30"
_EKS_AL2_ENDED = "2025-11-26"
_AL1_ENDED = "2023-12-31"
_CUSTOM = "CUSTOM"
_AT_LAUNCH = "resolve:ssm:"

_NONE: frozenset[str] = frozenset()
_NVIDIA = frozenset({"nvidia"})
_NEURON = frozenset({"neuron"})


@dataclass(frozen=True)
class _Family:
    """Images whose names match a pattern.

    Attributes:
        pattern: of names.
        kinds: of accelerators whose driver is on them.
        ended: the day since when they are without support. None: they have it.
        architecture: of the CPU, where names do not tell.
    """

    pattern: str
    kinds: frozenset[str]
    ended: str | None = None
    architecture: str | None = None


_FAMILIES = (
    _Family(r"/aws/service/deeplearning/ami/.*neuron.*", _NEURON),
    _Family(r"/aws/service/deeplearning/ami/.*(gpu|nvidia).*", _NVIDIA),
    _Family(r"/aws/service/neuron/dlami/.*", _NEURON, architecture=_X86_64),
    _Family(r"/aws/service/ecs/optimized-ami/amazon-linux-2/(kernel-5\.10/)?gpu/.*", _NVIDIA, _AL2_ENDED, _X86_64),
    _Family(r"/aws/service/ecs/optimized-ami/amazon-linux-2/(kernel-5\.10/)?inf/.*", _NEURON, _AL2_ENDED, _X86_64),
    _Family(r"/aws/service/ecs/optimized-ami/amazon-linux-2/.*", _NONE, _AL2_ENDED, _X86_64),
    _Family(r"/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/.*", _NVIDIA, architecture=_X86_64),
    _Family(r"/aws/service/ecs/optimized-ami/amazon-linux-2023/neuron/.*", _NEURON, architecture=_X86_64),
    _Family(r"/aws/service/ecs/optimized-ami/amazon-linux-2023/(arm64/)?recommended.*", _NONE, architecture=_X86_64),
    # Made for both makers.
    _Family(r"/aws/service/eks/optimized-ami/[^/]+/amazon-linux-2-gpu/.*", _NVIDIA | _NEURON, _EKS_AL2_ENDED, _X86_64),
    _Family(r"/aws/service/eks/optimized-ami/[^/]+/amazon-linux-2(-arm64)?/.*", _NONE, _EKS_AL2_ENDED, _X86_64),
    _Family(r"/aws/service/eks/optimized-ami/[^/]+/amazon-linux-2023/[^/]+/nvidia/.*", _NVIDIA),
    _Family(r"/aws/service/eks/optimized-ami/[^/]+/amazon-linux-2023/[^/]+/neuron/.*", _NEURON),
    _Family(r"/aws/service/eks/optimized-ami/[^/]+/amazon-linux-2023/[^/]+/standard/.*", _NONE),
    _Family(r"/aws/service/bottlerocket/aws-(k8s|ecs)-[0-9.]+-nvidia/.*", _NVIDIA),
    _Family(r"/aws/service/ami-amazon-linux-latest/al2023-.*", _NONE),
    _Family(r"/aws/service/ami-amazon-linux-latest/amzn2-.*", _NONE, _AL2_ENDED),
    _Family(r"/aws/service/ami-amazon-linux-latest/amzn-.*", _NONE, _AL1_ENDED),
    # What runs in a cluster may install the driver, as the GPU Operator of NVIDIA does on nodes with Ubuntu.
    _Family(r"/aws/service/canonical/ubuntu/eks.*", _NVIDIA | _NEURON),
    _Family(r"/aws/service/canonical/ubuntu/.*", _NONE),
    _Family(r"/aws/service/debian/.*", _NONE),
    _Family(r"/aws/service/suse/.*", _NONE),
    _Family(r"/aws/service/ami-windows-latest/.*-Base", _NONE, architecture=_X86_64),
    # AWS Batch. Which of these has a driver for other accelerators than GPUs is not documented.
    _Family(r"ECS_AL1", _NEURON, _AL1_ENDED),
    _Family(r"ECS_AL2", _NEURON, _AL2_ENDED),
    _Family(r"ECS_AL2_NVIDIA", _NVIDIA | _NEURON, _AL2_ENDED),
    _Family(r"ECS_AL2023", _NEURON),
    _Family(r"ECS_AL2023_NVIDIA", _NVIDIA | _NEURON),
    _Family(r"EKS_AL2", _NEURON, _EKS_AL2_ENDED),
    _Family(r"EKS_AL2_NVIDIA", _NVIDIA | _NEURON, _EKS_AL2_ENDED),
    _Family(r"EKS_AL2023", _NEURON),
    _Family(r"EKS_AL2023_NVIDIA", _NVIDIA | _NEURON),
    # Managed node groups of EKS.
    _Family(r"AL2_x86_64", _NONE, _EKS_AL2_ENDED),
    _Family(r"AL2_x86_64_GPU", _NVIDIA | _NEURON, _EKS_AL2_ENDED),
    _Family(r"AL2_ARM_64", _NONE, _EKS_AL2_ENDED),
    _Family(r"AL2023_(x86_64|ARM_64)_STANDARD", _NONE),
    _Family(r"AL2023_(x86_64|ARM_64)_NVIDIA", _NVIDIA),
    _Family(r"AL2023_x86_64_NEURON", _NEURON),
    _Family(r"BOTTLEROCKET_(x86_64|ARM_64)(_FIPS)?", _NEURON),
    _Family(r"BOTTLEROCKET_(x86_64|ARM_64)_NVIDIA(_FIPS)?", _NVIDIA),
)
"""The first one that matches counts."""

_MARKS_OF_ARM = re.compile(r"arm64|aarch64|ARM_64")
_MARKS_OF_X86 = re.compile(r"x86_64|amd64")


@dataclass(frozen=True)
class Image:
    """What is known of an image.

    Attributes:
        value: where it is named.
        name: of its public parameter, or the word that a service has for it.
        kinds: of accelerators whose driver is on it, or may be.
        architecture: of the CPU. None: not known.
        ended: the day since when it is without support. None: it has it.
    """

    value: Value
    name: str
    kinds: frozenset[str]
    architecture: str | None
    ended: str | None


def images_of(launch: Launch) -> list[Image]:
    """The images of a launch; several where AWS Batch chooses one for each family of types, none where it has its own.

    Raises:
        NotKnown: what is on one is not known.
    """
    _check_one_for_all(launch)
    if launch.owner.type == BATCH:
        return list(_of_batch(launch))
    if launch.owner.type == NODE_GROUP:
        kind = launch.owner.properties.at("AmiType")
        if kind.text() not in (None, _CUSTOM):
            return [_named(kind, kind.text() or "")]
        if launch.is_left_to_service:
            raise kind.not_known("it does not say which image the service takes")
    return [_at(launch.setting("ImageId"))]


def image_named(launch: Launch) -> Image | None:
    """The one image of a launch. None: nobody can tell what is on it."""
    try:
        found = images_of(launch)
    except NotKnown:
        return None
    return found[0] if len(found) == 1 else None


def _check_one_for_all(launch: Launch) -> None:
    """A mixed group may give each type a launch template, or an image, of its own."""
    if launch.owner.type != GROUP:
        return
    for each in launch.owner.properties.at("MixedInstancesPolicy.LaunchTemplate").each("Overrides"):
        for name in ("LaunchTemplateSpecification", "ImageId"):
            if not each.at(name).is_absent:
                raise each.at(name).not_known("the types of the group do not all start from one image")


def _of_batch(launch: Launch) -> Iterator[Image]:
    resources = launch.owner.properties.at("ComputeResources")
    for each in resources.each("Ec2Configuration"):
        override = each.at("ImageIdOverride")
        yield _named(each.at("ImageType"), each.text("ImageType") or "") if override.is_absent else _at(override)
    if not resources.at("Ec2Configuration").is_absent:
        return
    own = resources.at("ImageId")
    if not own.is_absent:
        yield _at(own)
    elif not launch.is_left_to_service and not launch.setting("ImageId").is_absent:
        yield _at(launch.setting("ImageId"))


def _at(value: Value) -> Image:
    if isinstance(value.raw, SsmParameter):
        return _named(value, value.raw.name)
    name = value.text() or ""
    if name.startswith(_AT_LAUNCH):
        return _named(value, name.removeprefix(_AT_LAUNCH).partition(":")[0])
    raise value.not_known("what is on the image is not known" if name else "no image is named")


def _named(value: Value, name: str) -> Image:
    family = next((each for each in _FAMILIES if re.fullmatch(each.pattern, name)), None)
    if family is None:
        raise value.not_known(f"what is on the image {name} is not known")
    return Image(value, name, family.kinds, _architecture(name) or family.architecture, family.ended)


def _architecture(name: str) -> str | None:
    if _MARKS_OF_ARM.search(name):
        return _ARM64
    return _X86_64 if _MARKS_OF_X86.search(name) else None
