"""Whatever is passed, in whatever place: taken, or refused in our own words (field case 72).

A value that the CDK's JavaScript process cannot read, such as a NaN, ends that process, and with it every later call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from inspect import signature
from typing import Any

import pytest
from aws_cdk import Duration, Token
from aws_cdk import aws_ec2 as ec2

from constructs_lib import (
    AcceleratedFleet,
    Drain,
    FleetEndpoints,
    FleetError,
    FleetImage,
    FleetNetwork,
    FleetStorage,
    FlexibleTypes,
    MachineSetup,
    Placement,
    Purchase,
    WarmPool,
)
from tests.support.stacks import ROOT, stack, vpc

MESSAGE = re.compile(r"^[^:]+(: |\b).* must .+, got .+; .+", re.DOTALL)
FAR, WEST = timezone(timedelta(hours=14)), timezone(-timedelta(hours=12))
HOSTILE: list[Any] = [
    *(0, -1, 1.5, 10**400, True, float("nan"), float("inf"), -float("inf"), b"x", b"", "", " ", "x", "a" * 3000),
    *("\ud800", "\0", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:00-14:00", "2027-02-30T00:00Z", "Z", "z"),
    *([], (), {}, set(), [None], ["a"], [b"x"], [float("nan")], (1, 2, 3), (2, 1), {"a": 1}, [[]], range(3)),
    *(object(), int, len, ..., datetime(1, 1, 1, tzinfo=FAR), datetime(9999, 12, 31, tzinfo=WEST)),
    *(Duration.minutes(5), ec2.InstanceType("g6.xlarge"), FleetNetwork.standard(), Placement.none(), Purchase.spot()),
    *(Token.as_number({"Ref": "N"}), Token.as_string({"Ref": "S"}), Token.as_list({"Ref": "L"})),
]
BLOCK = {"reservation_id": "cr-0123456789abcdef0", "start": "2027-03-01T11:30Z", "end": "2027-03-08T11:30Z"}


def a_fleet(**arguments: Any) -> object:
    scope = stack()
    least = {"vpc": vpc(scope), "instance_types": "g6.xlarge", "max_capacity": 2}
    return AcceleratedFleet(scope, "Fleet", **{**least, **arguments})


def endpoints(**arguments: Any) -> object:
    scope = stack()
    return FleetEndpoints(scope, "Endpoints", **{"vpc": ec2.Vpc(scope, "Vpc", max_azs=1), **arguments})


MAKERS: Mapping[str, tuple[Callable[..., object], Mapping[str, Any]]] = {
    "Purchase.on_demand": (Purchase.on_demand, {}),
    "Purchase.spot": (Purchase.spot, {}),
    "Purchase.mixed": (Purchase.mixed, {"on_demand_base": 1}),
    "Purchase.reservation": (Purchase.reservation, {}),
    "Purchase.capacity_block": (Purchase.capacity_block, BLOCK),
    "WarmPool": (WarmPool, {"min_size": 1}),
    "WarmPool.size_for": (WarmPool.size_for, {"starts_per_hour": 5, "cold_start": Duration.minutes(8)}),
    "FlexibleTypes": (FlexibleTypes, {"kind": "nvidia"}),
    "FleetNetwork.efa": (FleetNetwork.efa, {}),
    "FleetNetwork.standard": (FleetNetwork.standard, {}),
    "Placement.partition": (Placement.partition, {}),
    "Placement.in_group": (Placement.in_group, {}),
    "FleetStorage": (FleetStorage, {}),
    "MachineSetup": (MachineSetup, {}),
    "Drain": (Drain, {}),
    "FleetImage.from_ssm_parameter": (FleetImage.from_ssm_parameter, {"name": "/golden/ami"}),
    "FleetEndpoints": (endpoints, {}),
    "AcceleratedFleet": (a_fleet, {}),
}
PARAMETERS_OF: Mapping[str, Callable[..., object]] = {
    "FleetEndpoints": FleetEndpoints.__init__,
    "AcceleratedFleet": AcceleratedFleet.__init__,
}
NOT_OURS = {"self", "scope", "id"}
CASES = [
    (name, parameter)
    for name, (make, _) in MAKERS.items()
    for parameter in signature(PARAMETERS_OF.get(name, make)).parameters
    if parameter not in NOT_OURS
]


@pytest.mark.parametrize(("name", "parameter"), CASES)
def test_case_72_any_value_is_taken_or_refused_in_our_own_words(name: str, parameter: str) -> None:
    make, others = MAKERS[name]
    told: list[str] = []
    for value in HOSTILE:
        try:
            repr(make(**{**others, parameter: value}))
        except FleetError as refused:
            told.append(str(refused))
    assert [each for each in told if not MESSAGE.match(each)] == []


def test_case_72_what_a_user_gives_is_never_passed_to_the_cdk_to_ask_whether_it_is_a_token() -> None:
    """``validation.is_token`` tells by the text, whatever is passed; the CDK ends its process at a NaN."""
    asking = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "constructs_lib").rglob("*.py"))
        if "Token.is_unresolved(" in path.read_text(encoding="utf-8")
    ]
    # These ask about what the CDK itself has made.
    of_the_cdk = {"fleet/agent_delivery.py", "notifications.py", "scaling/shortfall_demand.py"}
    assert set(asking) <= {f"constructs_lib/{each}" for each in of_the_cdk}
