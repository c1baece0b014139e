"""Constructs for efficient accelerated workloads on AWS: the public names, and nothing else.

A name is imported when it is first asked for, so that what needs no CDK (the ``accel-fleet`` command, the catalogue)
does not pay for loading it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constructs_lib.late_names import late_names

if TYPE_CHECKING:
    from constructs_lib.catalog import (
        AcceleratedType,
        NetworkCard,
    )
    from constructs_lib.errors import (
        ArgumentError,
        FleetError,
        UnknownInstanceTypeError,
        UnsupportedInstanceTypeError,
    )
    from constructs_lib.fleet import (
        AcceleratedFleet,
        Drain,
        FleetEndpoints,
        FleetImage,
        FleetNetwork,
        FleetStorage,
        FlexibleTypes,
        LustreMount,
        MachineSetup,
        OnDemandAllocation,
        OperatingSystem,
        OrphanSweep,
        Placement,
        PoolState,
        Purchase,
        SpotAllocation,
        WarmPool,
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
    from constructs_lib.rightsizing import (
        ModelShape,
        Workload,
        recommend,
    )
    from constructs_lib.scaling import (
        Demand,
        FleetSchedule,
        Hours,
        QueueDemand,
        ShortfallDemand,
        WakeUp,
        Weekday,
    )
    from constructs_lib.telemetry import (
        FleetLogs,
        Telemetry,
    )

__all__ = [
    "AcceleratedFleet",
    "AcceleratedType",
    "ArgumentError",
    "AtMinimum",
    "CustomSignal",
    "Demand",
    "Drain",
    "ExpiryStart",
    "FleetEndpoints",
    "FleetError",
    "FleetImage",
    "FleetLogs",
    "FleetNetwork",
    "FleetSchedule",
    "FleetStorage",
    "FlexibleTypes",
    "Hours",
    "IdlePolicy",
    "IdleRelease",
    "IdleSignal",
    "KeepWarm",
    "LustreMount",
    "MachineSetup",
    "ModelShape",
    "NetworkCard",
    "OnDemandAllocation",
    "OperatingSystem",
    "OrphanSweep",
    "Placement",
    "PoolState",
    "Purchase",
    "QueueDemand",
    "ShortfallDemand",
    "SpotAllocation",
    "StackExpiry",
    "Telemetry",
    "UnknownInstanceTypeError",
    "UnsupportedInstanceTypeError",
    "WakeUp",
    "WarmPool",
    "Weekday",
    "Workload",
    "recommend",
]

# Where each public name comes from; a test compares this with the imports above, which type checkers read.
_ROOMS = {
    "catalog": (
        "AcceleratedType",
        "NetworkCard",
    ),
    "errors": (
        "ArgumentError",
        "FleetError",
        "UnknownInstanceTypeError",
        "UnsupportedInstanceTypeError",
    ),
    "fleet": (
        "AcceleratedFleet",
        "Drain",
        "FleetEndpoints",
        "FleetImage",
        "FleetNetwork",
        "FleetStorage",
        "FlexibleTypes",
        "LustreMount",
        "MachineSetup",
        "OnDemandAllocation",
        "OperatingSystem",
        "OrphanSweep",
        "Placement",
        "PoolState",
        "Purchase",
        "SpotAllocation",
        "WarmPool",
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
    "rightsizing": (
        "ModelShape",
        "Workload",
        "recommend",
    ),
    "scaling": (
        "Demand",
        "FleetSchedule",
        "Hours",
        "QueueDemand",
        "ShortfallDemand",
        "WakeUp",
        "Weekday",
    ),
    "telemetry": (
        "FleetLogs",
        "Telemetry",
    ),
}


__getattr__ = late_names(__name__, globals(), _ROOMS)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
