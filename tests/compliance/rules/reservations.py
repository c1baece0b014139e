"""Billing: "Capacity Reservation pricing and billing", EC2 User Guide; ReleaseHosts, EC2 API Reference."""

from __future__ import annotations

from typing import Any

from tests.compliance.cases import Breaks, Case, stating, template

_GIVEN = {"Parameters": {"Given": {"Type": "String"}}}
_WHY = "the yearly render of the film has to start on the day"


def _reservation(kind: object = "p5.48xlarge", **properties: object) -> dict[str, Any]:
    own = {"AvailabilityZone": "us-east-1a", "InstanceCount": 4, "InstancePlatform": "Linux/UNIX", "InstanceType": kind}
    return template(Held={"Type": "EC2::CapacityReservation", "Properties": {**own, **properties}})


def _host(**properties: object) -> dict[str, Any]:
    return template(Host={"Type": "EC2::Host", "Properties": {"AvailabilityZone": "us-east-1a", **properties}})


CASES = (
    Case(
        rule="reservation-without-end",
        breaks=(
            Breaks(
                template=_reservation(EndDateType="unlimited"),
                resource="Held",
                property="EndDateType",
                got="'unlimited'",
            ),
            Breaks(template=_reservation(), resource="Held", property="EndDateType", got="nothing"),
        ),
        keeps=(
            _reservation(EndDateType="limited", EndDate="2026-12-31T23:59:59Z"),
            _reservation("m7i.large"),
            stating("Held", _reservation(), minimum=_WHY),
        ),
        unknown=(
            _GIVEN | _reservation({"Ref": "Given"}),
            _GIVEN | _reservation(EndDateType={"Ref": "Given"}),
        ),
    ),
    Case(
        rule="dedicated-host-unexplained",
        breaks=(
            Breaks(template=_host(InstanceType="g4dn.metal"), resource="Host", got="no reason"),
            Breaks(template=_host(InstanceFamily="g5"), resource="Host"),
        ),
        keeps=(
            _host(InstanceType="mac2.metal"),
            _host(InstanceFamily="m5"),
            stating("Host", _host(InstanceType="g4dn.metal"), minimum=_WHY),
        ),
        unknown=(_GIVEN | _host(InstanceType={"Ref": "Given"}),),
    ),
)
