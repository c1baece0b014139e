"""What all readers make of an answer without devices, and of texts that are cut off, too long, or no JSON."""

from __future__ import annotations

import pytest

from constructs_lib.node.readers import reports
from constructs_lib.node.readings import FAILED, MISSING, UNREADABLE, NoReading, Output


@pytest.mark.parametrize(
    ("output", "cause", "said"),
    [
        (
            Output(9, "", "NVML: Driver/library version mismatch"),
            FAILED,
            "exit status 9 and said: NVML: Driver/library",
        ),
        (Output(6, "No devices were found\n"), FAILED, "exit status 6 and said: No devices were found"),
        (Output(-9, ""), FAILED, "exit status -9 and said: nothing"),
        (Output(127, "", "sh: x: not found"), MISSING, "sh: x: not found"),
        (Output(0, "hello\nworld"), UNREADABLE, "it said: hello world"),
        (Output(0, "", "a warning"), UNREADABLE, "it said: a warning"),
        (Output(0, ""), UNREADABLE, "it said: nothing"),
    ],
)
def test_the_reason_for_no_reading_is_what_the_tool_said(output: Output, cause: str, said: str) -> None:
    reading = reports.nothing_read("tool", [output])

    assert reading.cause == cause
    assert said in reading.reason


def test_no_answer_at_all_is_unreadable() -> None:
    assert reports.nothing_read("tool", []) == NoReading(UNREADABLE, "tool lists no device; it said: nothing")


def test_a_long_answer_is_quoted_in_one_short_line() -> None:
    assert len(reports.quote("word\n" * 10_000)) < 200
    assert "\n" not in reports.quote("a\nb")


def test_the_last_line_counts_only_if_it_ends() -> None:
    assert reports.complete_lines("a: 12\nb: 1") == ["a: 12"]
    assert reports.complete_lines("a: 12\nb: 13\n") == ["a: 12", "b: 13"]
    assert reports.complete_lines("") == []


@pytest.mark.parametrize(
    ("text", "document"),
    [
        ('{"a": 1}', {"a": 1}),
        ('log line\n{"a": 1}\ntrailing', {"a": 1}),
        ('{"a": 1', None),
        ("[1, 2]", None),
        ("", None),
        ("{" * 200_000, None),
        ('{"a":' * 200_000, None),
    ],
)
def test_json_document(text: str, document: object) -> None:
    assert reports.json_document(text) == document


def test_a_text_that_is_too_long_is_not_looked_at() -> None:
    assert reports.text_of([Output(0, "x" * (reports.LONGEST_TEXT + 1))]) == ""
    assert reports.text_of([]) == ""
