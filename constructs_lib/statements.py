"""What a template says to those who check it, in the metadata of a resource or of the template itself.

::

    Metadata:
      accel-fleet:
        minimum: the model has to answer within a second, day and night
        types: the licence of the solver is for V100
        workload: inference
"""

from __future__ import annotations

KEY = "accel-fleet"
"""Of the metadata."""
SUPPRESS = "suppress"
"""Findings that somebody has answered, each with its reason."""
WORKLOAD = "workload"
"""What accelerators are for."""
MINIMUM = "minimum"
"""Why some capacity is always there."""
RUNNING = "running"
"""Why instances of a warm pool wait running."""
TYPES = "types"
"""Why instance types are of a previous generation."""
SPOT = "spot"
"""Why all Spot instances come from one pool."""
REASONS = (MINIMUM, RUNNING, TYPES, SPOT)
ALL = (SUPPRESS, WORKLOAD, *REASONS)
