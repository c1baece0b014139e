"""What the agent's schema lets through and the agent ignores; each is refused before it reaches an instance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from constructs_lib.errors import ArgumentError
from constructs_lib.telemetry import AgentConfiguration, check
from tests.support.agent_model import Sent, published_series
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
                "efa": {"measurement": ["efa_rx_bytes", {"name": "tx_bytes", "unit": "Bytes"}]},
                "ethtool": {"metrics_include": ["pps_allowance_exceeded"]},
            },
        },
        "logs": {
            "logs_collected": {
                "files": {"collect_list": [{"file_path": "/var/log/a.log", "retention_in_days": 30}]},
                "journald": {
                    "collect_list": [
                        {
                            "log_group_name": "kernel",
                            "filters": [{"type": "include", "expression": "NVRM"}],
                            "matches": [{"_TRANSPORT": "kernel"}],
                        }
                    ]
                },
            }
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


def _only_by_instance(config: dict[str, Any]) -> None:
    del _metrics(config)["append_dimensions"]["AutoScalingGroupName"]
    _metrics(config)["aggregation_dimensions"] = [["InstanceId"]]
    _collected(config)["mem"]["drop_original_metrics"] = ["*"]


def _file(config: dict[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = config["logs"]["logs_collected"]["files"]["collect_list"][0]
    return entry


def _journal(config: dict[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = config["logs"]["logs_collected"]["journald"]["collect_list"][0]
    return entry


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
    ("agent-key", lambda c: c["agent"].update(interval=60), "agent must be one of .*, got 'interval'"),
    (
        "efa-measurement",
        lambda c: _collected(c)["efa"].update(measurement=["rdma_read"]),
        "efa.measurement must be one of .*, got 'rdma_read'; did you mean 'rdma_read_",
    ),
    ("efa-key", lambda c: _collected(c)["efa"].update(resources=["*"]), "efa must be one of .*, got 'resources'"),
    (
        "statsd-wildcard",
        lambda c: _collected(c)["statsd"].update(drop_original_metrics=["*"]),
        r"statsd.drop_original_metrics must hold whole names of metrics, got '\*'; .* keeps every series",
    ),
    (
        "collectd-wildcard",
        lambda c: _collected(c).update(collectd={"drop_original_metrics": ["collectd_*"]}),
        "collectd.drop_original_metrics must hold whole names",
    ),
    (
        "ethtool-bare-name",
        lambda c: _collected(c)["ethtool"].update(drop_original_metrics=["pps_allowance_exceeded"]),
        "must name counters of metrics_include with 'ethtool_' before them, got 'pps_allowance_exceeded'",
    ),
    (
        "ethtool-other-counter",
        lambda c: _collected(c)["ethtool"].update(drop_original_metrics=["ethtool_bw_in_allowance_exceeded"]),
        "must name counters of metrics_include",
    ),
    (
        "nothing-smaller-left",
        _only_by_instance,
        r"mem.drop_original_metrics must leave a series, got \['InstanceId'\]; append one more dimension",
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
    ("chapters-of-sections", lambda c: _metrics(c).update(drop_original_metrics=["*"]), "dropped in each section"),
    ("nothing-collected", lambda c: _metrics(c).update(metrics_collected={}), "metrics_collected must hold a section"),
    ("gpu-without-measurement", lambda c: _gpu(c).pop("measurement"), "nvidia_gpu.measurement must be there"),
    ("efa-without-measurement", lambda c: _collected(c).update(efa={}), "efa.measurement must be there"),
    (
        "ethtool-with-measurement",
        lambda c: _collected(c).update(ethtool={"measurement": ["pps_allowance_exceeded"]}),
        "ethtool must name counters in 'metrics_include', got 'measurement'",
    ),
    (
        "procstat-object",
        lambda c: _collected(c).update(procstat={"exe": "python", "measurement": ["pid_count"]}),
        "procstat must be a list that is not empty",
    ),
    ("procstat-empty", lambda c: _collected(c).update(procstat=[]), "procstat must be a list that is not empty"),
    (
        "procstat-of-nothing",
        lambda c: _collected(c).update(procstat=[{"measurement": ["pid_count"]}]),
        "procstat must have one of exe, pattern, pid_file in each entry",
    ),
    (
        "statsd-measurement",
        lambda c: _collected(c)["statsd"].update(measurement=["x"]),
        "statsd must be one of .*, got 'measurement'",
    ),
    (
        "statsd-dimensions",
        lambda c: _collected(c)["statsd"].update(append_dimensions={"a": "b"}),
        "statsd must be one of .*, got 'append_dimensions'",
    ),
    (
        "retention",
        lambda c: _file(c).update(retention_in_days=45),
        "retention_in_days must be one of the terms that CloudWatch Logs knows .*, got 45",
    ),
    ("retention-bool", lambda c: _file(c).update(retention_in_days=True), "retention_in_days must .*, got True"),
    ("logs-key", lambda c: c["logs"].update(log_group_name="x"), "logs must be one of .*, got 'log_group_name'"),
    (
        "logs-of-windows",
        lambda c: c["logs"]["logs_collected"].update(windows_event={"collect_list": []}),
        "logs_collected must be one of .*, got 'windows_event'",
    ),
    ("logs-file-key", lambda c: _file(c).update(path="x"), "collect_list must be one of .*, got 'path'"),
    ("logs-file-no-path", lambda c: _file(c).pop("file_path"), "must give 'file_path' in each entry"),
    ("journald-no-group", lambda c: _journal(c).pop("log_group_name"), "must give 'log_group_name' in each entry"),
    ("journald-key", lambda c: _journal(c).update(unit="x"), "collect_list must be one of .*, got 'unit'"),
    (
        "log-filter-key",
        lambda c: _journal(c)["filters"][0].update(regex="x"),
        "filters must be one of .*, got 'regex'",
    ),
    (
        "logs-list-key",
        lambda c: c["logs"]["logs_collected"]["files"].update(paths=[]),
        "files must be one of .*, got 'paths'",
    ),
    (
        "logs-empty-list",
        lambda c: c["logs"]["logs_collected"]["journald"].update(collect_list={}),
        "collect_list must be a list that is not empty",
    ),
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


@pytest.mark.parametrize("case", LOUD, ids=_id)
def test_the_agents_schema_finds_it_too(case: tuple[str, Change, str]) -> None:
    config = _config()
    case[1](config)
    assert agent_schema_faults(config) != []


def test_windows_event_logs_are_of_no_use_on_linux() -> None:
    with pytest.raises(ArgumentError, match=r"got 'windows_events'; .*on Linux"):
        check({"logs": {"logs_collected": {"windows_events": {}}}})


def test_series_dropped_without_roll_ups_would_leave_nothing() -> None:
    config = _config()
    del _metrics(config)["aggregation_dimensions"]
    _gpu(config)["drop_original_metrics"] = ["*"]
    assert agent_schema_faults(config) == []
    with pytest.raises(ArgumentError, match="drop_original_metrics must go with roll-ups"):
        check(config)
    for section in ("statsd", "procstat", "efa", "ethtool"):
        del _collected(config)[section]
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
    check({"logs": _config()["logs"]})


@pytest.mark.parametrize(
    ("section", "dropped", "left"),
    [
        ("statsd", ["latency"], ("latency", 1)),
        ("ethtool", ["ethtool_pps_allowance_exceeded"], ("ethtool_pps_allowance_exceeded", 1)),
        ("efa", ["efa_rx_bytes"], ("efa_rx_bytes", 1)),
        ("efa", ["*"], ("efa_tx_bytes", 1)),
    ],
)
def test_series_dropped_by_their_whole_names_leave_the_roll_ups(
    section: str, dropped: list[str], left: tuple[str, int]
) -> None:
    config = _config()
    _collected(config)[section]["drop_original_metrics"] = dropped
    check(config)
    series = published_series(config, instance_id="i-1", group="g", gpus=1, sent=[Sent("latency")])
    assert {(name, len(dims)) for _, name, dims in series if name == left[0]} == {left}


@pytest.mark.parametrize(
    ("section", "dropped", "name"),
    [("statsd", ["*"], "latency"), ("ethtool", ["pps_allowance_exceeded"], "ethtool_pps_allowance_exceeded")],
)
def test_what_is_refused_would_have_dropped_nothing(section: str, dropped: list[str], name: str) -> None:
    config = _config()
    _collected(config)[section]["drop_original_metrics"] = dropped
    series = published_series(config, instance_id="i-1", group="g", gpus=1, sent=[Sent("latency")])
    assert {len(dims) for _, each, dims in series if each == name} > {1}


def test_memory_without_its_own_series_and_with_one_dimension_would_leave_nothing() -> None:
    config = _config()
    _only_by_instance(config)
    series = published_series(config, instance_id="i-1", group="g", gpus=1)
    assert "mem_used_percent" not in {name for _, name, _ in series}


def test_a_large_configuration_is_sound() -> None:
    config = _config()
    _collected(config)["procstat"] = [
        {"pattern": f"job{number}", "measurement": ["cpu_usage"]} for number in range(200)
    ]
    assert not AgentConfiguration(config).fits_parameter()


@pytest.mark.parametrize("document", [None, [], "{}", 5])
def test_a_document_that_is_no_object_is_refused(document: Any) -> None:
    with pytest.raises(ArgumentError, match="agent configuration: document must be of type Mapping"):
        check(document)
