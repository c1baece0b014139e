"""The loop between the machine and the decision: what is kept, what is told, and that no part holds up another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from constructs_lib.node import names
from constructs_lib.node.drain.decision import Work
from constructs_lib.node.drain.service import BUSY_POLL_SECONDS, POLL_SECONDS, WATCHDOG_SECONDS, Machine, Service
from constructs_lib.node.events import Events
from constructs_lib.node.guard import Guard
from constructs_lib.node.instance_metadata import Identity
from constructs_lib.node.notify import Supervisor
from constructs_lib.node.places import Places
from constructs_lib.node.settings import Drain
from tests.node.drain.instance import ADVICE, NOW, SPOT, asked

TARGET = "/latest/meta-data/autoscaling/target-lifecycle-state"
INTERRUPTION = "/latest/meta-data/spot/instance-action"
REBALANCE = "/latest/meta-data/events/recommendations/rebalance"


class World:
    """An instance with its metadata, its work, and AWS; each answer may be an error to raise."""

    def __init__(self, place: Path, drain: Drain | None = None) -> None:
        self.places = Places(place)
        self.drain = drain or asked()
        self.now = NOW
        self.identity: Any = Identity("i-1", "g6.xlarge", NOW, "eu-west-1")
        self.metadata: dict[str, Any] = {TARGET: "InService"}
        self.work: Any = Work()
        self.running: set[str] = set()
        self.started: list[tuple[str, str, str, float]] = []
        self.killed: list[str] = []
        self.starts: Any = None
        self.signals: Any = 0
        self.calls: list[str] = []
        self.looks = 0
        self.group: Any = "fleet"
        self.published: Any = None
        self.completes: Any = True
        self.log: list[dict[str, Any]] = []
        self.start()

    def start(self) -> None:
        """Start the program, for the first time or again."""
        events = Events(lambda line: self.log.append(json.loads(line)), lambda: self.now)
        machine = Machine(
            identity=lambda: _given(self.identity),
            session=lambda: lambda path: _given(self.metadata.get(path)),
            look=self._look,
            team=self._Team(self),
            crier=self._Crier(self),
            cloud=lambda identity: self._Cloud(self),
            now=lambda: self.now,
        )
        self.service = Service(self.drain, machine, events, self.places)

    def _look(self, guard: Guard) -> Work:
        self.looks += 1
        work: Work = _given(self.work)
        return work

    class _Team:
        def __init__(self, world: World) -> None:
            self.world = world

        def start(self, which: str, text: str, reason: str, seconds_left: float) -> None:
            _given(self.world.starts)
            self.world.started.append((which, text, reason, seconds_left))
            self.world.running.add(which)

        def running(self) -> frozenset[str]:
            return frozenset(self.world.running)

        def kill(self, which: str) -> None:
            self.world.killed.append(which)
            self.world.running.discard(which)

    class _Crier:
        def __init__(self, world: World) -> None:
            self.world = world

        def signal_holders(self) -> int:
            self.world.calls.append("signal")
            count: int = _given(self.world.signals)
            return count

        def forget(self) -> None:
            self.world.calls.append("forget")

    class _Cloud:
        def __init__(self, world: World) -> None:
            self.world = world

        def group(self) -> str:
            self.world.calls.append("group")
            name: str = _given(self.world.group)
            return name

        def publish(self, metric: str) -> None:
            self.world.calls.append(metric)
            _given(self.world.published)

        def complete(self) -> bool:
            self.world.calls.append("complete")
            done: bool = _given(self.world.completes)
            return done

    def step(self, seconds: float = 5.0) -> None:
        self.service.step()
        self.now += seconds

    @property
    def announced(self) -> dict[str, Any] | None:
        path = self.places.file(names.DRAINING)
        return json.loads(path.read_text()) if path.exists() else None

    def told(self, event: str) -> list[dict[str, Any]]:
        return [line for line in self.log if line["event"] == event]


def _given(value: Any) -> Any:
    if isinstance(value, Exception):
        raise value
    return value


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_sr_8_an_idle_instance_is_gone_in_two_rounds(world: World) -> None:
    """One to say that it drains, and one to see what is there after that."""
    world.step()
    assert world.calls == []
    world.metadata[TARGET] = "Terminated"
    world.step()
    assert world.service.pause == BUSY_POLL_SECONDS
    world.step()
    assert world.calls == ["group", "DrainsDone", "complete"]
    assert [line["event"] for line in world.log] == ["drains", "drained", "hook completed"]
    assert world.announced == {"reason": "termination", "deadline": int(NOW) + 305, "until": "2027-01-15T08:05:05Z"}
    assert world.told("drained")[0]["outcome"] == "done"
    assert len(world.told("hook completed")) == 1
    world.step()
    assert world.calls.count("complete") == 1


def test_nothing_is_looked_at_while_nobody_goes(world: World) -> None:
    for _ in range(100):
        world.step()
    assert world.looks == 0
    assert world.log == []


def test_it_is_asked_every_five_seconds_and_more_often_while_a_drain_is_billed(world: World) -> None:
    world.step()
    assert world.service.pause == POLL_SECONDS == 5
    world.metadata[TARGET], world.work = "Terminated", Work(1, True)
    world.step()
    assert world.service.pause == BUSY_POLL_SECONDS
    world.work = Work()
    world.step()
    assert world.service.pause == POLL_SECONDS


def test_the_commands_are_those_of_the_team_and_know_how_long_they_have(tmp_path: Path) -> None:
    world = World(tmp_path, asked(60, checkpoint_command="save", command="finish"))
    world.work = Work(2, True)
    world.metadata[TARGET] = "Terminated"
    world.step(10)
    world.running.clear()
    world.step(10)
    assert world.started == [("checkpoint", "save", "termination", 60.0), ("command", "finish", "termination", 50.0)]
    world.step(40)
    world.step()
    assert world.killed == ["command"]
    assert world.calls[-3:] == ["group", "DrainsTimedOut", "complete"]


def test_the_name_of_the_group_is_asked_for_before_the_end(world: World) -> None:
    """At the deadline a call more would be one too many."""
    world.metadata[TARGET], world.work = "Terminated", Work(1, True)
    world.step()
    assert world.calls == ["signal", "group"]


def test_a_second_signal_is_no_second_event(world: World) -> None:
    world.metadata[TARGET], world.work = "Terminated", Work(2, True)
    world.signals = 2
    world.step()
    world.signals = 0
    world.step()
    assert [line["programs"] for line in world.told("signal sent")] == [2]


@pytest.mark.parametrize("path", [TARGET, INTERRUPTION, REBALANCE])
def test_metadata_that_does_not_answer_is_told_once_and_is_no_news(world: World, path: str) -> None:
    world.step()
    world.metadata[path] = OSError("timed out")
    for _ in range(5):
        world.step()
    assert [line["part"] for line in world.told("fails")] == [f"instance metadata {path.partition('data/')[2]}"]
    assert world.announced is None
    world.metadata[path] = None if path != TARGET else "InService"
    world.step()
    assert len(world.told("works again")) == 1


def test_one_part_of_the_metadata_that_fails_hides_no_other(world: World) -> None:
    world.metadata = {TARGET: OSError("status 500"), REBALANCE: OSError("status 500"), INTERRUPTION: SPOT}
    world.step()
    assert world.announced is not None
    assert world.announced["reason"] == "interruption"


def test_metadata_that_falls_silent_amid_a_drain_does_not_end_it(world: World) -> None:
    world.metadata[TARGET], world.work = "Terminated", Work(1, True)
    world.step()
    world.metadata = dict.fromkeys((TARGET, INTERRUPTION, REBALANCE), OSError("timed out"))
    world.step(100)
    world.work = Work()
    world.step()
    assert "complete" in world.calls


def test_an_instance_that_does_not_know_itself_waits_until_it_does(world: World) -> None:
    identity, world.identity = world.identity, OSError("timed out")
    world.metadata[TARGET] = "Terminated"
    for _ in range(3):
        world.step()
    assert world.calls == []
    assert len(world.told("fails")) == 1
    world.identity = identity
    world.step()
    world.step()
    assert "complete" in world.calls


def test_a_call_that_is_throttled_is_made_again_until_it_works_and_told_once(world: World) -> None:
    world.metadata[TARGET] = "Terminated"
    world.completes = OSError("Rate exceeded")
    for _ in range(10):
        world.step()
    world.completes = True
    for _ in range(10):
        world.step()
    assert len([line for line in world.told("fails") if line["part"] == "hook"]) == 1
    assert len(world.told("hook completed")) == 1
    assert world.calls.count("DrainsDone") == 1


def test_a_metric_that_cannot_be_published_holds_up_no_hook(world: World) -> None:
    world.metadata[TARGET] = "Terminated"
    world.published = OSError("AccessDenied")
    world.step()
    world.step()
    assert world.calls == ["group", "DrainsDone", "complete"]
    assert len(world.told("hook completed")) == 1


def test_a_hook_that_somebody_completed_already_is_no_failure(world: World) -> None:
    world.metadata[TARGET] = "Terminated"
    world.completes = False
    for _ in range(100):
        world.step()
    assert world.told("fails") == []
    assert world.calls.count("complete") < 20


@pytest.mark.parametrize("part", ["signals", "group"])
def test_a_part_that_fails_holds_up_no_other(world: World, part: str) -> None:
    setattr(world, part, ValueError("broken"))
    world.metadata[TARGET], world.work = "Terminated", Work(1, True)
    world.step(10)
    world.work = Work()
    world.step()
    assert "complete" in world.calls


def test_a_disk_that_is_full_holds_up_nothing(world: World) -> None:
    world.places.file(names.LIFE_DIRECTORY).parent.mkdir(parents=True)
    world.places.file(names.LIFE_DIRECTORY).write_text("in the way")
    world.metadata[TARGET] = "Terminated"
    world.step()
    world.step()
    assert "complete" in world.calls
    assert {line["part"] for line in world.told("fails")} == {"memory"}


def test_an_announcement_that_cannot_be_made_is_tried_again_and_holds_up_nothing(world: World) -> None:
    """Workers that never learn of the drain would go on taking jobs."""
    in_the_way = world.places.file(names.DRAINING)
    (in_the_way / "something").mkdir(parents=True)
    world.metadata[TARGET], world.work = "Terminated", Work(1, True)
    world.step()
    world.step()
    assert [line["part"] for line in world.told("fails")] == ["announcement"]
    (in_the_way / "something").rmdir()
    in_the_way.rmdir()
    world.step()
    assert world.announced == {"reason": "termination", "deadline": int(NOW) + 300, "until": "2027-01-15T08:05:00Z"}
    (world.places.file(names.DRAINING)).unlink()
    world.step()
    assert world.announced is None


def test_a_command_that_cannot_be_started_is_started_later(tmp_path: Path) -> None:
    world = World(tmp_path, asked(60, checkpoint_command="save"))
    world.starts = OSError("Cannot allocate memory")
    world.metadata[TARGET] = "Terminated"
    for _ in range(3):
        world.step()
    assert world.started == []
    assert [line["part"] for line in world.told("fails")] == ["checkpoint"]
    assert "complete" not in world.calls
    world.starts = None
    world.step()
    assert [text for _, text, _, _ in world.started] == ["save"]


# --- restarts ------------------------------------------------------------------------------------------------------


def restart_of_the_machine(world: World) -> None:
    """/run is empty, and nothing runs."""
    world.places.file(names.DRAINING).unlink(missing_ok=True)
    world.running.clear()
    world.start()


def test_a_restart_of_the_machine_amid_a_drain_goes_on_until_the_same_deadline(world: World) -> None:
    world.metadata[TARGET], world.work = "Terminated", Work(1, True)
    world.step()
    before = world.announced
    restart_of_the_machine(world)
    world.now += 100
    world.step()
    assert world.announced == before
    assert world.told("goes on")
    world.now = NOW + 300
    world.step()
    assert "DrainsTimedOut" in world.calls


def test_a_restart_after_the_drain_completes_nothing_again(world: World) -> None:
    world.metadata[TARGET] = "Terminated"
    world.step()
    world.step()
    restart_of_the_machine(world)
    for _ in range(3):
        world.step()
    assert world.calls.count("complete") == world.calls.count("DrainsDone") == 1
    assert world.announced is not None


def test_a_disk_that_an_image_was_made_of_is_another_instance(world: World) -> None:
    world.metadata[TARGET] = "Terminated"
    world.step()
    world.step()
    world.metadata[TARGET] = "InService"
    world.identity = Identity("i-2", "g6.xlarge", NOW, "eu-west-1")
    world.places.file(names.DRAINING).write_text("{}")
    world.start()
    world.step()
    assert world.announced is None
    world.metadata[TARGET] = "Terminated"
    world.step()
    world.step()
    assert world.calls.count("complete") == 2


@pytest.mark.parametrize("text", ["", "{}", "[]", "\0", '{"instance": "i-1", "state": {}}', "[" * 100_000])
def test_a_memory_that_makes_no_sense_is_told_and_forgotten(world: World, text: str) -> None:
    path = world.places.file(names.DRAIN_MEMORY)
    path.parent.mkdir(parents=True)
    path.write_text(text)
    world.metadata[TARGET] = "Terminated"
    world.step()
    world.step()
    assert "complete" in world.calls
    assert [line["part"] for line in world.told("fails")] == ["memory"]


def test_an_instance_that_comes_back_says_so(world: World) -> None:
    world.metadata[TARGET] = "Terminated"
    world.step()
    world.metadata[TARGET] = "InService"
    world.step()
    assert world.announced is None
    assert world.calls[-1] == "forget"
    assert world.told("drains no more")


@pytest.mark.parametrize(("path", "notice"), [(TARGET, "Terminated"), (INTERRUPTION, SPOT)])
def test_case_80_who_saved_at_a_recommendation_and_went_on_is_told_again_at_the_end(
    tmp_path: Path, path: str, notice: str
) -> None:
    """A program that saves and goes on at SIGUSR1 would else lose what it has done since the recommendation."""
    world = World(tmp_path, asked(drain_on_rebalance=True))
    world.metadata[REBALANCE], world.work = ADVICE, Work(1, True)
    world.step()
    world.step(50)
    world.metadata[path] = notice
    world.step()
    assert [call for call in world.calls if call != "group"] == ["signal", "signal", "forget", "signal"]
    world.metadata[INTERRUPTION] = SPOT
    world.step()
    assert world.calls.count("forget") == 1, "more pressing, but the same road"


# --- systemd -------------------------------------------------------------------------------------------------------


def test_the_supervisor_hears_of_every_round(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    monkeypatch.setattr(Supervisor, "_tell", lambda self, message: heard.append(message))
    waits: list[float] = []

    def wait(seconds: float) -> bool:
        waits.append(seconds)
        world.now += seconds
        return len(waits) == 3

    world.service.run(wait, Supervisor("/run/notify"))
    assert heard[0] == f"READY=1\nWATCHDOG_USEC={int(WATCHDOG_SECONDS * 1_000_000)}\nWATCHDOG=1"
    assert heard[1:] == ["WATCHDOG=1"] * 3 + ["STOPPING=1"]
    assert waits == [5.0] * 3
    assert [world.log[0]["event"], world.log[-1]["event"]] == ["starts", "ends"]


def test_case_80_a_recommendation_is_no_drain(world: World) -> None:
    world.metadata[REBALANCE] = ADVICE
    for _ in range(10):
        world.step()
    assert world.announced is None
    assert world.calls == []
