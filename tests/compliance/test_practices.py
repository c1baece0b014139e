"""Practices have the ids, pillars and pages of AWS's framework."""

from __future__ import annotations

import re

import pytest

from constructs_lib.compliance.practices import PRACTICES, Practice

PILLARS = {
    "SUS": "sustainability",
    "COST": "cost-optimization",
    "PERF": "performance-efficiency",
    "OPS": "operational-excellence",
    "REL": "reliability",
    "SEC": "security",
}


@pytest.mark.parametrize("practice", PRACTICES.values(), ids=lambda practice: practice.id)
def test_the_page_is_one_of_its_pillar(practice: Practice) -> None:
    match = re.fullmatch(r"([A-Z]+)\d{2}-BP\d{2}(?:/[a-z]+)?", practice.id)
    assert match is not None
    prefix = match[1]
    page = re.fullmatch(
        rf"https://docs\.aws\.amazon\.com/wellarchitected/latest/{PILLARS[prefix]}-pillar/([a-z0-9_]+)\.html",
        practice.url,
    )
    assert page is not None
    assert page[1].startswith(f"{prefix.lower()}_")


def test_accelerators_have_the_page_that_is_theirs() -> None:
    """SUS05-BP04, "Optimize your use of hardware-based compute accelerators"."""
    urls = {each.url for each in PRACTICES.values() if each.id.startswith("SUS05-BP04")}
    assert urls == {"https://docs.aws.amazon.com/wellarchitected/latest/sustainability-pillar/sus_sus_hardware_a5.html"}


def test_a_page_is_named_once() -> None:
    urls = [each.url for each in PRACTICES.values() if "/" not in each.id]
    assert len(urls) == len(set(urls))
