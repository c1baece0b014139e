"""The last reading, as the program leaves it for people: a file, and a text that is made of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from .events import utc
from .readings import Answer, Device, Reading
from .schedule import longest_silence
from .statsd import Metric

_FIGURES = (
    ("utilization", "utilization", " %"),
    ("transfers", "transfers", ""),
    ("memory_used_mib", "memory", " MiB"),
    ("power_watts", "power", " W"),
    ("temperature_celsius", "temperature", " °C"),
)

_LARGEST_NUMBER = 1e18


def devices_of(answer: Answer) -> list[dict[str, object]]:
    """Return the devices as plain data, without what is not known."""
    devices: Sequence[Device] = answer.devices if isinstance(answer, Reading) else ()
    return [{key: value for key, value in asdict(device).items() if value is not None} for device in devices]


def document(
    kind: str,
    interval: int,
    now: float,
    answer: Answer,
    metrics: Sequence[Metric],
    problems: Mapping[str, str],
    unverified: Mapping[str, str],
) -> dict[str, object]:
    """Describe a reading. `interval` is in seconds, `now` in epoch seconds; `metrics` are those of the instance and its
    devices; `problems` the parts that fail, and why; `unverified` the settings of which nobody can tell whether they
    are in force, and why."""
    return {
        "time": utc(now),
        "epoch_seconds": now,
        "interval_seconds": interval,
        "kind": kind,
        "answer": "reading" if isinstance(answer, Reading) else answer.cause,
        "reason": None if isinstance(answer, Reading) else answer.reason,
        "devices": devices_of(answer),
        "metrics": {metric.name: metric.value for metric in metrics if metric.index is None},
        "problems": dict(problems),
        "unverified_settings": dict(unverified),
    }


def parse(text: str) -> dict[str, Any]:
    """Read a status file; raise ValueError if it is none."""
    try:
        status = json.loads(text)
    except RecursionError as error:
        raise ValueError("the status is nested too deeply") from error
    if not isinstance(status, dict) or not all(map(_is_number, map(status.get, ("epoch_seconds", "interval_seconds")))):
        raise ValueError("the status must be an object with a time and an interval")
    devices = status.get("devices")
    if not isinstance(devices, list) or not all(map(_is_device, devices)):
        raise ValueError("the status must list the devices")
    return status


def at(status: Mapping[str, Any], now: float) -> dict[str, Any]:
    """Return the status with its age, and whether it is stale: so old that it says nothing of `now`, in epoch seconds,
    since the program that should have read again is dead or stuck."""
    age = now - status["epoch_seconds"]
    return {**status, "age_seconds": age, "stale": age > longest_silence(status["interval_seconds"])}


def _is_device(item: object) -> bool:
    return isinstance(item, dict) and "index" in item and all(_is_number(item.get(key, 0)) for key, _, _ in _FIGURES)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and abs(value) < _LARGEST_NUMBER


def describe_devices(devices: Sequence[Mapping[str, object]]) -> Iterator[str]:
    """Write a line for each device."""
    for device in devices:
        figures = [f"{label} {device[key]:g}{unit}" for key, label, unit in _FIGURES if key in device]
        fault = [str(device["fault"])] if "fault" in device else []
        yield f"  {device['index']}: {', '.join(figures + fault)}"


def describe(status: Mapping[str, Any]) -> Iterator[str]:
    """Write the status for people, line by line: what `at` returned."""
    yield f"{status.get('kind')}: read {status['age_seconds']:.0f} s ago ({status.get('time')})"
    if status["stale"]:
        yield (
            f"the program is dead or stuck: it should read every {status['interval_seconds']:.0f} s; what follows is "
            "old; see `systemctl status accelerated-node` and `journalctl -u accelerated-node`"
        )
    if status.get("reason"):
        yield f"no reading, {status.get('answer')}: {status['reason']}"
    yield from describe_devices(status["devices"])
    for key, between in (("metrics", " "), ("problems", ": "), ("unverified_settings", ": ")):
        values = status.get(key)
        if isinstance(values, dict) and values:
            yield f"{key.replace('_', ' ')}:"
            yield from (f"  {name}{between}{value}" for name, value in values.items())
