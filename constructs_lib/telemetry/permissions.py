"""What the CloudWatch agent on an instance must be allowed to do."""

from __future__ import annotations

from aws_cdk import aws_iam as iam

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
