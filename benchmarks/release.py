"""What one pass of the release function takes, against a loop by hand that asks for each instance.

    python -m benchmarks.release [--json]

For 10, 1,000 and 10,000 instances in one fleet and spread over 100, with nothing to release: all of them at work, or
all idle at the group's minimum. Each pass runs in a process of its own with boto3's own clients, whose requests are
answered without a network: computing time and memory are real (reading answers of realistic size is most of it), and
each call adds a latency of 20 ms to the time. The settings are those of the README's fleet. The loop by hand asks EC2
once and CloudWatch twice for each instance; at 10,000 instances it is measured with 1,000 and multiplied.

Also prints what a fleet's release costs a month. Exits with 1 when a pass is beyond a bound.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from aws_cdk import App

from benchmarks import ours

FLEET_SIZES = (10, 1_000, 10_000)
SPREAD_OVER = 100
LONGEST_BY_HAND = 1_000

MOST_CALLS = {10: 15, 1_000: 15, 10_000: 60}
MOST_SECONDS = {1_000: 3.0}
MOST_MIB = {1_000: 128.0}

PASSES_A_MONTH = 730 * 12
"""One every five minutes."""

LAMBDA_USD_PER_GB_SECOND = 0.0000133334
LAMBDA_USD_PER_REQUEST = 0.20 / 1_000_000
USD_PER_METRIC_READ = 0.01 / 1_000
USD_PER_METRIC_PUBLISHED = 0.30
"""us-east-1, arm64, November 2026: the prices of aws.amazon.com/lambda/pricing and aws.amazon.com/cloudwatch/pricing as
other pages quote them, without the free tiers. Standard parameters of Systems Manager cost nothing."""


@dataclass(frozen=True, kw_only=True)
class Pass:
    """One pass: AWS calls, metrics asked for, seconds with the latency and without, memory of the whole process."""

    calls: int
    metrics: int
    computing_seconds: float
    seconds: float
    peak_mib: float

    def times(self, factor: int) -> Pass:
        """The same for so many times as many instances; memory does not grow."""
        return Pass(
            calls=self.calls * factor,
            metrics=self.metrics * factor,
            computing_seconds=self.computing_seconds * factor,
            seconds=self.seconds * factor,
            peak_mib=self.peak_mib,
        )

    def __str__(self) -> str:
        time = f"{self.seconds:8.2f} s ({self.computing_seconds:.2f} s computing)"
        return f"{self.calls:6,} calls {time} {self.peak_mib:4.0f} MiB"


@dataclass(frozen=True, kw_only=True)
class Row:
    """So many instances in so many fleets: a pass over one of these, by us and by hand."""

    doing: str
    instances: int
    fleets: int
    ours: Pass
    plain: Pass
    memory_mib: int

    @property
    def in_a_fleet(self) -> int:
        return self.instances // self.fleets

    @property
    def holds(self) -> bool:
        """Whether a pass is within the bounds."""
        size = self.in_a_fleet
        return (
            self.ours.calls <= MOST_CALLS.get(size, 15)
            and self.ours.seconds < MOST_SECONDS.get(size, 300)
            and self.ours.peak_mib < MOST_MIB.get(size, self.memory_mib)
        )

    @property
    def published(self) -> int:
        from constructs_lib.node.names import PASS_METRICS

        return len(PASS_METRICS)

    @property
    def usd_a_month(self) -> float:
        """What the release of one of the fleets costs, passes round the clock."""
        gb_seconds = self.ours.seconds * self.memory_mib / 1024
        a_pass = (
            gb_seconds * LAMBDA_USD_PER_GB_SECOND + LAMBDA_USD_PER_REQUEST + self.ours.metrics * USD_PER_METRIC_READ
        )
        return PASSES_A_MONTH * a_pass + self.published * USD_PER_METRIC_PUBLISHED

    def __str__(self) -> str:
        ratios = (
            f"{self.ours.calls / self.plain.calls:.3f} x calls, {self.ours.seconds / self.plain.seconds:.3f} x time"
        )
        return (
            f"{self.doing:4} {self.instances:6,} in {self.fleets:3} fleets, a pass over {self.in_a_fleet:6,}: "
            f"{self.ours}; by hand {self.plain}; {ratios}; {self.usd_a_month:.2f} USD a month and fleet: "
            f"{'ok' if self.holds else 'BEYOND THE BOUND'}"
        )


def main() -> None:
    """Measure, print, and exit with 1 beyond a bound."""
    parser = argparse.ArgumentParser(description="Measure a pass of the release function.")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    arguments = parser.parse_args()
    environment, memory_mib = function()
    found = {
        (doing, size): (measure("ours", doing, size, environment), by_hand(doing, size, environment))
        for doing in ("busy", "idle")
        for size in FLEET_SIZES
    }
    alone = [row(doing, size, 1, found[doing, size], memory_mib) for doing, size in found]
    spread = [
        row(doing, size * SPREAD_OVER, SPREAD_OVER, found[doing, size], memory_mib)
        for doing, size in found
        if size * SPREAD_OVER <= max(FLEET_SIZES)
    ]
    rows = [*alone, *spread]
    if arguments.json:
        print(json.dumps([{**asdict(each), "usd_a_month": each.usd_a_month, "holds": each.holds} for each in rows]))
    else:
        print(*rows, sep="\n")
        share = rows[0].published * USD_PER_METRIC_PUBLISHED
        print(f"In each price: {share:.2f} USD for the {rows[0].published} metrics that a fleet's passes publish.")
    sys.exit(0 if all(each.holds for each in rows) else 1)


def row(doing: str, instances: int, fleets: int, passes: tuple[Pass, Pass], memory_mib: int) -> Row:
    """Put a row together."""
    ours_, plain = passes
    return Row(doing=doing, instances=instances, fleets=fleets, ours=ours_, plain=plain, memory_mib=memory_mib)


def function() -> tuple[Mapping[str, str], int]:
    """Return the environment and the memory of the release function of the README's fleet."""
    from benchmarks.release_account import GROUP

    app = App()
    ours.build(app, "Fleet")
    template = app.synth().stacks[0].template
    (release,) = [
        each["Properties"]
        for each in template["Resources"].values()
        if each["Type"] == "AWS::Lambda::Function" and each["Properties"]["Handler"].startswith("release_idle")
    ]
    given = {**release["Environment"]["Variables"], "AUTO_SCALING_GROUP_NAME": GROUP}
    # Names that CloudFormation makes up, of the state parameter for one.
    return {name: value if isinstance(value, str) else name.lower() for name, value in given.items()}, release[
        "MemorySize"
    ]


def by_hand(doing: str, instances: int, environment: Mapping[str, str]) -> Pass:
    """Measure the loop by hand, or work it out from a shorter one."""
    measured = min(instances, LONGEST_BY_HAND)
    return measure("plain", doing, measured, environment).times(instances // measured)


def measure(way: str, doing: str, instances: int, environment: Mapping[str, str]) -> Pass:
    """Run one measurement in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.release_measurement", way, doing, str(instances)]
    aws = {"AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none", "AWS_DEFAULT_REGION": "us-east-1"}
    done = subprocess.run(command, input=json.dumps(environment), capture_output=True, text=True, check=False, env=aws)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return Pass(**found)


if __name__ == "__main__":
    main()
