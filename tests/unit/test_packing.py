"""Packing many models on few accelerators."""

from __future__ import annotations

import math
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from benchmarks.packing import first_fit_decreasing
from benchmarks.random_models import SHAPES, random_models
from constructs_lib.catalog import AcceleratedType
from constructs_lib.errors import (
    ArgumentError,
    FleetError,
    MissingExtraError,
    UnknownInstanceTypeError,
    UnsupportedInstanceTypeError,
)
from constructs_lib.rightsizing.packing import DoesNotFitError, PackableModel, Packing, pack

L9 = AcceleratedType(
    name="g9.xlarge",
    kind="nvidia",
    model="L9",
    accelerators=1,
    accelerator_memory_mib=24_000,
    architecture="x86_64",
    usd_per_hour=0.8,
)
FOUR_L9 = AcceleratedType(
    name="g9.12xlarge",
    kind="nvidia",
    model="L9",
    accelerators=4,
    accelerator_memory_mib=24_000,
    architecture="x86_64",
)


def models(*memory_mib: int, share: float | None = None) -> list[PackableModel]:
    return [PackableModel(name=f"m{i}", memory_mib=each, share=share) for i, each in enumerate(memory_mib)]


def places(packing: Packing) -> list[set[str]]:
    return [{each.model for each in place} for place in packing.places]


def plain_bound(given: Sequence[PackableModel], memory_mib: int) -> int:
    """Memory, share and the largest group, each for itself: what nobody can do without."""
    memory = sum(each.memory_mib * (each.replicas or 1) for each in given)
    share = sum((each.share or 0) * (each.replicas or 1) for each in given)
    groups = Counter(group for each in given for group in each.groups or () for _ in range(each.replicas or 1))
    replicas = max(each.replicas or 1 for each in given)
    return max(math.ceil(memory / memory_mib), math.ceil(share - 1e-9), replicas, *groups.values(), 0)


# What fits


def test_what_fits_together_shares_one_accelerator() -> None:
    packing = pack(models(8_000, 8_000, 8_000), instance_type=L9)

    assert (packing.accelerators, packing.instances, packing.lower_bound, packing.proven) == (1, 1, 1, True)


def test_first_fit_needs_three_where_two_do() -> None:
    """10+6+5+3 and 9+8+7 fill two; the largest first, each where it first fits, begins with 10+9."""
    packing = pack(models(10_000, 9_000, 8_000, 7_000, 6_000, 5_000, 3_000), instance_type=L9)

    assert (packing.accelerators, packing.proven) == (2, True)


def test_share_counts_beside_memory() -> None:
    packing = pack(models(1_000, 1_000, 1_000, share=0.4), instance_type=L9)

    assert packing.accelerators == 2


@pytest.mark.parametrize("parts", [3, 6, 7, 10])
def test_equal_parts_of_one_accelerator_are_one_accelerator(parts: int) -> None:
    packing = pack(models(*[100] * parts, share=1 / parts), instance_type=L9)

    assert packing.accelerators == 1


def test_replicas_of_a_model_are_apart() -> None:
    packing = pack([PackableModel(name="a", memory_mib=100, replicas=3)], instance_type=L9)

    assert [(each.model, each.replica, each.instance) for each in packing.placements] == [
        ("a", 0, 0),
        ("a", 1, 1),
        ("a", 2, 2),
    ]
    assert packing.lower_bound == 3


def test_members_of_a_group_are_apart() -> None:
    given = [
        PackableModel(name="a", memory_mib=100, groups=["noisy"]),
        PackableModel(name="b", memory_mib=100, groups=["noisy", "paid"]),
        PackableModel(name="c", memory_mib=100, groups=["paid"]),
        PackableModel(name="d", memory_mib=100),
    ]

    packing = pack(given, instance_type=L9)

    assert packing.accelerators == 2
    assert {"a", "b"} not in places(packing)
    assert all(not {"a", "b"} <= each and not {"b", "c"} <= each for each in places(packing))


def test_a_group_may_be_called_like_a_model() -> None:
    given = [PackableModel(name="a", memory_mib=100, replicas=2), PackableModel(name="b", memory_mib=100, groups=["a"])]

    assert pack(given, instance_type=L9).accelerators == 2


