"""What a fleet left behind is found, priced, told, and freed when asked to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from aws_cdk import ArnFormat, Duration, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk.aws_cloudwatch_actions import SnsAction
from constructs import Construct

from constructs_lib.catalog import instance_prices, leftover_prices
from constructs_lib.claims import claim
from constructs_lib.errors import ArgumentError
from constructs_lib.fleet.accelerated_fleet import AcceleratedFleet
from constructs_lib.handlers import HandlerFunction, ScheduleTrigger
from constructs_lib.notifications import key_statements, notifications_topic
from constructs_lib.references import check_references
from constructs_lib.telemetry import names, positive_alarm
from constructs_lib.validation import complaint, instance_of

_INTERVAL_MINUTES = 24 * 60
_RUN_SECONDS = 10 * 60
_LATEST_START_SECONDS = 60 * 60
_SHORTEST_AGE_SECONDS = 60 * 60
_LONGEST_AGE_SECONDS = 90 * 86_400
_LONGEST_SNAPSHOT_AGE_SECONDS = 10 * 365 * 86_400
_DAY_SECONDS = 86_400


class OrphanSweep(Construct):
    """Looks once a day for what carries the fleet's tag and belongs to nothing, and tells what it costs in a month.

    Instances outside every group, volumes and network interfaces that are attached to nothing, Elastic IP addresses
    that point to nothing, unused versions of the fleet's launch template, log groups without a stream, parameters of
    ``endpoints_path`` whose instance is gone and, if asked for, old snapshots that no image or launch template uses.

    A dry run unless ``act`` is set: it notes each first sighting in the tag ``accelerated-fleet:orphan`` and changes
    nothing else. With ``act`` it frees what a later sweep, at least ``min_age`` after the first, still finds so. What
    is used again loses the note. The tag ``accelerated-fleet:hold`` keeps anything, and so does a stack or a service
    that looks after it. The function may change only what carries this fleet's tag, and free only what has the note
    and no hold.

    Prices are list prices in us-east-1, without discounts, and unknown where the catalogue knows none.

    Limitations: a version of the launch template that an EC2 Fleet or a Spot fleet uses looks unused. A snapshot is
    priced at most: what it shares with others is billed once.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        fleet: AcceleratedFleet,
        act: bool | None = None,
        snapshots_older_than: Duration | None = None,
        min_age: Duration | None = None,
        notifications: sns.ITopic | None = None,
    ) -> None:
        """
        Args:
            fleet: whose leftovers are looked for, a fleet of the same stack.
            act: whether to free what is found. Default: no, a dry run.
            snapshots_older_than: snapshots of this age, at least 1 day, that nothing uses are leftovers. Default:
                snapshots are not looked at.
            min_age: time between the first sighting and the one at which something is freed, 1 hour to 90 days.
                Default: 24 hours.
            notifications: topic that hears of what is new, what was freed, and of failed sweeps. Default: the
                fleet's.

        Raises:
            ArgumentError: an argument has the wrong type or is out of range, the fleet is of another stack,
                or it has a sweep already.
        """
        super().__init__(scope, id)
        path = self.node.path
        instance_of(path, "fleet", fleet, AcceleratedFleet, cure="pass the AcceleratedFleet whose leftovers you mean")
        check_references(path, notifications=notifications)
        acts = False if act is None else instance_of(path, "act", act, bool, cure="write True or False")
        _check_stack(self, fleet)
        self._fleet = fleet
        topic = fleet.notifications if notifications is None else notifications_topic(self, "Topic", notifications)
        given = Duration.hours(24) if min_age is None else min_age
        wait = _seconds(path, "min_age", given, _SHORTEST_AGE_SECONDS, _LONGEST_AGE_SECONDS)
        snapshot_age = None
        if snapshots_older_than is not None:
            most = _LONGEST_SNAPSHOT_AGE_SECONDS
            snapshot_age = _seconds(path, "snapshots_older_than", snapshots_older_than, _DAY_SECONDS, most)
        _claim_fleet(path, fleet)
        self._handler = self._build_handler(topic, acts=acts, wait=wait, snapshot_age=snapshot_age)
        for statement in key_statements(topic):
            self._handler.role.add_to_principal_policy(statement)
        ScheduleTrigger(self, "Daily", function=self.function, minutes=_INTERVAL_MINUTES)
        self._build_failed_alarm(topic)

    @property
    def function(self) -> lambda_.Function:
        """The function that looks and frees; ``{"source": "accelerated-fleet.manual", "dry_run": true}`` only looks."""
        return self._handler.function

    @property
    def endpoints_path(self) -> str:
        """Where instances may be published: a parameter ``<path>/<instance id>``, with the fleet's tag on it."""
        return f"/accelerated-fleet/{self._fleet.fleet_tag_value}/endpoints"

    def metric_orphans(self) -> cloudwatch.Metric:
        """How many things the last sweep left that belong to nothing."""
        return self._metric(names.ORPHANS_FOUND)

    def metric_usd_per_month(self) -> cloudwatch.Metric:
        """What they cost in a month, USD; those of unknown price are not in it."""
        return self._metric(names.ORPHAN_USD_PER_MONTH)

    def _metric(self, name: str) -> cloudwatch.Metric:
        return cloudwatch.Metric(
            namespace=names.NAMESPACE,
            metric_name=name,
            dimensions_map={names.GROUP: self._fleet.auto_scaling_group.auto_scaling_group_name},
            statistic="Maximum",
            period=Duration.days(1),
        )

    def _build_handler(self, topic: sns.ITopic, *, acts: bool, wait: int, snapshot_age: int | None) -> HandlerFunction:
        access = _Access(Stack.of(self), self._fleet, self.endpoints_path, with_snapshots=snapshot_age is not None)
        ages = {} if snapshot_age is None else {"SNAPSHOT_AGE_SECONDS": str(snapshot_age)}
        return HandlerFunction(
            self,
            "Handler",
            handler="orphan_sweep",
            description="Finds what an accelerated fleet has left behind, tells its price, frees it when asked to",
            environment={
                "AUTO_SCALING_GROUP_NAME": self._fleet.auto_scaling_group.auto_scaling_group_name,
                "STACK_ID": Stack.of(self._fleet).stack_id,
                "FLEET_TAG_KEY": names.FLEET_TAG,
                "FLEET_TAG_VALUE": self._fleet.fleet_tag_value,
                "HOLD_TAG_KEY": names.HOLD_TAG,
                "ORPHAN_TAG_KEY": names.ORPHAN_TAG,
                "ENDPOINTS_PATH": self.endpoints_path,
                "ACT": "true" if acts else "false",
                "MIN_AGE_SECONDS": str(wait),
                **ages,
                "TOPIC_ARN": topic.topic_arn,
                "METRIC_NAMESPACE": names.NAMESPACE,
                "TYPE_USD_PER_HOUR": _compact(instance_prices()),
                "USD_RATES": _compact(leftover_prices()),
            },
            statements=[
                *access.reads(),
                *access.notes(),
                *(access.frees() if acts else ()),
                iam.PolicyStatement(actions=["sns:Publish"], resources=[topic.topic_arn]),
            ],
            wildcards=access.wildcards(),
            timeout_seconds=_RUN_SECONDS,
            max_event_age_seconds=_LATEST_START_SECONDS,
        )

    def _build_failed_alarm(self, topic: sns.ITopic) -> cloudwatch.Alarm:
        return positive_alarm(
            self,
            "FailedAlarm",
            description="A sweep for orphans failed in part: what it could not read may cost money, see its log.",
            metric=self.function.metric_errors(period=Duration.hours(1), statistic="Sum"),
            periods=1,
            datapoints=1,
            action=SnsAction(topic),
        )


