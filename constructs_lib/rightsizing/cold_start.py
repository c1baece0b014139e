"""How long a new instance takes until it serves, from the moment that it is asked for.

A sum of medians, so an estimate: capacity that is short, a driver that is installed at boot or an image that is larger
takes longer, and none of it is in here.
"""

from __future__ import annotations

from constructs_lib.rightsizing.memory import MIB, replica_memory
from constructs_lib.rightsizing.start_stages import start_stages
from constructs_lib.rightsizing.workload import Workload

IMAGE_GB = 10.78
"""The container image whose pull was measured, one with a server of models."""


def cold_start_seconds(workload: Workload) -> float | None:
    """Estimate for an image with the driver on it, a container image of 11 GB, and the weights fetched once.

    None for work without a model or a stated memory: what it loads is not known.
    """
    memory = replica_memory(workload, 1)
    if memory is None:
        return None
    gigabytes = (memory.weights + memory.stated) * MIB / 1e9
    stage = start_stages()
    once = stage["boot"].median + stage["image"].median * IMAGE_GB + stage["server"].median
    return once + stage["weights"].median * gigabytes
