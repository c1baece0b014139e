"""What one group wants and cannot get, as the demand of another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from aws_cdk import Duration, Stack, Token
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_

from constructs_lib.claims import claim
from constructs_lib.errors import ArgumentError
from constructs_lib.scaling.demand import Demand
from constructs_lib.telemetry.group_metrics import GroupMetrics
from constructs_lib.validation import complaint, instance_of

NOTHING_TAKES_BACK = "@cdk-accelerated-fleet/scaling:NothingTakesBack"
LAUNCHES_STOP = "@cdk-accelerated-fleet/scaling:LaunchesStop"

_WHERE = "ShortfallDemand"
_MINUTE = 60
_SHORTEST = 5 * _MINUTE
_LONGEST = 6 * 60 * _MINUTE  # the handler takes no more
_DEFAULT = 15 * _MINUTE
_READ = {"GroupDesiredCapacity", "GroupInServiceInstances"}


class Fleet(Protocol):
    """What is asked of an AcceleratedFleet."""

    @property
    def auto_scaling_group(self) -> autoscaling.AutoScalingGroup: ...

    @property
    def wake_function(self) -> lambda_.Function | None: ...

    @property
    def max_failed_launches(self) -> int: ...


@dataclass(frozen=True)
class ShortfallDemand(Demand):
    """Another fleet wants instances that it cannot get: one instance here for each that it has lacked all the time.

    The next step of a ladder: a fleet of Spot, and one that is bought On-Demand, or of another type, with this demand.
    Once a minute the wake function raises it to what the other fleet lacks now and has lacked in every minute of
    ``after``, at most to its own maximum. A minute that is not known wakes nobody, and lets the run fail. A fleet that
    is paused, or whose launches are suspended, lacks nothing. What is on its way into service is not lacking.

    The instances do the same work, for example from the same queue, which is the demand of the other fleet alone. They
    go when they are idle by their own signals, also while the other fleet is still short, and what was given back is
    not started again for as long as ``after``. When the other fleet gets its instances, running ones here work on.

    Limitations: not for a group whose instances have weights.

    Attributes:
        fleet: the fleet that this one stands in for; or an Auto Scaling group that has its own metrics collected.
        after: for how long it must have lacked an instance. Whole minutes from 5 to 360, and at least the fleet's
            warm-up, since a cold start is no shortage. Default: 15 minutes, or that warm-up if it is longer.

    Raises:
        ArgumentError: a value is of the wrong type or out of range, or the group collects no metrics.
    """

    fleet: Fleet | autoscaling.IAutoScalingGroup
    # The CDK's Durations have no equality, so the seconds stand for it.
    after: Duration | None = field(default=None, kw_only=True, compare=False)
    after_seconds: int = field(init=False)

    def __post_init__(self) -> None:
        if not hasattr(self._group, "scale_on_metric"):
            rule = "be an AcceleratedFleet or an Auto Scaling group"
            cure = "pass the fleet that this one stands in for, or a group with group_metrics=[GroupMetrics.all()]"
            raise ArgumentError(complaint(_WHERE, "fleet", rule, self.fleet, cure))
        _check_metrics(self._group)
        seconds = _after_seconds(self.after, _warm_up_seconds(self._group))
        object.__setattr__(self, "after_seconds", seconds)
        object.__setattr__(self, "after", Duration.seconds(seconds))

    @property
    def keeps_instances(self) -> bool:
        return False

    def settings(self) -> Mapping[str, str]:
        return {
            "SHORTFALL_OF_GROUP": self._group.auto_scaling_group_name,
            "SHORTFALL_AFTER_SECONDS": str(self.after_seconds),
        }

    def metric_waiting(self, period: Duration) -> cloudwatch.IMetric:
        metrics = GroupMetrics(self._group.auto_scaling_group_name)
        return cloudwatch.MathExpression(
            expression="desired - in_service",
            using_metrics={
                "desired": metrics.desired_capacity(period=period),
                "in_service": metrics.in_service_instances(period=period),
            },
            label="instances that the other fleet lacks",
            period=period,
        )

    def claim(self, where: str) -> None:
        # Each import of a group is a construct of its own: the name is what they share.
        name = self._group.auto_scaling_group_name
        by_name = not Token.is_unresolved(name)
        owner = Stack.of(self._group).node if by_name else self._group.node
        taken = claim(owner, f"stood-in-for-by:{name}" if by_name else "stood-in-for-by", where)
        if taken is not None:
            cure = "let the next step of the ladder stand in for that one: both would start instances for the same want"
            rule = f"have a fleet that no other one stands in for ({taken})"
            raise ArgumentError(complaint(where, "demand", rule, name if by_name else self._group.node.path, cure))

    def warnings(self) -> Mapping[str, str]:
        found = {}
        path = self._group.node.path
        if getattr(self.fleet, "wake_function", self) is None:
            found[NOTHING_TAKES_BACK] = (
                f"nothing takes back what {path} wants and does not get: while it wants it, idle instances here go and "
                "others are started in their place. Give that fleet a demand"
            )
        if getattr(self.fleet, "max_failed_launches", 0) > 0:
            found[LAUNCHES_STOP] = (
                f"when every launch of {path} has failed for an hour, its launches are stopped, and then nothing is "
                "started here either: give it idle=IdlePolicy(max_failed_launches=0), so that it waits for capacity"
            )
        return found

    def statements(self) -> Sequence[iam.PolicyStatement]:
        return [iam.PolicyStatement(actions=["cloudwatch:GetMetricData"], resources=["*"])]

    def wildcards(self) -> Mapping[str, str]:
        return {"*": "DescribeAutoScalingGroups and GetMetricData only read, and cannot be limited to one group."}

    @property
    def _group(self) -> autoscaling.IAutoScalingGroup:
        # What is no fleet is a group, or is refused as none.
        group: Any = getattr(self.fleet, "auto_scaling_group", self.fleet)
        return cast(autoscaling.IAutoScalingGroup, group)


def _resource(group: autoscaling.IAutoScalingGroup) -> autoscaling.CfnAutoScalingGroup | None:
    """Return what the template says of the group; None for one from elsewhere."""
    resource = group.node.default_child
    return resource if isinstance(resource, autoscaling.CfnAutoScalingGroup) else None


def _warm_up_seconds(group: autoscaling.IAutoScalingGroup) -> int:
    """Return how long an instance takes until it can work, as far as that is known."""
    resource = _resource(group)
    seconds: Any = None if resource is None else resource.default_instance_warmup
    return 0 if seconds is None or Token.is_unresolved(seconds) else int(seconds)


def _check_metrics(group: autoscaling.IAutoScalingGroup) -> None:
    resource = _resource(group)
    if resource is None:
        return
    # A group of the CDK's own writes it only when asked.
    collections = Stack.of(group).resolve(resource.metrics_collection) or []
    if not isinstance(collections, list):
        return
    collected: set[str] = set()
    for each in collections:
        collected |= set(each.get("metrics") or _READ)
    if not collected >= _READ:
        rule = f"collect its own metrics {' and '.join(sorted(_READ))}"
        cure = "make the group with group_metrics=[GroupMetrics.all()]: nobody else says for how long it has been short"
        raise ArgumentError(complaint(_WHERE, "fleet", rule, group.node.path, cure))


def _after_seconds(after: Duration | None, warm_up: int) -> int:
    if after is None:
        return max(_DEFAULT, warm_up)
    cure = "write for example Duration.minutes(15)"
    instance_of(_WHERE, "after", after, Duration, cure=cure)
    if after.is_unresolved():
        raise ArgumentError(complaint(_WHERE, "after", "be known at synth", "a token", cure))
    seconds = after.to_milliseconds() / 1000
    if seconds % _MINUTE or not _SHORTEST <= seconds <= _LONGEST:
        rule = f"be whole minutes from {_SHORTEST // _MINUTE} to {_LONGEST // _MINUTE}"
        raise ArgumentError(complaint(_WHERE, "after", rule, after.to_human_string(), cure))
    if seconds < warm_up:
        rule = f"not be shorter than the other fleet's warm-up ({warm_up // _MINUTE} minutes)"
        cure = "make it longer: an instance that is starting is no shortage"
        raise ArgumentError(complaint(_WHERE, "after", rule, after.to_human_string(), cure))
    return int(seconds)
