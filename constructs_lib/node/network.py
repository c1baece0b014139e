"""Traffic of the instance's own network interfaces, as the kernel counts it.

What passes the operating system by, as EFA does, is not in these counters.
"""

from __future__ import annotations

from pathlib import Path

from .derived import LONGEST_GAP_INTERVALS

_INTERFACES = Path("/sys/class/net")


def count_bytes(interfaces: Path = _INTERFACES) -> int:
    """Return how many bytes came in and went out since the interfaces are there; raise OSError if none is.

    Only those with a device behind them: what goes to a container or over a bridge leaves by one of them or not at all.
    """
    own = [place for place in interfaces.iterdir() if (place / "device").exists()]
    if not own:
        raise OSError(f"{interfaces} has no interface with a device")
    return sum(_counter(place / "statistics" / name) for place in own for name in ("rx_bytes", "tx_bytes"))


def _counter(path: Path) -> int:
    return int(path.read_text(encoding="ascii"))


class Traffic:
    """How much traffic there was between two readings."""

    def __init__(self, interval_seconds: int) -> None:
        self._interval_seconds = interval_seconds
        self._at: float | None = None
        self._count = 0

    def per_second(self, count: int, now: float) -> float | None:
        """Return bytes a second since the last count, None if that says nothing; `now` is in seconds since boot.

        So it is at the first count, after a gap, and when an interface has gone.
        """
        before, since = self._count, self._at
        self._count, self._at = count, now
        if since is None or count < before or not 0 < now - since <= LONGEST_GAP_INTERVALS * self._interval_seconds:
            return None
        return (count - before) / (now - since)
