"""Types that AWS has withdrawn or means to: refused or warned about, with what to use instead."""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk.assertions import Annotations, Match

from constructs_lib import AcceleratedType, FleetImage, UnsupportedInstanceTypeError
from constructs_lib.catalog import known_types
from tests.support.stacks import fleet, stack

ID = "@cdk-accelerated-fleet/fleet:PreviousGeneration"
IMAGE = FleetImage.from_ssm_parameter("/golden/ami")
STATED: dict[str, Any] = {
    "name": "g1.xlarge",
    "kind": "nvidia",
    "model": "G1",
    "accelerators": 1,
    "accelerator_memory_mib": 8192,
    "architecture": "x86_64",
}


def warnings(made: Stack) -> list[str]:
    """The warnings on previous generations."""
    found = Annotations.from_stack(made).find_warning("/Test/Fleet", Match.string_like_regexp(ID))
    return [str(each.entry.data) for each in found]


@pytest.mark.parametrize(
    ("name", "cure"),
    [
        ("f1.2xlarge", "it was withdrawn on 2025-12-20: choose f2.6xlarge in place of f1.2xlarge"),
        ("g3s.xlarge", "it was withdrawn on 2025-10-31: choose g4dn.xlarge (0.53 USD/h), the cheapest with as many "),
        ("p2.xlarge", "got 'p2.xlarge'; choose g4dn.xlarge (0.53 USD/h), the cheapest with as many accelerators, "),
        ("p2.xlarge", "or the follow-up g6.xlarge (0.80 USD/h), in place of p2.xlarge (0.90 USD/h)"),
    ],
)
def test_a_retired_type_is_refused_and_its_successor_named(name: str, cure: str) -> None:
    for given in (name, [name], ec2.InstanceType(name), known_types()[name]):
        with pytest.raises(UnsupportedInstanceTypeError, match="must still be offered by AWS") as caught:
            fleet(stack(), instance_types=given, image=IMAGE)
        assert cure in str(caught.value)


def test_a_retired_type_that_somebody_states_is_refused_too() -> None:
    with pytest.raises(
        UnsupportedInstanceTypeError, match=r"choose a type of a current generation in place of g1\.xlarge"
    ):
        fleet(stack(), instance_types=AcceleratedType(**STATED, status="retired"), image=IMAGE)


def test_a_previous_generation_is_warned_about_and_its_successor_named() -> None:
    test_stack = stack()
    fleet(test_stack, instance_types=["p3dn.24xlarge", "p3.2xlarge"], image=IMAGE)
    assert warnings(test_stack) == [
        "AWS lists p3dn.24xlarge, p3.2xlarge as previous generation, and may withdraw it as it did others before: use "
        "p4d.24xlarge in place of p3dn.24xlarge; g6e.xlarge (1.86 USD/h), the cheapest with as many accelerators, "
        "each with as much memory and about as fast (4 vCPUs, not 8), or the follow-up p5.4xlarge (6.88 USD/h), in "
        "place of p3.2xlarge (3.06 USD/h) "
        f"[ack: {ID}]"
    ]


def test_a_previous_generation_without_a_known_successor() -> None:
    test_stack = stack()
    fleet(test_stack, instance_types=AcceleratedType(**STATED, status="previous"), image=IMAGE)
    (warning,) = warnings(test_stack)
    assert "use a type of a current generation in place of g1.xlarge" in warning


def test_a_current_type_is_not_worth_a_word() -> None:
    test_stack = stack()
    fleet(test_stack, instance_types=["g6.xlarge", "g5.xlarge"])
    assert warnings(test_stack) == []
