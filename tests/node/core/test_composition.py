"""The parts put together, on this machine: no accelerator here, and nobody who is not told so."""

from __future__ import annotations

import fcntl
import json
import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from constructs_lib.node import composition, instance_metadata, names
from constructs_lib.node.instance_metadata import Identity
from constructs_lib.node.places import Places
from constructs_lib.node.settings import Settings
from constructs_lib.node.statsd import Metric

SETTINGS = Settings("qualcomm", measurements=("utilization",), expected={"dl2q.24xlarge": 8})
IDENTITY = Identity("i-1", "dl2q.24xlarge", 1_796_040_000.0)


class Agent:
    def __init__(self) -> None:
        self.metrics: dict[str, float] = {}
        self.closed = False

    def send(self, metrics: Sequence[Metric]) -> None:
        self.metrics.update({metric.name: metric.value for metric in metrics})

    def close(self) -> None:
        self.closed = True


class OneInterval:
    """Lets the program read once, and then stops it."""

    def __init__(self) -> None:
        self.waits = 0
        self.signals: tuple[signal.Signals, ...] = ()

    def listen_to(self, signals: tuple[signal.Signals, ...]) -> None:
        self.signals = signals

    def wait(self, seconds: float) -> bool:
        self.waits += 1
        return self.waits > 1


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Agent]:
    agent = Agent()
    stop = OneInterval()
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    monkeypatch.setattr(composition, "connect", lambda address: agent)
    monkeypatch.setattr(composition, "StopRequest", lambda: stop)
    monkeypatch.setattr(instance_metadata, "fetch_identity", lambda: IDENTITY)
    yield agent
    assert agent.closed
    assert set(stop.signals) == {signal.SIGTERM, signal.SIGINT}


def test_it_runs_with_all_its_parts(agent: Agent, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    composition.run(SETTINGS, Places(tmp_path))
    assert agent.metrics[names.ACCELERATORS_MISSING] == 8
    assert names.HEARTBEAT not in agent.metrics
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [events[0]["event"], events[-1]["event"]] == ["starts", "ends"]
    missing = [event for event in events if event.get("part") == "accelerators"]
    assert [event["cause"] for event in missing] == ["missing"]
    assert (tmp_path / names.BUSY_DIRECTORY.lstrip("/")).stat().st_mode & 0o7777 == 0o1777
    assert json.loads((tmp_path / names.STATUS_FILE.lstrip("/")).read_text())["answer"] == "missing"


def test_there_is_only_one(tmp_path: Path) -> None:
    lock = tmp_path / names.STATE_DIRECTORY.lstrip("/") / "running"
    lock.parent.mkdir(parents=True)
    with lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(composition.AlreadyRunning, match="stop that one first"):
            composition.run(SETTINGS, Places(tmp_path))


def _state(root: Path) -> Path:
    return root / names.STATE_DIRECTORY.lstrip("/")


@pytest.mark.usefixtures("agent")
@pytest.mark.parametrize("mode", [None, 0o600, 0o644, 0o666])
def test_no_other_user_can_take_its_place(tmp_path: Path, mode: int | None) -> None:
    """Whoever can open the file, if only to read it, can lock it, and keep the program from starting."""
    lock = _state(tmp_path) / "running"
    if mode is not None:
        lock.parent.mkdir(parents=True)
        lock.parent.chmod(0o777)
        lock.touch()
        lock.chmod(mode)
    before = os.umask(0)
    try:
        composition.run(SETTINGS, Places(tmp_path))
    finally:
        os.umask(before)
    assert lock.stat().st_mode & 0o7777 == 0o600
    assert lock.parent.stat().st_mode & 0o7777 == 0o755


def test_a_link_in_place_of_the_lock_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.touch()
    target.chmod(0o644)
    _state(tmp_path).mkdir(parents=True)
    (_state(tmp_path) / "running").symlink_to(target)
    with pytest.raises(OSError, match="running"):
        composition.run(SETTINGS, Places(tmp_path))
    assert target.stat().st_mode & 0o777 == 0o644


def test_a_link_in_place_of_the_directory_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "run").mkdir()
    _state(tmp_path).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="accelerated-fleet"):
        composition.run(SETTINGS, Places(tmp_path))
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert (tmp_path / "elsewhere").stat().st_mode & 0o777 == 0o700


def test_the_instance_type_for_the_setup(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    answers: list[Identity | Exception] = [TimeoutError("timed out"), ValueError("garbage"), IDENTITY]

    def fetch() -> Identity:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(instance_metadata, "fetch_identity", fetch)
    pauses: list[float] = []
    assert composition.instance_type(pauses.append) == "dl2q.24xlarge"
    assert len(pauses) == 2
    answers.extend([TimeoutError("timed out")] * 100)
    assert composition.instance_type(pauses.append) is None
    assert 20 < sum(pauses) < 60
    assert "timed out" in capsys.readouterr().err
