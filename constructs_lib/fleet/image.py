"""Which machine image the instances boot."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from aws_cdk import aws_ec2 as ec2

from constructs_lib.catalog import AcceleratedType
from constructs_lib.errors import ArgumentError, UnsupportedInstanceTypeError
from constructs_lib.telemetry import AcceleratorKind
from constructs_lib.validation import complaint, instance_of, is_token, text

_PARAMETER_NAME = re.compile(r"[A-Za-z0-9_./-]+")
_AMAZON_LINUX_ROOT = "/dev/xvda"
_UBUNTU_ROOT = "/dev/sda1"


class OperatingSystem(Enum):
    """Operating systems of the Deep Learning base image."""

    AMAZON_LINUX_2023 = "amazon-linux-2023"
    UBUNTU_22_04 = "ubuntu-22.04"
    UBUNTU_24_04 = "ubuntu-24.04"


class FleetImage(ABC):
    """A machine image and the name of its root device; made by one of the three factories below.

    Images named by an SSM parameter are settled when CloudFormation reads the parameter, at each deploy: a newer image
    makes a new version of the launch template, which only instances started later use. A running instance is never
    replaced because an image moved.
    """

    @property
    @abstractmethod
    def description(self) -> str:
        """What the image is and when it is settled; shown in the template's metadata."""

    @property
    @abstractmethod
    def root_device(self) -> str:
        """Device name of the root volume: a mapping under any other name would add a second, empty volume."""

    @abstractmethod
    def machine_image(self, where: str, types: Sequence[AcceleratedType], kind: AcceleratorKind) -> ec2.IMachineImage:
        """The CDK's image for instance types of one kind of accelerator, one CPU architecture and one driver.

        Raises:
            UnsupportedInstanceTypeError: the image has no driver for these types. ``where`` is the construct's path.
        """

    def boots(self, type_: AcceleratedType, kind: AcceleratorKind) -> bool:
        """Whether the image is known to have the driver of an instance type; taken for granted of an image given."""
        return True

    @staticmethod
    def deep_learning_base(system: OperatingSystem | None = None) -> FleetImage:
        """The AWS Deep Learning base image with driver and tools of the fleet's accelerators, for its CPU architecture.

        There is one for NVIDIA GPUs and one for Trainium and Inferentia 2; fleets of anything else name their own.

        Args:
            system: operating system. Default: Amazon Linux 2023.

        Raises:
            ArgumentError: it is no ``OperatingSystem``.
        """
        chosen = OperatingSystem.AMAZON_LINUX_2023 if system is None else system
        instance_of("FleetImage", "system", chosen, OperatingSystem, cure="write OperatingSystem.UBUNTU_24_04")
        return _DeepLearningBase(chosen)

    @staticmethod
    def from_ssm_parameter(name: str, *, root_device: str | None = None) -> FleetImage:
        """The image whose id a team keeps in an SSM parameter (a golden image).

        Args:
            name: name of the parameter; it must hold an image id of the fleet's CPU architecture.
            root_device: Default: ``/dev/xvda``, as Amazon Linux names it; Ubuntu images use ``/dev/sda1``.

        Raises:
            ArgumentError: the name is none of a parameter, or the device none of a device.
        """
        cure = "give the parameter's name, for example /golden/gpu/ami-id"
        text("FleetImage", "name", name, cure=cure)
        if not is_token(name) and not _PARAMETER_NAME.fullmatch(name):
            rule = "be the name of an SSM parameter (letters, digits and . - _ /)"
            raise ArgumentError(complaint("FleetImage", "name", rule, name, cure))
        if name.startswith("ami-"):
            cure = "for a literal id write from_machine_image(ec2.MachineImage.generic_linux({region: id}))"
            raise ArgumentError(complaint("FleetImage", "name", "be a parameter, not an image id", name, cure))
        return _Parameter(name, _device(root_device))

    @staticmethod
    def from_machine_image(image: ec2.IMachineImage, *, root_device: str | None = None) -> FleetImage:
        """An image chosen with the CDK's own ``MachineImage``, for example a literal id.

        Args:
            image: must be of the fleet's CPU architecture, with the accelerator's driver on it.
            root_device: Default: ``/dev/xvda``, as Amazon Linux names it; Ubuntu images use ``/dev/sda1``.

        Raises:
            ArgumentError: the image is none of the CDK's, or the device none of a device.
        """
        if not hasattr(image, "get_image"):
            cure = "write for example ec2.MachineImage.generic_linux({'us-east-1': 'ami-0123456789abcdef0'})"
            raise ArgumentError(complaint("FleetImage", "image", "be an ec2.IMachineImage", image, cure))
        return _Given(image, _device(root_device))


