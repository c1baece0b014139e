"""Checks that several ways to buy share. Each raises ArgumentError."""

from __future__ import annotations

import re
from collections.abc import Sequence

from constructs_lib.errors import ArgumentError
from constructs_lib.fleet.allocation import OnDemandAllocation, SpotAllocation
from constructs_lib.fleet.purchase.base import PurchaseContext
from constructs_lib.validation import complaint, instance_of, is_token, text

_RESERVATION_ID = re.compile(r"cr-[0-9a-f]{8,17}")


def check_ranked(where: str, parameter: str, given: OnDemandAllocation | None, fleet: PurchaseContext) -> None:
    """Refuse an order of the list where types are chosen by their attributes."""
    if given is OnDemandAllocation.RANKED and fleet.by_attributes:
        rule = "not be RANKED for types that are chosen by their attributes"
        cure = "name the types in their order, or leave it out for the cheapest"
        raise ArgumentError(complaint(where, parameter, rule, given.name, cure))


def check_sold(where: str, way: str, never: Sequence[str]) -> None:
    """Refuse types that AWS never sells this way."""
    if never:
        cure = "leave these types out, or buy them another way, with Purchase.capacity_block(...) if AWS sells them so"
        rule = f"be of types that AWS sells as {way}"
        raise ArgumentError(complaint(where, "instance_types", rule, list(never), cure))


def check_allocation(
    where: str, parameter: str, given: object, type_: type[SpotAllocation] | type[OnDemandAllocation]
) -> None:
    """Refuse what is no member of the enumeration."""
    if given is not None:
        instance_of(where, parameter, given, type_, cure=f"write {type_.__name__}.RANKED, or leave it out")


def check_reservation_id(where: str, value: str) -> None:
    """Refuse what is no id of a reservation."""
    cure = "write the id that EC2 shows, for example 'cr-0123456789abcdef0'"
    text(where, "reservation_id", value, cure=cure)
    if not is_token(value) and not _RESERVATION_ID.fullmatch(value):
        raise ArgumentError(complaint(where, "reservation_id", "be the id of a reservation", value, cure))
