"""A pass's part in the instances that the group retains: since when each is, and which have been so for too long."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice

from release_idle.leaving import overdue, retained_ids, retained_since
from release_idle.planning import Cause, Release
from release_idle.state import PassState
from release_idle.state_document import content_of
from release_idle.survey import Surveyor
from runtime.activities import read_activities
from runtime.aws_errors import AWS_ERRORS
from runtime.group import Group
from runtime.patience import OutOfTime

# Five pages. What is older counts from when it was first seen.
_MOST_ACTIVITIES = 500


@dataclass(frozen=True, kw_only=True)
class RetainedReview:
    """Since when each instance has been retained, and who has been so for too long, longest first.

    `failure` is why the history could not be read; those that it would have told of count from now.
    """

    since: Mapping[str, datetime]
    overdue: tuple[Release, ...]
    failure: Exception | None = None

    def changes(self, state: PassState) -> bool:
        """Return whether there is something to do or to remember, for which the pass needs its lease."""
        return bool(self.overdue) or content_of(replace(state, retained=self.since)) != content_of(state)


@dataclass(frozen=True, kw_only=True)
class RetainedWatch:
    """Watches the instances that the group retains, where the policy says for how long it may."""

    surveyor: Surveyor

    def is_needed(self, group: Group) -> bool:
        """Return whether there are any. If not, no call is made."""
        return self.surveyor.settings.retained_after_seconds is not None and bool(retained_ids(group.members))

    def review(self, group: Group, state: PassState) -> RetainedReview | None:
        """Return what is to be done, by the history and by what passes remember; None when nothing is retained."""
        if not self.is_needed(group):
            return None
        ids, now = retained_ids(group.members), self.surveyor.patience.clock.now()
        failure: Exception | None = None
        try:
            history = read_activities(self.surveyor.clients.autoscaling, group.name, self.surveyor.patience)
            since = retained_since(ids, state.retained, islice(history, _MOST_ACTIVITIES), now)
        # An answer may lack what must be known of an activity.
        except (*AWS_ERRORS, OutOfTime, KeyError) as error:
            failure, since = error, retained_since(ids, state.retained, (), now)
        asked = state.asked_to_leave(now)
        return RetainedReview(since=since, overdue=self.overdue(group, since, asked), failure=failure)

    def overdue(self, group: Group, since: Mapping[str, datetime], asked: Collection[str]) -> tuple[Release, ...]:
        """Return the releases of those that are retained for too long, that nobody keeps and nobody has asked for."""
        after, now = self.surveyor.settings.retained_after_seconds, self.surveyor.patience.clock.now()
        ids = [each for each in retained_ids(group.members) if each in since and each not in asked]
        if after is None or not any((now - since[each]).total_seconds() >= after for each in ids):
            return ()
        members = self.surveyor.members_of(group, ids)
        return tuple(
            Release(
                instance_id=each,
                # It is outside the desired capacity: lowering that would take a member that works.
                decrement=False,
                cause=Cause.RETAINED,
                reason=f"retained since {since[each]:%Y-%m-%dT%H:%M:%SZ}, the limit is {after} s",
            )
            for each in overdue(members, since, self.surveyor.settings.policy, after_seconds=after, now=now)
        )