class _Access:
    """What the function may do. What IAM cannot limit to this fleet's tag, it may not do."""

    def __init__(self, stack: Stack, fleet: AcceleratedFleet, path: str, *, with_snapshots: bool) -> None:
        self._fleet = fleet
        self._stack_id = Stack.of(fleet).stack_id
        self._with_snapshots = with_snapshots
        kinds = ["elastic-ip", "instance", "launch-template", "network-interface", "volume"]
        self._ec2 = [stack.format_arn(service="ec2", resource=kind, resource_name="*") for kind in kinds]
        if with_snapshots:
            # Snapshots have no account in their ARN.
            snapshots = stack.format_arn(service="ec2", account="", resource="snapshot", resource_name="*")
            self._ec2.append(snapshots)
        self._logs = stack.format_arn(
            service="logs", resource="log-group", resource_name="*", arn_format=ArnFormat.COLON_RESOURCE_NAME
        )
        self._parameters = stack.format_arn(
            service="ssm", resource="parameter", resource_name=f"{path.removeprefix('/')}/*"
        )

    def wildcards(self) -> Mapping[str, str]:
        """Every wildcard, and why nothing narrower will do."""
        limited = "Nobody knows the names of what is left over: this fleet's tag limits the calls."
        return {
            "*": "These calls only read, and IAM cannot limit them to one fleet.",
            **dict.fromkeys(self._ec2, limited),
            self._logs: f"{limited} Without the tag, only tags and names of streams can be read.",
            self._parameters: "The path is this fleet's own.",
        }

    def reads(self) -> list[iam.PolicyStatement]:
        """Finding out what there is, and what uses it."""
        calls = [
            "autoscaling:DescribeAutoScalingGroups",
            "autoscaling:DescribeAutoScalingInstances",
            "autoscaling:DescribeWarmPool",
            "ec2:DescribeAddresses",
            "ec2:DescribeInstances",
            "ec2:DescribeLaunchTemplateVersions",
            "ec2:DescribeLaunchTemplates",
            "ec2:DescribeNetworkInterfaces",
            "ec2:DescribeVolumes",
            *(("ec2:DescribeImages", "ec2:DescribeSnapshots") if self._with_snapshots else ()),
            "ssm:DescribeParameters",
            "tag:GetResources",
        ]
        return [
            iam.PolicyStatement(actions=calls, resources=["*"]),
            iam.PolicyStatement(actions=["cloudformation:ListStackResources"], resources=[self._stack_id]),
            iam.PolicyStatement(
                actions=["logs:DescribeLogStreams", "logs:ListTagsForResource"], resources=[self._logs]
            ),
            iam.PolicyStatement(actions=["ssm:ListTagsForResource"], resources=[self._parameters]),
        ]

    def notes(self) -> list[iam.PolicyStatement]:
        """The one tag that a dry run writes too."""
        only_the_note = {
            "StringEquals": self._fleets_tag(),
            "ForAllValues:StringEquals": {"aws:TagKeys": [names.ORPHAN_TAG]},
            # Deleting without a key removes every tag, and "for all" of no key is true.
            "Null": {"aws:TagKeys": "false"},
        }
        return self._limited(
            only_the_note,
            ec2=["ec2:CreateTags", "ec2:DeleteTags"],
            logs=["logs:TagResource", "logs:UntagResource"],
            ssm=["ssm:AddTagsToResource", "ssm:RemoveTagsFromResource"],
        )

    def frees(self) -> list[iam.PolicyStatement]:
        """What carries this fleet's tag and the note of a sighting, and is not held."""
        an_orphan_of_ours = {
            "StringEquals": self._fleets_tag(),
            "StringEqualsIgnoreCaseIfExists": {f"aws:ResourceTag/{names.HOLD_TAG}": "false"},
            "Null": {f"aws:ResourceTag/{names.ORPHAN_TAG}": "false"},
        }
        return self._limited(
            an_orphan_of_ours,
            ec2=[
                "ec2:DeleteLaunchTemplateVersions",
                "ec2:DeleteNetworkInterface",
                *(("ec2:DeleteSnapshot",) if self._with_snapshots else ()),
                "ec2:DeleteVolume",
                "ec2:ReleaseAddress",
                "ec2:TerminateInstances",
            ],
            logs=["logs:DeleteLogGroup"],
            ssm=["ssm:DeleteParameter"],
        )

    def _fleets_tag(self) -> dict[str, str]:
        return {f"aws:ResourceTag/{names.FLEET_TAG}": self._fleet.fleet_tag_value}

    def _limited(
        self, conditions: Mapping[str, object], *, ec2: list[str], logs: list[str], ssm: list[str]
    ) -> list[iam.PolicyStatement]:
        each: Sequence[tuple[list[str], list[str]]] = (
            (ec2, self._ec2),
            (logs, [self._logs]),
            (ssm, [self._parameters]),
        )
        return [
            iam.PolicyStatement(actions=actions, resources=resources, conditions=dict(conditions))
            for actions, resources in each
        ]


