"""How accelerated instances are bought: Spot with somewhere to turn to, Capacity Blocks with all that belongs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from constructs_lib.compliance.deployment import Deployment, Resource
from constructs_lib.compliance.facts.launches import (
    BATCH,
    FLEET,
    GROUP,
    INSTANCE,
    NODE_GROUP,
    SPOT_FLEET,
    Launch,
    accelerated_launches,
)
from constructs_lib.compliance.facts.owners import launches_of
from constructs_lib.compliance.facts.purchases import BLOCK, DISTRIBUTION, is_block, market, uses_spot
from constructs_lib.compliance.facts.roles import ROLE, SERVERLESS_FUNCTION, allows, role_of_function
from constructs_lib.compliance.facts.subnets import in_several_zones, is_in_one_place, subnets_of
from constructs_lib.compliance.facts.warm_pools import warm_pool_of
from constructs_lib.compliance.rule import ERROR, WARNING, Rule
from constructs_lib.compliance.values import Broken, NotKnown, Value, any_of
from constructs_lib.statements import SPOT

_SCHEDULED = "AWS::AutoScaling::ScheduledAction"
_SCHEDULE = "AWS::Scheduler::Schedule"
_TARGET = "CapacityReservationSpecification.CapacityReservationTarget"
_OTHERS = (GROUP, INSTANCE, FLEET, SPOT_FLEET, BATCH)
_IN_POOLS = (GROUP, NODE_GROUP, BATCH, FLEET, SPOT_FLEET)
_ON_DEMAND_BESIDE = {
    GROUP: ", or OnDemandBaseCapacity",
    FLEET: ", or OnDemandTargetCapacity",
    SPOT_FLEET: ", or OnDemandTargetCapacity",
}
_SPOT_OPTIONS = "InstanceMarketOptions.SpotOptions"
_EKS_BLOCK = "CAPACITY_BLOCK"
_BLOCKS = "https://docs.aws.amazon.com/autoscaling/ec2/userguide/launch-template-capacity-blocks.html"
_STRATEGIES = "https://docs.aws.amazon.com/autoscaling/ec2/userguide/allocation-strategies.html"
_SPOT = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-best-practices.html"
_POOLS = "https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-warm-pools.html"
_SETS_SIZES = ("autoscaling:UpdateAutoScalingGroup", "autoscaling:SetDesiredCapacity")


# --- which launches --------------------------------------------------------------------------------------------------


def _blocks(deployment: Deployment) -> Iterator[Launch | NotKnown]:
    """Launches from a Capacity Block, and those whose types AWS sells in no other way."""
    for launch in accelerated_launches(deployment):
        if isinstance(launch, NotKnown):
            yield launch
            continue
        try:
            if is_block(launch) or _is_sold_in_blocks_only(launch):
                yield launch
        except NotKnown as not_known:
            yield not_known


def _is_sold_in_blocks_only(launch: Launch) -> bool:
    return any(each.on_demand is False and each.spot is False and each.capacity_block for each in launch.facts)


def _with_spot(deployment: Deployment) -> Iterator[Launch | NotKnown]:
    for launch in accelerated_launches(deployment):
        if isinstance(launch, NotKnown):
            yield launch
            continue
        try:
            if uses_spot(launch):
                yield launch
        except NotKnown as not_known:
            yield not_known


# --- Capacity Blocks -------------------------------------------------------------------------------------------------


def _market(launch: Launch) -> Iterator[Broken]:
    if is_block(launch) or _has_segments(launch.owner):
        return
    names = ", ".join(each.name for each in launch.facts)
    must, cure = f"be {BLOCK}: AWS sells {names} in Capacity Blocks only", "set InstanceMarketOptions: {MarketType: "
    place = launch.owner.properties.at("CapacityType") if launch.owner.type == NODE_GROUP else market(launch)
    yield place.broken(must=must, cure=f"{cure}{BLOCK}}} in the launch template, with the block's reservation id")


def _has_segments(owner: Resource) -> bool:
    """Whether a group names in which order it takes reservations and blocks, which a launch template then does not."""
    return owner.type == GROUP and not owner.properties.at(f"{DISTRIBUTION}.DistributionSegments").is_absent


def _target(launch: Launch) -> Iterator[Broken]:
    if not is_block(launch) or _has_segments(launch.owner) or launch.is_left_to_service:
        return
    target = launch.setting(_TARGET)
    if target.at("CapacityReservationId").is_absent and target.at("CapacityReservationResourceGroupArn").is_absent:
        yield target.broken(
            "CapacityReservationId",
            must="be the id of the Capacity Block: without it every launch fails",
            cure="set CapacityReservationSpecification: {CapacityReservationTarget: {CapacityReservationId: cr-...}}",
        )


def _node_groups(deployment: Deployment) -> Iterator[Launch | NotKnown]:
    """Those of EKS; of one of which nobody can tell whether it is a launch of EKS, why."""
    for each in _blocks(deployment):
        if isinstance(each, Launch):
            if each.owner.type == NODE_GROUP:
                yield each
            continue
        place = each.place.resource if isinstance(each.place, Value) else each.place
        if place.type not in _OTHERS:
            yield each


def _is_told_to_eks(launch: Launch) -> Iterator[Broken]:
    properties = launch.owner.properties
    kind = properties.at("CapacityType")
    if launch.is_left_to_service:
        if kind.text() == _EKS_BLOCK:
            yield properties.broken(
                "LaunchTemplate",
                must="be a launch template that names the Capacity Block: EKS takes blocks in no other way",
                cure=f"add a launch template with InstanceType, InstanceMarketOptions: {{MarketType: {BLOCK}}} and "
                "the CapacityReservationId of the block",
            )
        return
    said = market(launch)
    if kind.text() != _EKS_BLOCK and said.text() == BLOCK:
        yield kind.broken(
            must=f"be '{_EKS_BLOCK}', as the market type of its launch template is {BLOCK}",
            cure=f"set CapacityType: {_EKS_BLOCK}",
        )
    if kind.text() == _EKS_BLOCK:
        if said.text() != BLOCK:
            yield said.broken(
                must=f"be '{BLOCK}', as the node group's CapacityType is {_EKS_BLOCK}",
                cure=f"set InstanceMarketOptions: {{MarketType: {BLOCK}}}",
            )
        if launch.setting("InstanceType").is_absent:
            yield launch.setting("InstanceType").broken(
                must="be the type of the Capacity Block", cure="name the type in the launch template"
            )


def _alone(launch: Launch) -> Iterator[Broken]:
    if not is_block(launch):
        return
    owner = launch.owner
    if not launch.is_left_to_service and not (options := launch.setting(_SPOT_OPTIONS)).is_absent:
        yield options.broken(
            must=f"be left out: they are for Spot, and the market is {BLOCK}", cure="remove SpotOptions"
        )
    if owner.type == GROUP:
        policy = owner.properties.at("MixedInstancesPolicy")
        if not policy.is_absent and not _has_segments(owner):
            yield policy.broken(
                must="be left out with a Capacity Block, which is of one type",
                got="a mixed instances policy",
                cure="refer to the launch template in LaunchTemplate, and name one type in it",
            )
        pool = warm_pool_of(owner)
        if pool is not None:
            yield pool.properties.broken(
                "AutoScalingGroupName",
                must="be a group without a Capacity Block, beside which Auto Scaling allows no warm pool",
                cure="remove the warm pool",
            )
    if len(launch.named_types) > 1 and owner.type != GROUP:
        yield launch.named_types[1].broken(
            must="be left out: a Capacity Block is of one type", cure="name the type of the block alone"
        )
    if in_several_zones(owner):
        places = subnets_of(owner) or owner.properties.each("AvailabilityZones")
        yield places[1].broken(
            must="be left out: a Capacity Block is in one zone", cure="name the subnet in the zone of the block alone"
        )


def _end(launch: Launch) -> Iterator[Broken]:
    owner = launch.owner
    if owner.type != GROUP or not is_block(launch):
        return
    if owner.properties.whole("MaxSize") == 0 or any_of(_ends, owner.deployment.once(_actions).get(owner, ())):
        return
    _check_nobody_else_ends(owner)
    yield owner.properties.broken(
        "MaxSize",
        must="be set to 0 before the block ends: EC2 ends the instances from 30 minutes before on, and the group "
        "tries to replace them for ever",
        cure="add an AWS::AutoScaling::ScheduledAction with MinSize, MaxSize and DesiredCapacity 0 that starts more "
        "than 30 minutes before the end of the block",
    )


def _ends(action: Resource) -> bool:
    return any_of(lambda name: action.properties.whole(name) == 0, ("MaxSize", "DesiredCapacity"))


def _check_nobody_else_ends(owner: Resource) -> None:
    deployment = owner.deployment
    if deployment.unread:
        raise NotKnown(owner, f"{deployment.unread[0]} may set its sizes to 0")
    if deployment.exported(owner):
        raise NotKnown(owner, "another stack may set its sizes to 0: an output exports it")
    if schedules := deployment.resources(_SCHEDULE):
        raise NotKnown(owner, f"{schedules[0].id} may set its sizes to 0")
    for action in deployment.resources(_SCHEDULED):
        action.properties.made("AutoScalingGroupName")
    setter = deployment.once(_who_sets_sizes)
    if isinstance(setter, NotKnown):
        raise setter
    if setter is not None:
        raise NotKnown(owner, f"whoever has {setter.id} may set its sizes to 0")


def _who_sets_sizes(deployment: Deployment) -> Resource | NotKnown | None:
    try:
        functions = [each for each in deployment.resources(SERVERLESS_FUNCTION) if role_of_function(each) is None]
        for role in (*deployment.resources(ROLE), *functions):
            if any(allows(role, name) for name in _SETS_SIZES):
                return role
    except NotKnown as not_known:
        return not_known
    return None


def _actions(deployment: Deployment) -> Mapping[Resource, list[Resource]]:
    """Scheduled actions by their group."""
    found: dict[Resource, list[Resource]] = {}
    for each in deployment.resources(_SCHEDULED):
        try:
            group = each.properties.made("AutoScalingGroupName")
        except NotKnown:
            continue
        if group is not None:
            found.setdefault(group, []).append(each)
    return found


# --- Spot ------------------------------------------------------------------------------------------------------------


def _not_sold(launch: Launch) -> Iterator[Broken]:
    for value in launch.named_types:
        facts = next((each for each in launch.facts if each.name == value.text()), None)
        if facts is not None and facts.spot is False:
            yield value.broken(
                must="be a type that AWS sells as Spot", cure="choose another type, or another way to buy"
            )


@dataclass(frozen=True)
class _Strategy:
    """Where an owner says from which Spot pools its instances come, and which words are good."""

    path: str
    good: tuple[str | None, ...]


_GOOD = ("price-capacity-optimized", "capacity-optimized", "capacity-optimized-prioritized")
_FLEET_GOOD = (*_GOOD, "diversified")
_STRATEGY_OF = {
    GROUP: _Strategy(f"{DISTRIBUTION}.SpotAllocationStrategy", _GOOD),
    FLEET: _Strategy("SpotOptions.AllocationStrategy", _FLEET_GOOD),
    SPOT_FLEET: _Strategy(
        "SpotFleetRequestConfigData.AllocationStrategy",
        (
            "priceCapacityOptimized",
            "capacityOptimized",
            "capacityOptimizedPrioritized",
            *_FLEET_GOOD,
        ),
    ),
    # Of BEST_FIT, which an environment has without a word, another rule tells.
    BATCH: _Strategy(
        "ComputeResources.AllocationStrategy",
        ("SPOT_PRICE_CAPACITY_OPTIMIZED", "SPOT_CAPACITY_OPTIMIZED", "BEST_FIT", None),
    ),
}


def _allocation(launch: Launch) -> Iterator[Broken]:
    strategy = _STRATEGY_OF.get(launch.owner.type)
    if strategy is None or (
        launch.owner.type == GROUP and launch.owner.properties.at("MixedInstancesPolicy").is_absent
    ):
        return
    chosen = launch.owner.properties.at(strategy.path)
    if chosen.text() not in strategy.good:
        yield chosen.broken(
            must=f"be {strategy.good[0]} or another strategy that looks at capacity",
            cure=f"set it to {strategy.good[0]}",
        )


def _one_pool(launch: Launch) -> Iterator[Broken]:
    owner = launch.owner
    ways = launches_of(owner)
    if owner.type not in _IN_POOLS or launch is not ways[0] or any(each.requirements for each in ways):
        return
    if _has_on_demand(owner):
        return
    names = {name for each in ways for name in each.types}
    # Batch takes families, which are several types.
    is_one_pool = is_in_one_place(owner) and len(names) == 1 and "." in min(names) and not _has_to_be_close(launch)
    if is_one_pool and not launch.has_stated(SPOT):
        yield launch.named_types[0].broken(
            must="not be the only type in one subnet, which is one Spot pool that AWS can take back at once",
            cure=f"add types or subnets in other zones{_ON_DEMAND_BESIDE.get(owner.type, '')}, or write why: "
            "Metadata: {accel-fleet: {spot: reason}}",
        )


def _has_to_be_close(launch: Launch) -> bool:
    """Whether its instances stand in one zone because they have to: they talk by EFA, or in a placement group."""
    if launch.is_left_to_service:
        return False
    interfaces = launch.setting("NetworkInterfaces").each()
    by_fabric = any_of(lambda each: (each.text("InterfaceType") or "").startswith("efa"), interfaces)
    return by_fabric or any(not each.is_absent for each in _groups(launch))


def _groups(launch: Launch) -> list[Value]:
    """Where a placement group is named."""
    return [
        *(launch.setting(f"Placement.{name}") for name in ("GroupName", "GroupId")),
        launch.owner.properties.at("PlacementGroup"),
    ]


def _has_on_demand(owner: Resource) -> bool:
    if owner.type == FLEET:
        return bool(owner.properties.whole("TargetCapacitySpecification.OnDemandTargetCapacity"))
    if owner.type == SPOT_FLEET:
        return bool(owner.properties.whole("SpotFleetRequestConfigData.OnDemandTargetCapacity"))
    if owner.type != GROUP:
        return False
    spread = owner.properties.at(DISTRIBUTION)
    return bool(spread.whole("OnDemandBaseCapacity")) or bool(spread.whole("OnDemandPercentageAboveBaseCapacity"))


def _most_paid(launch: Launch) -> Iterator[Broken]:
    owner = launch.owner
    values: list[Value] = []
    if owner.type == GROUP and not owner.properties.at("MixedInstancesPolicy").is_absent:
        values.append(owner.properties.at(f"{DISTRIBUTION}.SpotMaxPrice"))
    elif owner.type == SPOT_FLEET:
        values.append(owner.properties.at("SpotFleetRequestConfigData.SpotPrice"))
    elif owner.type != BATCH and not launch.is_left_to_service:
        values.append(launch.setting("InstanceMarketOptions.SpotOptions.MaxPrice"))
    for each in values:
        if not each.is_absent and each.text() != "":
            yield each.broken(
                must="be left out: the current price is paid in any case, and a limit only interrupts more",
                cure="remove it",
            )


def _pool_beside_spot(launch: Launch) -> Iterator[Broken]:
    pool = warm_pool_of(launch.owner)
    if pool is not None:
        yield pool.properties.broken(
            "AutoScalingGroupName",
            must="be a group without Spot instances, beside which Auto Scaling allows no warm pool",
            cure="remove the warm pool, or buy On-Demand",
        )


RULES = (
    Rule(
        id="capacity-block-without-market-type",
        title="Types that are sold in Capacity Blocks only are started from one",
        severity=ERROR,
        practices=("COST07-BP01", "REL07-BP01"),
        why="Without the market type of blocks every launch fails, while the block is paid for.",
        cure_here="Write Purchase.capacity_block(...).",
        cure_plain="Set InstanceMarketOptions: {MarketType: capacity-block} in the launch template.",
        link=_BLOCKS,
        subjects=_blocks,
        judge=_market,
    ),
    Rule(
        id="capacity-block-without-target",
        title="A launch from a Capacity Block names the block",
        severity=ERROR,
        practices=("COST07-BP01", "REL07-BP01"),
        why="The market type alone does not say which block: launches fail, while the block is paid for.",
        cure_here="Purchase.capacity_block(reservation_id=...) names it.",
        cure_plain="Set CapacityReservationTarget: {CapacityReservationId: cr-...} in the launch template.",
        link=_BLOCKS,
        subjects=_blocks,
        judge=_target,
    ),
    Rule(
        id="node-group-capacity-block-half-set",
        title="A node group from a Capacity Block says so itself, and in its launch template",
        severity=ERROR,
        practices=("COST07-BP01", "REL07-BP01"),
        why=(
            "EKS is told by the node group, EC2 by the launch template. With one of the two missing, the group is not "
            "made or its launches fail, while the block is paid for."
        ),
        cure_here="This library makes no node groups; the launch templates of Purchase.capacity_block(...) are right.",
        cure_plain=(
            "Set CapacityType: CAPACITY_BLOCK, and in the launch template InstanceType, InstanceMarketOptions: "
            "{MarketType: capacity-block} and the CapacityReservationId."
        ),
        link="https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html",
        subjects=_node_groups,
        judge=_is_told_to_eks,
    ),
    Rule(
        id="capacity-block-not-alone",
        title="A Capacity Block is one type in one zone, without Spot, mixed policy or warm pool",
        severity=ERROR,
        practices=("COST07-BP01", "REL07-BP01"),
        why="Auto Scaling refuses these beside a block, and launches of other types or in other zones fail.",
        cure_here="AcceleratedFleet refuses what cannot be combined with Purchase.capacity_block(...).",
        cure_plain="Make a group for each block, with one type and one subnet.",
        link=_BLOCKS,
        subjects=_blocks,
        judge=_alone,
    ),
    Rule(
        id="capacity-block-without-end",
        title="A group goes to zero before its Capacity Block ends",
        severity=ERROR,
        practices=("SUS05-BP04/release", "COST04-BP04"),
        why=(
            "EC2 ends the instances from 30 minutes before the end on. The group takes that for a failed health check, "
            "cuts work off without a drain, and tries to replace them for ever."
        ),
        cure_here="Purchase.capacity_block(end=...) sets the sizes to 0 in time.",
        cure_plain="Add a ScheduledAction that sets the sizes to 0 more than 30 minutes before the end.",
        link=_BLOCKS,
        subjects=_blocks,
        judge=_end,
    ),
    Rule(
        id="type-not-sold-as-spot",
        title="Types that are bought as Spot are sold as Spot",
        severity=ERROR,
        practices=("COST07-BP01", "REL07-BP01"),
        why="A type that AWS does not sell as Spot never starts that way.",
        cure_here="AcceleratedFleet refuses such a type with Purchase.spot().",
        cure_plain="Choose another type, or another way to buy.",
        link=_SPOT,
        subjects=_with_spot,
        judge=_not_sold,
    ),
    Rule(
        id="spot-allocation-by-price-alone",
        title="Spot instances come from pools with capacity to spare",
        severity=WARNING,
        practices=("COST07-BP01", "REL07-BP01"),
        why=(
            "The cheapest pool, which is what the API takes unless told, is the one that is taken back most: work on "
            "accelerators is interrupted and done again."
        ),
        cure_here="Purchase.spot() is price-capacity-optimized.",
        cure_plain="Set the allocation strategy to price-capacity-optimized, or capacity-optimized for long work.",
        link=_STRATEGIES,
        subjects=_with_spot,
        judge=_allocation,
    ),
    Rule(
        id="spot-in-one-pool",
        title="Spot instances have another pool, or On-Demand, to turn to",
        severity=WARNING,
        practices=("REL07-BP01", "COST07-BP01"),
        why="A type in a zone is one pool. When AWS needs it all instances go at once, and none comes back.",
        cure_here="Name several instance_types or zones, or Purchase.mixed(on_demand_base=...).",
        cure_plain="Name more types or subnets, or set OnDemandBaseCapacity.",
        link=_SPOT,
        subjects=_with_spot,
        judge=_one_pool,
    ),
    Rule(
        id="spot-maximum-price",
        title="Spot instances have no maximum price",
        severity=WARNING,
        practices=("COST07-BP01",),
        why="The current price is paid whatever the limit is, so a limit saves nothing and interrupts more.",
        cure_here="AcceleratedFleet sets none.",
        cure_plain="Remove SpotMaxPrice, or MaxPrice.",
        link=_SPOT,
        subjects=_with_spot,
        judge=_most_paid,
    ),
    Rule(
        id="warm-pool-beside-spot",
        title="A warm pool belongs to a group without Spot instances",
        severity=ERROR,
        practices=("REL07-BP01",),
        why="Auto Scaling refuses a warm pool beside Spot instances: the deploy fails.",
        cure_here="AcceleratedFleet refuses WarmPool with Purchase.spot().",
        cure_plain="Remove the warm pool, or set OnDemandPercentageAboveBaseCapacity: 100.",
        link=_POOLS,
        subjects=_with_spot,
        judge=_pool_beside_spot,
    ),
)
