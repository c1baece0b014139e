"""What a group wants and has no machine for, at one moment. Pure."""

from __future__ import annotations

from runtime.group import Group


def missing_capacity(group: Group | None) -> int:
    """Return how much of its desired capacity a group neither has in service nor on its way into it.

    None is missing of a group that is gone or going, paused (its maximum is 0), or whose launches are suspended: nobody
    wants it to grow.
    """
    if group is None or why_it_wants_nothing(group) is not None:
        return 0
    return max(0, group.desired_capacity - group.active_capacity)


def why_it_wants_nothing(group: Group) -> str | None:
    """Return why a group wants no capacity, whatever its sizes say, or None."""
    if group.being_deleted:
        return "is being deleted"
    if group.max_size == 0:
        return "is paused: its maximum is 0"
    if group.launches_suspended:
        return "has its launches suspended"
    return None