def _check_stack(sweep: Construct, fleet: AcceleratedFleet) -> None:
    if Stack.of(sweep) is not Stack.of(fleet):
        rule = "be a fleet of the sweep's own stack"
        cure = "create the sweep in the fleet's stack: what that stack has made is never left over"
        raise ArgumentError(complaint(sweep.node.path, "fleet", rule, fleet.node.path, cure))


def _claim_fleet(path: str, fleet: AcceleratedFleet) -> None:
    taken = claim(fleet.node, "swept-by", path)
    if taken is not None:
        cure = "remove one of the two: a dry run would note what the other one then frees"
        raise ArgumentError(
            complaint(path, "fleet", f"be a fleet without another sweep ({taken})", fleet.node.path, cure)
        )


def _seconds(where: str, parameter: str, value: object, least: int, most: int) -> int:
    cure = "write for example Duration.days(2)"
    duration = instance_of(where, parameter, value, Duration, cure=cure)
    if duration.is_unresolved():
        raise ArgumentError(complaint(where, parameter, "be known at synth", "a token", "give a literal Duration"))
    milliseconds = duration.to_milliseconds()
    if milliseconds % 1000 or not least * 1000 <= milliseconds <= most * 1000:
        rule = f"be whole seconds from {least // 3600} hours to {most // _DAY_SECONDS} days"
        raise ArgumentError(complaint(where, parameter, rule, duration.to_human_string(), cure))
    return int(milliseconds // 1000)


def _compact(prices: Mapping[str, float]) -> str:
    return json.dumps(dict(prices), separators=(",", ":"))
