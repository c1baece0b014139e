"""What is seen on a terminal while AWS answers."""

from __future__ import annotations

import io
import sys

import boto3
import pytest
from moto import mock_aws

from constructs_lib.cli.session import progress, session_for, tell_calls


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


@mock_aws
def test_each_call_of_the_clients_is_told() -> None:
    session = session_for(None, "eu-west-1")
    told: list[str] = []
    tell_calls(session, told.append)

    session.client("ec2", aws_access_key_id="a", aws_secret_access_key="b").describe_regions()

    assert told == ["ec2:DescribeRegions"]
    assert isinstance(session, boto3.Session)
