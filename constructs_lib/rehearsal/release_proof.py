"""Whether a scheduled pass of the release handler provably changes nothing, and what it would publish."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import lru_cache
from typing import Any, NamedTuple

from constructs_lib.rehearsal.cloud.clients import Account, moment
from constructs_lib.rehearsal.cloud.group import Instance
from constructs_lib.rehearsal.cloud.lambdas import Runtime
from constructs_lib.rehearsal.cloud.metrics import Key
from constructs_lib.rehearsal.machine.crew import Evidence
from constructs_lib.rehearsal.sightings import Is, Sightings

_MINUTE = 60
_LONGEST_WINDOW = 170 * _MINUTE
"""What is longer may be read in coarser periods."""
_READS = (
    "autoscaling:DescribeAutoScalingGroups",
    "autoscaling:DescribeScalingActivities",
    "cloudwatch:GetMetricData",
    "ec2:DescribeInstances",
    "ssm:DescribeSessions",
    "ssm:GetParameter",
)
_READS_OF_A_QUEUE = ("sqs:GetQueueAttributes",)
_ACTIVE = ("InService", "Pending")
_STATES = (*_ACTIVE, "Terminating:Wait", "Terminating:Proceed", "Terminating")


class ReleaseProof:
    """Asked before each pass; ``evidence`` tells of an instance up to a second."""

    def __init__(self, account: Account, evidence: Callable[[Instance, int], Evidence | None]) -> None:
        self._account = account
        self._evidence = evidence
        self._activities_seen = 0
        self._launches_failed = False
        self._members: list[Instance] | None = None
        self._listed_at = -1
        """How often something had happened to the group when its members were listed."""
        self._settings: object = None
        self._sightings: Sightings | None = None
        """What is known under those settings."""

    def __call__(self, runtime: Runtime, now: int) -> Mapping[Key, float] | None:
        """Return what a pass would publish, None if it is not proven to change nothing."""
        published = self._published(runtime, now)
        if published is None and self._sightings is not None:
            self._sightings.refresh(now)
        return published

    def _published(self, runtime: Runtime, now: int) -> Mapping[Key, float] | None:
        group, settings = self._account.group, runtime.settings_or_none
        members = self._active_members() if self._is_foreseen(runtime) else None
        if members is None or len(members) != group.desired or self._launches_are_amiss(settings):
            return None
        if not (members or group.members):
            return {}
        sightings = self._sightings_under(settings)
        found = None if sightings is None or settings.policy.ends_all(moment(now)) else sightings.verdicts(members, now)
        if sightings is None or found is None:
            return None
        if settings.demand is not None:
            self._account.queue.touch(now)
        if {*found} <= {"busy", "starting"}:
            return _figures(settings, found.count("busy"), 0, 0)
        return self._while_some_are_idle(runtime, sightings, members, found, now)

    def _is_foreseen(self, runtime: Runtime) -> bool:
        """Return whether a function releases members of this group, may read what it has to, and nothing is odd."""
        from release_idle.settings import Settings

        group, settings = self._account.group, runtime.settings_or_none
        if not isinstance(settings, Settings) or settings.auto_scaling_group != group.name:
            return False
        reads = _READS if settings.demand is None else _READS + _READS_OF_A_QUEUE
        return group.pool is None and "Launch" not in group.suspended and all(map(runtime.function.may, reads))

    def _active_members(self) -> list[Instance] | None:
        """Return who is in service or on the way into it, None if others are there that a pass may do more with.

        Who drains on a machine that runs is left alone.
        """
        group = self._account.group
        if group.stirred != self._listed_at:
            there = group.members
            is_odd = any(each.state not in _STATES or not (each.runs or each.state == "Terminating") for each in there)
            self._members = None if is_odd else [each for each in there if each.state in _ACTIVE]
            self._listed_at = group.stirred
        return self._members

    def _while_some_are_idle(
        self, runtime: Runtime, sightings: Sightings, members: Sequence[Instance], found: Sequence[Is], now: int
    ) -> Mapping[Key, float] | None:
        """Return what a pass publishes that releases none of those that are idle, or seem so."""
        settings = runtime.settings
        busy, idle, seeming, unsure = map(found.count, ("busy", "idle", "seems idle", "unsure"))
        # Somebody in a session is busy, and is not at work.
        if any(self._account.load(each, now).session for each in members):
            return None
        if not unsure and self._nobody_could_go(settings, members, now):
            # No other signal is asked.
            return _figures(settings, busy, idle + seeming, 0)
        if not sightings.come_promptly:
            return None
        if unsure or seeming or settings.demand is None:
            return self._look_at_the_idle(runtime, sightings, members, found, now)
        # The handler releases nobody while it sees fewer members at work than there are messages.
        serving = sum(each.state == "InService" for each in members)
        messages = len(self._account.queue.visible) + self._account.queue.in_flight
        stays = sightings.most_at_work(members, found, now) < min(messages, serving)
        return _figures(settings, busy, idle, idle) if stays else None

    def _sightings_under(self, settings: Any) -> Sightings | None:
        """Return what is known of the members as these settings have them judged, None if that is not foreseen."""
        if settings is not self._settings:
            self._settings = settings
            self._account.at_work.clear()
            plain = self._is_plain(settings)
            self._sightings = Sightings(self._account, self._evidence, settings) if plain else None
        return self._sightings

    def _look_at_the_idle(
        self, runtime: Runtime, sightings: Sightings, members: Sequence[Instance], found: Sequence[Is], now: int
    ) -> Mapping[Key, float] | None:
        """Have the handler itself look at those that seem idle, and at nobody else: what the others are is sure.

        That is what its second look does, with the members that the first one did not choose.
        """
        from release_idle.look import Earlier, look_at
        from release_idle.members import State, Verdict
        from release_idle.survey import Surveyor
        from runtime.patience import Patience
        from runtime.structured_log import StructuredLog

        settings, clock = runtime.settings, runtime.clock()
        deadline = clock.now() + timedelta(seconds=runtime.function.timeout)
        log = StructuredLog(clock, _say_nothing)
        patience = Patience(clock=clock, deadline=deadline, attempts=1)
        surveyor = Surveyor(settings=settings, clients=runtime.clients, patience=patience, log=log)
        settled = {
            each.id: Verdict(
                state=State.BUSY if verdict == "busy" else State.STARTING,
                reason="surely",
                at_work=verdict == "busy" and sightings.is_at_work(each, now),
            )
            for each, verdict in zip(members, found, strict=True)
            if verdict in ("busy", "starting")
        }
        looked_at = {each.id: each for each in members if each.id not in settled}
        group = surveyor.group()
        if group is None:
            return None
        decision = look_at(surveyor, group, Earlier(settled=settled), only=[*looked_at]).decision
        states = [verdict.state for verdict in decision.verdicts.values()]
        if surveyor.failures or decision.plan.releases or decision.remember or decision.forget:
            return None
        if len(states) != len(found) or not {*states} <= {State.BUSY, State.STARTING, State.IDLE}:
            return None
        idle = {name: verdict for name, verdict in decision.verdicts.items() if verdict.state is State.IDLE}
        sightings.learn([looked_at[name] for name, verdict in idle.items() if not verdict.is_partial], now)
        return _figures(settings, states.count(State.BUSY), len(idle), len(set(decision.plan.kept_for_work)))

    def _launches_are_amiss(self, settings: Any) -> bool:
        """Return whether launches have come to nothing, or passes remember that some have."""
        activities = self._account.group.activities
        while self._activities_seen < len(activities):
            each = activities[self._activities_seen]
            self._launches_failed |= each.status in ("Failed", "Cancelled") or "health check" in each.cause
            self._activities_seen += 1
        if self._launches_failed:
            return True
        versions = self._account.parameters.get(settings.state_parameter)
        remembered = None if versions is None else _remembered_of_launches(versions[-1][1])
        if remembered is None:
            return True
        never_known = {f"i-{each}" for each in remembered.get("never_known", "").split()}
        if not remembered.keys() <= {"never_known"} or len(never_known) >= (settings.max_failed_launches or 1):
            return True
        # Of one that is gone no pass learns anything any more.
        return bool(never_known) and any(member.id in never_known for member in self._account.group.members)

    def _is_plain(self, settings: Any) -> bool:
        """Return whether the settings are those that these proofs know, the first signal above all."""
        policy, demand = settings.policy, settings.demand
        signal = policy.signals[0]
        return (
            not policy.protection_holds
            # Passes that count who is in use learn from it: none of them finds nothing.
            and policy.start_worth_seconds is None
            and policy.period_seconds == _MINUTE
            and policy.window_seconds <= _LONGEST_WINDOW
            and (signal.means, signal.statistic) == ("work", "Maximum")
            and not (signal.less or signal.dimensions)
            # What an instance says of the time before its load began is another thing in each minute.
            and all(each.means != "idle_time" for each in policy.signals)
            and (demand is None or demand.queue_url == self._account.queue.name)
        )

    def _nobody_could_go(self, settings: Any, members: Sequence[Instance], now: int) -> bool:
        """Return whether nobody who is idle may go: the fleet is as small as it may be, and no work waits."""
        from release_idle.decision import nobody_could_go

        group, queue = self._account.group, self._account.queue
        if settings.demand is not None and (queue.visible or queue.in_flight):
            return False
        return bool(
            nobody_could_go(
                [_Capacity(each.state) for each in members],
                min_size=group.minimum,
                max_size=group.maximum,
                policy=settings.policy,
                now=moment(now),
            )
        )


class _Capacity(NamedTuple):
    """A member as the handler counts capacity; groups with weights are not simulated."""

    lifecycle_state: str
    capacity: int = 1


def _figures(settings: Any, busy: int, idle: int, idle_despite_work: int) -> dict[Key, float]:
    """Return what a pass counts that finds so many members busy and idle, and does nothing."""
    dimensions = frozenset({("AutoScalingGroupName", settings.auto_scaling_group)})
    counted = {
        "MembersBusy": busy,
        "MembersIdle": idle,
        "MembersIdleDespiteWork": idle_despite_work,
        **dict.fromkeys(("MembersUnknown", "MembersHeld", "MembersRetained"), 0),
        **dict.fromkeys(("InstancesReleased", "LaunchesStopped", "DrainsAbandoned"), 0),
    }
    return {(settings.namespace, name, dimensions): float(value) for name, value in counted.items()}


def _say_nothing(_line: str) -> None:
    """What a look logs that stands for a pass which is left out is logged by nobody."""


@lru_cache(maxsize=16)
def _remembered_of_launches(state: str) -> Mapping[str, str] | None:
    """Return what passes remember of launches that came to nothing; None of a text that none of them wrote."""
    try:
        document = json.loads(state)
    except ValueError:
        return None
    found = document.get("launches", {}) if isinstance(document, Mapping) else None
    return found if isinstance(found, Mapping) else None
