"""Facts about AWS that hold in every account: tables with a source and a date, and questions to them."""

from constructs_lib.catalog.instance_types import (
    ARCHITECTURES,
    DRIVERS,
    KINDS,
    STATUSES,
    AcceleratedType,
    known_types,
    lookup,
)

__all__ = ["ARCHITECTURES", "DRIVERS", "KINDS", "STATUSES", "AcceleratedType", "known_types", "lookup"]
