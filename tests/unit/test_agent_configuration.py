"""The configuration that the CloudWatch agent gets, judged by what the agent then publishes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from aws_cdk import Duration
from hypothesis import given, settings
from hypothesis import strategies as st

from constructs_lib.catalog import AcceleratedType, known_types, lookup
from constructs_lib.errors import ArgumentError, UnsupportedInstanceTypeError
from constructs_lib.fleet.agent_delivery import largest_size
from constructs_lib.telemetry import NVIDIA, AgentConfiguration, FleetLogs, Telemetry, kind_of, names
from tests.support.agent_model import (
    EFA_COUNTERS,
    FRACTION_MEASUREMENTS,
    NVIDIA_MEASUREMENTS,
    Sent,
    Series,
    published_series,
)
from tests.support.agent_schema import agent_schema_faults
from tests.support.node_model import instance_series

BY_INSTANCE = frozenset({("InstanceId", "i-1")})
BY_GROUP = frozenset({("AutoScalingGroupName", "fleet")})
ALLOWANCES = {
    "ethtool_bw_in_allowance_exceeded",
    "ethtool_bw_out_allowance_exceeded",
    "ethtool_pps_allowance_exceeded",
    "ethtool_conntrack_allowance_exceeded",
    "ethtool_linklocal_allowance_exceeded",
}

nvidia_types = st.sampled_from([each for each in known_types().values() if each.kind == "nvidia"])
fleets = st.lists(nvidia_types, min_size=1, max_size=4)
measurements = st.none() | st.lists(
    st.sampled_from(sorted(FRACTION_MEASUREMENTS - {"utilization_gpu"})), unique=True, max_size=16
).map(lambda chosen: ("utilization_gpu", *chosen))
options = st.builds(Telemetry, measurements=measurements, per_accelerator_series=st.booleans())


def _published(configuration: AgentConfiguration, gpus: int = 1, **facts: Any) -> set[Series]:
    config = json.loads(configuration.to_json())
    return published_series(config, instance_id="i-1", group="fleet", gpus=gpus, **facts)


def _full(*types: str, telemetry: Telemetry | None = None) -> AgentConfiguration:
    return AgentConfiguration.full([lookup(name) for name in types], telemetry)


def _sections(configuration: AgentConfiguration) -> dict[str, Any]:
    sections: dict[str, Any] = configuration.document["metrics"]["metrics_collected"]
    return sections


# --- accelerators ---------------------------------------------------------------------------------


@settings(max_examples=40)
@given(types=fleets, telemetry=options)
def test_every_configuration_passes_the_agents_schema(types: Sequence[AcceleratedType], telemetry: Telemetry) -> None:
    configuration = AgentConfiguration.full(types, telemetry)
    assert agent_schema_faults(json.loads(configuration.to_json())) == []
    assert largest_size(configuration.to_json()) <= 4096


@settings(max_examples=40)
@given(types=fleets, telemetry=options, gpus=st.integers(1, 8), arch=st.none() | st.just("Turing"))
def test_case_05_what_is_read_is_published_whatever_the_options_and_the_driver(
    types: Sequence[AcceleratedType], telemetry: Telemetry, gpus: int, arch: str | None
) -> None:
    series = _published(AgentConfiguration.full(types, telemetry), gpus, arch=arch, answers=FRACTION_MEASUREMENTS)
    for metric in ("nvidia_smi_utilization_gpu", "cpu_usage_active", "mem_used_percent"):
        assert ("AcceleratedFleet", metric, BY_INSTANCE) in series
        assert ("AcceleratedFleet", metric, BY_GROUP) in series


def test_case_05_the_names_of_the_readers_are_the_names_that_are_published() -> None:
    published = {name for _, name, _ in instance_series(_full("g6.xlarge").document, lookup("g6.xlarge"))}
    assert {NVIDIA.use_metric, names.CPU_UTILIZATION, names.DISK_UTILIZATION, *names.INSTANCE_METRICS} <= published
    assert names.DIMENSION_SETS == (("InstanceId",), ("AutoScalingGroupName",))


@pytest.mark.parametrize(
    ("types", "more"),
    [
        (["g6.xlarge"], {"power_draw", "temperature_gpu", "encoder_stats_session_count"}),
        (["p5.48xlarge"], {"power_draw", "temperature_gpu"}),
        (["p4d.24xlarge", "g6.xlarge"], {"power_draw", "temperature_gpu"}),
        (["g6f.large"], {"encoder_stats_session_count"}),
        (["g6f.large", "g6.xlarge"], {"encoder_stats_session_count"}),
    ],
)
def test_the_standard_measurements_are_those_that_every_type_reports(types: list[str], more: set[str]) -> None:
    always = {"utilization_gpu", "utilization_memory", "memory_used", "memory_total"}
    assert set(_sections(_full(*types))["nvidia_gpu"]["measurement"]) == always | more


def test_the_order_of_the_types_does_not_change_the_configuration() -> None:
    assert _full("g6.xlarge", "g5.xlarge").to_json() == _full("g5.xlarge", "g6.xlarge").to_json()


@pytest.mark.parametrize(
    ("name", "metric", "own"),
    [("g5.12xlarge", "nvidia_smi_utilization_gpu", 4), ("trn1.32xlarge", "accelerator_utilization", 16)],
)
def test_each_accelerator_has_its_own_series_unless_only_roll_ups_are_wanted(name: str, metric: str, own: int) -> None:
    def raw(telemetry: Telemetry) -> set[frozenset[tuple[str, str]]]:
        series = instance_series(_full(name, telemetry=telemetry).document, lookup(name))
        return {dims for _, each, dims in series if each == metric} - {BY_INSTANCE, BY_GROUP}

    assert len(raw(Telemetry())) == own
    assert raw(Telemetry(per_accelerator_series=False)) == set()


@pytest.mark.parametrize(
    "name",
    ["trn2.48xlarge", "inf2.xlarge", "dl1.24xlarge", "dl2q.24xlarge", "g4ad.xlarge", "f2.6xlarge", "vt1.3xlarge"],
)
def test_case_76_no_other_kind_gets_the_nvidia_section(name: str) -> None:
    assert set(_sections(_full(name))) == {"cpu", "mem", "disk", "statsd"}


def test_case_76_one_fleet_has_one_kind_of_accelerator() -> None:
    with pytest.raises(
        UnsupportedInstanceTypeError, match=r"must be of one kind of accelerator, got .*one fleet for each"
    ):
        _full("g6.xlarge", "inf2.xlarge")


def test_a_fleet_without_types_is_refused() -> None:
    with pytest.raises(ArgumentError, match="name at least one instance type"):
        AgentConfiguration.full([])


def test_case_21_the_group_and_instance_are_appended_as_the_agent_wants_them() -> None:
    for configuration in (_full("g6.xlarge"), _full("trn1.2xlarge"), AgentConfiguration.fallback()):
        assert configuration.document["metrics"]["append_dimensions"] == {
            "InstanceId": "${aws:InstanceId}",
            "AutoScalingGroupName": "${aws:AutoScalingGroupName}",
        }


# --- the host and StatsD --------------------------------------------------------------------------


def test_the_host_is_published_as_roll_ups_only() -> None:
    host = {(name, dims) for _, name, dims in _published(AgentConfiguration.fallback())}
    assert host == {
        (name, dims)
        for name in ("cpu_usage_active", "mem_used_percent", "disk_used_percent")
        for dims in (BY_INSTANCE, BY_GROUP)
    }


def test_case_20_the_fallback_names_no_accelerator_and_listens_to_the_node_program() -> None:
    fallback = AgentConfiguration.fallback()
    assert set(_sections(fallback)) == {"cpu", "mem", "disk", "statsd"}
    sent = _published(fallback, gpus=0, sent=[Sent("accelerators_missing")])
    assert ("AcceleratedFleet", "accelerators_missing", BY_GROUP) in sent


@pytest.mark.parametrize("name", ["g6.xlarge", "trn1.2xlarge"])
def test_only_this_machine_can_send_to_the_agent(name: str) -> None:
    for configuration in (_full(name), AgentConfiguration.fallback()):
        assert _sections(configuration)["statsd"]["service_address"] == "127.0.0.1:8125"


@pytest.mark.parametrize(
    ("seconds", "interval"),
    [(None, 60), (60, 60), (30, 30), (10, 10)],
)
def test_the_resolution_is_that_of_every_section(seconds: int | None, interval: int) -> None:
    telemetry = Telemetry(resolution=None if seconds is None else Duration.seconds(seconds))
    configuration = _full("g6.xlarge", telemetry=telemetry)
    assert configuration.document["agent"] == {"metrics_collection_interval": interval}
    statsd = _sections(configuration)["statsd"]
    assert statsd["metrics_aggregation_interval"] == interval
    assert statsd["metrics_collection_interval"] == 10
    assert agent_schema_faults(configuration.document) == []


def test_what_the_work_sends_is_kept_as_roll_ups() -> None:
    configuration = _full("g6.xlarge", telemetry=Telemetry(application_metrics=["latency_ms"]))
    sent = _published(configuration, sent=[Sent("latency_ms", "ms", (("model", "a"),)), Sent("unknown")])
    assert {dims for _, name, dims in sent if name == "latency_ms"} == {BY_INSTANCE, BY_GROUP}
    # Nobody declared this one, so it keeps what it came with.
    assert {len(dims) for _, name, dims in sent if name == "unknown"} == {1, 3}


def test_the_fallback_has_the_roll_ups_and_is_no_longer_for_what_the_work_sends() -> None:
    """It is in the user data, where each byte is one less for the team's script (16 KB, EC2 User Guide)."""
    telemetry = Telemetry(application_metrics=[f"metric_{number}" for number in range(50)])
    fallback = AgentConfiguration.fallback(telemetry)
    sent = {dims for _, name, dims in _published(fallback, sent=[Sent("metric_7", "ms")]) if name == "metric_7"}
    assert sent > {BY_INSTANCE, BY_GROUP}
    assert fallback == AgentConfiguration.fallback(Telemetry())
    assert "drop_original_metrics" not in _sections(fallback)["statsd"]


