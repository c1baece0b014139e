"""Each rule: templates that break it, that keep it, and of which it cannot know."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module

import pytest

import tests.compliance.rules as themes
from constructs_lib.compliance.out_of_sight import OUT_OF_SIGHT
from constructs_lib.compliance.practices import PRACTICES
from constructs_lib.compliance.rules import RULES
from tests.compliance.cases import Breaks, Case, Template, checked

CASES = [
    case
    for theme in sorted(each.name for each in pkgutil.iter_modules(themes.__path__))
    for case in import_module(f"{themes.__name__}.{theme}").CASES
]


def _each(outcome: str) -> Iterator[object]:
    for case in CASES:
        for number, template in enumerate(getattr(case, outcome)):
            yield pytest.param(case, template, id=f"{case.rule}-{number}")


@pytest.mark.parametrize(("case", "breaks"), [*_each("breaks")])
def test_what_breaks_the_rule_is_found(case: Case, breaks: Breaks) -> None:
    report = checked(breaks.template, case.rule, region=breaks.region)
    found = [
        each
        for each in report.findings
        if (each.resource, each.location.property) == (breaks.resource, breaks.property)
    ]
    assert [each.rule for each in found] == [case.rule], report
    message = found[0].message
    # People do not read the brackets of an attribute beside the properties.
    named = breaks.property.replace("<", "").replace(">", "")
    assert message.startswith(f"{breaks.resource}: {named} must " if named else breaks.resource)
    assert breaks.got in message.partition(", got ")[2]
    assert found[0].fix


@pytest.mark.parametrize(("case", "template"), [*_each("keeps")])
def test_what_keeps_the_rule_is_not_found(case: Case, template: Template) -> None:
    report = checked(template, case.rule, region=case.region)
    assert report.findings == ()
    assert report.not_judged == ()


@pytest.mark.parametrize(("case", "template"), [*_each("unknown")])
def test_what_nobody_can_tell_is_not_judged(case: Case, template: Template) -> None:
    report = checked(template, case.rule, region=case.region)
    assert report.findings == ()
    # Whichever rules are asked, templates that are not at hand are told of.
    assert {each.rule for each in report.not_judged} - {OUT_OF_SIGHT.id} == {case.rule}


def test_every_rule_has_each_kind_of_case() -> None:
    for rule in RULES:
        own = [case for case in CASES if case.rule == rule]
        for outcome in ("breaks", "keeps", "unknown"):
            assert any(getattr(case, outcome) for case in own), f"{rule}: no case {outcome}"


@pytest.mark.parametrize("rule", [*RULES.values()], ids=lambda rule: str(rule.id))
def test_a_rule_says_all_that_it_has_to(rule: object) -> None:
    assert isinstance(rule, type(next(iter(RULES.values()))))
    assert rule.id == rule.id.lower()
    assert " " not in rule.id
    assert rule.practices
    assert set(rule.practices) <= set(PRACTICES)
    assert rule.link.startswith("https://docs.aws.amazon.com/")
    for text in (rule.why, rule.cure_here, rule.cure_plain):
        assert text.endswith(".")
    assert not rule.title.endswith(".")
