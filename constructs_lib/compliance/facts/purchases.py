"""How the instances of a launch are bought: On-Demand, Spot, or from a Capacity Block.

Sources, read in November 2026: "Auto Scaling groups with multiple instance types and purchase options", "Allocation
strategies for multiple instance types", "Use Capacity Blocks for machine learning workloads" (Amazon EC2 Auto Scaling);
"Managed node groups" (EKS); ``ComputeResource`` (AWS Batch); ``CreateFleet`` and ``RequestSpotFleet`` (EC2).
"""

from __future__ import annotations

from constructs_lib.compliance.facts.launches import BATCH, FLEET, GROUP, NODE_GROUP, SPOT_FLEET, Launch
from constructs_lib.compliance.values import Value

BLOCK = "capacity-block"
SPOT = "spot"
MARKET = "InstanceMarketOptions.MarketType"
DISTRIBUTION = "MixedInstancesPolicy.InstancesDistribution"
_ALL_ON_DEMAND = 100


def is_block(launch: Launch) -> bool:
    """Whether its instances are from a Capacity Block.

    Raises:
        NotKnown: it is not known.
    """
    if launch.owner.type == NODE_GROUP and launch.owner.properties.text("CapacityType") == "CAPACITY_BLOCK":
        return True
    return not launch.is_left_to_service and market(launch).text() == BLOCK


def uses_spot(launch: Launch) -> bool:
    """Whether some of its instances are Spot ones.

    Raises:
        NotKnown: it is not known.
    """
    properties = launch.owner.properties
    if launch.owner.type == NODE_GROUP:
        return properties.text("CapacityType") == "SPOT"
    if launch.owner.type == BATCH:
        return properties.text("ComputeResources.Type") == "SPOT"
    if launch.owner.type == SPOT_FLEET:
        return True
    if launch.owner.type == FLEET:
        return _fleet_uses_spot(properties)
    if launch.owner.type == GROUP and not properties.at("MixedInstancesPolicy").is_absent:
        share = properties.whole(f"{DISTRIBUTION}.OnDemandPercentageAboveBaseCapacity")
        return share is not None and share < _ALL_ON_DEMAND
    return market(launch).text() == SPOT or not launch.setting("SpotPrice").is_absent


def _fleet_uses_spot(properties: Value) -> bool:
    target = properties.at("TargetCapacitySpecification")
    spot = target.whole("SpotTargetCapacity")
    return bool(spot) or (target.text("DefaultTargetCapacityType") == SPOT and spot is None)


def market(launch: Launch) -> Value:
    """Where the launch says which market its instances are from.

    Raises:
        NotKnown: its launch template is not in the templates.
    """
    return launch.setting(MARKET)
