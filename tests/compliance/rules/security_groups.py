"""Ports of administration: "Security group rules for different use cases", Amazon EC2 User Guide; EKS RemoteAccess."""

from typing import Any

from tests.compliance.cases import Breaks, Case, group, template


def _open(port: int, to: int | None = None, **more: Any) -> dict[str, Any]:
    last = port if to is None else to
    return {"IpProtocol": "tcp", "FromPort": port, "ToPort": last, "CidrIp": "0.0.0.0/0", **more}


def _doors(*rules: Any, types: tuple[str, ...] = (), launch: Any = None, **more: Any) -> dict[str, Any]:
    named = {"SecurityGroupIds": [{"Fn::GetAtt": ["Door", "GroupId"]}]} if launch is None else launch
    door = {"Type": "EC2::SecurityGroup", "Properties": {"SecurityGroupIngress": list(rules)}}
    return group(*types, launch=named, Door=door, **more)


def _apart(**rule: Any) -> dict[str, Any]:
    return {"Type": "EC2::SecurityGroupIngress", "Properties": {"GroupId": {"Ref": "Door"}, **rule}}


def _interface(**more: Any) -> dict[str, Any]:
    return {"NetworkInterfaces": [{"DeviceIndex": 0, "Groups": [{"Ref": "Door"}], **more}]}


def _nodes(*types: str, access: Any) -> dict[str, Any]:
    return template(
        Nodes={
            "Type": "EKS::Nodegroup",
            "Properties": {"InstanceTypes": list(types) or ["g5.xlarge"], "RemoteAccess": access},
        }
    )


_GIVEN = {"Parameters": {"Given": {"Type": "String"}}}
_FIRST = "SecurityGroupIngress[0]"

CASES = (
    Case(
        rule="administration-open-to-everybody",
        breaks=(
            Breaks(template=_doors(_open(22)), resource="Door", property=f"{_FIRST}.CidrIp", got="0.0.0.0/0"),
            Breaks(template=_doors(_open(8888)), resource="Door", property=f"{_FIRST}.CidrIp"),
            Breaks(template=_doors(_open(0, 65535)), resource="Door", property=f"{_FIRST}.CidrIp"),
            # Who reaches them has the machine, or its accelerators, and is not asked for a password.
            *(
                Breaks(template=_doors(_open(port)), resource="Door", property=f"{_FIRST}.CidrIp")
                for port in (2375, 5900, 6006, 7860, 8188, 8265, 8786, 10001, 10250, 11434)
            ),
            # Everybody in two halves, and all addresses that IPv6 has given out.
            *(
                Breaks(template=_doors(_open(22, CidrIp=half)), resource="Door", property=f"{_FIRST}.CidrIp", got=half)
                for half in ("0.0.0.0/1", "128.0.0.0/1", "64.0.0.0/2")
            ),
            *(
                Breaks(
                    template=_doors({"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "CidrIpv6": part}),
                    resource="Door",
                    property=f"{_FIRST}.CidrIpv6",
                )
                for part in ("0::/0", "::/1", "2000::/3")
            ),
            Breaks(
                template=_doors({"IpProtocol": "-1", "CidrIpv6": "::/0"}),
                resource="Door",
                property=f"{_FIRST}.CidrIpv6",
            ),
            Breaks(template=_doors(Ssh=_apart(**_open(22))), resource="Ssh", property="CidrIp"),
            Breaks(
                template=_doors(_open(22), launch=_interface(AssociatePublicIpAddress=True)),
                resource="Door",
                property=f"{_FIRST}.CidrIp",
            ),
            Breaks(template=_doors(_open(22), launch=_interface()), resource="Door", property=f"{_FIRST}.CidrIp"),
            Breaks(
                template=template(
                    Environment={
                        "Type": "Batch::ComputeEnvironment",
                        "Properties": {
                            "ComputeResources": {"InstanceTypes": ["g5"], "SecurityGroupIds": [{"Ref": "Door"}]}
                        },
                    },
                    Door={"Type": "EC2::SecurityGroup", "Properties": {"SecurityGroupIngress": _open(22)}},
                ),
                resource="Door",
                property="SecurityGroupIngress.CidrIp",
            ),
        ),
        keeps=(
            _doors(_open(22, CidrIp="10.0.0.0/8")),
            _doors(_open(443), _open(8080), _open(8000)),
            _doors(_open(22, CidrIp="3.0.0.0/8")),
            _doors({"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "CidrIpv6": "2001:db8::/32"}),
            _doors(_open(22, IpProtocol="udp")),
            _doors({"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "SourceSecurityGroupId": "sg-1"}),
            _doors(_open(22), launch=_interface(AssociatePublicIpAddress=False)),
            _doors(_open(22), types=("m7i.large",)),
            group(),
        ),
        unknown=(
            group(launch={"SecurityGroupIds": ["sg-1"]}),
            _GIVEN | _doors(_open(22, CidrIp={"Ref": "Given"})),
            _doors(_open(22, CidrIp="everywhere")),
            _GIVEN | _doors(_open(22, FromPort={"Ref": "Given"})),
        ),
    ),
    Case(
        rule="node-group-open-to-everybody",
        breaks=(
            Breaks(
                template=_nodes(access={"Ec2SshKey": "key"}),
                resource="Nodes",
                property="RemoteAccess.SourceSecurityGroups",
                got="nothing",
            ),
        ),
        keeps=(
            _nodes(access={"Ec2SshKey": "key", "SourceSecurityGroups": ["sg-1"]}),
            _nodes("m7i.large", access={"Ec2SshKey": "key"}),
        ),
        unknown=(
            _GIVEN | _nodes(access={"Ref": "Given"}),
            _GIVEN
            | template(
                Nodes={
                    "Type": "EKS::Nodegroup",
                    "Properties": {"InstanceTypes": [{"Ref": "Given"}], "RemoteAccess": {"Ec2SshKey": "key"}},
                }
            ),
        ),
    ),
)
