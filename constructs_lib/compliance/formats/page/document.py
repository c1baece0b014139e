"""The page: how well each practice is followed, what to mend and how, what was answered, what nobody could judge."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from constructs_lib.compliance.explain import cures
from constructs_lib.compliance.findings import Finding, Location
from constructs_lib.compliance.formats.text import by_reason, summary
from constructs_lib.compliance.outcome import Outcome
from constructs_lib.compliance.practices import PRACTICES, Practice
from constructs_lib.compliance.rule import Rule
from constructs_lib.compliance.score import Score, scores
from constructs_lib.markup import Markup, element, joined
from constructs_lib.page import page, table, wide
from constructs_lib.plain_text import several

_TITLE = "How accelerators are used"


def as_html(outcome: Outcome) -> str:
    """The page as a text in UTF-8."""
    found = scores(outcome.report, outcome.rules)
    return page(
        _TITLE,
        _header(outcome),
        _key_figures(outcome),
        _scores(found),
        _findings(outcome),
        _suppressed(outcome),
        _stated(outcome),
        _not_judged(outcome),
        _folded("Known since the baseline", outcome.report.known),
        _folded("Gone since the baseline", outcome.gone or ()),
        _stacks(outcome),
        style=_style(),
    )


def _header(outcome: Outcome) -> Markup:
    return element(
        "header",
        element("h1", _TITLE),
        element("p", summary(outcome)),
        *(element("p", f"Not readable: {each}", class_="attention") for each in outcome.unreadable),
    )


def _key_figures(outcome: Outcome) -> Markup:
    report = outcome.report
    severities = [each.severity for each in report.findings]
    errors, warnings = severities.count("error"), severities.count("warning")
    cards = (
        ("Errors", errors, "lose work or money, or fail", errors > 0),
        ("Warnings", warnings, "work, and could be better", warnings > 0),
        ("Kept", len(report.kept), "rules on resources", False),
        ("Suppressed", len(report.suppressed), "with a reason", False),
        ("Not judged", len(report.not_judged), "the templates do not tell", False),
    )
    return element(
        "dl",
        *(
            element(
                "div",
                element("dt", name),
                element("dd", f"{count:,}", element("small", said)),
                class_="bad" if bad else None,
            )
            for name, count, said, bad in cards
        ),
        class_="figures",
    )


def _scores(found: Iterable[Score]) -> Markup | str:
    rows = [
        (
            _practice(each.practice),
            _share(each),
            f"{each.kept:,}",
            f"{each.broken:,}",
            f"{each.suppressed:,}",
            f"{each.not_judged:,}",
        )
        for each in found
    ]
    if not rows:
        return element("p", "No rule has anything to do with these templates: they have no accelerators.")
    heads = ("Practice", "Followed", "Kept", "Broken", "Suppressed", "Not judged")
    return element(
        "section",
        element("h2", "Practices"),
        wide(table(heads, rows), "Practices"),
        element("p", _MEANING, class_="faint"),
    )


_MEANING = "Followed: rules kept, of those kept or broken. Each rule counts once for each resource."


def _share(score: Score) -> Markup | str:
    if score.share is None:
        return "not judged"
    # Only all of it is 100 %.
    percent = int(100 * score.share)
    return joined((f"{percent} % ", element("meter", f"{percent} %", value=f"{score.share:.4f}", min=0, max=1)))


def _practice(practice: Practice) -> Markup:
    return joined((_link(practice.id, practice.url), f" {practice.title}"))


def _link(text: str, url: str) -> Markup:
    return element("a", text, href=url, rel="noreferrer")


def _findings(outcome: Outcome) -> Markup | str:
    by_practice: dict[str, dict[str, list[Finding]]] = {id: {} for id in PRACTICES}
    for finding in outcome.report.findings:
        by_practice[finding.practice].setdefault(finding.rule, []).append(finding)
    parts: list[Markup] = []
    for id, by_rule in by_practice.items():
        if by_rule:
            parts.append(element("h3", _practice(PRACTICES[id])))
            parts += [_rule(outcome.described[rule], found) for rule, found in by_rule.items()]
    return element("section", element("h2", "Findings"), *parts) if parts else ""


def _rule(rule: Rule[Any], findings: Iterable[Finding]) -> Markup:
    return element(
        "article",
        element("h4", element("span", rule.severity, class_=f"severity {rule.severity}"), f" {rule.title}"),
        element("ul", *(_finding(each) for each in findings), class_="places"),
        element(
            "details",
            element("summary", "Why, and how to mend it"),
            element("p", rule.why),
            *(element("p", element("strong", f"{heading}: "), text) for heading, text in cures(rule)),
            element("p", element("code", rule.id), " ", _link("Documentation", rule.link)),
        ),
    )


def _finding(finding: Finding) -> Markup:
    return element(
        "li",
        element("p", finding.message),
        element("p", f"→ {finding.fix}", class_="fix"),
        element("p", _place(finding.location, finding.resource), class_="faint"),
    )


def _place(location: Location, resource: str) -> str:
    file = "" if location.file is None or location.file == location.stack else f", {location.file}"
    line = "" if location.line is None else f", line {location.line}"
    return f"{location.stack}{file}{line}: {resource}"


def _suppressed(outcome: Outcome) -> Markup | str:
    rows = [
        (each.reason, each.finding.rule, each.finding.message, _place(each.finding.location, each.finding.resource))
        for each in outcome.report.suppressed
    ]
    if not rows:
        return ""
    heads = ("Reason", "Rule", "Finding", "Place")
    return element("section", element("h2", "Suppressed"), wide(table(heads, rows, plain=True), "Suppressed findings"))


def _stated(outcome: Outcome) -> Markup | str:
    rows = [(each.reason, each.what, _place(each.location, each.resource)) for each in outcome.report.stated]
    if not rows:
        return ""
    heads = ("Reason", "About", "Place")
    return element("section", element("h2", "Stated reasons"), wide(table(heads, rows, plain=True), "Stated reasons"))


def _not_judged(outcome: Outcome) -> Markup | str:
    parts = [
        element(
            "details",
            element("summary", f"{reason} ({several(len(found), 'question')})"),
            element(
                "ul",
                *(
                    element(
                        "li", f"{each.rule}: {_place(each.location, each.resource)} {each.location.property}".rstrip()
                    )
                    for each in found
                ),
                class_="notes faint",
            ),
        )
        for reason, found in by_reason(outcome.report.not_judged).items()
    ]
    if not parts:
        return ""
    said = "The templates do not tell whether these rules are kept. That is no finding, and no praise."
    return element("section", element("h2", "Not judged"), element("p", said, class_="faint"), *parts)


def _folded(heading: str, findings: Iterable[Finding]) -> Markup | str:
    lines = [
        element("li", f"{each.rule}: {each.message} ({_place(each.location, each.resource)})") for each in findings
    ]
    if not lines:
        return ""
    return element(
        "section",
        element("h2", heading),
        element(
            "details",
            element("summary", several(len(lines), "finding")),
            element("ul", *lines, class_="notes faint"),
        ),
    )


def _stacks(outcome: Outcome) -> Markup:
    names = [element("li", each) for each in outcome.report.stacks]
    return element(
        "section",
        element("h2", "What was read"),
        element(
            "details",
            element("summary", several(len(names), "template")),
            element("ul", *names, class_="notes faint"),
        ),
    )


@cache
def _style() -> str:
    return Path(__file__).with_name("style.css").read_text(encoding="utf-8")
