"""What an error from AWS means for the caller: wait, ask again, or give up."""

from __future__ import annotations

from enum import Enum

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    HTTPClientError,
)
from botocore.exceptions import ConnectionError as NoConnection

AWS_ERRORS = (ClientError, BotoCoreError)

_THROTTLING_CODES = frozenset(
    {
        "BandwidthLimitExceeded",
        "EC2ThrottledException",
        "LimitExceededException",
        "PriorRequestNotComplete",
        "ProvisionedThroughputExceededException",
        "RateExceeded",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
_CONFLICT_CODES = frozenset({"ResourceContention", "ResourceInUse", "ScalingActivityInProgress"})


class Trouble(Enum):
    """Kinds of failure. All but `REFUSED` pass by themselves."""

    THROTTLED = "throttled"
    """Too many calls; nothing was done."""
    CONFLICT = "conflict"
    """Another activity is in the way; nothing was done."""
    UNCERTAIN = "uncertain"
    """No answer, or a fault inside AWS: the call may or may not have taken effect."""
    REFUSED = "refused"
    """AWS understood and said no; asking again changes nothing."""


def error_code(error: Exception) -> str:
    """Return AWS's code for the error, or the exception's own name when AWS never answered."""
    if isinstance(error, ClientError):
        return str(error.response.get("Error", {}).get("Code", "Unknown"))
    return type(error).__name__


def classify(error: Exception) -> Trouble:
    """Tell what kind of trouble an exception from a client call is."""
    if isinstance(error, ClientError):
        # Auto Scaling's modelled faults are named ...Fault in the model and come without it on the wire.
        code = error_code(error).removesuffix("Fault")
        if code in _THROTTLING_CODES:
            return Trouble.THROTTLED
        if code in _CONFLICT_CODES:
            return Trouble.CONFLICT
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 400)
        return Trouble.UNCERTAIN if status >= 500 else Trouble.REFUSED
    # These two are the roots of every failure to connect, send or read; other BotoCoreErrors are faults of
    # the caller.
    return Trouble.UNCERTAIN if isinstance(error, (HTTPClientError, NoConnection)) else Trouble.REFUSED
