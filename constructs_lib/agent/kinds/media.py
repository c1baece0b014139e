"""Alveo U30 media accelerators, read with ``xrmadm``.

- Figures: Xilinx Video SDK documentation, "XRM Command Line" (release 3.0). The busiest unit of a device stands for the
  device. A card shows as two devices.
- Idle: no load on any unit, which is 0 percent.
- Unknown: memory, power and temperature, which the tool does not report on VT1.
- Faults: lines of the kernel log from the driver ``xocl``.
- Images: AWS publishes no parameter that is known to name an image with this tool (September 2026).
"""

from __future__ import annotations

from constructs_lib.agent.kinds.description import AcceleratorKind
from constructs_lib.agent.kinds.node_figures import UTILIZATION

KIND = AcceleratorKind(
    name="media",
    title="Alveo U30 media accelerator",
    use=UTILIZATION.name,
    measurements=(UTILIZATION,),
    driver_probe="/opt/xilinx/xrt/bin/xbutil examine",
    devices_per_accelerator=2,
)
