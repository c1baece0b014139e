"""What a pass changes in the group, as the one pass that may."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

from release_idle.group_changes import ZONE_REBALANCING, set_desired_capacity, suspend_zone_rebalancing
from release_idle.launch_watch import LaunchWatch
from release_idle.launches import LaunchReview
from release_idle.look import Earlier, Look, look_at
from release_idle.measurement import PROVISIONAL_PERIODS
from release_idle.members import State
from release_idle.planning import MOST_RELEASES, Release, filled_capacity, is_surplus
from release_idle.report import PassReport
from release_idle.retained import RetainedReview, RetainedWatch
from release_idle.state import Lease, PassState, StateStore, StateUnreadable
from release_idle.survey import Surveyor
from release_idle.termination import Objection, Outcome, no_objection, terminate_all
from runtime.aws_errors import AWS_ERRORS
from runtime.group import Group, is_active
from runtime.patience import OutOfTime, Patience
from runtime.structured_log import StructuredLog

# An answer may lack what must be known of an activity.
_HISTORY_UNREADABLE = (*AWS_ERRORS, OutOfTime, KeyError)
# A call that was made at the last moment may take some time as well. A lease that is not given back keeps those that
# were not asked for any more from being asked.
_TO_GIVE_THE_LEASE_BACK = timedelta(seconds=10)


@dataclass(frozen=True, kw_only=True)
class Acting:
    """Changes the group and fills the report. `holder` is a name that no other pass has.

    What goes wrong is told and holds up nothing else.
    """

    surveyor: Surveyor
    log: StructuredLog
    report: PassReport
    launches: LaunchWatch
    holder: str

    def act(self, first: Look) -> None:
        """Do what the first look leaves to do that only one pass at a time may, unless another one is doing it."""
        changes = bool(first.chosen or self.unfilled_target(first.group, first.decision.plan.floor) is not None)
        retained = RetainedWatch(surveyor=self.surveyor)
        if not (changes or retained.is_needed(first.group) or self.launches.is_needed(first)):
            return
        patience = self.surveyor.patience
        store = StateStore(self.surveyor.clients.ssm, self.surveyor.settings.state_parameter, patience)
        try:
            state = store.read()
            review = self._review(first, state)
            kept = retained.review(first.group, state)
            if kept is not None and kept.failure is not None:
                self.failed("Auto Scaling DescribeScalingActivities", kept.failure)
            changes |= review is not None and review.changes(state.launches)
            changes |= kept is not None and kept.changes(state)
            if not changes:
                return
            lease = store.acquire(state, holder=self.holder, until=patience.deadline - _TO_GIVE_THE_LEASE_BACK)
            is_held = state.lease is not None and state.lease.until > patience.clock.now()
            if lease is None and not is_held and store.read().version == state.version:
                raise StateUnreadable("the lease could not be written, and no other pass has it")
        except StateUnreadable as error:
            self.failed("taking the lease", error)
            self._spare(first.chosen, "what earlier passes did could not be read")
            return
        if lease is None:
            self.log.info("another pass acts", chosen=first.chosen)
            self._spare(first.chosen, "another pass is acting")
            return
        untouched: Sequence[str] = ()
        try:
            untouched = self._act_alone(first, lease, review, kept)
        finally:
            self._let_others_act(lease, untouched)

    def is_unfilled(self, group: Group, least: int) -> bool:
        """Return whether the group wants more than it has and than `least`, and something tells what it is for."""
        settings = self.surveyor.settings
        # Without a demand a person or a schedule set the number, and only they know what it is for.
        if settings.demand is None and settings.stands_in_for is None:
            return False
        return filled_capacity(group.active_capacity, group.desired_capacity, least) is not None

    def unfilled_target(self, group: Group, floor: int | None) -> int | None:
        """Return what to lower the desired capacity to, None when it is filled, needed or not known to be neither."""
        if floor is None or not self.is_unfilled(group, max(floor, group.min_size)):
            return None
        # What another group lacks keeps nobody here, but it is what the number was set for.
        missing = self.surveyor.missing_elsewhere()
        if missing is None:
            return None
        return filled_capacity(group.active_capacity, group.desired_capacity, max(floor, group.min_size, missing))

    def failed(self, what: str, error: Exception | str) -> None:
        """Tell of something that was not done."""
        why = f"the answer lacks {error}" if isinstance(error, KeyError) else str(error)
        self.report.failures.append(f"{what}: {why}")
        self.log.error("change failed", what=what, why=why)

    def _act_alone(
        self, first: Look, lease: Lease, review: LaunchReview | None, kept: RetainedReview | None
    ) -> Sequence[str]:
        """Do everything in turn, with the group as it is now. Return the members surely not terminated."""
        group = self.surveyor.group_again()
        if group is None or group.being_deleted:
            self._spare(first.chosen, "the group could not be read again, or is going")
            return ()
        if kept is not None:
            lease.remember(retained=kept.since)
        untouched = self._release(first, self._take_back_unfilled(first, group, lease), lease, kept)
        self._act_on_launches(review, lease)
        return untouched

    def _release(self, first: Look, group: Group, lease: Lease, kept: RetainedReview | None) -> Sequence[str]:
        """Read the chosen members again and terminate those that may still go. Return those surely not terminated.

        Work can have arrived since the first reading, and sizes can have changed. Nobody is chosen anew: who
        was not to go a moment ago waits for the next pass.
        """
        asked = lease.state.asked_to_leave(self.surveyor.patience.clock.now())
        ended: tuple[Release, ...] = ()
        if kept is not None and kept.overdue:
            ended = RetainedWatch(surveyor=self.surveyor).overdue(group, kept.since, asked)
        releases: tuple[Release, ...] = ()
        objection = no_objection
        patience = self._patience_until(lease)
        if first.chosen:
            settled = {each: what for each, what in first.decision.verdicts.items() if each not in first.chosen}
            earlier = Earlier(asked_to_leave=asked, settled=settled, spare=first.decision.spare)
            look = look_at(self.surveyor, group, earlier, only=first.chosen)
            self.report.take(look.decision, look.members)
            self._spare(
                [each for each in first.chosen if each not in look.decision.verdicts], "left the group meanwhile"
            )
            releases = look.decision.plan.releases
            if group.launches_suspended:
                # Nothing makes up for a member that goes without lowering the capacity, and AWS refuses no such call at
                # the minimum. Where launches are on, a size raised meanwhile costs a replacement and no more.
                objection = partial(self._no_longer_surplus, look)
            # The evidence ages while calls are retried. It is stale beyond the delay that metrics have anyhow.
            fresh_for = timedelta(seconds=PROVISIONAL_PERIODS * self.surveyor.settings.policy.period_seconds)
            patience = patience.until(look.at + fresh_for)
        if releases and not self._keeps_zones_uneven(group, patience):
            why = "AZRebalance could not be suspended: it would even out the zones with members at work"
            self._spare([release.instance_id for release in releases], why)
            releases = ()
        return self._terminate((*releases, *ended)[:MOST_RELEASES], lease, patience, objection)

    def _terminate(
        self, releases: Sequence[Release], lease: Lease, patience: Patience, objection: Objection
    ) -> Sequence[str]:
        """Write down who is to go, and then ask for it. Return those surely not terminated."""
        ids = [release.instance_id for release in releases]
        if not ids:
            return ()
        recorded = False
        try:
            recorded = lease.record(ids, self.surveyor.patience.clock.now())
            why = "the lease has ended"
        except StateUnreadable as error:
            why = str(error)
        if not recorded:
            self.failed("recording who is asked to leave", why)
            self._spare(ids, "it could not be recorded that they are asked to leave")
            return ()
        outcome: Outcome = terminate_all(self.surveyor.clients.autoscaling, releases, patience, objection)
        self.report.released = outcome.released
        self.report.causes.update({release.instance_id: release for release in releases})
        self.report.spared.update({**outcome.kept, **outcome.failed})
        self.report.failures += [f"{each}: {why}" for each, why in outcome.failed.items()]
        return outcome.untouched

    def _no_longer_surplus(self, look: Look, release: Release, going: Collection[str]) -> str | None:
        """Look at the group right before a member of its surplus goes; return why it is none any more, or None."""
        if not release.surplus:
            return None
        group = self.surveyor.group_again()
        if group is None:
            return "the group could not be read again"
        # Its description may show those as active that are on their way out.
        gone = {each for each, verdict in look.decision.verdicts.items() if verdict.state is State.LEAVING}.union(going)
        active = {
            member.instance_id: member.capacity
            for member in group.members
            if is_active(member.lifecycle_state) and member.instance_id not in gone
        }
        if release.instance_id not in active:
            return "left the group meanwhile"
        there, needed = sum(active.values()), max(group.desired_capacity, group.min_size)
        if is_surplus(there, active[release.instance_id], needed):
            return None
        return f"the group has become smaller or is to be larger: {there} are there, {needed} are needed"

    def _review(self, first: Look, state: PassState) -> LaunchReview | None:
        """Return what is to be done about launches, None for nothing and when it cannot be told."""
        if not self.launches.is_needed(first):
            return None
        self.report.launches_stopped = state.launches.stopped_at is not None
        try:
            review = self.launches.review(first, state)
        except _HISTORY_UNREADABLE as error:
            self.failed("reading what became of launches", error)
            return None
        if review is not None:
            self.report.launches_stopped = review.stopped
        return review

    def _act_on_launches(self, review: LaunchReview | None, lease: Lease) -> None:
        if review is None:
            return
        try:
            self.launches.act(review, self.surveyor.patience.until(lease.acts_until))
        except (*AWS_ERRORS, OutOfTime) as error:
            self.report.launches_stopped = lease.state.launches.stopped_at is not None
            self.failed("stopping launches that come to nothing", error)
            return
        lease.remember(launches=review.memory)

    def _take_back_unfilled(self, first: Look, group: Group, lease: Lease) -> Group:
        """Lower a desired capacity that AWS could not fill, and that no work needs any more, to what is there.

        Returns the group as it then is. Otherwise each release would be followed, once there is capacity, by an
        instance that nobody needs. Auto Scaling has no victim to choose here: the number is never set below what is in
        service or on its way as read just before, and a fleet's members are protected besides.
        """
        target = self.unfilled_target(group, self.report.floor)
        # A number that is new was set for something that the first look does not know of.
        if target is None or group.desired_capacity != first.group.desired_capacity:
            return group
        act = partial(set_desired_capacity, self.surveyor.clients.autoscaling, group.name, target)
        if not self._change("SetDesiredCapacity", act, self.surveyor.patience.until(lease.acts_until)):
            return group
        self.report.desired_lowered_to = target
        active = group.active_capacity
        why = f"of {group.desired_capacity} AWS filled {active}, and work needs {self.report.floor} with the minimum"
        self.log.info("desired capacity lowered", before=group.desired_capacity, now=target, why=why)
        return replace(group, desired_capacity=target)

    def _keeps_zones_uneven(self, group: Group, patience: Patience) -> bool:
        """Return whether the group will leave its zones as uneven as the releases make them, asking it to if need be.

        Where protection holds, the members at work are not protected, and Auto Scaling would terminate any of them for
        balance. A fleet's own members are, and its custom resource has suspended the process.
        """
        exposed = self.surveyor.settings.policy.protection_holds and len(group.zones) != 1
        if not exposed or ZONE_REBALANCING in group.suspended_processes:
            return True
        act = partial(suspend_zone_rebalancing, self.surveyor.clients.autoscaling, group.name)
        done = self._change("SuspendProcesses", act, patience)
        if done:
            why = "releases make zones uneven, and members at work would be terminated to even them out"
            self.log.info("zone rebalancing suspended", process=ZONE_REBALANCING, why=why)
        return done

    def _let_others_act(self, lease: Lease, untouched: Sequence[str]) -> None:
        try:
            if not lease.finish(drop=untouched):
                self.log.warning("the lease had ended", holder=self.holder)
        except StateUnreadable as error:
            self.failed("giving the lease back", error)

    def _change(self, what: str, act: Callable[[Patience], None], patience: Patience) -> bool:
        """Change the group; return whether it was done."""
        try:
            act(patience)
        except (*AWS_ERRORS, OutOfTime) as error:
            self.failed(f"Auto Scaling {what}", error)
            return False
        return True

    def _spare(self, instance_ids: Sequence[str], why: str) -> None:
        self.report.spared.update(dict.fromkeys(instance_ids, why))

    def _patience_until(self, lease: Lease) -> Patience:
        return replace(self.surveyor.patience.until(lease.acts_until), attempts=None)
