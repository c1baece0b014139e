"""Which alarms concern accelerators: those that move their capacity, and those that watch them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from constructs_lib.compliance.deployment import Deployment, Resource, once
from constructs_lib.compliance.facts.alarms import Alarm, Series, alarms
from constructs_lib.compliance.facts.launches import accelerated_launches
from constructs_lib.compliance.facts.scaling_policies import Policy, accelerated_groups, policies_of_accelerated
from constructs_lib.compliance.values import NotKnown

_OF_ACCELERATORS = ("nvidia_smi_", "DCGM_FI_", "neuroncore_", "neurondevice_", "accelerator_", "node_gpu_", "pod_gpu_")
_USE = ("util", "usage", "busy", "active", "load")


@dataclass(frozen=True, eq=False)
class Watch:
    """An alarm that concerns accelerators.

    Attributes:
        alarm: that it is.
        policies: of groups with accelerators, that it acts on.
    """

    alarm: Alarm
    policies: tuple[Policy, ...]

    @property
    def resource(self) -> Resource:
        """The alarm's resource."""
        return self.alarm.resource

    def lowering(self) -> list[Policy]:
        """Those of its policies that may lower the capacity.

        Raises:
            NotKnown: it is not known of one.
        """
        return [each for each in self.policies if each.lowers()]


@once
def watches(deployment: Deployment) -> Sequence[Watch | NotKnown]:
    """The alarms of metrics that concern accelerators, and in place of one of which nobody can tell, why."""
    moved: dict[Resource, Policy] = {}
    doubts: dict[Resource, NotKnown] = {}
    for each in policies_of_accelerated(deployment):
        if isinstance(each, Policy):
            moved[each.resource] = each
        else:
            doubts[each.place if isinstance(each.place, Resource) else each.place.resource] = each
    owners, unsure = _owners(deployment)
    found: list[Watch | NotKnown] = []
    for alarm in alarms(deployment) if owners or unsure else ():
        acted = alarm.actions()
        policies = tuple(moved[each] for each in acted if each in moved)
        if policies or _watches_one_of(alarm, owners) or (owners and any(map(is_of_accelerators, series_of(alarm)))):
            found.append(Watch(alarm, policies))
        elif doubt := next((doubts[each] for each in acted if each in doubts), None) or _doubt(alarm, unsure):
            found.append(doubt)
    return tuple(found)


def metric_watches(deployment: Deployment) -> Iterator[Watch | NotKnown]:
    """Those of them that judge metrics themselves, and no other alarms."""
    for each in watches(deployment):
        if isinstance(each, NotKnown) or not each.alarm.is_composite:
            yield each


def series_of(alarm: Alarm) -> Sequence[Series]:
    """The series of an alarm as far as they are known."""
    try:
        return alarm.series
    except NotKnown:
        return ()


def is_of_accelerators(series: Series) -> bool:
    """Whether a series is one of accelerators by its name: of the CloudWatch agent, of DCGM, of Neuron's tools."""
    try:
        name = series.name or ""
    except NotKnown:
        return False
    return name.startswith(_OF_ACCELERATORS) or ("gpu" in name.lower() and not name.startswith("GPUReserved"))


def tells_use(series: Series) -> bool:
    """Whether a series of accelerators says how much they are used, and not their memory or heat."""
    try:
        name = (series.name or "").lower()
    except NotKnown:
        return False
    return is_of_accelerators(series) and "mem" not in name and any(each in name for each in _USE)


def _owners(deployment: Deployment) -> tuple[dict[Resource, None], dict[Resource, NotKnown]]:
    """The groups and instances with accelerators, and those of which nobody can tell."""
    sure: dict[Resource, None] = {}
    unsure: dict[Resource, NotKnown] = {}
    for launch in accelerated_launches(deployment):
        if not isinstance(launch, NotKnown):
            sure[launch.owner] = None
    for group, doubt in accelerated_groups(deployment).items():
        if doubt is not None:
            unsure[group] = doubt
    return sure, unsure


def _watches_one_of(alarm: Alarm, owners: dict[Resource, None]) -> bool:
    return any(resource in owners for each in series_of(alarm) for resource in each.resources())


def _doubt(alarm: Alarm, unsure: dict[Resource, NotKnown]) -> NotKnown | None:
    for series in series_of(alarm):
        for each in series.resources():
            if each in unsure:
                return unsure[each]
    return None
