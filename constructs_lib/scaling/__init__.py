"""Demand becomes capacity: from zero to exactly what waiting work needs."""

from constructs_lib.scaling.demand import Demand, QueueDemand
from constructs_lib.scaling.wake import WakeOnDemand

__all__ = ["Demand", "QueueDemand", "WakeOnDemand"]
