"""What is deployed: the fleet and its parts."""

from constructs_lib.fleet.accelerated_fleet import AcceleratedFleet
from constructs_lib.fleet.drain import Drain
from constructs_lib.fleet.image import FleetImage, OperatingSystem
from constructs_lib.fleet.machine_setup import MachineSetup
from constructs_lib.fleet.orphans import OrphanSweep
from constructs_lib.fleet.purchase import Purchase
from constructs_lib.fleet.storage import FleetStorage

__all__ = [
    "AcceleratedFleet",
    "Drain",
    "FleetImage",
    "FleetStorage",
    "MachineSetup",
    "OperatingSystem",
    "OrphanSweep",
    "Purchase",
]
