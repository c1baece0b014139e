"""How many worlds are tried. The same ones each time, unless WORLDS asks for more: `WORLDS=20 make test` tries twenty
times as many, and other ones each time."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

from hypothesis import HealthCheck, Phase, settings

Test = TypeVar("Test", bound=Callable[..., None])

TIMES = int(os.environ.get("WORLDS", "1"))


def examples(count: int, *, shrink: bool = True) -> Callable[[Test], Test]:
    """Try `count` worlds; without `shrink` the first that fails is as good as the smallest."""
    return settings(
        max_examples=count * TIMES,
        derandomize=TIMES == 1,
        database=None,
        deadline=None,
        print_blob=False,
        phases=(Phase.explicit, Phase.generate, *([Phase.shrink] if shrink else [])),
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
