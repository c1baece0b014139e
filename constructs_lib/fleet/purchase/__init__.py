"""How the fleet's capacity is bought."""

from constructs_lib.fleet.purchase.base import RESERVED_CAPACITY_BILLS, Purchase, PurchaseContext
from constructs_lib.fleet.purchase.capacity_block import CapacityBlockPurchase
from constructs_lib.fleet.purchase.on_demand import OnDemandPurchase
from constructs_lib.fleet.purchase.reservation import RESERVATION_IN_ONE_ZONE, ReservationPurchase
from constructs_lib.fleet.purchase.spot import SINGLE_SPOT_POOL, SpotPurchase

__all__ = [
    "RESERVATION_IN_ONE_ZONE",
    "RESERVED_CAPACITY_BILLS",
    "SINGLE_SPOT_POOL",
    "CapacityBlockPurchase",
    "OnDemandPurchase",
    "Purchase",
    "PurchaseContext",
    "ReservationPurchase",
    "SpotPurchase",
]
