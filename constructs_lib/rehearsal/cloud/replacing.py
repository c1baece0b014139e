"""Members that are replaced while they are well: uneven zones, a Spot instance at risk, a lifetime that is over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from constructs_lib.rehearsal.cloud.member import Instance

if TYPE_CHECKING:
    from constructs_lib.rehearsal.cloud.group import Group

SPARED_BY_REBALANCING = "zone rebalancing spares members that are protected from scale-in"
_SHARE_OVER_MAXIMUM = 10
"""Of so many, one may be there beyond the maximum while zones are evened out, and one in any case."""


@dataclass
class _Ahead:
    """An instance launched before another goes: a particular one, or whichever is taken in a zone."""

    new: Instance
    old: Instance | None
    zone: str
    cause: str


class Replacements:
    """What one group replaces; it launches first, except for a lifetime that is over where no policy says so."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._wanted: list[tuple[Instance, str]] = []
        self._under_way: list[_Ahead] = []

    @property
    def ahead(self) -> int:
        """Return how many instances are there in addition, until those go that they replace."""
        return sum(each.new.counts and (each.old is None or each.old.counts) for each in self._under_way)

    @property
    def under_way(self) -> bool:
        """Return whether anything is being replaced, or is to be."""
        return bool(self._under_way or self._wanted)

    def add(self, instance: Instance, cause: str) -> None:
        """Replace this member as soon as another is in service."""
        if not any(instance is each for each, _ in self._wanted) and not self._is_leaving(instance):
            self._wanted.append((instance, cause))

    def retire(self, lifetime: int, launches_first: bool) -> None:
        """Replace the members that have served longer than ``lifetime`` seconds and are not protected.

        One after the other, or a tenth of the group at a time where that would not do ("Replace Auto Scaling instances
        based on maximum instance lifetime", Auto Scaling user guide).
        """
        group = self._group
        alive = group.alive
        if any(each.state != "InService" for each in alive) or self.under_way:
            return
        old = [each for each in alive if not each.protected and _age(each, group.now) >= lifetime]
        for instance in old[: max(1, len(alive) // _SHARE_OVER_MAXIMUM)]:
            if launches_first:
                self.add(instance, "maximum instance lifetime")
            else:
                group.end(instance, "maximum instance lifetime")

    def tick(self) -> None:
        """End those whose replacement serves, and begin what is wanted."""
        for ahead in list(self._under_way):
            self._settle(ahead)
        self._wanted = [(instance, cause) for instance, cause in self._wanted if instance.state == "InService"]
        group = self._group
        if "Launch" in group.suspended:
            return
        for instance, cause in list(self._wanted):
            if not self._room(group.desired) or not group.has_capacity():
                break
            new = group.launch(instance.zone)
            if new is None:
                break
            self._wanted.remove((instance, cause))
            self._under_way.append(_Ahead(new, instance, instance.zone, cause))
        self._rebalance()

    def _settle(self, ahead: _Ahead) -> None:
        old_is_gone = ahead.old is not None and not ahead.old.counts
        if "Terminate" in self._group.suspended and ahead.new.state == "InService" and not old_is_gone:
            return  # The group stays that much larger until it may terminate again.
        if ahead.new.state == "InService" or not ahead.new.counts or old_is_gone:
            self._under_way.remove(ahead)
        if ahead.new.state != "InService" or old_is_gone:
            return
        if ahead.old is not None:
            self._group.end(ahead.old, ahead.cause)
        else:
            spare = self._group.rebalancing_spares_protected
            self._group.take_victims(1, ahead.cause, self._thickest(), spare_protected=spare)

    def _rebalance(self) -> None:
        """Launch in the thin zone first, then end in the thick one."""
        group = self._group
        if "AZRebalance" in group.suspended or self.under_way or len(group.alive) != group.desired:
            return
        if not group.is_uneven:
            return
        thick = self._thickest()
        in_thick = [each for each in group.in_service if each.zone == thick]
        if any(each.protected for each in in_thick):
            group.doubts.add(SPARED_BY_REBALANCING)
        if self._may_go(in_thick) and self._room(group.maximum) and group.has_capacity():
            new = group.launch(group.thinnest_zone())
            if new is not None:
                self._under_way.append(_Ahead(new, None, thick, "rebalancing"))

    def _may_go(self, instances: Sequence[Instance]) -> bool:
        return any(not each.protected or not self._group.rebalancing_spares_protected for each in instances)

    def _room(self, base: int) -> bool:
        """Return whether one more may be there, with the maximum exceeded by a tenth of ``base`` or by one."""
        most = self._group.maximum + max(base // _SHARE_OVER_MAXIMUM, 1)
        return len(self._group.alive) < most

    def _thickest(self) -> str:
        counts = self._group.zone_counts()
        return max(self._group.zones, key=lambda zone: counts[zone])

    def _is_leaving(self, instance: Instance) -> bool:
        return any(instance is each.old for each in self._under_way)


def _age(instance: Instance, now: int) -> float:
    return now - (instance.in_service_at or 0.0)
