"""Capacity Blocks: field case 18. Spot: field case 80; "Allocation strategies", Amazon EC2 Auto Scaling User Guide."""

from typing import Any

from tests.compliance.cases import Breaks, Case, group, stating, template

_PARAMETER = {"Parameters": {"Value": {"Type": "String"}}}
_MARKET = {"InstanceMarketOptions": {"MarketType": "capacity-block"}}
_TARGET = {"CapacityReservationSpecification": {"CapacityReservationTarget": {"CapacityReservationId": "cr-1"}}}
_UNKNOWN_MARKET = _PARAMETER | group("p5.48xlarge", launch={"InstanceMarketOptions": {"MarketType": {"Ref": "Value"}}})


def _end(**sizes: Any) -> dict[str, Any]:
    properties = {"AutoScalingGroupName": {"Ref": "Group"}, "StartTime": "2027-01-08T10:30:00Z", **sizes}
    return {"Type": "AutoScaling::ScheduledAction", "Properties": properties}


def _block(*types: str, launch: Any = None, properties: Any = None, **more: Any) -> dict[str, Any]:
    return group(
        *(types or ("p5.48xlarge",)),
        launch={**_MARKET, **_TARGET, **(launch or {})},
        properties={"VPCZoneIdentifier": ["subnet-a"], **(properties or {})},
        **{"End": _end(MinSize=0, MaxSize=0, DesiredCapacity=0), **more},
    )


def _without(made: dict[str, Any], logical_id: str) -> dict[str, Any]:
    return {"Resources": {key: value for key, value in made["Resources"].items() if key != logical_id}}


def _setter(*actions: str) -> dict[str, Any]:
    statement = {"Effect": "Allow", "Action": list(actions), "Resource": "*"}
    policy = {"PolicyName": "p", "PolicyDocument": {"Statement": [statement]}}
    return {"Type": "IAM::Role", "Properties": {"Policies": [policy]}}


def _spot(*types: Any, subnets: tuple[str, ...] = ("subnet-a", "subnet-b"), **distribution: Any) -> dict[str, Any]:
    names = types or ("g6.xlarge", "g5.xlarge")
    used = {"LaunchTemplateId": {"Ref": "Launch"}, "Version": "1"}
    given = {
        "OnDemandPercentageAboveBaseCapacity": 0,
        "SpotAllocationStrategy": "price-capacity-optimized",
        **distribution,
    }
    policy = {
        "LaunchTemplate": {
            "LaunchTemplateSpecification": used,
            "Overrides": [{"InstanceType": each} for each in names],
        },
        "InstancesDistribution": {key: value for key, value in given.items() if value is not None},
    }
    return template(
        Launch={"Type": "EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": {}}},
        Group={
            "Type": "AutoScaling::AutoScalingGroup",
            "Properties": {
                "MinSize": "0",
                "MaxSize": "4",
                "VPCZoneIdentifier": list(subnets),
                "MixedInstancesPolicy": policy,
            },
        },
    )


def _spot_in(**places: Any) -> dict[str, Any]:
    """A Spot group of one type in these places."""
    return group(
        launch={"InstanceMarketOptions": {"MarketType": "spot"}},
        properties={"VPCZoneIdentifier": {"Ref": "AWS::NoValue"}, **places},
    )


def _spot_fleet(*specifications: dict[str, Any], **data: Any) -> dict[str, Any]:
    """A Spot fleet with these specifications of one type."""
    given = [{"InstanceType": "g5.xlarge", **each} for each in specifications]
    own = {"TargetCapacity": 2, "LaunchSpecifications": given, **data}
    return template(Fleet={"Type": "EC2::SpotFleet", "Properties": {"SpotFleetRequestConfigData": own}})


def _fleet(*overrides: dict[str, Any], **capacity: Any) -> dict[str, Any]:
    """A fleet of EC2 that buys Spot, with these overrides of a launch template with one type."""
    used = {"LaunchTemplateId": {"Ref": "Launch"}, "Version": "1"}
    config = {"LaunchTemplateSpecification": used, "Overrides": list(overrides)}
    target = {"TotalTargetCapacity": 2, "DefaultTargetCapacityType": "spot", **capacity}
    return template(
        Launch={"Type": "EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": {"InstanceType": "g5.xlarge"}}},
        Fleet={
            "Type": "EC2::EC2Fleet",
            "Properties": {"LaunchTemplateConfigs": [config], "TargetCapacitySpecification": target},
        },
    )


def _batch(**resources: Any) -> dict[str, Any]:
    given = {"Type": "SPOT", "MaxvCpus": 64, "InstanceTypes": ["g6", "g5"], "Subnets": ["s"], **resources}
    return template(Batch={"Type": "Batch::ComputeEnvironment", "Properties": {"ComputeResources": given}})


