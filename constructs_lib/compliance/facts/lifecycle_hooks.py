"""Lifecycle hooks of Auto Scaling groups: whether an instance that is to end is held until its work has ended.

Source: "Amazon EC2 Auto Scaling lifecycle hooks", Amazon EC2 Auto Scaling User Guide, read 2026-11.
"""

from __future__ import annotations

from constructs_lib.compliance.deployment import Resource
from constructs_lib.compliance.values import any_of

HOOK = "AWS::AutoScaling::LifecycleHook"
TERMINATING = "autoscaling:EC2_INSTANCE_TERMINATING"


def holds_what_ends(group: Resource) -> bool:
    """Whether a group has a hook for instances that end.

    Raises:
        NotKnown: none is seen, and one of which nobody can tell may be.
    """
    hooks = group.properties.each("LifecycleHookSpecificationList")
    hooks += [each.properties for each in group.users(HOOK)]
    return any_of(lambda each: each.text("LifecycleTransition") == TERMINATING, hooks)