# --- network, swap, processes ---------------------------------------------------------------------


def test_network_counters_are_published_as_roll_ups() -> None:
    configuration = _full("p5.48xlarge", telemetry=Telemetry(network=True))
    sent = {(name, dims) for _, name, dims in _published(configuration, adapters=32)}
    for name in ALLOWANCES:
        assert {dims for each, dims in sent if each == name} == {BY_INSTANCE, BY_GROUP}
    adapters = {name for name, _ in sent if name.startswith("efa_")}
    assert {"efa_rdma_read_bytes", "efa_rdma_write_bytes", "efa_tx_bytes", "efa_rx_bytes"} <= adapters
    assert {name.removeprefix("efa_") for name in adapters} <= EFA_COUNTERS
    for name in adapters:
        assert {dims for each, dims in sent if each == name} == {BY_INSTANCE, BY_GROUP}


@pytest.mark.parametrize(
    ("types", "adapters"),
    [
        (["p5.48xlarge"], True),
        (["g6.xlarge"], False),
        (["g6.xlarge", "g6.8xlarge"], False),
        # Whether it has adapters is not known.
        (["dl1.24xlarge"], False),
        (["trn1.32xlarge", "trn2.48xlarge"], True),
    ],
)
def test_elastic_fabric_adapters_are_read_where_every_type_has_them(types: list[str], adapters: bool) -> None:
    sections = _sections(_full(*types, telemetry=Telemetry(network=True)))
    assert ("efa" in sections) is adapters
    assert "ethtool" in sections


