"""What packing saves against plain first-fit-decreasing, how far it is from what nobody can do without, and how long it
takes.

    python -m benchmarks.packing [--models N] [--seeds N] [--json]

Random models in several shapes for accelerators of 24,000 MiB. Plain is what is usually written by hand: the largest
memory first, each onto the first accelerator that has room and no replica or group member that it stays away from.
Exits with 1 when a packing is more than 5 % above the bound.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from time import process_time

from benchmarks.random_models import MEMORY_MIB, SHAPES, random_models
from constructs_lib.catalog import AcceleratedType
from constructs_lib.rightsizing.packing import PackableModel, pack

LARGEST_RATIO = 1.05

_TYPE = AcceleratedType(
    name="g9.xlarge",
    kind="nvidia",
    model="L9",
    accelerators=1,
    accelerator_memory_mib=MEMORY_MIB,
    architecture="x86_64",
)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One set of models: accelerators at least, packed and plain, and seconds of computing for packing."""

    shape: str
    seed: int
    bound: int
    packed: int
    plain: int
    seconds: float

    @property
    def holds(self) -> bool:
        """Whether the packing is within the bound."""
        return self.packed <= LARGEST_RATIO * self.bound

    def __str__(self) -> str:
        return (
            f"{self.shape:8} {self.seed}: at least {self.bound:4}, packed {self.packed:4} "
            f"({self.packed / self.bound:.3f}), plain {self.plain:4} ({self.plain / self.bound:.3f}), "
            f"{self.seconds:5.1f} s: {'ok' if self.holds else 'BEYOND THE BOUND'}"
        )


def main() -> None:
    """Print the rows, and exit with 1 when one does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=500, help="in each set; default: %(default)s")
    parser.add_argument("--seeds", type=int, default=3, help="sets of each shape; default: %(default)s")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    options = parser.parse_args()
    rows = []
    for shape in SHAPES:
        for seed in range(1, options.seeds + 1):
            rows.append(measured(shape, seed, options.models))
            if not options.json:
                print(rows[-1], flush=True)
    if options.json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
    sys.exit(0 if all(row.holds for row in rows) else 1)


def measured(shape: str, seed: int, count: int) -> Row:
    """Pack one set of models both ways."""
    models = random_models(shape, count, seed=seed)
    began = process_time()
    packing = pack(models, instance_type=_TYPE)
    seconds = process_time() - began
    return Row(
        shape=shape,
        seed=seed,
        bound=packing.lower_bound,
        packed=packing.accelerators,
        plain=first_fit_decreasing(models),
        seconds=seconds,
    )


def first_fit_decreasing(models: Sequence[PackableModel]) -> int:
    """How many accelerators the plain way takes."""
    free: list[tuple[int, float, frozenset[str]]] = []
    for model in sorted(models, key=lambda each: -each.memory_mib):
        apart = frozenset([f"model {model.name}", *(f"group {group}" for group in model.groups or ())])
        share = model.share or 0.0
        for _ in range(model.replicas or 1):
            for place, (memory_left, share_left, there) in enumerate(free):
                if model.memory_mib <= memory_left and share <= share_left and there.isdisjoint(apart):
                    free[place] = (memory_left - model.memory_mib, share_left - share, there | apart)
                    break
            else:
                free.append((MEMORY_MIB - model.memory_mib, 1.0 - share, apart))
    return len(free)


if __name__ == "__main__":
    main()
