"""Finding a fleet's group by its tag: the function exists before the group and cannot be told its name."""

from __future__ import annotations

from functools import partial

from fleet_cleanup.aws import AutoScalingClient, Filter
from runtime.group_reader import GroupDocument
from runtime.patience import Patience


def groups_with_tag(client: AutoScalingClient, key: str, value: str, patience: Patience) -> list[str]:
    """Return the names of all groups that carry the tag, sorted."""
    filters: list[Filter] = [{"Name": f"tag:{key}", "Values": [value]}]
    ask = partial(client.describe_auto_scaling_groups, Filters=filters)
    found: set[str] = set()
    token: str | None = None
    while True:
        more = {} if token is None else {"NextToken": token}
        page = patience.call("looking for the fleet's group", partial(ask, **more))
        found.update(each["AutoScalingGroupName"] for each in page["AutoScalingGroups"] if _carries(each, key, value))
        token = page.get("NextToken")
        if not token:
            return sorted(found)


def _carries(document: GroupDocument, key: str, value: str) -> bool:
    # Looked at once more: what is found will be emptied, and a filter that got lost would find every group.
    return any((tag["Key"], tag["Value"]) == (key, value) for tag in document.get("Tags", []))
