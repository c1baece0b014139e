"""Which instance this is, and what else the instance metadata service, version 2, says of it.

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
_OK, _NOT_THERE = 200, 404


@dataclass(frozen=True)
class Identity:
    """The instance. `launched` is the time of its launch in epoch seconds."""

    instance_id: str
    instance_type: str
    launched: float
    region: str = ""


def parse_identity(text: str) -> Identity:
    """Read an identity document; raise ValueError if it is none."""
    try:
        document = json.loads(text)
    except RecursionError as error:
        raise ValueError("the identity document is nested too deeply") from error
    if not isinstance(document, dict):
        raise ValueError("the identity document must be an object")
    instance_id, instance_type, pending, region = (
        _text(document, key) for key in ("instanceId", "instanceType", "pendingTime", "region")
    )
    launched = datetime.strptime(pending, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    return Identity(instance_id, instance_type, launched.timestamp(), region)


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
    identity = Session(connect).read("/latest/dynamic/instance-identity/document")
    if identity is None:
        raise OSError("instance metadata: there is no identity document; see the metadata options of the instance")
    return parse_identity(identity)


class Session:
    """A minute in which the service can be asked; the first question asks for a token."""

    def __init__(self, connect: Callable[[], HTTPConnection] = _connect) -> None:
        self._connect = connect
        self._token: str | None = None

    def read(self, path: str) -> str | None:
        """Return what the service has there, None if there is no such thing. Raises OSError if it does not say."""
        if self._token is None:
            lifetime = {"X-aws-ec2-metadata-token-ttl-seconds": str(_TOKEN_LIFE_SECONDS)}
            self._token = _found("/latest/api/token", *self._request("PUT", "/latest/api/token", lifetime))
        status, text = self._request("GET", path, {"X-aws-ec2-metadata-token": self._token})
        return None if status == _NOT_THERE else _found(path, status, text)

    def _request(self, method: str, path: str, headers: dict[str, str]) -> tuple[int, str]:
        connection = self._connect()
        try:
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            body = answer.read(_LIMIT_BYTES)
        except HTTPException as error:
            raise OSError(f"instance metadata, {path}: {error!r}") from error
        finally:
            connection.close()
        return answer.status, body.decode("utf-8", "replace").strip()


def _found(path: str, status: int, text: str) -> str:
    if status != _OK:
        raise OSError(f"instance metadata, {path}: status {status}; see the metadata options of the instance")
    return text
