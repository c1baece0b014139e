"""What is wrong with the accelerators, told once when it begins and once when it ends."""

from __future__ import annotations

from .events import Events
from .readings import Answer, Device, NoReading

_FAULT = "fault"


class AcceleratorFaults:
    """The faults that the last reading showed."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._failing: set[str] = set()
        self._unknown_by_design: set[str] = set()

    def note(self, answer: Answer, expected: int | None) -> None:
        """Tell what is different from the reading before. Without a reading nothing is known of single devices.

        `expected` is how many devices the instance has, None if nobody knows.
        """
        if isinstance(answer, NoReading):
            self._events.fails("accelerators", answer.cause, answer.reason)
            return
        listed = len(answer.devices)
        if expected is not None and listed < expected:
            self._events.fails("accelerators", "not listed", f"{listed} of {expected} are there")
        else:
            self._events.works("accelerators")
        failing = {_part(each): each.fault for each in answer.devices if each.fault and not each.use_unknown_by_design}
        for part in self._failing - failing.keys():
            self._events.works(part)
        for part, fault in failing.items():
            self._events.fails(part, _FAULT, fault)
        self._failing = set(failing)
        self._note_designs([device for device in answer.devices if device.use_unknown_by_design])

    def _note_designs(self, devices: list[Device]) -> None:
        """Nothing is broken there, but whoever waits for the use of these devices should know."""
        for device in devices:
            if _part(device) not in self._unknown_by_design:
                self._events.tell("use is not known", part=_part(device), reason=device.fault)
        self._unknown_by_design = {_part(device) for device in devices}


def _part(device: Device) -> str:
    return f"accelerator {device.index}"
