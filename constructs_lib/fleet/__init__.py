"""What is deployed: the fleet and its parts."""

from constructs_lib.fleet.accelerated_fleet import AcceleratedFleet
from constructs_lib.fleet.allocation import OnDemandAllocation, SpotAllocation
from constructs_lib.fleet.drain import Drain
from constructs_lib.fleet.endpoints import FleetEndpoints
from constructs_lib.fleet.flexible_types import FlexibleTypes
from constructs_lib.fleet.image import FleetImage, OperatingSystem
from constructs_lib.fleet.lustre import LustreMount
from constructs_lib.fleet.machine_setup import MachineSetup
from constructs_lib.fleet.network import FleetNetwork
from constructs_lib.fleet.orphans import OrphanSweep
from constructs_lib.fleet.placement import Placement
from constructs_lib.fleet.purchase import Purchase
from constructs_lib.fleet.storage import FleetStorage
from constructs_lib.fleet.warm_pool import PoolState, WarmPool

__all__ = [
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
]
