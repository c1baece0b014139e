"""Terminating the chosen members one by one, none holding up the others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from release_idle.aws import AutoScalingClient
from release_idle.planning import Release
from runtime.aws_errors import AWS_ERRORS, Trouble, classify, error_code
from runtime.patience import OutOfTime, Patience

Objection: TypeAlias = Callable[[Release, Collection[str]], str | None]
"""Asked right before each call, with those that are going already: why the member has to stay, or None."""


@dataclass
class Outcome:
    """Which members are going, and why each other one is not.

    `kept` are those to which there was an objection. `at_minimum` are members with which AWS did not let the desired
    capacity fall, and that go without. Those that are `uncertain` may be going: AWS gave no clear answer.
    """

    released: list[str] = field(default_factory=list)
    kept: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    at_minimum: set[str] = field(default_factory=set)
    uncertain: set[str] = field(default_factory=set)

    @property
    def untouched(self) -> list[str]:
        """The members whose termination AWS surely did not take."""
        return [each for each in (*self.kept, *self.failed) if each not in self.uncertain]

    def settles(self, release: Release) -> bool:
        return any(release.instance_id in ids for ids in (self.released, self.kept, self.failed))


def no_objection(release: Release, going: Collection[str]) -> str | None:
    """Object to nothing."""
    return None


def terminate_all(
    client: AutoScalingClient,
    releases: Sequence[Release],
    patience: Patience,
    objection: Objection = no_objection,
) -> Outcome:
    """Terminate the members in order; return what became of each. Raises nothing that AWS answers.

    A member for which another activity is in the way is put off until the others have had their turn. When
    the time runs out the rest is left to the next pass, which judges it anew.
    """
    outcome = Outcome()
    waiting = list(releases)
    pauses = 0
    try:
        while waiting:
            waiting = _one_round(client, waiting, outcome, patience, objection)
            if waiting:
                patience.pause("terminating", pauses)
                pauses += 1
    except OutOfTime:
        for release in releases:
            if not outcome.settles(release):
                outcome.failed[release.instance_id] = "ran out of time, left for the next pass"
    return outcome


def _one_round(
    client: AutoScalingClient,
    waiting: Sequence[Release],
    outcome: Outcome,
    patience: Patience,
    objection: Objection,
) -> list[Release]:
    """Try each member once; return those to try again after a pause."""
    again: list[Release] = []
    for turn, release in enumerate(waiting):
        patience.check("terminating")
        why = objection(release, {*outcome.released, *outcome.uncertain})
        if why is not None:
            outcome.kept[release.instance_id] = why
            continue
        trouble = _terminate(client, release, outcome)
        if trouble is Trouble.THROTTLED:
            # Too many calls already: asking for the others now would only make it worse.
            return [*again, *waiting[turn:]]
        if trouble is Trouble.CONFLICT:
            again.append(release)
    return again


def _terminate(client: AutoScalingClient, release: Release, outcome: Outcome) -> Trouble | None:
    """Ask for one termination. Returns the trouble that passes by itself, None when the member is settled."""
    decrement = release.decrement and release.instance_id not in outcome.at_minimum
    try:
        client.terminate_instance_in_auto_scaling_group(
            InstanceId=release.instance_id, ShouldDecrementDesiredCapacity=decrement
        )
    except AWS_ERRORS as error:
        trouble = classify(error)
        if trouble in (Trouble.THROTTLED, Trouble.CONFLICT):
            return trouble
        if trouble is Trouble.UNCERTAIN:
            # It may have been taken: a second call could lower the desired capacity twice for one instance.
            outcome.uncertain.add(release.instance_id)
            why = f"no clear answer ({error_code(error)}), left for the next pass to see"
        elif decrement and release.replaceable and _is_at_minimum(error):
            # The minimum was raised meanwhile. The policy would rather have this one replaced than kept.
            outcome.at_minimum.add(release.instance_id)
            return _terminate(client, release, outcome)
        else:
            # Refused, most often because the desired capacity is at the minimum by now or the instance has
            # gone. An idle one is never retried without decrement: that would start a replacement for an instance
            # nobody needs.
            why = f"termination refused: {error}"
        outcome.failed[release.instance_id] = why
        return None
    outcome.released.append(release.instance_id)
    return None


def _is_at_minimum(error: Exception) -> bool:
    # AWS gives a general code; only the message says that the minimum is in the way.
    return error_code(error) == "ValidationError" and "minSize" in str(error)
