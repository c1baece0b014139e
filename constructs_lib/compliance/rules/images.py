"""The image of accelerated instances: with their driver, for their CPU, and still supported."""

from __future__ import annotations

import re
from collections.abc import Iterator

from constructs_lib.catalog import AcceleratedType
from constructs_lib.compliance.facts.agents import start_of
from constructs_lib.compliance.facts.images import Image, images_of
from constructs_lib.compliance.facts.launches import BATCH, Launch, accelerated_launches
from constructs_lib.compliance.facts.machines import types_named
from constructs_lib.compliance.rule import ERROR, WARNING, Rule
from constructs_lib.compliance.values import Broken

_TOLD_BY_NAME = frozenset({"nvidia", "neuron"})
"""Kinds of which the names of images tell whether one has their driver."""
_OF_A_MAKER = re.compile(r"nvidia|gpu|neuron|inf/", re.IGNORECASE)
"""In the name of an image that is made for NVIDIA's or AWS's accelerators."""
_INSTALLS = re.compile(
    r"nvidia-(driver|open|headless|utils|gpu-driver|dkms)|cuda-drivers|kmod-nvidia|NVIDIA-Linux-|ubuntu-drivers"
    r"|ec2-(?:linux|windows)-nvidia-drivers|nvidia-(?:windows|gaming|release)|\bdkms\b|aws-neuron|neuronx|nvidia\.run"
    r"|modprobe nvidia|amdgpu|ec2-amd|habanalabs|\bxrt\b|aws-fpga|qaic",
    re.IGNORECASE,
)
_FETCHES = re.compile(
    r"\b(curl|wget|git|pip3?|ansible\S*|chef\S*|puppet|salt\S*|cfn-init|yum|dnf|apt|apt-get|rpm|dpkg|conda|mamba|nodeadm"
    r"|Invoke-WebRequest|iwr|DownloadFile|(?:Read|Copy)-S3Object|Start-BitsTransfer|Start-Process|choco|winget|msiexec"
    r"|snap|helm|kubectl|bootstrap\.sh|tar|unzip|gunzip|base64|sh|python3?|source|ssm)\b|aws\s+s3|\$\{unknown\}"
)
"""Whoever does one of these may install the driver that way."""
_ASSOCIATION = "AWS::SSM::Association"
_PARAMETERS = "https://docs.aws.amazon.com/systems-manager/latest/userguide/parameter-store-public-parameters-ami.html"
_DLAMI = "https://docs.aws.amazon.com/dlami/latest/devguide/what-is-dlami.html"
_AL2 = "https://docs.aws.amazon.com/linux/al2023/ug/compare-with-al2.html"
_ALTERNATIVE = "/aws/service/deeplearning/ami/{architecture}/base-oss-nvidia-driver-gpu-amazon-linux-2023/latest/ami-id"


def _driver(launch: Launch) -> Iterator[Broken]:
    types = _types(launch)
    # Of AWS Batch, which has words of its own for images, another rule tells.
    needed = set() if launch.owner.type == BATCH else {each.kind for each in types}
    images = images_of(launch) if needed else []
    lacking = sorted(needed - frozenset().union(*(each.kinds for each in images)))
    if not images or not lacking or _is_installed(launch):
        return
    image = images[0]
    if not _TOLD_BY_NAME.intersection(lacking) and not _OF_A_MAKER.search(image.name):
        raise image.value.not_known(f"whether the image has the driver for {' and '.join(lacking)} is not known")
    names = sorted({each.name for each in types if each.kind in lacking})
    yield image.value.broken(
        must=f"be an image with the driver for {' and '.join(lacking)} accelerators, for {', '.join(names[:3])}",
        got=image.name,
        cure=_cure(image, lacking),
    )


def _types(launch: Launch) -> list[AcceleratedType]:
    return [facts for name in launch.types for facts in types_named(name)]


