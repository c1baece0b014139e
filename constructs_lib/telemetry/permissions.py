"""What the CloudWatch agent on an instance must be allowed to do."""

from __future__ import annotations

from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs

from constructs_lib.telemetry import names


def telemetry_statements() -> list[iam.PolicyStatement]:
    """Publish metrics in the library's namespace, and learn the group's name from the instance's tags.

    Without the second the agent never knows its group, and drops its metrics until it does.
    """
    return [
        iam.PolicyStatement(
            actions=["cloudwatch:PutMetricData"],
            resources=["*"],
            conditions={"StringEquals": {"cloudwatch:namespace": names.NAMESPACE}},
        ),
        iam.PolicyStatement(actions=["ec2:DescribeTags"], resources=["*"]),
    ]


def log_statement(log_group: logs.ILogGroup) -> iam.PolicyStatement:
    """Write into one log group, which is there already: make, find and fill its streams, and nothing else.

    ``PutLogEvents`` is checked against a stream, ``CreateLogStream`` and ``DescribeLogStreams`` against the group; the
    group's ARN ends in ``:*`` and covers both (Service Authorization Reference, CloudWatch Logs).
    """
    return iam.PolicyStatement(
        actions=["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
        resources=[log_group.log_group_arn],
    )
