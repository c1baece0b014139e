"""What is still on the instance: marks from the kernel, use from the last reading."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from constructs_lib.node import busy, names, status
from constructs_lib.node.drain.decision import Work
from constructs_lib.node.drain.work import look
from constructs_lib.node.events import Events
from constructs_lib.node.guard import Guard
from constructs_lib.node.places import Places
from constructs_lib.node.readings import Answer, Device, NoReading, Reading
from constructs_lib.node.statsd import Metric
from tests.node.doors.processes import lock_holder

NOW = 1_800_000_000.0


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path)


def leave(places: Places, answer: Answer, metrics: Sequence[Metric] = (), age: float = 30.0) -> None:
    path = places.file(names.STATUS_FILE)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(status.document("nvidia", 60, NOW - age, answer, metrics, {}, {})))


def seen(places: Places, log: list[dict[str, Any]] | None = None) -> Work:
    lines: list[dict[str, Any]] = [] if log is None else log
    guard = Guard(Events(lambda line: lines.append(json.loads(line)), lambda: NOW))
    return look(places, 5.0, lambda: NOW, guard)


def in_use(places: Places) -> bool | None:
    return seen(places).in_use


@pytest.mark.parametrize(("use", "expected"), [(0.0, False), (4.9, False), (5.0, True), (100.0, True)])
def test_use_is_what_the_fleet_takes_for_use(places: Places, use: float, expected: bool) -> None:
    leave(places, Reading((Device(0, 0.0), Device(1, use))))
    assert in_use(places) is expected


def test_one_that_does_not_answer_beside_others_is_no_work_to_wait_for(places: Places) -> None:
    leave(places, Reading((Device(0, 0.0), Device(1, fault="GPU is lost"))))
    assert in_use(places) is False
    leave(places, Reading((Device(0, 90.0), Device(1, fault="GPU is lost"))))
    assert in_use(places) is True


def test_where_nobody_can_read_the_use_busy_marks_decide(places: Places) -> None:
    leave(places, Reading((Device(0, fault="MIG", use_unknown_by_design=True),)))
    assert in_use(places) is False


@pytest.mark.parametrize(("idle", "expected"), [(None, None), (0, True), (60, False)])
def test_a_count_is_compared_by_the_program_that_measures(
    places: Places, idle: int | None, expected: bool | None
) -> None:
    metrics = [] if idle is None else [Metric(names.IDLE_SECONDS, idle)]
    leave(places, Reading((Device(0, transfers=500),)), metrics)
    assert in_use(places) is expected


@pytest.mark.parametrize("cause", ["hung", "failed", "unreadable"])
def test_a_tool_that_says_nothing_is_no_idleness(places: Places, cause: str) -> None:
    leave(places, NoReading(cause, "no answer"))
    assert in_use(places) is None


def test_without_a_tool_there_is_no_driver_to_work_with(places: Places) -> None:
    leave(places, NoReading("missing", "nvidia-smi: not on this machine"))
    assert in_use(places) is False


@pytest.mark.parametrize(("age", "expected"), [(180, False), (181, None)])
def test_a_reading_of_long_ago_says_nothing(places: Places, age: float, expected: bool | None) -> None:
    """The program that measures is dead."""
    leave(places, Reading((Device(0, 0.0),)), age=age)
    assert in_use(places) is expected


@pytest.mark.parametrize(("age", "expected"), [(30, None), (29, False)])
def test_case_12_a_reading_from_before_the_drain_was_said_says_nothing(
    places: Places, age: float, expected: bool | None
) -> None:
    """A worker that holds no mark may have asked, heard of no drain and begun since."""
    leave(places, Reading((Device(0, 0.0),)), age=age)
    places.file(names.DRAINING).touch()
    os.utime(places.file(names.DRAINING), (NOW - 30, NOW - 30))
    assert in_use(places) is expected


def test_no_reading_yet_says_nothing(places: Places) -> None:
    log: list[dict[str, Any]] = []
    assert seen(places, log).in_use is None
    assert log == []


@pytest.mark.parametrize("text", ["", "[]", "{}", "[" * 100_000])
def test_a_reading_that_makes_no_sense_is_told_and_says_nothing(places: Places, text: str) -> None:
    log: list[dict[str, Any]] = []
    leave(places, Reading((Device(0, 0.0),)))
    places.file(names.STATUS_FILE).write_text(text)
    assert seen(places, log).in_use is None
    assert [line["part"] for line in log] == ["last reading"]


def test_only_marks_that_are_held_now_count(places: Places) -> None:
    directory = places.file(names.BUSY_DIRECTORY)
    busy.prepare_directory(directory)
    if busy.read_locks(directory) is None:
        pytest.skip("this machine's kernel does not show locks of the directory's file system")
    (directory / "just-left").touch()
    assert seen(places).marks == 0
    with lock_holder(directory / "held"):
        assert seen(places).marks == 1
    assert seen(places).marks == 0


def test_marks_that_cannot_be_counted_are_told_and_unknown(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_locks(directory: Path, tell: Any) -> None:
        tell("no list")

    monkeypatch.setattr(busy, "read_locks", read_locks)
    log: list[dict[str, Any]] = []
    assert seen(places, log).marks is None
    assert log[0]["reason"] == "no list"
