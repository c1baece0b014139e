"""What the CloudWatch agent publishes (SR-2), read from the agent configuration in the template."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.behaviour.simulator.metrics import Key, MetricStore

_PLUGINS = {"nvidia_gpu": "nvidia_smi", "cpu": "cpu", "mem": "mem", "disk": "disk"}
_SUBSTITUTIONS = {
    "InstanceId": "${aws:InstanceId}",
    "AutoScalingGroupName": "${aws:AutoScalingGroupName}",
    "InstanceType": "${aws:InstanceType}",
    "ImageId": "${aws:ImageId}",
}


@dataclass(frozen=True)
class Load:
    """What one instance is doing in one minute.

    ``gpus`` holds utilisation in percent by accelerator; None means that no accelerator sample is published
    (a broken collector, MIG). ``agent`` False means that nothing at all is published.
    """

    gpus: Sequence[float] | None = (0.0,)
    cpu: float = 1.0
    gpu_memory: float = 0.0
    working: bool | None = None
    session: bool = False
    agent: bool = True
    other: Mapping[str, float] = field(default_factory=dict)

    @property
    def busy(self) -> bool:
        """Return whether ending the instance now would lose work or throw a person out."""
        if self.working is not None:
            return self.working or self.session
        return self.session or self.cpu >= 50 or any(value >= 5 for value in self.gpus or ())


class Agent:
    """One agent configuration; publishes raw series and the configured roll-ups, nothing else."""

    def __init__(self, text: str) -> None:
        metrics = json.loads(text)["metrics"]
        self.namespace: str = metrics.get("namespace", "CWAgent")
        given = metrics.get("append_dimensions", {})
        self._appended = [name for name, value in given.items() if _SUBSTITUTIONS.get(name) == value]
        self._rollups = [tuple(names) for names in metrics.get("aggregation_dimensions", [])]
        self._sections: Mapping[str, Any] = metrics["metrics_collected"]
        self._measurements = {
            section: [(_measured(prefix, each), each) for each in self._sections[section].get("measurement", ())]
            for section, prefix in _PLUGINS.items()
            if section in self._sections
        }
        self._keys: dict[tuple[str, ...], list[Key]] = {}

    def publish(self, store: MetricStore, now: int, identity: Mapping[str, str], load: Load) -> None:
        """Publish one minute of one instance; ``identity`` holds its values for the appended dimensions."""
        if not load.agent:
            return
        for section, measurements in self._measurements.items():
            for tags, values in _samples(section, load):
                for measured, measurement in measurements:
                    if measured in values:
                        for key in self._series(section, measurement, tags, identity):
                            store.add(key, now, values[measured])

    def _series(
        self, section: str, measurement: Any, tags: Mapping[str, str], identity: Mapping[str, str]
    ) -> list[Key]:
        """Return the series that a measurement goes to: its own, unless dropped, and each roll-up."""
        remembered = (section, str(measurement), *tags.values(), *identity.values())
        if remembered not in self._keys:
            name = _published(_PLUGINS[section], measurement)
            raw = {**{key: identity[key] for key in self._appended}, **tags}
            sets = [raw] if measurement not in self._sections[section].get("drop_original_metrics", ()) else []
            rolled = [{key: raw[key] for key in names} for names in self._rollups if set(names) <= set(raw)]
            sets += [dimensions for dimensions in rolled if dimensions != raw]
            self._keys[remembered] = [(self.namespace, name, frozenset(each.items())) for each in sets]
        return self._keys[remembered]


def _measured(prefix: str, measurement: str | Mapping[str, str]) -> str:
    """Return the agent's own name of a measurement; the configuration may leave the plugin's prefix out."""
    given = measurement if isinstance(measurement, str) else measurement["name"]
    return given if given.startswith(f"{prefix}_") else f"{prefix}_{given}"


def _published(prefix: str, measurement: str | Mapping[str, str]) -> str:
    if not isinstance(measurement, str) and "rename" in measurement:
        return measurement["rename"]
    return _measured(prefix, measurement)


def _samples(section: str, load: Load) -> list[tuple[dict[str, str], dict[str, float]]]:
    """Return (tags, values by metric name) as the section's plugin reports them."""
    if section == "nvidia_gpu":
        return [
            (
                {"index": str(index), "name": "NVIDIA L4"},
                {
                    "nvidia_smi_utilization_gpu": used,
                    "nvidia_smi_utilization_memory": used / 2,
                    "nvidia_smi_memory_used": load.gpu_memory,
                    "nvidia_smi_memory_total": 24_000.0,
                    "nvidia_smi_power_draw": 30.0 + used,
                    "nvidia_smi_temperature_gpu": 40.0,
                },
            )
            for index, used in enumerate(load.gpus or ())
        ]
    if section == "cpu":
        return [({"cpu": "cpu-total"}, {"cpu_usage_active": load.cpu, "cpu_usage_idle": 100 - load.cpu})]
    if section == "mem":
        return [({}, {"mem_used_percent": 20.0})]
    return [({"path": "/", "device": "nvme0n1p1", "fstype": "xfs"}, {"disk_used_percent": 30.0})]
