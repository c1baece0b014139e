"""What a user can choose about a fleet's telemetry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from constructs_lib.catalog import AcceleratedType
from constructs_lib.errors import ArgumentError
from constructs_lib.telemetry.kinds import AcceleratorKind
from constructs_lib.validation import complaint, instance_of, list_of, one_of


@dataclass(frozen=True, kw_only=True)
class Telemetry:
    """What the agent on each instance publishes about its accelerators.

    Every measurement costs custom metrics: one for each instance, one for the group, and, with
    ``per_accelerator_series``, one for each accelerator.

    Attributes:
        measurements: in the agent's spelling, for example ``("utilization_gpu", "power_draw")``; must contain
            the utilisation, which the release of idle instances reads.
            Default: utilisation, memory, power, temperature and, on types offered for video, encoder sessions; without
            what one of the fleet's types cannot report.
        per_accelerator_series: whether each accelerator has series of its own. False keeps only the roll-ups
            per instance and per group, which is all that alarms and handlers read. Default: True.

    Raises:
        ArgumentError: the measurements are not a list of different names, or there is none.
    """

    measurements: Sequence[str] | None = None
    per_accelerator_series: bool | None = None

    def __post_init__(self) -> None:
        series = True if self.per_accelerator_series is None else self.per_accelerator_series
        instance_of("Telemetry", "per_accelerator_series", series, bool, cure="write True or False")
        object.__setattr__(self, "per_accelerator_series", series)
        if self.measurements is not None:
            cure = "leave it out for the standard ones, or write for example ('utilization_gpu', 'power_draw')"
            measurements = list_of("Telemetry", "measurements", self.measurements, str, cure=cure)
            object.__setattr__(self, "measurements", measurements)

    def measurements_of(
        self, kind: AcceleratorKind, types: Sequence[AcceleratedType], *, where: str = "Telemetry"
    ) -> tuple[str, ...]:
        """Return the bare names of what a fleet of these types publishes.

        Raises:
            ArgumentError: a name is unknown to the agent or given twice, none of the types can report it, or the
                utilisation is missing.
        """
        if self.measurements is None:
            return kind.standard_measurements(types)
        known = {measurement.name: measurement for measurement in kind.measurements}
        chosen: list[str] = []
        for given in self.measurements:
            name = given.removeprefix(kind.metric_prefix)
            one_of(where, "measurements", name, known, cure="the agent drops any other name without a word")
            if name in chosen:
                rule = "name each measurement once"
                raise ArgumentError(complaint(where, "measurements", rule, given, "remove the second one"))
            if not any(known[name].readable_on(each) for each in types):
                rule = f"be readable on {', '.join(each.name for each in types)}"
                cure = "remove it: a fraction of an accelerator answers 'N/A', so the metric would never appear"
                raise ArgumentError(complaint(where, "measurements", rule, given, cure))
            chosen.append(name)
        if kind.utilization not in chosen:
            rule = f"contain {kind.utilization!r}"
            cure = "add it: without it nobody can tell an idle instance from a busy one"
            raise ArgumentError(complaint(where, "measurements", rule, list(self.measurements), cure))
        return tuple(chosen)
