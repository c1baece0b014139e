"""All that a run of the check has to tell, in whatever form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from constructs_lib.compliance.explain import DESCRIBED
from constructs_lib.compliance.findings import Finding, Report
from constructs_lib.compliance.rule import Rule


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of a run.

    Attributes:
        report: on the templates that could be read.
        rules: that were asked.
        unreadable: what is wrong with each file that should be a template and cannot be read as one.
        gone: findings of the baseline that are not there any more. None: there was no baseline.
    """

    report: Report
    rules: tuple[Rule[Any], ...]
    unreadable: tuple[str, ...] = ()
    gone: tuple[Finding, ...] | None = None

    @cached_property
    def described(self) -> Mapping[str, Rule[Any]]:
        """Every rule that a finding may be of, by id: those that were asked, and all others that there are."""
        return {**DESCRIBED, **{each.id: each for each in self.rules}}
