"""The topic, the alarms and the rule that tell a person."""

from __future__ import annotations

from aws_cdk import Duration, Stack
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns

from benchmarks.by_hand.names import NAMESPACE


def notifications(stack: Stack) -> sns.Topic:
    """A topic that alarms and events reach."""
    topic = sns.Topic(stack, "Notifications", enforce_ssl=True)
    topic.add_to_resource_policy(
        iam.PolicyStatement(
            actions=["sns:Publish"],
            principals=[
                iam.ServicePrincipal("cloudwatch.amazonaws.com"),
                iam.ServicePrincipal("events.amazonaws.com"),
            ],
            resources=[topic.topic_arn],
            conditions={"StringEquals": {"aws:SourceAccount": stack.account}},
        )
    )
    return topic


def group_metric(
    group: autoscaling.AutoScalingGroup, namespace: str, name: str, statistic: str, period: Duration
) -> cloudwatch.Metric:
    """A metric of the group."""
    return cloudwatch.Metric(
        namespace=namespace,
        metric_name=name,
        dimensions_map={"AutoScalingGroupName": group.auto_scaling_group_name},
        statistic=statistic,
        period=period,
    )


def idle_alarm(stack: Stack, group: autoscaling.AutoScalingGroup, function: lambda_.Function) -> cloudwatch.Alarm:
    """Invokes the release function when the busiest accelerator was idle for the window."""
    period = Duration.minutes(5)
    idle = cloudwatch.Alarm(
        stack,
        "Idle",
        alarm_description="Every accelerator of the group has been idle for the whole window.",
        metric=cloudwatch.MathExpression(
            expression="IF(in_service < 1, 100, busiest)",
            using_metrics={
                "in_service": group_metric(group, "AWS/AutoScaling", "GroupInServiceInstances", "Minimum", period),
                "busiest": group_metric(group, NAMESPACE, "nvidia_smi_utilization_gpu", "Maximum", period),
            },
            period=period,
        ),
        comparison_operator=cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD,
        threshold=5,
        evaluation_periods=3,
        datapoints_to_alarm=3,
        treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
    )
    resource = idle.node.default_child
    assert isinstance(resource, cloudwatch.CfnAlarm)
    resource.alarm_actions = [function.function_arn]
    return idle


def alarm(
    stack: Stack,
    id: str,
    metric: cloudwatch.IMetric,
    topic: sns.Topic,
    *,
    periods: int,
    datapoints: int | None = None,
) -> None:
    """Tell the topic when the metric is at least 1."""
    cloudwatch.Alarm(
        stack,
        f"{id}Alarm",
        alarm_description=f"Accelerated fleet: {id}",
        metric=metric,
        comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
        threshold=1,
        evaluation_periods=periods,
        datapoints_to_alarm=datapoints,
        treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
    ).add_alarm_action(actions.SnsAction(topic))


def watch(stack: Stack, group: autoscaling.AutoScalingGroup, topic: sns.Topic) -> None:
    """Capacity without readings, capacity that does not come, launches that fail."""
    minute = Duration.minutes(1)
    in_service = group_metric(group, "AWS/AutoScaling", "GroupInServiceInstances", "Maximum", minute)
    desired = group_metric(group, "AWS/AutoScaling", "GroupDesiredCapacity", "Maximum", minute)
    samples = group_metric(group, NAMESPACE, "nvidia_smi_utilization_gpu", "SampleCount", minute)
    silent = cloudwatch.MathExpression(
        expression="in_service - samples",
        using_metrics={"in_service": in_service, "samples": samples},
        period=minute,
    )
    alarm(stack, "TelemetryGap", silent, topic, periods=12, datapoints=10)
    missing = group_metric(group, NAMESPACE, "accelerators_missing", "Maximum", minute)
    alarm(stack, "Degraded", missing, topic, periods=12, datapoints=10)
    short = cloudwatch.MathExpression(
        expression="desired - in_service",
        using_metrics={"desired": desired, "in_service": in_service},
        period=minute,
    )
    alarm(stack, "CapacityShortfall", short, topic, periods=17, datapoints=15)
    events.CfnRule(
        stack,
        "LaunchFailures",
        event_pattern={
            "source": ["aws.autoscaling"],
            "detail-type": ["EC2 Instance Launch Unsuccessful"],
            "detail": {"AutoScalingGroupName": [group.auto_scaling_group_name]},
        },
        state="ENABLED",
        targets=[
            events.CfnRule.TargetProperty(
                id="Notifications",
                arn=topic.topic_arn,
                input_transformer=events.CfnRule.InputTransformerProperty(
                    input_paths_map={"message": "$.detail.StatusMessage", "cause": "$.detail.Cause"},
                    input_template='"A launch failed: <message>"\n"Cause: <cause>"',
                ),
            )
        ],
    )
