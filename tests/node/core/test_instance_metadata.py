"""The instance metadata service, version 2, and the identity document."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from http.client import HTTPException, IncompleteRead
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.node import instance_metadata
from constructs_lib.node.instance_metadata import Identity, Session, fetch_identity, parse_identity

# The shape of "Instance identity documents", EC2 User Guide.
DOCUMENT: dict[str, Any] = {
    "accountId": "123456789012",
    "architecture": "x86_64",
    "availabilityZone": "us-west-2b",
    "billingProducts": None,
    "imageId": "ami-5fb8c835",
    "instanceId": "i-1234567890abcdef0",
    "instanceType": "g6.xlarge",
    "pendingTime": "2026-11-30T12:00:00Z",
    "region": "us-west-2",
    "version": "2017-09-30",
}
IDENTITY = Identity("i-1234567890abcdef0", "g6.xlarge", 1796040000.0, "us-west-2")


@dataclass
class Answer:
    status: int
    body: bytes | Exception

    def read(self, limit: int) -> bytes:
        if isinstance(self.body, Exception):
            raise self.body
        return self.body[:limit]


@dataclass
class Service:
    """The metadata service behind `http.client.HTTPConnection`."""

    answers: list[Answer | Exception]
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    open: int = 0

    def __call__(self) -> Any:
        self.open += 1
        return self

    def request(self, method: str, path: str, headers: dict[str, str]) -> None:
        self.requests.append((method, path, headers))
        if isinstance(self.answers[0], Exception):
            raise self.answers.pop(0)  # type: ignore[misc]

    def getresponse(self) -> Answer | Exception:
        return self.answers.pop(0)

    def close(self) -> None:
        self.open -= 1


def test_the_document_is_read() -> None:
    assert parse_identity(json.dumps(DOCUMENT)) == IDENTITY


def test_a_token_is_asked_for_first() -> None:
    service = Service([Answer(200, b"secret==\n"), Answer(200, json.dumps(DOCUMENT).encode())])
    assert fetch_identity(service) == IDENTITY
    assert service.requests == [
        ("PUT", "/latest/api/token", {"X-aws-ec2-metadata-token-ttl-seconds": "60"}),
        ("GET", "/latest/dynamic/instance-identity/document", {"X-aws-ec2-metadata-token": "secret=="}),
    ]
    assert service.open == 0


def test_the_service_is_asked_directly_and_not_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy of the environment may see it."""
    asked: list[tuple[str, float]] = []

    def connection(host: str, timeout: float) -> Service:
        asked.append((host, timeout))
        return Service([TimeoutError("timed out")])

    monkeypatch.setattr(instance_metadata, "HTTPConnection", connection)
    with pytest.raises(TimeoutError):
        fetch_identity()
    assert asked == [("169.254.169.254", 1.0)]


@pytest.mark.parametrize(
    "answers",
    [
        [TimeoutError("timed out")],
        [ConnectionRefusedError()],
        [HTTPException("garbage")],
        [Answer(403, b"")],
        [Answer(200, b"secret"), Answer(404, b"")],
        [Answer(200, b"secret"), Answer(200, IncompleteRead(b""))],
    ],
    ids=["silent", "refused", "garbage", "switched off", "no document", "cut off"],
)
def test_a_service_that_does_not_answer_is_an_os_error(answers: list[Answer | Exception]) -> None:
    service = Service(answers)
    with pytest.raises(OSError):  # noqa: PT011 - of whichever kind: that is what callers are promised
        fetch_identity(service)
    assert service.open == 0


def test_one_token_is_enough_for_several_questions() -> None:
    service = Service([Answer(200, b"secret"), Answer(200, b"Terminated\n"), Answer(404, b"<html>"), Answer(200, b"x")])
    session = Session(service)
    assert [session.read("/a"), session.read("/b"), session.read("/c")] == ["Terminated", None, "x"]
    assert [method for method, _, _ in service.requests] == ["PUT", "GET", "GET", "GET"]
    assert service.open == 0


@pytest.mark.parametrize("status", [401, 403, 429, 500, 503])
def test_what_is_refused_is_not_what_is_not_there(status: int) -> None:
    session = Session(Service([Answer(200, b"secret"), Answer(status, b"")]))
    with pytest.raises(OSError, match=f"/a: status {status}"):
        session.read("/a")


def test_a_token_that_is_not_given_is_asked_for_again() -> None:
    service = Service([Answer(404, b""), Answer(200, b"secret"), Answer(200, b"x")])
    session = Session(service)
    with pytest.raises(OSError, match="token: status 404"):
        session.read("/a")
    assert session.read("/a") == "x"


@pytest.mark.parametrize("key", ["instanceId", "instanceType", "pendingTime", "region"])
@pytest.mark.parametrize("value", [None, "", 5, [], {}])
def test_a_document_without_what_is_needed_is_refused(key: str, value: object) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        parse_identity(json.dumps({**DOCUMENT, key: value}))


@pytest.mark.parametrize("pending", ["2026-11-30", "2026-11-30T12:00:00+01:00", "2026-13-30T12:00:00Z", "now"])
def test_a_time_of_another_form_is_refused(pending: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        parse_identity(json.dumps({**DOCUMENT, "pendingTime": pending}))


@pytest.mark.parametrize("text", ["", "<html>", "[]", "null", "[" * 100_000])
def test_what_is_no_document_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        parse_identity(text)


@given(st.text() | st.dictionaries(st.sampled_from([*DOCUMENT]), st.none() | st.text() | st.integers()).map(json.dumps))
def test_any_text_is_a_document_or_refused(text: str) -> None:
    try:
        identity = parse_identity(text)
    except ValueError:
        return
    assert identity.instance_id
    assert identity.instance_type


@given(cut=st.integers(0, 200), text=st.text(max_size=5))
def test_a_damaged_document_is_a_document_or_refused(cut: int, text: str) -> None:
    whole = json.dumps(DOCUMENT)
    try:
        parse_identity(whole[:cut] + text + whole[cut + 1 :])
    except ValueError:
        return
