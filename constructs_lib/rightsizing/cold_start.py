"""How long a new instance takes until it serves, from the moment that it is asked for.

Sums of single published measurements, so an estimate: capacity that is short, a driver that is installed at boot or an
image that is larger takes longer, and none of it is in here.
"""

from __future__ import annotations

from constructs_lib.rightsizing.memory import MIB, replica_memory
from constructs_lib.rightsizing.workload import Workload

# From the call to launch it until one can log in: github.com/brevdev/ec2-coldboot-research, m7i.large, January 2026.
_BOOT_SECONDS = 26.0
# An image of 10.78 GB from a registry: github.com/aws-samples/karpenter-blueprints, soci-snapshotter, 2025.
_PULL_SECONDS = 112.0
# A model server with weights at hand, and what fetching the 16.06 GB of Llama 3.1 8B takes besides: SpareCores
# sc-inspector-data, vLLM 0.27.1 on g5.16xlarge, August 2026.
_SERVER_SECONDS = 66.0
_FETCH_SECONDS_PER_GB = (196.0 - 66.0) / 16.06


def cold_start_seconds(workload: Workload) -> float | None:
    """Estimate for an image with the driver on it, a container image of 11 GB, and the weights fetched once.

    None for work without a model or a stated memory: what it loads is not known.
    """
    memory = replica_memory(workload, 1)
    if memory is None:
        return None
    gigabytes = (memory.weights + memory.stated) * MIB / 1e9
    return _BOOT_SECONDS + _PULL_SECONDS + _SERVER_SECONDS + _FETCH_SECONDS_PER_GB * gigabytes
