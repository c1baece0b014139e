"""What the program knows, written down after each reading for the case that it is started again in the same boot."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field

from .derived import State


@dataclass(frozen=True)
class Memory:
    """The state between readings, the time of the first use in epoch seconds, and the tools that could not be ended."""

    state: State = field(default_factory=State)
    first_use: float | None = None
    stuck: object = field(default_factory=list)


def to_text(memory: Memory) -> str:
    """Write it down."""
    return json.dumps({"state": asdict(memory.state), "first_use": memory.first_use, "stuck": memory.stuck})


def from_text(text: str) -> Memory:
    """Read it; raise ValueError if it is not what `to_text` writes. `stuck` is for its owner to check."""
    try:
        document = json.loads(text)
    except RecursionError as error:
        raise ValueError("the program's memory is nested too deeply") from error
    if not isinstance(document, dict) or not isinstance(document.get("state"), dict):
        raise ValueError("the program's memory must be an object with a state")
    state = document["state"]
    joules_left = _number(state, "joules_left")
    return Memory(
        State(
            known_at=_number(state, "known_at"),
            idle_since=_number(state, "idle_since"),
            powered_at=_number(state, "powered_at"),
            joules_left=0.0 if joules_left is None else joules_left,
            transfers=_counters(state.get("transfers")),
        ),
        _number(document, "first_use"),
        document.get("stuck"),
    )


def _number(document: dict[str, object], key: str) -> float | None:
    value = document.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e15 or math.isnan(value):
        raise ValueError(f"{key} in the program's memory must be a number, got {value!r:.80}")
    return float(value)


def _counters(value: object) -> dict[int, int]:
    if not isinstance(value, dict) or not all(type(counter) is int for counter in value.values()):
        raise ValueError("the program's memory must hold the counters of the devices")
    # JSON has no keys but texts.
    return {int(index): counter for index, counter in value.items()}
