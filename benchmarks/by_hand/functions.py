"""The three functions, with what invokes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from aws_cdk import CustomResource, Duration, RemovalPolicy, Stack
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_ssm as ssm

from benchmarks.by_hand.alarms import alarm, group_metric, idle_alarm
from benchmarks.by_hand.names import DRAIN_HOOK, FLEET_TAG, NAMESPACE

_HANDLERS = Path(__file__).resolve().parents[2] / "lambda_handlers"


def handler(
    stack: Stack, name: str, environment: dict[str, str], statements: list[iam.PolicyStatement], timeout: Duration
) -> lambda_.Function:
    """A function with a log group and a role of its own."""
    log_group = logs.LogGroup(
        stack, f"{name}Logs", retention=logs.RetentionDays.ONE_MONTH, removal_policy=RemovalPolicy.DESTROY
    )
    write_log = iam.PolicyStatement(
        actions=["logs:CreateLogStream", "logs:PutLogEvents"], resources=[log_group.log_group_arn]
    )
    role = iam.Role(
        stack,
        f"{name}Role",
        assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
        inline_policies={"Handler": iam.PolicyDocument(statements=[write_log, *statements])},
    )
    return lambda_.Function(
        stack,
        f"{name}Function",
        description=f"Accelerated fleet: {name}",
        code=lambda_.Code.from_asset(str(_HANDLERS), exclude=["**/__pycache__", "**/*.pyc"]),
        handler=f"{name}.index.handler",
        runtime=lambda_.Runtime.PYTHON_3_13,
        architecture=lambda_.Architecture.ARM_64,
        memory_size=256,
        timeout=timeout,
        environment=environment,
        role=role,
        log_group=log_group,
        logging_format=lambda_.LoggingFormat.JSON,
    )


def every(
    stack: Stack,
    id: str,
    interval: Duration,
    function: lambda_.Function,
    event_pattern: Mapping[str, object] | None = None,
) -> None:
    """Invoke the function at a steady interval, and with the events that match."""
    rule = events.CfnRule(
        stack,
        id,
        schedule_expression=events.Schedule.rate(interval).expression_string,
        event_pattern=event_pattern,
        state="ENABLED",
        targets=[events.CfnRule.TargetProperty(id="Handler", arn=function.function_arn)],
    )
    may_invoke(stack, f"{id}Permission", function, "events.amazonaws.com", rule.attr_arn)


def may_invoke(stack: Stack, id: str, function: lambda_.Function, principal: str, source_arn: str) -> None:
    """Let one alarm or rule invoke the function."""
    lambda_.CfnPermission(
        stack,
        id,
        action="lambda:InvokeFunction",
        function_name=function.function_arn,
        principal=principal,
        source_arn=source_arn,
    )


def release(stack: Stack, group: autoscaling.AutoScalingGroup, queue: sqs.Queue, topic: sns.Topic) -> None:
    """The function that releases idle instances, its schedule and its alarms."""
    state = ssm.CfnParameter(stack, "ReleaseState", type="String", value="{}")
    signals = [
        {"name": "accelerator", "metric": "nvidia_smi_utilization_gpu", "statistic": "Maximum", "idle_below": 5},
        {"name": "cpu", "metric": "cpu_usage_active", "statistic": "Maximum", "idle_below": 10},
    ]
    environment = {
        "AUTO_SCALING_GROUP_NAME": group.auto_scaling_group_name,
        "METRIC_NAMESPACE": NAMESPACE,
        "METRIC_PERIOD_SECONDS": "60",
        "WINDOW_SECONDS": "900",
        "WARM_UP_SECONDS": "600",
        "SIGNALS": json.dumps(signals),
        "WATCH_SESSIONS": "true",
        "MAX_RELEASE_SHARE": "1.0",
        "HOLD_TAG_KEY": "accelerated-fleet:hold",
        "SCALE_IN_PROTECTION": "ignore",
        "STATE_PARAMETER": state.ref,
        "MAX_FAILED_LAUNCHES": "5",
        "TOPIC_ARN": topic.topic_arn,
        "DRAIN_HOOK": DRAIN_HOOK,
        "QUEUE_URL": queue.queue_url,
        "MESSAGES_PER_INSTANCE": "4",
    }
    reads = ["autoscaling:DescribeAutoScalingGroups", "cloudwatch:GetMetricData", "ec2:DescribeInstances"]
    statements = [
        iam.PolicyStatement(
            actions=[*reads, "autoscaling:DescribeScalingActivities", "ssm:DescribeSessions"], resources=["*"]
        ),
        iam.PolicyStatement(
            actions=[
                "autoscaling:TerminateInstanceInAutoScalingGroup",
                "autoscaling:SetDesiredCapacity",
                "autoscaling:CompleteLifecycleAction",
                "autoscaling:SuspendProcesses",
            ],
            resources=[group.auto_scaling_group_arn],
        ),
        iam.PolicyStatement(
            actions=["ssm:GetParameter", "ssm:PutParameter"],
            resources=[stack.format_arn(service="ssm", resource="parameter", resource_name=state.ref)],
        ),
        iam.PolicyStatement(actions=["sns:Publish"], resources=[topic.topic_arn]),
        iam.PolicyStatement(actions=["sqs:GetQueueAttributes"], resources=[queue.queue_arn]),
    ]
    function = handler(stack, "release_idle", environment, statements, Duration.minutes(5))
    function.configure_async_invoke(retry_attempts=0, max_event_age=Duration.minutes(5))
    waits_for_its_hook = {
        "source": ["aws.autoscaling"],
        "detail-type": ["EC2 Instance-terminate Lifecycle Action"],
        "detail": {"AutoScalingGroupName": [group.auto_scaling_group_name]},
    }
    every(stack, "ReleaseSteady", Duration.minutes(5), function, waits_for_its_hook)
    idle = idle_alarm(stack, group, function)
    may_invoke(stack, "IdlePermission", function, "lambda.alarms.cloudwatch.amazonaws.com", idle.alarm_arn)
    unknown = cloudwatch.MathExpression(
        expression="unknown + retained",
        using_metrics={
            "unknown": group_metric(group, NAMESPACE, "MembersUnknown", "Minimum", Duration.minutes(5)),
            "retained": group_metric(group, NAMESPACE, "MembersRetained", "Minimum", Duration.minutes(5)),
        },
        period=Duration.minutes(5),
    )
    alarm(stack, "Unknown", unknown, topic, periods=3, datapoints=3)
    stalled = group_metric(group, NAMESPACE, "MembersIdleDespiteWork", "Minimum", Duration.minutes(5))
    alarm(stack, "StalledWork", stalled, topic, periods=6, datapoints=6)
    period = Duration.minutes(5)
    no_pass = cloudwatch.MathExpression(
        expression="in_service - 1000000 * (passes - errors)",
        using_metrics={
            "in_service": group_metric(group, "AWS/AutoScaling", "GroupInServiceInstances", "Maximum", period),
            "passes": group_metric(group, NAMESPACE, "MembersBusy", "SampleCount", period),
            "errors": function.metric_errors(period=period, statistic="Sum"),
        },
        period=period,
    )
    alarm(stack, "NoPass", no_pass, topic, periods=4, datapoints=3)


def wake(stack: Stack, group: autoscaling.AutoScalingGroup, queue: sqs.Queue, topic: sns.Topic) -> None:
    """The function that raises the capacity to what the queue needs."""
    environment = {
        "AUTO_SCALING_GROUP_NAME": group.auto_scaling_group_name,
        "QUEUE_URL": queue.queue_url,
        "MESSAGES_PER_INSTANCE": "4",
    }
    statements = [
        iam.PolicyStatement(actions=["sqs:GetQueueAttributes"], resources=[queue.queue_arn]),
        iam.PolicyStatement(actions=["autoscaling:DescribeAutoScalingGroups"], resources=["*"]),
        iam.PolicyStatement(actions=["autoscaling:SetDesiredCapacity"], resources=[group.auto_scaling_group_arn]),
    ]
    function = handler(stack, "wake_on_demand", environment, statements, Duration.seconds(50))
    every(stack, "WakeEveryMinute", Duration.minutes(1), function)
    period = Duration.minutes(1)
    stopped = cloudwatch.MathExpression(
        expression="waiting - 1000000 * (runs - 2 * errors)",
        using_metrics={
            "waiting": queue.metric_approximate_number_of_messages_visible(period=period, statistic="Maximum"),
            "runs": function.metric_invocations(period=period, statistic="Sum"),
            "errors": function.metric_errors(period=period, statistic="Sum"),
        },
        period=period,
    )
    alarm(stack, "WakeStopped", stopped, topic, periods=7, datapoints=5)


def cleanup(stack: Stack, group: autoscaling.AutoScalingGroup) -> None:
    """Frees the instances when the stack is deleted."""
    statements = [
        iam.PolicyStatement(
            actions=["autoscaling:DescribeAutoScalingGroups", "ec2:DescribeInstances"], resources=["*"]
        ),
        iam.PolicyStatement(
            actions=[
                "autoscaling:SetInstanceProtection",
                "autoscaling:SuspendProcesses",
                "autoscaling:TerminateInstanceInAutoScalingGroup",
                "autoscaling:UpdateAutoScalingGroup",
            ],
            resources=[group.auto_scaling_group_arn],
        ),
        iam.PolicyStatement(
            actions=["ec2:ModifyInstanceAttribute", "ec2:TerminateInstances"],
            resources=["*"],
            conditions={"StringEquals": {f"aws:ResourceTag/{FLEET_TAG}": stack.stack_name}},
        ),
    ]
    statements.append(iam.PolicyStatement(actions=["cloudformation:DescribeStacks"], resources=[stack.stack_id]))
    environment = {
        "FLEET_TAG_KEY": FLEET_TAG,
        "FLEET_TAG_VALUE": stack.stack_name,
        "STACK_ID": stack.stack_id,
    }
    function = handler(stack, "fleet_cleanup", environment, statements, Duration.minutes(15))
    resource = CustomResource(
        stack,
        "Cleanup",
        service_token=function.function_arn,
        resource_type="Custom::AcceleratedFleetCleanup",
        service_timeout=Duration.minutes(50),
        properties={
            "AutoScalingGroupName": group.auto_scaling_group_name,
            "FleetTagKey": FLEET_TAG,
            "FleetTagValue": stack.stack_name,
        },
    )
    resource.node.add_dependency(group)
    when_group_goes(stack, function)


def when_group_goes(stack: Stack, function: lambda_.Function) -> None:
    """Invoke the function once more when CloudFormation begins to delete the group."""
    rule = events.CfnRule(
        stack,
        "GroupGoes",
        event_pattern={
            "source": ["aws.cloudformation"],
            "detail-type": ["CloudFormation Resource Status Change"],
            "detail": {
                "stack-id": [stack.stack_id],
                "resource-type": ["AWS::AutoScaling::AutoScalingGroup"],
                "status-details": {"status": ["DELETE_IN_PROGRESS"]},
            },
        },
        state="ENABLED",
        targets=[events.CfnRule.TargetProperty(id="Handler", arn=function.function_arn)],
    )
    may_invoke(stack, "GroupGoesPermission", function, "events.amazonaws.com", rule.attr_arn)
