"""Where the memory is kept: one SSM parameter, whose version numbers tell when two runs have written at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from botocore.exceptions import ClientError

from fleet_schedule.aws import ParameterClient
from fleet_schedule.memory import UNTOUCHED, Memory, read_memory, withdraw, write_memory
from runtime.aws_errors import error_code
from runtime.patience import Patience

_VERSION_NOT_FOUND = "ParameterVersionNotFound"
_LOOKED_BACK = 10
"""How many versions back saved sizes are looked for that the newest one lacks."""


@dataclass(frozen=True, kw_only=True)
class MemoryStore:
    """The parameter `name`. Of a group that is closed (all sizes 0), it has to hold the sizes of the open one.

    A parameter cannot be written on a condition, and reads can lag behind. But each write answers the number of its
    version, and older versions can be read: a run that has written over something reads what that was, and writes
    again.
    """

    client: ParameterClient
    name: str
    group_is_closed: bool
    patience: Patience

    def read(self) -> Memory:
        """Return what is remembered. Raises `MemoryUnreadable` if that is nothing the function has written."""
        memory, _ = self._read()
        return memory

    def change(self, change: Callable[[Memory], Memory]) -> Memory:
        """Apply a change, and return the memory with it. It may be applied more than once, each time to other memory.

        Nothing is written when nothing changes.
        """
        memory, version = self._read()
        changed = change(memory)
        if changed == memory:
            return memory
        attempts = 0
        while True:
            written = self._put(changed)
            if written == version + 1:
                return changed
            # Somebody has written between our reading and our writing, or our reading was stale.
            overwritten = self._written_between(version, written)
            if overwritten is None:
                return changed
            ours, version = changed, written
            changed = withdraw(ours, change(overwritten), self.patience.clock.now())
            if changed == ours:
                return changed
            self.patience.pause("writing the parameter while others do", attempts)
            attempts += 1

    def _read(self) -> tuple[Memory, int]:
        answer = self.patience.call("reading the parameter", lambda: self.client.get_parameter(Name=self.name))
        value, version = answer["Parameter"]["Value"], answer["Parameter"]["Version"]
        memory = read_memory(value)
        for older in range(version - 1, max(0, version - 1 - _LOOKED_BACK), -1):
            reset = value == UNTOUCHED
            if not (reset or (self.group_is_closed and memory.sizes is None)):
                break
            before = self._value(older, missing=UNTOUCHED)
            if reset:
                # A deploy that changes anything about the parameter writes its value anew.
                value, memory = before, read_memory(before)
            else:
                # A run that has written over another's memory may have broken off before it put it right.
                memory = withdraw(read_memory(before), memory, self.patience.clock.now())
        return memory, version

    def _written_between(self, first: int, last: int) -> Memory | None:
        """Return the newest memory of the versions between these two; None if only deploys have written there."""
        for version in range(last - 1, first, -1):
            value = self._value(version)
            if value != UNTOUCHED:
                return read_memory(value)
        return None

    def _put(self, memory: Memory) -> int:
        text = write_memory(memory)
        answer = self.patience.call(
            "writing the parameter", lambda: self.client.put_parameter(Name=self.name, Value=text, Overwrite=True)
        )
        return answer["Version"]

    def _value(self, version: int, *, missing: str | None = None) -> str:
        """Return the value of a version; of one that is not there, `missing`, else wait until it is."""
        named = f"{self.name}:{version}"
        attempts = 0
        while True:
            try:
                answer = self.patience.call(
                    "reading an older version of the parameter", lambda: self.client.get_parameter(Name=named)
                )
                return answer["Parameter"]["Value"]
            except ClientError as error:
                if error_code(error) != _VERSION_NOT_FOUND:
                    raise
                if missing is not None:
                    return missing
            self.patience.pause("reading what was written over", attempts)
            attempts += 1
