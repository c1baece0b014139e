"""What the agent's schema lets through and the agent ignores; each is refused before it reaches an instance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from constructs_lib.errors import ArgumentError
from constructs_lib.fleet.agent_delivery import largest_size
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


def _rolled_up_by(*sets: Any) -> Change:
    return lambda config: _metrics(config).update(aggregation_dimensions=list(sets))


def _no_such_series(config: dict[str, Any]) -> None:
    """The work behind StatsD may send any tag, so that nothing can be said as long as it is there."""
    del _collected(config)["statsd"]
    _metrics(config)["aggregation_dimensions"] = [["InstanceId", "path"]]


def _no_series_with_both(config: dict[str, Any]) -> None:
    del _collected(config)["statsd"]
    _metrics(config)["aggregation_dimensions"] = [["index", "interface"]]


def _gpu_left_with_nothing(config: dict[str, Any]) -> None:
    _metrics(config)["aggregation_dimensions"] = [["InstanceId", "interface"]]
    _gpu(config)["drop_original_metrics"] = ["*"]


def _adapters_left_with_nothing(config: dict[str, Any]) -> None:
    _metrics(config)["aggregation_dimensions"] = [["InstanceId", "index"]]
    _collected(config)["efa"]["drop_original_metrics"] = ["rx_bytes"]


def _measured(section: str, name: str) -> Change:
    return lambda config: _collected(config).update({section: {"measurement": [name]}})


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
    (
        "roll-up-misspelled",
        _rolled_up_by(["instanceId"]),
        "must name dimensions that the series have, got 'instanceId'; did you mean 'InstanceId'",
    ),
    (
        "roll-up-misspelled-at-its-end",
        _rolled_up_by(["InstanceId"], ["InstanceId", "AutoScalingGroup"]),
        "got 'AutoScalingGroup'; did you mean 'AutoScalingGroupName'",
    ),
    ("roll-up-of-no-series", _no_such_series, r"the series have, got \['InstanceId', 'path'\]; no section"),
    ("roll-up-across-sections", _no_series_with_both, r"the series have, got \['index', 'interface'\]; no section"),
    (
        "gpu-left-with-nothing",
        _gpu_left_with_nothing,
        r"nvidia_gpu.drop_original_metrics must leave a series, got .*'InstanceId', 'index', 'name'\]",
    ),
    ("efa-left-with-nothing", _adapters_left_with_nothing, "efa.drop_original_metrics must leave a series"),
    (
        "too-many-dimensions",
        # Two are appended to every series, and two are a GPU's own.
        lambda c: _gpu(c).update(append_dimensions={f"d{number}": "x" for number in range(27)}),
        "nvidia_gpu.append_dimensions must leave each series with 30 dimensions at most, got 31",
    ),
    (
        "ethtool-of-nothing",
        lambda c: _collected(c).update(ethtool={}),
        "ethtool.metrics_include must be a list that is not empty",
    ),
    (
        "ethtool-counter-misspelled",
        lambda c: _collected(c)["ethtool"].update(metrics_include=["pps_allowance_exceded"]),
        "metrics_include must be one of .*, got 'pps_allowance_exceded'; did you mean 'pps_allowance_exceeded'",
    ),
    (
        "ethtool-prefix",
        lambda c: _collected(c)["ethtool"].update(metrics_include=["ethtool_pps_allowance_exceeded"]),
        "metrics_include must be one of .*, got 'ethtool_pps_allowance_exceeded'",
    ),
    (
        "prometheus-beside-cloudwatch",
        lambda c: _collected(c).update(prometheus={"prometheus_config_path": "/etc/prometheus.yml"}),
        "metrics_destinations must have amp, .*got {}; .*in logs.metrics_collected.prometheus",
    ),
    (
        "collectd-without-a-secret",
        lambda c: _collected(c).update(collectd={}),
        "collectd must name collectd_auth_file, .*'collectd_security_level': 'none'",
    ),
    (
        "collectd-signed-without-a-secret",
        lambda c: _collected(c).update(collectd={"collectd_security_level": "sign"}),
        "collectd must name collectd_auth_file",
    ),
    (
        "collectd-for-others",
        lambda c: _collected(c).update(
            collectd={"collectd_security_level": "none", "service_address": "udp://0.0.0.0:25826"}
        ),
        "collectd.service_address must listen on this machine only, got 'udp://0.0.0.0:25826'; .*127.0.0.1:25826",
    ),
    (
        "unit-in-lower-case",
        lambda c: _collected(c).update(mem={"measurement": [{"name": "used_percent", "unit": "percent"}]}),
        "mem.measurement unit must be one of .*, got 'percent'; did you mean 'Percent'",
    ),
    (
        "measurement-key",
        lambda c: _collected(c).update(mem={"measurement": [{"name": "used_percent", "alias": "memory"}]}),
        "mem.measurement must be one of name, rename, unit, got 'alias'",
    ),
    ("cpu-measurement", _measured("cpu", "usage_activ"), "got 'usage_activ'; did you mean 'usage_active'"),
    ("mem-measurement", _measured("mem", "mem_used_percentage"), "got 'used_percentage'; did you mean 'used_percent'"),
    ("disk-measurement", _measured("disk", "used_pct"), "disk.measurement must be one of .*, got 'used_pct'"),
    ("swap-measurement", _measured("swap", "total"), "swap.measurement must be one of .*, got 'total'"),
    ("net-measurement", _measured("net", "bytes_received"), "got 'bytes_received'; did you mean 'bytes_recv'"),
    ("netstat-measurement", _measured("netstat", "tcp_open"), "netstat.measurement must be one of .*, got 'tcp_open'"),
    ("processes-measurement", _measured("processes", "zombie"), "got 'zombie'; did you mean 'zombies'"),
    ("diskio-measurement", _measured("diskio", "io_tim"), "got 'io_tim'; did you mean 'io_time'"),
    (
        "procstat-measurement",
        lambda c: _collected(c)["procstat"][0].update(measurement=["cpu_usag"]),
        "procstat.measurement must be one of .*, got 'cpu_usag'; did you mean 'cpu_usage'",
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
    ("roll-up-flat", _rolled_up_by("InstanceId"), "must hold lists of names, got 'InstanceId'; write"),
    ("roll-up-of-a-number", _rolled_up_by([5]), r"must hold lists of names, got \[5\]"),
    (
        "roll-up-text",
        lambda c: _metrics(c).update(aggregation_dimensions="InstanceId"),
        "aggregation_dimensions must be a list that is not empty, got 'InstanceId'",
    ),
    (
        "roll-up-by-31",
        _rolled_up_by([f"d{number}" for number in range(31)]),
        "aggregation_dimensions must hold 30 names at most in each list",
    ),
    ("roll-up-of-none", _rolled_up_by(), "aggregation_dimensions must be a list that is not empty"),
    (
        "section-dimensions-text",
        lambda c: _gpu(c).update(append_dimensions="job"),
        "nvidia_gpu.append_dimensions must be of type Mapping",
    ),
    ("collectd-key", lambda c: _collected(c).update(collectd={"port": 1}), "collectd must be one of .*, got 'port'"),
    (
        "ethtool-counters-text",
        lambda c: _collected(c)["ethtool"].update(metrics_include="pps_allowance_exceeded"),
        "metrics_include must be a list that is not empty",
    ),
    (
        "unit-number",
        lambda c: _collected(c).update(mem={"measurement": [{"name": "used_percent", "unit": 1}]}),
        "unit must be one of .*, got 1",
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


def test_no_section_is_no_series() -> None:
    with pytest.raises(ArgumentError, match="no section has a series with all of them"):
        check({"metrics": {"metrics_collected": {"jmx": []}, "aggregation_dimensions": [["index"]]}})


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


@pytest.mark.parametrize(
    "rolled_up",
    [
        [[]],
        [["InstanceId"]],
        [["InstanceId", "AutoScalingGroupName"]],
        [["InstanceId", "index"]],
        [["index", "name"]],
        [["InstanceId", "AutoScalingGroupName", "index", "name"]],
        [["interface"]],
        [["device", "index"], ["interface"]],
        [["interface"], ["name"]],
    ],
)
def test_gpu_series_can_be_dropped_where_a_roll_up_of_them_is_left(rolled_up: list[list[str]]) -> None:
    config = _config()
    _metrics(config)["aggregation_dimensions"] = rolled_up
    _gpu(config)["drop_original_metrics"] = ["*"]
    series = published_series(config, instance_id="i-1", group="g", gpus=2, arch=None)
    if any(name == "nvidia_smi_utilization_gpu" for _, name, _ in series):
        check(config)
    else:
        with pytest.raises(ArgumentError, match=r"nvidia_gpu\.drop_original_metrics must leave a series"):
            check(config)


def test_without_appended_dimensions_there_is_the_hosts_name() -> None:
    config = _config()
    del _metrics(config)["append_dimensions"]
    _metrics(config)["aggregation_dimensions"] = [[]]
    _collected(config)["mem"]["drop_original_metrics"] = ["*"]
    check(config)
    left = {dims for _, name, dims in published_series(config, instance_id="i-1", group="g", gpus=0) if "mem" in name}
    assert left == {frozenset()}
    _metrics(config)["aggregation_dimensions"] = [["host"]]
    with pytest.raises(ArgumentError, match=r"mem.drop_original_metrics must leave a series, got \['host'\]"):
        check(config)


def test_a_series_of_exactly_30_dimensions_is_accepted() -> None:
    config = _config()
    _gpu(config)["append_dimensions"] = {f"d{number}": "x" for number in range(26)}
    check(config)


@pytest.mark.parametrize("dimension", ["model", "metric_type", "instance"])
def test_roll_ups_by_a_tag_of_the_work_are_accepted(dimension: str) -> None:
    config = _config()
    _metrics(config)["aggregation_dimensions"] = [["InstanceId", dimension], ["InstanceId"]]
    _collected(config)["statsd"]["drop_original_metrics"] = ["latency"]
    check(config)


def test_roll_ups_by_a_dimension_of_ones_own_are_accepted() -> None:
    config = _config()
    del _collected(config)["statsd"]
    _gpu(config).update(append_dimensions={"job": "train"}, drop_original_metrics=["*"])
    _metrics(config)["aggregation_dimensions"] = [["job", "InstanceId"]]
    check(config)


def test_a_file_systems_device_is_a_dimension_unless_it_is_left_out() -> None:
    config = _config()
    _metrics(config)["aggregation_dimensions"] = [["InstanceId", "device"]]
    _collected(config)["disk"] = {"measurement": ["used_percent"], "drop_original_metrics": ["*"]}
    check(config)
    _collected(config)["disk"]["drop_device"] = True
    with pytest.raises(ArgumentError, match=r"disk\.drop_original_metrics must leave a series"):
        check(config)


def test_prometheus_is_accepted_where_its_series_go() -> None:
    config = _config()
    _collected(config)["prometheus"] = {"prometheus_config_path": "/etc/prometheus.yml"}
    _metrics(config)["metrics_destinations"] = {"cloudwatch": {}, "amp": {"workspace_id": "ws-1"}}
    check(config)
    assert agent_schema_faults(config) == []


@pytest.mark.parametrize(
    "section",
    [
        {"collectd_security_level": "none"},
        {"collectd_auth_file": "/etc/collectd/auth_file"},
        {"collectd_security_level": "none", "service_address": "udp://127.0.0.1:25826", "name_prefix": "c_"},
    ],
)
def test_collectd_is_accepted_with_a_secret_or_in_the_open_on_this_machine(section: dict[str, Any]) -> None:
    config = _config()
    _collected(config)["collectd"] = section
    check(config)
    assert agent_schema_faults(config) == []


@pytest.mark.parametrize(
    ("section", "name"),
    [
        ("diskio", "ebs_volume_queue_length"),
        ("diskio", "diskio_instance_store_total_read_ops"),
        ("mem", "shared"),
        ("net", "net_err_out"),
        ("swap", "used_percent"),
    ],
)
def test_what_the_agent_knows_is_accepted(section: str, name: str) -> None:
    config = _config()
    _measured(section, name)(config)
    check(config)


def test_several_receivers_of_one_section_are_accepted() -> None:
    config = _config()
    _collected(config)["otlp"] = [{"grpc_endpoint": "127.0.0.1:4317"}, {"http_endpoint": "127.0.0.1:4318"}]
    check(config)
    assert agent_schema_faults(config) == []


@pytest.mark.parametrize("counter", ["conntrack_allowance_available", "ena_srd_mode", "queue_0_tx_cnt"])
def test_what_the_network_driver_counts_is_accepted(counter: str) -> None:
    config = _config()
    _collected(config)["ethtool"] = {"metrics_include": [counter], "drop_original_metrics": [f"ethtool_{counter}"]}
    check(config)


def test_a_large_configuration_is_sound() -> None:
    config = _config()
    _collected(config)["procstat"] = [
        {"pattern": f"job{number}", "measurement": ["cpu_usage"]} for number in range(200)
    ]
    assert largest_size(AgentConfiguration(config).to_json()) > 4096


@pytest.mark.parametrize("document", [None, [], "{}", 5])
def test_a_document_that_is_no_object_is_refused(document: Any) -> None:
    with pytest.raises(ArgumentError, match="agent configuration: document must be of type Mapping"):
        check(document)
