"""Every kind of accelerator has a description and a reader, and the two say the same."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

from constructs_lib.catalog import known_kinds, known_types, lookup
from constructs_lib.errors import ArgumentError, UnsupportedInstanceTypeError
from constructs_lib.fleet.machine_setup import MachineSetup
from constructs_lib.telemetry import kind_named, kind_of
from tests.support.node_model import devices_of

# What the figures of a Device (constructs_lib/node/readings.py) are called when they are published.
_FIGURES = {
    "utilization": ("%", 100),
    "transfers": ("transfers", None),
    "memory_used": ("MiB", None),
    "power": ("W", 5000),
    "temperature": ("°C", 200),
}
BY_AGENT = ("nvidia",)


@pytest.mark.parametrize("name", known_kinds())
def test_every_kind_of_the_catalogue_has_a_description_and_a_reader(name: str) -> None:
    kind = kind_named(name)
    assert kind.name == name
    assert kind.title
    assert kind.driver_probe
    reader = import_module(f"constructs_lib.node.readers.{name}")
    assert callable(reader.parse)
    assert reader.commands(1)
    for line in reader.FAULT_LINES:
        re.compile(line)


def test_there_is_a_description_for_every_kind_and_no_other() -> None:
    with pytest.raises(ModuleNotFoundError):
        kind_named("tpu")
    assert set(known_kinds()) == {"nvidia", "neuron", "gaudi", "qualcomm", "fpga", "media", "amd"}


@pytest.mark.parametrize("each", known_types().values(), ids=lambda each: each.name)
def test_every_type_is_of_a_kind_that_can_be_measured(each: object) -> None:
    kind = kind_of([each])  # type: ignore[list-item]
    assert kind.use in kind.standard_measurements([each])  # type: ignore[list-item]
    assert kind.devices(each) == devices_of(each)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", known_kinds())
def test_figures_have_the_units_and_ranges_that_the_readers_keep(name: str) -> None:
    kind = kind_named(name)
    assert (kind.agent_section is not None) == (name in BY_AGENT)
    for each in kind.measurements if kind.agent_section is None else ():
        assert (each.unit, each.maximum) == _FIGURES[each.name]
        assert each.minimum == (-50 if each.name == "temperature" else 0)
        assert kind.metric_name(each.name) == f"accelerator_{each.name}"
    roles = {kind.use, kind.memory, kind.power} - {None}
    assert roles <= {each.name for each in kind.measurements}
    units = {kind.memory: "MiB", kind.power: "W"}
    assert all(kind.measurement(role).unit == unit for role, unit in units.items() if role is not None)


@pytest.mark.parametrize(("name", "below"), [("fpga", 1.0), ("nvidia", None), ("neuron", None), ("media", None)])
def test_only_transfers_have_an_idleness_of_their_own(name: str, below: float | None) -> None:
    assert kind_named(name).idle_below == below


@pytest.mark.parametrize(("name", "devices"), [("vt1.3xlarge", 2), ("vt1.24xlarge", 16), ("inf2.48xlarge", 12)])
def test_a_media_card_shows_as_two_devices(name: str, devices: int) -> None:
    facts = lookup(name)
    assert kind_of([facts]).devices(facts) == devices


@pytest.mark.parametrize(
    ("name", "system", "parameter"),
    [
        (
            "nvidia",
            "ubuntu-24.04",
            "/aws/service/deeplearning/ami/arm64/base-oss-nvidia-driver-gpu-ubuntu-24.04/latest/ami-id",
        ),
        (
            "nvidia",
            "amazon-linux-2023",
            "/aws/service/deeplearning/ami/arm64/base-oss-nvidia-driver-gpu-amazon-linux-2023/latest/ami-id",
        ),
        ("neuron", "ubuntu-24.04", "/aws/service/neuron/dlami/base/ubuntu-24.04/latest/image_id"),
        ("neuron", "amazon-linux-2023", "/aws/service/neuron/dlami/base/amazon-linux-2023/latest/image_id"),
    ],
)
def test_images_are_those_that_aws_publishes(name: str, system: str, parameter: str) -> None:
    assert kind_named(name).images[system].format(architecture="arm64") == parameter


def test_images_are_promised_only_where_they_are_known() -> None:
    systems = {name: set(kind_named(name).images) for name in known_kinds()}
    assert systems.pop("nvidia") == {"amazon-linux-2023", "ubuntu-22.04", "ubuntu-24.04"}
    assert systems.pop("neuron") == {"amazon-linux-2023", "ubuntu-24.04"}
    assert set().union(*systems.values()) == set()
    assert kind_named("neuron").image_lacks == {"inf1"}


def test_the_settings_of_a_kind_are_settings_of_the_machine() -> None:
    settings = {name: kind_named(name).machine_settings for name in known_kinds()}
    assert settings.pop("nvidia") == {"persistence_mode", "application_clocks"}
    assert set().union(*settings.values()) == set()
    for setting in kind_named("nvidia").machine_settings:
        assert MachineSetup(**{setting: True}).settings([lookup("g6.xlarge")]).keys() == {setting}


def test_case_76_a_probe_lists_devices_and_is_no_version() -> None:
    for name in known_kinds():
        assert not {"--version", "-v", "-V"} & set(kind_named(name).driver_probe.split())
    assert kind_named("nvidia").driver_probe == "/usr/bin/nvidia-smi -L"


def test_case_76_types_of_several_kinds_are_refused() -> None:
    with pytest.raises(UnsupportedInstanceTypeError, match=r"Fleet: instance_types must be of one kind"):
        kind_of([lookup("g6.xlarge"), lookup("inf2.xlarge")], where="Fleet")
    with pytest.raises(ArgumentError, match="must name at least one instance type"):
        kind_of([])
