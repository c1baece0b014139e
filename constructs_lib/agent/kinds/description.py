"""What a description of a kind of accelerator says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from constructs_lib.catalog import AcceleratedType
from constructs_lib.node.names import MEASUREMENT_PREFIX


@dataclass(frozen=True, eq=False)
class Measurement:
    """One figure that can be read from an accelerator.

    Attributes:
        name: as the agent's configuration, or the node program's settings, spell it.
        unit: for people and graphs; an empty text for a plain number.
        minimum: no sound reading is below it. Default: 0.
        maximum: no sound reading is above it. Default: none.
        standard: whether a fleet publishes it without being asked. Default: no.
        whole_accelerators_only: a virtual slice of an accelerator answers "N/A" to this one. Default: no.
        video_only: published without being asked only where the fleet's types are offered for video. Default: no.
    """

    name: str
    unit: str
    minimum: float = 0
    maximum: float | None = None
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
        return bool(instance_type.video_encoder) or not self.video_only


@dataclass(frozen=True, eq=False, kw_only=True)
class AcceleratorKind:
    """How one kind of accelerator is measured on an instance.

    Attributes:
        name: as in the catalog; also the name of the module with the description, and of the node program's reader.
        title: for messages, alarms and dashboards.
        measurements: every figure that can be read.
        use: the measurement that tells whether an accelerator is in use.
        presence: a measurement that every accelerator has a value for, also one whose use cannot be read (MIG).
            Default: none.
        memory: the measurement of used memory. Default: none can be read.
        power: the measurement of power. Default: none can be read.
        idle_below: a figure of ``use`` below it is idleness. Default: the percentage of the fleet's ``IdlePolicy``.
        agent_section: key of the agent's configuration under which the agent itself reads the accelerators.
            Default: the agent cannot; the node program reads them and sends the figures by StatsD.
        metric_prefix: stands before a measurement's name when it is published. Default: the node program's.
        driver_probe: shell command that lists the accelerators, and succeeds only once the driver answers.
        devices_per_accelerator: how many devices the operating system shows for one of the catalog's. Default: 1.
        images: public SSM parameters with the id of an AWS image that brings driver and tool, by operating system;
            ``{architecture}`` stands for the CPU's. Default: none is known.
        image_lacks: families of this kind whose accelerators those images do not drive. Default: none.
        machine_settings: settings of ``MachineSetup`` that these accelerators have and others need not. Default: none.
    """

    name: str
    title: str
    measurements: tuple[Measurement, ...]
    use: str
    presence: str | None = None
    memory: str | None = None
    power: str | None = None
    idle_below: float | None = None
    agent_section: str | None = None
    metric_prefix: str = MEASUREMENT_PREFIX
    driver_probe: str
    devices_per_accelerator: int = 1
    images: Mapping[str, str] = field(default_factory=dict)
    image_lacks: frozenset[str] = frozenset()
    machine_settings: frozenset[str] = frozenset()

    @property
    def use_metric(self) -> str:
        """Name of the CloudWatch metric that says how much each accelerator is used."""
        return self.metric_name(self.use)

    def metric_name(self, measurement: str) -> str:
        """Name of the CloudWatch metric that a measurement becomes."""
        return f"{self.metric_prefix}{measurement}"

    def measurement(self, name: str) -> Measurement:
        """Return the measurement of this name, which must exist."""
        (found,) = (each for each in self.measurements if each.name == name)
        return found

    def devices(self, instance_type: AcceleratedType) -> int:
        """How many devices the operating system of such an instance shows."""
        return instance_type.accelerators * self.devices_per_accelerator

    def standard_measurements(self, types: Sequence[AcceleratedType]) -> tuple[str, ...]:
        """What a fleet of these types publishes without being asked.

        A measurement that only some of the types have is left out: a figure for the group that part of its
        members never contribute to would be read as one for all of them.
        """
        return tuple(m.name for m in self.measurements if all(m.expected_on(each) for each in types))
