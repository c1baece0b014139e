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

from constructs_lib.agent.kinds.description import AcceleratorKind
from constructs_lib.agent.kinds.node_figures import MEMORY_USED, UTILIZATION

KIND = AcceleratorKind(
    name="neuron",
    title="AWS Neuron device",
    use=UTILIZATION.name,
    memory=MEMORY_USED.name,
    measurements=(UTILIZATION, MEMORY_USED),
    # The devices exist once the driver has found them; `neuron-ls` fails where there is none.
    driver_probe="/opt/aws/neuron/bin/neuron-ls",
    images={
        system: f"/aws/service/neuron/dlami/base/{system}/latest/image_id"
        for system in ("amazon-linux-2023", "ubuntu-24.04")
    },
    image_lacks=frozenset({"inf1"}),
)
