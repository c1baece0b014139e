"""Whether the image exists and fits the types and the volumes of its launch template."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from constructs_lib.preflight.account import Account, Refused, filters, ssm_value
from constructs_lib.preflight.machines import Machine, known_machines
from constructs_lib.preflight.plan import Group, Launch
from constructs_lib.preflight.report import Finding
from constructs_lib.template.markers import SsmParameter, Unknown
from constructs_lib.template.plain_values import items, mapping, whole, yes

_ASKED = "image"
# Words in names of AWS's images and of their parameters, by the accelerators that the image is for.
_VARIANTS = {"neuron": "neuron", "nvidia": "nvidia"}


def check(account: Account, group: Group, now: datetime) -> list[Finding]:
    """Findings about the images of a group."""
    findings = []
    for launch in group.launches:
        if launch.data:
            findings += _of_launch(account, group, launch, now)
    return findings


def _of_launch(account: Account, group: Group, launch: Launch, now: datetime) -> list[Finding]:
    image, source = launch.image, ""
    if image is None:
        return [_finding(group, "error", "the launch template names no image", "set ImageId")]
    if isinstance(image, SsmParameter):
        source = image.name
        try:
            image = ssm_value(account, image.name)
        except Refused as refused:
            return [refused.finding(group.logical_id, _ASKED)]
        if image is None:
            message = f"SSM parameter {source} does not exist in {account.region}"
            cure = "correct the name, or choose an image that AWS publishes in this Region"
            command = f"aws ssm get-parameter --region {account.region} --name {source}"
            return [_finding(group, "error", message, cure, command)]
    if not isinstance(image, str):
        problem = image if isinstance(image, Unknown) else Unknown("it is made by the deploy", "look at it afterwards")
        return [_finding(group, "unknown", f"the image cannot be known: {problem.reason}", problem.cure)]
    if not image.startswith("ami-"):
        holds = f"SSM parameter {source} holds" if source else "ImageId is"
        return [_finding(group, "error", f"{holds} {image!r}, which is no image id", "put an id of an image there")]
    return _of_image(account, group, launch, image, source, now)


def architecture_of(account: Account, launch: Launch) -> str | None:
    """Architecture of a launch template's image; None: not known."""
    image = launch.image
    try:
        id = ssm_value(account, image.name) if isinstance(image, SsmParameter) else image
        found = _described(account, id) if isinstance(id, str) and id.startswith("ami-") else None
    except Refused:
        return None
    architecture = (found or {}).get("Architecture")
    return architecture if isinstance(architecture, str) else None


def _described(account: Account, id: str) -> dict[str, Any] | None:
    # By filter: an unknown id among ImageIds is an error of its own, which does not tell whether others exist.
    answer = account.ask("ec2", "describe_images", "Images", Filters=filters(image_id=id), IncludeDeprecated=True)
    return mapping(answer[0]) if answer else None


def _of_image(account: Account, group: Group, launch: Launch, id: str, source: str, now: datetime) -> list[Finding]:
    try:
        image = _described(account, id)
    except Refused as refused:
        return [refused.finding(group.logical_id, _ASKED)]
    shown = f"{id} ({source})" if source else id
    if image is None:
        message = f"image {shown} does not exist in {account.region}, or is not shared with this account"
        cure = "image ids are of one Region: name one of this Region, or have it shared"
        command = f"aws ec2 describe-images --region {account.region} --image-ids {id}"
        return [_finding(group, "error", message, cure, command)]
    facts = known_machines(account, [name for name, _ in launch.types])
    problems = [
        *_usable(image, now),
        *_fits(image, facts.values()),
        *_variant(image, source, facts.values()),
        *_volumes(image, launch),
    ]
    if problems:
        return [_finding(group, severity, f"image {shown} {what}", cure) for severity, what, cure in problems]
    what = f"{image.get('Architecture')}, root device {image.get('RootDeviceName')}"
    if launch.types and not facts:
        message = (
            f"image {shown} exists ({what}); whether it fits is not known, since facts about the types are missing"
        )
        return [_finding(group, "unknown", message, "allow ec2:DescribeInstanceTypes")]
    return [_finding(group, "ok", f"image {shown} exists and fits: {what}")]


