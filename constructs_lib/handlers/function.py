"""One of the library's own Lambda functions, with everything that lets it be deployed and removed without a trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from constructs_lib.acknowledgement import acknowledge, wildcard
from constructs_lib.handler_source import handlers_directory

GROUP_WILDCARD = "The wildcard stands for the group's UUID, unknown to CloudFormation; the name after it is exact."
"""Why a policy names a group's ARN with a ``*`` in it."""


class HandlerFunction(Construct):
    """A function from ``lambda_handlers/`` with its role, its log group and its asynchronous-invocation settings.

    The log group is declared (one month of retention) and goes with the stack; the role may write to it but may not
    create one, so a late run cannot bring it back. All functions share one asset without byte-code caches, so its hash
    is the same from a checkout, an editable install and the wheel, and no Docker is needed.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        handler: str,
        description: str,
        environment: Mapping[str, str],
        statements: Sequence[iam.PolicyStatement],
        wildcards: Mapping[str, str],
        timeout_seconds: int,
        max_event_age_seconds: int | None = None,
    ) -> None:
        """
        Args:
            handler: name of the package under ``lambda_handlers/``.
            description: what the function does, for the console.
            environment: the handler's settings.
            statements: what the handler may do besides writing its own log.
            wildcards: each resource with a ``*`` in the statements, and why nothing narrower will do.
            timeout_seconds: longest run.
            max_event_age_seconds: an asynchronous event older than this is dropped, and a failed one is not retried,
                since the next tick of the schedule repairs it. Default: Lambda's own two retries within six hours.
        """
        super().__init__(scope, id)
        log_group = logs.LogGroup(
            self, "Logs", retention=logs.RetentionDays.ONE_MONTH, removal_policy=RemovalPolicy.DESTROY
        )
        self.role = self._build_role(log_group, statements)
        self.function = lambda_.Function(
            self,
            "Function",
            description=description,
            code=lambda_.Code.from_asset(
                str(handlers_directory()), exclude=["**/__pycache__", "**/*.pyc", "**/.DS_Store"]
            ),
            handler=f"{handler}.index.handler",
            # Supported by Lambda until 2029-06-30; pinned, so that a new CDK version does not move running handlers.
            runtime=lambda_.Runtime.PYTHON_3_13,
            architecture=lambda_.Architecture.ARM_64,
            memory_size=256,
            timeout=Duration.seconds(timeout_seconds),
            environment=dict(environment),
            role=self.role,
            log_group=log_group,
            logging_format=lambda_.LoggingFormat.JSON,
            retry_attempts=None if max_event_age_seconds is None else 0,
            max_event_age=None if max_event_age_seconds is None else Duration.seconds(max_event_age_seconds),
        )
        acknowledge(
            self,
            {
                "AwsSolutions-L1": "The runtime is pinned to a version that Lambda supports until 2029-06-30, so that "
                "an upgrade of the CDK does not change the code path that terminates instances.",
                **{wildcard(self, resource): reason for resource, reason in wildcards.items()},
            },
        )

    def _build_role(self, log_group: logs.LogGroup, statements: Sequence[iam.PolicyStatement]) -> iam.Role:
        # An inline policy is part of the role, so whatever depends on the function outlives neither on delete.
        write_log = iam.PolicyStatement(
            actions=["logs:CreateLogStream", "logs:PutLogEvents"], resources=[log_group.log_group_arn]
        )
        return iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            inline_policies={"Handler": iam.PolicyDocument(statements=[write_log, *statements])},
        )
