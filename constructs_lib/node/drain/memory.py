"""How far a drain is, kept on disk: a machine that restarts in the middle of it goes on."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, fields

from .decision import BEGUN, DONE, ENDED, INTERRUPTION, NOT_YET, REBALANCE, TERMINATION, TIMED_OUT, State

_WORDS = {
    "reason": ("", REBALANCE, TERMINATION, INTERRUPTION),
    "checkpoint": (NOT_YET, BEGUN, ENDED),
    "command": (NOT_YET, BEGUN, ENDED),
    "outcome": ("", DONE, TIMED_OUT),
}
_MAY_BE_NONE = ("hook_until", "interruption_ends")


def to_text(instance_id: str, state: State) -> str:
    """Write a state down, for the instance that it belongs to."""
    return json.dumps({"instance": instance_id, "state": asdict(state)})


def from_text(text: str, instance_id: str) -> State | None:
    """Read it; None if it is of another instance, whose disk an image was made of. Raises ValueError if it is none."""
    try:
        document = json.loads(text)
    except RecursionError as error:
        raise ValueError("the memory of a drain is nested too deeply") from error
    state = document.get("state") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(state, dict) or set(state) != {f.name for f in fields(State)}:
        raise ValueError("the memory of a drain must be an object with an instance and a state")
    if document.get("instance") != instance_id:
        return None
    for name, value in state.items():
        if not _fits(name, value, getattr(State(), name)):
            raise ValueError(f"the memory of a drain has no use for {name} = {value!r:.80}")
    return State(**state)


def _fits(name: str, value: object, usual: object) -> bool:
    if name in _WORDS:
        return isinstance(value, str) and value in _WORDS[name]
    if isinstance(usual, (bool, str)):
        return type(value) is type(usual)
    if value is None:
        return name in _MAY_BE_NONE
    if type(usual) is int:
        return type(value) is int and 0 <= value <= 1000
    return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]
