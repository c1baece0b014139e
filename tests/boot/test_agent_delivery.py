"""A configuration that fits goes by a parameter, a longer one by an asset, and neither by luck."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, CfnParameter, Stack, Stage
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk.assertions import Template

from constructs_lib.errors import ArgumentError
from constructs_lib.fleet.agent_delivery import AgentDelivery, deliver_agent_configuration, largest_size
from tests.constructs.reading import plain
from tests.support.stacks import stack

LIMIT = 4_096  # bytes of a standard parameter, "Parameter tiers" in the Systems Manager User Guide
PLACEHOLDER = "@LOG_GROUP@"


def template(made: Stack, delivery: AgentDelivery) -> dict[str, Any]:
    """The template, with a role that may read the configuration."""
    policy = iam.PolicyDocument(statements=[delivery.statement])
    iam.Role(made, "Role", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"), inline_policies={"Read": policy})
    return dict(Template.from_stack(made).to_json())


def statement(document: dict[str, Any]) -> dict[str, Any]:
    (role,) = (each for each in document["Resources"].values() if each["Type"] == "AWS::IAM::Role")
    (found,) = role["Properties"]["Policies"][0]["PolicyDocument"]["Statement"]
    read: dict[str, Any] = plain(found)
    return read


def parameters(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for each in document["Resources"].values() if each["Type"] == "AWS::SSM::Parameter"]


def padded(size: int, start: str = "") -> str:
    return json.dumps({"log": start, "x": "y" * (size - len(json.dumps({"log": start, "x": ""})))})


@pytest.mark.parametrize(("size", "by_parameter"), [(10, True), (LIMIT, True), (LIMIT + 1, False)])
def test_the_limit_is_exact(size: int, by_parameter: bool) -> None:
    made = stack()
    text = padded(max(size, 30))
    delivery = deliver_agent_configuration(made, "Agent", text)
    document = template(made, delivery)
    source = plain(made.resolve(delivery.source))
    if by_parameter:
        (parameter,) = parameters(document)
        assert parameter["Properties"]["Value"] == text
        # The tier is the standard one unless it is named.
        assert "Tier" not in parameter["Properties"]
        assert source == "ssm:<Agent>"
        assert statement(document)["Action"] == "ssm:GetParameter"
        assert statement(document)["Resource"].endswith(":parameter/<Agent>")
    else:
        assert parameters(document) == []
        assert source.startswith("s3://cdk-hnb659fds-assets-${AWS::AccountId}-${AWS::Region}/")
        assert source.endswith(".json")
        assert statement(document) == {
            "Action": "s3:GetObject",
            "Effect": "Allow",
            "Resource": source.replace("s3://", "arn:<AWS::Partition>:s3:::"),
        }


def test_characters_are_not_bytes() -> None:
    made = stack()
    document = template(made, deliver_agent_configuration(made, "Agent", "ü" * (LIMIT // 2 + 1)))
    assert parameters(document) == []


@pytest.mark.parametrize(("names", "by_parameter"), [(1, True), (16, True), (17, False)])
def test_a_name_that_a_deploy_settles_counts_at_its_longest(names: int, by_parameter: bool) -> None:
    """16 names of 255 characters fit into 4,096 bytes, however short the CDK's own stand-in is."""
    made = stack()
    group = logs.LogGroup(made, "Group").log_group_name
    delivery = deliver_agent_configuration(made, "Agent", PLACEHOLDER * names, log_group_name=group)
    assert bool(parameters(template(made, delivery))) == by_parameter
    assert largest_size(group * names) == 255 * names


def test_the_log_groups_name_is_in_the_parameter() -> None:
    made = stack()
    group = logs.LogGroup(made, "Group").log_group_name
    delivery = deliver_agent_configuration(made, "Agent", f'{{"a":"{PLACEHOLDER}"}}', log_group_name=group)
    (parameter,) = parameters(template(made, delivery))
    assert plain(parameter["Properties"]["Value"]) == '{"a":"<Group>"}'


def assets(place: Path) -> list[str]:
    return [path.read_text() for path in place.glob("asset.*.json")]


@pytest.mark.parametrize("staged", [True, False])
def test_no_token_is_in_the_asset(tmp_path: Path, staged: bool) -> None:
    """An asset is hashed and uploaded before anything has a name: the boot script puts the name in."""
    app = App(outdir=str(tmp_path), context={} if staged else {"aws:cdk:disable-asset-staging": True})
    made = Stack(app, "Test")
    group = logs.LogGroup(made, "Group").log_group_name
    text = padded(LIMIT + 1, PLACEHOLDER)
    deliver_agent_configuration(made, "Agent", text, log_group_name=group)
    app.synth()
    manifest = json.loads((tmp_path / "Test.assets.json").read_text())
    paths = [file["source"]["path"] for file in manifest["files"].values()]
    (configuration,) = [path for path in paths if not path.endswith("template.json")]
    assert (tmp_path / configuration).read_text() == text


def test_a_stage_of_a_pipeline_is_no_obstacle(tmp_path: Path) -> None:
    app = App(outdir=str(tmp_path))
    made = Stack(Stage(app, "Stage"), "Test")
    deliver_agent_configuration(made, "Agent", padded(LIMIT + 1))
    app.synth()
    assert len(assets(tmp_path)) == 1


def test_the_same_configuration_is_the_same_asset(tmp_path: Path) -> None:
    names = []
    for place in ("one", "other"):
        app = App(outdir=str(tmp_path / place))
        deliver_agent_configuration(Stack(app, "Test"), "Agent", padded(LIMIT + 1))
        app.synth()
        names.append(sorted(path.name for path in (tmp_path / place).glob("asset.*")))
    assert names[0] == names[1]
    assert len(names[0]) == 1


def test_a_token_that_cannot_be_in_a_file_is_an_error() -> None:
    made = stack()
    later = CfnParameter(made, "Later").value_as_string
    with pytest.raises(
        ArgumentError, match=r"^Test: telemetry must be known at synth when .* got a token; give literal"
    ):
        deliver_agent_configuration(made, "Agent", padded(LIMIT + 1, later))
    assert deliver_agent_configuration(made, "Agent", padded(300, later)).source.startswith("ssm:")


def test_a_configuration_that_names_a_group_needs_one() -> None:
    with pytest.raises(ArgumentError, match=r"^Test: telemetry must name a log group only where there is one"):
        deliver_agent_configuration(stack(), "Agent", f'{{"a":"{PLACEHOLDER}"}}')
