"""One JSON object a line on standard output, as Lambda's JSON log format and CloudWatch Logs read it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from runtime.clock import Clock

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"


def write_to_stdout(line: str) -> None:
    """Write one line to standard output, at once: a frozen process must not hold it back."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


class StructuredLog:
    """Writes log lines that carry `timestamp` and `level`, which Lambda's log filter needs, and the same
    fixed fields.

    `bound` is repeated on every line (the group's name, for one), so that any single line can be understood
    alone.
    """

    def __init__(self, clock: Clock, write: Callable[[str], None] = write_to_stdout, **bound: Json) -> None:
        self._clock = clock
        self._write = write
        self._bound = bound

    def bind(self, **fields: Json) -> StructuredLog:
        """Return a log that repeats `fields` as well."""
        return StructuredLog(self._clock, self._write, **{**self._bound, **fields})

    def info(self, message: str, **fields: Json) -> None:
        self._line("INFO", message, fields)

    def warning(self, message: str, **fields: Json) -> None:
        self._line("WARN", message, fields)

    def error(self, message: str, **fields: Json) -> None:
        self._line("ERROR", message, fields)

    def document(self, document: Mapping[str, Json]) -> None:
        """Write a document as it is: an embedded metric must keep its own shape."""
        self._write(json.dumps(document, separators=(",", ":")))

    def _line(self, level: str, message: str, fields: Mapping[str, Json]) -> None:
        stamp = self._clock.now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self.document({"timestamp": stamp, "level": level, "message": message, **self._bound, **fields})
