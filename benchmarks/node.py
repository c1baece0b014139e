"""What the program on each instance costs: CPU time and memory of its own loop over simulated hours.

    python -m benchmarks.node [--hours N] [--json]

For NVIDIA and Neuron with 1, 8 and 16 accelerators, a reading a minute, each measurement in a process of its own that
holds nothing but the shipped directory. The clock is simulated, so nothing is waited for; sockets, files, /proc and the
kernel's list of locks are real. The accelerators' tool is a stand-in that prints an answer of realistic size:

- in process: the answer is handed to the program, which shows what the program itself takes;
- with a child: a stand-in process for each reading, and `who`, as on an instance; the children's time is in it;
- plain: a bare ``subprocess.run`` of the same stand-in in each interval, that does nothing with the answer.

Shares are of one core. Exits with 1 when one of ours is beyond 1 % or 40 MiB. What the real tool takes comes on top for
whoever reads accelerators, by whatever program.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

KINDS = ("nvidia", "neuron")
COUNTS = (1, 8, 16)
LARGEST_SHARE_PERCENT = 1.0
LARGEST_MEMORY_MIB = 40.0

_MEASUREMENT = Path(__file__).with_name("node_measurement.py")
_PROGRAM = Path(__file__).resolve().parents[1] / "constructs_lib" / "node"


@dataclass(frozen=True)
class Measured:
    """One way to read, over some simulated hours: its share of one core, its memory at most, and how that grew."""

    share_percent: float
    peak_mib: float
    grown_mib: float

    @property
    def holds(self) -> bool:
        """Whether it is within the bounds."""
        return self.share_percent < LARGEST_SHARE_PERCENT and self.peak_mib < LARGEST_MEMORY_MIB

    def __str__(self) -> str:
        return f"{self.share_percent:.3f} %, {self.peak_mib:4.1f} MiB ({self.grown_mib:+.1f})"


@dataclass(frozen=True)
class Row:
    """A kind and a number of accelerators, measured in each way."""

    kind: str
    accelerators: int
    in_process: Measured
    with_child: Measured
    plain: Measured

    @property
    def holds(self) -> bool:
        """Whether ours are within the bounds."""
        return self.in_process.holds and self.with_child.holds

    def __str__(self) -> str:
        ways = f"in process {self.in_process}; with a child {self.with_child}; plain {self.plain}"
        return f"{self.kind:6} x {self.accelerators:2}: {ways}: {'ok' if self.holds else 'BEYOND THE BOUND'}"


def main() -> None:
    """Measure, print, and exit with 1 beyond a bound."""
    parser = argparse.ArgumentParser(description="Measure the program that runs on each instance.")
    parser.add_argument("--hours", type=int, default=6, help="simulated hours of each measurement; default 6")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    arguments = parser.parse_args()
    rows = [row(kind, count, arguments.hours) for kind in KINDS for count in COUNTS]
    if arguments.json:
        print(json.dumps([asdict(each) for each in rows]))
    else:
        print("share of one core, peak memory (growth after the first hour)")
        print(*rows, sep="\n")
    sys.exit(0 if all(each.holds for each in rows) else 1)


def row(kind: str, count: int, hours: int) -> Row:
    """Measure a kind and a number of accelerators in each way."""
    return Row(kind, count, *(measure(way, kind, count, hours) for way in ("in_process", "with_child", "plain")))


def measure(way: str, kind: str, count: int, hours: int) -> Measured:
    """Run one measurement in a process of its own, isolated as the program is on an instance."""
    command = [sys.executable, "-I", "-S", str(_MEASUREMENT), str(_PROGRAM), way, kind, str(count), str(hours)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return Measured(**found)


if __name__ == "__main__":
    main()
