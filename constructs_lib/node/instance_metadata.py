"""Which instance this is, from the instance metadata service, version 2.

Source: "Instance identity documents" and "Use the Instance Metadata Service", EC2 User Guide.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from http.client import HTTPConnection, HTTPException

HOST = "169.254.169.254"
TIME_LIMIT_SECONDS = 1.0

_LIMIT_BYTES = 1 << 16
_TOKEN_LIFE_SECONDS = 60


@dataclass(frozen=True)
class Identity:
    """The instance. `launched` is the time of its launch in epoch seconds."""

    instance_id: str
    instance_type: str
    launched: float


def parse_identity(text: str) -> Identity:
    """Read an identity document; raise ValueError if it is none."""
    try:
        document = json.loads(text)
    except RecursionError as error:
        raise ValueError("the identity document is nested too deeply") from error
    if not isinstance(document, dict):
        raise ValueError("the identity document must be an object")
    instance_id, instance_type, pending = (
        _text(document, key) for key in ("instanceId", "instanceType", "pendingTime")
    )
    launched = datetime.strptime(pending, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    return Identity(instance_id, instance_type, launched.timestamp())


def _text(document: dict[str, object], key: str) -> str:
    value = document.get(key)
    if not isinstance(value, str) or not value:
        raise ValueError(f"the identity document must have a text for {key}, got {value!r:.80}")
    return value


def _connect() -> HTTPConnection:
    # Not urllib: a proxy in the environment must never see this.
    return HTTPConnection(HOST, timeout=TIME_LIMIT_SECONDS)


def fetch_identity(connect: Callable[[], HTTPConnection] = _connect) -> Identity:
    """Ask the metadata service. Raises OSError if it does not answer, ValueError if the answer makes no sense."""
    lifetime = {"X-aws-ec2-metadata-token-ttl-seconds": str(_TOKEN_LIFE_SECONDS)}
    token = _request(connect, "PUT", "/latest/api/token", lifetime)
    header = {"X-aws-ec2-metadata-token": token}
    return parse_identity(_request(connect, "GET", "/latest/dynamic/instance-identity/document", header))


def _request(connect: Callable[[], HTTPConnection], method: str, path: str, headers: dict[str, str]) -> str:
    connection = connect()
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        body = answer.read(_LIMIT_BYTES)
    except HTTPException as error:
        raise OSError(f"instance metadata, {path}: {error!r}") from error
    finally:
        connection.close()
    if answer.status != 200:
        raise OSError(f"instance metadata, {path}: status {answer.status}; see the metadata options of the instance")
    return body.decode("utf-8", "replace").strip()
