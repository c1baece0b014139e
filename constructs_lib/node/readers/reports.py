"""What the tools' answers have in common: lines, JSON documents, and what to say if there is no device in them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..readings import FAILED, MISSING, UNREADABLE, NoReading, Output

LONGEST_TEXT = 4 * 1024 * 1024
"""A report of sixteen devices has a quarter of a million characters. What is far longer is not looked at."""

_LONGEST_QUOTE = 160
_COMMAND_NOT_FOUND = 127
"""The exit status of a shell that does not find the command (POSIX)."""


def text_of(outputs: Sequence[Output]) -> str:
    """Return what the only command wrote, or nothing if that is too much to be an answer."""
    text = outputs[0].stdout if outputs else ""
    return text if len(text) <= LONGEST_TEXT else ""


def complete_lines(text: str) -> list[str]:
    """Return the lines that end in a line break. One that does not was cut off, and so may be the number in it."""
    return text.split("\n")[:-1]


def json_document(text: str) -> object:
    """Return the first JSON object in a text, or None. Tools write lines of their log before it."""
    start = text.find("{")
    if start < 0:
        return None
    try:
        document, _ = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return document


def member(document: object, *keys: str) -> object:
    """Return what stands under the keys, one in the other, in a JSON document, or None."""
    for key in keys:
        if not isinstance(document, dict):
            return None
        document = document.get(key)
    return document


def quote(text: object) -> str:
    """Return a text as one short line that can stand in a message, "nothing" if it is empty."""
    line = " ".join(str(text)[: 4 * _LONGEST_QUOTE].split()) or "nothing"
    return line if len(line) <= _LONGEST_QUOTE else f"{line[:_LONGEST_QUOTE]}..."


def nothing_read(tool: str, outputs: Sequence[Output]) -> NoReading:
    """Say why a tool's answers give no device: an exit status, or what it wrote instead."""
    failed = next((output for output in outputs if output.exit_status != 0), None)
    if failed is not None:
        cause = MISSING if failed.exit_status == _COMMAND_NOT_FOUND else FAILED
        return NoReading(cause, f"{tool} ended with exit status {failed.exit_status} and said: {said(failed)}")
    return NoReading(UNREADABLE, f"{tool} lists no device; it said: {said(outputs[0]) if outputs else 'nothing'}")


def said(output: Output) -> str:
    """Return what a tool wrote, its error messages first, as one short line."""
    return quote(output.stderr if output.stderr.strip() else output.stdout)
