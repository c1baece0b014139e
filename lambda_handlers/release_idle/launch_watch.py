"""A pass's part in launches that come to nothing: whether to ask, what to do, and what to remember."""

from __future__ import annotations

from dataclasses import dataclass

from release_idle.launches import LaunchPolicy, LaunchReview, act_on_launches, may_be_amiss, review_launches
from release_idle.look import Look
from release_idle.state import PassState
from release_idle.survey import Surveyor
from runtime.group import Group
from runtime.patience import Patience
from runtime.structured_log import StructuredLog


@dataclass(frozen=True, kw_only=True)
class LaunchWatch:
    """Watches the launches of a group for which the policy says how many may come to nothing."""

    surveyor: Surveyor
    log: StructuredLog

    def is_amiss(self, group: Group) -> bool:
        """Return whether capacity is missing, launching is suspended, or a warm pool may try in vain: what a look need
        not be taken for."""
        is_short = group.launches_suspended or group.active_capacity < group.desired_capacity
        return self._is_on and (is_short or group.has_warm_pool)

    def is_needed(self, look: Look) -> bool:
        """Return whether launches may come to nothing. If not, no call is made."""
        return self._is_on and may_be_amiss(look.group, look.decision.verdicts, look.silent)

    def review(self, look: Look, state: PassState) -> LaunchReview | None:
        """Return what is to be done, None when nothing is amiss. Raises what AWS answers."""
        settings = self.surveyor.settings
        if settings.max_failed_launches is None or not self.is_needed(look):
            return None
        policy = LaunchPolicy(
            most_in_a_row=settings.max_failed_launches, warm_up_seconds=settings.policy.warm_up_seconds
        )
        return review_launches(
            self.surveyor.clients.autoscaling,
            look.group,
            look.members,
            look.decision.verdicts,
            look.silent,
            policy,
            state.launches,
            self.surveyor.patience,
        )

    def act(self, review: LaunchReview, patience: Patience) -> None:
        """Stop launching and tell, as the review says. Raises what AWS answers."""
        clients, settings = self.surveyor.clients, self.surveyor.settings
        assert settings.topic_arn is not None, "settings with MAX_FAILED_LAUNCHES have a TOPIC_ARN"
        act_on_launches(
            clients.autoscaling, clients.sns, settings.auto_scaling_group, settings.topic_arn, review, patience
        )
        if review.trouble is not None:
            causes = [cause.value for cause in review.trouble.causes]
            self.log.error("launching stopped", causes=causes, said=review.trouble.failures[0].message)
        elif review.message is not None:
            self.log.error("launching suspended by AWS", said=review.message.text)

    @property
    def _is_on(self) -> bool:
        return self.surveyor.settings.max_failed_launches is not None
