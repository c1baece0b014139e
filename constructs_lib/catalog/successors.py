"""What to use in place of a type that AWS no longer sells, or lists as previous generation."""

from __future__ import annotations

from functools import cache

from constructs_lib.catalog.accelerators import accelerator
from constructs_lib.catalog.instance_types import AcceleratedType, known_types

_NEARLY = 0.9
_CHEAPEST = "the cheapest with as many accelerators, each with as much memory and about as fast"


def instead_of(facts: AcceleratedType) -> str:
    """The follow-up by the catalogue, and the cheapest type like it, with what an hour costs where it is known."""
    cheapest = cheapest_like(facts)
    if cheapest is None or cheapest.name == facts.successor:
        return f"{facts.successor or 'a type of a current generation'} in place of {facts.name}"
    chosen = f"{cheapest.name}{_price(cheapest)}, {_CHEAPEST}{_fewer_vcpus(cheapest, facts)}"
    following = known_types().get(facts.successor or "")
    or_else = "" if following is None else f", or the follow-up {following.name}{_price(following)}"
    return f"{chosen}{or_else}, in place of {facts.name}{_price(facts)}"


@cache
def cheapest_like(facts: AcceleratedType) -> AcceleratedType | None:
    """The current type with the lowest list price in us-east-1 whose accelerators are as many, and each as large.

    Nine tenths of the bandwidth of its memory count as the same. None: no such type is known.
    """
    moved = _bandwidth(facts)
    alike = [
        each
        for each in known_types().values()
        if each.status == "current"
        and each.fraction is None
        and (each.kind, each.architecture) == (facts.kind, facts.architecture)
        and each.accelerators >= facts.accelerators
        and each.accelerator_memory_mib >= facts.accelerator_memory_mib
        and moved is not None
        and (_bandwidth(each) or 0) >= _NEARLY * moved
    ]
    priced = [(each.usd_per_hour, each) for each in alike if each.usd_per_hour is not None and each.on_demand]
    return min(priced, key=lambda each: each[0])[1] if priced else None


def _bandwidth(facts: AcceleratedType) -> float | None:
    found = accelerator(facts.model, memory_mib=facts.accelerator_memory_mib)
    return None if found is None else found.memory_bandwidth_gb_s


def _fewer_vcpus(chosen: AcceleratedType, before: AcceleratedType) -> str:
    if chosen.vcpus is None or before.vcpus is None or chosen.vcpus >= before.vcpus:
        return ""
    return f" ({chosen.vcpus} vCPUs, not {before.vcpus})"


def _price(facts: AcceleratedType) -> str:
    return "" if facts.usd_per_hour is None else f" ({facts.usd_per_hour:.2f} USD/h)"
