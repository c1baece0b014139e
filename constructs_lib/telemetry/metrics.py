"""The metrics of a fleet, for alarms and dashboards: those of its accelerators, beside what every fleet has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aws_cdk import aws_cloudwatch as cloudwatch

from constructs_lib.agent.kinds import AcceleratorKind, kind_of
from constructs_lib.agent.kinds.nvidia import KIND as NVIDIA
from constructs_lib.catalog import AcceleratedType
from constructs_lib.errors import ArgumentError
from constructs_lib.telemetry import names
from constructs_lib.telemetry.instance_metrics import InstanceMetrics
from constructs_lib.telemetry.options import Telemetry
from constructs_lib.telemetry.series import MetricOptions
from constructs_lib.validation import complaint

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True, eq=False, repr=False)
class FleetMetrics(InstanceMetrics):
    """Metrics of one Auto Scaling group, each under exactly the name and dimensions under which it is published.

    Every method takes the options of ``MetricOptions``; their defaults are said at each method. None of the methods
    makes a resource.

    Attributes:
        auto_scaling_group_name: of the group; may be a token.
        kind: what its accelerators are. Default: NVIDIA GPUs.
        measurements: which figures of each accelerator are published. Default: every standard one of the kind.
        has_energy: whether the energy of all accelerators is published. Default: if the kind's power can be read.
        resolution_seconds: time between two readings. Default: 60.
        application_metrics: what the work on the instances publishes. Default: nothing.
    """

    kind: AcceleratorKind = NVIDIA
    measurements: Sequence[str] | None = None
    has_energy: bool | None = None

    @classmethod
    def of_fleet(
        cls, auto_scaling_group_name: str, types: Sequence[AcceleratedType], telemetry: Telemetry | None = None
    ) -> FleetMetrics:
        """The metrics that a group of these types publishes with this telemetry. Default: ``Telemetry()``."""
        options = Telemetry() if telemetry is None else telemetry
        kind = kind_of(types)
        power = None if kind.power is None else kind.measurement(kind.power)
        return cls(
            auto_scaling_group_name,
            kind,
            options.measurements_of(kind, types),
            power is not None and any(power.readable_on(each) for each in types),
            resolution_seconds=options.resolution_seconds,
            application_metrics=options.application_metrics or (),
        )

    def busiest_accelerator(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Use of the busiest accelerator, in percent if the kind knows one. Default: maximum over a minute."""
        title = f"Busiest accelerator ({self.use_unit})"
        return self._published(self.kind.use_metric, title, "Maximum", options)

    def accelerator_utilization(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Use over all accelerators, in percent if the kind knows one. Default: average over a minute."""
        title = f"Mean use of accelerators ({self.use_unit})"
        return self._published(self.kind.use_metric, title, "Average", options)

    def accelerator_samples(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """How many accelerators were read, once for each reading. Default: number of samples in a minute.

        A minute has as many of them for each accelerator as there are readings in it.
        """
        return self._published(self.kind.use_metric, "Accelerators read", "SampleCount", options)

    def accelerator_memory(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Used memory of an accelerator, in MiB. Default: average over all accelerators in a minute.

        Raises:
            ArgumentError: the accelerators' memory cannot be read or is not published.
        """
        name = self._measurement("accelerator_memory", self.kind.memory)
        title = "Memory used of an accelerator (MiB)"
        return self._published(name, title, "Average", options)

    def accelerator_power(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Power that an accelerator draws, in W. Default: average over all accelerators in a minute.

        Raises:
            ArgumentError: the accelerators' power cannot be read or is not published.
        """
        name = self._measurement("accelerator_power", self.kind.power)
        return self._published(name, "Power of an accelerator (W)", "Average", options)

    def accelerator_energy(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Energy that the accelerators took, in J: 3,600,000 are a kWh. Default: sum over a minute.

        Raises:
            ArgumentError: the accelerators' power cannot be read.
        """
        if not self.publishes_energy:
            raise self._unreadable("accelerator_energy", "no type of this fleet tells the power of its accelerators")
        return self._published(names.ENERGY, "Energy of accelerators (J)", "Sum", options)

    # --- what there is ---------------------------------------------------------------------------------------------

    @property
    def use_unit(self) -> str:
        """Unit of the figure that tells use: ``%`` for most kinds."""
        return self.kind.measurement(self.kind.use).unit

    @property
    def publishes_memory(self) -> bool:
        """Whether :meth:`accelerator_memory` has a series to ask for."""
        return self.kind.memory in self._measurements

    @property
    def publishes_power(self) -> bool:
        """Whether :meth:`accelerator_power` has a series to ask for."""
        return self.kind.power in self._measurements

    @property
    def publishes_energy(self) -> bool:
        """Whether :meth:`accelerator_energy` has a series to ask for."""
        return self.kind.power is not None if self.has_energy is None else self.has_energy

    # --- parts -----------------------------------------------------------------------------------------------------

    @property
    def _measurements(self) -> Sequence[str]:
        if self.measurements is not None:
            return self.measurements
        return [each.name for each in self.kind.measurements if each.standard]

    def _measurement(self, method: str, name: str | None) -> str:
        if name is None:
            raise self._unreadable(method, f"nothing tells it of this kind ({self.kind.title})")
        if name not in self._measurements:
            cure = f"name {name!r} among Telemetry(measurements=...), if the fleet's types can report it"
            raise self._unreadable(method, cure)
        return self.kind.metric_name(name)

    def _unreadable(self, method: str, cure: str) -> ArgumentError:
        rule = "be asked for only what the fleet publishes"
        return ArgumentError(complaint("FleetMetrics", method, rule, sorted(self._measurements), cure))
