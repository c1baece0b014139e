"""What preflight found: one finding for each thing that was asked, and what nobody asked."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from constructs_lib.validation import one_of, text

#: From the worst to the best. ``unknown`` is never taken for ``ok``: nobody could tell.
SEVERITIES = ("error", "warning", "unknown", "ok")


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The answer to one question about one resource of the template.

    Attributes:
        severity: one of :data:`SEVERITIES`. ``error``: the fleet cannot do what the template says. ``warning``: it can,
            but not everywhere, not wholly or not for ever. ``unknown``: the question could not be put or answered.
        resource: logical id of the resource, or of several, separated by a comma.
        asked: the question, in a few words.
        message: the answer, with names and numbers.
        cure: what to do about it. Empty for ``ok``.
        commands: command lines that do it, or that show more. Default: none.

    Raises:
        ArgumentError: the severity is none of :data:`SEVERITIES`, or something is left empty.
    """

    severity: str
    resource: str
    asked: str
    message: str
    cure: str = ""
    commands: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        one_of("Finding", "severity", self.severity, SEVERITIES, cure="write for example 'warning'")
        for parameter in ("resource", "asked", "message"):
            text("Finding", parameter, getattr(self, parameter), cure="say what was asked about what, and the answer")
        if self.severity != "ok":
            text("Finding", "cure", self.cure, cure="say what to do about it")

    def document(self) -> dict[str, object]:
        """The finding as plain data, ready for JSON."""
        return {
            "severity": self.severity,
            "resource": self.resource,
            "asked": self.asked,
            "message": self.message,
            "cure": self.cure,
            "commands": list(self.commands),
        }


@dataclass(frozen=True, kw_only=True)
class Report:
    """All that preflight found about one template in one Region.

    Attributes:
        region: that was asked.
        account: number of the account that was asked. None: it could not be told.
        findings: the worst first, otherwise in the order of the questions.
        not_judged: what the template holds, or what a launch needs, that no question was asked about.
    """

    region: str
    account: str | None
    findings: tuple[Finding, ...]
    not_judged: tuple[str, ...]

    def __post_init__(self) -> None:
        ordered = sorted(self.findings, key=lambda finding: SEVERITIES.index(finding.severity))
        object.__setattr__(self, "findings", tuple(ordered))

    @property
    def worst(self) -> str:
        """Severity of the worst finding; ``unknown`` if there is none, since nothing was asked then."""
        return self.findings[0].severity if self.findings else "unknown"

    def document(self) -> dict[str, object]:
        """The report as plain data, ready for JSON."""
        counts = Counter(finding.severity for finding in self.findings)
        return {
            "region": self.region,
            "account": self.account,
            "worst": self.worst,
            "counts": {severity: counts[severity] for severity in SEVERITIES},
            "findings": [finding.document() for finding in self.findings],
            "not_judged": list(self.not_judged),
        }
