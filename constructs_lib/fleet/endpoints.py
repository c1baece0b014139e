"""Endpoints in a VPC for what a fleet's instances call: with them they need no way to the internet."""

from __future__ import annotations

from collections.abc import Sequence

import jsii
from aws_cdk import Stack
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from constructs_lib.claims import claim
from constructs_lib.errors import ArgumentError
from constructs_lib.fleet.subnets import selected_subnets
from constructs_lib.references import check_references
from constructs_lib.validation import complaint, instance_of, list_of, one_of

S3 = "s3"
NEEDED = ("monitoring", "ec2", "ssm", "ssmmessages", "autoscaling", S3)
"""What every instance of a fleet calls, as AWS names the endpoints: metrics, the tags by which agent and drain know the
group, the agent's configuration, sessions, the termination hook, and the node program, for which S3 has a gateway."""
LOGS = "logs"
"""What an instance calls as well if it copies log files."""
SQS = "sqs"
"""What a worker calls as well if the fleet's demand is a queue."""

_HTTPS = 443


@jsii.implements(ec2.IConnectable)
class FleetEndpoints(Construct):
    """The VPC endpoints that the instances of fleets need in subnets without a way to the internet.

    Defines an interface endpoint with private DNS for each service that agent, node program and drain call, and for
    those that your workload calls, in each zone of the subnets, with one security group that lets HTTPS in; and a
    gateway endpoint for S3 in the subnets' route tables, which is where AWS's packages for Amazon Linux come from too.
    One for each VPC is enough, and EC2 takes no second endpoint for a service. Fleets in isolated subnets of this VPC
    lose their warning once it has what their own options make them call: SQS for a ``QueueDemand``, CloudWatch Logs for
    ``Telemetry(logs=...)``, and what every fleet needs.

    An interface endpoint costs about 7 USD a month for each zone, and USD 0.01 for each GB (AWS PrivateLink pricing,
    us-east-1, 2026); that for S3 is free.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        vpc: ec2.IVpc,
        vpc_subnets: ec2.SubnetSelection | None = None,
        services: Sequence[ec2.InterfaceVpcEndpointAwsService] | None = None,
        callers: Sequence[ec2.IConnectable] | None = None,
        existing: Sequence[str] | None = None,
    ) -> None:
        """
        Args:
            vpc: it needs DNS support and DNS host names, as VPCs have that the CDK makes.
            vpc_subnets: where the instances run. Default: the VPC's isolated subnets, else its private ones.
            services: what else the instances call, for example ``ec2.InterfaceVpcEndpointAwsService.SQS`` for a
                ``QueueDemand``; for ``Telemetry(logs=...)`` it is ``CLOUDWATCH_LOGS``. Default: nothing.
            callers: who may call, for example ``[fleet]``; others are let in with
                ``endpoints.connections.allow_default_port_from(...)``. Default: every address of the VPC.
            existing: services that the VPC has an endpoint for already, of ``monitoring``, ``ec2``, ``ssm``,
                ``ssmmessages``, ``autoscaling``, ``s3``, ``sqs`` and ``logs``: a second one would fail. Default: none.

        Raises:
            ArgumentError: an argument is wrong, or the VPC was imported without what the endpoints need.
        """
        super().__init__(scope, id)
        where = self.node.path
        check_references(where, vpc=vpc)
        if vpc_subnets is not None:
            cure = "write ec2.SubnetSelection(subnet_type=...)"
            instance_of(where, "vpc_subnets", vpc_subnets, ec2.SubnetSelection, cure=cure)
        there = _existing(where, existing)
        extra = _extra(where, services, there)
        chosen = ec2.SubnetSelection(subnet_type=_usual(vpc)) if vpc_subnets is None else vpc_subnets
        selected = selected_subnets(where, vpc, chosen)
        wanted = [each.short_name for each in (*_usual_services(), *extra) if each.short_name not in there]
        _check_alone(self, vpc, [*wanted, *([] if S3 in there else _gateways(where, selected))])
        self._vpc = vpc
        self._services = frozenset([*NEEDED, *there, *(each.short_name for each in extra)])
        self._connections = self._build_connections(vpc, _callers(where, callers))
        own = {each.short_name: each for each in [*_usual_services(), *extra]}
        in_subnets = ec2.SubnetSelection(subnets=_one_in_each_zone(selected))
        for name, service in own.items():
            if name in wanted:
                ec2.InterfaceVpcEndpoint(
                    self,
                    name,
                    vpc=vpc,
                    service=service,
                    subnets=in_subnets,
                    security_groups=list(self._connections.security_groups),
                    private_dns_enabled=True,
                    open=False,
                )
        if S3 not in there:
            ec2.GatewayVpcEndpoint(
                self,
                S3,
                vpc=vpc,
                service=ec2.GatewayVpcEndpointAwsService.S3,
                subnets=[ec2.SubnetSelection(subnets=selected.subnets)],
            )

    @property
    def vpc(self) -> ec2.IVpc:
        """Where the endpoints are."""
        return self._vpc

    @property
    def services(self) -> frozenset[str]:
        """Names of the services that can be reached, existing endpoints included, for example ``monitoring``."""
        return self._services

    @property
    def connections(self) -> ec2.Connections:
        """Who may call the interface endpoints; the default port is that of HTTPS."""
        return self._connections

    def _build_connections(self, vpc: ec2.IVpc, callers: Sequence[ec2.IConnectable] | None) -> ec2.Connections:
        group = ec2.SecurityGroup(
            self, "SecurityGroup", vpc=vpc, description="VPC endpoints of accelerated fleets", allow_all_outbound=False
        )
        connections = ec2.Connections(security_groups=[group], default_port=ec2.Port.tcp(_HTTPS))
        if callers is None:
            connections.allow_default_port_from(ec2.Peer.ipv4(_address_range(self.node.path, vpc)))
        for caller in callers or ():
            if Stack.of(self) is Stack.of(vpc):
                # Callers in another stack need this one, which so cannot need theirs: the rules are made with them.
                caller.connections.allow_to(connections, ec2.Port.tcp(_HTTPS))
            else:
                connections.allow_default_port_from(caller)
        return connections


def _usual_services() -> list[ec2.InterfaceVpcEndpointAwsService]:
    service = ec2.InterfaceVpcEndpointAwsService
    return [
        service.CLOUDWATCH_MONITORING,
        service.EC2,
        service.SSM,
        service.SSM_MESSAGES,
        service.AUTOSCALING,
    ]


def _usual(vpc: ec2.IVpc) -> ec2.SubnetType:
    return ec2.SubnetType.PRIVATE_ISOLATED if vpc.isolated_subnets else ec2.SubnetType.PRIVATE_WITH_EGRESS


def _existing(where: str, given: Sequence[str] | None) -> tuple[str, ...]:
    if given is None:
        return ()
    cure = 'write for example ["s3"], or leave it out'
    names = list_of(where, "existing", given, str, cure=cure)
    for name in names:
        one_of(where, "existing", name, (*NEEDED, SQS, LOGS), cure="leave out what is not among these")
    return names


def _extra(
    where: str, given: Sequence[ec2.InterfaceVpcEndpointAwsService] | None, there: Sequence[str]
) -> tuple[ec2.InterfaceVpcEndpointAwsService, ...]:
    if given is None:
        return ()
    cure = "write for example [ec2.InterfaceVpcEndpointAwsService.SQS]"
    services = list_of(where, "services", given, ec2.InterfaceVpcEndpointAwsService, cure=cure)
    names = [each.short_name for each in services]
    known = [*NEEDED, *there]
    again = [name for index, name in enumerate(names) if name in known or name in names[:index]]
    if again:
        rule = "name each service once, and none that every fleet needs"
        raise ArgumentError(complaint(where, "services", rule, again, "remove these"))
    return services


def _callers(where: str, given: Sequence[ec2.IConnectable] | None) -> Sequence[ec2.IConnectable] | None:
    if given is None:
        return None
    listed = isinstance(given, (list, tuple)) and bool(given)
    if not listed or not all(hasattr(each, "connections") for each in given):
        rule = "be a list of fleets, or of other ec2.IConnectable, that is not empty"
        raise ArgumentError(complaint(where, "callers", rule, given, "write for example [fleet], or leave it out"))
    return given


def _address_range(where: str, vpc: ec2.IVpc) -> str:
    try:
        return vpc.vpc_cidr_block
    except RuntimeError as error:  # "Cannot perform this operation: 'vpcCidrBlock' was not supplied"
        rule = "be given where the VPC was imported without its addresses"
        cure = "name the fleets: callers=[fleet], or give Vpc.from_vpc_attributes its vpc_cidr_block"
        raise ArgumentError(complaint(where, "callers", rule, None, cure)) from error


def _one_in_each_zone(selected: ec2.SelectedSubnets) -> list[ec2.ISubnet]:
    """An endpoint takes one subnet of a zone at most."""
    by_zone: dict[str, ec2.ISubnet] = {}
    for zone, subnet in zip(selected.availability_zones, selected.subnets, strict=True):
        by_zone.setdefault(zone, subnet)
    return list(by_zone.values())


def _check_alone(endpoints: FleetEndpoints, vpc: ec2.IVpc, wanted: Sequence[str]) -> None:
    """EC2 refuses a second interface endpoint with a service's private name, and a second gateway in a route table."""
    stack, where = Stack.of(endpoints), endpoints.node.path
    # Each import of a VPC is a construct of its own: its id is what they share.
    place = f"{stack.account}/{stack.region}/{vpc.vpc_id}"
    makers = {name: claim(endpoints.node.root.node, f"endpoint:{place}/{name}", where) for name in wanted}
    taken = {name.partition("/")[0]: path for name, path in makers.items() if path is not None}
    if taken:
        rule = "name what the VPC has an endpoint for already"
        cure = f"name it here, or leave it out of services: {', '.join(sorted(set(taken.values())))} makes one for each"
        raise ArgumentError(complaint(where, "existing", rule, list(taken), cure))


def _gateways(where: str, selected: ec2.SelectedSubnets) -> list[str]:
    """What the gateway to S3 takes: a place in each route table."""
    _check_route_tables(where, selected)
    return list(dict.fromkeys(f"{S3}/{each.route_table.route_table_id}" for each in selected.subnets))


def _check_route_tables(where: str, selected: ec2.SelectedSubnets) -> None:
    """Subnets can be imported without their route tables, which a gateway needs; the CDK would write none."""
    without = [each.node.path for each in selected.subnets if not _has_route_table(each)]
    if without:
        rule = "select subnets whose route tables are known, for the gateway to S3"
        cure = (
            "import them with their route tables (isolated_subnet_route_table_ids=[...]), or make that endpoint "
            'yourself and write existing=["s3"]'
        )
        raise ArgumentError(complaint(where, "vpc_subnets", rule, without, cure))


def _has_route_table(subnet: ec2.ISubnet) -> bool:
    try:
        return bool(subnet.route_table.route_table_id)
    except RuntimeError:
        return False
