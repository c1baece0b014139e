"""Demand and the clock become capacity: from zero to exactly what waiting work needs, and to zero outside its hours."""

from constructs_lib.scaling.demand import Demand, QueueDemand
from constructs_lib.scaling.hours import Hours, Weekday
from constructs_lib.scaling.schedule import FleetSchedule, WakeUp
from constructs_lib.scaling.scheduled_capacity import ScheduledCapacity
from constructs_lib.scaling.shortfall_demand import ShortfallDemand
from constructs_lib.scaling.wake import WakeOnDemand

__all__ = [
    "Demand",
    "FleetSchedule",
    "Hours",
    "QueueDemand",
    "ScheduledCapacity",
    "ShortfallDemand",
    "WakeOnDemand",
    "WakeUp",
    "Weekday",
]
