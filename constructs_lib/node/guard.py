"""Keeps a fault in one part of the program from holding up the others."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import TypeVar

from .events import Events, Tell

T = TypeVar("T")

UNKNOWN = "unknown"


class Unknown(Exception):
    """What was to be found out is not known; the message says why."""


class Guard:
    """Runs the parts, and tells once when one of them begins to fail, and once when it works again."""

    def __init__(self, events: Events) -> None:
        self._events = events

    def attempt(self, part: str, work: Callable[[], T]) -> T | None:
        """Return what the work gives, None if it fails."""
        try:
            result = work()
        except Unknown as unknown:
            self._events.fails(part, UNKNOWN, str(unknown))
        except (OSError, ValueError) as error:
            self._events.fails(part, type(error).__name__, str(error))
        except Exception as error:
            # A fault of the program itself. Whoever mends it needs to know where.
            self._events.fails(part, type(error).__name__, traceback.format_exc())
        else:
            self._events.works(part)
            return result
        return None

    def count(self, part: str, count: Callable[[Tell], int | None]) -> int | None:
        """Return a count, None if there is none. The function is given something to tell the reason to."""
        reasons: list[str] = []

        def known() -> int:
            number = count(reasons.append)
            if number is None:
                raise Unknown("; ".join(reasons))
            return number

        return self.attempt(part, known)
