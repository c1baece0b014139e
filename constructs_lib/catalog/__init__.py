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

__all__ = [
    "ARCHITECTURES",
    "DRIVERS",
    "STATUSES",
    "AcceleratedType",
    "application_clocks",
    "known_kinds",
    "known_types",
    "lookup",
]
