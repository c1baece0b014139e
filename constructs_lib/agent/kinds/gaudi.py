"""Intel Gaudi, read with ``hl-smi``.

- Figures: Gaudi documentation, "System Management Interface Tool (hl-smi)", query options (2026).
- Idle: 0 percent, reported like any other figure.
- Unknown: nothing by design.
- Faults: lines of the kernel log from the driver ``habanalabs``.
- Images: AWS publishes no parameter that is known to name an image with this tool (September 2026).
"""

from __future__ import annotations

from constructs_lib.agent.kinds.description import AcceleratorKind
from constructs_lib.agent.kinds.node_figures import MEMORY_USED, POWER, TEMPERATURE, UTILIZATION

KIND = AcceleratorKind(
    name="gaudi",
    title="Intel Gaudi",
    use=UTILIZATION.name,
    memory=MEMORY_USED.name,
    power=POWER.name,
    measurements=(UTILIZATION, MEMORY_USED, POWER, TEMPERATURE),
    driver_probe="hl-smi -L",
)
