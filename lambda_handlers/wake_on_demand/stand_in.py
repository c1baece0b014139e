"""How much of what another group cannot get this one is to stand in for."""

from __future__ import annotations

from dataclasses import dataclass, field

from runtime.aws_errors import AWS_ERRORS
from runtime.demand import ShortfallDemand
from runtime.group import Group
from runtime.group_metrics_reader import GroupMetric, UnreadableMetrics, read_group_metrics
from runtime.group_reader import UnreadableGroup, read_group
from runtime.patience import OutOfTime, Patience
from runtime.shortfall import missing_capacity, why_it_wants_nothing
from runtime.structured_log import Json, StructuredLog
from wake_on_demand.aws import Clients
from wake_on_demand.shortfall_window import (
    LATEST_MINUTES,
    MINUTE,
    History,
    Lasting,
    UnknownShortfall,
    lasting_shortfall,
)

_UNKNOWN = (*AWS_ERRORS, OutOfTime, UnreadableGroup, UnreadableMetrics, UnknownShortfall)


@dataclass(frozen=True, kw_only=True)
class Stand:
    """The capacity that is needed here, the figures that say so, and why nothing is if nothing is."""

    needed: int
    why_none: str = ""
    figures: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class StandIn:
    """One look at the group that this one stands in for."""

    demand: ShortfallDemand
    clients: Clients
    patience: Patience
    log: StructuredLog

    def needed(self, own: Group) -> Stand:
        """Return what is needed here. What cannot be read is logged and raised: nobody is woken by what is not known.

        An instance stands for one that has been missing for the whole time, and is missing now. Metrics cost money, so
        they are read only when something is.
        """
        try:
            return self._needed(own)
        except _UNKNOWN as error:
            why = str(error) or type(error).__name__
            self.log.error("shortfall unknown", of_group=self.demand.of_group, why=why)
            raise

    def _needed(self, own: Group) -> Stand:
        other = read_group(self.clients.autoscaling, self.demand.of_group, self.patience)
        if other is None:
            return Stand(needed=0, why_none="the other group is gone")
        missing = missing_capacity(other)
        figures: dict[str, Json] = {
            "of_group": other.name,
            "wanted": other.desired_capacity,
            "missing": missing,
        }
        if missing == 0:
            reason = why_it_wants_nothing(other) or "has what it wants, or that is on its way"
            return Stand(needed=0, why_none=f"the other group {reason}", figures=figures)
        if any(member.capacity != 1 for member in other.members):
            raise UnreadableGroup(f"the group {other.name} has weights: its metric counts instances, its sizes do not")
        if min(missing, own.max_size) <= own.desired_capacity:
            # Whatever the metrics say.
            return Stand(needed=missing, figures=figures)
        minutes = self.demand.after_seconds // 60
        lasting = self._lasting(other, own, minutes)
        figures["missing_throughout"] = lasting.missing
        if lasting.missing == 0:
            return Stand(needed=0, why_none=f"nothing was missing for all of {minutes} minutes", figures=figures)
        if lasting.own_most > own.desired_capacity:
            # What was given back here had nothing to do, though the other group wants it still: started again at once
            # it would find as little.
            return Stand(needed=0, why_none=f"capacity was given back here within {minutes} minutes", figures=figures)
        return Stand(needed=min(missing, lasting.missing), figures=figures)

    def _lasting(self, other: Group, own: Group, minutes: int) -> Lasting:
        now = self.patience.clock.now()
        end = now.replace(second=0, microsecond=0) + MINUTE
        wanted, in_service, desired = read_group_metrics(
            self.clients.cloudwatch,
            [
                # Of two samples in a minute the one that makes less of a shortage.
                GroupMetric(group_name=other.name, name="GroupDesiredCapacity", statistic="Minimum"),
                GroupMetric(group_name=other.name, name="GroupInServiceInstances", statistic="Maximum"),
                GroupMetric(group_name=own.name, name="GroupDesiredCapacity", statistic="Maximum"),
            ],
            end - MINUTE * (minutes + LATEST_MINUTES + 1),
            end,
            self.patience,
        )
        history = History(
            wanted=wanted,
            in_service=in_service,
            own=desired,
            other_created_at=other.created_at,
            own_created_at=own.created_at,
        )
        return lasting_shortfall(history, now=now, minutes=minutes)