def test_the_essential_configuration_leaves_out_what_an_agent_may_refuse() -> None:
    types, telemetry = [lookup("p5.48xlarge")], Telemetry(network=True, processes=["python"])
    full, essential = AgentConfiguration.full(types, telemetry), AgentConfiguration.essential(types, telemetry)
    assert essential is not None
    assert set(_sections(full)) - set(_sections(essential)) == {"efa", "ethtool", "procstat"}
    assert _published(essential, 8) < _published(full, 8)


@pytest.mark.parametrize("telemetry", [None, Telemetry(), Telemetry(swap=True, logs=FleetLogs())])
def test_there_is_no_essential_configuration_where_the_full_one_is_that(telemetry: Telemetry | None) -> None:
    assert AgentConfiguration.essential([lookup("g6.xlarge")], telemetry) is None


def test_without_the_node_program_nothing_listens_and_nothing_of_it_is_named() -> None:
    alone = AgentConfiguration.without_node_program([lookup("g6.xlarge")])
    assert set(_sections(alone)) == {"cpu", "mem", "disk", "nvidia_gpu"}
    # What the agent itself measures is the same.
    assert _published(alone) == _published(_full("g6.xlarge"))


def test_swap_is_published_on_request() -> None:
    sent = _published(_full("g6.xlarge", telemetry=Telemetry(swap=True)))
    assert {dims for _, name, dims in sent if name == "swap_used_percent"} == {BY_INSTANCE, BY_GROUP}
    assert "swap" not in _sections(_full("g6.xlarge"))


def test_processes_are_published_by_their_pattern() -> None:
    sent = _published(_full("g6.xlarge", telemetry=Telemetry(processes=["python.*worker"])))
    for name in ("procstat_cpu_usage", "procstat_memory_rss", "procstat_lookup_pid_count"):
        own = {dict(dims).get("pattern") for _, each, dims in sent if each == name}
        assert own == {None, "python.*worker"}
        assert ("AcceleratedFleet", name, BY_GROUP) in sent


