"""What a release handler is told, and what it may do: both follow from the same arguments."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from aws_cdk import Stack
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from constructs_lib.catalog import AcceleratedType
from constructs_lib.errors import ArgumentError
from constructs_lib.notifications import key_statements
from constructs_lib.release.idle_signal import IdleSignal
from constructs_lib.release.policy import IdlePolicy
from constructs_lib.release.signals import signal_settings
from constructs_lib.scaling import Demand, Hours
from constructs_lib.telemetry import FleetMetrics, names
from constructs_lib.validation import complaint, is_token

# "Lambda quotas", Lambda Developer Guide: all of a function's environment variables together.
_ENVIRONMENT_BYTES = 4096
_TOKEN_BYTES = 128


class ScaleInProtection(Enum):
    """What an instance's scale-in protection means to the release handler."""

    HOLD = "hold"
    """Somebody asked for this instance to be kept."""

    IGNORE = "ignore"
    """The group protects every instance, so that nothing but the handler can choose a victim."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReleaseSettings:
    """Everything that one release handler works with.

    Attributes:
        auto_scaling_group: whose members it judges.
        metrics: of that group.
        policy: when a member is idle.
        signals: what is looked at.
        doubt: the signal that counts accelerators of which nobody knows anything. None: nobody counts them.
        protection: what scale-in protection means.
        demand: work that keeps instances. None: only the group's minimum does.
        notifications: where a person is told that launches are stopped.
        max_failed_launches: after so many in a row they are; 0 for never.
        member_tag: name and value of a tag that every member has, and no other instance.
        types: of the instances; none if nobody knows them.
        maintenance: the only hours in which the policy's ``max_instance_life`` acts. None: at any time.
        drain_hook: name of the termination hook that lets instances drain. None: there is none.
        leave_from: from this moment on, in UTC, every instance goes, at work or not. None: there is none.
    """

    auto_scaling_group: autoscaling.IAutoScalingGroup
    metrics: FleetMetrics
    policy: IdlePolicy
    signals: Sequence[IdleSignal]
    doubt: Mapping[str, object] | None
    protection: ScaleInProtection
    demand: Demand | None
    notifications: sns.ITopic
    max_failed_launches: int
    member_tag: tuple[str, str]
    types: Sequence[AcceleratedType] = ()
    maintenance: Sequence[Hours] | None = None
    drain_hook: str | None = None
    leave_from: datetime | None = None

    def environment(self, where: str, state: ssm.CfnParameter) -> Mapping[str, str]:
        """Return the handler's environment; ``state`` is where it remembers what must outlive a pass.

        Raises:
            ArgumentError: it is more than Lambda takes. ``where`` is the construct's path.
        """
        written = {
            "AUTO_SCALING_GROUP_NAME": self.auto_scaling_group.auto_scaling_group_name,
            "METRIC_NAMESPACE": names.NAMESPACE,
            "METRIC_PERIOD_SECONDS": str(names.PERIOD_SECONDS),
            "WINDOW_SECONDS": str(self.policy.window_seconds),
            "WARM_UP_SECONDS": str(self.policy.warm_up_seconds),
            "MAX_RELEASE_SHARE": str(self.policy.max_release_share),
            "HOLD_TAG_KEY": names.HOLD_TAG,
            "SCALE_IN_PROTECTION": self.protection.value,
            "STATE_PARAMETER": state.ref,
            "SIGNALS": self._signals(),
            "WATCH_SESSIONS": "true" if IdleSignal.SESSIONS in self.signals else "false",
            **self._limits(),
            **self._hours(),
            **self._prices(),
            **({} if self.drain_hook is None else {"DRAIN_HOOK": self.drain_hook}),
            **({} if self.leave_from is None else {"LEAVE_FROM": f"{self.leave_from:%Y-%m-%dT%H:%M:%SZ}"}),
            **({} if self.demand is None else self.demand.settings()),
        }
        _check_size(where, written)
        return written

    def statements(self, scope: Construct, state: ssm.CfnParameter) -> list[iam.PolicyStatement]:
        """Return what the handler may do besides writing its own log."""
        group = self.auto_scaling_group.auto_scaling_group_arn
        return [
            iam.PolicyStatement(actions=self._reads(), resources=["*"]),
            iam.PolicyStatement(actions=self._changes(), resources=[group]),
            iam.PolicyStatement(
                actions=["ssm:GetParameter", "ssm:PutParameter"],
                resources=[Stack.of(scope).format_arn(service="ssm", resource="parameter", resource_name=state.ref)],
            ),
            *self._note_statements(scope),
            *self._publish_statements(),
            *(() if self.demand is None else self.demand.statements()),
        ]

    # --- what it is told ---------------------------------------------------------------------------------------------

    def _signals(self) -> str:
        asked = signal_settings(self.policy, self.signals, self.metrics.kind, self.types, self.doubt)
        return _json(asked)

    def _limits(self) -> dict[str, str]:
        policy = self.policy
        asked = {
            "MIN_LIFE_SECONDS": policy.min_instance_life_seconds,
            "MAX_RELEASES": policy.max_releases_per_pass,
            "MAX_LIFE_SECONDS": policy.max_instance_life_seconds,
            "MAX_UNKNOWN_SECONDS": policy.max_unknown_seconds,
            "RETAINED_AFTER_SECONDS": policy.end_retained_after_seconds,
            "START_WORTH_SECONDS": policy.start_worth_seconds,
        }
        written = {name: str(value) for name, value in asked.items() if value is not None}
        if policy.max_instance_life is not None or policy.max_unknown is not None:
            assert policy.at_minimum is not None
            written["AT_MINIMUM"] = policy.at_minimum.value
        if self.max_failed_launches > 0:
            written["MAX_FAILED_LAUNCHES"] = str(self.max_failed_launches)
            written["TOPIC_ARN"] = self.notifications.topic_arn
        return written

    def _hours(self) -> dict[str, str]:
        quiet, warm, maintenance = self.policy.quiet_hours, self.policy.keep_warm, self.maintenance
        document = {
            **({} if quiet is None else {"quiet": [each.settings() for each in quiet]}),
            **({} if warm is None else {"warm": [each.settings() for each in warm]}),
            **({} if maintenance is None else {"maintenance": [each.settings() for each in maintenance]}),
        }
        return {"HOURS": _json(document)} if document else {}

    def _prices(self) -> dict[str, str]:
        known = {each.name: each.usd_per_hour for each in self.types if each.usd_per_hour is not None}
        # With one type there is no dearest.
        return {"TYPE_USD_PER_HOUR": _json(known)} if len(known) > 1 else {}

    # --- what it may do ----------------------------------------------------------------------------------------------

    def _reads(self) -> list[str]:
        reads = ["autoscaling:DescribeAutoScalingGroups", "cloudwatch:GetMetricData", "ec2:DescribeInstances"]
        if self.max_failed_launches > 0 or self.policy.end_retained_after is not None:
            reads.append("autoscaling:DescribeScalingActivities")
        if self.policy.end_retained_after is not None:
            reads.append("autoscaling:DescribeWarmPool")
        if IdleSignal.SESSIONS in self.signals:
            reads.append("ssm:DescribeSessions")
        return reads

    def _changes(self) -> list[str]:
        changes = ["autoscaling:TerminateInstanceInAutoScalingGroup"]
        if self.demand is not None:
            # Capacity that AWS never delivered is withdrawn once no work needs it.
            changes.append("autoscaling:SetDesiredCapacity")
        if self.drain_hook is not None:
            # For a machine that is gone and can no longer say that it has drained.
            changes.append("autoscaling:CompleteLifecycleAction")
        if self.protection is ScaleInProtection.HOLD or self.max_failed_launches > 0:
            # Members that are not protected must not be moved between zones because others were released, and launches
            # that come to nothing are stopped.
            changes.append("autoscaling:SuspendProcesses")
        return changes

    def _note_statements(self, scope: Construct) -> list[iam.PolicyStatement]:
        if self.policy.max_unknown is None:
            return []
        key, value = self.member_tag
        return [
            iam.PolicyStatement(
                actions=["ec2:CreateTags", "ec2:DeleteTags"],
                resources=[any_instance(scope)],
                conditions={
                    "StringEquals": {f"aws:ResourceTag/{key}": value},
                    "ForAllValues:StringEquals": {"aws:TagKeys": [names.UNKNOWN_TAG]},
                    # DeleteTags without a key removes every tag, and "for all" of no key is true.
                    "Null": {"aws:TagKeys": "false"},
                },
            )
        ]

    def _publish_statements(self) -> list[iam.PolicyStatement]:
        if self.max_failed_launches == 0:
            return []
        topic = self.notifications
        return [
            iam.PolicyStatement(actions=["sns:Publish"], resources=[topic.topic_arn]),
            *key_statements(topic),
        ]


def any_instance(scope: Construct) -> str:
    """ARN of the account's instances in this Region; a tag has to limit what may be done with it."""
    return Stack.of(scope).format_arn(service="ec2", resource="instance", resource_name="*")


def _json(document: object) -> str:
    return json.dumps(document, separators=(",", ":"))


def _check_size(where: str, environment: Mapping[str, str]) -> None:
    written = (part for item in environment.items() for part in item)
    size = sum(len(part.encode()) + _TOKEN_BYTES * is_token(part) for part in written)
    if size > _ENVIRONMENT_BYTES:
        rule = f"leave the release function's settings within {_ENVIRONMENT_BYTES} bytes"
        cure = "name fewer hours, exceptions or custom signals: Lambda takes no more"
        raise ArgumentError(complaint(where, "idle", rule, size, cure))
