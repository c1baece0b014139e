"""Each practice: how many rules resources keep, of those that they keep or break."""

from __future__ import annotations

import pytest

from constructs_lib.compliance.findings import Finding, Kept, Location, NotJudged, Report, Suppressed
from constructs_lib.compliance.score import Score, scores
from tests.compliance.outcomes import ASKED, GONE

RULE, PRACTICE = ASKED.id, ASKED.practices[0]


def finding(resource: str, property: str = "") -> Finding:
    return Finding(
        rule=RULE,
        severity="warning",
        resource=resource,
        type="AWS::EC2::Instance",
        message=GONE.message,
        fix="mend it",
        practice=PRACTICE,
        location=Location(stack="S", file=None, line=None, property=property),
    )


def kept(resource: str) -> Kept:
    return Kept(rule=RULE, resource=resource, stack="S")


def not_judged(resource: str) -> NotJudged:
    return NotJudged(rule=RULE, resource=resource, reason="who knows", location=finding(resource).location)


def report(**verdicts: tuple[object, ...]) -> Report:
    none: tuple[object, ...] = ()
    given = dict.fromkeys(("findings", "known", "suppressed", "stated", "not_judged", "kept"), none) | verdicts
    return Report(stacks=("S",), **given)  # type: ignore[arg-type]


def score(**verdicts: tuple[object, ...]) -> Score:
    (found,) = scores(report(**verdicts), [ASKED])
    return found


def test_kept_of_kept_and_broken() -> None:
    found = score(findings=(finding("A"),), kept=(kept("B"), kept("C"), kept("D")))
    assert found.share == pytest.approx(3 / 4)
    assert found.practice.id == PRACTICE


def test_what_is_known_is_broken_all_the_same() -> None:
    assert score(known=(finding("A"),), kept=(kept("B"),)).share == pytest.approx(1 / 2)


def test_a_resource_counts_once_and_at_its_worst() -> None:
    """A group may launch in two ways of which one breaks the rule."""
    found = score(
        findings=(finding("A", "X"), finding("A", "Y")), not_judged=(not_judged("A"),), kept=(kept("A"), kept("B"))
    )
    assert (found.kept, found.broken, found.not_judged) == (1, 1, 0)


def test_what_is_suppressed_or_open_is_neither() -> None:
    found = score(
        suppressed=(Suppressed(finding=finding("A"), reason="so"),), not_judged=(not_judged("B"),), kept=(kept("C"),)
    )
    assert (found.share, found.suppressed, found.not_judged) == (1.0, 1, 1)


def test_without_a_verdict_there_is_no_share() -> None:
    assert score(not_judged=(not_judged("A"),)).share is None


def test_practices_that_nothing_was_asked_of_are_left_out() -> None:
    assert scores(report(), [ASKED]) == ()
