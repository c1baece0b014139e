"""A time to live for development stacks."""

from __future__ import annotations

from enum import Enum

import jsii
from aws_cdk import Aspects, Aws, CfnResource, Duration, IAspect, Stack
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_ssm as ssm
from aws_cdk.aws_cloudwatch_actions import SnsAction
from constructs import Construct, IConstruct

from constructs_lib.claims import claim
from constructs_lib.errors import ArgumentError
from constructs_lib.handlers import HandlerFunction, ScheduleTrigger
from constructs_lib.notifications import key_statements, notifications_topic
from constructs_lib.references import check_references
from constructs_lib.telemetry import names, positive_alarm
from constructs_lib.validation import complaint, instance_of

_HOUR = 3600
_SHORTEST_LIFE = 2 * _HOUR
_LONGEST_LIFE = 366 * 24 * _HOUR
_SHORTEST_WARNING = _HOUR
_DEFAULT_WARNING = 24 * _HOUR
_RUN_SECONDS = 120
_DAY_HOURS = 24
_LONGEST_IN_HOURS = 3 * _DAY_HOURS  # in a message; what is longer is told in days


class ExpiryStart(Enum):
    """What a stack's time to live is counted from."""

    CREATION = "creation"
    """The stack's creation: it ends on a day that is known from the beginning."""

    LAST_UPDATE = "last_update"
    """The stack's last update: it ends when nobody has deployed to it for so long."""


