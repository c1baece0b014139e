"""How the CloudWatch agent's configuration reaches the instances: by a parameter, or by an asset if it is too long."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from aws_cdk import Stage, Token
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3_assets as assets
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from constructs_lib.errors import ArgumentError
from constructs_lib.fleet.node_program import read_object
from constructs_lib.telemetry.names import LOG_GROUP_PLACEHOLDER
from constructs_lib.validation import complaint

# "Parameter tiers", Systems Manager User Guide: a standard parameter holds 4 KB and costs nothing.
_STANDARD_PARAMETER_BYTES = 4_096
_LONGEST_TOKEN = 255
_TOKEN = re.compile(r"\$\{Token\[[^]]*\]\}")  # how the CDK writes a token into a text ("Tokens", CDK developer guide)


@dataclass(frozen=True, kw_only=True)
class AgentDelivery:
    """One configuration of the agent on its way to the instances.

    Attributes:
        source: where an instance finds it: ``ssm:<parameter>``, or ``s3://bucket/key`` with the placeholder still in.
        statement: allows to read it, and nothing else.
    """

    source: str
    statement: iam.PolicyStatement


def deliver_agent_configuration(
    scope: Construct, id: str, configuration: str, *, log_group_name: str | None = None
) -> AgentDelivery:
    """Put a configuration where the instances can read it.

    Args:
        scope: of the resource.
        id: of the resource.
        configuration: JSON, with ``names.LOG_GROUP_PLACEHOLDER`` wherever it names the fleet's log group.
        log_group_name: what stands for the placeholder on the instance. Default: the configuration names no group.

    Raises:
        ArgumentError: the configuration names the group and there is none; or it is too long for a parameter and
            contains a value that only a deploy settles, which cannot be in a file.
    """
    where = scope.node.path
    if LOG_GROUP_PLACEHOLDER in configuration and log_group_name is None:
        cure = "give the fleet's log group, or leave the log files out"
        raise ArgumentError(complaint(where, "telemetry", "name a log group only where there is one", None, cure))
    value = configuration if log_group_name is None else configuration.replace(LOG_GROUP_PLACEHOLDER, log_group_name)
    if largest_size(value) <= _STANDARD_PARAMETER_BYTES:
        return _parameter(scope, id, value)
    if Token.is_unresolved(configuration):
        rule = f"be known at synth when the agent's configuration is longer than {_STANDARD_PARAMETER_BYTES} bytes"
        cure = "give literal values, or measure less"
        raise ArgumentError(complaint(where, "telemetry", rule, configuration, cure))
    return _asset(scope, id, configuration)


def largest_size(value: str, token_bytes: int = _LONGEST_TOKEN) -> int:
    """How many bytes a text can have once deployed; nobody knows a token's length, so each counts at ``token_bytes``.

    Args:
        value: the text, with tokens as the CDK writes them.
        token_bytes: Default: 255, the longest name that a resource can have.
    """
    return len(_TOKEN.sub("x" * token_bytes, value).encode())


def _parameter(scope: Construct, id: str, value: str) -> AgentDelivery:
    parameter = ssm.StringParameter(
        scope, id, description="Configuration of the CloudWatch agent of an accelerated fleet", string_value=value
    )
    statement = iam.PolicyStatement(actions=["ssm:GetParameter"], resources=[parameter.parameter_arn])
    return AgentDelivery(source=f"ssm:{parameter.parameter_name}", statement=statement)


def _asset(scope: Construct, id: str, configuration: str) -> AgentDelivery:
    import hashlib  # only a long configuration needs it

    stage = Stage.of(scope)
    assert stage is not None  # a construct in a stack always has an app or a stage above it
    # The cloud assembly's own folder: it lives as long as the assembly, also where the CDK does not copy assets.
    name = f"agent-configuration.{hashlib.sha256(configuration.encode()).hexdigest()}.json"
    path = Path(stage.asset_outdir, name)
    path.write_text(configuration, encoding="utf-8")
    asset = assets.Asset(scope, f"{id}Asset", path=str(path))
    return AgentDelivery(source=asset.s3_object_url, statement=read_object(scope, asset))
