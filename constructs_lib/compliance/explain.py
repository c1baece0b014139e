"""Explains rules: as a text for a terminal, and as Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from constructs_lib.compliance.checking import SUPPRESSIONS_RULE
from constructs_lib.compliance.out_of_sight import OUT_OF_SIGHT
from constructs_lib.compliance.practices import PRACTICES
from constructs_lib.compliance.rule import Rule
from constructs_lib.compliance.rules import RULES
from constructs_lib.plain_text import paragraph

DESCRIBED: Mapping[str, Rule[Any]] = MappingProxyType(
    {**RULES, SUPPRESSIONS_RULE.id: SUPPRESSIONS_RULE, OUT_OF_SIGHT.id: OUT_OF_SIGHT}
)
"""All that a report may tell of, by id: the rules, and what is always asked: about suppressions and what is unseen."""


def explained(rule: Rule[Any]) -> str:
    """A rule in lines of 80 columns."""
    lines = [f"{rule.id} ({rule.severity})", *paragraph(f"{rule.title}."), ""]
    lines += paragraph(rule.why)
    for heading, text in cures(rule):
        lines += ["", f"{heading}:", *paragraph(text, begins="  ", indent="  ")]
    lines += ["", "Serves:"]
    for id in rule.practices:
        lines += paragraph(f"{id}: {PRACTICES[id].title}", begins="- ", indent="  ")
    return "\n".join((*lines, "", f"See {rule.link}", ""))


def markdown(rule: Rule[Any]) -> str:
    """A rule in Markdown, without a heading."""
    served = ", ".join(f"[{id}]({PRACTICES[id].url}) {PRACTICES[id].title}" for id in rule.practices)
    told = [f"**{heading}:** {text}" for heading, text in cures(rule)]
    return "\n\n".join((rule.why, *told, f"Serves {served}.", f"[Documentation]({rule.link})"))


def cures(rule: Rule[Any]) -> tuple[tuple[str, str], ...]:
    """How a rule can be kept: with what, and what to do."""
    return (("With this library", rule.cure_here), ("In plain CloudFormation", rule.cure_plain))
