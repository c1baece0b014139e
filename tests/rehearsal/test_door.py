"""The door of the room: its names, each imported when it is asked for."""

from __future__ import annotations

import subprocess
import sys

import constructs_lib.rehearsal as room


def test_every_name_is_there_and_listed_once() -> None:
    from_modules = [name for names in room._MODULES.values() for name in names]
    assert sorted(from_modules) == sorted(room.__all__)
    assert all(getattr(room, name) is not None for name in room.__all__)
    assert set(room.__all__) <= set(dir(room))


def test_a_trace_is_made_without_the_event_loop_and_without_boto3() -> None:
    code = (
        "import sys; from constructs_lib.rehearsal import generate; generate('silence', days=1);"
        "print(sorted({'simpy', 'boto3', 'aws_cdk'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
