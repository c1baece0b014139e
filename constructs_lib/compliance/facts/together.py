"""Resources that one cure mends, of which a rule tells once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import wraps

from constructs_lib.compliance.deployment import Resource
from constructs_lib.compliance.facts.launches import SPOT_FLEET, Launch
from constructs_lib.compliance.facts.owners import launches_of
from constructs_lib.compliance.suppressions import reason_for
from constructs_lib.compliance.values import Broken, NotKnown


def told_together(rule: str, resources: Iterable[Resource]) -> Iterator[tuple[Resource, ...]]:
    """The resources, all in one; one that has an answer to the rule is by itself, since it answers for no other."""
    unanswered: list[Resource] = []
    for each in resources:
        if reason_for(each, rule) is None:
            unanswered.append(each)
        else:
            yield (each,)
    if unanswered:
        yield tuple(unanswered)


def once_a_fleet(judge: Callable[[Launch], Iterator[Broken]]) -> Callable[[Launch], Iterator[Broken]]:
    """Let a rule tell of the first launch specification of a Spot fleet that breaks it, and not of each."""

    @wraps(judge)
    def judged(launch: Launch) -> Iterator[Broken]:
        if launch.owner.type != SPOT_FLEET or not any(_breaks(judge, each) for each in _before(launch)):
            yield from judge(launch)

    return judged


def _before(launch: Launch) -> Iterator[Launch]:
    """The specifications of its fleet that stand before it; one by a launch template is told of at the template."""
    for each in launches_of(launch.owner):
        if each is launch:
            return
        if each.resource is launch.resource:
            yield each


def _breaks(judge: Callable[[Launch], Iterator[Broken]], launch: Launch) -> bool:
    try:
        return next(judge(launch), None) is not None
    except NotKnown:
        return False
