"""How long the instance took from its launch to the driver, to the agent, and to the first use.

Each is published once in the instance's life. The program starts again, the machine too, and an image may be made of
the instance: what was published is kept on disk, with the instance and the boot that it is about.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from . import names
from .files import read_text, write_atomically
from .statsd import Metric

ALL = (names.COLD_START_DRIVER, names.COLD_START_AGENT, names.COLD_START_FIRST_USE)


@dataclass(frozen=True)
class Life:
    """An instance: the boot in which the program first ran on it, and what was published for it already."""

    instance_id: str
    boot_id: str
    published: tuple[str, ...] = ()


def parse_life(text: str) -> Life:
    """Read what an earlier program wrote down; raise ValueError if it is not that."""
    try:
        document = json.loads(text)
    except RecursionError as error:
        raise ValueError("the life of the instance is nested too deeply") from error
    if not isinstance(document, dict):
        raise ValueError("the life of the instance must be an object")
    instance, boot, known = (document.get(key) for key in ("instance", "boot", "published"))
    if not isinstance(instance, str) or not isinstance(boot, str):
        raise ValueError("the life of the instance must have an instance and a boot")
    if not isinstance(known, list) or not all(name in ALL for name in known):
        raise ValueError(f"the life of the instance must list what of {', '.join(ALL)} was published")
    return Life(instance, boot, tuple(known))


def load_life(path: Path, instance_id: str, boot_id: str) -> Life:
    """Return what is known of this instance; a new life if the file is absent, or about the instance of an image.

    Raises OSError or ValueError if the file cannot be read.
    """
    text = read_text(path)
    life = None if text is None else parse_life(text)
    return life if life is not None and life.instance_id == instance_id else Life(instance_id, boot_id)


def save_life(path: Path, life: Life) -> None:
    """Write it down; raise OSError if that fails."""
    document = {"instance": life.instance_id, "boot": life.boot_id, "published": list(life.published)}
    write_atomically(path, json.dumps(document))


def due(
    life: Life, boot_id: str, launched: float, moments: Mapping[str, float | None]
) -> tuple[tuple[Metric, ...], tuple[str, ...]]:
    """Return what is to be published, and what cannot be true. All times are epoch seconds.

    `moments` holds when each thing came to pass, None if it did not yet. The driver and the agent start again with each
    boot: only the first boot says how long they took from the launch.
    """
    metrics, doubts = [], []
    for name, moment in moments.items():
        of_other_boot = boot_id != life.boot_id and name != names.COLD_START_FIRST_USE
        if moment is None or name in life.published or of_other_boot:
            continue
        if moment < launched:
            doubts.append(f"{name}: {launched - moment:.0f} s before the launch")
        else:
            metrics.append(Metric(name, moment - launched))
    return tuple(metrics), tuple(doubts)


def published(life: Life, metrics: tuple[Metric, ...]) -> Life:
    """Return the life with these metrics published."""
    return replace(life, published=(*life.published, *(metric.name for metric in metrics)))


def moment_in(path: Path) -> float | None:
    """Return the epoch seconds that a file holds, None if there is no such file.

    Raises OSError if it cannot be read, ValueError if it holds something else.
    """
    text = read_text(path)
    if text is None:
        return None
    moment = float(text)
    if not math.isfinite(moment) or moment <= 0:
        raise ValueError(f"{path}: must hold epoch seconds, got {text.strip()[:40]!r}")
    return moment
