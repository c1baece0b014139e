"""The settings file: the whole of it is understood, and what is wrong is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.node.settings import (
    Drain,
    LustreMount,
    MachineSetup,
    Settings,
    SettingsError,
    load_settings,
    parse_settings,
)

FULL: dict[str, Any] = {
    "kind": "nvidia",
    "interval_seconds": 30,
    "statsd": "127.0.0.1:9125",
    "use_threshold": 2.5,
    "measurements": ["utilization", "power"],
    "expected": {"g6.xlarge": 1, "u7i-12tb.224xlarge": 4},
    "setup": {
        "persistence_mode": True,
        "application_clocks": {"g6": [6251, 2040], "p6-b200": [3996, 1965]},
        "instance_store": "/mnt/data",
        "lustre": {"/fsx": {"source": "fs-0.fsx.eu-west-1.amazonaws.com@tcp:/abcdefgh", "read_only": True}},
        "huge_pages": 512,
        "open_files": 1048576,
    },
    "drain": {
        "deadline_seconds": 600,
        "namespace": "AcceleratedFleet",
        "signal": "SIGUSR1",
        "command": "finish",
        "checkpoint_command": "save",
        "drain_on_rebalance": True,
    },
    "network": True,
}

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def parse(document: object) -> Settings:
    return parse_settings(json.dumps(document), "node.json")


def test_everything_that_can_be_asked_for_is_read() -> None:
    assert parse(FULL) == Settings(
        kind="nvidia",
        interval_seconds=30,
        statsd=("127.0.0.1", 9125),
        use_threshold=2.5,
        measurements=("utilization", "power"),
        expected={"g6.xlarge": 1, "u7i-12tb.224xlarge": 4},
        setup=MachineSetup(
            persistence_mode=True,
            application_clocks={"g6": (6251, 2040), "p6-b200": (3996, 1965)},
            instance_store="/mnt/data",
            lustre={"/fsx": LustreMount("fs-0.fsx.eu-west-1.amazonaws.com@tcp:/abcdefgh", read_only=True)},
            huge_pages=512,
            open_files=1048576,
        ),
        drain=Drain(600, "AcceleratedFleet", "SIGUSR1", "finish", "save", True),
        network=True,
    )


def test_only_the_kind_is_needed() -> None:
    assert parse({"kind": "fpga"}) == Settings("fpga", 60, ("127.0.0.1", 8125), 5.0, (), {}, None)


def test_what_was_not_asked_for_is_left_alone() -> None:
    setup = parse({"kind": "nvidia", "setup": {"persistence_mode": False, "huge_pages": 2}}).setup
    assert setup is not None
    assert setup.asked == ("huge_pages",)
    assert setup.open_files is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("kind", "../nvidia"),
        ("kind", ""),
        ("kind", None),
        ("kind", "NVIDIA"),
        ("interval_seconds", 9),
        ("interval_seconds", 601),
        ("interval_seconds", 60.0),
        ("interval_seconds", True),
        ("statsd", "10.0.0.1:8125"),
        ("statsd", "0.0.0.0:8125"),
        ("statsd", "localhost:8125"),
        ("statsd", "127.0.0.1"),
        ("statsd", "127.0.0.1:0"),
        ("statsd", "127.0.0.1:65536"),
        ("statsd", "127.0.0.999:8125"),
        ("statsd", 8125),
        ("use_threshold", 0),
        ("use_threshold", -1),
        ("use_threshold", "5"),
        ("use_threshold", True),
        ("use_threshold", 10**400),
        ("measurements", ["clock"]),
        ("measurements", ["power", "power"]),
        ("measurements", "power"),
        ("measurements", [["power"]]),
        ("expected", []),
        ("expected", {"g6.xlarge": 0}),
        ("expected", {"g6.xlarge": 1.0}),
        ("expected", {"g6": 1}),
        ("setup", []),
        ("drain", []),
        ("network", 1),
        ("colour", "red"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(key: str, value: object) -> None:
    with pytest.raises(SettingsError, match=rf"node\.json: {key}.* must .*; correct it"):
        parse({**FULL, key: value})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("persistence_mode", 1),
        ("application_clocks", {"g6": [6251]}),
        ("application_clocks", {"g6": [6251, "2040"]}),
        ("application_clocks", {"g6.xlarge": [6251, 2040]}),
        ("application_clocks", [6251, 2040]),
        ("instance_store", "mnt/data"),
        ("instance_store", "/"),
        ("instance_store", "/mnt/../etc"),
        ("instance_store", "/mnt/a b"),
        ("instance_store", "/mnt/data\n"),
        ("lustre", "/fsx"),
        ("lustre", {"fsx": {"source": "server@tcp:/name"}}),
        ("lustre", {"/fsx": "server@tcp:/name"}),
        ("lustre", {"/fsx": {}}),
        ("lustre", {"/fsx": {"source": "server:/name"}}),
        ("lustre", {"/fsx": {"source": "server@tcp:/name -o exec"}}),
        ("lustre", {"/fsx": {"source": "-server@tcp:/name/"}}),
        ("lustre", {"/fsx": {"source": "server@tcp:/name", "read_only": 1}}),
        ("lustre", {"/fsx": {"source": "server@tcp:/name", "options": "exec"}}),
        ("huge_pages", 0),
        ("huge_pages", "512"),
        ("open_files", 10),
        ("mig", True),
    ],
)
def test_a_setting_of_the_machine_that_cannot_be_used_is_named(key: str, value: object) -> None:
    with pytest.raises(SettingsError, match=rf"node\.json: setup\.{key}.* must "):
        parse({"kind": "nvidia", "setup": {key: value}})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("deadline_seconds", 29),
        ("deadline_seconds", 6_901),
        ("deadline_seconds", 60.0),
        ("deadline_seconds", True),
        ("namespace", ""),
        ("namespace", "a b"),
        ("signal", "SIGKILL"),
        ("signal", 15),
        ("signal", []),
        ("command", ""),
        ("command", ["finish"]),
        ("checkpoint_command", "a\0b"),
        ("drain_on_rebalance", 1),
        ("hook", "Drain"),
    ],
)
def test_a_setting_of_the_drain_that_cannot_be_used_is_named(key: str, value: object) -> None:
    with pytest.raises(SettingsError, match=rf"node\.json: drain\.{key}.* must "):
        parse({"kind": "nvidia", "drain": {**FULL["drain"], key: value}})


@pytest.mark.parametrize("key", ["deadline_seconds", "namespace"])
def test_a_drain_without_what_it_needs_is_refused(key: str) -> None:
    with pytest.raises(SettingsError, match=rf"drain\.{key} must be given"):
        parse({"kind": "nvidia", "drain": {name: value for name, value in FULL["drain"].items() if name != key}})


@pytest.mark.parametrize("literal", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_threshold_that_is_no_number_is_refused(literal: str) -> None:
    with pytest.raises(SettingsError, match="use_threshold"):
        parse_settings(f'{{"kind": "nvidia", "use_threshold": {literal}}}', "node.json")


def test_a_file_without_a_kind_is_refused() -> None:
    with pytest.raises(SettingsError, match="kind must be given"):
        parse({})


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"nvidia"', "[" * 100_000, "9" * 5000])
def test_what_is_no_settings_file_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match=r"^node\.json: the (settings|file) must be "):
        parse_settings(text, "node.json")


def test_a_file_that_is_not_there_says_who_writes_it(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"node\.json: the settings cannot be read .* boot script"):
        load_settings(tmp_path / "node.json")


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "node.json").write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match="cannot be read"):
        load_settings(tmp_path / "node.json")


def test_a_long_value_is_cut_in_the_message() -> None:
    with pytest.raises(SettingsError) as caught:
        parse({"kind": "x" * 10_000})
    assert len(str(caught.value)) < 400


@given(key=st.sampled_from([*FULL]), value=_JSON)
def test_any_value_is_understood_or_refused(key: str, value: object) -> None:
    try:
        settings = parse({**FULL, key: value})
    except SettingsError:
        return
    assert settings.statsd[0].startswith("127.")
    assert settings.use_threshold > 0
    assert all(count >= 1 for count in settings.expected.values())


@given(key=st.sampled_from([*FULL["setup"]]), value=_JSON)
def test_any_setting_of_the_machine_is_understood_or_refused(key: str, value: object) -> None:
    try:
        setup = parse({"kind": "nvidia", "setup": {key: value}}).setup
    except SettingsError:
        return
    assert setup is not None
    assert set(setup.asked) <= {key}


@given(key=st.sampled_from([*FULL["drain"]]), value=_JSON)
def test_any_setting_of_the_drain_is_understood_or_refused(key: str, value: object) -> None:
    try:
        drain = parse({"kind": "nvidia", "drain": {**FULL["drain"], key: value}}).drain
    except SettingsError:
        return
    assert drain is not None
    assert 30 <= drain.deadline_seconds <= 6_900
    assert drain.signal.startswith("SIG")


@given(st.text())
def test_any_text_is_understood_or_refused(text: str) -> None:
    with pytest.raises(SettingsError):
        parse_settings(text, "node.json")
