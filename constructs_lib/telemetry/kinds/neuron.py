"""AWS Trainium and Inferentia, read with ``neuron-monitor``.

- Figures: Neuron documentation, "Neuron Monitor User Guide" (release 2.32, August 2026). The busiest core of a device
  stands for the device.
- Idle: the tool lists no runtime and no core at all. That is its documented way of saying 0 percent, and the node
  program publishes 0 for each device of the hardware information; without hardware information nothing is known.
- Unknown: power and temperature, which the tool does not report.
- Faults: lines of the kernel log with ``NEURON_HW_ERR=`` (EKS node monitoring agent, August 2026).
- Images: Neuron documentation, "Neuron DLAMI" (release 2.32). The driver on them has dropped Inferentia of the first
  generation (release notes of driver 2.25).
"""

from __future__ import annotations

from constructs_lib.node.names import MEASUREMENT_PREFIX, MEMORY_USED, UTILIZATION
from constructs_lib.telemetry.kinds.description import AcceleratorKind, Measurement

KIND = AcceleratorKind(
    name="neuron",
    title="AWS Neuron device",
    metric_prefix=MEASUREMENT_PREFIX,
    use=UTILIZATION,
    memory=MEMORY_USED,
    measurements=(
        Measurement(UTILIZATION, "%", maximum=100, standard=True),
        Measurement(MEMORY_USED, "MiB", standard=True),
    ),
    # The devices exist once the driver has found them; `neuron-ls` fails where there is none.
    driver_probe="/opt/aws/neuron/bin/neuron-ls",
    images={
        system: f"/aws/service/neuron/dlami/base/{system}/latest/image_id"
        for system in ("amazon-linux-2023", "ubuntu-24.04")
    },
    image_lacks=frozenset({"inf1"}),
)
