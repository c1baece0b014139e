"""The page holds all that was found, needs nothing else, and runs nothing that somebody wrote into a template."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from constructs_lib.compliance.formats.page import as_html
from tests.compliance.outcomes import ASKED, HOSTILE, nothing, outcome
from tests.support.colours import SCHEMES, contrast, schemes


@pytest.fixture(scope="module")
def page() -> str:
    return as_html(outcome())


def parsed(page: str) -> ElementTree.Element:
    return ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>"))


def words(element: ElementTree.Element) -> str:
    return " ".join("".join(element.itertext()).split())


def sections(page: str) -> dict[str, ElementTree.Element]:
    found = {}
    for each in parsed(page).iter("section"):
        heading = each.find("h2")
        assert heading is not None
        found[words(heading)] = each
    return found


def test_it_needs_no_other_file_and_no_network(page: str) -> None:
    root = parsed(page)
    assert not [each for each in root.iter() if each.tag in ("script", "link", "img", "iframe", "form", "object")]
    assert "url(" not in page
    assert "@import" not in page
    policy = [each.get("content") for each in root.iter("meta") if each.get("http-equiv")]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'"]


def test_nothing_of_a_template_is_markup(page: str) -> None:
    assert "<script" not in page
    visible = HOSTILE.replace("\x1b", "").replace("\u202e", "")
    assert visible in "".join(parsed(page).itertext())
    assert not [each for each in parsed(page).iter() for name in each.attrib if name.startswith("on")]


def test_links_go_to_the_documentation_alone(page: str) -> None:
    links = [each.get("href") or "" for each in parsed(page).iter("a")]
    assert links
    assert all(each.startswith("https://docs.aws.amazon.com/") for each in links)


def test_findings_stand_under_their_practice_with_place_why_and_cures(page: str) -> None:
    findings = sections(page)["Findings"]
    assert [words(each).split(" ")[0] for each in findings.iter("h3")] == ["SUS05-BP04/measure", "SEC06-BP02"]
    article = next(each for each in findings.iter("article") if ASKED.title in words(each))
    told = words(article)
    for part in (
        "warning Metadata is handed out for a token",
        "Breaks: MetadataOptions.HttpTokens must be 'required', got nothing",
        "→ set MetadataOptions",
        "Fleet, cdk.out/Fleet template.json, line 15: Breaks",
        "Otherwise one request gets <credentials>.",
        "With this library: Nothing is to be set.",
        "In plain CloudFormation: Set HttpTokens.",
    ):
        assert part in told
    assert [words(each) for each in article.iter("summary")] == ["Why, and how to mend it"]
    # What is in the baseline is told apart.
    assert "Known:" not in told


def test_each_practice_has_its_score(page: str) -> None:
    rows = [[words(cell) for cell in row] for row in sections(page)["Practices"].iter("tr")]
    assert rows[0] == ["Practice", "Followed", "Kept", "Broken", "Suppressed", "Not judged"]
    row = next(each for each in rows if each[0].startswith("SEC06-BP02"))
    assert row[1].endswith("40 %")
    assert row[2:] == ["2", "3", "1", "1"]


def test_what_was_answered_open_known_and_gone_is_there(page: str) -> None:
    found = {heading: words(section) for heading, section in sections(page).items()}
    assert HOSTILE.replace("\x1b", "").replace("\u202e", "") in found["Suppressed"]
    assert "parameter Tokens has no default (1 question)" in found["Not judged"]
    assert "Known: MetadataOptions" in found["Known since the baseline"]
    assert "Former: MetadataOptions" in found["Gone since the baseline"]
    assert "Not readable: bad.json" in words(parsed(page))


def test_a_page_without_findings_says_so() -> None:
    text = words(parsed(as_html(nothing())))
    assert "they have no accelerators" in text
    assert "Findings" not in sections(as_html(nothing()))


def test_only_all_is_everything() -> None:
    assert "100 %" not in as_html(outcome())


@pytest.mark.parametrize("scheme", SCHEMES)
def test_texts_stand_out(page: str, scheme: str) -> None:
    """WCAG 2.1, AA."""
    colours = schemes(page)[scheme]
    for name in ("ink", "faint", "bad", "warned", "mark"):
        for ground in ("ground", "raised"):
            assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground)


def test_it_is_made_for_a_phone_and_for_people_who_listen(page: str) -> None:
    assert 'name="viewport"' in page
    assert re.search(r'<html lang="en">', page)
    for table in parsed(page).iter("table"):
        rows = list(table.iter("tr"))
        assert {each.get("scope") for each in rows[0]} == {"col"}
        assert all(row[0].get("scope") == "row" for row in rows[1:])


def test_the_same_outcome_makes_the_same_page(page: str) -> None:
    assert as_html(outcome()) == page