def _pool(made: dict[str, Any]) -> dict[str, Any]:
    pool = {"Type": "AWS::AutoScaling::WarmPool", "Properties": {"AutoScalingGroupName": {"Ref": "Group"}}}
    return {"Resources": {**made["Resources"], "Pool": pool}}


_SPREAD = "MixedInstancesPolicy.InstancesDistribution"
_UNKNOWN_SHARE = _PARAMETER | _spot(OnDemandPercentageAboveBaseCapacity={"Ref": "Value"})


def _nodes(launch: Any = None, **properties: Any) -> dict[str, Any]:
    """A node group of EKS from a Capacity Block; ``launch``: entries of its launch template. None: it has none."""
    own = {"LaunchTemplate": {"Id": {"Ref": "Launch"}}} if launch is not None else {}
    made = template(
        Nodes={
            "Type": "EKS::Nodegroup",
            "Properties": {"ClusterName": "c", "NodeRole": "r", "Subnets": ["subnet-a"], **own, **properties},
        }
    )
    data = {"Launch": {"Type": "AWS::EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": launch}}}
    return made if launch is None else {"Resources": {**made["Resources"], **data}}


_P5 = {"InstanceType": "p5.48xlarge"}
_OF_BLOCK = {"CapacityType": "CAPACITY_BLOCK"}
_WHOLE = {**_P5, **_MARKET, **_TARGET}

