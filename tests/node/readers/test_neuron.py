"""AWS Neuron: the documents of neuron-monitor, in which an idle device is not listed at all."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from constructs_lib.node.readers import neuron
from constructs_lib.node.readings import MISSING, UNREADABLE, Device
from tests.node.readers.recorded import answer, devices, recorded, refusal


def _document(name: str) -> dict[str, Any]:
    document = json.loads(recorded("neuron", name))
    assert isinstance(document, dict)
    return document


def _stub(directory: Path, body: str) -> Path:
    tool = directory / "neuron-monitor"
    tool.write_text(f"#!/bin/sh\n{body}\n")
    tool.chmod(0o755)
    return tool


def test_the_configuration_is_one_that_the_tool_knows() -> None:
    configuration = json.loads(neuron.CONFIGURATION.read_text(encoding="utf-8"))

    assert configuration == {
        "period": "3s",
        "neuron_runtimes": [
            {"tag_filter": ".*", "metrics": [{"type": "neuroncore_counters"}, {"type": "memory_used"}]}
        ],
        "system_metrics": [],
    }


def test_the_tool_is_asked_with_its_own_configuration_and_one_line_is_the_answer() -> None:
    (command,) = neuron.commands(16)

    assert command.first_line_only
    assert command.argv[:2] == ("sh", "-c")
    assert command.argv[-2:] == ("/opt/aws/neuron/bin/neuron-monitor", str(neuron.CONFIGURATION))


def test_the_second_document_is_the_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first document can come before the first period is over, and would call a busy core idle."""
    stub = _stub(tmp_path, 'test "$1" = -c && test -r "$2" || exit 1\necho first\necho second\necho third')
    monkeypatch.setattr(neuron, "TOOL", str(stub))

    done = subprocess.run(neuron.commands(1)[0].argv, capture_output=True, text=True, check=True)

    assert done.stdout == "second\n"


def test_a_missing_tool_is_missing_though_a_shell_stands_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neuron, "TOOL", str(tmp_path / "neuron-monitor"))

    done = subprocess.run(neuron.commands(1)[0].argv, capture_output=True, text=True, check=False)
    reading = refusal("neuron", done.stdout, exit_status=done.returncode, stderr=done.stderr)

    assert reading.cause == MISSING
    assert "no such tool" in reading.reason


def test_a_tool_that_fails_at_once_is_unreadable_and_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neuron, "TOOL", str(_stub(tmp_path, "echo 'bad config' >&2\nexit 1")))

    done = subprocess.run(neuron.commands(1)[0].argv, capture_output=True, text=True, check=False)
    reading = refusal("neuron", done.stdout, exit_status=done.returncode, stderr=done.stderr)

    assert reading.cause == UNREADABLE
    assert "bad config" in reading.reason


def test_no_runtime_is_an_explicit_zero_for_each_device() -> None:
    assert devices("neuron", recorded("neuron", "idle.json")) == tuple(
        Device(index, utilization=0.0, memory_used_mib=0.0, memory_total_mib=32768.0) for index in range(2)
    )


def test_a_device_is_as_busy_as_its_busiest_core_and_holds_the_memory_of_all() -> None:
    first, second = devices("neuron", recorded("neuron", "busy.json"))

    assert first == Device(0, utilization=89.40087251059674, memory_used_mib=1536.0, memory_total_mib=32768.0)
    assert second == Device(1, utilization=12.5, memory_used_mib=256.0, memory_total_mib=32768.0)


def test_the_end_of_a_tool_that_is_stopped_does_not_matter() -> None:
    text = recorded("neuron", "busy.json")

    assert answer("neuron", text, exit_status=-15) == answer("neuron", text)


def test_lines_before_the_document_do_not_matter() -> None:
    text = recorded("neuron", "busy.json")

    assert answer("neuron", "warning: old configuration\n" + text) == answer("neuron", text)


def test_a_program_that_cannot_be_measured_makes_no_device_idle() -> None:
    busy, unknown = devices("neuron", recorded("neuron", "one-failing.json"))

    assert busy.utilization == 42.02
    assert unknown.utilization is None
    assert unknown.fault == "neuron-monitor cannot measure a program: cannot attach to the runtime"


@pytest.mark.parametrize("counters", [None, {}, {"neuroncores_in_use": None}, {"error": "timeout"}, [], "N/A"])
def test_a_program_without_counters_makes_no_device_idle(counters: object) -> None:
    document = _document("idle.json")
    document["neuron_runtime_data"] = [{"pid": 1, "report": {"neuroncore_counters": counters}}]

    readings = devices("neuron", json.dumps(document))

    assert [device.utilization for device in readings] == [None, None]
    assert all(device.fault for device in readings)
    assert [device.memory_used_mib for device in readings] == [None, None]


