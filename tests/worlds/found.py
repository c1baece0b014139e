"""Worlds that once broke a law, at their smallest. Every run of the properties tries them first."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hypothesis import example

from tests.worlds.faults import Fault, Kind
from tests.worlds.world import Doing, Policy, Truth, World

Test = TypeVar("Test", bound=Callable[..., None])

_FIELDS = 14
"""At least as many as a group's description has that may be missing."""


def second_look_lacks_a_field(choice: int) -> World:
    """An answer without the group's instances, read as a group that nobody is in: the desired capacity that AWS never
    filled would fall to nothing, and Auto Scaling would take whoever is not protected, at work or not."""
    return World(
        members=(Truth(course=((Doing.BUSY, 1),), protected=False),),
        desired_above=1,
        suspended=("Launch",),
        policy=Policy(queue=(0, 1), protection_holds=True),
        faults=(Fault(0, "DescribeAutoScalingGroups", Kind.FIELD_MISSING, skip=1, choice=choice),),
    )


FOUND = tuple(second_look_lacks_a_field(choice) for choice in range(_FIELDS))


def found_before(test: Test) -> Test:
    """Try the worlds that were found before any other."""
    for world in FOUND:
        test = example(world=world)(test)
    return test
