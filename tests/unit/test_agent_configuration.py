"""The configuration that the CloudWatch agent gets, judged by what the agent then publishes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constructs_lib.catalog import AcceleratedType, known_types, lookup
from constructs_lib.errors import ArgumentError, UnsupportedInstanceTypeError
from constructs_lib.telemetry import NVIDIA, AgentConfiguration, Telemetry, names
from tests.support.agent_model import FRACTION_MEASUREMENTS, NVIDIA_MEASUREMENTS, published_series
from tests.support.agent_schema import agent_schema_faults

BY_INSTANCE = frozenset({("InstanceId", "i-1")})
BY_GROUP = frozenset({("AutoScalingGroupName", "fleet")})

nvidia_types = st.sampled_from([each for each in known_types().values() if each.kind == "nvidia"])
fleets = st.lists(nvidia_types, min_size=1, max_size=4)
measurements = st.none() | st.lists(
    st.sampled_from(sorted(FRACTION_MEASUREMENTS - {"utilization_gpu"})), unique=True, max_size=16
).map(lambda chosen: ("utilization_gpu", *chosen))
options = st.builds(Telemetry, measurements=measurements, per_accelerator_series=st.booleans())


def _published(configuration: AgentConfiguration, gpus: int = 1, **facts: Any) -> set[tuple[str, str, Any]]:
    config = json.loads(configuration.to_json())
    return published_series(config, instance_id="i-1", group="fleet", gpus=gpus, **facts)


def _full(*names: str, telemetry: Telemetry | None = None) -> AgentConfiguration:
    return AgentConfiguration.full([lookup(name) for name in names], telemetry)


@settings(max_examples=60, deadline=None)
@given(types=fleets, telemetry=options)
def test_every_configuration_passes_the_agents_schema_and_fits_a_standard_parameter(
    types: Sequence[AcceleratedType], telemetry: Telemetry
) -> None:
    configuration = AgentConfiguration.full(types, telemetry)
    assert agent_schema_faults(json.loads(configuration.to_json())) == []
    assert len(configuration.to_json().encode()) <= 4096


def test_the_fallback_passes_the_agents_schema() -> None:
    assert agent_schema_faults(json.loads(AgentConfiguration.fallback().to_json())) == []


@settings(max_examples=60, deadline=None)
@given(types=fleets, telemetry=options, gpus=st.integers(1, 8), arch=st.none() | st.just("Turing"))
def test_case_05_what_is_read_is_published_whatever_the_options_and_the_driver(
    types: Sequence[AcceleratedType], telemetry: Telemetry, gpus: int, arch: str | None
) -> None:
    series = _published(AgentConfiguration.full(types, telemetry), gpus, arch=arch, answers=FRACTION_MEASUREMENTS)
    for metric in ("nvidia_smi_utilization_gpu", "cpu_usage_active", "mem_used_percent"):
        assert ("AcceleratedFleet", metric, BY_INSTANCE) in series
        assert ("AcceleratedFleet", metric, BY_GROUP) in series


def test_case_05_the_names_of_the_readers_are_the_names_that_are_published() -> None:
    published = {name for _, name, _ in _published(_full("g6.xlarge"))}
    assert {NVIDIA.utilization_metric, names.HEARTBEAT, names.CPU_UTILIZATION, names.DISK_UTILIZATION} <= published
    assert names.HEARTBEAT == "mem_used_percent"
    assert names.DIMENSION_SETS == (("InstanceId",), ("AutoScalingGroupName",))


@pytest.mark.parametrize(
    ("types", "measured"),
    [
        (
            ["g6.xlarge"],
            {
                "utilization_gpu",
                "utilization_memory",
                "memory_used",
                "memory_total",
                "power_draw",
                "temperature_gpu",
                "encoder_stats_session_count",
            },
        ),
        (
            ["p5.48xlarge"],
            {"utilization_gpu", "utilization_memory", "memory_used", "memory_total", "power_draw", "temperature_gpu"},
        ),
        (
            ["p4d.24xlarge", "g6.xlarge"],
            {"utilization_gpu", "utilization_memory", "memory_used", "memory_total", "power_draw", "temperature_gpu"},
        ),
        (
            ["g6f.large"],
            {
                "utilization_gpu",
                "utilization_memory",
                "memory_used",
                "memory_total",
                "encoder_stats_session_count",
            },
        ),
        (
            ["g6f.large", "g6.xlarge"],
            {
                "utilization_gpu",
                "utilization_memory",
                "memory_used",
                "memory_total",
                "encoder_stats_session_count",
            },
        ),
    ],
)
def test_the_standard_measurements_are_those_that_every_type_reports(types: list[str], measured: set[str]) -> None:
    document = _full(*types).document
    assert set(document["metrics"]["metrics_collected"]["nvidia_gpu"]["measurement"]) == measured


def test_the_order_of_the_types_does_not_change_the_configuration() -> None:
    assert _full("g6.xlarge", "g5.xlarge").to_json() == _full("g5.xlarge", "g6.xlarge").to_json()


def test_each_accelerator_has_its_own_series_unless_only_roll_ups_are_wanted() -> None:
    def raw(telemetry: Telemetry) -> set[frozenset[tuple[str, str]]]:
        series = _published(_full("g5.12xlarge", telemetry=telemetry), gpus=4)
        return {dims for _, name, dims in series if name == "nvidia_smi_utilization_gpu"} - {BY_INSTANCE, BY_GROUP}

    assert len(raw(Telemetry())) == 4
    assert raw(Telemetry(per_accelerator_series=False)) == set()


def test_the_host_is_published_as_roll_ups_only() -> None:
    host = {(name, dims) for _, name, dims in _published(AgentConfiguration.fallback())}
    assert host == {
        (name, dims)
        for name in ("cpu_usage_active", "mem_used_percent", "disk_used_percent", "accelerator_unreadable")
        for dims in (BY_INSTANCE, BY_GROUP)
    }


def test_case_20_the_fallback_names_no_accelerator_and_says_that_it_cannot_be_read() -> None:
    fallback = AgentConfiguration.fallback()
    assert set(fallback.document["metrics"]["metrics_collected"]) == {"cpu", "mem", "disk"}
    assert ("AcceleratedFleet", "accelerator_unreadable", BY_GROUP) in _published(fallback, gpus=0)


def test_case_20_a_readable_accelerator_is_never_reported_as_unreadable() -> None:
    assert "accelerator_unreadable" not in {name for _, name, _ in _published(_full("g6.xlarge"))}


def test_case_21_the_group_and_instance_are_appended_as_the_agent_wants_them() -> None:
    for configuration in (_full("g6.xlarge"), AgentConfiguration.fallback()):
        assert configuration.document["metrics"]["append_dimensions"] == {
            "InstanceId": "${aws:InstanceId}",
            "AutoScalingGroupName": "${aws:AutoScalingGroupName}",
        }


@pytest.mark.parametrize(
    "name", ["trn2.48xlarge", "inf2.xlarge", "dl1.24xlarge", "g4ad.xlarge", "f2.6xlarge", "vt1.3xlarge"]
)
def test_case_76_other_accelerators_get_no_nvidia_section_but_an_error(name: str) -> None:
    with pytest.raises(
        UnsupportedInstanceTypeError, match=rf"Fleet: instance_types .*got \['{name} .*not supported yet"
    ):
        AgentConfiguration.full([lookup(name)], where="Fleet")


def test_case_76_one_fleet_has_one_kind_of_accelerator() -> None:
    with pytest.raises(
        UnsupportedInstanceTypeError, match=r"must be of one kind of accelerator, got .*one fleet for each"
    ):
        _full("g6.xlarge", "inf2.xlarge")


def test_a_fleet_without_types_is_refused() -> None:
    with pytest.raises(ArgumentError, match="name at least one instance type"):
        AgentConfiguration.full([])


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


def test_a_measurement_that_no_type_can_answer_is_refused() -> None:
    wanted = Telemetry(measurements=["utilization_gpu", "power_draw"])
    with pytest.raises(ArgumentError, match=r"must be readable on g6f\.large, got 'power_draw'; remove it"):
        _full("g6f.large", telemetry=wanted)
    assert "power_draw" in _full("g6f.large", "g6.xlarge", telemetry=wanted).to_json()


def test_the_agents_own_prefix_is_accepted_in_measurements() -> None:
    telemetry = Telemetry(measurements=["nvidia_smi_utilization_gpu", "memory_free"])
    section = _full("g6.xlarge", telemetry=telemetry).document["metrics"]["metrics_collected"]["nvidia_gpu"]
    assert section["measurement"] == ["utilization_gpu", "memory_free"]


@pytest.mark.parametrize("value", ["no", 0])
def test_per_accelerator_series_is_yes_or_no(value: Any) -> None:
    with pytest.raises(ArgumentError, match="Telemetry: per_accelerator_series must be of type bool"):
        Telemetry(per_accelerator_series=value)


def test_the_measurements_are_exactly_those_that_the_agent_accepts() -> None:
    assert {measurement.name for measurement in NVIDIA.measurements} == NVIDIA_MEASUREMENTS
    fraction = lookup("g6f.large")
    readable = {measurement.name for measurement in NVIDIA.measurements if measurement.readable_on(fraction)}
    assert readable == FRACTION_MEASUREMENTS


def test_the_document_is_compact_and_says_each_key_in_order() -> None:
    text = _full("g6.xlarge").to_json()
    assert text == json.dumps(json.loads(text), separators=(",", ":"), sort_keys=True)


def test_a_list_that_changes_later_does_not_change_the_telemetry() -> None:
    chosen = ["utilization_gpu"]
    telemetry = Telemetry(measurements=chosen)
    chosen.append("power_draw")
    assert telemetry.measurements == ("utilization_gpu",)
