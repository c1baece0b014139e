"""The sizes of a group, as far as they are known before a deploy."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import aws_autoscaling as autoscaling


def sizes_in_template(group: autoscaling.IAutoScalingGroup) -> Mapping[str, str]:
    """Return the sizes that a deploy gives the group, as the handler is told them; nothing for one from elsewhere."""
    resource = group.node.default_child
    if not isinstance(resource, autoscaling.CfnAutoScalingGroup):
        return {}
    return {"TEMPLATE_MIN_SIZE": resource.min_size, "TEMPLATE_MAX_SIZE": resource.max_size}


def known_maximum(group: autoscaling.IAutoScalingGroup) -> int | None:
    """Return how many instances the group may have, or None if only a deploy or somebody else settles it."""
    most = sizes_in_template(group).get("TEMPLATE_MAX_SIZE", "")
    return int(most) if most.isdigit() else None
