"""SNS topics, as far as publishing goes."""

from __future__ import annotations

from typing import Any

from tests.handlers.fake_aws.calls import Parameters, refusal

BYTES_PER_MESSAGE = 262_144
CHARACTERS_PER_SUBJECT = 100


class FakeTopics:
    """The SNS service. `published` holds what each Publish said."""

    def __init__(self) -> None:
        self.published: list[Parameters] = []

    def publish(self, parameters: Parameters) -> dict[str, Any]:
        subject = parameters.get("Subject", "x")
        if not 0 < len(subject) <= CHARACTERS_PER_SUBJECT or "\n" in subject or not subject.isascii():
            raise refusal("InvalidParameter", "Invalid parameter: Subject")
        if not 0 < len(parameters["Message"].encode()) <= BYTES_PER_MESSAGE:
            raise refusal("InvalidParameter", "Invalid parameter: Message too long")
        self.published.append(parameters)
        return {"MessageId": f"message-{len(self.published)}"}
