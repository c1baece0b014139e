"""What the tests of the examples read in their templates and in their README files."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Mapping
from typing import Any

from aws_cdk import App

from tests.constructs.reading import only, plain, properties
from tests.support.stacks import ROOT

Template = dict[str, Any]


def templates(example: str, **context: str) -> dict[str, Template]:
    """The templates of an example by stack, with the context that a user gives with ``-c``."""
    app = App(context=context)
    importlib.import_module(f"examples.{example}.app").build(app)
    return {stack.stack_name: stack.template for stack in app.synth().stacks_recursively}


def type_names(template: Mapping[str, Any]) -> list[str]:
    """The instance types of the one fleet, in order of preference."""
    policy = only(template, "AWS::AutoScaling::AutoScalingGroup")["Properties"].get("MixedInstancesPolicy")
    if policy is None:
        return [launch_template_data(template)["InstanceType"]]
    return [each["InstanceType"] for each in policy["LaunchTemplate"]["Overrides"]]


def distribution(template: Mapping[str, Any]) -> dict[str, Any]:
    """How the group spreads its instances over purchase options."""
    group = only(template, "AWS::AutoScaling::AutoScalingGroup")["Properties"]
    return dict(group["MixedInstancesPolicy"]["InstancesDistribution"])


def launch_template_data(template: Mapping[str, Any]) -> dict[str, Any]:
    """What the one launch template says."""
    return dict(only(template, "AWS::EC2::LaunchTemplate")["Properties"]["LaunchTemplateData"])


def image_parameter(template: Mapping[str, Any]) -> str:
    """The SSM parameter that the image's id is read from."""
    name = launch_template_data(template)["ImageId"]["Ref"]
    return str(template["Parameters"][name]["Default"])


def root_device(template: Mapping[str, Any]) -> str:
    """The device name of the one volume."""
    (volume,) = launch_template_data(template)["BlockDeviceMappings"]
    return str(volume["DeviceName"])


def agent_sections(template: Mapping[str, Any], fleet: str) -> dict[str, Any]:
    """What the agent measures, by the name of its section."""
    written = properties(template, f"{fleet}AgentConfiguration", "AWS::SSM::Parameter")["Value"]
    return dict(json.loads(written)["metrics"]["metrics_collected"])


def work_permissions(template: Mapping[str, Any], fleet: str) -> dict[str, set[str]]:
    """What the workload may do, beside what every fleet's instances may: actions by resource."""
    policy = properties(template, f"{fleet}RoleDefaultPolicy", "AWS::IAM::Policy")
    found: dict[str, set[str]] = {}
    for statement in plain(policy["PolicyDocument"]["Statement"]):
        actions = statement["Action"]
        found.setdefault(statement["Resource"], set()).update([actions] if isinstance(actions, str) else actions)
    return found


def drain_seconds(template: Mapping[str, Any]) -> int:
    """For how long a drain lasts at most: a minute less than its hook."""
    (hook,) = only(template, "AWS::AutoScaling::AutoScalingGroup")["Properties"]["LifecycleHookSpecificationList"]
    return int(hook["HeartbeatTimeout"]) - 60


def readme(example: str) -> str:
    """The example's README, line by line."""
    return (ROOT / "examples" / example / "README.md").read_text(encoding="utf-8")


def readme_words(example: str) -> str:
    """The same in one line, for what may stand over the end of a line."""
    return " ".join(readme(example).split())


def readme_types(example: str) -> dict[str, tuple[int, int, float]]:
    """The table of instance types in it: vCPUs, accelerators and USD an hour by type."""
    rows = re.findall(r"^\| `([a-z0-9.]+)` \| (\d+) \| (\d+) [^|]*\| ([\d.]+) \|", readme(example), re.MULTILINE)
    return {name: (int(vcpus), int(count), float(usd)) for name, vcpus, count, usd in rows}
