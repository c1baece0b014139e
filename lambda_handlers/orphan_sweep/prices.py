"""What a thing costs in a month by AWS's list prices. What is not known is said to be unknown, never 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

HOURS_A_MONTH = 730
_GP3_IOPS = 3_000
_GP3_THROUGHPUT = 125
# Above this io2 has other rates, which the table does not hold.
_IO2_IOPS = 32_000
_BYTES_PER_GIB = 1024**3


@dataclass(frozen=True, kw_only=True)
class Price:
    """USD a month, None where it is not known, and how it comes about."""

    usd_a_month: float | None
    basis: str

    def and_also(self, other: Price) -> Price:
        """Return the price of both, which is not known unless both are."""
        known = self.usd_a_month is not None and other.usd_a_month is not None
        return Price(
            usd_a_month=self.usd_a_month + other.usd_a_month if known else None,  # type: ignore[operator]
            basis=f"{self.basis}; {other.basis}",
        )


def free_of_charge(why: str) -> Price:
    """Return the price of what AWS does not bill."""
    return Price(usd_a_month=0.0, basis=why)


def unknown(why: str) -> Price:
    """Return the price of what nobody can price here."""
    return Price(usd_a_month=None, basis=why)


@dataclass(frozen=True, kw_only=True)
class PriceList:
    """List prices of one Region: an hour of each instance type, and the rates of everything else."""

    usd_per_hour: Mapping[str, float]
    rates: Mapping[str, float]

    def instance(self, instance_type: str, *, running: bool, spot: bool) -> Price:
        """Return what an instance costs without its volumes."""
        if not running:
            return free_of_charge("stopped")
        if spot:
            return unknown(f"{instance_type}: the Spot price is not known")
        if instance_type not in self.usd_per_hour:
            return unknown(f"{instance_type}: no price known")
        hour = self.usd_per_hour[instance_type]
        return Price(usd_a_month=hour * HOURS_A_MONTH, basis=f"{instance_type}: {hour:g} USD an hour")

    def volume(self, volume_type: str, *, gib: int, iops: int | None, throughput: int | None) -> Price:
        """Return what a volume costs by its type, size and what is provisioned beyond."""
        storage = self._amount(volume_type, gib, "GiB")
        if volume_type == "gp3":
            if iops is None or throughput is None:
                return unknown("gp3: EC2 does not say how fast it is")
            fast = self._amount("gp3-iops", max(0, iops - _GP3_IOPS), "more IOPS")
            wide = self._amount("gp3-throughput", max(0, throughput - _GP3_THROUGHPUT), "more MiB/s")
            return storage.and_also(fast).and_also(wide)
        if volume_type in ("io1", "io2"):
            if iops is None or (volume_type == "io2" and iops > _IO2_IOPS):
                return unknown(f"{volume_type}: no price known for {iops} IOPS")
            return storage.and_also(self._amount(f"{volume_type}-iops", iops, "IOPS"))
        return storage

    def address(self, *, amazon_owned: bool) -> Price:
        """Return what a public IPv4 address costs."""
        if not amazon_owned:
            return free_of_charge("an address of your own range")
        return self._amount("public-ipv4", HOURS_A_MONTH, "hours")

    def snapshot(self, tier: str, *, gib: float) -> Price:
        """Return what a snapshot costs at most: what it shares with others is billed once."""
        if tier not in ("standard", "archive"):
            return unknown(f"snapshot tier {tier}: no price known")
        most = self._amount("snapshot" if tier == "standard" else "snapshot-archive", gib, "GiB")
        return Price(usd_a_month=most.usd_a_month, basis=f"at most {most.basis}")

    def parameter(self, tier: str) -> Price:
        """Return what a parameter costs."""
        if tier == "Standard":
            return free_of_charge("a standard parameter")
        return self._amount("advanced-parameter", 1, "advanced parameter") if tier == "Advanced" else unknown(tier)

    def _amount(self, item: str, amount: float, unit: str) -> Price:
        if item not in self.rates:
            return unknown(f"{item}: no price known")
        rate = self.rates[item]
        return Price(usd_a_month=rate * amount, basis=f"{item}: {amount:g} {unit} at {rate:g} USD")


def snapshot_gib(full_size_bytes: int | None, volume_gib: int) -> float:
    """Return how much a snapshot holds: what AWS counted, else all that its volume could."""
    return volume_gib if full_size_bytes is None else full_size_bytes / _BYTES_PER_GIB