def _usable(image: Mapping[str, Any], now: datetime) -> list[tuple[str, str, str]]:
    found = []
    if image.get("State", "available") != "available":
        found.append(("error", f"is {image['State']}", "name one that is available"))
    if image.get("ImageAllowed") is False:
        cure = "change the account's Allowed AMIs settings, or name another image"
        found.append(("error", "is not among the images that the account's settings allow", cure))
    deprecated = image.get("DeprecationTime")
    if isinstance(deprecated, str) and deprecated[:10] <= f"{now.astimezone(timezone.utc):%Y-%m-%d}":
        found.append(("warning", f"is deprecated since {deprecated[:10]}", "name a newer one"))
    if str(image.get("Platform", "")).lower() == "windows":
        found.append(("warning", "is a Windows image, and boot script and agent are for Linux", "name a Linux image"))
    return found


def _fits(image: Mapping[str, Any], machines: Iterable[Machine]) -> list[tuple[str, str, str]]:
    found = []
    architecture, boot = image.get("Architecture"), image.get("BootMode")
    for machine in machines:
        if machine.architectures and architecture is not None and architecture not in machine.architectures:
            cure = f"name an image for {' or '.join(machine.architectures)}, or another type"
            found.append(("error", f"is for {architecture}, {machine.name} is {machine.architectures[0]}", cure))
        modes = machine.boot_modes
        if modes and boot in ("uefi", "legacy-bios") and boot not in modes:
            cure = "name another image or type"
            found.append(("error", f"boots by {boot}, {machine.name} by {' or '.join(modes)}", cure))
    return found


def _variant(image: Mapping[str, Any], source: str, machines: Iterable[Machine]) -> list[tuple[str, str, str]]:
    """An image whose name says that it carries another accelerator's software."""
    name = f"{source} {image.get('Name', '')}".lower()
    said = {kind for kind, word in _VARIANTS.items() if word in name}
    for machine in machines:
        kinds = set(machine.kinds) & set(_VARIANTS)
        if len(said) == 1 and kinds and not said & kinds:
            (other,) = said
            cure = f"name an image with the software for {' and '.join(sorted(kinds))}"
            return [("warning", f"is by its name for {other}, {machine.name} has {' and '.join(sorted(kinds))}", cure)]
    return []


def _volumes(image: Mapping[str, Any], launch: Launch) -> list[tuple[str, str, str]]:
    found = []
    root = image.get("RootDeviceName")
    if image.get("RootDeviceType") == "instance-store":
        found.append(("error", "has an instance-store root, which accelerated types do not start", "name one with EBS"))
    mapped = [each for each in launch.volumes if each.get("Ebs") is not None and each.get("NoDevice") is None]
    devices = [each.get("DeviceName") for each in mapped]
    of_image = {
        str(mapping(each).get("DeviceName")): mapping(mapping(each).get("Ebs"))
        for each in items(image.get("BlockDeviceMappings"))
    }
    if devices and root is not None and root not in devices and len(devices) == 1 and devices[0] not in of_image:
        cure = f"map {root} in the launch template"
        what = f"has its root on {root}, the launch template maps {devices[0]}: a second, empty volume is made"
        found.append(("warning", f"{what} and the root keeps the image's size and encryption", cure))
    for each in mapped:
        ebs = mapping(each.get("Ebs"))
        size = whole(ebs.get("VolumeSize"))
        least = whole(of_image.get(str(each.get("DeviceName")), {}).get("VolumeSize"))
        if size is not None and least is not None and size < least:
            cure = f"make the volume {least} GiB at least"
            found.append(("error", f"needs {least} GiB on {each.get('DeviceName')}, the template gives {size}", cure))
    return found


def keys_of(launches: Sequence[Launch]) -> list[str]:
    """Keys named literally for the encryption of volumes."""
    found = []
    for launch in launches:
        for volume in launch.volumes:
            ebs = mapping(volume.get("Ebs"))
            key = ebs.get("KmsKeyId")
            if isinstance(key, str) and (ebs.get("Encrypted") is None or yes(ebs.get("Encrypted"))):
                found.append(key)
    return list(dict.fromkeys(found))


def _finding(group: Group, severity: str, message: str, cure: str = "", *commands: str) -> Finding:
    return Finding(
        severity=severity, resource=group.logical_id, asked=_ASKED, message=message, cure=cure, commands=commands
    )
