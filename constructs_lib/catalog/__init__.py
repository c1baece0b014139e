"""Facts about AWS that hold in every account: tables with a source and a date, and questions to them."""

from constructs_lib.catalog.accelerators import Accelerator, accelerator
from constructs_lib.catalog.application_clocks import application_clocks
from constructs_lib.catalog.cpu_types import CpuType, cpu_types
from constructs_lib.catalog.documents import describe, listing
from constructs_lib.catalog.instance_types import (
    ARCHITECTURES,
    DRIVERS,
    PLACEMENTS,
    STATUSES,
    AcceleratedType,
    known_kinds,
    known_types,
    lookup,
)
from constructs_lib.catalog.network_cards import NetworkCard
from constructs_lib.catalog.offerings import offered_in, regions
from constructs_lib.catalog.prices import (
    Price,
    SpotSaving,
    instance_prices,
    leftover_prices,
    price,
    spot_saving,
)
from constructs_lib.catalog.successors import instead_of
from constructs_lib.catalog.tables import use_tables

__all__ = [
    "ARCHITECTURES",
    "DRIVERS",
    "PLACEMENTS",
    "STATUSES",
    "AcceleratedType",
    "Accelerator",
    "CpuType",
    "NetworkCard",
    "Price",
    "SpotSaving",
    "accelerator",
    "application_clocks",
    "cpu_types",
    "describe",
    "instance_prices",
    "instead_of",
    "known_kinds",
    "known_types",
    "leftover_prices",
    "listing",
    "lookup",
    "offered_in",
    "price",
    "regions",
    "spot_saving",
    "use_tables",
]