# --- logs -----------------------------------------------------------------------------------------


def test_logs_go_to_the_fleets_group_in_streams_of_their_own() -> None:
    telemetry = Telemetry(logs=FleetLogs(files=["/var/log/worker.log", "/srv/app/*.log"]))
    for configuration in (_full("g6.xlarge", telemetry=telemetry), AgentConfiguration.fallback(telemetry)):
        entries = configuration.document["logs"]["logs_collected"]["files"]["collect_list"]
        assert {(each["file_path"], each["log_stream_name"]) for each in entries} == {
            ("/var/log/accelerated-fleet/faults.log", "{instance_id}/faults"),
            ("/var/log/worker.log", "{instance_id}/var/log/worker.log"),
            ("/srv/app/*.log", "{instance_id}/srv/app/_.log"),
        }
        assert {each["log_group_name"] for each in entries} == {"@LOG_GROUP@"}
        assert agent_schema_faults(configuration.document) == []


def test_there_is_no_log_section_without_logs() -> None:
    assert "logs" not in _full("g6.xlarge").document


# --- measurements ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ((), "must be a list of str that is not empty"),
        ("utilization_gpu", "must be a list of str that is not empty"),
        (("utilization_gpu", 5), "must be a list of str that is not empty"),
        (("utilization_gpu", "utilisation_memory"), "got 'utilisation_memory'; did you mean 'utilization_memory'"),
        (("utilization_gpu", "utilization_encoder"), "must be one of .*, got 'utilization_encoder'"),
        (("utilization_gpu", "nvidia_smi_utilization_gpu"), "must name each measurement once"),
        (("power_draw",), "must contain 'utilization_gpu'"),
    ],
)
def test_measurements_that_would_vanish_are_refused(chosen: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=rf"measurements {message}" if message.startswith("must") else message):
        _full("g6.xlarge", telemetry=Telemetry(measurements=chosen))


@pytest.mark.parametrize(
    ("name", "chosen", "message"),
    [
        ("trn1.2xlarge", ("utilization", "power"), "must be one of memory_used, utilization, got 'power'"),
        ("trn1.2xlarge", ("memory_used",), "must contain 'utilization'"),
        ("f2.6xlarge", ("power",), "must contain 'transfers'"),
        ("f2.6xlarge", ("utilization",), "got 'utilization'"),
        ("vt1.3xlarge", ("utilization_gpu",), "did you mean 'utilization'"),
    ],
)
def test_measurements_of_another_kind_are_refused(name: str, chosen: tuple[str, ...], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        _full(name, telemetry=Telemetry(measurements=chosen))


def test_a_measurement_that_no_type_can_answer_is_refused() -> None:
    wanted = Telemetry(measurements=["utilization_gpu", "power_draw"])
    with pytest.raises(ArgumentError, match=r"must be readable on g6f\.large, got 'power_draw'; remove it"):
        _full("g6f.large", telemetry=wanted)
    assert "power_draw" in _full("g6f.large", "g6.xlarge", telemetry=wanted).to_json()


def test_the_agents_own_prefix_is_accepted_in_measurements() -> None:
    telemetry = Telemetry(measurements=["nvidia_smi_utilization_gpu", "memory_free"])
    section = _sections(_full("g6.xlarge", telemetry=telemetry))["nvidia_gpu"]
    assert section["measurement"] == ["utilization_gpu", "memory_free"]


def test_the_node_program_publishes_what_the_agent_does_not() -> None:
    def node(name: str, telemetry: Telemetry) -> tuple[str, ...]:
        types = [lookup(name)]
        return telemetry.node_measurements(kind_of(types), types)

    assert node("g6.xlarge", Telemetry()) == ()
    assert node("inf2.xlarge", Telemetry()) == ("utilization", "memory_used")
    assert node("dl1.24xlarge", Telemetry(measurements=["utilization", "power"])) == ("utilization", "power")


def test_the_measurements_are_exactly_those_that_the_agent_accepts() -> None:
    assert {measurement.name for measurement in NVIDIA.measurements} == NVIDIA_MEASUREMENTS
    fraction = lookup("g6f.large")
    readable = {measurement.name for measurement in NVIDIA.measurements if measurement.readable_on(fraction)}
    assert readable == FRACTION_MEASUREMENTS


# --- the text -------------------------------------------------------------------------------------


def test_the_document_is_compact_and_says_each_key_in_order() -> None:
    text = _full("g6.xlarge").to_json()
    assert text == json.dumps(json.loads(text), separators=(",", ":"), sort_keys=True)
