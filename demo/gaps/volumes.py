"""EBS volumes of launched instances: made from the launch template's mappings, deleted when it says so."""

from __future__ import annotations

from typing import Any

from ministack.services import ec2


def attach(instance: dict[str, Any], mappings: list[dict[str, Any]], tags: list[dict[str, str]]) -> None:
    """Replace the emulator's own root volume by what the launch template maps; keep it when nothing is mapped."""
    (root,) = instance["BlockDeviceMappings"]
    pattern = ec2._volumes[root["Ebs"]["VolumeId"]]
    ebs_mappings = [mapping for mapping in mappings if "Ebs" in mapping]
    if ebs_mappings:
        del ec2._volumes[pattern["VolumeId"]]
        instance["BlockDeviceMappings"] = [_create(instance, mapping, pattern) for mapping in ebs_mappings]
        instance["RootDeviceName"] = ebs_mappings[0]["DeviceName"]
    for mapping in instance["BlockDeviceMappings"]:
        ec2._tags[mapping["Ebs"]["VolumeId"]] = list(tags)


def release(instance_id: str) -> None:
    """Delete the volumes of a terminated instance that are deleted with it; leave the others, detached."""
    for volume in list(ec2._volumes.values()):
        for attachment in [a for a in volume["Attachments"] if a["InstanceId"] == instance_id]:
            if attachment["DeleteOnTermination"]:
                del ec2._volumes[volume["VolumeId"]]
                ec2._tags.pop(volume["VolumeId"], None)
            else:
                volume["Attachments"].remove(attachment)
                volume["State"] = "available"


def _create(instance: dict[str, Any], mapping: dict[str, Any], pattern: dict[str, Any]) -> dict[str, Any]:
    wanted = mapping["Ebs"]
    volume_id = ec2._new_volume_id()
    kept = wanted.get("DeleteOnTermination", True)
    (attachment,) = pattern["Attachments"]
    ec2._volumes[volume_id] = {
        **pattern,
        "VolumeId": volume_id,
        "AvailabilityZone": instance["Placement"]["AvailabilityZone"],
        "Size": int(wanted.get("VolumeSize", pattern["Size"])),
        "VolumeType": wanted.get("VolumeType", pattern["VolumeType"]),
        "Encrypted": bool(wanted.get("Encrypted", False)),
        "Attachments": [
            {
                **attachment,
                "VolumeId": volume_id,
                "Device": mapping["DeviceName"],
                "DeleteOnTermination": kept,
            }
        ],
    }
    return {
        "DeviceName": mapping["DeviceName"],
        "Ebs": {
            "VolumeId": volume_id,
            "Status": "attached",
            "AttachTime": attachment["AttachTime"],
            "DeleteOnTermination": kept,
        },
    }
