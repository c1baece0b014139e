"""Names of zones: "AWS Regions and Availability Zones"; a stack goes to one Region."""

from typing import Any

from tests.compliance.cases import Breaks, Case, group, template


def _in(*zones: Any, types: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    subnets = {
        f"Subnet{n}": {"Type": "EC2::Subnet", "Properties": {"AvailabilityZone": z}} for n, z in enumerate(zones)
    }
    return group(*types, **subnets, **more)


_GIVEN = {"Parameters": {"Zone": {"Type": "String"}, "Fixed": {"Type": "String", "Default": "eu-west-1a"}}}
_ONLY_THERE = {"Conditions": {"Here": {"Fn::Equals": [{"Ref": "AWS::Region"}, "eu-west-1"]}}}
_THERE = {"Type": "EC2::Volume", "Condition": "Here", "Properties": {"AvailabilityZone": "eu-west-1a"}}

CASES = (
    Case(
        rule="zones-of-several-regions",
        breaks=(
            Breaks(
                template=_in("us-east-1a", "us-east-1b", "eu-west-1a"),
                resource="Subnet2",
                property="AvailabilityZone",
                got="'eu-west-1a'",
            ),
            Breaks(
                template=_in("us-west-2-lax-1a", "us-east-1-wl1-bos-wlz-1"),
                resource="Subnet1",
                property="AvailabilityZone",
            ),
            Breaks(
                template=_in("us-gov-west-1a", properties={"AvailabilityZones": ["us-gov-east-1b"]}),
                resource="Subnet0",
                property="AvailabilityZone",
            ),
            Breaks(
                template=_GIVEN | _in("us-east-1a", {"Ref": "Fixed"}), resource="Subnet1", property="AvailabilityZone"
            ),
            Breaks(
                template=_in("us-east-1a"), resource="Subnet0", property="AvailabilityZone", region="ap-northeast-1"
            ),
        ),
        keeps=(
            _in("us-east-1a", "us-east-1f"),
            _in("us-west-2a", "us-west-2-lax-1a"),
            _in("us-east-1a", {"Fn::Select": [0, {"Fn::GetAZs": ""}]}),
            # Zones by their ids are of whatever Region the id says; EC2 takes them elsewhere only.
            _in("use1-az1"),
            _in("us-east-1a", "eu-west-1a", types=("m7i.large",)),
            # It is there in one Region only.
            _ONLY_THERE | _in("us-east-1a", Disk=_THERE),
            template(Machine={"Type": "EC2::Instance", "Properties": {"InstanceType": "g6.xlarge"}}),
        ),
        unknown=(_GIVEN | _in("us-east-1a", {"Ref": "Zone"}),),
    ),
)