class StackExpiry(Construct):
    """Deletes the stack that it is in when its time is over, and says so before.

    For development stacks: an expiry asks nobody whether work is running. A function looks once an hour. People are
    warned through the topic once a day from ``warn_before`` on, and nothing is deleted sooner than ``warn_before``
    after the first warning, also when the expiry is added to a stack that is older than it allows, or is moved forward.

    The stack's tag ``accelerated-fleet:expires`` names another moment, later or earlier: a date (``2026-12-24``, until
    its end in UTC) or a time (``2026-12-24T18:00Z``). One that cannot be understood keeps the stack, and is told.

    Never deleted, and told once a day: a stack with termination protection; one without a service role, since the
    function may delete the stack but no resource in it (each stack that ``cdk deploy`` makes with the roles of ``cdk
    bootstrap`` has one, and CloudFormation goes on with it after the function itself is gone); a nested stack. An
    update that is in progress is waited for, and a deletion that failed is tried again at the next hour: the Auto
    Scaling groups of the stack, and of the stacks nested in it, are made after this construct and deleted before it.
    What else CloudFormation cannot delete (a bucket that is not empty) may outlast the function, and is left to a
    person; so is what a resource's removal policy retains.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        after: Duration,
        warn_before: Duration | None = None,
        counted_from: ExpiryStart | None = None,
        notifications: sns.ITopic | None = None,
    ) -> None:
        """
        Args:
            after: how long the stack lives. Whole hours, from 2 hours to 366 days.
            warn_before: how long before its end people are warned. Whole hours, at least 1 and less than ``after``.
                Default: a day, or half of ``after`` if that is shorter.
            counted_from: Default: ``ExpiryStart.CREATION``.
            notifications: topic for warnings, for what keeps an expired stack, and for a function that fails.
                Not one of a stack nested in this one. Default: a new topic without subscribers.

        Raises:
            ArgumentError: an argument is wrong, the stack is a nested one or has termination protection, or another
                expiry deletes it already.
        """
        super().__init__(scope, id)
        path = self.node.path
        check_references(path, notifications=notifications)
        _refuse_nested(path, Stack.of(self))
        _refuse_topic_of_nested(path, Stack.of(self), notifications)
        _refuse_protected(path, Stack.of(self))
        life = _whole_hours(path, "after", after, _SHORTEST_LIFE, _LONGEST_LIFE, example="Duration.days(7)")
        warning = _warning_seconds(path, warn_before, life)
        start = ExpiryStart.CREATION if counted_from is None else counted_from
        instance_of(path, "counted_from", start, ExpiryStart, cure="write ExpiryStart.CREATION or LAST_UPDATE")
        _claim_stack(path, Stack.of(self))
        self._notifications = notifications_topic(self, "Notifications", notifications)
        memory = ssm.CfnParameter(self, "Memory", type="String", value="{}")
        handler = HandlerFunction(
            self,
            "Handler",
            handler="stack_expiry",
            description="Warns of the end of this stack, and deletes it when its time is over",
            environment={
                "STACK_ID": Aws.STACK_ID,
                "EXPIRES_AFTER_SECONDS": str(life),
                "WARN_BEFORE_SECONDS": str(warning),
                "COUNTED_FROM": start.value,
                "EXPIRES_TAG_KEY": names.EXPIRES_TAG,
                "TOPIC_ARN": self._notifications.topic_arn,
                "STATE_PARAMETER": memory.ref,
            },
            statements=_statements(Stack.of(self), memory, self._notifications),
            wildcards={},
            timeout_seconds=_RUN_SECONDS,
            # The next hour repairs what failed, and a run that comes later than that would only be the next one.
            max_event_age_seconds=_HOUR,
        )
        self._function = handler.function
        ScheduleTrigger(self, "Hourly", function=self._function, minutes=_HOUR // 60)
        positive_alarm(
            self,
            "FailingAlarm",
            description="The stack may outlive its time: the expiry function fails, see its log.",
            metric=self._function.metric_errors(period=Duration.hours(1), statistic="Sum"),
            periods=2,
            datapoints=2,
            action=SnsAction(self._notifications),
        )
        Aspects.of(Stack.of(self)).add(_GroupsGoFirst(self))

    @property
    def notifications(self) -> sns.ITopic:
        """Where warnings go, what keeps an expired stack, and the alarm of a function that fails."""
        return self._notifications

    @property
    def function(self) -> lambda_.Function:
        """The function that looks once an hour, warns, and deletes the stack."""
        return self._function


@jsii.implements(IAspect)
class _GroupsGoFirst:
    """Makes every Auto Scaling group of the stack depend on its expiry, wherever and whenever it is defined.

    What depends on nothing goes first when a stack is deleted: without this, the hourly rule would be gone after the
    first attempt, and a group that could not be deleted would bill for ever.
    """

    def __init__(self, expiry: StackExpiry) -> None:
        self._expiry = expiry
        self._stack = Stack.of(expiry).node.addr
        self._group_type = _group_type()

    def visit(self, node: IConstruct) -> None:
        """Look at one construct, as the CDK asks."""
        if isinstance(node, CfnResource) and node.cfn_resource_type == self._group_type and self._is_in_the_stack(node):
            node.node.add_dependency(self._expiry)

    def _is_in_the_stack(self, resource: CfnResource) -> bool:
        """Whether it ends with the stack. One that merely has this stack as its scope does not."""
        stack: Stack | None = Stack.of(resource)
        while stack is not None and stack.node.addr != self._stack:
            stack = stack.nested_stack_parent
        return stack is not None


def _group_type() -> str:
    # Not when the module is imported: asking the CDK starts its JavaScript process.
    return autoscaling.CfnAutoScalingGroup.CFN_RESOURCE_TYPE_NAME


def _refuse_nested(path: str, stack: Stack) -> None:
    if stack.nested_stack_parent is None:
        return
    cure = "put it into the stack that contains this one: CloudFormation deletes a nested stack with its parent only"
    raise ArgumentError(complaint(path, "scope", "not be in a nested stack", stack.node.path, cure))


def _refuse_protected(path: str, stack: Stack) -> None:
    if stack.termination_protection:
        rule = "not be in a stack with termination protection, which is never deleted"
        cure = "remove the expiry, or the protection"
        raise ArgumentError(complaint(path, "scope", rule, "termination_protection=True", cure))


def _claim_stack(path: str, stack: Stack) -> None:
    taken = claim(stack.node, "expires-by", path)
    if taken is not None:
        rule = f"be in a stack without another expiry ({taken})"
        cure = "remove one of the two: the stack would end at the earlier time, whatever the other one says"
        raise ArgumentError(complaint(path, "scope", rule, stack.node.path, cure))


def _refuse_topic_of_nested(path: str, stack: Stack, topic: sns.ITopic | None) -> None:
    """A stack with a group goes before its expiry, so nothing of the expiry may come from it."""
    outer = Stack.of(topic).nested_stack_parent if isinstance(topic, sns.Topic) else None
    while outer is not None and outer.node.addr != stack.node.addr:
        outer = outer.nested_stack_parent
    if isinstance(topic, sns.Topic) and outer is not None:
        rule = "not be of a stack that is nested in this one"
        cure = "create the topic in this stack, and pass it to the fleet too"
        raise ArgumentError(complaint(path, "notifications", rule, topic.node.path, cure))


def _warning_seconds(path: str, given: Duration | None, life: int) -> int:
    if given is None:
        return min(_DEFAULT_WARNING, life // 2 // _HOUR * _HOUR)
    return _whole_hours(path, "warn_before", given, _SHORTEST_WARNING, life - _HOUR, example="Duration.hours(1)")


def _whole_hours(path: str, parameter: str, value: Duration, minimum: int, maximum: int, *, example: str) -> int:
    cure = f"write for example {example}"
    instance_of(path, parameter, value, Duration, cure=cure)
    if value.is_unresolved():
        rule = "be known at synth, since it is compared with other times"
        raise ArgumentError(complaint(path, parameter, rule, "a token", "give a literal Duration"))
    milliseconds = value.to_milliseconds()
    if milliseconds % (1000 * _HOUR) or not minimum * 1000 <= milliseconds <= maximum * 1000:
        rule = f"be whole hours, from {_in_words(minimum)} to {_in_words(maximum)}"
        raise ArgumentError(complaint(path, parameter, rule, value.to_human_string(), cure))
    return int(milliseconds // 1000)


def _in_words(seconds: int) -> str:
    hours = seconds // _HOUR
    if hours > _LONGEST_IN_HOURS and hours % _DAY_HOURS == 0:
        return f"{hours // _DAY_HOURS} days"
    return "1 hour" if hours == 1 else f"{hours} hours"


def _statements(stack: Stack, memory: ssm.CfnParameter, topic: sns.ITopic) -> list[iam.PolicyStatement]:
    parameter = stack.format_arn(service="ssm", resource="parameter", resource_name=memory.ref)
    return [
        iam.PolicyStatement(
            actions=["cloudformation:DeleteStack", "cloudformation:DescribeStacks"], resources=[Aws.STACK_ID]
        ),
        iam.PolicyStatement(actions=["ssm:GetParameter", "ssm:PutParameter"], resources=[parameter]),
        iam.PolicyStatement(actions=["sns:Publish"], resources=[topic.topic_arn]),
        *key_statements(topic),
    ]
