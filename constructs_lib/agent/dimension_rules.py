"""Which dimensions the series of a section have, and which roll-ups the agent makes of them.

It makes a roll-up of a series only if it has fewer dimensions than the series and all of them are the series' own
(``plugins/outputs/cloudwatch``, release 1.300071).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from constructs_lib.agent.complaints import fault, filled_list, mapping
from constructs_lib.agent.kinds.nvidia import KIND as NVIDIA

APPENDABLE = ("AutoScalingGroupName", "ImageId", "InstanceId", "InstanceType")
_MOST_DIMENSIONS = 30
_ROLLED_UP = "metrics.aggregation_dimensions"
_ALWAYS = {
    NVIDIA.agent_section: ("index", "name"),
    "cpu": ("cpu",),
    "disk": ("fstype", "path"),
    "diskio": ("name",),
    "efa": ("device", "eniId", "port"),
    "ethtool": ("driver", "interface"),
    "net": ("interface",),
    "statsd": ("metric_type",),
}
_SOMETIMES = {
    # Older drivers do not tell it.
    NVIDIA.agent_section: ("arch",),
    "procstat": ("exe", "pattern", "pid_finder", "pidfile", "process_name"),
}
# Whoever sends to them chooses dimensions, and disks of other makes have other ones.
_OPEN = ("collectd", "diskio", "jmx", "otlp", "prometheus", "statsd")
# "AutoScalingGroup" is like "AutoScalingGroupName" and "InstanceName" is not like "InstanceType".
_ALIKE = 0.85


@dataclass(frozen=True)
class SeriesDimensions:
    """Names of the dimensions by which the series of one section are told apart.

    Attributes:
        path: of the section.
        always: of each series.
        sometimes: of some series besides.
        is_open: whether others choose more of them.
    """

    path: str
    always: frozenset[str]
    sometimes: frozenset[str]
    is_open: bool

    def may_have(self, rolled_up: Collection[str]) -> bool:
        """Whether there can be a series with all of these."""
        return self.is_open or self.always | self.sometimes >= set(rolled_up)

    def leaves(self, rolled_up: Collection[str]) -> bool:
        """Whether a roll-up is left of each series; where others choose dimensions, whether it can be."""
        names = set(rolled_up)
        return names < self.always or (self.is_open and not names <= self.always)


def dimensions_of(section: str, path: str, fields: Mapping[str, Any], metrics: Mapping[str, Any]) -> SeriesDimensions:
    """The dimensions of what one section, or one entry of it, publishes.

    Args:
        section: its key.
        path: where it stands, for messages.
        fields: what stands there.
        metrics: the chapter around it.
    """
    # The host's name gives way to whatever is appended.
    common = metrics.get("append_dimensions", ("host",))
    own = mapping(f"{path}.append_dimensions", fields.get("append_dimensions", {}))
    device = ("device",) if section == "disk" and not fields.get("drop_device") else ()
    return SeriesDimensions(
        path,
        frozenset((*common, *own, *_ALWAYS.get(section, ()), *device)),
        frozenset(_SOMETIMES.get(section, ())),
        section in _OPEN,
    )


def rolled_up_sets(metrics: Mapping[str, Any]) -> list[Sequence[str]]:
    """Return the roll-ups that a configuration asks for, empty if it asks for none."""
    if "aggregation_dimensions" not in metrics:
        return []
    cure = "write for example [['InstanceId'], ['AutoScalingGroupName']]"
    sets = filled_list(_ROLLED_UP, metrics["aggregation_dimensions"], cure)
    for each in sets:
        if not isinstance(each, list) or not all(isinstance(name, str) for name in each):
            raise fault(_ROLLED_UP, "hold lists of names", each, cure)
        if len(each) > _MOST_DIMENSIONS:
            raise fault(_ROLLED_UP, f"hold {_MOST_DIMENSIONS} names at most in each list", each, "name fewer")
    return sets


def check_rolled_up(sets: Sequence[Sequence[str]], sections: Sequence[SeriesDimensions]) -> None:
    """Refuse a roll-up that no section has a series for."""
    rule = "name dimensions that the series have"
    known = {name for each in sections for name in each.always | each.sometimes}
    for name in (name for names in sets for name in names if name not in known):
        if name in APPENDABLE:
            cure = f"add {name!r} to metrics.append_dimensions, else this roll-up is never published"
            raise fault(_ROLLED_UP, rule, name, cure)
        if meant := _alike(name):
            cure = f"did you mean {meant[0]!r}? No series has this one, so that the roll-up is never published"
            raise fault(_ROLLED_UP, rule, name, cure)
    for names in sets:
        if not any(each.may_have(names) for each in sections):
            cure = "no section has a series with all of them, so that this roll-up is never published: remove it"
            raise fault(_ROLLED_UP, rule, list(names), cure)


def _alike(name: str) -> list[str]:
    """The appended dimension that is spelled nearly like this one."""
    from difflib import get_close_matches  # only a fault needs it

    return get_close_matches(name, APPENDABLE, n=1, cutoff=_ALIKE)


def check_left(dimensions: SeriesDimensions, sets: Sequence[Sequence[str]]) -> None:
    """Refuse to drop series of which no roll-up is left."""
    if not any(dimensions.leaves(names) for names in sets):
        cure = (
            "append one more dimension, roll up by fewer of these, or keep the series: "
            "no roll-up is made of it, so nothing would be left"
        )
        path = f"{dimensions.path}.drop_original_metrics"
        raise fault(path, "leave a series", sorted(dimensions.always), cure)


def check_number(dimensions: SeriesDimensions) -> None:
    """Refuse more dimensions than CloudWatch takes: the agent leaves some out, and the series has another name."""
    number = len(dimensions.always)
    if number > _MOST_DIMENSIONS:
        rule = f"leave each series with {_MOST_DIMENSIONS} dimensions at most"
        raise fault(f"{dimensions.path}.append_dimensions", rule, number, "append fewer")
