"""Facts about AWS that hold in every account: tables with a source and a date, and questions to them."""

from constructs_lib.catalog.instance_types import (
    ARCHITECTURES,
    DRIVERS,
    STATUSES,
    AcceleratedType,
    application_clocks,
    known_kinds,
    known_types,
    lookup,
)
from constructs_lib.catalog.prices import instance_prices, leftover_prices

__all__ = [
    "ARCHITECTURES",
    "DRIVERS",
    "STATUSES",
    "AcceleratedType",
    "application_clocks",
    "instance_prices",
    "known_kinds",
    "known_types",
    "leftover_prices",
    "lookup",
]
