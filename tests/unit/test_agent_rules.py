"""What the agent's schema lets through and the agent ignores; each is refused before it reaches an instance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from constructs_lib.catalog import lookup
from constructs_lib.errors import ArgumentError
from constructs_lib.telemetry import AgentConfiguration, check
from tests.support.agent_model import published_series
from tests.support.agent_schema import agent_schema_faults

Change = Callable[[dict[str, Any]], None]


def _config() -> dict[str, Any]:
    """A configuration as somebody would write it by hand."""
    return {
        "agent": {"metrics_collection_interval": 60},
        "metrics": {
            "namespace": "AcceleratedFleet",
            "append_dimensions": {
                "InstanceId": "${aws:InstanceId}",
                "AutoScalingGroupName": "${aws:AutoScalingGroupName}",
            },
            "aggregation_dimensions": [["InstanceId"], ["AutoScalingGroupName"]],
            "metrics_collected": {
                "nvidia_gpu": {"measurement": ["utilization_gpu", "memory_used"]},
                "mem": {"measurement": [{"name": "mem_used_percent", "unit": "Percent"}]},
                "statsd": {"service_address": "127.0.0.1:8125", "metrics_aggregation_interval": 0},
                "procstat": [{"exe": "python", "measurement": ["pid_count"]}],
            },
        },
    }


def _metrics(config: dict[str, Any]) -> dict[str, Any]:
    metrics: dict[str, Any] = config["metrics"]
    return metrics


def _gpu(config: dict[str, Any]) -> dict[str, Any]:
    section: dict[str, Any] = config["metrics"]["metrics_collected"]["nvidia_gpu"]
    return section


def _collected(config: dict[str, Any]) -> dict[str, Any]:
    collected: dict[str, Any] = config["metrics"]["metrics_collected"]
    return collected


def _rename_gpu_section(name: str) -> Change:
    def change(config: dict[str, Any]) -> None:
        _collected(config)[name] = _collected(config).pop("nvidia_gpu")

    return change


# Faults that the agent's schema accepts: the agent starts, and part of the configuration has no effect.
SILENT: list[tuple[str, Change, str]] = [
    ("section-of-the-schema", _rename_gpu_section("nvidia_smi"), "got 'nvidia_smi'; write 'nvidia_gpu'"),
    ("section-misspelled", _rename_gpu_section("nvidia-gpu"), "got 'nvidia-gpu'; did you mean 'nvidia_gpu'"),
    ("chapter-misspelled", lambda c: c.update(metric={}), "got 'metric'; did you mean 'metrics'"),
    ("unknown-measurement", lambda c: _gpu(c).update(measurement=["gpu_util"]), "got 'gpu_util'"),
    (
        "measurement-of-macos",
        lambda c: _gpu(c).update(measurement=["utilization_gpu", "utilization_decoder"]),
        "got 'utilization_decoder'",
    ),
    (
        "no-measurement",
        lambda c: _gpu(c).update(measurement=[]),
        "nvidia_gpu.measurement must be a list that is not empty",
    ),
    (
        "measured-twice",
        lambda c: _gpu(c).update(measurement=["utilization_gpu", "nvidia_smi_utilization_gpu"]),
        "must name each measurement once, got 'nvidia_smi_utilization_gpu'",
    ),
    ("resources-of-gpu", lambda c: _gpu(c).update(resources=["*"]), "nvidia_gpu must be one of .*, got 'resources'"),
    (
        "invented-dimension",
        lambda c: _metrics(c)["append_dimensions"].update(Project="x"),
        "append_dimensions must hold only the pairs .*, got 'Project: x'",
    ),
    (
        "placeholder-misspelled",
        lambda c: _metrics(c)["append_dimensions"].update(InstanceId="${aws:instanceId}"),
        "got 'InstanceId: ",
    ),
    (
        "roll-up-of-nothing",
        lambda c: _metrics(c)["append_dimensions"].pop("AutoScalingGroupName"),
        "aggregation_dimensions must name dimensions that the series have, got 'AutoScalingGroupName'",
    ),
    (
        "prefix-twice",
        lambda c: _gpu(c).update(drop_original_metrics=["nvidia_smi_memory_used"]),
        "drop_original_metrics must name measurements of its section, got 'nvidia_smi_memory_used'",
    ),
    (
        "dropped-but-not-measured",
        lambda c: _gpu(c).update(drop_original_metrics=["power_draw"]),
        "must name measurements of its section, got 'power_draw'",
    ),
    (
        "dropped-as-text",
        lambda c: _gpu(c).update(drop_original_metrics="*"),
        r"drop_original_metrics must be a list of names, got '\*'",
    ),
    (
        "procstat-cannot-drop",
        lambda c: _collected(c)["procstat"][0].update(drop_original_metrics=["*"]),
        "procstat cannot",
    ),
    (
        "open-listener",
        lambda c: _collected(c).update(statsd={}),
        "service_address must listen on this machine only, got ':8125'",
    ),
    (
        "any-interface",
        lambda c: _collected(c).update(statsd={"service_address": "0.0.0.0:8125"}),
        "listen on this machine only, got '0.0.0.0:8125'",
    ),
    (
        "too-long",
        lambda c: _metrics(c).update(namespace="x" * 250, metrics_destinations={"cloudwatch": {"x": "y" * 4000}}),
        "must be at most 4096 bytes",
    ),
]

# Faults that the schema finds too, but only on the instance, where nobody looks.
LOUD: list[tuple[str, Change, str]] = [
    ("interval-0", lambda c: c["agent"].update(metrics_collection_interval=0), "at least 1 and at most 172800, got 0"),
    ("interval-above", lambda c: _gpu(c).update(metrics_collection_interval=172_801), "got 172801"),
    ("interval-text", lambda c: _gpu(c).update(metrics_collection_interval="60s"), "got '60s'"),
    ("interval-bool", lambda c: _metrics(c).update(force_flush_interval=True), "force_flush_interval must .*got True"),
    ("interval-in-list", lambda c: _collected(c)["procstat"][0].update(metrics_collection_interval=-1), "got -1"),
    ("measurement-text", lambda c: _gpu(c).update(measurement="utilization_gpu"), "must be a list"),
    ("measurement-number", lambda c: _gpu(c).update(measurement=[5]), "must hold names"),
    ("section-text", lambda c: _collected(c).update(mem="used_percent"), "must be of type Mapping"),
    ("metrics-list", lambda c: c.update(metrics=[]), "metrics must be of type Mapping"),
]


def _id(case: tuple[str, Change, str]) -> str:
    return case[0]


def test_a_sound_configuration_written_by_hand_is_accepted() -> None:
    check(_config())
    assert agent_schema_faults(_config()) == []


@pytest.mark.parametrize("case", SILENT, ids=_id)
def test_case_05_what_the_agent_would_ignore_is_refused(case: tuple[str, Change, str]) -> None:
    _, change, message = case
    config = _config()
    change(config)
    with pytest.raises(ArgumentError, match=message):
        check(config)
    with pytest.raises(ArgumentError, match=message):
        AgentConfiguration(config)


@pytest.mark.parametrize("case", SILENT, ids=_id)
def test_the_agents_schema_would_not_have_found_it(case: tuple[str, Change, str]) -> None:
    config = _config()
    case[1](config)
    assert agent_schema_faults(config) == []


@pytest.mark.parametrize("case", LOUD, ids=_id)
def test_what_stops_the_agent_on_the_instance_is_refused_at_synth(case: tuple[str, Change, str]) -> None:
    _, change, message = case
    config = _config()
    change(config)
    with pytest.raises(ArgumentError, match=message):
        check(config)


def test_series_dropped_without_roll_ups_would_leave_nothing() -> None:
    config = _config()
    del _metrics(config)["aggregation_dimensions"]
    _gpu(config)["drop_original_metrics"] = ["*"]
    assert agent_schema_faults(config) == []
    with pytest.raises(ArgumentError, match="drop_original_metrics must go with roll-ups"):
        check(config)
    del _collected(config)["statsd"], _collected(config)["procstat"]
    left = {name for _, name, _ in published_series(config, instance_id="i-1", group="g", gpus=1)}
    assert left == {"mem_used_percent"}


@pytest.mark.parametrize("dropped", [["*"], ["memory_used"], ["utilization_gpu", "memory_used"]])
def test_series_may_be_dropped_beside_roll_ups(dropped: list[str]) -> None:
    config = _config()
    _gpu(config)["drop_original_metrics"] = dropped
    _collected(config)["mem"]["drop_original_metrics"] = ["mem_used_percent"]
    check(config)


@pytest.mark.parametrize(
    "address", ["127.0.0.1:8125", "127.1.2.3:9", "[::1]:8125", "localhost:8125", "udp://127.0.0.1:8125"]
)
def test_a_listener_on_this_machine_is_accepted(address: str) -> None:
    config = _config()
    _collected(config)["statsd"]["service_address"] = address
    check(config)


@pytest.mark.parametrize("address", ["10.0.0.1:8125", "[::]:8125", "example.com:8125", "8125", "", 8125, "127.0.0.1"])
def test_a_listener_for_others_is_refused(address: Any) -> None:
    config = _config()
    _collected(config)["statsd"]["service_address"] = address
    with pytest.raises(ArgumentError, match="listen on this machine only"):
        check(config)


def test_a_configuration_of_logs_alone_is_accepted() -> None:
    check({"logs": {"logs_collected": {}}})


@pytest.mark.parametrize("document", [None, [], "{}", 5])
def test_a_document_that_is_no_object_is_refused(document: Any) -> None:
    with pytest.raises(ArgumentError, match="agent configuration: document must be of type Mapping"):
        check(document)


def test_the_size_is_that_of_the_text_that_is_stored() -> None:
    config = AgentConfiguration.full([lookup("g6.xlarge")]).document
    room = 4096 - len(AgentConfiguration(config).to_json())
    padded = {**config, "metrics": {**config["metrics"], "namespace": "AcceleratedFleet" + "x" * room}}
    assert len(AgentConfiguration(padded).to_json()) == 4096
    padded["metrics"]["namespace"] += "x"
    with pytest.raises(ArgumentError, match="must be at most 4096 bytes long as JSON, got 4097"):
        check(padded)
