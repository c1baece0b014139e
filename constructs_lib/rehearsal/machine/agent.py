"""What the CloudWatch agent publishes (SR-2), read from the agent configuration in the template."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from constructs_lib.rehearsal.cloud.metrics import Key, MetricStore
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.machine.node_program import Sent

_PLUGINS = {"nvidia_gpu": "nvidia_smi", "cpu": "cpu", "mem": "mem", "disk": "disk", "swap": "swap"}
_SILENT = ("nvidia_smi", "efa", "ethtool", "procstat")
"""The first is a key that the agent ignores; nothing that a fleet does depends on what the others count."""
_SUBSTITUTIONS = {
    "InstanceId": "${aws:InstanceId}",
    "AutoScalingGroupName": "${aws:AutoScalingGroupName}",
    "InstanceType": "${aws:InstanceType}",
    "ImageId": "${aws:ImageId}",
}
_METRIC_TYPES = {"g": "gauge", "c": "counter"}
_DEFAULT_SECONDS = 60
_STATSD_PORT = ":8125"

Tags = tuple[tuple[str, str], ...]


class Agent:
    """One agent configuration; publishes raw series and the configured roll-ups, nothing else.

    Time within a minute is kept only as far as it decides what is published: all samples of a minute carry its start.
    """

    def __init__(self, text: str) -> None:
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
            raise ValueError(f"sections that are not simulated: {sorted(unknown)}")
        self._keys: dict[tuple[str, ...], list[Key]] = {}

    def publish(
        self, store: MetricStore, now: int, identity: Mapping[str, str], load: Load, lines: Iterable[Sent] = ()
    ) -> None:
        """Publish one minute of one instance.

        ``identity`` holds its values for the appended dimensions, ``lines`` is what programs on it send by StatsD.
        """
        if not load.agent:
            return
        for section, measurements in self._measurements.items():
            readings = 60 // self._sections[section].get("metrics_collection_interval", self._interval)
            for tags, values in _samples(section, load):
                for measured, measurement in measurements:
                    if measured in values:
                        keys = self._measured_series(section, measurement, tags, identity)
                        _add(store, keys, now, [values[measured]] * readings)
        if "statsd" in self._sections:
            self._publish_lines(store, now, identity, lines)

    def _publish_lines(self, store: MetricStore, now: int, identity: Mapping[str, str], lines: Iterable[Sent]) -> None:
        """Publish what came in each interval of aggregation; a gauge that was not sent in it is not there."""
        section = self._sections["statsd"]
        # 0 is the agent's way of saying "each second".
        interval = section.get("metrics_aggregation_interval", _DEFAULT_SECONDS) or 1
        for (_, name, metric_type, tags), value in _aggregated(lines, interval).items():
            remembered = (name, metric_type, *(value for _, value in tags), *identity.values())
            if remembered not in self._keys:
                raw = {"metric_type": metric_type, **dict(tags)}
                kept = name not in section.get("drop_original_metrics", ())
                self._keys[remembered] = self._series(name, raw, identity, kept=kept)
            _add(store, self._keys[remembered], now, [value])

    def listens_at(self, host: str, port: int) -> bool:
        """Return whether lines that are sent to this address of the instance reach the agent."""
        if "statsd" not in self._sections:
            return False
        return self._sections["statsd"].get("service_address", _STATSD_PORT) in (f"{host}:{port}", f":{port}")

    def _measured_series(
        self, section: str, measurement: Any, tags: Mapping[str, str], identity: Mapping[str, str]
    ) -> list[Key]:
        remembered = (section, str(measurement), *tags.values(), *identity.values())
        if remembered not in self._keys:
            name = _published(_PLUGINS[section], measurement)
            kept = measurement not in self._sections[section].get("drop_original_metrics", ())
            self._keys[remembered] = self._series(name, tags, identity, kept=kept)
        return self._keys[remembered]

    def _series(self, name: str, tags: Mapping[str, str], identity: Mapping[str, str], *, kept: bool) -> list[Key]:
        """Return the series that a figure goes to: its own, unless dropped, and each roll-up."""
        raw = {**{key: identity[key] for key in self._appended}, **tags}
        sets = [raw] if kept else []
        rolled = [{key: raw[key] for key in names} for names in self._rollups if set(names) <= set(raw)]
        sets += [dimensions for dimensions in rolled if dimensions != raw]
        return [(self.namespace, name, frozenset(each.items())) for each in sets]


def _add(store: MetricStore, keys: Iterable[Key], now: int, values: Iterable[float]) -> None:
    for key in keys:
        for value in values:
            store.add(key, now, value)


def _aggregated(lines: Iterable[Sent], interval: int) -> dict[tuple[int, str, str, Tags], float]:
    """Return the value of each bucket in each interval: the last of a gauge, the sum of a counter."""
    buckets: dict[tuple[int, str, str, Tags], float] = {}
    for second, line in lines:
        name, metric_type, tags, value = _parsed(line)
        bucket = (second // interval, name, metric_type, tags)
        before = buckets.get(bucket, 0.0) if metric_type == "counter" else 0.0
        buckets[bucket] = before + value
    return buckets


@lru_cache(maxsize=4096)
def _parsed(line: str) -> tuple[str, str, Tags, float]:
    """Return name, type, tags and value of a line of StatsD with DogStatsD's tags."""
    name, _, rest = line.partition(":")
    value, short_type, *extensions = rest.split("|")
    tags = (tag.partition(":") for each in extensions for tag in each.removeprefix("#").split(","))
    return name, _METRIC_TYPES[short_type], tuple((key, said) for key, _, said in tags), float(value)


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
