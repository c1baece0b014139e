"""Placement groups: "Placement strategies", EC2 User Guide; reservations: field case 26."""

from typing import Any

from tests.compliance.cases import Breaks, Case, group

_SOMEWHERE = {"Parameters": {"Name": {"Type": "String"}}}


def _placed(
    strategy: Any = "cluster",
    *,
    types: tuple[str, ...] = ("p5.48xlarge",),
    properties: Any = None,
    launch: Any = None,
    zones: tuple[str, ...] = ("us-east-1a",),
    **more: Any,
) -> dict[str, Any]:
    subnets = {
        f"Subnet{number}": {"Type": "EC2::Subnet", "Properties": {"AvailabilityZone": zone}}
        for number, zone in enumerate(zones)
    }
    return group(
        *types,
        launch=launch,
        properties={
            "VPCZoneIdentifier": [{"Ref": each} for each in subnets],
            "PlacementGroup": {"Ref": "Near"},
            **(properties or {}),
        },
        Near={"Type": "EC2::PlacementGroup", "Properties": {"Strategy": strategy}},
        **subnets,
        **more,
    )


def _reserved(reservation: Any) -> dict[str, Any]:
    return {"CapacityReservationSpecification": {"CapacityReservationTarget": {"CapacityReservationId": reservation}}}


_UNKNOWN_STRATEGY = _SOMEWHERE | _placed({"Ref": "Name"}, zones=("us-east-1a", "us-east-1b"))
_ALIEN = _placed(properties={"PlacementGroup": "made-elsewhere"}, launch=_reserved("cr-1"))

CASES = (
    Case(
        rule="cluster-placement-in-several-zones",
        breaks=(
            Breaks(
                template=_placed(zones=("us-east-1a", "us-east-1b")),
                resource="Group",
                property="PlacementGroup",
                got="Near",
            ),
        ),
        keeps=(_placed(), _placed("partition", zones=("us-east-1a", "us-east-1b")), group()),
        unknown=(_UNKNOWN_STRATEGY, _ALIEN, _placed(properties={"VPCZoneIdentifier": ["subnet-a", "subnet-b"]})),
    ),
    Case(
        rule="placement-not-taken-by-type",
        breaks=(
            Breaks(
                template=_placed("cluster", types=("vt1.3xlarge",)),
                resource="Group",
                property="PlacementGroup",
            ),
        ),
        keeps=(_placed(), _placed("spread")),
        unknown=(_UNKNOWN_STRATEGY, _ALIEN, _placed(types=("p6e-gb200.36xlarge",))),
    ),
    Case(
        rule="spread-placement-too-small",
        breaks=(
            Breaks(
                template=_placed("spread", properties={"MaxSize": "8"}), resource="Group", property="MaxSize", got="'8'"
            ),
        ),
        keeps=(
            _placed("spread", properties={"MaxSize": "7"}),
            _placed("spread", properties={"MaxSize": "14"}, zones=("us-east-1a", "us-east-1b")),
            _placed("cluster", properties={"MaxSize": "80"}),
        ),
        unknown=(_UNKNOWN_STRATEGY, _SOMEWHERE | _placed("spread", properties={"MaxSize": {"Ref": "Name"}})),
    ),
    Case(
        rule="reservation-outside-placement-group",
        breaks=(
            Breaks(
                template=_placed(
                    launch=_reserved({"Ref": "Reserved"}),
                    Reserved={"Type": "EC2::CapacityReservation", "Properties": {"InstanceCount": 2}},
                ),
                resource="Group",
                property="PlacementGroup",
                got="Near",
            ),
        ),
        keeps=(
            _placed(),
            group(launch=_reserved("cr-1")),
            _placed(
                launch=_reserved({"Ref": "Reserved"}),
                Reserved={
                    "Type": "EC2::CapacityReservation",
                    "Properties": {"PlacementGroupArn": {"Fn::Sub": "arn:aws:ec2:r:a:placement-group/${Near}"}},
                },
            ),
        ),
        unknown=(_ALIEN, _placed(launch=_reserved("cr-1")), _SOMEWHERE | _placed(launch=_reserved({"Ref": "Name"}))),
    ),
)