def test_accelerators_of_one_instance_keep_replicas_apart() -> None:
    packing = pack([PackableModel(name="a", memory_mib=100, replicas=3)], instance_type=FOUR_L9)

    assert (packing.accelerators, packing.instances) == (3, 1)
    assert [each.accelerator for each in packing.placements] == [0, 1, 2]


def test_replicas_can_be_kept_apart_by_instance() -> None:
    given = [PackableModel(name="a", memory_mib=100, replicas=3), *models(*[13_000] * 9)]

    packing = pack(given, instance_type=FOUR_L9, apart="instance")

    assert (packing.instances, packing.lower_bound, packing.proven) == (3, 3, True)
    assert sorted(each.instance for each in packing.placements if each.model == "a") == [0, 1, 2]


def test_reserved_memory_stays_free() -> None:
    assert pack(models(12_000, 12_000), instance_type=L9).accelerators == 1
    packing = pack(models(12_000, 12_000), instance_type=L9, reserve_mib=1)
    assert (packing.accelerators, packing.usable_mib) == (2, 23_999)


def test_two_above_one_half_never_share_which_a_sum_does_not_tell() -> None:
    packing = pack(models(*[12_001] * 8), instance_type=L9)

    assert (packing.accelerators, packing.lower_bound, packing.proven) == (8, 8, True)


def test_price_is_that_of_the_instances() -> None:
    assert pack(models(20_000, 20_000), instance_type=L9).usd_per_hour == pytest.approx(1.6)
    assert pack(models(1), instance_type=FOUR_L9).usd_per_hour is None


# What the answer depends on


def test_order_of_the_models_changes_nothing() -> None:
    given = random_models("mixed", 60, seed=3)
    shuffled = random.Random(1).sample(given, len(given))

    assert pack(given, instance_type=L9, effort=0.2) == pack(shuffled, instance_type=L9, effort=0.2)


def test_the_same_models_give_the_same_packing_although_the_solver_stops_early() -> None:
    given = random_models("opposite", 200, seed=1)

    assert pack(given, instance_type=L9, effort=0.3) == pack(given, instance_type=L9, effort=0.3)


@pytest.mark.parametrize("name", ["replicas", "share", "groups"])
def test_none_is_as_if_left_out(name: str) -> None:
    stated: dict[str, Any] = {name: None}
    assert PackableModel(name="a", memory_mib=1, **stated) == PackableModel(name="a", memory_mib=1)


@pytest.mark.parametrize("name", ["apart", "reserve_mib", "effort"])
def test_none_is_as_if_left_out_of_the_call(name: str) -> None:
    stated: dict[str, Any] = {name: None}
    assert pack(models(1, 2), instance_type=L9, **stated) == pack(models(1, 2), instance_type=L9)


def test_document_is_plain_and_whole() -> None:
    given = [PackableModel(name="a", memory_mib=20_000, share=0.5), PackableModel(name="b", memory_mib=5_000)]
    assert pack(given, instance_type=L9).document() == {
        "instance_type": "g9.xlarge",
        "accelerator": "L9",
        "accelerators_per_instance": 1,
        "usable_mib": 24_000,
        "apart": "accelerator",
        "accelerators": 2,
        "instances": 2,
        "lower_bound": 2,
        "over_bound": 0.0,
        "proven": True,
        "usd_per_hour": 1.6,
        "places": [
            {
                "instance": 0,
                "accelerator": 0,
                "memory_mib": 20_000,
                "share": 0.5,
                "models": [{"model": "a", "replica": 0}],
            },
            {
                "instance": 1,
                "accelerator": 0,
                "memory_mib": 5_000,
                "share": 0,
                "models": [{"model": "b", "replica": 0}],
            },
        ],
    }


# 500 models


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("shape", SHAPES)
def test_five_hundred_models_are_within_five_percent_of_the_bound(shape: str, seed: int) -> None:
    given = random_models(shape, 500, seed=seed)
    bound = plain_bound(given, 24_000)

    # Where needs are opposite the first packing is far off, and the solver has to work.
    packing = pack(given, instance_type=L9, effort=None if shape == "opposite" else 0.1)

    assert packing.accelerators <= 1.05 * bound
    assert packing.lower_bound >= bound
    assert sum(each.replicas or 1 for each in given) == len(packing.placements)


