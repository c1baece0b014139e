"""Constructs for efficient accelerated workloads on AWS: the public names, and nothing else."""

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
