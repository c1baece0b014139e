"""An Auto Scaling group as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

LAUNCH = "Launch"
"""The process of a group that launches instances, as AWS names it."""


@dataclass(frozen=True, kw_only=True)
class GroupMember:
    """An instance as its group sees it. `capacity` is its weight, 1 in a group without weights."""

    instance_id: str
    lifecycle_state: str
    protected_from_scale_in: bool
    capacity: int


@dataclass(frozen=True, kw_only=True)
class Group:
    """An Auto Scaling group at one moment. `deletion_protection` is AWS's word for it, and `created_at` is None where
    AWS does not tell."""

    name: str
    min_size: int
    max_size: int
    desired_capacity: int
    protects_new_instances: bool
    being_deleted: bool
    suspended_processes: tuple[str, ...]
    zones: tuple[str, ...]
    members: tuple[GroupMember, ...]
    deletion_protection: str = "none"
    has_warm_pool: bool = False
    created_at: datetime | None = None

    @property
    def active_capacity(self) -> int:
        """What counts toward the desired capacity: in service or on its way into it."""
        return sum(member.capacity for member in self.members if is_active(member.lifecycle_state))

    @property
    def launches_suspended(self) -> bool:
        """Whether nothing is launched, whatever the sizes say."""
        return LAUNCH in self.suspended_processes


def is_active(lifecycle_state: str) -> bool:
    """Return whether a member counts toward the desired capacity: in service or on its way into it."""
    return lifecycle_state == "InService" or is_coming(lifecycle_state)


def is_coming(lifecycle_state: str) -> bool:
    """Return whether a member is on its way into service."""
    # An instance whose root volume is replaced reboots and comes back; it never left the group.
    return lifecycle_state.startswith(("Pending", "ReplacingRootVolume")) or lifecycle_state == "RootVolumeReplaced"
