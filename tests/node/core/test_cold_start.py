"""Cold start: from the launch to the driver, the agent and the first use, each once in the instance's life."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.node import names
from constructs_lib.node.cold_start import Life, due, load_life, moment_in, parse_life, published, save_life
from constructs_lib.node.statsd import Metric

DRIVER, AGENT, FIRST_USE = names.COLD_START_DRIVER, names.COLD_START_AGENT, names.COLD_START_FIRST_USE
LAUNCHED = 1_800_000_000.0
NEW = Life("i-1", "boot-1")


def test_each_is_the_time_since_the_launch() -> None:
    moments = {DRIVER: LAUNCHED + 95, AGENT: LAUNCHED + 120.5, FIRST_USE: LAUNCHED + 3600}
    assert due(NEW, "boot-1", LAUNCHED, moments) == (
        (Metric(DRIVER, 95), Metric(AGENT, 120.5), Metric(FIRST_USE, 3600)),
        (),
    )


def test_what_has_not_come_to_pass_is_not_due() -> None:
    assert due(NEW, "boot-1", LAUNCHED, {DRIVER: None, AGENT: None, FIRST_USE: None}) == ((), ())


def test_each_is_published_once() -> None:
    moments = {DRIVER: LAUNCHED + 95, AGENT: None, FIRST_USE: None}
    metrics, _ = due(NEW, "boot-1", LAUNCHED, moments)
    life = published(NEW, metrics)
    assert due(life, "boot-1", LAUNCHED, moments) == ((), ())
    assert due(life, "boot-1", LAUNCHED, {**moments, AGENT: LAUNCHED + 96})[0] == (Metric(AGENT, 96),)


def test_a_later_boot_says_nothing_about_the_driver_and_the_agent() -> None:
    moments = {DRIVER: LAUNCHED + 86400, AGENT: LAUNCHED + 86410, FIRST_USE: LAUNCHED + 86500}
    assert due(NEW, "boot-2", LAUNCHED, moments)[0] == (Metric(FIRST_USE, 86500),)


def test_what_lies_before_the_launch_is_doubted_not_published() -> None:
    metrics, doubts = due(NEW, "boot-1", LAUNCHED, {DRIVER: LAUNCHED - 7, AGENT: LAUNCHED + 1})
    assert metrics == (Metric(AGENT, 1),)
    assert doubts == (f"{DRIVER}: 7 s before the launch",)


def test_a_life_is_kept_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "lib" / "cold-start.json"
    life = Life("i-1", "boot-1", (DRIVER, FIRST_USE))
    save_life(path, life)
    assert load_life(path, "i-1", "boot-9") == life


def test_an_instance_of_an_image_of_another_begins_its_own_life(tmp_path: Path) -> None:
    path = tmp_path / "cold-start.json"
    save_life(path, Life("i-1", "boot-1", (DRIVER,)))
    assert load_life(path, "i-2", "boot-2") == Life("i-2", "boot-2")


def test_a_life_that_was_never_written_is_a_new_one(tmp_path: Path) -> None:
    assert load_life(tmp_path / "cold-start.json", "i-1", "boot-1") == NEW


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{}",
        '{"instance": 1, "boot": "b", "published": []}',
        '{"instance": "i", "boot": "b", "published": "cold_start_driver_seconds"}',
        '{"instance": "i", "boot": "b", "published": ["other"]}',
        '{"instance": "i", "boot": "b", "published": [[]]}',
        "[" * 100_000,
    ],
)
def test_what_is_no_life_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        parse_life(text)


@given(st.text())
def test_any_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        parse_life(text)


@pytest.mark.parametrize(("text", "moment"), [("1800000095\n", 1_800_000_095.0), ("1800000095.25", 1_800_000_095.25)])
def test_the_boot_script_leaves_epoch_seconds(tmp_path: Path, text: str, moment: float) -> None:
    (tmp_path / "driver-ready").write_text(text)
    assert moment_in(tmp_path / "driver-ready") == moment


def test_a_moment_that_has_not_come_is_none(tmp_path: Path) -> None:
    assert moment_in(tmp_path / "driver-ready") is None


@pytest.mark.parametrize("content", [b"", b"soon", b"nan", b"inf", b"-5", b"0", b"\xff", b"1" * (2 << 20)])
def test_what_is_no_moment_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "driver-ready").write_bytes(content)
    with pytest.raises(ValueError, match=r"\S"):
        moment_in(tmp_path / "driver-ready")
