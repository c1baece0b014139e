"""What the CloudWatch agent publishes (SR-2), read from the agent configuration in the template."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from constructs_lib.errors import ArgumentError
from constructs_lib.node.names import IDLE_SECONDS
from constructs_lib.rehearsal.cloud.metrics import Key
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.machine.node_program import METRIC_TYPES, Said, Speech
from constructs_lib.rehearsal.watched import Watched
from constructs_lib.validation import complaint

_PLUGINS = {"nvidia_gpu": "nvidia_smi", "cpu": "cpu", "mem": "mem", "disk": "disk", "swap": "swap"}
_SILENT = ("nvidia_smi", "efa", "ethtool", "procstat")
"""The first is a key that the agent ignores; nothing that a fleet does depends on what the others count."""
_SUBSTITUTIONS = {
    "InstanceId": "${aws:InstanceId}",
    "AutoScalingGroupName": "${aws:AutoScalingGroupName}",
    "InstanceType": "${aws:InstanceType}",
    "ImageId": "${aws:ImageId}",
}
_DEFAULT_SECONDS = 60
_IDLENESS = Said(IDLE_SECONDS, METRIC_TYPES["g"], (), 0.0)
_STATSD_PORT = ":8125"

Tags = tuple[tuple[str, str], ...]


class Figure(NamedTuple):
    """One figure that an agent publishes, without what tells one instance from another.

    ``tags`` are the dimensions of its own series beside the appended ones; unless ``kept`` it has only its roll-ups.
    """

    name: str
    tags: Tags
    kept: bool


class Held(NamedTuple):
    """What a figure is from a moment on: its value, after how many seconds it comes again, its growth a second.

    The value of one that grows is the one that it would have had at second 0.
    """

    value: float
    every: int
    slope: float = 0.0


class Difference(NamedTuple):
    """What ends, and what is held in place of something else or nothing."""

    gone: Sequence[Figure]
    changed: Sequence[tuple[Figure, Held]]


NOTHING: Mapping[Figure, Held] = {}


class Agent:
    """One agent configuration; publishes raw series and the configured roll-ups, nothing else.

    ``watched`` is what somebody asks for: what it holds of anything else is left out. None is all.
    """

    def __init__(self, text: str, *, watched: Watched | None = None) -> None:
        document = json.loads(text)
        metrics = document["metrics"]
        self.namespace: str = metrics.get("namespace", "CWAgent")
        given = metrics.get("append_dimensions", {})
        self._appended = [name for name, value in given.items() if _SUBSTITUTIONS.get(name) == value]
        self._rollups = [tuple(names) for names in metrics.get("aggregation_dimensions", [])]
        self._sections: Mapping[str, Any] = metrics["metrics_collected"]
        self._interval = document.get("agent", {}).get("metrics_collection_interval", _DEFAULT_SECONDS)
        self._measurements = {
            section: [(_measured(prefix, each), each) for each in self._sections[section].get("measurement", ())]
            for section, prefix in _PLUGINS.items()
            if section in self._sections
        }
        unknown = self._sections.keys() - {*_PLUGINS, *_SILENT, "statsd"}
        if unknown:
            rule = "have sections that are simulated"
            cure = "rehearse the template without them"
            raise ArgumentError(complaint("rehearsal", "agent configuration", rule, sorted(unknown), cure))
        self._watched = watched
        self._listens: dict[tuple[str, int], bool] = {}
        self._figures: dict[Load, dict[Figure, Held]] = {}
        self._published: dict[tuple[Load, tuple[Said, ...] | None, int], dict[Figure, Held]] = {}
        self._differences: dict[tuple[int, int], Difference] = {}
        """By the identities of two of the above, which stay."""

    def figures(self, load: Load) -> Mapping[Figure, Held]:
        """Return what the agent itself measures under a load, for as long as it lasts.

        It looks at multiples of its interval: what begins and ends between two of them is not seen.
        """
        found = self._figures.get(load)
        if found is None:
            found = self._figures[load] = dict(self._measured_under(load)) if load.agent else {}
        return found

    def _measured_under(self, load: Load) -> Iterator[tuple[Figure, Held]]:
        for section, measurements in self._measurements.items():
            interval = self._sections[section].get("metrics_collection_interval", self._interval)
            dropped = self._sections[section].get("drop_original_metrics", ())
            for tags, values in _samples(section, load):
                for measured, measurement in measurements:
                    name = _published(_PLUGINS[section], measurement)
                    if measured in values and self._watches(name):
                        figure = Figure(name, tuple(tags.items()), measurement not in dropped)
                        yield figure, Held(values[measured], interval)

    @cached_property
    def hears_every(self) -> int:
        """Return how many seconds of what programs say become one sample."""
        # 0 is the agent's way of saying "each second".
        return int(self._sections["statsd"].get("metrics_aggregation_interval", _DEFAULT_SECONDS)) or 1

    def published(self, load: Load, speech: Speech | None, every: int) -> Mapping[Figure, Held]:
        """Return all that is published under a load, with what a program says each ``every`` seconds, if one is heard.

        What grows is left out: see :meth:`growing`. The same is the same object.
        """
        said = None if speech is None or not load.agent else speech.said
        found = self._published.get((load, said, every))
        if found is None:
            heard = {self.figure_of(each): Held(each.value, every) for each in said or () if self._watches(each.name)}
            found = self._published[load, said, every] = {**self.figures(load), **heard}
        return found

    def growing(self, load: Load, speech: Speech | None, every: int) -> tuple[Figure, Held] | None:
        """Return the idle seconds that a program says, None if it says none or nobody hears or watches them."""
        if speech is None or speech.idle_since is None or not load.agent or not self._watches(IDLE_SECONDS):
            return None
        return self.figure_of(_IDLENESS), Held(-speech.idle_since, every, 1.0)

    def difference(self, before: Mapping[Figure, Held], after: Mapping[Figure, Held]) -> Difference:
        """Return what is not published any more, and what is new or other, of two answers of :meth:`published`."""
        case = (id(before), id(after))
        found = self._differences.get(case)
        if found is None:
            gone = [figure for figure in before if figure not in after]
            changed = [(figure, held) for figure, held in after.items() if before.get(figure) != held]
            found = self._differences[case] = Difference(gone, changed)
        return found

    def figure_of(self, said: Said) -> Figure:
        """Return the figure that something becomes which a program says."""
        kept = said.name not in self._sections["statsd"].get("drop_original_metrics", ())
        return Figure(said.name, (("metric_type", said.metric_type), *said.tags), kept)

    def _watches(self, name: str) -> bool:
        return self._watched is None or self._watched.has_metric(name)

    def series_of(self, figure: Figure, identity: Mapping[str, str]) -> list[Key]:
        """Return the series that a figure of an instance goes to: its own, unless dropped, and each roll-up.

        ``identity`` holds the instance's values for the appended dimensions.
        """
        raw = {**{key: identity[key] for key in self._appended}, **dict(figure.tags)}
        sets = [raw] if figure.kept else []
        rolled = [{key: raw[key] for key in names} for names in self._rollups if set(names) <= set(raw)]
        sets += [dimensions for dimensions in rolled if dimensions != raw]
        keys = [(self.namespace, figure.name, frozenset(each.items())) for each in sets]
        return [key for key in keys if self._watched is None or self._watched.has_series(key)]

    def listens_at(self, host: str, port: int) -> bool:
        """Return whether lines that are sent to this address of the instance reach the agent."""
        known = self._listens.get((host, port))
        if known is None:
            statsd = self._sections.get("statsd")
            address = None if statsd is None else statsd.get("service_address", _STATSD_PORT)
            known = self._listens[host, port] = address in (f"{host}:{port}", f":{port}")
        return known


def _measured(prefix: str, measurement: str | Mapping[str, str]) -> str:
    """Return the agent's own name of a measurement; the configuration may leave the plugin's prefix out."""
    given = measurement if isinstance(measurement, str) else measurement["name"]
    return given if given.startswith(f"{prefix}_") else f"{prefix}_{given}"


def _published(prefix: str, measurement: str | Mapping[str, str]) -> str:
    if not isinstance(measurement, str) and "rename" in measurement:
        return measurement["rename"]
    return _measured(prefix, measurement)


def _samples(section: str, load: Load) -> Iterator[tuple[dict[str, str], dict[str, float]]]:
    """Return (tags, values by metric name) as the section's plugin reports them."""
    if section == "nvidia_gpu":
        for index, use in enumerate(load.accelerators or ()):
            if use is not None:
                yield {"index": str(index), "name": "NVIDIA L4"}, _of_gpu(use, load.memory, index in load.mig)
    elif section == "cpu":
        yield {"cpu": "cpu-total"}, {"cpu_usage_active": load.cpu, "cpu_usage_idle": 100 - load.cpu}
    elif section == "mem":
        yield {}, {"mem_used_percent": 20.0}
    elif section == "disk":
        yield {"path": "/", "device": "nvme0n1p1", "fstype": "xfs"}, {"disk_used_percent": 30.0}
    # Images of accelerated instances have no swap space, and then the plugin for it says nothing.


def _of_gpu(use: float, memory: float, mig: bool) -> dict[str, float]:
    utilization = {} if mig else {"nvidia_smi_utilization_gpu": use, "nvidia_smi_utilization_memory": use / 2}
    return {
        **utilization,
        "nvidia_smi_memory_used": memory,
        "nvidia_smi_memory_total": 24_000.0,
        "nvidia_smi_power_draw": 30.0 + use,
        "nvidia_smi_temperature_gpu": 40.0,
    }
