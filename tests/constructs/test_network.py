"""EFA: network interfaces, security group, zone; what it cannot be combined with."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from aws_cdk import App, Stack, Token
from aws_cdk import aws_ec2 as ec2
from aws_cdk.assertions import Annotations, Match, Template
from cfnlint import api  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from constructs_lib import AcceleratedType, FleetImage, Purchase, Telemetry
from constructs_lib.catalog import known_types
from constructs_lib.catalog.network_cards import NetworkCard
from constructs_lib.compliance import assert_compliant
from constructs_lib.errors import ArgumentError, FleetError
from constructs_lib.fleet.endpoints import FleetEndpoints
from constructs_lib.fleet.flexible_types import FlexibleTypes
from constructs_lib.fleet.network import FleetNetwork
from constructs_lib.fleet.placement import Placement
from tests.constructs.reading import only, plain, resources, text
from tests.constructs.test_cfn_lint import LINT
from tests.constructs.test_nag import synthesized
from tests.support.stacks import fleet, fleet_template, project_context, stack, vpc

EFA = FleetNetwork.efa()
# For types that AWS does not sell On-Demand.
IN_A_BLOCK: Mapping[str, Any] = {
    "purchase": Purchase.capacity_block(reservation_id="cr-0123456789abcdef0", end="2030-03-08T11:30:00Z"),
    "vpc_subnets": ec2.SubnetSelection(availability_zones=["us-east-1b"]),
}
SINGLE = [NetworkCard(interfaces=15, efa=True)]


def stated(name: str, cards: Sequence[NetworkCard] | None, **facts: Any) -> AcceleratedType:
    """A type that the catalogue does not have."""
    return AcceleratedType(
        name=name,
        kind="nvidia",
        model="R100",
        accelerators=8,
        accelerator_memory_mib=98_304,
        architecture="x86_64",
        network_cards=cards,
        **facts,
    )


C5N_LIKE = stated("g9.48xlarge", SINGLE, efa_interfaces=1)


def data_of(made: Mapping[str, Any]) -> dict[str, Any]:
    return dict(only(made, "AWS::EC2::LaunchTemplate")["Properties"]["LaunchTemplateData"])


def interfaces_of(made: Mapping[str, Any]) -> list[dict[str, Any]]:
    return list(data_of(made)["NetworkInterfaces"])


def warnings(made: Stack) -> list[str]:
    found = Annotations.from_stack(made).find_warning("/Test/Fleet", Match.any_value())
    return [str(each.entry.data) for each in found]


def efa_template(instance_types: Any, network: FleetNetwork = EFA, **arguments: Any) -> dict[str, Any]:
    return fleet_template(instance_types=instance_types, network=network, **arguments)


# --- interfaces -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("instance_type", "cards", "most"),
    [
        ("p4d.24xlarge", 4, 4),
        ("p5.48xlarge", 32, 32),
        ("p5en.48xlarge", 16, 16),
        ("trn1.32xlarge", 8, 8),
        ("g5.48xlarge", 1, 1),
        (C5N_LIKE, 1, 1),
    ],
    ids=str,
)
def test_case_19_device_indices_are_those_that_the_cards_have(
    instance_type: str | AcceleratedType, cards: int, most: int
) -> None:
    made = efa_template(instance_type)
    interfaces = interfaces_of(made)
    places = [(each["NetworkCardIndex"], each["DeviceIndex"]) for each in interfaces]
    assert [
        each["InterfaceType"] != "efa-only" for each, place in zip(interfaces, places, strict=True) if place == (0, 0)
    ] == [True]
    assert {device for _, device in places} <= {0, 1}
    assert len(set(places)) == len(places)
    assert sorted({card for card, _ in places}) == list(range(cards))
    adapters = [each for each in interfaces if each["InterfaceType"] in ("efa", "efa-only")]
    assert len(adapters) == most
    assert len({each["NetworkCardIndex"] for each in adapters}) == most
    assert all("AssociatePublicIpAddress" not in each and "SubnetId" not in each for each in interfaces)
    assert all(each["DeleteOnTermination"] is True for each in interfaces)
    assert [[text(id) for id in each["Groups"]] for each in interfaces] == [["<FleetSecurityGroup.GroupId>"]] * len(
        interfaces
    )
    assert "SecurityGroupIds" not in data_of(made)


def layout(made: Mapping[str, Any]) -> list[tuple[int, int, str]]:
    return [(each["NetworkCardIndex"], each["DeviceIndex"], each["InterfaceType"]) for each in interfaces_of(made)]


def test_the_layout_is_that_which_aws_recommends() -> None:
    """ "Maximize network bandwidth on Amazon EC2 instances with multiple network cards", EC2 User Guide."""
    assert layout(efa_template("p4d.24xlarge")) == [
        (0, 0, "interface"),
        (0, 1, "efa-only"),
        (1, 0, "efa-only"),
        (2, 0, "efa-only"),
        (3, 0, "efa-only"),
    ]


def test_a_first_card_without_efa_has_the_primary_interface_alone() -> None:
    made = layout(efa_template("p6-b300.48xlarge"))
    assert made == [(0, 0, "interface"), *((card, 0, "efa-only") for card in range(1, 17))]


@pytest.mark.parametrize(("count", "cards"), [(None, range(1, 16, 2)), (8, range(1, 16, 2)), (4, (1, 5, 9, 13))])
def test_p6e_has_documented_choices_of_cards(count: int | None, cards: Sequence[int]) -> None:
    made = layout(efa_template("p6e-gb200.36xlarge", FleetNetwork.efa(interfaces=count), **IN_A_BLOCK))
    assert made == [(0, 0, "interface"), *((card, 0, "efa-only") for card in cards)]


def test_a_single_card_needs_one_interface_for_both() -> None:
    assert layout(efa_template("g6e.8xlarge")) == [(0, 0, "efa")]
    crowded = [NetworkCard(interfaces=1, efa=True), NetworkCard(interfaces=1, efa=True)]
    assert layout(efa_template(stated("g9.24xlarge", crowded))) == [(0, 0, "efa"), (1, 0, "efa-only")]


def test_fewer_adapters_than_the_type_takes() -> None:
    made = layout(efa_template("p5.48xlarge", FleetNetwork.efa(interfaces=2)))
    assert made == [(0, 0, "interface"), (0, 1, "efa-only"), (1, 0, "efa-only")]


@pytest.mark.parametrize(
    "name", [each.name for each in known_types().values() if each.network_cards and each.status != "retired"]
)
def test_every_type_of_the_catalogue_gets_interfaces_that_its_cards_take_or_a_reason(name: str) -> None:
    facts = known_types()[name]
    cards = facts.network_cards or ()
    if not any(card.efa for card in cards):
        with pytest.raises(ArgumentError, match=f"for {name}, which take no EFA"):
            EFA.interfaces("Test", [facts])
        return
    made = EFA.interfaces("Test", [facts])
    assert (made[0].card, made[0].device) == (0, 0)
    assert made[0].type != "efa-only"
    on_card = {index: [each for each in made if each.card == index] for index in range(len(cards))}
    assert sum(map(len, on_card.values())) == len(made)
    for index, card in enumerate(cards):
        assert len(on_card[index]) <= min(card.interfaces, 2)
        assert sum(each.type != "interface" for each in on_card[index]) <= int(card.efa)
    assert 0 < sum(each.type != "interface" for each in made) <= (facts.efa_interfaces or 0)


def test_without_efa_the_template_says_nothing_of_interfaces() -> None:
    made = fleet_template(instance_types="p4d.24xlarge")
    assert json.dumps(made) == json.dumps(
        fleet_template(instance_types="p4d.24xlarge", network=FleetNetwork.standard())
    )
    assert "NetworkInterfaces" not in data_of(made)
    assert "SecurityGroupIds" in data_of(made)


def test_case_51_interfaces_still_carry_the_fleets_tag() -> None:
    tagged = [each["ResourceType"] for each in data_of(efa_template("p4d.24xlarge"))["TagSpecifications"]]
    assert tagged == ["instance", "volume", "network-interface"]


# --- security group -------------------------------------------------------------------------------


def rules(made: Mapping[str, Any], direction: str) -> list[tuple[str, str, str]]:
    """Protocol, owner and other side of each rule that names a group, whether it stands inside the group or not."""
    other = {"Ingress": "SourceSecurityGroupId", "Egress": "DestinationSecurityGroupId"}[direction]
    found = [each["Properties"] for each in resources(made, f"AWS::EC2::SecurityGroup{direction}").values()]
    for id, group in resources(made, "AWS::EC2::SecurityGroup").items():
        inside = group["Properties"].get(f"SecurityGroup{direction}", [])
        found += [{**each, "GroupId": {"Fn::GetAtt": [id, "GroupId"]}} for each in inside]
    return [(each["IpProtocol"], text(each["GroupId"]), text(each[other])) for each in found if other in each]


def test_case_10_the_own_group_lets_everything_in_from_itself_and_out_to_itself() -> None:
    made = efa_template("p4d.24xlarge")
    own = "<FleetSecurityGroup.GroupId>"
    assert rules(made, "Ingress") == [("-1", own, own)]
    assert rules(made, "Egress") == [("-1", own, own)]


@pytest.mark.parametrize("all_outbound", [True, False])
@pytest.mark.parametrize("context", [{}, project_context()], ids=["no flags", "project"])
@pytest.mark.parametrize("by_user", [True, False], ids=["rules there", "no rules"])
def test_case_10_a_group_of_the_users(all_outbound: bool, context: Mapping[str, Any], by_user: bool) -> None:
    test_stack = stack(context=context)
    network = vpc(test_stack)
    group = ec2.SecurityGroup(test_stack, "Own", vpc=network, allow_all_outbound=all_outbound)
    if by_user:
        group.add_ingress_rule(group, ec2.Port.all_traffic())
        if not all_outbound:
            group.add_egress_rule(group, ec2.Port.all_traffic())
    fleet(test_stack, vpc=network, instance_types="p4d.24xlarge", network=EFA, security_group=group, min_capacity=1)
    fleet(test_stack, "Second", vpc=network, instance_types="p4d.24xlarge", network=EFA, security_group=group)
    made = Template.from_stack(test_stack).to_json()
    own = "<Own.GroupId>"
    assert rules(made, "Ingress") == [("-1", own, own)]
    assert rules(made, "Egress") == [("-1", own, own)]
    assert not any("EfaRules" in each for each in warnings(test_stack))


def test_case_10_an_imported_group_that_may_be_changed() -> None:
    test_stack = stack()
    group = ec2.SecurityGroup.from_security_group_id(test_stack, "Imported", "sg-0123456789abcdef0")
    fleet(test_stack, instance_types="p4d.24xlarge", network=EFA, security_group=group)
    made = Template.from_stack(test_stack).to_json()
    assert rules(made, "Ingress") == [("-1", "sg-0123456789abcdef0", "sg-0123456789abcdef0")]
    assert rules(made, "Egress") == [("-1", "sg-0123456789abcdef0", "sg-0123456789abcdef0")]


def test_case_10_an_imported_group_that_may_not_be_changed_is_told() -> None:
    test_stack = stack()
    group = ec2.SecurityGroup.from_security_group_id(test_stack, "Imported", "sg-0123456789abcdef0", mutable=False)
    network = vpc(test_stack, zones=1)
    fleet(
        test_stack,
        vpc=network,
        instance_types="p4d.24xlarge",
        network=EFA,
        security_group=group,
        min_capacity=1,
    )
    assert warnings(test_stack) == [
        "the imported security_group is not ours to change; it must allow all traffic (protocol -1) in from itself and "
        "out to itself, each by a rule that names the group, else EFA hangs "
        "[ack: @cdk-accelerated-fleet/fleet:EfaRules]"
    ]
    assert rules(Template.from_stack(test_stack).to_json(), "Egress") == []


def test_connections_still_work_and_a_group_added_later_is_on_every_interface() -> None:
    test_stack = stack()
    network = vpc(test_stack)
    made = fleet(test_stack, vpc=network, instance_types="p4d.24xlarge", network=EFA)
    made.connections.allow_from(ec2.Peer.ipv4("10.0.0.0/8"), ec2.Port.tcp(22))
    made.auto_scaling_group.connections.allow_from(ec2.Peer.ipv4("10.0.0.0/8"), ec2.Port.tcp(443))
    made.launch_template.add_security_group(ec2.SecurityGroup(test_stack, "Later", vpc=network))
    synthesized = Template.from_stack(test_stack).to_json()
    group = resources(synthesized, "AWS::EC2::SecurityGroup")
    (own,) = [each for id, each in group.items() if id.startswith("FleetSecurityGroup")]
    assert sorted(each["FromPort"] for each in own["Properties"]["SecurityGroupIngress"]) == [22, 443]
    expected = ["<FleetSecurityGroup.GroupId>", "<Later.GroupId>"]
    assert all([text(id) for id in each["Groups"]] == expected for each in interfaces_of(synthesized))


# --- zone -----------------------------------------------------------------------------------------


def subnets_of(made: Mapping[str, Any]) -> list[str]:
    return list(only(made, "AWS::AutoScaling::AutoScalingGroup")["Properties"]["VPCZoneIdentifier"])


def test_efa_takes_the_first_zone_by_itself_and_says_so() -> None:
    test_stack = stack()
    fleet(test_stack, vpc=vpc(test_stack, zones=3), instance_types="p4d.24xlarge", network=EFA, min_capacity=1)
    (warning,) = warnings(test_stack)
    assert warning.startswith("the fleet is kept in one zone, and takes the VPC's first")
    assert warning.endswith("[ack: @cdk-accelerated-fleet/fleet:ZoneChosen]")
    assert subnets_of(Template.from_stack(test_stack).to_json()) == ["subnet-0123456789abcdf00"]


def test_case_28_no_zone_is_invented_where_the_stack_knows_none() -> None:
    test_stack = stack()
    fleet(test_stack, vpc=ec2.Vpc(test_stack, "Vpc"), instance_types="p4d.24xlarge", network=EFA)
    made = Template.from_stack(test_stack).to_json()
    assert [text(each) for each in subnets_of(made)] == ["<VpcPrivateSubnet1Subnet>"]
    assert "us-east-1" not in json.dumps(only(made, "AWS::AutoScaling::AutoScalingGroup"))


def test_case_28_the_named_zone_is_the_groups() -> None:
    test_stack = stack()
    chosen = ec2.SubnetSelection(availability_zones=["us-east-1c"])
    fleet(
        test_stack,
        vpc=vpc(test_stack, zones=3),
        vpc_subnets=chosen,
        instance_types="p4d.24xlarge",
        network=EFA,
        min_capacity=1,
    )
    assert warnings(test_stack) == []
    assert subnets_of(Template.from_stack(test_stack).to_json()) == ["subnet-0123456789abcdf02"]


def test_several_subnets_of_one_zone_are_one_zone() -> None:
    test_stack = stack()
    subnets = [
        ec2.Subnet.from_subnet_attributes(
            test_stack, f"Subnet{index}", subnet_id=f"subnet-0123456789abcde0{index}", availability_zone="us-east-1a"
        )
        for index in range(2)
    ]
    chosen = ec2.SubnetSelection(subnets=subnets)
    fleet(test_stack, vpc=vpc(test_stack), vpc_subnets=chosen, instance_types="p4d.24xlarge", network=EFA)
    assert len(subnets_of(Template.from_stack(test_stack).to_json())) == 2


def test_several_zones_are_refused() -> None:
    with pytest.raises(
        ArgumentError,
        match=r"^Test/Fleet: vpc_subnets must select subnets of one zone, since EFA traffic does not leave its zone, "
        r"got 'subnets in 2 zones'; name one: .+, or leave it out for the VPC's first zone$",
    ):
        efa_template("p4d.24xlarge", vpc_subnets=ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS))


@pytest.mark.parametrize("network", [EFA, FleetNetwork.standard()], ids=["efa", "standard"])
def test_subnets_whose_zones_nobody_knows_are_refused(network: FleetNetwork) -> None:
    test_stack = stack()
    subnet = ec2.Subnet.from_subnet_id(test_stack, "Subnet", "subnet-0123456789abcde00")
    with pytest.raises(
        ArgumentError,
        match=r"^Test/Fleet: vpc_subnets must hold subnets with their zones, got 'a subnet without'; import each with "
        r"Subnet\.from_subnet_attributes",
    ):
        fleet(
            test_stack,
            vpc=vpc(test_stack),
            vpc_subnets=ec2.SubnetSelection(subnets=[subnet]),
            instance_types="p4d.24xlarge",
            network=network,
        )


@pytest.mark.parametrize("chosen", [None, ec2.SubnetSelection(availability_zones=["us-east-1c"])])
def test_a_vpc_that_is_yet_to_be_looked_up_is_not_judged(chosen: ec2.SubnetSelection | None) -> None:
    test_stack = stack(env={"account": "111122223333", "region": "us-east-1"})
    network = ec2.Vpc.from_lookup(test_stack, "Vpc", vpc_id="vpc-0123456789abcdef0")
    fleet(test_stack, vpc=network, vpc_subnets=chosen, instance_types="p4d.24xlarge", network=EFA, min_capacity=1)
    assert warnings(test_stack) == []


@pytest.mark.parametrize(
    ("region", "types", "told"),
    [
        ("eu-west-1", ["g6.xlarge", "g5.xlarge"], ["g6.xlarge"]),
        ("eu-west-1", ["g5.xlarge"], []),
        ("eu-west-1", FlexibleTypes(kind="nvidia", models=["L4", "A10G"], usd_per_hour=20), []),
        ("moon-north-1", ["g6.xlarge"], []),
        (None, ["g6.xlarge"], []),
        ("eu-west-1", stated("g9.xlarge", SINGLE), []),
        ("eu-west-1", stated("g9.xlarge", SINGLE, regions=["us-east-1"]), ["g9.xlarge"]),
    ],
)
def test_case_28_a_type_that_the_region_does_not_have_is_told(region: str | None, types: Any, told: list[str]) -> None:
    test_stack = stack(env=None if region is None else {"region": region})
    fleet(test_stack, instance_types=types, min_capacity=1)
    expected = [
        f"AWS did not offer {', '.join(told)} in {region} when it was asked on 2026-10-27: launches may fail; name "
        "other types, or acknowledge this warning if it does now (aws ec2 describe-instance-type-offerings) "
        "[ack: @cdk-accelerated-fleet/fleet:NotOffered]"
    ]
    assert warnings(test_stack) == (expected if told else [])


# --- public subnets -------------------------------------------------------------------------------


@pytest.mark.parametrize(("instance_type", "told"), [("p4d.24xlarge", True), ("g5.48xlarge", False)])
def test_case_19_several_interfaces_get_no_public_address(instance_type: str, told: bool) -> None:
    test_stack = stack()
    public = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PUBLIC)
    network = vpc(test_stack, zones=1)
    fleet(test_stack, vpc=network, vpc_subnets=public, instance_types=instance_type, network=EFA, min_capacity=1)
    assert ["NoPublicAddress" in each and "NAT gateway" in each for each in warnings(test_stack)] == [True] * told


# --- what it cannot be combined with --------------------------------------------------------------


@pytest.mark.parametrize(
    ("network", "instance_types", "message"),
    [
        (EFA, "g6.xlarge", r"network must be FleetNetwork.standard\(\) for g6.xlarge, which take no EFA, got "
                           r"FleetNetwork.efa\(\); choose from g6.8xlarge, "),
        (EFA, ["g6.8xlarge", "g6.xlarge"], r"for g6.xlarge, which take no EFA"),
        (EFA, "inf2.48xlarge", r"which take no EFA, got .+; choose other types: no size of the family takes it"),
        (EFA, stated("g9.large", None), r"network must be FleetNetwork.standard\(\) for g9.large, whose network cards "
                                        r"are not known, .+network_cards="),
        (EFA, stated("g9.large", None, efa_interfaces=4), r"whose network cards are not known"),
        (EFA, stated("g9.large", None, efa_interfaces=0), r"which take no EFA"),
        (EFA, ["p5.48xlarge", "p5en.48xlarge"], r"instance_types must share one layout of network cards, got \{'p5.48x"
                                                r".+'EFA on 32 of 32 cards'.+one fleet for each"),
        (FleetNetwork.efa(interfaces=4), ["p5.48xlarge", "p5en.48xlarge"], r"share one layout of network cards"),
        (EFA, ["p4d.24xlarge", "p4de.24xlarge"], r"instance_types must hold one family where EFA traffic reaches no "
                                                 r"other \(p4d, p4de\), got .+; make one fleet for each family"),
        (EFA, ["g6e.48xlarge", "p4d.24xlarge"], r"where EFA traffic reaches no other \(p4d\)"),
        (FleetNetwork.efa(interfaces=5), "p4d.24xlarge", r"network.interfaces must be at most 4 for p4d.24xl"),
        (FleetNetwork.efa(interfaces=2), "g5.48xlarge", r"network.interfaces must be at most 1 for g5.48xlarge, got 2"),
        ("efa", "p4d.24xlarge", r"network must be a FleetNetwork, got 'efa'; make it with FleetNetwork.efa\(\)"),
    ],
)  # fmt: skip
def test_what_efa_cannot_be_combined_with(network: Any, instance_types: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=rf"^Test/Fleet: .*{message}"):
        fleet_template(instance_types=instance_types, network=network)


def test_p6e_takes_as_many_interfaces_as_aws_documents() -> None:
    with pytest.raises(ArgumentError, match=r"^Test/Fleet: network.interfaces must be 4 or 8 for p6e-gb200"):
        efa_template("p6e-gb200.36xlarge", FleetNetwork.efa(interfaces=16), **IN_A_BLOCK)


@pytest.mark.parametrize("types", [["p5.48xlarge", "p5e.48xlarge"], ["g5.48xlarge", "g6.48xlarge", "g6e.8xlarge"]])
@pytest.mark.parametrize("purchase", [Purchase.spot(), Purchase.on_demand()], ids=["spot", "on-demand"])
def test_types_with_equal_cards_may_be_mixed(types: list[str], purchase: Purchase) -> None:
    assert interfaces_of(efa_template(types, purchase=purchase))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"interfaces": 0}, "interfaces must be a whole number at least 1, got 0; "),
        ({"interfaces": "all"}, "interfaces must be a whole number at least 1, got 'all'; "),
        ({"interfaces": True}, "interfaces must be a whole number at least 1, got True; "),
        ({"interfaces": Token.as_number({"Ref": "N"})}, "interfaces must be known at synth, since it is checked, got "),
        ({"placement": "cluster"}, "placement must be of type Placement, got 'cluster'; write Placement.cluster()"),
        ({"placement": Placement}, "placement must be of type Placement, got <class"),
    ],
)
def test_values_that_efa_does_not_take(arguments: Mapping[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        FleetNetwork.efa(**arguments)
    assert str(refused.value).startswith(f"FleetNetwork.efa: {message}")


def test_values_that_the_standard_network_does_not_take() -> None:
    with pytest.raises(ArgumentError, match=r"^FleetNetwork.standard: placement must be of type Placement, got 1; "):
        FleetNetwork.standard(placement=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        FleetNetwork.standard(Placement.none())  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        FleetNetwork.efa(4)  # type: ignore[call-arg]


def test_case_72_none_is_as_if_left_out_and_equal_values_are_equal() -> None:
    assert FleetNetwork.efa(interfaces=None, placement=None) == FleetNetwork.efa()
    assert FleetNetwork.standard(placement=None) == FleetNetwork.standard()
    assert FleetNetwork.standard(placement=Placement.none()) == FleetNetwork.standard()
    assert repr(FleetNetwork.standard(placement=Placement.none())) == repr(FleetNetwork.standard())
    assert FleetNetwork.standard(placement=Placement.spread()) != FleetNetwork.standard()
    # Its default is a cluster where that can be.
    assert FleetNetwork.efa(placement=Placement.none()) != FleetNetwork.efa()
    assert FleetNetwork.efa(interfaces=4) != FleetNetwork.efa()
    assert FleetNetwork.standard() != FleetNetwork.efa()
    assert hash(FleetNetwork.efa(interfaces=4)) == hash(FleetNetwork.efa(interfaces=4))
    assert repr(FleetNetwork.efa(interfaces=4)) == "FleetNetwork.efa(interfaces=4)"
    assert repr(FleetNetwork.standard(placement=Placement.spread())) == (
        "FleetNetwork.standard(placement=Placement.spread())"
    )
    plain_fleet = fleet_template(instance_types="p4d.24xlarge")
    assert fleet_template(instance_types="p4d.24xlarge", network=None) == plain_fleet


@pytest.mark.parametrize("flexible", [FlexibleTypes(kind="nvidia", models=["A10G"]), FlexibleTypes(kind="nvidia")])
def test_types_by_attributes_are_held_to_the_same(flexible: FlexibleTypes) -> None:
    with pytest.raises(
        ArgumentError, match=r"^Test/Fleet: network must be .+, which take no EFA, got .+; choose from g"
    ):
        efa_template(flexible)
    alike = FlexibleTypes(kind="nvidia", models=["A10G"], vcpus=32)
    assert layout(efa_template(alike)) == [(0, 0, "efa")]


_ZONE = ec2.SubnetSelection(availability_zones=["us-east-1b"])
_PURCHASES: Sequence[Callable[[], Purchase]] = [
    Purchase.on_demand,
    Purchase.spot,
    lambda: Purchase.reservation(reservation_id="cr-0123456789abcdef0"),
    lambda: Purchase.capacity_block(reservation_id="cr-0123456789abcdef0", end="2027-03-01T11:30:00Z"),
]
_PLACEMENTS = [
    None,
    Placement.cluster(),
    Placement.partition(3),
    Placement.spread(),
    Placement.none(),
    Placement.in_group("ml"),
]


@settings(max_examples=20, derandomize=True)
@given(
    make=st.sampled_from([FleetNetwork.efa, FleetNetwork.standard]),
    placement=st.sampled_from(_PLACEMENTS),
    purchase=st.sampled_from(_PURCHASES),
    types=st.sampled_from(
        [["p5.48xlarge"], ["g5.48xlarge", "g6.48xlarge"], ["g6.xlarge"], ["p4d.24xlarge", "p5.48xlarge"]]
    ),
    vpc_subnets=st.sampled_from(
        [None, _ZONE, ec2.SubnetSelection(subnet_type=ec2.SubnetType.PUBLIC, availability_zones=["us-east-1a"])]
    ),
    max_capacity=st.sampled_from([1, 7, 8, 15]),
)
def test_every_combination_is_a_template_or_our_error(
    make: Callable[..., FleetNetwork],
    placement: Placement | None,
    purchase: Callable[[], Purchase],
    types: list[str],
    vpc_subnets: ec2.SubnetSelection | None,
    max_capacity: int,
) -> None:
    message = None
    try:
        made = fleet_template(
            network=make(placement=placement),
            purchase=purchase(),
            instance_types=types,
            vpc_subnets=vpc_subnets,
            max_capacity=max_capacity,
        )
    except FleetError as refused:
        message = str(refused)
    if message is not None:
        assert re.match(r"Test/Fleet: [\w.]+ must .+, got .+; .+", message, re.DOTALL)
        return
    found = api.lint(json.dumps(made), config={**LINT, "regions": ["us-west-2"]})
    assert [str(each) for each in found] == []
    assert_compliant(made)


# --- the whole template ---------------------------------------------------------------------------


@pytest.mark.parametrize("context", [{}, project_context()], ids=["no flags", "project"])
@pytest.mark.parametrize(
    ("instance_types", "arguments"),
    [
        ("p4d.24xlarge", {}),
        ("p5.48xlarge", {"telemetry": Telemetry(network=True)}),
        ("p6-b300.48xlarge", {"network": FleetNetwork.efa(placement=Placement.none())}),
        ("trn1.32xlarge", {"telemetry": Telemetry(network=True)}),
        (["g5.48xlarge", "g6.48xlarge"], {"purchase": Purchase.spot()}),
        ("vt1.24xlarge", {"image": FleetImage.from_ssm_parameter("/golden/vt1")}),
        ("p4d.24xlarge", {"network": FleetNetwork.standard(placement=Placement.spread())}),
        ("g6.xlarge", {"network": FleetNetwork.standard(placement=Placement.partition(7))}),
        ("g6.xlarge", {"network": FleetNetwork.standard(placement=Placement.cluster())}),
        ("g6.xlarge", {"network": FleetNetwork.standard(placement=Placement.in_group("ml"))}),
    ],
)
def test_cfn_lint_finds_nothing(instance_types: Any, arguments: Mapping[str, Any], context: Mapping[str, Any]) -> None:
    made = fleet_template(context, **{"instance_types": instance_types, "network": EFA, **arguments})
    found = api.lint(json.dumps(made), config={**LINT, "regions": ["us-west-2"]})
    assert [str(each) for each in found] == []


@pytest.mark.parametrize("context", [{}, project_context()], ids=["no flags", "project"])
def test_the_rule_pack_finds_nothing(context: Mapping[str, Any]) -> None:
    app = App(context=dict(context))
    test_stack = Stack(app, "Test")
    network = vpc(test_stack)
    made = fleet(test_stack, vpc=network, instance_types="p4d.24xlarge", network=EFA)
    private = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS)
    FleetEndpoints(test_stack, "Endpoints", vpc=network, vpc_subnets=private, callers=[made], existing=["s3"])
    failed = [each for each in synthesized(app)["pluginReports"] if each["conclusion"] != "success"]
    assert failed == []


def test_efa_counters_are_measured_where_the_network_is() -> None:
    made = efa_template("p4d.24xlarge", telemetry=Telemetry(network=True))
    configurations = [plain(each["Properties"]["Value"]) for each in resources(made, "AWS::SSM::Parameter").values()]
    assert any("efa" in json.loads(each)["metrics"]["metrics_collected"] for each in configurations)


def test_the_same_input_gives_the_same_bytes() -> None:
    first, second = (json.dumps(efa_template("p5.48xlarge")) for _ in range(2))
    assert first == second