def test_the_plain_way_would_be_farther_from_it() -> None:
    """Else nobody would need a solver."""
    given = random_models("opposite", 500, seed=1)

    assert first_fit_decreasing(given) > 1.2 * plain_bound(given, 24_000)


# What is refused


def test_a_model_that_fits_nowhere_is_named_with_rule_value_and_cure() -> None:
    with pytest.raises(DoesNotFitError) as refused:
        pack([*models(1), PackableModel(name="llama", memory_mib=40_000)], instance_type="g6.xlarge")

    message = str(refused.value)
    assert message.startswith("pack: memory_mib of 'llama' must be at most 22888, ")
    assert "got 40000; choose a type with more, for example 'g6e.xlarge'" in message


def test_a_model_that_no_type_has_the_memory_for_is_refused_without_naming_one() -> None:
    with pytest.raises(ArgumentError, match="got 9000000; take a smaller precision, or serve it across several"):
        pack(models(9_000_000), instance_type="g6.xlarge")


def test_what_the_reserve_leaves_no_room_for_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"memory_mib of 'm0' must be at most 23000.*got 23500"):
        pack(models(23_500), instance_type=L9, reserve_mib=1_000)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pack([], instance_type=L9), "pack: models must be a list of PackableModel that is not empty"),
        (lambda: pack(["a"], instance_type=L9), "pack: models must be a list of PackableModel"),  # type: ignore[list-item]
        (lambda: pack([*models(1), *models(2)], instance_type=L9), "pack: models must have different names, got 'm0'"),
        (lambda: pack(models(1), instance_type=L9, apart="rack"), "pack: apart must be one of accelerator, instance"),
        (lambda: pack(models(1), instance_type=L9, reserve_mib=24_000), "reserve_mib must be a whole number.*23999"),
        (lambda: pack(models(1), instance_type=L9, reserve_mib=-1), "reserve_mib must be a whole number"),
        (lambda: pack(models(1), instance_type=L9, effort=0), "pack: effort must be a number above 0"),
        (lambda: pack(models(1), instance_type=6), "pack: instance_type must be of type str"),  # type: ignore[arg-type]
        (lambda: PackableModel(name=" ", memory_mib=1), "PackableModel: name must be a text"),
        (
            lambda: PackableModel(name="a", memory_mib=0),
            "PackableModel a: memory_mib must be a whole number at least 1",
        ),
        (lambda: PackableModel(name="a", memory_mib=True), "memory_mib must be a whole number"),
        (lambda: PackableModel(name="a", memory_mib=1, share=0), "share must be a number.*above 0"),
        (lambda: PackableModel(name="a", memory_mib=1, share=1.5), "got 1.5; .*split what takes more .* into replicas"),
        (lambda: PackableModel(name="a", memory_mib=1, replicas=0), "replicas must be a whole number at least 1"),
        (lambda: PackableModel(name="a", memory_mib=1, groups="ab"), "groups must be a list of str"),
        (lambda: PackableModel(name="a", memory_mib=1, groups=[""]), "groups must be a text that is not empty"),
    ],
)
def test_unusable_values_are_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        call()


def test_types_without_an_accelerator_to_share_are_refused() -> None:
    with pytest.raises(UnsupportedInstanceTypeError, match=r"programs can share, got 'f2\.6xlarge'"):
        pack(models(1), instance_type="f2.6xlarge")
    with pytest.raises(UnsupportedInstanceTypeError, match="accelerator"):
        pack(models(1), instance_type="m7i.large")
    with pytest.raises(UnknownInstanceTypeError, match="did you mean"):
        pack(models(1), instance_type="g6.xlarg")


def test_without_the_solver_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ortools", None)
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)

    with pytest.raises(MissingExtraError, match=r"pip install ortools, or pip install '\.\[packing\]' in a checkout"):
        pack(models(1), instance_type=L9)
    assert issubclass(MissingExtraError, FleetError)
