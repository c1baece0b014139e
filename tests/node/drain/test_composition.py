"""The parts put together, on this machine: a metadata service and an `aws` of our own, and no clock."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from constructs_lib.node import instance_metadata, names
from constructs_lib.node.composition import AlreadyRunning
from constructs_lib.node.drain import composition
from constructs_lib.node.drain.composition import steady_clock
from constructs_lib.node.instance_metadata import Identity
from constructs_lib.node.places import Places
from constructs_lib.node.readings import Device, Reading
from constructs_lib.node.settings import Drain, Settings
from constructs_lib.node.status import document

IDENTITY = Identity("i-1", "g6.xlarge", 1_796_040_000.0, "eu-west-1")
SETTINGS = Settings("nvidia", expected={"g6.xlarge": 1}, drain=Drain(300, "AcceleratedFleet"))
AWS = """#!/bin/sh
echo "$*" >>"$RECORD"
case $2 in describe-tags) echo '["fleet"]' ;; esac
"""


class Rounds:
    """Lets the program go round so many times, and then stops it."""

    def __init__(self, rounds: int) -> None:
        self.left = rounds
        self.signals: tuple[signal.Signals, ...] = ()

    def listen_to(self, signals: tuple[signal.Signals, ...]) -> None:
        self.signals = signals

    def wait(self, seconds: float) -> bool:
        self.left -= 1
        return self.left <= 0


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What `aws` is called with."""
    tool = tmp_path / "bin" / "aws"
    tool.parent.mkdir()
    tool.write_text(AWS)
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("RECORD", str(tmp_path / "record"))
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    monkeypatch.setattr(instance_metadata, "fetch_identity", lambda: IDENTITY)
    return tmp_path / "record"


def metadata(monkeypatch: pytest.MonkeyPatch, answer: Callable[[str], str | None]) -> None:
    class Session:
        def read(self, path: str) -> str | None:
            return answer(path)

    monkeypatch.setattr(instance_metadata, "Session", Session)


def idle(places: Places) -> None:
    path = places.file(names.STATUS_FILE)
    path.parent.mkdir(parents=True)
    later = time.time() + 60  # only a reading from after the beginning of the drain says something
    path.write_text(json.dumps(document("nvidia", 60, later, Reading((Device(0, 0.0),)), (), {}, {})))


def events(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_an_idle_instance_completes_its_hook(
    record: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rounds = Rounds(2)
    monkeypatch.setattr(composition, "StopRequest", lambda: rounds)
    metadata(monkeypatch, lambda path: "Terminated" if path.endswith("target-lifecycle-state") else None)
    idle(Places(tmp_path))
    composition.run(SETTINGS, Places(tmp_path))
    assert set(rounds.signals) == {signal.SIGTERM, signal.SIGINT}
    told = events(capsys)
    if any(event.get("part") == "busy marks" for event in told):
        pytest.skip("this machine's kernel does not show locks of the directory's file system")
    called = [line.split()[1] for line in record.read_text().splitlines()]
    assert called == ["describe-tags", "put-metric-data", "complete-lifecycle-action"]
    assert [event["event"] for event in told] == ["starts", "drains", "drained", "hook completed", "ends"]
    assert json.loads((tmp_path / names.DRAINING.lstrip("/")).read_text())["reason"] == "termination"
    assert (tmp_path / names.DRAINING.lstrip("/")).stat().st_mode & 0o044 == 0o044


def test_an_instance_in_service_asks_nothing_of_aws(
    record: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(composition, "StopRequest", lambda: Rounds(3))
    metadata(monkeypatch, lambda path: "InService" if path.endswith("target-lifecycle-state") else None)
    composition.run(SETTINGS, Places(tmp_path))
    assert not record.exists()
    assert [event["event"] for event in events(capsys)] == ["starts", "ends"]


def test_there_is_only_one_and_it_is_not_the_one_that_measures(tmp_path: Path) -> None:
    lock = tmp_path / names.STATE_DIRECTORY.lstrip("/") / "drain-running"
    lock.parent.mkdir(parents=True)
    with lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(AlreadyRunning, match="stop that one first"):
            composition.run(SETTINGS, Places(tmp_path))


def test_settings_without_a_drain_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="ask for no drain"):
        composition.run(Settings("nvidia"), Places(tmp_path))


def test_the_clock_is_that_of_the_wall_when_it_begins_and_then_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    wall, boot = [1_800_000_000.0], [100.0]
    monkeypatch.setattr("time.time", lambda: wall[0])
    monkeypatch.setattr("time.clock_gettime", lambda clock: boot[0])
    now = steady_clock()
    assert now() == 1_800_000_000.0
    wall[0] -= 86_400
    boot[0] += 5
    assert now() == 1_800_000_005.0
