"""The one place where AWS clients are made."""

from __future__ import annotations

from datetime import datetime, timezone
from functools import cache
from typing import Any

import boto3
from botocore.config import Config
from botocore.session import get_session
from botocore.utils import parse_timestamp

# The handlers do their own waiting (runtime.patience), because only they know their time budget and whether a
# call may be repeated: a termination whose answer was lost must not be sent again blindly. So botocore tries
# once.
_CONFIG = Config(connect_timeout=5, read_timeout=20, retries={"mode": "standard", "total_max_attempts": 1})


def make_client(service: str) -> Any:
    """Return a client for `service`; callers type it by a protocol that names the calls they make."""
    _read_times_in_utc()
    return boto3.client(service, config=_CONFIG)


@cache
def _read_times_in_utc() -> None:
    """Let the session, which all clients share, give times in UTC.

    A release pass reads points by the hundred thousand. botocore gives each a time zone of its own, written in Python,
    which every comparison asks: that took most of a pass.
    """
    session = get_session()
    session.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=_in_utc)
    boto3.setup_default_session(botocore_session=session)


def _in_utc(value: Any) -> datetime:
    if isinstance(value, (int, float)):
        return datetime.fromtimestamp(value, timezone.utc)
    at: datetime = parse_timestamp(value)
    return at.astimezone(timezone.utc)
