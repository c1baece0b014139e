"""AMD Radeon Pro GPUs, read from the kernel driver's files.

- Figures: Linux kernel documentation, "Driver Core: AMDGPU", sections on sysfs and hwmon.
- Idle: 0 percent, reported like any other figure.
- Unknown: nothing by design.
- Faults: lines of the kernel log from the driver ``amdgpu``.
- Images: AWS publishes no parameter that is known to name an image with this driver (September 2026).
"""

from __future__ import annotations

from constructs_lib.node.names import MEASUREMENT_PREFIX, MEMORY_USED, POWER, TEMPERATURE, UTILIZATION
from constructs_lib.telemetry.kinds.description import AcceleratorKind, Measurement

KIND = AcceleratorKind(
    name="amd",
    title="AMD GPU",
    metric_prefix=MEASUREMENT_PREFIX,
    use=UTILIZATION,
    memory=MEMORY_USED,
    power=POWER,
    measurements=(
        Measurement(UTILIZATION, "%", maximum=100, standard=True),
        Measurement(MEMORY_USED, "MiB", standard=True),
        Measurement(POWER, "W", maximum=5000, standard=True),
        Measurement(TEMPERATURE, "°C", minimum=-50, maximum=200, standard=True),
    ),
    driver_probe="cat /sys/class/drm/card*/device/gpu_busy_percent",
)
