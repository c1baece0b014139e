"""Warnings about where the instances run and what they can reach from there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jsii
from aws_cdk import Annotations, AspectPriority, Aspects, IAspect, Stack
from aws_cdk import aws_ec2 as ec2
from constructs import Construct, IConstruct

from constructs_lib.catalog import regions
from constructs_lib.fleet.endpoints import LOGS, NEEDED, S3, SQS, FleetEndpoints
from constructs_lib.fleet.settings import FleetSettings
from constructs_lib.scaling import QueueDemand

ISOLATED_SUBNETS = "@cdk-accelerated-fleet/fleet:IsolatedSubnets"
NOT_OFFERED = "@cdk-accelerated-fleet/fleet:NotOffered"
NO_PUBLIC_ADDRESS = "@cdk-accelerated-fleet/fleet:NoPublicAddress"
ZONE_CHOSEN = "@cdk-accelerated-fleet/fleet:ZoneChosen"


def advise_on_network(
    scope: Construct,
    settings: FleetSettings,
    *,
    vpc: ec2.IVpc,
    subnets: ec2.SelectedSubnets,
    launch_template: ec2.LaunchTemplate,
    zone_chosen: bool,
) -> None:
    """Warn of subnets from which the instances reach nobody, of a zone that nobody named, and of types not on offer."""
    _advise_on_region(scope, settings)
    if subnets.is_pending_lookup:
        return
    if zone_chosen:
        Annotations.of(scope).add_warning_v2(
            ZONE_CHOSEN,
            "the fleet is kept in one zone, and takes the VPC's first, where its instance types may not be offered: "
            "name one with vpc_subnets (aws ec2 describe-instance-type-offerings --location-type availability-zone)",
        )
    needed = _called(settings)
    ids = set(subnets.subnet_ids)
    if ids & {subnet.subnet_id for subnet in vpc.isolated_subnets}:
        _watch(launch_template, _Reachable(scope, vpc, needed, ISOLATED_SUBNETS, _isolated))
    if len(settings.interfaces) > 1 and ids & {subnet.subnet_id for subnet in vpc.public_subnets}:
        _watch(launch_template, _Reachable(scope, vpc, needed, NO_PUBLIC_ADDRESS, _without_address))


def _called(settings: FleetSettings) -> list[str]:
    """The services that the instances call by the fleet's own options."""
    logs = [LOGS] if settings.telemetry.logs is not None else []
    queue = [SQS] if isinstance(settings.demand, QueueDemand) else []
    return [*NEEDED, *logs, *queue]


def _advise_on_region(scope: Construct, settings: FleetSettings) -> None:
    # A stack for any region has a token here, and the table may be older than an offer: so this is no error.
    region = Stack.of(scope).region
    if region not in regions():
        return
    missing = [each.name for each in settings.types if each.regions is not None and region not in each.regions]
    some_will_do = settings.selection is not None and len(missing) < len(settings.types)
    if missing and not some_will_do:
        Annotations.of(scope).add_warning_v2(
            NOT_OFFERED,
            f"AWS did not offer {', '.join(missing)} in {region} when it was asked on {regions()[region]}: launches "
            "may fail; name other types, or acknowledge this warning if it does now (aws ec2 "
            "describe-instance-type-offerings)",
        )


def _isolated(missing: Sequence[str]) -> str:
    return (
        f"subnets without a route to the internet need VPC endpoints, else {_what_fails(missing)}: {_shown(missing)}, "
        "and those of the other services that the workload calls. FleetEndpoints(...) makes them; or choose other "
        "subnets with vpc_subnets. Acknowledge this warning if they are there"
    )


def _without_address(missing: Sequence[str]) -> str:
    return (
        "an instance with several network interfaces gets no public address, so that it reaches nobody from a public "
        f"subnet, and {_what_fails(missing)}: choose private subnets behind a NAT gateway with vpc_subnets, or make "
        f"VPC endpoints with FleetEndpoints(...), for {_shown(missing)}"
    )


def _what_fails(missing: Sequence[str]) -> str:
    told = ["the agent is silent and no instance is ever released"] if {*missing} & {*NEEDED} else []
    told += ["no log file arrives"] if LOGS in missing else []
    told += ["no worker can read its queue"] if SQS in missing else []
    return ", and ".join(told)


def _shown(missing: Sequence[str]) -> str:
    return ", ".join(f"{name} (gateway)" if name == S3 else name for name in missing)


def _watch(launch_template: ec2.LaunchTemplate, aspect: IAspect) -> None:
    # When the app is synthesized: endpoints may come after the fleet that needs them.
    Aspects.of(launch_template).add(aspect, priority=AspectPriority.READONLY)


@jsii.implements(IAspect)
class _Reachable:
    """Warns of services for which the VPC has no endpoint of ours."""

    def __init__(
        self, fleet: Construct, vpc: ec2.IVpc, needed: Sequence[str], id: str, text: Callable[[Sequence[str]], str]
    ) -> None:
        self._fleet = fleet
        self._vpc_id = vpc.vpc_id
        self._needed = needed
        self._id = id
        self._text = text

    def visit(self, node: IConstruct) -> None:
        """Look at one construct, as the CDK asks."""
        if not isinstance(node, ec2.LaunchTemplate):
            return
        services = self._services()
        missing = [name for name in self._needed if name not in services]
        if missing:
            Annotations.of(self._fleet).add_warning_v2(self._id, self._text(missing))

    def _services(self) -> set[str]:
        all_of = self._fleet.node.root.node.find_all()
        ours = [each for each in all_of if isinstance(each, FleetEndpoints) and each.vpc.vpc_id == self._vpc_id]
        return {name for each in ours for name in each.services}
