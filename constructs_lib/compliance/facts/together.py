"""Resources that one cure mends, of which a rule tells once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any, TypeVar

from constructs_lib.compliance.deployment import Resource
from constructs_lib.compliance.facts.launches import SPOT_FLEET, Launch
from constructs_lib.compliance.facts.owners import launches_of
from constructs_lib.compliance.suppressions import reason_for
from constructs_lib.compliance.values import Broken, NotKnown

S = TypeVar("S")


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


def once_a_fleet(judge: Callable[[S], Iterator[Broken]]) -> Callable[[S], Iterator[Broken]]:
    """Let a rule tell of the first launch specification of a Spot fleet that breaks it, and not of each."""

    @wraps(judge)
    def judged(subject: S) -> Iterator[Broken]:
        if not any(_breaks(judge, each) for each in _before(subject)):
            yield from judge(subject)

    return judged


def _before(subject: object) -> Iterator[Launch]:
    """The specifications of its fleet that stand before it; one by a launch template is told of at the template."""
    if not isinstance(subject, Launch) or subject.owner.type != SPOT_FLEET:
        return
    for each in launches_of(subject.owner):
        if each is subject:
            return
        if each.resource is subject.resource:
            yield each


def _breaks(judge: Callable[[Any], Iterator[Broken]], subject: Launch) -> bool:
    try:
        return next(judge(subject), None) is not None
    except NotKnown:
        return False
