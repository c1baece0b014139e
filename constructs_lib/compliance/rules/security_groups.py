"""Ports of accelerated instances that are open to everybody: those who look for accelerators to mine on find them.

Source: "Security group rules for different use cases", Amazon EC2 User Guide; and who says of their own program that it
must not be open: "Protect the Docker daemon socket" (2375), Ray "Security" (8265, 10001), Dask "Security" (8786),
"Kubelet authentication/authorization" (10250). TensorBoard, Gradio, ComfyUI and Ollama listen on the ports given here
and ask for no password unless they are told to, by their documentation, read 2026-12.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_network

from constructs_lib.compliance.deployment import Deployment, Resource
from constructs_lib.compliance.facts.launches import BATCH, NODE_GROUP, Launch, accelerated_launches
from constructs_lib.compliance.facts.owners import accelerated_owners
from constructs_lib.compliance.facts.policies import elements
from constructs_lib.compliance.rule import WARNING, Itself, Rule
from constructs_lib.compliance.values import Broken, NotKnown, Value

_GROUP = "AWS::EC2::SecurityGroup"
_INGRESS = "AWS::EC2::SecurityGroupIngress"
_NEARLY_EVERYBODY = 3
"""Bits of a prefix: an eighth of all addresses, and in IPv6 all that are given out."""
_ADMINISTRATION = {
    22: "SSH",
    2375: "Docker",
    3389: "RDP",
    5900: "VNC",
    6006: "TensorBoard",
    7860: "Gradio",
    8188: "ComfyUI",
    8265: "the Ray dashboard",
    8786: "the Dask scheduler",
    8888: "Jupyter",
    10001: "the Ray client server",
    10250: "the kubelet",
    11434: "Ollama",
}
"""Ports behind which whoever gets in has the machine, or its accelerators; other ports may be there to serve."""
_LAST_PORT = 65_535
_MOST_NAMED = 3
_EVERY_PORT = "all ports, SSH, RDP and Jupyter among them"


@dataclass(frozen=True)
class _Door:
    """A security group of accelerated instances."""

    launch: Launch
    named: Value

    @property
    def resource(self) -> Resource:
        return self.launch.resource


def _doors(deployment: Deployment) -> Iterator[_Door | NotKnown]:
    for launch in accelerated_launches(deployment):
        if isinstance(launch, NotKnown):
            yield launch
            continue
        try:
            found = [_Door(launch, each) for each in _groups(launch)]
        except NotKnown as not_known:
            yield not_known
            continue
        yield from found


def _groups(launch: Launch) -> Iterator[Value]:
    """Security groups of instances that may have a public address."""
    if launch.owner.type == BATCH:
        yield from elements(launch.owner.properties.at("ComputeResources.SecurityGroupIds"))
    if launch.is_left_to_service:
        return
    for name in ("SecurityGroupIds", "SecurityGroups"):
        for each in elements(launch.setting(name)):
            # A specification of a Spot Fleet has objects in place of ids.
            yield each.at("GroupId") if isinstance(each.raw, Mapping) else each
    for interface in launch.setting("NetworkInterfaces").each():
        if interface.flag("AssociatePublicIpAddress", default=True):
            for name in ("Groups", "GroupSet"):
                yield from elements(interface.at(name))


def _lets_in_some_only(door: _Door) -> Iterator[Broken]:
    group = door.named.made()
    if group is None or group.type != _GROUP:
        raise door.named.not_known("the security group is not in the templates")
    rules = group.properties.each("SecurityGroupIngress")
    rules += [each.properties for each in group.users(_INGRESS) if each.properties.at("GroupId").made() is group]
    doubt: NotKnown | None = None
    for rule in rules:
        try:
            yield from _is_narrow(rule)
        except NotKnown as not_known:
            doubt = doubt or not_known
    if doubt is not None:
        raise doubt


def _is_narrow(rule: Value) -> Iterator[Broken]:
    for name in ("CidrIp", "CidrIpv6"):
        bits = _prefix(rule.at(name))
        if bits is not None and bits <= _NEARLY_EVERYBODY and (ports := _open_ports(rule)):
            whom = "so much of the Internet" if bits else "everybody"
            yield rule.broken(
                name,
                must=f"not be {whom} for {ports}",
                cure="use Session Manager in place of the port, or name the network that people come from",
            )


def _prefix(network: Value) -> int | None:
    """How many bits of an address are given. None: the rule does not name a network."""
    text = network.text()
    if text is None:
        return None
    try:
        return ip_network(text, strict=False).prefixlen
    except ValueError as error:
        raise network.not_known(f"it is no network: {error}") from error


def _open_ports(rule: Value) -> str:
    """The ports of administration that a rule opens, for a message. Empty: none."""
    protocol = rule.text("IpProtocol")
    if protocol == "-1":
        return _EVERY_PORT
    if protocol not in ("tcp", "6"):
        return ""
    first, last = rule.whole("FromPort"), rule.whole("ToPort")
    if first is None or last is None:
        return ""
    if first <= 1 and last == _LAST_PORT:
        return _EVERY_PORT
    found = [f"port {port} ({name})" for port, name in _ADMINISTRATION.items() if first <= port <= last]
    if len(found) > _MOST_NAMED:
        found[_MOST_NAMED:] = [f"{len(found) - _MOST_NAMED} others"]
    *first_ones, last_one = found or [""]
    return f"{', '.join(first_ones)} and {last_one}" if first_ones else last_one


def _has_remote_access(nodes: Resource) -> bool:
    return not nodes.properties.at("RemoteAccess").is_absent


def _names_who_comes_in(subject: Itself) -> Iterator[Broken]:
    access = subject.resource.properties.at("RemoteAccess")
    if not access.at("Ec2SshKey").is_absent and access.at("SourceSecurityGroups").is_absent:
        yield access.broken(
            "SourceSecurityGroups",
            must="be set: without it EKS opens port 22 of the nodes to everybody",
            cure="name the security groups that people come from, or remove RemoteAccess and use Session Manager",
        )


RULES = (
    Rule(
        id="administration-open-to-everybody",
        title="Nobody but your own people reaches the administration of accelerated instances",
        severity=WARNING,
        practices=("SEC06-BP02",),
        why=(
            "Accelerators are what people look for who mine on other people's machines. SSH, RDP, notebooks and model "
            "servers without a password that are open to the Internet are found within minutes."
        ),
        cure_here="The security group of AcceleratedFleet opens no port; people get in by Session Manager.",
        cure_plain="Remove the rule and use Session Manager, or name the network that people come from.",
        link="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/security-group-rules-reference.html",
        subjects=_doors,
        judge=_lets_in_some_only,
    ),
    Rule(
        id="node-group-open-to-everybody",
        title="SSH to the nodes of an accelerated node group is for named security groups",
        severity=WARNING,
        practices=("SEC06-BP02",),
        why="EKS opens port 22 of the nodes to the Internet when a key is given without those that may use it.",
        cure_here="This library makes no node groups; set SourceSecurityGroups on yours.",
        cure_plain="Set RemoteAccess.SourceSecurityGroups, or remove RemoteAccess and use Session Manager.",
        link="https://docs.aws.amazon.com/eks/latest/APIReference/API_RemoteAccessConfig.html",
        subjects=accelerated_owners(NODE_GROUP, having=_has_remote_access),
        judge=_names_who_comes_in,
    ),
)
