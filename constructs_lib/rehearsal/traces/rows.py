"""A file of rows: opened, decoded, its header found, and what is wrong with single rows kept with the line."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from constructs_lib.rehearsal.trace import BadRow, TraceError

MOST_SHOWN = 20
MOST_KEPT = 1000
_GZIP = b"\x1f\x8b"
_LONGEST_CELL = 40
_OPEN_QUOTE = "goes on over the end of the line: a quote is left open"


@contextmanager
def opened(path: Path) -> Iterator[TextIO]:
    """Open a file of text in UTF-8, compressed with gzip or not. A pipe will do.

    Raises:
        TraceError: it cannot be opened, or turns out while it is read not to be such a file.
    """
    try:
        raw = path.open("rb")
    except (OSError, ValueError) as error:
        raise TraceError(f"{path}: the trace must be a file that can be read; {error}") from error
    with raw:
        try:
            packed = raw.peek(len(_GZIP)).startswith(_GZIP)
            plain = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if packed else raw
            yield io.TextIOWrapper(plain, encoding="utf-8-sig", newline="")
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise TraceError(f"{path}: the trace must be whole, and its gzip data breaks off; {error}") from error
        except OSError as error:
            raise TraceError(f"{path}: the trace must be a file that can be read; {error}") from error


@contextmanager
def decoding(where: str) -> Iterator[None]:
    """Say what to do about a text that is not UTF-8.

    Raises:
        TraceError: it is not.
    """
    try:
        yield
    except UnicodeDecodeError as error:
        raise TraceError(
            f"{where}: the trace must be text in UTF-8; save it anew in this encoding ({error})"
        ) from error


class Findings:
    """What was not taken from a file as it is.

    Rows that are no jobs; by reason, the number of those that a format leaves out; how many windows of a file of rates
    have no data and were filled.
    """

    def __init__(self, unit: str = "line") -> None:
        self.bad: list[BadRow] = []
        self.bad_count = 0
        self.left_out: Counter[str] = Counter()
        self.filled = 0
        self.unit = unit
        self.keep_all = False

    def add(self, line: int, reason: str) -> None:
        """Keep a row that is no job. Beyond a thousand only their number is kept, unless all are asked for."""
        self.bad_count += 1
        if self.keep_all or len(self.bad) < MOST_KEPT:
            self.bad.append(BadRow(line, reason, self.unit))

    def stop(self, where: str) -> None:
        """Raise what is wrong with the rows, if anything is.

        Raises:
            TraceError: with the lines of the first rows that are no jobs, and the number of the others.
        """
        if not self.bad_count:
            return
        more = self.bad_count - min(len(self.bad), MOST_SHOWN)
        told = [*map(str, self.bad[:MOST_SHOWN]), *([f"and {more} more"] if more else [])]
        count = f"{self.bad_count} that {'is' if self.bad_count == 1 else 'are'} not"
        cure = "correct them, or leave them out with skip_bad:\n  " + ";\n  ".join(told)
        raise TraceError(f"{where}: every row must be a job, got {count}; {cure}", tuple(self.bad))

    def sentences(self) -> list[str]:
        """Say in words what was left out and filled in."""
        said = [f"{reason} left out: {count}" for reason, count in sorted(self.left_out.items())]
        if self.filled:
            said.append(f"windows without data filled from their neighbours: {self.filled}")
        return said


class Rows:
    """The rows of a file with commas: comment lines at its top, the first row, and the rows after it."""

    def __init__(self, lines: Iterator[str], where: str, findings: Findings) -> None:
        self.where = where
        self.findings = findings
        self.comments: list[str] = []
        self._lines_before = self._read_before = 0
        self._reader = csv.reader(self._after_comments(lines))
        self.first = self._first_row()

    def _after_comments(self, lines: Iterator[str]) -> Iterator[str]:
        for line in lines:
            text = line.removeprefix("\ufeff")
            if text.startswith("#"):
                self.comments.append(text[1:].strip())
            elif text.strip():
                # Into the line at the end goes a quote that is left open in a last row without an end of its own.
                return chain([text], lines, ["\n"])
            self._lines_before += 1
        return iter(())

    def _first_row(self) -> list[str]:
        try:
            return next(self._reader, [])
        except csv.Error as error:
            raise TraceError(
                f"{self.where}: the first line must be a header of comma-separated names; {error}"
            ) from error

    def __iter__(self) -> Iterator[list[str]]:
        """Go through the rows after the first. What is no row of a CSV file is among the findings."""
        reader = self._reader
        while True:
            self._read_before = reader.line_num
            try:
                for row in reader:
                    if row:
                        yield row
                    self._read_before = reader.line_num
            except csv.Error as error:
                self.findings.add(self.line, f"is no row of comma-separated cells: {error}")
            else:
                return

    @property
    def line(self) -> int:
        """The line on which the row that was read last begins."""
        return self._lines_before + self._read_before + 1

    def columns(self, *names: str) -> list[int]:
        """Return where the columns stand.

        Raises:
            TraceError: a column is missing or there twice.
        """
        found = header_names(self.first)
        missing = [name for name in names if name.lower() not in found]
        if missing:
            raise TraceError(
                f"{self.where}: the header must name the columns {', '.join(names)}, got {named(self.first)};"
                f" {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing{_separator_hint(self.first)}"
            )
        for name in names:
            if found.count(name.lower()) > 1:
                raise TraceError(f"{self.where}: the header must name {name} once, got {named(self.first)}")
        return [found.index(name.lower()) for name in names]


def header_names(cells: list[str]) -> list[str]:
    """Return the names in a header, without the case and the spaces in which people differ."""
    return [cell.strip().lower() for cell in cells]


def named(cells: list[str]) -> str:
    """Show the cells of a header in a message."""
    return ", ".join(shown(cell) for cell in cells) if cells else "nothing"


def shown(cell: str) -> str:
    """Show a cell in a message."""
    text = repr(cell)
    return text if len(text) <= _LONGEST_CELL else f"{text[:_LONGEST_CELL]}..."


def number(cell: str, name: str, *, above_zero: bool = False, at_most: float | None = None) -> float:
    """Return the number in a cell: decimal, finite and not negative.

    Raises:
        ValueError: with what is wrong, in words.
    """
    if not cell.strip():
        raise ValueError(f"{name} is empty")
    if "\n" in cell:
        raise ValueError(f"{name} {_OPEN_QUOTE}")
    try:
        if not cell.isascii() or "_" in cell:  # Python reads more spellings than other programs that read the file
            raise ValueError
        value = float(cell)
    except ValueError:
        raise ValueError(f"{name} is {shown(cell)}, which is not a number") from None
    if not isfinite(value):
        raise ValueError(f"{name} is {shown(cell)}, which is not finite")
    if value < 0:
        raise ValueError(f"{name} is {shown(cell)}, which is negative")
    if above_zero and value == 0:
        raise ValueError(f"{name} is {shown(cell)}, and must be above zero")
    if at_most is not None and value > at_most:
        raise ValueError(f"{name} is {shown(cell)}, more than {at_most:,.0f}")
    return value


def cell_of(row: list[str], at: int, name: str) -> str:
    """Return a cell of a row.

    Raises:
        ValueError: the row is too short, in words.
    """
    if at < len(row):
        return row[at]
    if row and "\n" in row[-1]:
        raise ValueError(f"its last cell {_OPEN_QUOTE}")
    raise ValueError(f"has {len(row)} cell{'' if len(row) == 1 else 's'}, and {name} would be number {at + 1}")


def _separator_hint(cells: list[str]) -> str:
    for sign, called in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
        if len(cells) == 1 and sign in cells[0]:
            return f" (the line is separated by {called}; write commas)"
    return ""