def _cure(image: Image, lacking: list[str]) -> str:
    if not _TOLD_BY_NAME.intersection(lacking):
        return "install the maker's driver in the user data, or use an image that has it"
    maker = "nvidia" if "nvidia" in lacking else "neuron"
    if image.name.startswith("/aws/service/ecs/"):
        variant = {"nvidia": "gpu", "neuron": "neuron"}[maker]
        return f"use /aws/service/ecs/optimized-ami/amazon-linux-2023/{variant}/recommended/image_id"
    if image.name.startswith("/aws/service/eks/"):
        architecture = image.architecture or "x86_64"
        return f"use .../amazon-linux-2023/{architecture}/{maker}/recommended/image_id of the same Kubernetes version"
    if image.name.startswith("/aws/service/ami-windows"):
        return "install the driver for Windows in the user data, or use an image that has it"
    if image.name.startswith("/"):
        neuron = "/aws/service/neuron/dlami/base/amazon-linux-2023/latest/image_id"
        own = _ALTERNATIVE.format(architecture=image.architecture or "x86_64") if "nvidia" in lacking else neuron
        return f"use {own}, or install the driver in the user data"
    return f"use the variant for these accelerators: its name ends with _{maker.upper()}"


def _is_installed(launch: Launch) -> bool:
    """Whether the boot script installs the driver.

    Raises:
        NotKnown: it fetches something of which nobody can tell.
    """
    told = start_of(launch).told
    if any(_INSTALLS.search(each.commands) for each in told):
        return True
    doubtful = next((each for each in told if _FETCHES.search(each.commands)), None)
    if doubtful is not None:
        raise doubtful.value.not_known("what the boot script fetches may install the driver")
    associations = launch.owner.deployment.resources(_ASSOCIATION)
    if associations:
        raise launch.setting("ImageId").not_known(f"{associations[0].id} may install the driver")
    return False


def _architecture(launch: Launch) -> Iterator[Broken]:
    types = _types(launch)
    wanted = {each.architecture for each in types}
    for image in images_of(launch):
        if image.architecture is not None and wanted and image.architecture not in wanted:
            named = ", ".join(each.name for each in types[:3])
            yield image.value.broken(
                must=f"be an image for {' or '.join(sorted(wanted))}, which is the CPU of {named}",
                got=image.name,
                cure=f"name the image for {' or '.join(sorted(wanted))}",
            )


def _ended(launch: Launch) -> Iterator[Broken]:
    for image in images_of(launch):
        if image.ended is not None:
            yield image.value.broken(
                must=f"be an image that is still supported (this one has not been since {image.ended})",
                got=image.name,
                cure="use the image for Amazon Linux 2023",
            )


RULES = (
    Rule(
        id="image-without-driver",
        title="The image has the driver of the accelerators",
        severity=ERROR,
        practices=("SUS05-BP04/tune", "PERF02-BP06"),
        why=(
            "Without its driver an accelerator is not there: containers with GPUs are not placed, work fails or falls "
            "back to the CPU, and the accelerator is paid for."
        ),
        cure_here="FleetImage.deep_learning_base() has the driver of the fleet's accelerators; it is the default.",
        cure_plain="Name the GPU or Neuron variant of the image, or install the driver in the user data.",
        link=_DLAMI,
        subjects=accelerated_launches,
        judge=_driver,
    ),
    Rule(
        id="image-of-other-architecture",
        title="The image is for the CPU of the instance types",
        severity=ERROR,
        practices=("PERF02-BP06",),
        why="EC2 refuses to start an image for another CPU: G5g and P6e are arm64, all other accelerated types x86_64.",
        cure_here="FleetImage.deep_learning_base() follows the types.",
        cure_plain="Name the image for the architecture of the types.",
        link=_PARAMETERS,
        subjects=accelerated_launches,
        judge=_architecture,
    ),
    Rule(
        id="image-family-ended",
        title="The image is of a family that is still supported",
        severity=WARNING,
        practices=("SEC06-BP02", "SUS05-BP04/tune"),
        why="Images of an ended family get no more drivers, security patches or support for new instance types.",
        cure_here="FleetImage.deep_learning_base() is Amazon Linux 2023 unless told otherwise.",
        cure_plain="Name the same image for Amazon Linux 2023.",
        link=_AL2,
        subjects=accelerated_launches,
        judge=_ended,
    ),
)
