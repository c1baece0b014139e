"""EFA: field cases 10 and 19; "Maximize network bandwidth on instances with multiple network cards", EC2 User Guide."""

from typing import Any

from tests.compliance.cases import Breaks, Case, group, template

_PATH = "LaunchTemplateData.NetworkInterfaces"
_ID = {"Fn::GetAtt": ["Guard", "GroupId"]}
_ANYWHERE = {"IpProtocol": "-1", "CidrIp": "0.0.0.0/0"}


def _interface(card: int = 0, device: int = 0, kind: str = "interface", **more: Any) -> dict[str, Any]:
    return {"NetworkCardIndex": card, "DeviceIndex": device, "InterfaceType": kind, "Groups": [_ID], **more}


_P5 = [_interface(), _interface(0, 1, "efa-only"), *(_interface(card, 0, "efa-only") for card in range(1, 32))]


def _rule(way: str, other: str, protocol: str = "-1") -> dict[str, Any]:
    return {"Type": f"EC2::SecurityGroup{way}", "Properties": {"GroupId": _ID, "IpProtocol": protocol, other: _ID}}


_IN = _rule("Ingress", "SourceSecurityGroupId")
_OUT = _rule("Egress", "DestinationSecurityGroupId")


def _wired(
    *interfaces: Any,
    types: tuple[str, ...] = ("p5.48xlarge",),
    properties: Any = None,
    launch: Any = None,
    guard: Any = None,
    rules: tuple[Any, ...] = (_IN, _OUT),
    **more: Any,
) -> dict[str, Any]:
    return group(
        *types,
        launch={"NetworkInterfaces": list(interfaces), **(launch or {})},
        properties={"VPCZoneIdentifier": ["subnet-a"], **(properties or {})},
        Guard={"Type": "EC2::SecurityGroup", "Properties": {"GroupDescription": "nodes", **(guard or {})}},
        **{f"Rule{number}": each for number, each in enumerate(rules)},
        **more,
    )


def _apart(named: str, *rules: Any) -> dict[str, Any]:
    properties = {"SubnetId": "subnet-a", "InterfaceType": "efa", "GroupSet": [_ID]}
    interfaces = [{"DeviceIndex": "0", "NetworkInterfaceId": {"Ref": "Adapter"}}]
    return template(
        Guard={"Type": "EC2::SecurityGroup", "Properties": {"GroupDescription": "nodes"}},
        Adapter={"Type": "EC2::NetworkInterface", "Properties": properties},
        Box={"Type": "EC2::Instance", "Properties": {"InstanceType": named, "NetworkInterfaces": interfaces}},
        **{f"Rule{number}": each for number, each in enumerate(rules)},
    )


def _subnets(*zones: Any) -> dict[str, Any]:
    return {
        f"Subnet{number}": {"Type": "EC2::Subnet", "Properties": {"AvailabilityZone": zone}}
        for number, zone in enumerate(zones)
    }


_BOTH = {"VPCZoneIdentifier": [{"Ref": "Subnet0"}, {"Ref": "Subnet1"}]}
_FIRST = {"Fn::Select": [0, {"Fn::GetAZs": ""}]}
_SECOND = {"Fn::Select": [1, {"Fn::GetAZs": ""}]}
_UNKNOWN = {"Parameters": {"Interfaces": {"Type": "String"}}} | group(
    "p5.48xlarge", launch={"NetworkInterfaces": {"Ref": "Interfaces"}}
)
_ALIEN = group("p5.48xlarge", launch={"NetworkInterfaces": [{**_interface(0, 0, "efa"), "Groups": ["sg-1"]}]})

