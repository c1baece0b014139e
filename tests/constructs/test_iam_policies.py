"""The policy of every function: listed whole, limited to its fleet, and read by a linter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import pytest
from aws_cdk import Duration
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk.assertions import Template
from constructs import Construct
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from constructs_lib import IdlePolicy, IdleRelease, OrphanSweep, QueueDemand, StackExpiry
from tests.constructs.reading import Resource, as_list, plain, references, resources, text
from tests.constructs.scenarios import SCENARIOS, queue, template
from tests.support.iam_linter import findings
from tests.support.stacks import fleet, stack

READS = ("BatchGet", "Describe", "Get", "List")
OWN_LOG = frozenset({"logs:CreateLogStream", "logs:PutLogEvents"})
FLEET_TAG = "accelerated-fleet:id"
GROUP_TAG = "aws:autoscaling:groupName"

PSEUDO = {
    "AWS::AccountId": "111122223333",
    "AWS::Partition": "aws",
    "AWS::Region": "eu-west-1",
    "AWS::StackId": "arn:aws:cloudformation:eu-west-1:111122223333:stack/Test/11111111-2222-3333-4444-555555555555",
    "AWS::StackName": "Test",
    "AWS::URLSuffix": "amazonaws.com",
}
ARNS = {
    "AWS::IAM::Role": "arn:aws:iam::111122223333:role/{}",
    "AWS::KMS::Key": "arn:aws:kms:eu-west-1:111122223333:key/{}",
    "AWS::Lambda::Function": "arn:aws:lambda:eu-west-1:111122223333:function:{}",
    "AWS::Logs::LogGroup": "arn:aws:logs:eu-west-1:111122223333:log-group:{}:*",
    "AWS::SNS::Topic": "arn:aws:sns:eu-west-1:111122223333:{}",
    "AWS::SQS::Queue": "arn:aws:sqs:eu-west-1:111122223333:{}",
}
REFERRED_TO_BY_ARN = ("AWS::SNS::Topic",)

EXPLAINED_BY_A_TAG = "RESOURCE_STAR"
"""The linter wants the resource named. EC2 gives its resources ids that no template knows, so such a statement names
the fleet's tag in a condition instead, and the finding stands for those alone."""


def _the_end(scope: Construct) -> None:
    """Everything that is there only when it is asked for, and may change the most."""
    topic = sns.Topic(scope, "Alerts", master_key=kms.Key(scope, "Key"), enforce_ssl=True)
    made = fleet(scope, notifications=topic)
    StackExpiry(scope, "Expiry", after=Duration.days(3), notifications=topic)
    OrphanSweep(scope, "Sweep", fleet=made, act=True, snapshots_older_than=Duration.days(30))


def _all_limits(scope: Construct) -> None:
    """Every option of the release that needs a permission, for a group of somebody else."""
    group = autoscaling.AutoScalingGroup.from_auto_scaling_group_name(scope, "Group", "training-workers")
    policy = IdlePolicy(max_unknown=Duration.hours(6), end_retained_after=Duration.hours(12), max_failed_launches=3)
    IdleRelease(scope, "Release", auto_scaling_group=group, idle=policy, demand=QueueDemand(queue(scope)))


MORE: Mapping[str, Callable[[Construct], None]] = {"the_end": _the_end, "all_limits": _all_limits}
NAMES = (*SCENARIOS, *MORE)


@cache
def made_of(name: str) -> Mapping[str, Any]:
    """Return the template of a scenario."""
    if name in SCENARIOS:
        return template(name)
    test_stack = stack()
    MORE[name](test_stack)
    return dict(Template.from_stack(test_stack).to_json())


def policies(scenario: str) -> dict[str, list[dict[str, Any]]]:
    """Return the statements of each function's role as they are in the template, by the function's logical id."""
    made = made_of(scenario)
    found: dict[str, list[dict[str, Any]]] = {}
    for id, function in resources(made, "AWS::Lambda::Function").items():
        (role,) = references(function["Properties"]["Role"])
        found[text({"Ref": id})] = list(_statements(made, role))
    return found


def _statements(made: Mapping[str, Any], role: str) -> Iterator[dict[str, Any]]:
    for policy in made["Resources"][role]["Properties"].get("Policies", []):
        yield from policy["PolicyDocument"]["Statement"]
    for kind in ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"):
        for each in resources(made, kind).values():
            if role in references(each["Properties"].get("Roles", [])):
                yield from each["Properties"]["PolicyDocument"]["Statement"]


# ---- listed


@pytest.mark.parametrize("scenario", NAMES)
def test_policies_of_the_functions(scenario: str, snapshot: SnapshotAssertion) -> None:
    listed = {id: [plain(each) for each in statements] for id, statements in policies(scenario).items()}
    assert listed == snapshot(extension_class=JSONSnapshotExtension)


# ---- limited to the fleet


