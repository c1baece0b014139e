"""Packings of random models: what is true of every one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from hypothesis import example, given, settings
from hypothesis import strategies as st

from constructs_lib.catalog import AcceleratedType
from constructs_lib.rightsizing.packing import APART, PackableModel, Packing, pack
from constructs_lib.rightsizing.packing_problem import Item, Problem, first_packing

MEMORY = 1_000
SHARES = st.one_of(st.none(), st.integers(1, 100).map(lambda percent: percent / 100), st.floats(1e-6, 1))


def instance_type(accelerators: int) -> AcceleratedType:
    return AcceleratedType(
        name="g9.xlarge",
        kind="nvidia",
        model="L9",
        accelerators=accelerators,
        accelerator_memory_mib=MEMORY,
        architecture="x86_64",
    )


@st.composite
def some_models(draw: st.DrawFn) -> list[PackableModel]:
    return [
        PackableModel(
            name=f"m{number}",
            memory_mib=draw(st.integers(1, MEMORY)),
            share=draw(SHARES),
            replicas=draw(st.integers(1, 3)),
            groups=draw(st.lists(st.sampled_from("xyz"), max_size=2)),
        )
        for number in range(draw(st.integers(1, 10)))
    ]


def check(models: Sequence[PackableModel], packing: Packing) -> None:
    """Every replica lies somewhere, and nothing is too full or together with what it stays away from."""
    by_name = {each.name: each for each in models}
    assert Counter(each.model for each in packing.placements) == {each.name: each.replicas for each in models}
    assert len({(each.model, each.replica) for each in packing.placements}) == len(packing.placements)
    for lying in packing.places:
        assert sum(by_name[each.model].memory_mib for each in lying) <= MEMORY
        assert math.fsum(by_name[each.model].share or 0 for each in lying) <= 1 + 1e-6
    together: dict[object, Counter[str]] = {}
    for each in packing.placements:
        place = each.instance if packing.apart == "instance" else (each.instance, each.accelerator)
        found = together.setdefault(place, Counter())
        found.update([each.model, *(f"group {group}" for group in by_name[each.model].groups or ())])
        assert 0 <= each.accelerator < packing.instance_type.accelerators
    assert all(times == 1 for found in together.values() for times in found.values())


@settings(max_examples=60, deadline=None)
@given(models=some_models(), accelerators=st.integers(1, 4), apart=st.sampled_from(APART))
def test_every_packing_keeps_every_rule_and_the_bound(
    models: list[PackableModel], accelerators: int, apart: str
) -> None:
    packing = pack(models, instance_type=instance_type(accelerators), apart=apart, effort=0.05)

    check(models, packing)
    used = packing.accelerators if apart == "accelerator" else packing.instances
    assert packing.lower_bound <= used
    assert not packing.proven or packing.lower_bound == used
    assert sorted({each.instance for each in packing.placements}) == list(range(packing.instances))


def fewest(items: Sequence[Item], problem: Problem) -> int:
    """Try every way to put one item after the other somewhere."""
    best = len(items)

    def go(number: int, free: list[tuple[int, int, frozenset[str]]]) -> None:
        nonlocal best
        if len(free) >= best:
            return
        if number == len(items):
            best = len(free)
            return
        item = items[number]
        for place, (memory, share, groups) in enumerate(free):
            if item.memory <= memory and item.share <= share and not groups & item.groups:
                taken = (memory - item.memory, share - item.share, groups | item.groups)
                go(number + 1, [*free[:place], taken, *free[place + 1 :]])
        go(number + 1, [*free, (problem.memory - item.memory, problem.share - item.share, item.groups)])

    go(0, [])
    return best


ITEMS = st.lists(
    st.builds(
        Item,
        memory=st.integers(1, 20),
        share=st.integers(0, 20),
        groups=st.sets(st.sampled_from("xy"), max_size=1).map(frozenset),
    ),
    min_size=1,
    max_size=7,
)


@settings(max_examples=150, deadline=None)
@given(items=ITEMS)
def test_the_bound_is_never_above_what_all_tries_find(items: list[Item]) -> None:
    problem = Problem(items=tuple(items), memory=20, share=20, slots=1)

    assert problem.fewest_units() <= fewest(items, problem) <= len(first_packing(problem))


# No bound of one dimension sees seven here.
@example(items=[Item(1, 10, frozenset()), *[Item(1, 11, frozenset())] * 5, Item(20, 0, frozenset())])
@settings(max_examples=40, deadline=None)
@given(items=ITEMS)
def test_few_models_get_the_fewest_accelerators_that_all_tries_find(items: list[Item]) -> None:
    models = [
        PackableModel(
            name=f"m{number}",
            memory_mib=item.memory * MEMORY // 20,
            share=item.share / 20 or None,
            groups=sorted(item.groups),
        )
        for number, item in enumerate(items)
    ]

    packing = pack(models, instance_type=instance_type(1))

    problem = Problem(items=tuple(items), memory=20, share=20, slots=1)
    assert (packing.accelerators, packing.proven) == (fewest(items, problem), True)
