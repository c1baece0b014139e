"""Reading a queue's backlog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypedDict

from runtime.demand import Backlog
from runtime.patience import Patience

_VISIBLE = "ApproximateNumberOfMessages"
_IN_FLIGHT = "ApproximateNumberOfMessagesNotVisible"


class UnreadableQueue(Exception):
    """The queue answered with something that is not a number of messages."""


class AttributesAnswer(TypedDict, total=False):
    Attributes: dict[str, str]


class QueueReader(Protocol):
    """The call that `read_backlog` makes."""

    def get_queue_attributes(self, *, QueueUrl: str, AttributeNames: Sequence[str]) -> AttributesAnswer: ...


def read_backlog(client: QueueReader, queue_url: str, patience: Patience) -> Backlog:
    """Return the backlog as the queue tells it. Raises `UnreadableQueue` for a count that is no number."""
    answer = patience.call(
        "reading the queue",
        lambda: client.get_queue_attributes(QueueUrl=queue_url, AttributeNames=[_VISIBLE, _IN_FLIGHT]),
    )
    attributes = answer.get("Attributes", {})
    return Backlog(visible=_count(attributes, _VISIBLE), in_flight=_count(attributes, _IN_FLIGHT))


def _count(attributes: Mapping[str, str], name: str) -> int:
    text = attributes.get(name)
    # A missing count is no zero: an empty queue says "0".
    if text is None or not (text.isascii() and text.isdigit()):
        raise UnreadableQueue(f"queue attribute {name} must be a number of messages, got {text!r}")
    return int(text)
