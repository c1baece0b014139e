"""What docs/on-the-machine.md tells users to write works as it stands."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from constructs_lib.node import names
from constructs_lib.node.busy import count_marks, prepare_directory, read_locks
from constructs_lib.node.emit import emit_stream
from constructs_lib.node.statsd import COUNTER, TIMING, Metric

PAGE = (Path(__file__).parents[3] / "docs" / "on-the-machine.md").read_text(encoding="utf-8")


def _block(language: str, containing: str) -> str:
    blocks = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    [block] = [block for block in blocks if containing in block]
    return str(block)


@pytest.mark.parametrize(
    ("program", "language", "containing", "rest"),
    [
        ([sys.executable, "-c"], "python", "tempfile", ""),
        (["sh", "-c"], "sh", "flock 9", "echo ready; read line"),
    ],
)
def test_the_ways_to_hold_a_mark(tmp_path: Path, program: list[str], language: str, containing: str, rest: str) -> None:
    directory = tmp_path / "busy"
    prepare_directory(directory)
    if read_locks(directory) is None:
        pytest.skip("this machine's kernel does not show locks of the directory's file system")
    script = _block(language, containing).replace(names.BUSY_DIRECTORY, str(directory)) + rest
    script = script.replace("train()", "print('ready', flush=True); input()")

    with subprocess.Popen([*program, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as work:
        assert work.stdout is not None
        assert work.stdout.readline() == "ready\n"
        assert count_marks(directory, read_locks(directory), since=1e12) == 1
        work.communicate("go on\n")
    assert work.returncode == 0
    assert count_marks(directory, read_locks(directory), since=1e12) == 0


def test_the_line_of_embedded_metric_format() -> None:
    sent: list[Metric] = []

    def send(metrics: Iterable[Metric]) -> None:
        sent.extend(metrics)

    assert emit_stream(io.BytesIO(_block("json", "_aws").encode()), send, io.StringIO()) == 0
    latencies = [Metric("latency", 12.5, TIMING), Metric("latency", 14.1, TIMING)]
    assert sent == [*latencies, Metric("requests", 2, COUNTER)]


def test_paths_addresses_and_refused_names_are_the_programs() -> None:
    for said in (names.BUSY_DIRECTORY, names.STATSD_ADDRESS, names.FAULT_LOG, *(f"`{p}`" for p in names.OWN_PREFIXES)):
        assert said in PAGE
