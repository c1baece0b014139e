"""What is seen on a terminal while something goes on."""

from __future__ import annotations

import io
import sys

import pytest

from constructs_lib.cli.progress import measured, progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    found = Terminal()
    monkeypatch.setattr(sys, "stderr", found)
    monkeypatch.setenv("TERM", "xterm")
    return found


def test_a_terminal_shows_a_bar_on_the_error_output(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = on_a_terminal(monkeypatch)

    with progress("Asking AWS") as say:
        say("ec2:DescribeSubnets")

    assert "Asking AWS" in terminal.getvalue()
    assert "ec2:DescribeSubnets" in terminal.getvalue()
    assert capsys.readouterr().out == ""


def test_without_rich_a_terminal_shows_a_line_that_is_wiped_away(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_a_terminal(monkeypatch)
    monkeypatch.setitem(sys.modules, "rich.console", None)

    with progress("Asking AWS") as say:
        say("ec2:DescribeSubnets")

    assert terminal.getvalue() == "\r\x1b[2KAsking AWS: ec2:DescribeSubnets\r\x1b[2K"


def test_what_is_no_terminal_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("Asking AWS") as say:
        say("ec2:DescribeSubnets")

    assert capsys.readouterr() == ("", "")


def test_how_much_is_done_is_told_in_percent(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_a_terminal(monkeypatch)

    with measured("Rehearsing") as say:
        say("the fleet", 0.25)

    assert "Rehearsing" in terminal.getvalue()
    assert "25%" in terminal.getvalue()
    assert "the fleet" in terminal.getvalue()


def test_how_much_is_done_is_told_without_rich_too(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_a_terminal(monkeypatch)
    monkeypatch.setitem(sys.modules, "rich.console", None)

    with measured("Rehearsing") as say:
        say("the fleet", 0.25)

    assert terminal.getvalue() == "\r\x1b[2KRehearsing: 25% the fleet\r\x1b[2K"


def test_how_much_is_done_is_not_told_to_what_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with measured("Rehearsing") as say:
        say("the fleet", 0.25)

    assert capsys.readouterr() == ("", "")
