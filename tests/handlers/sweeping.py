"""Running the sweep on a fake AWS."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from orphan_sweep.aws import Clients
from orphan_sweep.index import handle
from orphan_sweep.settings import read_settings
from runtime.structured_log import StructuredLog
from tests.handlers.driving import GROUP, SCHEDULED, Lines
from tests.handlers.fake_aws import Context, FakeAws
from tests.handlers.fake_aws.leftovers import LeftoverWorld, log_group_arn, with_leftovers

FLEET_TAG = "accelerated-fleet:id"
HOLD_TAG = "accelerated-fleet:hold"
ORPHAN_TAG = "accelerated-fleet:orphan"
FLEET = "stack/train"
OURS = {FLEET_TAG: FLEET}
STACK = "arn:aws:cloudformation:eu-west-1:123456789012:stack/stack/1"
PATH = "/accelerated-fleet/stack/train/endpoints"
TEMPLATE = "lt-0123456789abcdef0"
DAY = 24.0
USD_RATES = {
    "gp2": 0.1,
    "gp3": 0.08,
    "gp3-iops": 0.005,
    "gp3-throughput": 0.04,
    "io2": 0.125,
    "io2-iops": 0.065,
    "public-ipv4": 0.005,
    "snapshot": 0.05,
    "snapshot-archive": 0.0125,
    "advanced-parameter": 0.05,
}
SWEEP_ENVIRONMENT = {
    "AUTO_SCALING_GROUP_NAME": GROUP,
    "STACK_ID": STACK,
    "FLEET_TAG_KEY": FLEET_TAG,
    "FLEET_TAG_VALUE": FLEET,
    "HOLD_TAG_KEY": HOLD_TAG,
    "ORPHAN_TAG_KEY": ORPHAN_TAG,
    "ENDPOINTS_PATH": PATH,
    "ACT": "true",
    "MIN_AGE_SECONDS": "86400",
    "SNAPSHOT_AGE_SECONDS": str(30 * 86_400),
    "TOPIC_ARN": "arn:aws:sns:eu-west-1:123456789012:alerts",
    "METRIC_NAMESPACE": "AcceleratedFleet",
    "TYPE_USD_PER_HOUR": json.dumps({"g6.xlarge": 0.8}),
    "USD_RATES": json.dumps(USD_RATES),
}
_CHANGES = ("Terminate", "Delete", "Release", "Create", "Tag", "Untag", "Add", "Remove", "Put", "Modify", "Update")
_MARKS = ("CreateTags", "DeleteTags", "TagResource", "UntagResource", "AddTagsToResource", "RemoveTagsFromResource")


def policy_allows(operation: str, tags: Mapping[str, str]) -> bool:
    """What the function's policy lets it do; tests/constructs/test_orphans.py says the same of the template."""
    ours = tags.get(FLEET_TAG) == FLEET
    if operation in _MARKS:
        return ours
    return ours and ORPHAN_TAG in tags and tags.get(HOLD_TAG, "false").lower() == "false"


@dataclass
class Sweeper:
    """The sweep over a fake AWS with a fleet of one member; `environment` overrides settings."""

    aws: FakeAws
    environment: dict[str, str] = field(default_factory=dict)
    seconds: float = 600
    lines: Lines = field(default_factory=Lines)
    world: LeftoverWorld = field(init=False)

    def __post_init__(self) -> None:
        self.world = with_leftovers(self.aws)
        self.world.iam_allows(policy_allows)
        self.aws.add_group(GROUP, ["i-member"], tags=OURS)
        self.world.cloudformation.resources += [GROUP, "some-role", "a-log-group"]

    def run(self, event: object = SCHEDULED) -> dict[str, Any]:
        services = ("autoscaling", "cloudformation", "ec2", "logs", "sns", "ssm")
        clients = Clients(
            **{service: self.aws.client(service) for service in services},
            tagging=self.aws.client("resourcegroupstaggingapi"),
        )
        self.lines.lines.clear()
        log = StructuredLog(self.aws.clock, self.lines.lines.append)
        context = Context(self.aws.clock, self.seconds)
        settings = read_settings({**SWEEP_ENVIRONMENT, **self.environment})
        return dict(handle(event, context, settings, clients, self.aws.clock, log))

    def wait(self, hours: float) -> None:
        self.aws.clock.advance(hours * 3600)

    def run_twice(self, hours: float = DAY) -> dict[str, Any]:
        """Sweep, wait, sweep again; return what the second one tells."""
        self.run()
        self.wait(hours)
        return self.run()

    def freeing(self) -> list[str]:
        """Return the operations that were asked for and that free something."""
        return [each for each in self.changes() if each not in _MARKS]

    def changes(self) -> list[str]:
        return [each for each in self.aws.operations() if each.startswith(_CHANGES)]

    def told_nothing_of(self, id: str) -> bool:
        return not [each for each in self.lines.documents() if each.get("id") == id]

    def told(self, id: str) -> dict[str, Any]:
        """Return the line about one thing."""
        (line,) = [each for each in self.lines.documents() if each.get("id") == id and "standing" in each]
        return line


@dataclass(frozen=True)
class Left:
    """One thing that belongs to nothing, and how to see whether it is still there and what is noted on it."""

    sort: str
    id: str
    tags: dict[str, str]
    there: Any

    @property
    def mark(self) -> str | None:
        return self.tags.get(ORPHAN_TAG)


SORTS = (
    "instance",
    "Elastic IP address",
    "network interface",
    "volume",
    "snapshot",
    "launch template version",
    "log group",
    "endpoint parameter",
)


def leave(sweeper: Sweeper, sort: str, tags: Mapping[str, str] = OURS) -> Left:
    """Leave one thing of a sort behind. Of a template, version 2 of 3 is unused."""
    world, aws = sweeper.world, sweeper.aws
    if sort == "instance":
        machine = aws.add_machine("i-left", tags=tags, age=timedelta(days=30))
        return Left(sort, "i-left", machine.tags, lambda: machine.state == "running")
    if sort == "log group":
        arn = log_group_arn("/left")
        return Left(sort, arn, world.add_log_group("/left", tags), lambda: "/left" in world.logs.groups)
    if sort == "endpoint parameter":
        name = f"{PATH}/i-0123456789abcdef0"
        return Left(sort, name, world.add_endpoint(name, tags).tags, lambda: name in world.ssm.endpoints)
    if sort == "launch template version":
        template = world.add_template(TEMPLATE, tags, versions=3)
        return Left(sort, f"{TEMPLATE}:2", template.tags, lambda: 2 in world.template_versions(TEMPLATE))
    ec2 = world.ec2
    if sort == "Elastic IP address":
        address = world.add_address("eipalloc-left", tags)
        return Left(sort, address.id, address.tags, lambda: address.id in ec2.addresses)
    if sort == "network interface":
        interface = world.add_interface("eni-left", tags)
        return Left(sort, interface.id, interface.tags, lambda: interface.id in ec2.interfaces)
    if sort == "volume":
        volume = world.add_volume("vol-left", tags)
        return Left(sort, volume.id, volume.tags, lambda: volume.id in ec2.volumes)
    snapshot = world.add_snapshot("snap-left", tags)
    return Left(sort, snapshot.id, snapshot.tags, lambda: snapshot.id in ec2.snapshots)
