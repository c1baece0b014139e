"""Qualcomm AI 100, read with ``qaic-util -q``.

- Figures: Qualcomm Cloud AI documentation, "qaic-util". The share of a card's processors that a workload has been
  given stands for its use: the tool has no percentage of time.
- Idle: no processor is given away, which is 0 percent.
- Unknown: how busy a processor is that has been given to a workload.
- Faults: lines of the kernel log from the driver ``qaic``.
- Images: AWS publishes no parameter that is known to name an image with this tool (September 2026).
"""

from __future__ import annotations

from constructs_lib.agent.kinds.description import AcceleratorKind
from constructs_lib.agent.kinds.node_figures import MEMORY_USED, POWER, TEMPERATURE, UTILIZATION

KIND = AcceleratorKind(
    name="qualcomm",
    title="Qualcomm AI 100",
    use=UTILIZATION.name,
    memory=MEMORY_USED.name,
    power=POWER.name,
    measurements=(UTILIZATION, MEMORY_USED, POWER, TEMPERATURE),
    driver_probe="/opt/qti-aic/tools/qaic-util -q",
)
