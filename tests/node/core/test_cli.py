"""The command line: what it prints, and its exit status."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from constructs_lib.node import busy_command, composition, emit, names, readers, setup, status
from constructs_lib.node.cli import main
from constructs_lib.node.drain import composition as drain
from constructs_lib.node.readings import Answer, Command, Device, NoReading, Output, Reading
from constructs_lib.node.statsd import Metric

READING = Reading((Device(0, 50.0, None, 1024.0, 2048.0, 70.25, 41.0), Device(1, fault="GPU is lost")))


class Echo:
    """A reader whose tool is `sh`."""

    FAULT_LINES: tuple[str, ...] = ()

    def __init__(self, script: str, answer: Answer = READING) -> None:
        self.script = script
        self.answer = answer

    def commands(self, expected: int) -> tuple[Command, ...]:
        return (Command(("sh", "-c", self.script)),)

    def parse(self, outputs: Sequence[Output]) -> Answer:
        assert outputs[0].stdout == "hello\n"
        return self.answer


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path, names.SETTINGS_FILE, {"kind": "nvidia", "setup": {"huge_pages": 2}})
    return tmp_path


def write(root: Path, name: str, document: object) -> None:
    path = root / name.lstrip("/")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))


def use_reader(monkeypatch: pytest.MonkeyPatch, reader: Echo) -> None:
    monkeypatch.setattr(readers, "reader_of", lambda kind: reader)


class TestStatus:
    @staticmethod
    def leave(root: Path, answer: Answer = READING, problems: dict[str, str] | None = None, interval: int = 60) -> None:
        metrics = (Metric("node_heartbeat", 1), Metric("accelerator_power", 5, index=0))
        last = status.document("nvidia", interval, 1_796_040_000.0, answer, metrics, problems or {}, {})
        write(root, names.STATUS_FILE, last)

    @pytest.fixture(autouse=True)
    def _later(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("time.time", lambda: 1_796_040_042.0)

    def test_it_is_for_people(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.leave(root)
        assert main(["--root", str(root), "status"]) == 0
        assert capsys.readouterr().out.splitlines() == [
            "nvidia: read 42 s ago (2026-11-30T12:00:00Z)",
            "  0: utilization 50 %, memory 1024 MiB, power 70.25 W, temperature 41 °C",
            "  1: GPU is lost",
            "metrics:",
            "  node_heartbeat 1",
        ]

    def test_it_is_for_programs(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.leave(root)
        assert main(["--root", str(root), "status", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["metrics"] == {"node_heartbeat": 1}

    def test_a_drain_is_shown(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        drain = {"reason": "termination", "deadline": 1, "until": "2026-11-30T12:05:00Z"}
        write(root, names.DRAINING, drain)
        assert main(["--root", str(root), "status"]) == 3, "nothing has been read yet"
        assert capsys.readouterr().out == "draining: termination, until 2026-11-30T12:05:00Z\n"
        self.leave(root)
        assert main(["--root", str(root), "status"]) == 0
        assert capsys.readouterr().out.splitlines()[:2] == [
            "draining: termination, until 2026-11-30T12:05:00Z",
            "nvidia: read 42 s ago (2026-11-30T12:00:00Z)",
        ]
        assert main(["--root", str(root), "status", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["drain"] == drain

    def test_no_drain_is_none(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.leave(root)
        assert main(["--root", str(root), "status", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["drain"] is None

    def test_problems_are_an_exit_status(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        problems = {"accelerators": "hung: no answer within 10 s"}
        self.leave(root, NoReading("hung", "no answer within 10 s"), problems)
        assert main(["--root", str(root), "status"]) == 1
        out = capsys.readouterr().out
        assert "no reading, hung: no answer within 10 s" in out
        assert out.endswith("problems:\n  accelerators: hung: no answer within 10 s\n")
        assert main(["--root", str(root), "status", "--json"]) == 1
        assert json.loads(capsys.readouterr().out)["problems"] == problems

    @pytest.mark.parametrize(
        ("interval", "age", "exit_status"), [(60, 180, 0), (60, 181, 3), (10, 80, 0), (10, 81, 3), (600, 1260, 0)]
    )
    def test_a_reading_of_long_ago_says_nothing_of_now(
        self,
        root: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        interval: int,
        age: int,
        exit_status: int,
    ) -> None:
        """The program is dead or stuck; what it said last, a problem too, may no longer be true."""
        self.leave(root, problems={"statsd": "unknown: no agent"}, interval=interval)
        monkeypatch.setattr("time.time", lambda: 1_796_040_000.0 + age)
        assert main(["--root", str(root), "status"]) == (exit_status or 1)
        out = capsys.readouterr().out
        assert ("dead or stuck" in out) == bool(exit_status)
        assert ("journalctl -u accelerated-node" in out) == bool(exit_status)
        assert main(["--root", str(root), "status", "--json"]) == (exit_status or 1)
        last = json.loads(capsys.readouterr().out)
        assert (last["age_seconds"], last["stale"]) == (age, bool(exit_status))

    def test_a_reading_of_long_ago_without_problems_is_no_good_news(
        self, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.leave(root)
        monkeypatch.setattr("time.time", lambda: 1_796_050_000.0)
        assert main(["--root", str(root), "status"]) == 3

    def test_its_help_has_the_exit_statuses(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit, match="0"):
            main(["status", "--help"])
        text = " ".join(capsys.readouterr().out.split())
        assert "exit with 1 if something fails, with 3 if nothing has been read yet or the last reading is old" in text

    def test_no_program_is_one_too(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["--root", str(root), "status"]) == 3
        assert "no program has read anything yet" in capsys.readouterr().err

    @pytest.mark.parametrize("text", ["", "[]", "{}", '{"epoch_seconds": "now"}', "null", "[" * 100_000])
    def test_garbage_is_refused(self, root: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
        write(root, names.STATUS_FILE, {})
        (root / names.STATUS_FILE.lstrip("/")).write_text(text)
        assert main(["--root", str(root), "status"]) == 1
        assert capsys.readouterr().err.startswith("accelerated-node: ")


class TestRead:
    def test_a_reading(self, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        use_reader(monkeypatch, Echo("echo hello"))
        assert main(["--root", str(root), "read"]) == 0
        assert capsys.readouterr().out.startswith("  0: utilization 50 %,")
        assert main(["--root", str(root), "read", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["devices"][1] == {
            "index": 1,
            "fault": "GPU is lost",
            "use_unknown_by_design": False,
        }

    def test_none(self, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        use_reader(monkeypatch, Echo("echo hello", NoReading("unreadable", "garbage")))
        assert main(["--root", str(root), "read"]) == 1
        assert capsys.readouterr().out == "no reading, unreadable: garbage\n"
        assert main(["--root", str(root), "read", "--json"]) == 1
        assert json.loads(capsys.readouterr().out) == {"devices": [], "cause": "unreadable", "reason": "garbage"}


class TestSettings:
    def test_a_file_of_ones_own(self, root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["--settings", str(tmp_path / "mine.json"), "read"]) == 1
        assert f"{tmp_path}/mine.json: the settings cannot be read" in capsys.readouterr().err

    def test_a_kind_without_a_reader(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        write(root, names.SETTINGS_FILE, {"kind": "abacus"})
        for command in ("read", "run"):
            assert main(["--root", str(root), command]) == 1
            assert "'abacus'" in capsys.readouterr().err


class TestRun:
    def test_the_settings_go_to_the_program(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        ran: list[Any] = []
        monkeypatch.setattr(composition, "run", lambda settings, places: ran.append((settings.kind, places.root)))
        assert main(["--root", str(root), "run"]) == 0
        assert ran == [("nvidia", root)]

    def test_a_second_one_says_so(
        self, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def run(settings: object, places: object) -> None:
            raise composition.AlreadyRunning("another accelerated-node runs already")

        monkeypatch.setattr(composition, "run", run)
        assert main(["--root", str(root), "run"]) == 1
        assert capsys.readouterr().err == "accelerated-node: another accelerated-node runs already\n"


class TestBusy:
    @pytest.fixture
    def calls(self, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
        calls: list[Any] = []

        def run_busy(command: Sequence[str], name: str | None, directory: Path, **options: Any) -> int:
            calls.append((list(command), name, directory, options))
            return 130

        monkeypatch.setattr(busy_command, "run_busy", run_busy)
        return calls

    def test_the_command_is_taken_as_it_is(self, calls: list[Any]) -> None:
        assert main(["busy", "--name", "train", "--", "python3", "--", "-c", "--name", "x"]) == 130
        options = {"drain": Path(names.DRAINING), "not_while_draining": False}
        assert calls == [(["python3", "--", "-c", "--name", "x"], "train", Path(names.BUSY_DIRECTORY), options)]

    def test_it_may_be_refused_on_an_instance_that_drains(self, calls: list[Any]) -> None:
        assert main(["busy", "--not-while-draining", "--", "train", "--not-while-draining"]) == 130
        assert calls[0][0] == ["train", "--not-while-draining"]
        assert calls[0][3]["not_while_draining"] is True

    def test_there_must_be_one(self, calls: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["busy"]) == main(["busy", "--"]) == 2
        assert calls == []
        assert "busy -- COMMAND" in capsys.readouterr().err

    @pytest.mark.parametrize("argv", [["sleep", "1"], ["--name", "x", "sleep", "1"], ["sleep", "1", "--name", "x"]])
    def test_a_command_without_the_dashes_is_shown_where_they_belong(
        self, calls: list[Any], capsys: pytest.CaptureFixture[str], argv: list[str]
    ) -> None:
        assert main(["busy", *argv]) == 2
        assert calls == []
        assert "write it as: busy -- sleep 1\n" in capsys.readouterr().err

    @pytest.mark.usefixtures("calls")
    def test_only_dashes_in_front_of_a_part_of_it_are_an_error(self) -> None:
        with pytest.raises(SystemExit, match="2"):
            main(["busy", "nice", "--", "sleep", "1"])

    @pytest.mark.usefixtures("calls")
    def test_it_belongs_to_busy_alone(self) -> None:
        with pytest.raises(SystemExit, match="2"):
            main(["status", "--", "sleep"])


class TestDrain:
    def test_the_settings_go_to_the_program(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        ran: list[Any] = []
        monkeypatch.setattr(drain, "run", lambda settings, places: ran.append((settings.kind, places.root)))
        assert main(["--root", str(root), "drain"]) == 0
        assert ran == [("nvidia", root)]

    def test_settings_that_ask_for_none_are_told(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["--root", str(root), "drain"]) == 1
        assert "the settings ask for no drain" in capsys.readouterr().err

    def test_a_second_one_says_so(
        self, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def run(settings: object, places: object) -> None:
            raise composition.AlreadyRunning("another accelerated-node runs already")

        monkeypatch.setattr(drain, "run", run)
        assert main(["--root", str(root), "drain"]) == 1
        assert capsys.readouterr().err == "accelerated-node: another accelerated-node runs already\n"

    def test_a_worker_can_ask(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["--root", str(root), "draining"]) == 1
        assert capsys.readouterr().out == "not draining\n"
        write(root, names.DRAINING, {"reason": "termination", "deadline": 1, "until": "2026-11-30T12:00:00Z"})
        assert main(["--root", str(root), "draining"]) == 0
        assert capsys.readouterr().out == "draining: termination, until 2026-11-30T12:00:00Z\n"

    @pytest.mark.parametrize("document", [[], "x", None, {"reason": "termination"}])
    def test_a_file_that_nobody_understands_is_a_drain(self, root: Path, document: object) -> None:
        write(root, names.DRAINING, document)
        assert main(["--root", str(root), "draining"]) == 0


class TestEmit:
    @pytest.fixture
    def sent(self, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
        sent: list[Any] = []

        class Agent:
            def __init__(self, address: tuple[str, int]) -> None:
                sent.append(address)

            def send(self, metrics: Sequence[Metric]) -> None:
                sent.extend(metrics)

            def close(self) -> None:
                sent.append("closed")

        monkeypatch.setattr("constructs_lib.node.statsd.connect", Agent)
        return sent

    def test_a_value(self, sent: list[Any]) -> None:
        assert main(["emit", "queue_wait", "12.5", "--type", "timing"]) == 0
        assert sent == [("127.0.0.1", 8125), Metric("queue_wait", 12.5, "ms"), "closed"]

    @pytest.mark.parametrize("value", ["-1e-05", "-5e2", "-5", "-.5", "-1.5E+3"])
    @pytest.mark.parametrize("order", [["x", "{}"], ["x", "{}", "--type", "gauge"], ["--type", "gauge", "x", "{}"]])
    def test_a_value_below_zero_is_no_option(self, sent: list[Any], value: str, order: list[str]) -> None:
        assert main(["emit", *(word.format(value) for word in order)]) == 0
        assert sent[1:] == [Metric("x", float(value)), "closed"]

    @pytest.mark.parametrize("words", [["x", "-e5"], ["x", "1", "-5e2"], ["x", "--verbose"], ["-5e2"], ["x", "1", "2"]])
    def test_what_is_no_value_is_an_error(self, sent: list[Any], words: list[str]) -> None:
        with pytest.raises(SystemExit, match="2"):
            main(["emit", *words])
        assert sent == []

    def test_a_value_goes_where_the_settings_say(self, sent: list[Any], root: Path) -> None:
        write(root, names.SETTINGS_FILE, {"kind": "nvidia", "statsd": "127.0.0.1:9125"})
        assert main(["--root", str(root), "emit", "queue_wait", "1"]) == 0
        assert sent[0] == ("127.0.0.1", 9125)

    def test_a_name_without_a_value(self, sent: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["emit", "queue_wait"]) == 2
        assert "value must be given" in capsys.readouterr().err
        assert sent == []

    def test_lines(self, sent: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
        seen: list[object] = []

        def emit_stream(stream: object, send: object, errors: object) -> int:
            seen.append(stream)
            return 1

        monkeypatch.setattr(emit, "emit_stream", emit_stream)
        assert main(["emit"]) == 1
        assert seen == [sys.stdin.buffer]


class TestSetup:
    @pytest.mark.parametrize(
        ("ok", "exit_status", "word"), [(True, 0, "ok"), (False, 1, "NOT IN FORCE"), (None, 0, "cannot be verified")]
    )
    def test_it_says_what_is_in_force(
        self,
        root: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        ok: bool | None,
        exit_status: int,
        word: str,
    ) -> None:
        asked: list[Any] = []

        def run(settings: object, machine: setup.Machine) -> dict[str, setup.Outcome]:
            asked.append((settings, machine.instance_type, machine.places.root))
            return {"huge_pages": setup.Outcome(ok, "2 pages of 2 MiB")}

        monkeypatch.setattr(setup, "run", run)
        monkeypatch.setattr(composition, "instance_type", lambda: "g6.xlarge")
        assert main(["--root", str(root), "setup"]) == exit_status
        assert capsys.readouterr().out == f"huge_pages: {word}, 2 pages of 2 MiB\n"
        assert asked[0][0].asked == ("huge_pages",)
        assert asked[0][1:] == ("g6.xlarge", root)


def test_a_reader_of_the_output_that_has_gone_is_no_traceback(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone:
        def write(self, text: str) -> int:
            raise BrokenPipeError

        def flush(self) -> None:
            pass

    TestStatus.leave(root)
    monkeypatch.setattr(sys, "stdout", Gone())
    assert main(["--root", str(root), "status"]) == 1


def test_a_command_must_be_given() -> None:
    with pytest.raises(SystemExit, match="2"):
        main([])
