"""What an hour costs, list price and Spot saving, and list prices of what a fleet can leave behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from constructs_lib.catalog import tables
from constructs_lib.validation import text

HOME = "us-east-1"
"""The region whose prices the facts of a type carry."""


@dataclass(frozen=True, kw_only=True)
class Price:
    """What an hour of a Linux On-Demand instance costs, without tax and discounts.

    Attributes:
        usd_per_hour: USD.
        region: where.
        date: the day of the list that it comes from, ISO.
        estimated: whether no list has it: the price in us-east-1 times the ratio of its family's older prices.
    """

    usd_per_hour: float
    region: str
    date: str
    estimated: bool


@dataclass(frozen=True, kw_only=True)
class SpotSaving:
    """What AWS's Spot Instance Advisor showed on one day. No promise: ask for the Spot price of today.

    Attributes:
        share: of the On-Demand price that a Spot Instance saved, from 0 to 1.
        interruption: how often one was taken back in a month, for example ``5-10%``.
        region: where.
        date: of the figures, ISO.
    """

    share: float
    interruption: str
    region: str
    date: str


def price(name: str, region: str) -> Price | None:
    """Return what an instance type costs in a region, or None if the tables do not say."""
    return _prices().get(_asked(name, region))


def spot_saving(name: str, region: str) -> SpotSaving | None:
    """Return what Spot saved on an instance type in a region, or None if the tables do not say."""
    return _spot_savings().get(_asked(name, region))


def _asked(name: str, region: str) -> tuple[str, str]:
    of_type = text("catalog", "instance_type", name, cure="write an instance type, for example 'g6.xlarge'")
    return of_type, text("catalog", "region", region, cure="write a region, for example 'eu-west-1'")


@cache
def leftover_prices() -> Mapping[str, float]:
    """USD for one unit of each item of the table, for example ``gp3`` for a GiB and a month, in us-east-1."""
    return MappingProxyType({row["item"]: float(row["usd"]) for row in tables.read("leftover_prices.csv")})


@cache
def instance_prices() -> Mapping[str, float]:
    """USD for an hour of each accelerated type that can be running and whose price is known, in us-east-1."""
    types = tables.read("instance_types.csv")
    listed = {row["type"]: price(row["type"], HOME) for row in types if row["status"] != "retired"}
    return MappingProxyType({name: each.usd_per_hour for name, each in listed.items() if each is not None})


@cache
def _prices() -> Mapping[tuple[str, str], Price]:
    return {
        (row["type"], row["region"]): Price(
            usd_per_hour=float(row["usd_per_hour"]),
            region=row["region"],
            date=row["date"],
            estimated=row["estimated"] == "yes",
        )
        for row in tables.read("prices.csv")
    }


@cache
def _spot_savings() -> Mapping[tuple[str, str], SpotSaving]:
    return {
        (row["type"], row["region"]): SpotSaving(
            share=int(row["saving_percent"]) / 100,
            interruption=row["interruption"],
            region=row["region"],
            date=row["date"],
        )
        for row in tables.read("spot.csv")
    }
