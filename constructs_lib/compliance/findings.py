"""What a check found, and what it could not judge."""

from __future__ import annotations

from dataclasses import dataclass

from constructs_lib.compliance.rule import Severity


@dataclass(frozen=True, kw_only=True, order=True)
class Location:
    """Where something stands.

    Attributes:
        stack: name of the stack, or of the file.
        file: the template's. None: it was given as data.
        line: from 1 on. None: the template was given as data.
        property: path in the resource's properties. Empty: the resource as a whole.
    """

    stack: str
    file: str | None
    line: int | None
    property: str


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A resource that breaks a rule.

    Attributes:
        rule: id.
        severity: ``error`` or ``warning``.
        resource: logical id.
        type: of the resource.
        message: names resource, property, what must hold, and the value.
        fix: what to change.
        practice: id of the practice that the rule serves first.
        location: where it stands.
    """

    rule: str
    severity: Severity
    resource: str
    type: str
    message: str
    fix: str
    practice: str
    location: Location

    @property
    def fingerprint(self) -> tuple[str, str, str, str]:
        """What tells it from other findings, and stays when lines move: stack, resource, rule, property."""
        return self.location.stack, self.resource, self.rule, self.location.property


@dataclass(frozen=True, kw_only=True)
class Suppressed:
    """A finding that somebody has answered.

    Attributes:
        finding: itself.
        reason: why it stays.
    """

    finding: Finding
    reason: str


@dataclass(frozen=True, kw_only=True)
class Stated:
    """A reason that a template gives where a rule asks for one: it keeps the rule.

    Attributes:
        what: it is about, a name of :mod:`constructs_lib.statements`.
        resource: logical id.
        reason: as the template has it.
        location: where it stands.
    """

    what: str
    resource: str
    reason: str
    location: Location


@dataclass(frozen=True, kw_only=True)
class NotJudged:
    """A rule that has no verdict on a resource, or several that have none for the same reason.

    Attributes:
        rule: id.
        resource: logical id.
        reason: what is not known.
        location: of what is not known.
        rules: ids of those that nobody can tell whether they concern the resource. Empty: it is about ``rule`` alone.
    """

    rule: str
    resource: str
    reason: str
    location: Location
    rules: tuple[str, ...] = ()

    @property
    def all_rules(self) -> tuple[str, ...]:
        """The ids of all rules that have no verdict."""
        return self.rules or (self.rule,)


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A rule that a resource keeps.

    Attributes:
        rule: id.
        resource: logical id.
        stack: name of the stack, or of the file.
    """

    rule: str
    resource: str
    stack: str


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a check of templates came to.

    Attributes:
        findings: that nobody has answered.
        known: findings that the baseline has.
        suppressed: findings that somebody has answered.
        stated: reasons that rules asked for.
        not_judged: what rules could not tell.
        kept: what is as it should be.
        stacks: names of what was checked.
    """

    findings: tuple[Finding, ...]
    known: tuple[Finding, ...]
    suppressed: tuple[Suppressed, ...]
    stated: tuple[Stated, ...]
    not_judged: tuple[NotJudged, ...]
    kept: tuple[Kept, ...]
    stacks: tuple[str, ...]
