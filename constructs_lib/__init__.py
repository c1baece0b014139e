"""Constructs for efficient accelerated workloads on AWS: the public names, and nothing else.

A name is imported when it is first asked for, so that what needs no CDK (the ``accel-fleet`` command, the catalogue)
does not pay for loading it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from constructs_lib.catalog import AcceleratedType
    from constructs_lib.errors import ArgumentError, FleetError, UnknownInstanceTypeError, UnsupportedInstanceTypeError
    from constructs_lib.fleet import (
        AcceleratedFleet,
        Drain,
        FleetImage,
        FleetStorage,
        MachineSetup,
        OperatingSystem,
        OrphanSweep,
        Purchase,
    )
    from constructs_lib.release import (
        AtMinimum,
        CustomSignal,
        ExpiryStart,
        IdlePolicy,
        IdleRelease,
        IdleSignal,
        KeepWarm,
        StackExpiry,
    )
    from constructs_lib.scaling import Demand, FleetSchedule, Hours, QueueDemand, WakeUp, Weekday
    from constructs_lib.telemetry import FleetLogs, Telemetry

__all__ = [
    "AcceleratedFleet",
    "AcceleratedType",
    "ArgumentError",
    "AtMinimum",
    "CustomSignal",
    "Demand",
    "Drain",
    "ExpiryStart",
    "FleetError",
    "FleetImage",
    "FleetLogs",
    "FleetSchedule",
    "FleetStorage",
    "Hours",
    "IdlePolicy",
    "IdleRelease",
    "IdleSignal",
    "KeepWarm",
    "MachineSetup",
    "OperatingSystem",
    "OrphanSweep",
    "Purchase",
    "QueueDemand",
    "StackExpiry",
    "Telemetry",
    "UnknownInstanceTypeError",
    "UnsupportedInstanceTypeError",
    "WakeUp",
    "Weekday",
]

# Where each public name comes from; a test compares this with the imports above, which type checkers read.
_ROOMS = {
    "catalog": ("AcceleratedType",),
    "errors": ("ArgumentError", "FleetError", "UnknownInstanceTypeError", "UnsupportedInstanceTypeError"),
    "fleet": (
        "AcceleratedFleet",
        "Drain",
        "FleetImage",
        "FleetStorage",
        "MachineSetup",
        "OperatingSystem",
        "OrphanSweep",
        "Purchase",
    ),
    "release": (
        "AtMinimum",
        "CustomSignal",
        "ExpiryStart",
        "IdlePolicy",
        "IdleRelease",
        "IdleSignal",
        "KeepWarm",
        "StackExpiry",
    ),
    "scaling": ("Demand", "FleetSchedule", "Hours", "QueueDemand", "WakeUp", "Weekday"),
    "telemetry": ("FleetLogs", "Telemetry"),
}


def __getattr__(name: str) -> object:
    for room, names in _ROOMS.items():
        if name in names:
            from importlib import import_module

            value = getattr(import_module(f"{__name__}.{room}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
