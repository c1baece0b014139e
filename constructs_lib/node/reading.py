"""One reading of the accelerators: the commands of the kind's reader, run side by side, and what they mean."""

from __future__ import annotations

from collections.abc import Sequence

from .readers import Reader
from .readings import HUNG, MISSING, Answer, Command, NoReading, Output
from .tool import Tools

_STATUS = {HUNG: 124, MISSING: 127}
"""Exit statuses as timeout(1) and shells give them."""

_OTHER_STATUS = 126


def commands_of(reader: Reader, expected_devices: int | None, most_devices: int) -> tuple[Command, ...]:
    """Return what to run: as for the largest machine if nobody knows how many devices this one has."""
    return reader.commands(most_devices if expected_devices is None else expected_devices)


def take_reading(reader: Reader, tools: Tools, commands: Sequence[Command]) -> Answer:
    """Read all accelerators now. One command of several that gives nothing costs only the devices it is about."""
    answers = tools.run(commands)
    missing = [answer for answer in answers if isinstance(answer, NoReading)]
    if missing and len(missing) == len(answers):
        return missing[0]
    return reader.parse([_as_output(answer) for answer in answers])


def _as_output(answer: Output | NoReading) -> Output:
    if isinstance(answer, Output):
        return answer
    return Output(_STATUS.get(answer.cause, _OTHER_STATUS), "", answer.reason)
