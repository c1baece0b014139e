"""The outcome for a terminal, in lines of at most 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from constructs_lib.compliance.findings import Finding, NotJudged, Stated, Suppressed
from constructs_lib.compliance.outcome import Outcome
from constructs_lib.compliance.practices import PRACTICES
from constructs_lib.compliance.score import Score, scores
from constructs_lib.plain_text import harmless, paragraph, several

_INDENT = "    "
_NAMED = 6
"""Rules that a line about what was not judged names: more make it harder to read, and `--verbose` tells them."""


def as_text(outcome: Outcome, *, verbose: bool = False) -> str:
    """Findings by stack, then what was suppressed, stated, could not be judged or is gone, and a line that sums up.

    Args:
        outcome: to be told.
        verbose: tell each question that could not be judged, and not only how many there were for each reason.
    """
    report = outcome.report
    parts = [
        *_by_stack(report.findings),
        _suppressed(report.suppressed),
        _stated(report.stated),
        _not_judged(report.not_judged) if not verbose else _each_not_judged(report.not_judged),
        _gone(outcome.gone or ()),
        _practices(scores(report, outcome.rules)),
        paragraph(summary(outcome)),
    ]
    return harmless("\n\n".join("\n".join(part) for part in parts if part) + "\n")


def summary(outcome: Outcome) -> str:
    """The outcome in a sentence."""
    report = outcome.report
    severities = [each.severity for each in report.findings]
    parts = [several(severities.count("error"), "error"), several(severities.count("warning"), "warning")]
    if outcome.gone is not None:
        parts += [f"{len(report.known):,} known", f"{len(outcome.gone):,} gone"]
    if report.suppressed:
        parts.append(f"{len(report.suppressed):,} suppressed")
    if report.stated:
        parts.append(f"{several(len(report.stated), 'reason')} stated")
    parts += [f"{len(report.not_judged):,} not judged", f"{len(report.kept):,} kept"]
    read = f"{several(len(report.stacks), 'template')} read, {several(len(outcome.rules), 'rule')} asked"
    if outcome.unreadable:
        read += f", {several(len(outcome.unreadable), 'input')} not readable"
    return f"{read}: {', '.join(parts)}."


def _by_stack(findings: Iterable[Finding]) -> Iterator[list[str]]:
    stacks: dict[tuple[str, str | None], list[Finding]] = {}
    for finding in findings:
        stacks.setdefault((finding.location.stack, finding.location.file), []).append(finding)
    for (stack, file), found in stacks.items():
        lines = [stack if file in (None, stack) else f"{stack} ({file})"]
        for finding in sorted(found, key=lambda each: each.location.line or 0):
            lines += ["", *_finding(finding)]
        yield lines


def _finding(finding: Finding) -> list[str]:
    line = finding.location.line
    place = "" if line is None else f"line {line}: "
    practice = f"{finding.practice}: {PRACTICES[finding.practice].title}"
    return [
        f"  {place}{finding.severity} {finding.rule}",
        *paragraph(finding.message, begins=_INDENT, indent=_INDENT),
        *paragraph(finding.fix, begins=f"{_INDENT}-> ", indent=f"{_INDENT}   "),
        *paragraph(f"[{practice}]", begins=_INDENT, indent=_INDENT),
    ]


def _suppressed(suppressed: Iterable[Suppressed]) -> list[str]:
    lines = []
    for each in suppressed:
        told = f"{each.finding.location.stack}, {each.finding.rule}: {each.finding.message}. Reason: {each.reason}"
        lines += paragraph(told, begins="- ", indent="  ")
    return ["Suppressed:", *lines] if lines else []


def _stated(stated: Iterable[Stated]) -> list[str]:
    lines = []
    for each in stated:
        told = f"{each.location.stack}, {each.resource}: {each.what}: {each.reason}"
        lines += paragraph(told, begins="- ", indent="  ")
    return ["Reasons that the templates state:", *lines] if lines else []


def by_reason(not_judged: Iterable[NotJudged]) -> dict[str, list[NotJudged]]:
    """What could not be judged, by the reason; the one that more hangs on goes first."""
    found: dict[str, list[NotJudged]] = {}
    for each in not_judged:
        found.setdefault(each.reason, []).append(each)
    return dict(sorted(found.items(), key=lambda entry: -len(entry[1])))


def _not_judged(not_judged: Iterable[NotJudged]) -> list[str]:
    lines = []
    for reason, found in by_reason(not_judged).items():
        rules = list(dict.fromkeys(rule for each in found for rule in each.all_rules))
        more = f" and {len(rules) - _NAMED} more rules" if len(rules) > _NAMED else ""
        named = ", ".join(rules[:_NAMED])
        lines += paragraph(f"{len(found):,} x {reason} ({named}{more})", begins="- ", indent="  ")
    return ["Not judged, by reason (each of them with --verbose):", *lines] if lines else []


def _each_not_judged(not_judged: Iterable[NotJudged]) -> list[str]:
    lines = []
    for each in not_judged:
        location = each.location
        place = "" if location.file is None else f" ({location.file}, line {location.line})"
        told = f"{location.stack}, {each.rule}: {each.resource} {location.property}".rstrip()
        more = f" ({len(each.rules)} rules)" if each.rules else ""
        lines += paragraph(f"{told}: {each.reason}{more}{place}", begins="- ", indent="  ")
    return ["Not judged:", *lines] if lines else []


def _gone(gone: Iterable[Finding]) -> list[str]:
    lines = []
    for each in gone:
        told = f"{each.location.stack}, {each.rule}: {each.resource} {each.location.property}".rstrip()
        lines += paragraph(told, begins="- ", indent="  ")
    return ["Gone since the baseline:", *lines] if lines else []


def _practices(found: Iterable[Score]) -> list[str]:
    rows = [(each.practice.id, each.kept, each.broken, each.not_judged) for each in found]
    if not rows:
        return []
    head = f"{'practice':<20}  {'kept':>6}  {'broken':>6}  {'not judged':>10}"
    return [head, *(f"{id:<20}  {kept:>6,}  {broken:>6,}  {open_:>10,}" for id, kept, broken, open_ in rows)]
