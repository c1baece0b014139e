"""The network cards of an instance type, and how a table writes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from constructs_lib.validation import instance_of, integer


@dataclass(frozen=True, kw_only=True)
class NetworkCard:
    """One network card of an instance type. Its index is its place in ``AcceleratedType.network_cards``.

    Attributes:
        interfaces: most network interfaces on the card.
        efa: whether the card takes an Elastic Fabric Adapter; it takes one at most.

    Raises:
        ArgumentError: a fact is of the wrong type or out of range.
    """

    interfaces: int
    efa: bool

    def __post_init__(self) -> None:
        where = "NetworkCard"
        integer(where, "interfaces", self.interfaces, minimum=1, cure="give the most interfaces that the card takes")
        instance_of(where, "efa", self.efa, bool, cure="write True or False")


def read_cards(text: str) -> tuple[NetworkCard, ...] | None:
    """The cards that a table writes as ``4 16*4e``: one with 4 interfaces, then 16 with 4 and EFA. Empty: not known."""
    cards: list[NetworkCard] = []
    for run in text.split():
        times, _, card = run.rpartition("*")
        cards += [NetworkCard(interfaces=int(card.removesuffix("e")), efa=card.endswith("e"))] * int(times or 1)
    return tuple(cards) or None


def write_cards(cards: Sequence[NetworkCard]) -> str:
    """What :func:`read_cards` reads."""
    runs = [(card, len(list(alike))) for card, alike in groupby(cards)]
    return " ".join(
        f"{f'{times}*' if times > 1 else ''}{card.interfaces}{'e' if card.efa else ''}" for card, times in runs
    )
