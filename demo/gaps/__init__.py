"""What the demo adds to the emulator. ``demo/GAPS.md`` lists every addition and everything that is still missing.

The additions follow one rule: they may be smaller than AWS, never kinder. A parameter, property or filter that
is not modelled is refused by name instead of ignored.
"""

from __future__ import annotations

from demo.gaps import autoscaling, ec2, metrics, parameters, schedules, stack_roles, stacks

__all__ = ["apply"]


def apply() -> None:
    """Fill the gaps of the emulator in this process. Call it once, before the first request."""
    ec2.apply()
    autoscaling.apply()
    stacks.apply()
    stack_roles.apply()
    metrics.apply()
    parameters.apply()
    schedules.apply()
