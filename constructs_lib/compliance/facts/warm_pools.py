"""Warm pools of Auto Scaling groups."""

from __future__ import annotations

from collections.abc import Mapping

from constructs_lib.compliance.deployment import Deployment, Resource
from constructs_lib.compliance.values import NotKnown

WARM_POOL = "AWS::AutoScaling::WarmPool"


def warm_pool_of(group: Resource) -> Resource | None:
    """The warm pool of a group, as far as the templates tell. None: they have none."""
    return group.deployment.once(_by_group).get(group)


def _by_group(deployment: Deployment) -> Mapping[Resource, Resource]:
    found = {}
    for pool in deployment.resources(WARM_POOL):
        try:
            group = pool.properties.made("AutoScalingGroupName")
        except NotKnown:
            continue
        if group is not None:
            found[group] = pool
    return found
