"""What a sweep found and did, as it is returned, logged, counted and told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from orphan_sweep.decision import Judgement, Standing
from orphan_sweep.things import Sort, Thing
from runtime.structured_log import Json, StructuredLog

ORPHANS_FOUND = "OrphansFound"
ORPHAN_USD_PER_MONTH = "OrphanUsdPerMonth"
_LONGEST_LIST = 50


@dataclass(kw_only=True)
class SweepReport:
    """The account of one sweep, filled as it goes on.

    `noted` are the orphans whose first sighting this is, `freed` what is gone, `spared` why something that was due is
    still there, `unknown` which sorts could not be read, and `failures` all that did not succeed.
    """

    group_name: str
    hold_tag_key: str
    acts: bool
    judgements: list[Judgement] = field(default_factory=list)
    noted: list[Thing] = field(default_factory=list)
    freed: list[Thing] = field(default_factory=list)
    spared: dict[str, str] = field(default_factory=dict)
    unknown: list[Sort] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def orphans(self) -> list[Judgement]:
        """What belongs to nothing, freed or not."""
        return [each for each in self.judgements if each.is_orphan]

    def summary(self) -> dict[str, Json]:
        """Return the account as the function returns it."""
        sorts = Counter(each.thing.sort for each in self.orphans)
        return {
            "auto_scaling_group": self.group_name,
            "acts": self.acts,
            "looked_at": len(self.judgements),
            "orphans": {sort.value: sorts[sort] for sort in Sort if sorts[sort]},
            "unknown": [sort.value for sort in self.unknown],
            "new": [thing.id for thing in self.noted],
            "freed": [thing.id for thing in self.freed],
            "spared": self.spared,
            **_costs([each.thing for each in self.orphans]),
        }

    def write(self, log: StructuredLog, namespace: str, at: datetime) -> None:
        """Write a line for each orphan and each held thing, one for the sweep, and one with its metrics."""
        for each in self.judgements:
            # A held template holds all its versions.
            is_held = each.standing is Standing.HELD and each.thing.sort is not Sort.TEMPLATE_VERSION
            if each.is_orphan or is_held:
                self._write_one(each, log)
        log.info("orphan sweep", **self.summary(), failures=self.failures)
        if self.unknown:
            # A sum without them would be too low, and looks just like a good one.
            return
        log.document(self._metrics(namespace, at))

    def _write_one(self, each: Judgement, log: StructuredLog) -> None:
        log.info(
            "orphan" if each.is_orphan else "held",
            sort=each.thing.sort.value,
            id=each.thing.id,
            standing=each.standing.value,
            reason=each.reason,
            first_seen=None if each.first_seen is None else each.first_seen.isoformat(),
            usd_a_month=_rounded(each.thing.price.usd_a_month),
            price=each.thing.price.basis,
            freed=each.thing in self.freed,
            kept_because=self.spared.get(each.thing.id),
        )

    def _metrics(self, namespace: str, at: datetime) -> dict[str, Json]:
        things = [each.thing for each in self.orphans if each.thing not in self.freed]
        return {
            "_aws": {
                "Timestamp": int(at.timestamp() * 1000),
                "CloudWatchMetrics": [
                    {
                        "Namespace": namespace,
                        "Dimensions": [["AutoScalingGroupName"]],
                        "Metrics": [
                            {"Name": ORPHANS_FOUND, "Unit": "Count"},
                            {"Name": ORPHAN_USD_PER_MONTH, "Unit": "None"},
                        ],
                    }
                ],
            },
            "AutoScalingGroupName": self.group_name,
            ORPHANS_FOUND: len(things),
            ORPHAN_USD_PER_MONTH: _costs(things)["usd_a_month"],
        }

    def message(self) -> tuple[str, str] | None:
        """Return subject and text of what there is to tell, or None when nothing is new and nothing was freed."""
        if not self.noted and not self.freed:
            return None
        subject = f"Accelerated fleet: {len(self.noted)} new orphans, {len(self.freed)} freed"
        lines = [
            f"Group {self.group_name}. Prices are AWS's list prices in us-east-1.",
            *_listed("New, belongs to nothing", self.noted),
            *_listed("Freed", self.freed),
            "",
            f"To keep something, give it the tag {self.hold_tag_key} with the value true.",
            "What is new is freed when a later sweep still finds it so."
            if self.acts
            else "This is a dry run: nothing is freed.",
        ]
        return subject, "\n".join(lines)


def _listed(title: str, things: Sequence[Thing]) -> list[str]:
    if not things:
        return []
    costs = _costs(things)
    unpriced = f", {costs['unpriced']} of unknown price" if costs["unpriced"] else ""
    shown = [f"- {each.sort.value} {each.id}: {_told_price(each)}" for each in things[:_LONGEST_LIST]]
    more = [f"- and {len(things) - _LONGEST_LIST} more"] if len(things) > _LONGEST_LIST else []
    return ["", f"{title}: {len(things)}, {costs['usd_a_month']} USD a month{unpriced}", *shown, *more]


def _told_price(thing: Thing) -> str:
    usd = thing.price.usd_a_month
    amount = "unknown price" if usd is None else f"{usd:.2f} USD a month"
    return f"{amount} ({thing.price.basis})"


def _costs(things: Sequence[Thing]) -> dict[str, float | int]:
    known = [thing.price.usd_a_month for thing in things if thing.price.usd_a_month is not None]
    return {"usd_a_month": round(sum(known), 2), "unpriced": len(things) - len(known)}


def _rounded(usd: float | None) -> float | None:
    return None if usd is None else round(usd, 2)
