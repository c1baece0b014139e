"""One reading of a kind that asks several commands, and of one that asks one."""

from __future__ import annotations

from collections.abc import Sequence

from constructs_lib.node.reading import commands_of, take_reading
from constructs_lib.node.readings import FAILED, HUNG, MISSING, Answer, Command, Device, NoReading, Output, Reading


class PerSlot:
    """A reader with a command for each device, as that of FPGAs."""

    FAULT_LINES: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.outputs: Sequence[Output] = ()

    def commands(self, expected: int) -> tuple[Command, ...]:
        return tuple(Command(("slot", str(slot))) for slot in range(expected))

    def parse(self, outputs: Sequence[Output]) -> Answer:
        self.outputs = outputs
        return Reading(tuple(Device(i, float(o.stdout) if o.stdout else None) for i, o in enumerate(outputs)))


class Answers:
    def __init__(self, *answers: Output | NoReading) -> None:
        self.answers = list(answers)

    def run(self, commands: Sequence[Command]) -> list[Output | NoReading]:
        assert len(commands) == len(self.answers)
        return self.answers


def read(reader: PerSlot, *answers: Output | NoReading) -> Answer:
    return take_reading(reader, Answers(*answers), reader.commands(len(answers)))  # type: ignore[arg-type]


def test_no_answer_at_all_is_no_reading() -> None:
    hung = NoReading(HUNG, "slot: no answer within 10 s")
    assert read(PerSlot(), hung) == hung
    assert read(PerSlot(), hung, NoReading(MISSING, "gone")) == hung


def test_case_45_a_slot_that_hangs_costs_only_its_device() -> None:
    reader = PerSlot()
    answer = read(reader, Output(0, "1"), NoReading(HUNG, "no answer"), Output(0, "3"))
    assert isinstance(answer, Reading)
    assert [device.utilization for device in answer.devices] == [1.0, None, 3.0]
    assert reader.outputs[1] == Output(124, "", "no answer")


def test_what_went_wrong_is_a_status_as_shells_give_it() -> None:
    reader = PerSlot()
    read(reader, Output(0, "1"), *(NoReading(cause, "") for cause in (HUNG, MISSING, FAILED)))
    assert [output.exit_status for output in reader.outputs] == [0, 124, 127, 126]


def test_a_machine_nobody_knows_is_asked_like_the_largest() -> None:
    reader = PerSlot()
    assert len(commands_of(reader, 2, 8)) == 2
    assert len(commands_of(reader, None, 8)) == 8
