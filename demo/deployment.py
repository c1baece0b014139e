"""What was deployed, found out by asking the emulator."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, TypeVar

from constructs_lib.node.settings import Settings, parse_settings
from demo.emulator import ACCOUNT, REGION, Emulator

STACKS = ("InferenceQueueNetwork", "InferenceQueue")
FLEET_STACK = "InferenceQueue"
_SETTINGS_FILE = re.compile(r"^cat >/etc/accelerated-fleet/node\.json <<'(\w+)'\n(.*?)\n\1$", re.MULTILINE | re.DOTALL)

Found = TypeVar("Found")


@dataclass(frozen=True)
class Function:
    """A deployed Lambda function, and the schedule that invokes it; both are empty where none does."""

    emulator: Emulator
    arn: str
    environment: dict[str, str]
    log_group: str
    rule_arn: str
    schedule: str

    def invoke_as_scheduled(self) -> dict[str, Any]:
        """Invoke the function with the event that its schedule would send, and return its answer."""
        event = {
            "version": "0",
            "id": "00000000-0000-0000-0000-000000000000",
            "detail-type": "Scheduled Event",
            "source": "aws.events",
            "account": ACCOUNT,
            "time": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "region": REGION,
            "resources": [self.rule_arn],
            "detail": {},
        }
        answer = self.emulator.client("lambda").invoke(FunctionName=self.arn, Payload=json.dumps(event))
        payload = answer["Payload"].read().decode()
        if "FunctionError" in answer:
            raise RuntimeError(f"{self.arn} failed: {payload}")
        result: dict[str, Any] = json.loads(payload)
        return result

    def log_lines(self) -> list[dict[str, Any]]:
        """The structured lines in the function's log."""
        pages = self.emulator.client("logs").get_paginator("filter_log_events").paginate(logGroupName=self.log_group)
        messages = [event["message"] for page in pages for event in page["events"]]
        return [json.loads(message) for message in messages if message.startswith("{")]


@dataclass(frozen=True)
class Deployment:
    """The parts of the example that the story uses."""

    emulator: Emulator
    group_name: str
    queue_url: str
    wake: Function
    release: Function
    idle_alarm: dict[str, Any]
    agent_configuration: dict[str, Any]
    node_settings: Settings

    @property
    def messages_per_instance(self) -> int:
        """How many jobs one instance works on at a time."""
        return int(self.wake.environment["MESSAGES_PER_INSTANCE"])

    @property
    def window_seconds(self) -> int:
        """How long an instance must have been idle."""
        return int(self.release.environment["WINDOW_SECONDS"])

    @property
    def warm_up_seconds(self) -> int:
        """How long after its launch an instance is not judged."""
        return int(self.release.environment["WARM_UP_SECONDS"])

    def group(self) -> dict[str, Any]:
        """The group, as Auto Scaling reports it."""
        client = self.emulator.client("autoscaling")
        found = client.describe_auto_scaling_groups(AutoScalingGroupNames=[self.group_name])["AutoScalingGroups"]
        return only(found, "group of that name")

    def running(self) -> list[dict[str, Any]]:
        """The group's running instances, as EC2 reports them."""
        filters = [
            {"Name": "tag:aws:autoscaling:groupName", "Values": [self.group_name]},
            {"Name": "instance-state-name", "Values": ["running"]},
        ]
        reservations = self.emulator.client("ec2").describe_instances(Filters=filters)["Reservations"]
        return [instance for reservation in reservations for instance in reservation["Instances"]]


def read(emulator: Emulator) -> Deployment:
    """Find the parts of the example among the resources of its stack."""
    ids: dict[str, list[str]] = {}
    for resource in resources(emulator, FLEET_STACK):
        ids.setdefault(resource["ResourceType"], []).append(resource["PhysicalResourceId"])
    functions = dict(_function(emulator, name) for name in ids["AWS::Lambda::Function"])
    wake = functions["wake_on_demand.index.handler"]
    release = functions["release_idle.index.handler"]
    others = {function.environment.get("STATE_PARAMETER") for function in functions.values()}
    parameter = only([each for each in ids["AWS::SSM::Parameter"] if each not in others], "agent's configuration")
    configuration = emulator.client("ssm").get_parameter(Name=parameter)["Parameter"]["Value"]
    alarms = emulator.client("cloudwatch").describe_alarms()["MetricAlarms"]
    return Deployment(
        emulator=emulator,
        group_name=only(ids["AWS::AutoScaling::AutoScalingGroup"], "group in the stack"),
        queue_url=wake.environment["QUEUE_URL"],
        wake=wake,
        release=release,
        idle_alarm=only([a for a in alarms if release.arn in a["AlarmActions"]], "alarm that invokes the release"),
        agent_configuration=json.loads(configuration),
        node_settings=_node_settings(emulator, only(ids["AWS::EC2::LaunchTemplate"], "launch template in the stack")),
    )


def function_of(emulator: Emulator, stack: str, package: str) -> Function:
    """The function of a stack whose handler lives in a package of ``lambda_handlers``."""
    names = [
        resource["PhysicalResourceId"]
        for resource in resources(emulator, stack)
        if resource["ResourceType"] == "AWS::Lambda::Function"
    ]
    return dict(_function(emulator, name) for name in names)[f"{package}.index.handler"]


def resources(emulator: Emulator, stack: str) -> list[dict[str, Any]]:
    """The resources of a stack, as CloudFormation lists them."""
    pages = emulator.client("cloudformation").get_paginator("list_stack_resources").paginate(StackName=stack)
    return [resource for page in pages for resource in page["StackResourceSummaries"]]


def deployed_stacks(emulator: Emulator) -> list[str]:
    """The example's stacks whose creation succeeded."""
    described = emulator.client("cloudformation").describe_stacks()["Stacks"]
    return [s["StackName"] for s in described if s["StackName"] in STACKS and s["StackStatus"] == "CREATE_COMPLETE"]


def only(found: Sequence[Found], what: str) -> Found:
    """The one element of a sequence. Raises LookupError when there is none or more than one."""
    if len(found) != 1:
        raise LookupError(f"there must be exactly one {what}, the emulator has {len(found)}")
    return found[0]


def _node_settings(emulator: Emulator, launch_template: str) -> Settings:
    """The settings of the node program that the instances' boot script writes."""
    client = emulator.client("ec2")
    versions = client.describe_launch_template_versions(LaunchTemplateId=launch_template, Versions=["$Latest"])
    (newest,) = versions["LaunchTemplateVersions"]
    script = base64.b64decode(newest["LaunchTemplateData"]["UserData"]).decode()
    files = [text for _, text in _SETTINGS_FILE.findall(script)]
    return parse_settings(only(files, "settings file in the user data"), "node.json")


def _function(emulator: Emulator, name: str) -> tuple[str, Function]:
    """A function by its handler."""
    configuration = emulator.client("lambda").get_function_configuration(FunctionName=name)
    events = emulator.client("events")
    names = events.list_rule_names_by_target(TargetArn=configuration["FunctionArn"])["RuleNames"]
    rules = [events.describe_rule(Name=rule) for rule in names]
    scheduled: dict[str, Any] = next((rule for rule in rules if rule.get("ScheduleExpression")), {})
    return configuration["Handler"], Function(
        emulator=emulator,
        arn=configuration["FunctionArn"],
        environment=configuration.get("Environment", {}).get("Variables", {}),
        log_group=configuration["LoggingConfig"]["LogGroup"],
        rule_arn=scheduled.get("Arn", ""),
        schedule=scheduled.get("ScheduleExpression", ""),
    )
