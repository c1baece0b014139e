"""Who has accelerated capacity, each owner once however many ways of launching it has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from constructs_lib.compliance.deployment import Deployment, Resource, once
from constructs_lib.compliance.facts.launches import Launch, launches
from constructs_lib.compliance.facts.loops import loops_of
from constructs_lib.compliance.rule import Itself
from constructs_lib.compliance.values import NotKnown, any_of


def accelerated_owners(
    *types: str, having: Callable[[Resource], bool] = lambda owner: True
) -> Callable[[Deployment], Iterator[Itself | NotKnown]]:
    """Subjects: the groups, instances, fleets, environments and node groups of these types that are accelerated.

    Args:
        types: of the owners.
        having: whether an owner has what the rule is about. Whether it is accelerated matters only then.
    """

    def subjects(deployment: Deployment) -> Iterator[Itself | NotKnown]:
        for owner, verdict in _verdicts(deployment, types, having).items():
            if isinstance(verdict, NotKnown):
                yield verdict
            elif verdict:
                yield Itself(owner)
        yield from loops_of(deployment, *types)

    return subjects


def launches_of(owner: Resource) -> Sequence[Launch]:
    """The ways in which an owner launches."""
    return _by_owner(owner.deployment).get(owner, ())


@once
def _by_owner(deployment: Deployment) -> Mapping[Resource, Sequence[Launch]]:
    found: dict[Resource, list[Launch]] = {}
    for launch in launches(deployment):
        found.setdefault(launch.owner, []).append(launch)
    return found


def _verdicts(
    deployment: Deployment, types: tuple[str, ...], having: Callable[[Resource], bool]
) -> dict[Resource, bool | NotKnown]:
    verdicts: dict[Resource, bool | NotKnown] = {}
    for owner, ways in _by_owner(deployment).items():
        if owner.type not in types:
            continue
        try:
            verdicts[owner] = having(owner) and any_of(Launch.is_accelerated, ways)
        except NotKnown as not_known:
            verdicts[owner] = not_known
    return verdicts
