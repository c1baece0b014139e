"""Xilinx FPGAs, read with ``fpga-describe-local-image``.

- Figures: aws-fpga repository, branch f2, SDK documentation (January 2025). There is no percentage: transfers over the
  bus and to the card's memory, since the reading before, stand for use.
- Idle: no transfer at all between two readings.
- Unknown: how busy the logic is. Work that moves nothing that is counted looks idle: let it hold a busy mark.
- Faults: the tool's own status of a slot, and lines of the kernel log from the driver.
- Images: the tool comes with the SDK, and AWS publishes no parameter that is known to name an image with it (September
  2026).
"""

from __future__ import annotations

from constructs_lib.agent.kinds.description import AcceleratorKind
from constructs_lib.agent.kinds.node_figures import POWER, TRANSFERS

KIND = AcceleratorKind(
    name="fpga",
    title="FPGA",
    use=TRANSFERS.name,
    power=POWER.name,
    idle_below=1.0,
    measurements=(TRANSFERS, POWER),
    driver_probe="fpga-describe-local-image-slots",
)