CASES = (
    Case(
        rule="efa-not-on-type",
        breaks=(
            Breaks(
                template=_wired(_interface(0, 0, "efa"), types=("g6.xlarge",)),
                resource="Launch",
                property=f"{_PATH}[0].InterfaceType",
                got="'efa'",
            ),
            Breaks(
                template=_wired(_interface(0, 0, "efa"), _interface(0, 1, "efa"), types=("g5.48xlarge",)),
                resource="Launch",
                property=f"{_PATH}[1].InterfaceType",
                got="'efa'",
            ),
        ),
        keeps=(
            _wired(*_P5),
            _wired(_interface(0, 0, "efa"), types=("g5.48xlarge",)),
            _wired(_interface(), types=("g6.xlarge",)),
        ),
        # AWS's pages contradict each other on DL1; of the size nobody knows anything.
        unknown=(
            _UNKNOWN,
            _wired(_interface(0, 0, "efa"), types=("dl1.24xlarge",)),
            _wired(_interface(0, 0, "efa"), types=("g6.96xlarge",)),
        ),
    ),
    Case(
        rule="efa-without-self-rules",
        breaks=(
            Breaks(template=_wired(*_P5, rules=()), resource="Guard", property="SecurityGroupIngress", got="none"),
            # An interface that is a resource of its own.
            Breaks(template=_apart("p4d.24xlarge"), resource="Guard", property="SecurityGroupIngress", got="none"),
            # "Allow all outbound" is not enough.
            Breaks(
                template=_wired(*_P5, guard={"SecurityGroupEgress": [_ANYWHERE]}, rules=(_IN,)),
                resource="Guard",
                property="SecurityGroupEgress",
                got="rules without it",
            ),
            Breaks(template=_wired(*_P5, rules=(_IN,)), resource="Guard", property="SecurityGroupEgress", got="none"),
            Breaks(
                template=_wired(*_P5, rules=(_rule("Ingress", "SourceSecurityGroupId", "tcp"), _OUT)),
                resource="Guard",
                property="SecurityGroupIngress",
            ),
        ),
        keeps=(_wired(*_P5), _wired(_interface(), types=("g6.xlarge",), rules=())),
        unknown=(
            _ALIEN,
            _UNKNOWN,
            _wired(*_P5, rules=()) | {"Outputs": {"Guard": {"Value": _ID, "Export": {"Name": "guard"}}}},
            _wired(*_P5, rules=()) | {"Transform": "OfOurs"},
        ),
    ),
    Case(
        rule="efa-between-types",
        breaks=(
            Breaks(
                template=_wired(_interface(0, 0, "efa"), types=("p4d.24xlarge", "p5.48xlarge")),
                resource="Group",
                property="MixedInstancesPolicy.LaunchTemplate.Overrides[0].InstanceType",
                got="p4d.24xlarge, p5.48xlarge",
            ),
        ),
        keeps=(
            _wired(_interface(0, 0, "efa"), types=("p5.48xlarge", "p5en.48xlarge")),
            _wired(_interface(), types=("p4d.24xlarge", "p5.48xlarge")),
        ),
        unknown=(_UNKNOWN, _wired(_interface(0, 0, "efa"), types=("p4d.24xlarge", "p5.96xlarge"))),
    ),
    Case(
        rule="efa-in-several-zones",
        breaks=(
            Breaks(
                template=_wired(*_P5, properties=_BOTH, **_subnets("us-east-1a", "us-east-1b")),
                resource="Group",
                property="VPCZoneIdentifier",
                got="2 in different zones",
            ),
            Breaks(
                template=_wired(*_P5, properties=_BOTH, **_subnets(_FIRST, _SECOND)),
                resource="Group",
                property="VPCZoneIdentifier",
            ),
        ),
        keeps=(
            _wired(*_P5),
            _wired(*_P5, properties=_BOTH, **_subnets("us-east-1a", "us-east-1a")),
            _wired(_interface(), properties=_BOTH, **_subnets("us-east-1a", "us-east-1b")),
        ),
        unknown=(
            _wired(*_P5, properties={"VPCZoneIdentifier": ["subnet-a", "subnet-b"]}),
            _wired(*_P5, properties=_BOTH, **_subnets(_FIRST, "us-east-1a")),
        ),
    ),
    Case(
        rule="network-card-layout",
        breaks=(
            # The device index goes up with the card.
            Breaks(
                template=_wired(_interface(0, 0, "efa"), *(_interface(card, card, "efa") for card in (1, 2, 3))),
                resource="Launch",
                property=f"{_PATH}[2].DeviceIndex",
                got="2",
            ),
            Breaks(
                template=_wired(_interface(), _interface(1, 0, "efa-only"), types=("g6.12xlarge",)),
                resource="Launch",
                property=f"{_PATH}[1].NetworkCardIndex",
                got="1",
            ),
            Breaks(
                template=_wired(_interface(), _interface(0, 0, "efa-only")),
                resource="Launch",
                property=f"{_PATH}[0].DeviceIndex",
            ),
            Breaks(
                template=_wired(_interface(0, 0, "efa-only")), resource="Launch", property=f"{_PATH}[0].InterfaceType"
            ),
            Breaks(template=_wired(_interface(1, 1, "efa")), resource="Launch", property=_PATH),
            Breaks(
                template=_wired(_interface(0, 0, "efa"), _interface(0, 1, "efa-only")),
                resource="Launch",
                property=f"{_PATH}[1].InterfaceType",
                got="efa-only",
            ),
            Breaks(
                template=_wired(_interface(), _interface(0, 1, "efa-only"), types=("p6-b300.48xlarge",)),
                resource="Launch",
                property=f"{_PATH}[1].InterfaceType",
                got="efa-only",
            ),
        ),
        keeps=(
            _wired(*_P5),
            # The older layout.
            _wired(
                _interface(0, 0, "efa"), *(_interface(card, 1, "efa") for card in (1, 2, 3)), types=("p4d.24xlarge",)
            ),
            _wired(_interface(), _interface(0, 1), _interface(0, 2), types=("g6.xlarge",)),
            group("g6.xlarge"),
        ),
        unknown=(_UNKNOWN,),
    ),
    Case(
        rule="public-address-with-several-interfaces",
        breaks=(
            Breaks(
                template=_wired(_interface(AssociatePublicIpAddress=True), *_P5[1:]),
                resource="Launch",
                property=f"{_PATH}[0].AssociatePublicIpAddress",
                got="true",
            ),
        ),
        keeps=(_wired(*_P5), _wired(_interface(AssociatePublicIpAddress=True))),
        unknown=(_UNKNOWN,),
    ),
    Case(
        rule="security-groups-beside-interfaces",
        breaks=(
            Breaks(
                template=_wired(*_P5, launch={"SecurityGroupIds": [_ID]}),
                resource="Launch",
                property="LaunchTemplateData.SecurityGroupIds",
            ),
        ),
        keeps=(_wired(*_P5), template(**group(launch={"SecurityGroupIds": ["sg-1"]})["Resources"])),
        unknown=(_UNKNOWN,),
    ),
)
