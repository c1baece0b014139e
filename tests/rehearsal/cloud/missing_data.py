"""What CloudWatch's user guide shows of missing data: points of three periods and more, and the states they lead to.

"Configuring how CloudWatch alarms treat missing data", both tables: X breaches, 0 does not, - is missing, the newest is
on the right, N is 3. The states are under missing, ignore (which keeps the present one), breaching and notBreaching.
"""

from __future__ import annotations

_POINTS = {"X": True, "0": False, "-": None}
PUBLISHED = [
    (3, "0 - X - X", ("OK", "OK", "OK", "OK")),
    (3, "0 - - - -", ("OK", "OK", "OK", "OK")),
    (3, "- - - - -", ("INSUFFICIENT_DATA", "keep", "ALARM", "OK")),
    (3, "0 X X - X", ("ALARM", "ALARM", "ALARM", "ALARM")),
    (3, "- - X - -", ("ALARM", "keep", "ALARM", "OK")),
    (2, "0 - X - X", ("ALARM", "ALARM", "ALARM", "ALARM")),
    (2, "0 0 X 0 X", ("ALARM", "ALARM", "ALARM", "ALARM")),
    (2, "0 - X - -", ("OK", "OK", "ALARM", "OK")),
    (2, "- - - - 0", ("OK", "OK", "ALARM", "OK")),
    (2, "- - - X -", ("ALARM", "keep", "ALARM", "OK")),
]


def points(row: str) -> list[bool | None]:
    """Return whether each point of a row breaches, None for a missing one."""
    return [_POINTS[symbol] for symbol in row.split()]
