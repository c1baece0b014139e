"""Why launches came to nothing, and how it is told. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from runtime.group import LAUNCH

_INSTANCE_TYPE = re.compile(r"\b[a-z][a-z0-9-]*[0-9][a-z0-9-]*\.(?:[0-9]*x?large|metal(?:-[0-9a-z]+)?|medium|small)\b")
_LONGEST_QUOTE = 600
_SUBJECT_CHARACTERS = 100


class FailureCause(str, Enum):
    """Why a launch came to nothing."""

    QUOTA = "quota"
    NO_CAPACITY = "no capacity"
    UNSUPPORTED = "unsupported in this zone"
    BAD_IMAGE = "bad image"
    KEY_WITHOUT_GRANT = "key without grant"
    NEVER_READY = "never ready"
    OTHER = "other"


# The first that is found decides; a quota's message speaks of capacity as well.
_CAUSES = (
    (FailureCause.KEY_WITHOUT_GRANT, r"Client\.InternalError|KMS|CustomerMasterKey|encrypt"),
    (FailureCause.BAD_IMAGE, r"InvalidAMIID|\bAMI\b|\bami-[0-9a-f]+|image id|architecture|boot mode"),
    (
        FailureCause.QUOTA,
        r"VcpuLimitExceeded|MaxSpotInstanceCountExceeded|InstanceLimitExceeded|vCPU limit|vCPU capacity than"
        r"|Max spot instance count|instance limit|instance\(s\) are already running|quota",
    ),
    (
        FailureCause.UNSUPPORTED,
        r"not supported in your requested Availability Zone|Unsupported|currently not supported",
    ),
    (
        FailureCause.NO_CAPACITY,
        r"InsufficientInstanceCapacity|InsufficientCapacity|UnfulfillableCapacity|sufficient .*capacity"
        r"|no Spot capacity|not active yet",
    ),
    (FailureCause.NEVER_READY, r"complete user's Lifecycle Action|Heartbeat Timeout"),
)

_CURES = {
    FailureCause.QUOTA: "Ask for a higher EC2 quota for these instance types (Service Quotas, in this Region; Spot and "
    "On-Demand have quotas of their own), or lower the fleet's maximum.",
    FailureCause.NO_CAPACITY: "AWS has no such instances at this time. Allow more instance types or zones, another "
    "way to buy, or reserve capacity.",
    FailureCause.UNSUPPORTED: "Leave out the zones in which AWS does not offer these instance types, or choose others.",
    FailureCause.BAD_IMAGE: "Choose an image that exists in this Region, may be used by this account, and is made for "
    "the architecture of these instance types.",
    FailureCause.KEY_WITHOUT_GRANT: "Let Auto Scaling's service-linked role use the key that encrypts the volumes: "
    "kms:CreateGrant and the use of the key, in the key's policy.",
    FailureCause.NEVER_READY: "Look at what an instance does when it boots (its console output and system log): it "
    "did not pass its health checks, its driver or the agent that reports for it did not start, or its boot was not "
    "over within the time that a launch hook allows (WarmPool: prepare_within).",
    FailureCause.OTHER: "See what AWS said, and the activity history of the group.",
}


@dataclass(frozen=True, kw_only=True)
class FailedLaunch:
    """A launch that came to nothing, and why. `instance_id` is None when it gave no instance."""

    cause: FailureCause
    message: str
    instance_id: str | None
    zone: str | None
    at: datetime


@dataclass(frozen=True, kw_only=True)
class LaunchTrouble:
    """As many launches in a row as the policy allows, or more, have come to nothing: newest first."""

    failures: tuple[FailedLaunch, ...]
    present_types: tuple[str, ...] = ()
    """The types of the instances that were launched and are still there."""

    @property
    def causes(self) -> tuple[FailureCause, ...]:
        """The causes, the newest first."""
        return tuple(dict.fromkeys(failure.cause for failure in self.failures))

    @property
    def instance_types(self) -> tuple[str, ...]:
        """The types of those that are there and of those that AWS's messages name."""
        named = {found for each in self.failures for found in _INSTANCE_TYPE.findall(each.message)}
        return tuple(sorted({*named, *self.present_types}))

    @property
    def zones(self) -> tuple[str, ...]:
        """The zones in which it was tried."""
        return tuple(sorted({failure.zone for failure in self.failures if failure.zone is not None}))


@dataclass(frozen=True, kw_only=True)
class Message:
    """What the fleet's owner is told."""

    subject: str
    text: str


def classify_failure(message: str) -> FailureCause:
    """Return the cause that AWS's message names."""
    matching = (cause for cause, pattern in _CAUSES if re.search(pattern, message, re.IGNORECASE))
    return next(matching, FailureCause.OTHER)


def stopped_message(group_name: str, trouble: LaunchTrouble) -> Message:
    """Return what is told when launching has been stopped."""
    newest = trouble.failures[0]
    lines = [
        f"{len(trouble.failures)} launches in a row of the Auto Scaling group {group_name} came to nothing. "
        "Its process Launch is suspended, so that no more are tried.",
        "",
        f"Cause: {', '.join(cause.value for cause in trouble.causes)}.",
        f"AWS said: {newest.message[:_LONGEST_QUOTE]}",
        f"Instance types: {', '.join(trouble.instance_types) or 'not named'}.",
        f"Zones: {', '.join(trouble.zones) or 'not named'}.",
        "",
        *(f"What to do ({cause.value}): {_CURES[cause]}" for cause in trouble.causes),
        f"Then: {_resume(group_name)}",
        "From then on launches are counted anew. What runs was not touched.",
    ]
    return Message(
        subject=_subject(f"Launching stopped ({trouble.causes[0].value})", group_name), text="\n".join(lines)
    )


def suspended_by_aws_message(group_name: str, reason: str) -> Message:
    """Return what is told when AWS itself has stopped launching."""
    lines = [
        f"The process Launch of the Auto Scaling group {group_name} is suspended, and not by a user. "
        "AWS suspends groups that have failed to launch anything for more than a day.",
        "",
        f"AWS said: {reason[:_LONGEST_QUOTE]}",
        "",
        "The activity history of the group says why the launches failed. When that is cured:",
        _resume(group_name),
    ]
    return Message(subject=_subject("AWS suspended launching", group_name), text="\n".join(lines))


def _resume(group_name: str) -> str:
    return f"aws autoscaling resume-processes --auto-scaling-group-name '{group_name}' --scaling-processes {LAUNCH}"


def _subject(what: str, group_name: str) -> str:
    # SNS takes a line of ASCII.
    text = f"{what}: {group_name}".encode("ascii", "replace").decode()
    return text[:_SUBJECT_CHARACTERS]
