"""How well templates follow each practice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from constructs_lib.compliance.findings import Report
from constructs_lib.compliance.practices import PRACTICES, Practice
from constructs_lib.compliance.rule import Rule


@dataclass(frozen=True, kw_only=True)
class Score:
    """A practice, and how often templates follow it; a rule that a resource breaks twice counts once.

    Attributes:
        practice: that rules serve first.
        kept: rules that resources keep.
        broken: rules that resources break, those of the baseline too.
        suppressed: rules that resources break, and somebody has said why.
        not_judged: rules that nobody could judge on a resource.
    """

    practice: Practice
    kept: int
    broken: int
    suppressed: int
    not_judged: int

    @property
    def share(self) -> float | None:
        """Kept, of those kept or broken. None: nothing could be judged."""
        judged = self.kept + self.broken
        return self.kept / judged if judged else None


def scores(report: Report, rules: Iterable[Rule[Any]]) -> tuple[Score, ...]:
    """The practices that the rules had to do with in these templates, in the order of the list of practices."""
    practice_of = {rule.id: rule.practices[0] for rule in rules}
    open_findings = (*report.findings, *report.known)
    answered = [each.finding for each in report.suppressed]
    practice_of |= {each.rule: each.practice for each in (*open_findings, *answered)}

    broken = {(each.rule, each.location.stack, each.resource) for each in open_findings}
    suppressed = {(each.rule, each.location.stack, each.resource) for each in answered} - broken
    open_ = {(rule, each.location.stack, each.resource) for each in report.not_judged for rule in each.all_rules}
    not_judged = open_ - broken - suppressed
    kept = {(each.rule, each.stack, each.resource) for each in report.kept} - broken - suppressed - not_judged

    def counted(verdicts: Iterable[tuple[str, str, str]]) -> Counter[str | None]:
        return Counter(practice_of.get(rule) for rule, *_ in verdicts)

    of_kept, of_broken, of_suppressed, of_open = map(counted, (kept, broken, suppressed, not_judged))
    found = [
        Score(
            practice=each,
            kept=of_kept[each.id],
            broken=of_broken[each.id],
            suppressed=of_suppressed[each.id],
            not_judged=of_open[each.id],
        )
        for each in PRACTICES.values()
    ]
    return tuple(each for each in found if each.kept or each.broken or each.suppressed or each.not_judged)
