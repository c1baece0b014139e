"""Answering CloudFormation: one small JSON document, put to the address that came with the request."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from fleet_cleanup.request import Request
from runtime.patience import Patience

MAX_BODY_BYTES = 4096
_ATTEMPTS = 4
_TIMEOUT_SECONDS = 10

Send: TypeAlias = Callable[[str, bytes], int]
"""Puts a body to an address and returns the HTTP status; raises `OSError` when nothing answered."""


class ResponseNotDelivered(Exception):
    """CloudFormation did not take the answer; the invocation must fail, so that Lambda runs it again."""


@dataclass(frozen=True, kw_only=True)
class Response:
    """The outcome of a request."""

    status: Literal["SUCCESS", "FAILED"]
    physical_id: str
    reason: str
    data: Mapping[str, str] = field(default_factory=dict)


def put(url: str, body: bytes) -> int:
    """Put a body to a pre-signed address."""
    # S3 signed the request without a content type, so none may be sent.
    request = urllib.request.Request(url, data=body, method="PUT", headers={"Content-Type": ""})
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def encode(request: Request, response: Response) -> bytes:
    """Return the body, at most 4096 bytes: a reason that is too long is cut at its end."""

    def body(reason_length: int) -> bytes:
        document = {
            "Status": response.status,
            "Reason": response.reason[:reason_length],
            "PhysicalResourceId": response.physical_id,
            "StackId": request.stack_id,
            "RequestId": request.request_id,
            "LogicalResourceId": request.logical_id,
            "Data": dict(response.data),
        }
        return json.dumps(document).encode()

    # A character takes 1 to 12 bytes in JSON, so how many fit is searched for and not computed.
    lengths = range(len(response.reason) + 1)
    fitting = bisect_right(lengths, MAX_BODY_BYTES, key=lambda length: len(body(length)))
    return body(max(0, fitting - 1))


def answer(request: Request, response: Response, send: Send, patience: Patience) -> None:
    """Send the response, trying again when the other side fails. Raises `ResponseNotDelivered`."""
    body = encode(request, response)
    for attempt in range(_ATTEMPTS):
        if attempt:
            patience.pause("answering CloudFormation", attempt - 1)
        try:
            status = send(request.response_url, body)
        except OSError as error:
            trouble = type(error).__name__
            continue
        if status < 300:
            return
        trouble = f"HTTP {status}"
        if status < 500:
            break
    # Without the cause: a network error may carry the address, which is a secret.
    raise ResponseNotDelivered(f"CloudFormation did not take the answer: {trouble}") from None
