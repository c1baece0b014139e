"""What a fleet costs at synthesis, against the same resources written by hand with aws-cdk-lib.

    python -m benchmarks.synth [--repetitions N] [--json]

Three comparisons, each measurement in a process of its own, several times, the fastest compared: what else runs on the
machine can only add, and it adds more than the differences looked for.

- import: every public name of ``constructs_lib`` against the modules of the CDK that they import;
- one fleet: building and synthesizing a single fleet;
- per fleet of 20: the same for an app with twenty fleets, a stack each.

The last line holds the ratios. Exits with 1 when one is beyond its bound, or when the two sides do not define the same
resources, which would make the comparison void.
"""

from __future__ import annotations

import argparse
import compileall
import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_FLEETS = 20
_LIBRARY = Path(__file__).resolve().parents[1] / "constructs_lib"


@dataclass(frozen=True)
class Comparison:
    """Seconds of either side, and how many times theirs ours may take."""

    name: str
    ours_s: float
    by_hand_s: float
    bound: float

    @property
    def ratio(self) -> float:
        """Ours as a multiple of theirs."""
        return self.ours_s / self.by_hand_s

    @property
    def holds(self) -> bool:
        """Whether ours is within the bound."""
        return self.ratio <= self.bound

    def __str__(self) -> str:
        verdict = "ok" if self.holds else "BEYOND THE BOUND"
        times = f"ours {self.ours_s:7.3f} s, by hand {self.by_hand_s:7.3f} s"
        return f"{self.name:16} {times}, ratio {self.ratio:.3f}, at most {self.bound:.2f}: {verdict}"


def main() -> None:
    """Measure, print, and exit with 1 beyond a bound."""
    parser = argparse.ArgumentParser(description="Compare a fleet's synthesis with the same resources by hand.")
    parser.add_argument("--repetitions", type=int, default=7, help="measurements of each side; default 7")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    arguments = parser.parse_args()
    check_same_resources()
    comparisons = [
        compare_imports(arguments.repetitions),
        compare_fleets("one fleet", fleets=1, repetitions=arguments.repetitions),
        compare_fleets(f"per fleet of {_FLEETS}", fleets=_FLEETS, repetitions=min(5, arguments.repetitions)),
    ]
    if arguments.json:
        print(json.dumps({each.name: {**asdict(each), "ratio": each.ratio} for each in comparisons}))
    else:
        print(*comparisons, sep="\n")
        print("ratios:", ", ".join(f"{each.name} {each.ratio:.3f}" for each in comparisons))
    sys.exit(0 if all(each.holds for each in comparisons) else 1)


def check_same_resources() -> None:
    """Exit unless both sides define the same number of resources of each type."""
    ours, by_hand = measure("resources", "ours"), measure("resources", "by_hand")
    if ours != by_hand:
        types = sorted(type for type in ours.keys() | by_hand.keys() if ours.get(type) != by_hand.get(type))
        found = ", ".join(f"{type} {ours.get(type, 0)} against {by_hand.get(type, 0)}" for type in types)
        sys.exit(f"not the same resources, ours against by hand: {found}")


def compare_imports(repetitions: int) -> Comparison:
    """Compare importing the library with importing what it imports of the CDK."""
    # As pip leaves it behind an installation: the CDK beside it has its byte code too.
    compileall.compile_dir(_LIBRARY, quiet=1)
    modules = ",".join(measure("cdk_modules"))
    samples = [measure("import", modules) for _ in range(repetitions)]
    cdk = min(sample["cdk"] for sample in samples)
    return Comparison("import", cdk + min(sample["library"] for sample in samples), cdk, bound=1.05)


def compare_fleets(name: str, *, fleets: int, repetitions: int) -> Comparison:
    """Compare building and synthesizing, in seconds per fleet."""
    count = str(fleets)
    # In turn, so that a slow minute of the machine meets both sides.
    pairs = [(measure("fleets", "ours", count), measure("fleets", "by_hand", count)) for _ in range(repetitions)]
    ours, by_hand = (min(side) / fleets for side in zip(*pairs, strict=True))
    return Comparison(name, ours, by_hand, bound=1.15)


def measure(*arguments: str) -> Any:
    """Run one measurement in a process of its own and return what it reports."""
    command = [sys.executable, "-m", "benchmarks.measurement", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
