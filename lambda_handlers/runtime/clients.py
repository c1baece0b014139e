"""The one place where AWS clients are made."""

from __future__ import annotations

from typing import Any

import boto3
from botocore.config import Config

# The handlers do their own waiting (runtime.patience), because only they know their time budget and whether a
# call may be repeated: a termination whose answer was lost must not be sent again blindly. So botocore tries
# once.
_CONFIG = Config(connect_timeout=5, read_timeout=20, retries={"mode": "standard", "total_max_attempts": 1})


def make_client(service: str) -> Any:
    """Return a client for `service`; callers type it by a protocol that names the calls they make."""
    return boto3.client(service, config=_CONFIG)
