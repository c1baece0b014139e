"""What the program tells: one line for each event, and once for each fault."""

from __future__ import annotations

import json

import pytest

from constructs_lib.node.events import Events
from constructs_lib.node.guard import Guard, Unknown


class Journal:
    def __init__(self) -> None:
        self.text = ""
        self.broken = False

    def write(self, line: str) -> None:
        if self.broken:
            raise BrokenPipeError
        self.text += line

    @property
    def lines(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.text.splitlines()]


@pytest.fixture
def journal() -> Journal:
    return Journal()


@pytest.fixture
def events(journal: Journal) -> Events:
    return Events(journal.write, lambda: 1_796_040_000.5)


def test_an_event_is_a_line_of_json_with_its_time(events: Events, journal: Journal) -> None:
    events.tell("starts", kind="nvidia", text="two\nlines \ud800")
    assert journal.text.count("\n") == 1
    assert journal.lines == [
        {"time": "2026-11-30T12:00:00Z", "event": "starts", "kind": "nvidia", "text": "two\nlines \ud800"}
    ]


def test_a_fault_is_told_when_it_begins_when_it_changes_and_when_it_ends(events: Events, journal: Journal) -> None:
    for reason in ("after 10 s", "after 11 s"):
        events.fails("accelerators", "hung", reason)
    events.fails("accelerators", "missing", "gone")
    assert events.problems == {"accelerators": "missing: gone"}
    for _ in range(3):
        events.works("accelerators")
    assert [(line["event"], line.get("cause"), line.get("reason")) for line in journal.lines] == [
        ("fails", "hung", "after 10 s"),
        ("fails", "missing", "gone"),
        ("works again", None, None),
    ]
    assert events.problems == {}


def test_a_problem_has_the_reason_of_now_in_one_line(events: Events) -> None:
    """That is told once does not make the reason of the beginning the one of now."""
    for reason in ("after 10 s", "after 11 s"):
        events.fails("accelerators", "hung", reason)
    events.fails("statsd", "OSError", "")
    refused = "instance metadata, /latest/api/token: status 403; see the metadata options of the instance"
    Guard(events).attempt("instance metadata", lambda: _raise(OSError(refused)))
    Guard(events).attempt("reader", lambda: [][0])
    assert events.problems == {
        "accelerators": "hung: after 11 s",
        "statsd": "OSError",
        "instance metadata": f"OSError: {refused}",
        "reader": "IndexError: list index out of range",
    }


def _raise(error: Exception) -> None:
    raise error


def test_lines_that_cannot_be_written_are_counted(events: Events, journal: Journal) -> None:
    """journald was restarted."""
    journal.broken = True
    events.tell("one")
    events.tell("two")
    journal.broken = False
    events.tell("three")
    events.tell("four")
    assert [line.get("lines_lost") for line in journal.lines] == [2, None]


class TestGuard:
    @pytest.mark.parametrize(
        ("error", "cause"),
        [
            (OSError(28, "No space left on device"), "OSError"),
            (PermissionError(13, "Permission denied"), "PermissionError"),
            (ValueError("garbage"), "ValueError"),
            (Unknown("nobody knows"), "unknown"),
        ],
    )
    def test_a_fault_is_told_and_gives_nothing(
        self, events: Events, journal: Journal, error: Exception, cause: str
    ) -> None:
        def fail() -> int:
            raise error

        guard = Guard(events)
        assert [guard.attempt("memory", fail) for _ in range(3)] == [None] * 3
        (line,) = journal.lines
        assert (line["part"], line["cause"]) == ("memory", cause)
        assert str(error) in str(line["reason"])

    def test_a_fault_of_the_program_says_where(self, events: Events, journal: Journal) -> None:
        assert Guard(events).attempt("reader", lambda: [][0]) is None
        assert "test_events.py" in str(journal.lines[0]["reason"])

    def test_who_stops_the_program_is_not_held_up(self, events: Events) -> None:
        def stop() -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            Guard(events).attempt("reader", stop)

    def test_what_works_gives_its_result(self, events: Events, journal: Journal) -> None:
        assert Guard(events).attempt("memory", lambda: 5) == 5
        assert Guard(events).count("marks", lambda tell: 0) == 0
        assert journal.lines == []

    def test_a_count_that_is_unknown_says_why(self, events: Events, journal: Journal) -> None:
        guard = Guard(events)
        for reason in ("who: no answer", "who: still none"):
            assert guard.count("sessions", lambda tell, reason=reason: tell(reason)) is None  # type: ignore[misc]
        assert [line["reason"] for line in journal.lines] == ["who: no answer"]
