"""Where EC2's records do not say what is on the machine, and what is true instead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from constructs_lib.catalog import tables

NO_RECORD = "no record"


@dataclass(frozen=True, kw_only=True)
class Correction:
    """One cell that is not taken from EC2's answer.

    Attributes:
        types: a family or an instance type.
        column: of the table.
        answer: what EC2 says; ``no record`` for a type that it does not describe.
        value: what is true.
        reason: how that is known.
    """

    types: str
    column: str
    answer: str
    value: str
    reason: str

    def concerns(self, name: str) -> bool:
        """Whether the correction is about a type."""
        return self.types in (name, name.partition(".")[0])


def shipped() -> tuple[Correction, ...]:
    """The corrections that come with the library."""
    return tuple(Correction(**row) for row in tables.read("corrections.csv"))


def corrected(
    row: Mapping[str, str], corrections: Sequence[Correction], *, recorded: bool = True
) -> tuple[dict[str, str], list[str]]:
    """A row as it should be, and a remark on each correction that EC2's answer has overtaken.

    A correction is made in any case: that the answer has changed does not make it right.
    """
    result, remarks = dict(row), []
    for each in corrections:
        if not each.concerns(row["type"]) or (each.answer == NO_RECORD and recorded):
            continue
        said = row.get(each.column, "")
        if recorded and said not in (each.answer, each.value):
            remarks.append(
                f"{row['type']}: EC2 now says {said!r} for {each.column}, no longer {each.answer!r}; the tables keep "
                f"{each.value!r} ({each.reason})"
            )
        result[each.column] = each.value
    return result, remarks


def undescribed(corrections: Iterable[Correction], described: Iterable[str]) -> list[str]:
    """Types of which only the corrections know."""
    names = {each.types for each in corrections if each.answer == NO_RECORD}
    return sorted(names - set(described))
