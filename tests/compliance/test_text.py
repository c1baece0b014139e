"""The text for a terminal: what, where, why, what to do, in 80 columns, and nothing that steers the terminal."""

from __future__ import annotations

from constructs_lib.compliance.explain import DESCRIBED, explained
from constructs_lib.compliance.formats.text import as_text
from tests.compliance.outcomes import RULE, nothing, outcome


def test_a_finding_is_told_with_its_place_and_cure() -> None:
    text = as_text(outcome())
    told = " ".join(text.split())
    assert "Fleet (cdk.out/Fleet template.json)" in text
    assert f"line 15: warning {RULE}" in text
    assert "Breaks: MetadataOptions.HttpTokens must be 'required', got nothing" in told
    assert "-> set MetadataOptions" in told
    assert "[SEC06-BP02: Provision compute from hardened images]" in told


def test_the_rest_is_told_after_the_findings() -> None:
    text = as_text(outcome())
    parts = [text.index(each) for each in ("line 15", "Suppressed:", "Not judged, by", "Gone since", "1 template read")]
    assert parts == sorted(parts)
    assert "- 1 x parameter Tokens has no default (tokens-for-metadata)" in text
    assert "Reason: <script>" in " ".join(text.split())
    assert "1 input not readable: 1 error, 2 warnings, 1 known, 1 gone, 1 suppressed, 1 not judged, 2 kept." in (
        " ".join(text.split())
    )


def test_verbose_tells_each_that_was_not_judged() -> None:
    told = " ".join(as_text(outcome(), verbose=True).split())
    assert f"- Fleet, {RULE}: Open MetadataOptions.HttpTokens: parameter Tokens has no default" in told


def test_nothing_steers_the_terminal() -> None:
    for text in (as_text(outcome()), as_text(outcome(), verbose=True)):
        assert all(each.isprintable() or each == "\n" for each in text)


def test_what_no_rule_has_to_do_with_is_one_sentence() -> None:
    assert len(as_text(nothing()).splitlines()) <= 2
    assert "0 errors, 0 warnings, 0 not judged, 0 kept." in " ".join(as_text(nothing()).split())


def test_explanations_are_complete_and_fit() -> None:
    for rule in DESCRIBED.values():
        text = explained(rule)
        words = " ".join(text.split())
        assert text.startswith(f"{rule.id} ({rule.severity})\n{rule.title[:20]}")
        for part in (rule.why, rule.cure_here, rule.cure_plain, rule.link):
            assert " ".join(part.split()) in words
        assert all(len(line) <= 80 or " " not in line.strip() for line in text.splitlines() if "https://" not in line)
