"""An Auto Scaling group as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


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