@dataclass(frozen=True)
class _DeepLearningBase(FleetImage):
    system: OperatingSystem

    @property
    def description(self) -> str:
        return f"AWS Deep Learning base image, {self.system.value}, read from its SSM parameter at each deploy"

    @property
    def root_device(self) -> str:
        return _AMAZON_LINUX_ROOT if self.system is OperatingSystem.AMAZON_LINUX_2023 else _UBUNTU_ROOT

    def boots(self, type_: AcceleratedType, kind: AcceleratorKind) -> bool:
        return self._objection([type_], kind) is None

    def machine_image(self, where: str, types: Sequence[AcceleratedType], kind: AcceleratorKind) -> ec2.IMachineImage:
        objection = self._objection(types, kind)
        if objection is not None:
            raise UnsupportedInstanceTypeError(complaint(where, "image", *objection))
        return _image_in(kind.images[self.system.value].format(architecture=types[0].architecture))

    def _objection(self, types: Sequence[AcceleratedType], kind: AcceleratorKind) -> tuple[str, str, str] | None:
        """Rule, value and cure if the image does not carry what these types need."""
        own = "pass image=FleetImage.from_ssm_parameter(...) or FleetImage.from_machine_image(...)"
        if not kind.images:
            rule = f"be given for accelerators of kind {kind.name!r}"
            return rule, self.description, f"AWS publishes no image with their driver and tools: {own}"
        if self.system.value not in kind.images:
            rule = f"be one of the systems that AWS makes it for with kind {kind.name!r}: {', '.join(kind.images)}"
            return rule, self.description, "choose another OperatingSystem, or an image of your own"
        if types[0].driver == "proprietary":
            rule = "be one with the proprietary driver for GPUs older than the Turing generation"
            return rule, self.description, f"{own}: the open driver of this image does not run on them"
        dropped = sorted({each.name for each in types if each.family in kind.image_lacks})
        if dropped:
            rule = f"be one whose driver still supports {', '.join(dropped)}"
            return rule, self.description, f"{own} with an older driver"
        return None


@dataclass(frozen=True)
class _Parameter(FleetImage):
    name: str
    device: str

    @property
    def description(self) -> str:
        return f"image id in SSM parameter {self.name}, read at each deploy"

    @property
    def root_device(self) -> str:
        return self.device

    def machine_image(self, where: str, types: Sequence[AcceleratedType], kind: AcceleratorKind) -> ec2.IMachineImage:
        return _image_in(self.name)


@dataclass(frozen=True)
class _Given(FleetImage):
    image: ec2.IMachineImage
    device: str

    @property
    def description(self) -> str:
        return "machine image given by the user"

    @property
    def root_device(self) -> str:
        return self.device

    def machine_image(self, where: str, types: Sequence[AcceleratedType], kind: AcceleratorKind) -> ec2.IMachineImage:
        return self.image


def _image_in(parameter: str) -> ec2.IMachineImage:
    return ec2.MachineImage.from_ssm_parameter(parameter, os=ec2.OperatingSystemType.LINUX)


def _device(given: str | None) -> str:
    device = _AMAZON_LINUX_ROOT if given is None else given
    text("FleetImage", "root_device", device, cure="give a device name such as /dev/xvda")
    if not device.startswith("/dev/"):
        cure = "give for example /dev/xvda (Amazon Linux) or /dev/sda1 (Ubuntu)"
        raise ArgumentError(complaint("FleetImage", "root_device", "be a device name", device, cure))
    return device
