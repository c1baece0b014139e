"""When a group tries again to launch what the cloud did not give, and when AWS gives the group up."""

from __future__ import annotations

TRIES_AGAIN = "how soon a group tries again after several launches that failed"
LONGEST_DELAY = 300
"""As it has been seen: about a minute at first, and several minutes later."""
_FIRST_DELAY = 60
_GIVES_UP_AFTER = 24 * 3_600
"""Seconds without any success after which AWS may suspend launching ("Suspend processes", Auto Scaling user guide)."""


class Retries:
    """The tries of one group; times in seconds.

    AWS does not publish the delays: a minute at first, then up to ``longest``, each twice the one before it.
    """

    def __init__(self, longest: int = LONGEST_DELAY) -> None:
        self.next_try = 0
        self._longest = longest
        self._delay = _FIRST_DELAY
        self._failing_since: int | None = None
        self._failures = 0
        self._most_wanted = 0

    def may_try(self, now: int, wanted: int) -> bool:
        """Return whether it is time; when more is wanted than before, it is at once."""
        return now >= self.next_try or wanted > self._most_wanted

    @property
    def is_next_open(self) -> bool:
        """Return whether the next try comes after a delay that may be another one: it is not the second try."""
        return self._failures > 1

    def failed(self, now: int, wanted: int) -> bool:
        """Note a try that gave nothing; return whether AWS gives the group up."""
        if self._failing_since is None:
            self._failing_since = now
        self._failures += 1
        self._most_wanted = wanted
        self.next_try = now + self._delay
        self._delay = min(2 * self._delay, self._longest)
        return now - self._failing_since >= _GIVES_UP_AFTER

    def settle(self) -> None:
        """Begin anew, because an instance came or nothing is missing any more."""
        self.next_try = 0
        self._delay = _FIRST_DELAY
        self._failing_since = None
        self._failures = 0
        self._most_wanted = 0
