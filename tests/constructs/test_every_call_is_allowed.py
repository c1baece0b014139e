"""Each function may make every call that its code makes, and no other: both sides are read from what is there."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from aws_cdk import Duration, Stack
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk.assertions import Template
from botocore import xform_name
from botocore.loaders import Loader
from constructs import Construct

from constructs_lib import (
    FleetSchedule,
    IdlePolicy,
    IdleRelease,
    IdleSignal,
    OrphanSweep,
    QueueDemand,
    ShortfallDemand,
    StackExpiry,
)
from tests.constructs.reading import as_list, plain, references, resources
from tests.constructs.scenarios import SCENARIOS, queue, template
from tests.support.stacks import ROOT, fleet, stack, vpc

HANDLERS = ROOT / "lambda_handlers"
PACKAGES = sorted(each.parent.name for each in HANDLERS.glob("*/index.py"))
IAM_PREFIX = {"resourcegroupstaggingapi": "tag"}
"""Where IAM calls a service otherwise than boto3 does."""

NO_CALLS = {"logs:CreateLogStream", "logs:PutLogEvents", "kms:Decrypt", "kms:GenerateDataKey"}
"""Lambda writes the log, and SNS uses the key, in the function's name."""

Environment = Mapping[str, Any]
CALLED_ONLY: Mapping[str, Mapping[str, Callable[[Environment], bool]]] = {
    "release_idle": {
        "autoscaling:CompleteLifecycleAction": lambda given: "DRAIN_HOOK" in given,
        "autoscaling:DescribeScalingActivities": lambda given: (
            "MAX_FAILED_LAUNCHES" in given or "RETAINED_AFTER_SECONDS" in given
        ),
        "autoscaling:DescribeWarmPool": lambda given: "RETAINED_AFTER_SECONDS" in given,
        "autoscaling:SetDesiredCapacity": lambda given: "QUEUE_URL" in given or "SHORTFALL_OF_GROUP" in given,
        "autoscaling:SuspendProcesses": lambda given: (
            given["SCALE_IN_PROTECTION"] == "hold" or "MAX_FAILED_LAUNCHES" in given
        ),
        "ec2:CreateTags": lambda given: "MAX_UNKNOWN_SECONDS" in given,
        "ec2:DeleteTags": lambda given: "MAX_UNKNOWN_SECONDS" in given,
        "sns:Publish": lambda given: "TOPIC_ARN" in given,
        "sqs:GetQueueAttributes": lambda given: "QUEUE_URL" in given,
        "ssm:DescribeSessions": lambda given: given["WATCH_SESSIONS"] == "true",
    },
    "orphan_sweep": {
        **dict.fromkeys(("ec2:DescribeImages", "ec2:DescribeSnapshots"), lambda given: "SNAPSHOT_AGE_SECONDS" in given),
        **dict.fromkeys(
            (
                "ec2:DeleteLaunchTemplateVersions",
                "ec2:DeleteNetworkInterface",
                "ec2:DeleteVolume",
                "ec2:ReleaseAddress",
                "ec2:TerminateInstances",
                "logs:DeleteLogGroup",
                "ssm:DeleteParameter",
            ),
            lambda given: given["ACT"] == "true",
        ),
        "ec2:DeleteSnapshot": lambda given: given["ACT"] == "true" and "SNAPSHOT_AGE_SECONDS" in given,
    },
    "wake_on_demand": {
        "cloudwatch:GetMetricData": lambda given: "SHORTFALL_OF_GROUP" in given,
        "sqs:GetQueueAttributes": lambda given: "QUEUE_URL" in given,
    },
}
"""Calls that a function makes with some settings only."""


# --- what the code calls ---------------------------------------------------------------------------------------------


@cache
def api_names(service: str) -> Mapping[str, str]:
    """The names of a service's operations, by the name of the client's method."""
    return {xform_name(name): name for name in Loader().load_service_model(service, "service-2")["operations"]}


def methods(package: str) -> set[tuple[str, str]]:
    """Service and method of everything that the package's clients can be asked, by the types of its clients.

    mypy lets no code call more.
    """
    index = import_module(f"{package}.index")
    services: dict[str, str] = {}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(index, "make_client", lambda service: service)
        services = vars(index.make_clients.__wrapped__())
    protocols = get_type_hints(index.Clients)
    assert protocols.keys() == services.keys()
    return {
        (service, name)
        for field, service in services.items()
        for name in dir(protocols[field])
        if not name.startswith("_")
    }


def calls(package: str) -> set[str]:
    """The same, as IAM names them."""
    return {f"{IAM_PREFIX.get(service, service)}:{api_names(service)[name]}" for service, name in methods(package)}


def code(package: str) -> Iterator[ast.AST]:
    """Everything in the package's files, and what it imports from `runtime`, with what that needs itself."""
    pending: list[tuple[Path, str]] = []
    for file in (HANDLERS / package).glob("*.py"):
        tree = ast.parse(file.read_text())
        yield tree
        pending += _imported(tree)
    seen: set[tuple[Path, str]] = set()
    while pending:
        file, name = pending.pop()
        if (file, name) in seen:
            continue
        seen.add((file, name))
        tree = ast.parse(file.read_text())
        imported = {known: where for where, known in _imported(tree)}
        for node in tree.body:
            if getattr(node, "name", None) == name:
                yield node
                named = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
                pending += [(imported.get(each, file), each) for each in named]


