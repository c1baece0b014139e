"""Resources that one cure mends, of which a rule tells once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from constructs_lib.compliance.deployment import Resource
from constructs_lib.compliance.suppressions import reason_for


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
