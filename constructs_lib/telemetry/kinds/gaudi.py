"""Intel Gaudi, read with ``hl-smi``.

- Figures: Gaudi documentation, "System Management Interface Tool (hl-smi)", query options (2026).
- Idle: 0 percent, reported like any other figure.
- Unknown: nothing by design.
- Faults: lines of the kernel log from the driver ``habanalabs``.
- Images: AWS publishes no parameter that is known to name an image with this tool (September 2026).
"""

from __future__ import annotations

from constructs_lib.node.names import MEASUREMENT_PREFIX, MEMORY_USED, POWER, TEMPERATURE, UTILIZATION
from constructs_lib.telemetry.kinds.description import AcceleratorKind, Measurement

KIND = AcceleratorKind(
    name="gaudi",
    title="Intel Gaudi",
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
    driver_probe="hl-smi -L",
)
