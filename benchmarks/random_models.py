"""Random models for an accelerator of 24,000 MiB, whose memory and share go together in different ways."""

from __future__ import annotations

import math
import random

from constructs_lib.rightsizing.packing import PackableModel

MEMORY_MIB = 24_000
SHAPES = ("mixed", "alike", "opposite", "skewed", "replicas")
"""Memory and share know nothing of each other; go together; the one is large where the other is small; are small with a
few large ones; and mixed again, with replicas and groups that are kept apart."""


def random_models(shape: str, count: int, *, seed: int) -> list[PackableModel]:
    """Make models of one of the shapes; the same seed makes the same ones."""
    chance = random.Random(seed)
    found = []
    for number in range(count):
        memory = chance.randint(500, 9_000)
        share = chance.uniform(0.01, 0.35)
        if shape == "opposite":
            share = 0.01 + 0.35 * (1 - memory / 9_500)
        if shape == "alike":
            share = memory / MEMORY_MIB * chance.uniform(0.7, 1.3)
        if shape == "skewed":
            memory = int(math.exp(chance.uniform(math.log(300), math.log(20_000))))
            share = math.exp(chance.uniform(math.log(0.01), math.log(0.7)))
        replicas = chance.choice([1, 1, 1, 2, 3]) if shape == "replicas" else 1
        groups = [f"team {chance.randrange(12)}"] if shape == "replicas" and chance.random() < 0.3 else []
        found.append(
            PackableModel(name=f"m{number:03}", memory_mib=memory, share=share, replicas=replicas, groups=groups)
        )
    return found