def mutating(statement: Mapping[str, Any]) -> list[str]:
    """Return the actions of a statement that change something; writing one's own log is none."""
    actions = [action for action in as_list(statement["Action"]) if action not in OWN_LOG]
    return [action for action in actions if not action.split(":")[1].startswith(READS)]


def is_limited(statement: Mapping[str, Any]) -> bool:
    """Return whether every resource is one of this template or carries the tag of the fleet or of its group."""
    return _limited_by_tag(statement.get("Condition", {})) or all(
        _names_something_of_ours(each) for each in as_list(statement["Resource"])
    )


def _limited_by_tag(condition: Mapping[str, Any]) -> bool:
    # Only the plain operator: with ...IfExists or ForAllValues, what has no tag at all would be let through.
    required = condition.get("StringEquals", {})
    keys = [key.partition("/")[2] for key in required if "ResourceTag/" in key]
    return FLEET_TAG in keys or GROUP_TAG in keys


def _names_something_of_ours(resource: Any) -> bool:
    named = [each for each in references(resource) if not each.startswith("AWS::") or each == "AWS::StackId"]
    # An existing group is named by the user.
    return bool(named) or "training-workers" in text(resource)


@pytest.mark.parametrize("scenario", NAMES)
def test_case_37_every_change_that_a_function_may_make_is_limited_to_its_fleet(scenario: str) -> None:
    for id, statements in policies(scenario).items():
        unlimited = [(id, mutating(each)) for each in statements if mutating(each) and not is_limited(each)]
        assert unlimited == []


@pytest.mark.parametrize(
    ("statement", "limited"),
    [
        ({"Action": "ec2:TerminateInstances", "Resource": "*"}, False),
        ({"Action": "ec2:TerminateInstances", "Resource": {"Fn::Sub": "arn:aws:ec2:*:*:instance/*"}}, False),
        (
            {
                "Action": "ec2:DeleteVolume",
                "Resource": "*",
                "Condition": {"StringEqualsIfExists": {f"aws:ResourceTag/{FLEET_TAG}": "Test"}},
            },
            False,
        ),
        (
            {
                "Action": "ec2:DeleteVolume",
                "Resource": "*",
                "Condition": {"StringEquals": {f"aws:ResourceTag/{FLEET_TAG}": "Test"}},
            },
            True,
        ),
        ({"Action": "autoscaling:SuspendProcesses", "Resource": {"Ref": "FleetGroup12345678"}}, True),
    ],
)
def test_the_check_can_fail(statement: dict[str, Any], limited: bool) -> None:
    assert mutating(statement)
    assert is_limited(statement) is limited


# ---- read by a linter


def resolved(value: Any, made: Mapping[str, Any]) -> Any:
    """Return a part of a template with its references replaced by names and ARNs as AWS would fill them in."""
    match value:
        case {"Ref": str(name)}:
            return PSEUDO.get(name) or _physical(name, made)
        case {"Fn::GetAtt": [str(name), "Arn"]}:
            return ARNS[made["Resources"][name]["Type"]].format(name)
        case {"Fn::GetAtt": [str(name), str(attribute)]}:
            return f"{name}-{attribute}"
        case {"Fn::Join": [str(delimiter), list(parts)]}:
            return delimiter.join(resolved(part, made) for part in parts)
        case Mapping():
            return {key: resolved(inner, made) for key, inner in value.items()}
        case list():
            return [resolved(inner, made) for inner in value]
    return value


def _physical(name: str, made: Mapping[str, Any]) -> str:
    resource: Resource = made["Resources"].get(name, {"Type": "AWS::CloudFormation::Parameter"})
    return ARNS[resource["Type"]].format(name) if resource["Type"] in REFERRED_TO_BY_ARN else name


def unexplained(statement: Mapping[str, Any]) -> set[tuple[str, str]]:
    """Return the findings about a statement that no reason is written down for."""
    by_tag = _limited_by_tag(statement.get("Condition", {}))
    found = findings({"Version": "2012-10-17", "Statement": [statement]})
    return {(issue, what) for issue, what in found if not (by_tag and issue == EXPLAINED_BY_A_TAG)}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("scenario", NAMES)
def test_the_linter_finds_nothing_that_is_not_explained(scenario: str) -> None:
    made = made_of(scenario)
    found = [
        (id, each)
        for id, statements in policies(scenario).items()
        for statement in statements
        for each in unexplained(resolved(statement, made))
    ]
    assert found == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize(
    ("action", "resource", "issue"),
    [
        ("autoscaling:TerminateInstanceInAutoScalingGroup", "*", "RESOURCE_STAR"),
        ("autoscaling:TerminateEverything", "*", "UNKNOWN_ACTION"),
        ("ssm:PutParameter", "arn:aws:sqs:eu-west-1:111122223333:jobs", "RESOURCE_MISMATCH"),
    ],
)
def test_the_linter_is_applied(action: str, resource: str, issue: str) -> None:
    found = unexplained({"Effect": "Allow", "Action": action, "Resource": resource})
    assert issue in {each for each, _ in found}
