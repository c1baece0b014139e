"""What is allowed but will cost money or patience: warnings at synth, with ids that are part of the public contract."""

from __future__ import annotations

import jsii
from aws_cdk import Annotations, AspectPriority, Aspects, IAspect
from aws_cdk import aws_ec2 as ec2
from constructs import Construct, IConstruct

from constructs_lib.catalog import instead_of
from constructs_lib.fleet.settings import FleetSettings
from constructs_lib.fleet.subnets import zones_of
from constructs_lib.telemetry import names

NO_WAY_UP = "@cdk-accelerated-fleet/fleet:NoWayUp"
TRANSFERS_ONLY = "@cdk-accelerated-fleet/fleet:TransfersOnly"
PREVIOUS_GENERATION = "@cdk-accelerated-fleet/fleet:PreviousGeneration"
TERMINATION_PROTECTION = "@cdk-accelerated-fleet/fleet:TerminationProtection"


def advise(scope: Construct, settings: FleetSettings, *, vpc: ec2.IVpc, subnets: ec2.SelectedSubnets) -> None:
    """Warn of combinations that deploy and then disappoint."""
    annotations = Annotations.of(scope)
    if settings.demand is None and settings.min_capacity == 0 and not _wakes_by_the_clock(settings):
        annotations.add_warning_v2(
            NO_WAY_UP,
            "nothing starts this fleet from zero: give demand=QueueDemand(...) or FleetSchedule(wake_ups=...), or let "
            "something of yours set the desired capacity (grant_wake)",
        )
    for id, text in ({} if settings.demand is None else settings.demand.warnings()).items():
        annotations.add_warning_v2(id, text)
    pool = {} if settings.warm_pool is None else settings.warm_pool.warnings()
    chosen = {} if settings.selection is None else settings.selection.warnings(settings.types)
    bought = settings.purchase.warnings(settings.types, zones_of(subnets))
    for id, text in {**bought, **pool, **chosen}.items():
        annotations.add_warning_v2(id, text)
    if settings.kind.idle_below is not None:
        annotations.add_warning_v2(
            TRANSFERS_ONLY,
            f"what a {settings.kind.title} computes without moving data over its bus or memory ports cannot be seen: "
            "such work looks idle; let it hold a busy mark (docs/on-the-machine.md), and acknowledge this warning then",
        )
    if settings.previous_generation:
        annotations.add_warning_v2(
            PREVIOUS_GENERATION,
            f"AWS lists {', '.join(each.name for each in settings.previous_generation)} as previous generation, and "
            f"may withdraw it as it did others before: use {'; '.join(map(instead_of, settings.previous_generation))}",
        )


def advise_on_overrides(scope: Construct, launch_template: ec2.LaunchTemplate) -> None:
    """Warn, when the app is synthesized, of what a user has set on the launch template's resource since.

    Nobody can look at what ``add_property_override`` writes: the CDK keeps that to itself until it is in the template.
    """
    resource = launch_template.node.default_child
    assert resource is not None
    # After every aspect that may change something.
    Aspects.of(resource).add(_NothingOutlivesTheGroup(scope), priority=AspectPriority.READONLY)


@jsii.implements(IAspect)
class _NothingOutlivesTheGroup:
    """Warns of a launch template whose instances cannot be terminated or stopped by a call to EC2."""

    def __init__(self, fleet: Construct) -> None:
        self._fleet = fleet

    def visit(self, node: IConstruct) -> None:
        """Look at one construct, as the CDK asks."""
        data = node.launch_template_data if isinstance(node, ec2.CfnLaunchTemplate) else None
        if not isinstance(data, ec2.CfnLaunchTemplate.LaunchTemplateDataProperty):
            return
        flags = {"DisableApiTermination": data.disable_api_termination, "DisableApiStop": data.disable_api_stop}
        # What only a deploy settles may be true.
        protecting = [name for name, value in flags.items() if value not in (None, False)]
        if protecting:
            Annotations.of(self._fleet).add_warning_v2(
                TERMINATION_PROTECTION,
                f"the launch template sets {' and '.join(protecting)}: when the group is deleted by force, an instance "
                "may run on and bill outside every group. Remove it: the tag "
                f"{names.HOLD_TAG} keeps an instance that shall stay",
            )


def _wakes_by_the_clock(settings: FleetSettings) -> bool:
    scheduled = settings.schedule is not None and bool(settings.schedule.wake_ups)
    return scheduled or settings.purchase.starts_instances
