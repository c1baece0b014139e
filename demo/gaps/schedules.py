"""EventBridge: schedules do not fire by themselves, so that every step of the demo happens when it is told to."""

from __future__ import annotations

from ministack.services import eventbridge


def apply() -> None:
    """Stop the emulator's schedule clock."""
    eventbridge.start_scheduler = _stay_still


def _stay_still() -> None:
    """Take the place of the thread that fires rate and cron rules."""
