"""AMD Radeon Pro GPUs, read from the kernel driver's files.

- Figures: Linux kernel documentation, "Driver Core: AMDGPU", sections on sysfs and hwmon.
- Idle: 0 percent, reported like any other figure.
- Unknown: nothing by design.
- Faults: lines of the kernel log from the driver ``amdgpu``.
- Images: AWS publishes no parameter that is known to name an image with this driver (September 2026).
"""

from __future__ import annotations

from constructs_lib.agent.kinds.description import AcceleratorKind
from constructs_lib.agent.kinds.node_figures import MEMORY_USED, POWER, TEMPERATURE, UTILIZATION

KIND = AcceleratorKind(
    name="amd",
    title="AMD GPU",
    use=UTILIZATION.name,
    memory=MEMORY_USED.name,
    power=POWER.name,
    measurements=(UTILIZATION, MEMORY_USED, POWER, TEMPERATURE),
    driver_probe="cat /sys/class/drm/card*/device/gpu_busy_percent",
)
