"""What the template says to those who check it: what a rule asks a reason for is what the fleet was asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from constructs_lib.fleet.purchase import SINGLE_SPOT_POOL
from constructs_lib.fleet.settings import FleetSettings
from constructs_lib.statements import MINIMUM, SPOT, TYPES


def reasons(settings: FleetSettings, zones: Collection[str]) -> Iterator[tuple[str, str]]:
    """Each by its name, for the metadata of the group; at synth the fleet warns of the types and the pool."""
    if settings.min_capacity:
        yield MINIMUM, f"min_capacity={settings.min_capacity}: so many stay when the fleet is idle"
    if settings.previous_generation:
        named = ", ".join(each.name for each in settings.previous_generation)
        yield TYPES, f"the fleet was asked for {named}, which AWS lists as previous generation"
    if SINGLE_SPOT_POOL in settings.purchase.warnings(settings.types, zones):
        yield SPOT, f"the fleet was asked for Spot instances of one type, {settings.types[0].name}, in one zone"