CASES = (
    Case(
        rule="node-group-capacity-block-half-set",
        breaks=(
            Breaks(
                template=_nodes(InstanceTypes=["p5.48xlarge"], **_OF_BLOCK),
                resource="Nodes",
                property="LaunchTemplate",
                got="nothing",
            ),
            Breaks(
                template=_nodes({**_P5, **_TARGET}, **_OF_BLOCK),
                resource="Launch",
                property="LaunchTemplateData.InstanceMarketOptions.MarketType",
                got="nothing",
            ),
            Breaks(template=_nodes(_WHOLE), resource="Nodes", property="CapacityType", got="nothing"),
            Breaks(
                template=_nodes(_WHOLE, CapacityType="ON_DEMAND"),
                resource="Nodes",
                property="CapacityType",
                got="ON_DEMAND",
            ),
            Breaks(
                template=_nodes({**_MARKET, **_TARGET}, InstanceTypes=["p5.48xlarge"], **_OF_BLOCK),
                resource="Launch",
                property="LaunchTemplateData.InstanceType",
            ),
        ),
        keeps=(
            _nodes(_WHOLE, **_OF_BLOCK),
            _nodes(_P5),
            _nodes(InstanceTypes=["p5.48xlarge"]),
            _nodes(InstanceTypes=["m7i.large"], **_OF_BLOCK),
            _block(),
            group("p5.48xlarge"),
        ),
        unknown=(
            _PARAMETER | _nodes(_WHOLE, CapacityType={"Ref": "Value"}),
            _PARAMETER | _nodes({**_P5, "InstanceMarketOptions": {"MarketType": {"Ref": "Value"}}}, **_OF_BLOCK),
        ),
    ),
    Case(
        rule="capacity-block-without-target",
        breaks=(
            Breaks(
                template=_nodes({**_P5, **_MARKET}, **_OF_BLOCK),
                resource="Launch",
                property="LaunchTemplateData.CapacityReservationSpecification.CapacityReservationTarget"
                ".CapacityReservationId",
            ),
            Breaks(
                template=template(
                    Machine={
                        "Type": "EC2::Instance",
                        "Properties": {"LaunchTemplate": {"LaunchTemplateId": {"Ref": "L"}}},
                    },
                    L={"Type": "EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": {**_P5, **_MARKET}}},
                ),
                resource="L",
                property="LaunchTemplateData.CapacityReservationSpecification.CapacityReservationTarget"
                ".CapacityReservationId",
            ),
        ),
        # Without a launch template there is no place for it: node-group-capacity-block-half-set.
        keeps=(_nodes(_WHOLE, **_OF_BLOCK), _nodes(InstanceTypes=["p5.48xlarge"], **_OF_BLOCK)),
        unknown=(),
    ),
    Case(
        rule="capacity-block-without-market-type",
        breaks=(
            Breaks(
                template=group("p6e-gb200.36xlarge", launch=_TARGET),
                resource="Launch",
                property="LaunchTemplateData.InstanceMarketOptions.MarketType",
                got="nothing",
            ),
        ),
        keeps=(_block("p6e-gb200.36xlarge"), _block(), group("p5.48xlarge")),
        unknown=(_UNKNOWN_MARKET,),
    ),
    Case(
        rule="capacity-block-without-target",
        breaks=(
            Breaks(
                template=group("p5.48xlarge", launch=_MARKET),
                resource="Launch",
                property="LaunchTemplateData.CapacityReservationSpecification.CapacityReservationTarget"
                ".CapacityReservationId",
                got="nothing",
            ),
        ),
        keeps=(_block(), group("p5.48xlarge")),
        unknown=(_UNKNOWN_MARKET,),
    ),
    Case(
        rule="capacity-block-not-alone",
        breaks=(
            Breaks(
                template=_block("p5.48xlarge", "p5en.48xlarge"),
                resource="Group",
                property="MixedInstancesPolicy",
                got="a mixed instances policy",
            ),
            Breaks(template=_pool(_block()), resource="Pool", property="AutoScalingGroupName", got="Group"),
            Breaks(
                template=_block(
                    launch={"InstanceMarketOptions": {"MarketType": "capacity-block", "SpotOptions": {"MaxPrice": "9"}}}
                ),
                resource="Launch",
                property="LaunchTemplateData.InstanceMarketOptions.SpotOptions",
            ),
            Breaks(
                template=_block(
                    properties={"VPCZoneIdentifier": [{"Ref": "A"}, {"Ref": "B"}]},
                    A={"Type": "EC2::Subnet", "Properties": {"AvailabilityZone": "us-east-1a"}},
                    B={"Type": "EC2::Subnet", "Properties": {"AvailabilityZone": "us-east-1b"}},
                ),
                resource="Group",
                property="VPCZoneIdentifier[1]",
                got="B",
            ),
            # Zones in place of subnets.
            Breaks(
                template=_block(
                    properties={
                        "VPCZoneIdentifier": {"Ref": "AWS::NoValue"},
                        "AvailabilityZones": ["us-east-1a", "us-east-1b"],
                    }
                ),
                resource="Group",
                property="AvailabilityZones[1]",
                got="us-east-1b",
            ),
        ),
        keeps=(_block(), group("p5.48xlarge", "p5en.48xlarge")),
        unknown=(_UNKNOWN_MARKET, _block(properties={"VPCZoneIdentifier": ["subnet-a", "subnet-b"]})),
    ),
    Case(
        rule="capacity-block-without-end",
        breaks=(
            Breaks(template=_without(_block(), "End"), resource="Group", property="MaxSize", got="'4'"),
            Breaks(template=_block(End=_end(MaxSize=2, DesiredCapacity=2)), resource="Group", property="MaxSize"),
        ),
        keeps=(_block(), _block(End=_end(DesiredCapacity=0)), group("p5.48xlarge")),
        unknown=(
            _UNKNOWN_MARKET,
            _PARAMETER | _block(End=_end(MaxSize={"Ref": "Value"})),
            _without(_block(Setter=_setter("autoscaling:UpdateAutoScalingGroup")), "End"),
            _without(_block(), "End") | {"Transform": "OfOurs"},
            _without(_block(Clock={"Type": "Scheduler::Schedule", "Properties": {}}), "End"),
        ),
    ),
    Case(
        rule="type-not-sold-as-spot",
        breaks=(
            Breaks(
                template=_spot("g6.xlarge", "p6e-gb200.36xlarge"),
                resource="Group",
                property="MixedInstancesPolicy.LaunchTemplate.Overrides[1].InstanceType",
                got="p6e-gb200",
            ),
        ),
        keeps=(_spot(), group("p6e-gb200.36xlarge")),
        unknown=(_UNKNOWN_SHARE,),
    ),
    Case(
        rule="spot-allocation-by-price-alone",
        breaks=(
            Breaks(
                template=_spot(SpotAllocationStrategy=None),
                resource="Group",
                property=f"{_SPREAD}.SpotAllocationStrategy",
                got="nothing",
            ),
            Breaks(
                template=_spot(SpotAllocationStrategy="lowest-price"),
                resource="Group",
                property=f"{_SPREAD}.SpotAllocationStrategy",
                got="lowest-price",
            ),
            Breaks(
                template=_batch(AllocationStrategy="BEST_FIT_PROGRESSIVE"),
                resource="Batch",
                property="ComputeResources.AllocationStrategy",
            ),
        ),
        keeps=(
            _spot(),
            _spot(SpotAllocationStrategy="capacity-optimized"),
            _batch(AllocationStrategy="SPOT_PRICE_CAPACITY_OPTIMIZED"),
            # Nothing is Spot.
            _spot(SpotAllocationStrategy=None, OnDemandPercentageAboveBaseCapacity=None),
        ),
        unknown=(_UNKNOWN_SHARE, _PARAMETER | _spot(SpotAllocationStrategy={"Ref": "Value"})),
    ),
    Case(
        rule="spot-in-one-pool",
        breaks=(
            Breaks(
                template=_spot("g6.xlarge", subnets=("subnet-a",)),
                resource="Group",
                property="MixedInstancesPolicy.LaunchTemplate.Overrides[0].InstanceType",
                got="g6.xlarge",
            ),
            Breaks(
                template=group(
                    launch={"InstanceMarketOptions": {"MarketType": "spot"}},
                    properties={"VPCZoneIdentifier": ["subnet-a"]},
                ),
                resource="Launch",
                property="LaunchTemplateData.InstanceType",
            ),
            Breaks(
                template=_spot_fleet({"SubnetId": "subnet-a"}),
                resource="Fleet",
                property="SpotFleetRequestConfigData.LaunchSpecifications[0].InstanceType",
                got="g5.xlarge",
            ),
            Breaks(
                template=_spot_fleet({"NetworkInterfaces": [{"DeviceIndex": 0, "SubnetId": "subnet-a"}]}),
                resource="Fleet",
                property="SpotFleetRequestConfigData.LaunchSpecifications[0].InstanceType",
            ),
            Breaks(
                template=_fleet({"AvailabilityZone": "us-east-1a"}),
                resource="Launch",
                property="LaunchTemplateData.InstanceType",
            ),
            Breaks(
                template=_spot_in(AvailabilityZones=["us-east-1a"]),
                resource="Launch",
                property="LaunchTemplateData.InstanceType",
            ),
        ),
        keeps=(
            _spot("g6.xlarge"),
            stating("Group", _spot("g6.xlarge", subnets=("subnet-a",)), spot="the data is in that zone"),
            _spot(subnets=("subnet-a",)),
            _spot("g6.xlarge", subnets=("subnet-a",), OnDemandBaseCapacity=1),
            # Machines that talk by EFA, or stand in a placement group, are in one zone because they have to.
            group(
                "p4d.24xlarge",
                launch={
                    "InstanceMarketOptions": {"MarketType": "spot"},
                    "NetworkInterfaces": [{"DeviceIndex": 0, "InterfaceType": "efa"}],
                },
                properties={"VPCZoneIdentifier": ["subnet-a"]},
            ),
            group(
                launch={"InstanceMarketOptions": {"MarketType": "spot"}, "Placement": {"GroupName": "together"}},
                properties={"VPCZoneIdentifier": ["subnet-a"]},
            ),
            _batch(InstanceTypes=["g6"]),
            # Several pools: subnets between commas, in two specifications, or those that AWS chooses; two types.
            _spot_fleet({"SubnetId": "subnet-a, subnet-b"}),
            _spot_fleet({"SubnetId": "subnet-a"}, {"SubnetId": "subnet-b"}),
            _spot_fleet({"SubnetId": "subnet-a"}, {"SubnetId": "subnet-a", "InstanceType": "g6.xlarge"}),
            _spot_fleet({}),
            _spot_fleet({"SubnetId": "subnet-a"}, OnDemandTargetCapacity=1),
            _fleet({"SubnetId": "subnet-a"}, {"SubnetId": "subnet-b"}),
            _fleet({"SubnetId": "subnet-a"}, OnDemandTargetCapacity=1, SpotTargetCapacity=1),
            _fleet(),
            # All zones of the Region.
            _spot_in(AvailabilityZones={"Fn::GetAZs": ""}),
            _spot_in(AvailabilityZones={"Fn::GetAZs": {"Ref": "AWS::Region"}}),
        ),
        unknown=(
            _UNKNOWN_SHARE,
            _PARAMETER | _spot("g6.xlarge", {"Ref": "Value"}, subnets=("subnet-a",)),
            _spot_fleet({"SubnetId": {"Fn::ImportValue": "private-subnets"}}),
            _spot_in(VPCZoneIdentifier={"Fn::ImportValue": "private-subnets"}),
            _spot_in(VPCZoneIdentifier={"Fn::GetAtt": ["Launch", "Subnets"]}),
        ),
    ),
    Case(
        rule="spot-maximum-price",
        breaks=(
            Breaks(
                template=_spot(SpotMaxPrice="0.30"), resource="Group", property=f"{_SPREAD}.SpotMaxPrice", got="0.30"
            ),
            Breaks(
                template=group(
                    launch={"InstanceMarketOptions": {"MarketType": "spot", "SpotOptions": {"MaxPrice": "0.3"}}}
                ),
                resource="Launch",
                property="LaunchTemplateData.InstanceMarketOptions.SpotOptions.MaxPrice",
                got="0.3",
            ),
        ),
        # An empty text takes a limit back.
        keeps=(_spot(), _spot(SpotMaxPrice="")),
        unknown=(_UNKNOWN_SHARE,),
    ),
    Case(
        rule="warm-pool-beside-spot",
        breaks=(Breaks(template=_pool(_spot()), resource="Pool", property="AutoScalingGroupName", got="Group"),),
        keeps=(_spot(), _pool(group()), _pool(_spot(OnDemandPercentageAboveBaseCapacity=100))),
        unknown=(_PARAMETER | _pool(_UNKNOWN_SHARE),),
    ),
)