def _imported(tree: ast.Module) -> list[tuple[Path, str]]:
    """What a file imports from `runtime`: file and name."""
    return [
        (HANDLERS / f"{node.module.replace('.', '/')}.py", each.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("runtime.")
        for each in node.names
    ]


@pytest.mark.parametrize("package", PACKAGES)
def test_the_types_of_the_clients_name_what_the_code_uses_and_nothing_else(package: str) -> None:
    known = {name for service, _ in methods(package) for name in api_names(service)}
    used = {
        node.attr
        for part in code(package)
        for node in ast.walk(part)
        if isinstance(node, ast.Attribute) and node.attr in known
    }
    assert used == {name for _, name in methods(package)}


# --- what the policies allow -----------------------------------------------------------------------------------------


def everything_on_a_group(scope: Construct) -> None:
    group = autoscaling.AutoScalingGroup.from_auto_scaling_group_name(scope, "Group", "training-workers")
    policy = IdlePolicy(max_unknown=Duration.hours(6), end_retained_after=Duration.hours(12), max_failed_launches=3)
    IdleRelease(scope, "Release", auto_scaling_group=group, idle=policy, demand=QueueDemand(queue(scope)))


def nothing_asked_for(scope: Construct) -> None:
    fleet(scope, idle=IdlePolicy(signals=[IdleSignal.ACCELERATOR], max_failed_launches=0), schedule=FleetSchedule())


def another_fleet_stands_in(scope: Construct) -> None:
    network = vpc(scope)
    first = fleet(scope, "First", vpc=network, demand=QueueDemand(queue(scope)))
    fleet(scope, "Second", vpc=network, demand=ShortfallDemand(first))


def everything_about_the_end(scope: Construct, **sweep: Any) -> None:
    topic = sns.Topic(scope, "Alerts", master_key=kms.Key(scope, "Key"), enforce_ssl=True)
    made = fleet(scope, notifications=topic)
    StackExpiry(scope, "Expiry", after=Duration.days(3), notifications=topic)
    OrphanSweep(scope, "Sweep", fleet=made, **sweep)


MORE: Mapping[str, Callable[[Construct], None]] = {
    "everything on a group": everything_on_a_group,
    "nothing asked for": nothing_asked_for,
    "ladder": another_fleet_stands_in,
    "dry run": everything_about_the_end,
    "acting": lambda scope: everything_about_the_end(scope, act=True),
    "snapshots, dry run": lambda scope: everything_about_the_end(scope, snapshots_older_than=Duration.days(30)),
    "snapshots, acting": lambda scope: everything_about_the_end(
        scope, act=True, snapshots_older_than=Duration.days(30)
    ),
}


@cache
def made_of(name: str) -> Mapping[str, Any]:
    if name in SCENARIOS:
        return template(name)
    test_stack: Stack = stack()
    MORE[name](test_stack)
    return dict(Template.from_stack(test_stack).to_json())


def functions(made: Mapping[str, Any]) -> Iterator[tuple[str, Environment, set[str]]]:
    """Package, environment and allowed actions of every function of ours."""
    for function in resources(made, "AWS::Lambda::Function").values():
        package, _, rest = function["Properties"]["Handler"].partition(".")
        if rest == "index.handler" and package in PACKAGES:
            (role,) = references(function["Properties"]["Role"])
            yield package, function["Properties"]["Environment"]["Variables"], set(_allowed(made, role))


def _allowed(made: Mapping[str, Any], role: str) -> Iterator[str]:
    documents = [each["PolicyDocument"] for each in made["Resources"][role]["Properties"].get("Policies", [])]
    for policy in resources(made, "AWS::IAM::Policy").values():
        if role in references(policy["Properties"]["Roles"]):
            documents.append(policy["Properties"]["PolicyDocument"])
    for document in documents:
        for statement in plain(document["Statement"]):
            assert statement["Effect"] == "Allow"
            yield from as_list(statement["Action"])


def made_with(package: str, environment: Environment) -> set[str]:
    """The calls that the code makes with these settings."""
    only = CALLED_ONLY.get(package, {})
    return {call for call in calls(package) if call not in only or only[call](environment)}


@pytest.mark.parametrize("name", [*SCENARIOS, *MORE])
def test_every_call_is_allowed_and_nothing_is_that_is_not_called(name: str) -> None:
    found = list(functions(made_of(name)))
    assert found
    for package, environment, allowed in found:
        assert allowed - NO_CALLS == made_with(package, environment), package


def test_every_function_of_the_library_is_looked_at() -> None:
    looked_at = {package for name in (*SCENARIOS, *MORE) for package, _, _ in functions(made_of(name))}
    assert sorted(looked_at) == PACKAGES


@pytest.mark.parametrize("package", CALLED_ONLY)
def test_each_call_of_some_settings_only_is_seen_with_and_without(package: str) -> None:
    seen: dict[str, set[bool]] = {call: set() for call in CALLED_ONLY[package]}
    for name in (*SCENARIOS, *MORE):
        for found, environment, _ in functions(made_of(name)):
            if found == package:
                for call, when in CALLED_ONLY[package].items():
                    seen[call].add(when(environment))
    assert [call for call, answers in seen.items() if answers != {True, False}] == []
