"""What an adaptive policy is told: how long a start takes, and what follows from that."""

from __future__ import annotations

from aws_cdk import Duration

from constructs_lib.errors import ArgumentError
from constructs_lib.release.policy_checks import HOUR, MINUTE, WHERE, duration_seconds
from constructs_lib.validation import complaint

DEFAULT_COLD_START = 5 * MINUTE
DEFAULT_ADAPTIVE_WINDOW = HOUR
_LONGEST_COLD_START = 6 * MINUTE  # it was rehearsed with no slower starts that it came out cheaper with
_LONGEST_ADAPTIVE_WINDOW = 2 * HOUR  # over more the handler reads points too coarse to tell who is at work together
_BETWEEN_PASSES = 5 * MINUTE
_SHORTEST_WARM_UP = 5 * MINUTE


def cold_start_seconds(given: Duration) -> int:
    """Return how long a start takes, in seconds.

    Raises:
        ArgumentError: it is not whole minutes, or slower than an adaptive policy is good for.
    """
    cure = (
        "leave it out and give a fixed window for slower starts, such as IdlePolicy(window=Duration.minutes(15)): "
        "an adaptive policy starts instances more often, and with slow starts it cost more in rehearsals"
    )
    example = "Duration.minutes(5)"
    return duration_seconds("cold_start", given, MINUTE, _LONGEST_COLD_START, example=example, cure=cure)


def start_worth_seconds(cold_start: int) -> int:
    """Return for how many seconds an instance may be idle for what a start costs."""
    # The instance is paid for while it starts, somebody waits as long, and had to be noticed first.
    return 2 * cold_start + _BETWEEN_PASSES


def usual_warm_up(cold_start: int) -> int:
    """Return the warm-up by default, in seconds."""
    # Readings come minutes after what they tell of: one that is too short lets each launch count as come to nothing.
    return max(cold_start, _SHORTEST_WARM_UP)


def check_adaptive_window(seconds: int) -> None:
    """Refuse a window in which the handler could not tell how many were in use at once."""
    if seconds > _LONGEST_ADAPTIVE_WINDOW:
        rule = f"be at most {_LONGEST_ADAPTIVE_WINDOW // MINUTE} minutes with cold_start"
        cure = "shorten it, or leave cold_start out: with it, an instance seldom stays for the whole window"
        raise ArgumentError(complaint(WHERE, "window", rule, f"{seconds // MINUTE} minutes", cure))
