"""What the instances of a run cost: list prices from the catalogue, On-Demand and Spot, by the second.

EC2 bills each start for 60 s at least. Counted is the instance alone: not its volumes, addresses and traffic, nor
metrics and functions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from constructs_lib.catalog import price, spot_saving
from constructs_lib.rehearsal.record import InstanceRecord, Market, Record
from constructs_lib.validation import number, text

LEAST_S = 60.0
"""EC2 bills an instance for as long at least, each time that it is started."""

_HOUR = 3_600
_MOST_USD = 100_000
_NOT_COUNTED = "volumes, traffic, metrics and functions are not counted"
# How the CDK names the bucket of its assets, and how AWS names zones.
_ASSETS = re.compile(r"cdk-[a-z0-9]+-assets-\d{12}-([a-z]{2}(?:-[a-z]+)+-\d)\b")
_ZONE = re.compile(r"([a-z]{2}(?:-[a-z]+)+-\d)[a-z]")


class Hourly(NamedTuple):
    """What an hour of an instance costs in USD, None if nobody says; and where that is from, in words."""

    usd: float | None
    basis: str


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a run cost.

    Attributes:
        usd: all of it, None if the price of an instance that ran is not known.
        on_demand_usd: the part of On-Demand Instances, None likewise.
        spot_usd: the part of Spot Instances, None likewise.
        notes: which prices it is of and of which day, which are estimates or unknown, and what is not counted.
    """

    usd: float | None
    on_demand_usd: float | None
    spot_usd: float | None
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Prices:
    """Where hours are bought.

    Attributes:
        region: for example ``eu-west-1``.
        usd_per_hour: what an instance costs you, of whatever type and market, in place of the catalogue's prices.
            Default: None, the catalogue's.
    """

    region: str
    usd_per_hour: float | None = None

    def __post_init__(self) -> None:
        text("Prices", "region", self.region, cure="write a region, for example 'eu-west-1'")
        if self.usd_per_hour is not None:
            cure = "give USD for an hour of an instance, or leave it out"
            number("Prices", "usd_per_hour", self.usd_per_hour, minimum=0, maximum=_MOST_USD, cure=cure)

    def hourly(self, instance_type: str, market: Market) -> Hourly:
        """Return what an hour of an instance costs.

        Spot is the list price less what AWS's Spot Instance Advisor showed on one day; without that figure the list
        price itself, which is the most that Spot costs.
        """
        if self.usd_per_hour is not None:
            return Hourly(self.usd_per_hour, f"{self.usd_per_hour:g} USD for an hour of an instance, as given")
        bought = "Spot" if market == "spot" else "On-Demand"
        what = f"{instance_type} {bought} in {self.region}"
        listed = price(instance_type, self.region)
        if listed is None:
            return Hourly(None, f"{what}: no price is known, give the USD for an hour of an instance")
        by = f"{'estimated from the list' if listed.estimated else 'list price'} of {listed.date}"
        if market == "on-demand":
            return Hourly(listed.usd_per_hour, f"{what}: {listed.usd_per_hour:g} USD an hour, {by}")
        saving = spot_saving(instance_type, self.region)
        if saving is None:
            return Hourly(
                listed.usd_per_hour,
                f"{what}: {listed.usd_per_hour:g} USD an hour, On-Demand {by}, since no saving of Spot is known",
            )
        usd = listed.usd_per_hour * (1 - saving.share)
        less = f"less the {saving.share:.0%} that Spot saved on {saving.date}"
        return Hourly(usd, f"{what}: {usd:.4g} USD an hour, On-Demand {by}, {less}")

    def of(self, record: Record) -> Cost:
        """Return what the instances of a run cost."""
        hourly = {kind: self.hourly(*kind) for kind in sorted({(i.instance_type, i.market) for i in record.instances})}
        parts: dict[Market, float | None] = {}
        for market in ("on-demand", "spot"):
            spent = [
                (hourly[each.instance_type, each.market].usd, billed_s(each, record.end_s))
                for each in record.instances
                if each.market == market
            ]
            known = [usd * seconds / _HOUR for usd, seconds in spent if usd is not None]
            parts[market] = math.fsum(known) if len(known) == len(spent) else None
        on_demand, spot = parts["on-demand"], parts["spot"]
        return Cost(
            usd=None if on_demand is None or spot is None else on_demand + spot,
            on_demand_usd=on_demand,
            spot_usd=spot,
            notes=(*dict.fromkeys(each.basis for each in hourly.values()), _NOT_COUNTED),
        )


def usd(record: Record, *, region: str, usd_per_hour: float | None = None) -> Cost:
    """Return what the instances of a run cost.

    Args:
        record: of the run.
        region: where it runs, for example ``eu-west-1``.
        usd_per_hour: what an instance costs you, in place of the catalogue's prices. Default: None, the catalogue's.

    Raises:
        ArgumentError: the region is no text, or the price no number from 0 on.
    """
    return Prices(region=region, usd_per_hour=usd_per_hour).of(record)


def billed_s(instance: InstanceRecord, end_s: float) -> float:
    """Return for how many seconds EC2 bills an instance of a run that was over at ``end_s``."""
    end = end_s if instance.ended_s is None else instance.ended_s
    return max(LEAST_S, end - instance.launched_s)


def region_of(template: Mapping[str, Any]) -> str | None:
    """Return the region that a template is made for, None if it says none.

    A template does not name its region as such, but its zones do, and the bucket of its assets.
    """
    for key, value in _texts(template):
        found = _ZONE.fullmatch(value) if key.startswith("AvailabilityZone") else _ASSETS.search(value)
        if found is not None:
            return found[1]
    return None


def _texts(part: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Every text of a template with the name of the property that it is under, in the order of the template."""
    if isinstance(part, str):
        yield key, part
    elif isinstance(part, Mapping):
        for name, value in part.items():
            yield from _texts(value, name)
    elif isinstance(part, list):
        for value in part:
            yield from _texts(value, key)
