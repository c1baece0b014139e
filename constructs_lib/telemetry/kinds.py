"""How each kind of accelerator is measured. Supporting another kind means describing it here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from constructs_lib.catalog import AcceleratedType
from constructs_lib.errors import ArgumentError, UnsupportedInstanceTypeError
from constructs_lib.validation import complaint


@dataclass(frozen=True, eq=False)
class Measurement:
    """One figure that the agent can read from an accelerator.

    Attributes:
        name: as the agent's configuration spells it.
        standard: whether a fleet publishes it without being asked.
        whole_accelerators_only: a virtual slice of an accelerator answers "N/A" to this one.
        video_only: published without being asked only where the fleet's types are offered for video.
    """

    name: str
    standard: bool = False
    whole_accelerators_only: bool = False
    video_only: bool = False

    def readable_on(self, instance_type: AcceleratedType) -> bool:
        """Whether an instance of this type has a value for it."""
        return instance_type.fraction is None or not self.whole_accelerators_only

    def expected_on(self, instance_type: AcceleratedType) -> bool:
        """Whether a fleet of this type publishes it without being asked."""
        if not self.standard or not self.readable_on(instance_type):
            return False
        return instance_type.video_encoder or not self.video_only


@dataclass(frozen=True, eq=False)
class AcceleratorKind:
    """How one kind of accelerator is measured on an instance.

    Attributes:
        name: as in the catalog.
        title: for messages, alarms and dashboards.
        agent_section: key of the agent's configuration under which it is read.
        metric_prefix: what the agent puts before a measurement's name when it publishes.
        utilization: the measurement that says how busy the accelerator is, in percent.
        measurements: everything the agent accepts.
        driver_probe: command that lists the accelerators, and succeeds only once the driver answers.
    """

    name: str
    title: str
    agent_section: str
    metric_prefix: str
    utilization: str
    measurements: tuple[Measurement, ...]
    driver_probe: tuple[str, ...]

    @property
    def utilization_metric(self) -> str:
        """Name of the CloudWatch metric with the utilisation of each accelerator, in percent."""
        return self.metric_name(self.utilization)

    def metric_name(self, measurement: str) -> str:
        """Name of the CloudWatch metric that a measurement becomes."""
        return f"{self.metric_prefix}{measurement}"

    def standard_measurements(self, types: Sequence[AcceleratedType]) -> tuple[str, ...]:
        """What a fleet of these types publishes without being asked.

        A measurement that only some of the types have is left out: a figure for the group that part of its
        members never contribute to would be read as one for all of them.
        """
        return tuple(m.name for m in self.measurements if all(m.expected_on(each) for each in types))


NVIDIA = AcceleratorKind(
    name="nvidia",
    title="NVIDIA GPU",
    # The agent's schema also knows a section `nvidia_smi`, and its translator ignores it without a word.
    agent_section="nvidia_gpu",
    metric_prefix="nvidia_smi_",
    utilization="utilization_gpu",
    measurements=(
        Measurement("utilization_gpu", standard=True),
        Measurement("utilization_memory", standard=True),
        Measurement("memory_used", standard=True),
        Measurement("memory_total", standard=True),
        Measurement("power_draw", standard=True, whole_accelerators_only=True),
        Measurement("temperature_gpu", standard=True, whole_accelerators_only=True),
        Measurement("encoder_stats_session_count", standard=True, video_only=True),
        Measurement("encoder_stats_average_fps"),
        Measurement("encoder_stats_average_latency"),
        Measurement("memory_free"),
        Measurement("fan_speed", whole_accelerators_only=True),
        Measurement("pcie_link_gen_current", whole_accelerators_only=True),
        Measurement("pcie_link_width_current", whole_accelerators_only=True),
        Measurement("clocks_current_graphics"),
        Measurement("clocks_current_sm"),
        Measurement("clocks_current_memory"),
        Measurement("clocks_current_video"),
    ),
    # Listing, not `--version`: the tool is on every image, also where there is no GPU (field case 76).
    # By its full path, because the agent looks nowhere else when it starts, and does not start without it.
    driver_probe=("/usr/bin/nvidia-smi", "-L"),
)

_KINDS = {kind.name: kind for kind in (NVIDIA,)}


def kind_of(
    types: Sequence[AcceleratedType], *, where: str = "telemetry", parameter: str = "instance_types"
) -> AcceleratorKind:
    """Return the one kind of accelerator that all these types have.

    Args:
        types: at least one.
        where: construct path, for messages. Default: ``telemetry``.
        parameter: whose value the types are, for messages. Default: ``instance_types``.

    Raises:
        ArgumentError: there is no type.
        UnsupportedInstanceTypeError: the types are of several kinds, or of one that cannot be measured yet.
    """
    if not types:
        cure = "give for example ['g6.xlarge']"
        raise ArgumentError(complaint(where, parameter, "name at least one instance type", list(types), cure))
    kinds = sorted({each.kind for each in types})
    named = [f"{each.name} ({each.kind})" for each in types]
    if len(kinds) > 1:
        rule = "be of one kind of accelerator"
        raise UnsupportedInstanceTypeError(complaint(where, parameter, rule, named, "make one fleet for each kind"))
    if kinds[0] not in _KINDS:
        rule = f"have accelerators of a kind that this version can measure ({', '.join(_KINDS)})"
        cure = f"kind {kinds[0]!r} is known but not supported yet: choose NVIDIA types, for example 'g6.xlarge'"
        raise UnsupportedInstanceTypeError(complaint(where, parameter, rule, named, cure))
    return _KINDS[kinds[0]]
