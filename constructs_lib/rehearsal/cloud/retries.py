"""When a group tries again to launch what the cloud did not give, and when AWS gives the group up."""

from __future__ import annotations

_FIRST_DELAY = 60
_LONGEST_DELAY = 300
_GIVES_UP_AFTER = 24 * 3_600
"""Seconds without any success after which AWS may suspend launching ("Suspend processes", Auto Scaling user guide)."""


class Retries:
    """The tries of one group; times in seconds. AWS does not publish the delays: a minute at first, then up to five."""

    def __init__(self) -> None:
        self.next_try = 0
        self._delay = _FIRST_DELAY
        self._failing_since: int | None = None
        self._most_wanted = 0

    def may_try(self, now: int, wanted: int) -> bool:
        """Return whether it is time; when more is wanted than before, it is at once."""
        return now >= self.next_try or wanted > self._most_wanted

    def failed(self, now: int, wanted: int) -> bool:
        """Note a try that gave nothing; return whether AWS gives the group up."""
        if self._failing_since is None:
            self._failing_since = now
        self._most_wanted = wanted
        self.next_try = now + self._delay
        self._delay = min(2 * self._delay, _LONGEST_DELAY)
        return now - self._failing_since >= _GIVES_UP_AFTER

    def settle(self) -> None:
        """Begin anew, because an instance came or nothing is missing any more."""
        self.next_try = 0
        self._delay = _FIRST_DELAY
        self._failing_since = None
        self._most_wanted = 0
