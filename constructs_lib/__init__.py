"""Constructs for efficient accelerated workloads on AWS: the public names, and nothing else."""

from constructs_lib.catalog import AcceleratedType
from constructs_lib.errors import ArgumentError, FleetError, UnknownInstanceTypeError, UnsupportedInstanceTypeError
from constructs_lib.fleet import AcceleratedFleet, FleetImage, FleetStorage, MachineSetup, OperatingSystem, Purchase
from constructs_lib.release import IdlePolicy, IdleRelease, IdleSignal
from constructs_lib.scaling import Demand, QueueDemand
from constructs_lib.telemetry import FleetLogs, Telemetry

__all__ = [
    "AcceleratedFleet",
    "AcceleratedType",
    "ArgumentError",
    "Demand",
    "FleetError",
    "FleetImage",
    "FleetLogs",
    "FleetStorage",
    "IdlePolicy",
    "IdleRelease",
    "IdleSignal",
    "MachineSetup",
    "OperatingSystem",
    "Purchase",
    "QueueDemand",
    "Telemetry",
    "UnknownInstanceTypeError",
    "UnsupportedInstanceTypeError",
]
