"""What the function remembers from one pass to the next: one parameter that holds one JSON object."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Protocol, TypedDict

from runtime.patience import Patience
from stack_expiry.decision import Memory, Notice


class ParameterDocument(TypedDict):
    Value: str


class ParameterAnswer(TypedDict):
    Parameter: ParameterDocument


class ParameterClient(Protocol):
    """The Systems Manager calls of the expiry function."""

    def get_parameter(self, *, Name: str) -> ParameterAnswer: ...

    def put_parameter(self, *, Name: str, Value: str, Overwrite: bool) -> object: ...


@dataclass(frozen=True, kw_only=True)
class MemoryStore:
    """The parameter with the memory."""

    client: ParameterClient
    parameter: str
    patience: Patience

    def read(self) -> Memory:
        """Return what is remembered. Something that cannot be understood is as good as nothing: people are warned anew.

        Raises `OutOfTime` and AWS's refusals.
        """
        ask = partial(self.client.get_parameter, Name=self.parameter)
        return _memory(self.patience.call("reading what has been told", ask)["Parameter"]["Value"])

    def write(self, memory: Memory) -> None:
        """Remember. Raises `OutOfTime` and AWS's refusals."""
        put = partial(self.client.put_parameter, Name=self.parameter, Value=_text(memory), Overwrite=True)
        self.patience.call("remembering what has been told", put)


def _memory(value: str) -> Memory:
    try:
        document = json.loads(value)
        told = document.get("told")
        return Memory(
            told=None if told is None else Notice(told),
            told_at=_time(document.get("told_at")),
            warned_of=_time(document.get("warned_of")),
            warned_since=_time(document.get("warned_since")),
        )
    except (ValueError, TypeError, AttributeError):
        return Memory()


def _time(value: str | None) -> datetime | None:
    if value is None:
        return None
    moment = datetime.fromisoformat(value)
    if moment.tzinfo is None:
        raise ValueError(f"{value!r} has no offset")
    return moment


def _text(memory: Memory) -> str:
    times = {"told_at": memory.told_at, "warned_of": memory.warned_of, "warned_since": memory.warned_since}
    document = {name: moment.isoformat() for name, moment in times.items() if moment is not None}
    if memory.told is not None:
        document["told"] = memory.told.value
    return json.dumps(document)
