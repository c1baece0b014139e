"""What a rule is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar

from constructs_lib.compliance.deployment import Deployment, Resource
from constructs_lib.compliance.facts.loops import loops_of
from constructs_lib.compliance.values import Broken, NotKnown

Severity = Literal["error", "warning"]

ERROR: Severity = "error"
"""Work is lost, money runs away, or a deploy or a launch fails."""
WARNING: Severity = "warning"
"""It works, and costs more, is less safe or harder to run than it need be."""


class Subject(Protocol):
    """What a rule is asked about: a resource, or something that belongs to one."""

    @property
    def resource(self) -> Resource:
        """The resource that findings are about, and whose suppressions count."""


S_co = TypeVar("S_co", covariant=True, bound=Subject)
S = TypeVar("S", bound=Subject)


@dataclass(frozen=True, kw_only=True)
class Rule(Generic[S]):
    """One thing that a template must keep.

    Attributes:
        id: words between hyphens; a public name that does not change.
        title: what must hold, in one line.
        severity: ``error`` or ``warning``.
        practices: ids of the practices that it serves, of :mod:`constructs_lib.compliance.practices`; the first is the
            one that its findings are told under.
        why: what goes wrong otherwise, in a sentence or two.
        cure_here: how to mend it with this library.
        cure_plain: how to mend it in a template written by hand.
        link: to AWS's documentation.
        subjects: all that the rule is asked about. In place of one of which nobody can tell whether it is concerned
            comes the exception that says why.
        judge: yields what breaks the rule in one subject, nothing if it keeps it. It may raise
            :class:`~constructs_lib.compliance.values.NotKnown`: it cannot be judged.
    """

    id: str
    title: str
    severity: Severity
    practices: tuple[str, ...]
    why: str
    cure_here: str
    cure_plain: str
    link: str
    subjects: Callable[[Deployment], Iterable[S | NotKnown]]
    judge: Callable[[S], Iterator[Broken]]


def resources_of(
    *types: str, having: Callable[[Resource], bool] = lambda resource: True
) -> Callable[[Deployment], Iterator[Itself | NotKnown]]:
    """Subjects: every resource of these types that has what the rule is about.

    Args:
        types: of the resources.
        having: whether a resource has it. Default: each does.
    """

    def subjects(deployment: Deployment) -> Iterator[Itself | NotKnown]:
        for resource in deployment.resources(*types):
            try:
                if having(resource):
                    yield Itself(resource)
            except NotKnown as not_known:
                yield not_known
        yield from loops_of(deployment, *types)

    return subjects


@dataclass(frozen=True)
class Itself:
    """A resource as the subject of a rule.

    Attributes:
        resource: that it is.
    """

    resource: Resource