def test_a_core_whose_use_is_no_number_hides_only_its_device() -> None:
    first, second = devices("neuron", recorded("neuron", "unavailable.json"))

    assert first.utilization is None
    assert first.fault is not None
    assert second.utilization == 7.0


@pytest.mark.parametrize("use", ["N/A", -1, 100.5, None, True, [], float("nan"), float("inf"), 10**400])
def test_a_use_that_is_no_percentage_is_unknown(use: object) -> None:
    document = _document("busy.json")
    document["neuron_runtime_data"][0]["report"]["neuroncore_counters"]["neuroncores_in_use"]["1"] = {
        "neuroncore_utilization": use
    }

    assert devices("neuron", json.dumps(document))[0].utilization is None


@pytest.mark.parametrize("size", ["N/A", -1, None, float("nan"), 10**400])
def test_a_size_that_is_no_number_makes_the_memory_unknown_and_not_the_use(size: object) -> None:
    document = _document("busy.json")
    memory = document["neuron_runtime_data"][0]["report"]["memory_used"]["neuron_runtime_used_bytes"]
    memory["usage_breakdown"]["neuroncore_memory_usage"]["0"]["tensors"] = size

    first, second = devices("neuron", json.dumps(document))

    assert first.memory_used_mib is None
    assert first.utilization == 89.40087251059674
    assert second.memory_used_mib == 256.0


def test_memory_is_unknown_if_a_program_does_not_say_on_which_device_it_is() -> None:
    document = _document("busy.json")
    del document["neuron_runtime_data"][1]["report"]["memory_used"]["neuron_runtime_used_bytes"]["usage_breakdown"]

    assert [device.memory_used_mib for device in devices("neuron", json.dumps(document))] == [None, None]


@pytest.mark.parametrize("core", ["4", "-1", "x", "1.0", "", "9" * 30])
def test_a_core_that_the_machine_has_not_is_unreadable(core: str) -> None:
    document = _document("busy.json")
    cores = document["neuron_runtime_data"][0]["report"]["neuroncore_counters"]["neuroncores_in_use"]
    cores[core] = {"neuroncore_utilization": 1}

    assert refusal("neuron", json.dumps(document)).cause == UNREADABLE


def test_a_missing_driver_is_not_idle() -> None:
    reading = refusal("neuron", recorded("neuron", "no-driver.json"))

    assert reading.cause == UNREADABLE
    assert "driver is not loaded" in reading.reason


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("neuron_device_count", 0),
        ("neuron_device_count", None),
        ("neuron_device_count", "N/A"),
        ("neuron_device_count", -1),
        ("neuron_device_count", 10**6),
        ("neuroncore_per_device_count", 0),
        ("neuroncore_per_device_count", 10**6),
        ("error", "no access"),
    ],
)
def test_without_the_hardware_nothing_is_idle(key: str, value: object) -> None:
    document = _document("idle.json")
    document["neuron_hardware_info"][key] = value

    assert refusal("neuron", json.dumps(document)).cause == UNREADABLE


@pytest.mark.parametrize("runtimes", [None, {}, "none", 0])
def test_without_a_list_of_programs_nothing_is_idle(runtimes: object) -> None:
    document = _document("idle.json")
    document["neuron_runtime_data"] = runtimes

    assert refusal("neuron", json.dumps(document)).cause == UNREADABLE


@pytest.mark.parametrize("key", ["neuron_hardware_info", "neuron_runtime_data"])
def test_a_document_without_one_of_its_parts_is_unreadable(key: str) -> None:
    document = _document("idle.json")
    del document[key]

    assert refusal("neuron", json.dumps(document)).cause == UNREADABLE


def test_the_sizes_of_a_device_may_be_unknown() -> None:
    document = _document("idle.json")
    del document["neuron_hardware_info"]["neuron_device_memory_size"]

    assert devices("neuron", json.dumps(document))[0] == Device(0, utilization=0.0, memory_used_mib=0.0)


def test_the_largest_machine_is_read() -> None:
    document = _document("idle.json")
    document["neuron_hardware_info"].update(neuron_device_count=16, neuroncore_per_device_count=8)
    cores = {str(core): {"neuroncore_utilization": core / 2} for core in range(128)}
    document["neuron_runtime_data"] = [{"report": {"neuroncore_counters": {"neuroncores_in_use": cores}}}]

    assert [device.utilization for device in devices("neuron", json.dumps(document))] == [
        (8 * index + 7) / 2 for index in range(16)
    ]
