"""The tag by which everything of one fleet is told from its neighbours' things."""

from __future__ import annotations

from aws_cdk import Names, Stack
from constructs import Construct


def fleet_tag_value(fleet: Construct) -> str:
    """Value of the tag ``accelerated-fleet:id`` on all that belongs to the fleet."""
    return f"{Stack.of(fleet).stack_name}/{Names.unique_resource_name(fleet, max_length=80)}"
