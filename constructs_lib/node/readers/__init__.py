"""The readers, one module for each kind of accelerator: which tool is asked, what its answer means, how faults show.

A module of this package that has what `Reader` names is a reader, and its name is the kind. Nothing lists them.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from types import ModuleType
from typing import Protocol, cast

from ..readings import Answer, Command, Output

_KIND = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


class Reader(Protocol):
    """What a module of this package offers."""

    FAULT_LINES: tuple[str, ...]
    """Regular expressions, searched for in each line of the kernel log, that find those that tell of a fault."""

    def commands(self, expected: int) -> tuple[Command, ...]:
        """Return what to run on a machine that has `expected` devices of the kind, in this order."""

    def parse(self, outputs: Sequence[Output]) -> Answer:
        """Read the answers to the commands, in their order. It is pure and raises nothing, whatever they say."""


def reader_of(kind: str) -> Reader:
    """Return the reader of a kind of accelerator.

    Raises ValueError if this package has no reader of that name.
    """
    module = _module_of(kind) if _KIND.fullmatch(kind) else None
    if module is None or not all(hasattr(module, name) for name in ("FAULT_LINES", "commands", "parse")):
        raise ValueError(
            f"settings: kind must be the name of a reader, got {kind[:80]!r}; correct it, or add a module of that name "
            "to the package readers"
        )
    return cast(Reader, module)


def _module_of(kind: str) -> ModuleType | None:
    """Return a module of this package, or None if there is none. What fails within it is not hidden."""
    name = f"{__name__}.{kind}"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        return None
