"""What is named in place of a type that is not sold any more, or soon will not be."""

from __future__ import annotations

import pytest

from constructs_lib.catalog import AcceleratedType, known_types
from constructs_lib.catalog.successors import cheapest_like, instead_of


@pytest.mark.parametrize(
    ("name", "like"),
    [
        # One V100 moves 900 GB/s, an L40S 864; the follow-up of the P family costs more than twice as much.
        ("p3.2xlarge", "g6e.xlarge"),
        ("p3.8xlarge", "g6e.12xlarge"),
        # Eight of them: no G type is cheaper.
        ("p3.16xlarge", "p4d.24xlarge"),
        # Sixteen GPUs, and VU9P: nothing like it is sold, or its bandwidth is not known.
        ("p2.16xlarge", None),
        ("f1.2xlarge", None),
    ],
)
def test_the_cheapest_has_as_much_of_everything(name: str, like: str | None) -> None:
    found = cheapest_like(known_types()[name])
    assert (None if found is None else found.name) == like


def test_the_cheapest_and_the_follow_up_are_named_with_their_prices() -> None:
    facts = known_types()
    told = instead_of(facts["p3.2xlarge"])
    cheapest, following, own = (
        f"{name} ({facts[name].usd_per_hour:.2f} USD/h)" for name in ("g6e.xlarge", "p5.4xlarge", "p3.2xlarge")
    )
    assert told.startswith(f"{cheapest}, the cheapest")
    # A host with fewer CPUs may be too small for what stands beside the model.
    assert "about as fast (4 vCPUs, not 8), or" in told
    assert told.endswith(f", or the follow-up {following}, in place of {own}")


def test_one_type_is_named_where_both_are_the_same_or_one_is_not_known() -> None:
    assert instead_of(known_types()["p3.16xlarge"]) == "p4d.24xlarge in place of p3.16xlarge"
    assert instead_of(known_types()["f1.2xlarge"]) == "f2.6xlarge in place of f1.2xlarge"


def test_a_type_of_somebody_may_have_no_follow_up() -> None:
    stated = AcceleratedType(
        name="g1.xlarge", kind="nvidia", model="X", accelerators=1, accelerator_memory_mib=1, architecture="x86_64"
    )
    assert instead_of(stated) == "a type of a current generation in place of g1.xlarge"
