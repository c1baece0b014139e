"""NVIDIA GPUs, read by the CloudWatch agent's own section for them.

- Figures: those of release 1.300071 of the agent (July 2026), ``translator/translate/metrics/config``. Units: "Collect
  NVIDIA GPU metrics", CloudWatch User Guide (2026). Ranges: percentages by nature; none is documented for the others.
- Idle: 0 percent, published like any other figure.
- Unknown: with MIG on, the driver answers "N/A" for the use of the whole GPU, and no figure is published; that is not
  idleness. A slice of a GPU has no power, temperature or link of its own (``nvidia-smi`` on g6f.large, driver 580).
- Faults: lines of the kernel log from ``NVRM``, with an Xid number.
- Images: "AWS Deep Learning Base AMI" release notes (September 2026). Their open driver needs the Turing generation or
  a later one, which the catalog says of each type.
"""

from __future__ import annotations

from constructs_lib.agent.kinds.description import AcceleratorKind, Measurement

_IMAGE = "/aws/service/deeplearning/ami/{{architecture}}/base-oss-nvidia-driver-gpu-{system}/latest/ami-id"

KIND = AcceleratorKind(
    name="nvidia",
    title="NVIDIA GPU",
    # The agent's schema also knows a section `nvidia_smi`, and its translator ignores it without a word.
    agent_section="nvidia_gpu",
    metric_prefix="nvidia_smi_",
    use="utilization_gpu",
    presence="memory_total",
    memory="memory_used",
    power="power_draw",
    measurements=(
        Measurement("utilization_gpu", "%", maximum=100, standard=True),
        Measurement("utilization_memory", "%", maximum=100, standard=True),
        Measurement("memory_used", "MiB", standard=True),
        Measurement("memory_total", "MiB", standard=True),
        Measurement("power_draw", "W", standard=True, whole_accelerators_only=True),
        Measurement("temperature_gpu", "°C", standard=True, whole_accelerators_only=True),
        Measurement("encoder_stats_session_count", "sessions", standard=True, video_only=True),
        Measurement("encoder_stats_average_fps", "frames/s"),
        Measurement("encoder_stats_average_latency", "µs"),
        Measurement("memory_free", "MiB"),
        Measurement("fan_speed", "%", maximum=100, whole_accelerators_only=True),
        Measurement("pcie_link_gen_current", "", whole_accelerators_only=True),
        Measurement("pcie_link_width_current", "lanes", whole_accelerators_only=True),
        Measurement("clocks_current_graphics", "MHz"),
        Measurement("clocks_current_sm", "MHz"),
        Measurement("clocks_current_memory", "MHz"),
        Measurement("clocks_current_video", "MHz"),
    ),
    # Listing, not `--version`: the tool is on every image, also where there is no GPU (field case 76).
    # By its full path, because the agent looks nowhere else when it starts, and does not start without it.
    driver_probe="/usr/bin/nvidia-smi -L",
    images={system: _IMAGE.format(system=system) for system in ("amazon-linux-2023", "ubuntu-22.04", "ubuntu-24.04")},
    machine_settings=frozenset({"application_clocks", "persistence_mode"}),
)
