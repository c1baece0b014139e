"""Answers of the kinds' tools, kept as files, and what every test of a reader does with them."""

from __future__ import annotations

from pathlib import Path

from constructs_lib.node.readers import reader_of
from constructs_lib.node.readings import Answer, Device, NoReading, Output, Reading

FIXTURES = Path(__file__).with_name("fixtures")
KINDS = ("amd", "fpga", "gaudi", "media", "neuron", "nvidia", "qualcomm")


def recorded(kind: str, name: str) -> str:
    """Return an answer of the kind's tool."""
    return (FIXTURES / kind / name).read_text(encoding="utf-8")


def all_recorded() -> list[tuple[str, str]]:
    """Return the kind and the name of every answer there is."""
    return [(path.parent.name, path.name) for path in sorted(FIXTURES.glob("*/*"))]


def answer(kind: str, *texts: str, exit_status: int = 0, stderr: str = "") -> Answer:
    """Return what the kind's reader makes of its commands' answers."""
    return reader_of(kind).parse([Output(exit_status, text, stderr) for text in texts])


def devices(kind: str, *texts: str, exit_status: int = 0, stderr: str = "") -> tuple[Device, ...]:
    """Return the devices in the answers; there must be some."""
    reading = answer(kind, *texts, exit_status=exit_status, stderr=stderr)
    assert isinstance(reading, Reading), reading
    return reading.devices


def refusal(kind: str, *texts: str, exit_status: int = 0, stderr: str = "") -> NoReading:
    """Return why there is no reading; there must be none."""
    reading = answer(kind, *texts, exit_status=exit_status, stderr=stderr)
    assert isinstance(reading, NoReading), reading
    return reading
