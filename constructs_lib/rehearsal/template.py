"""Reads what the simulation needs out of a synthesized template; a reference becomes a stable placeholder."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from constructs_lib.node import names
from constructs_lib.rehearsal.cloud.alarms import Alarm

_PSEUDO = {
    "AWS::Region": "us-east-1",
    "AWS::AccountId": "111122223333",
    "AWS::Partition": "aws",
    "AWS::URLSuffix": "amazonaws.com",
    "AWS::StackName": "Fleet",
    "AWS::StackId": "arn:aws:cloudformation:us-east-1:111122223333:stack/Fleet/1",
}
_SUBSTITUTION = re.compile(r"\$\{(!?)([^}]+)\}")


@dataclass(frozen=True)
class Function:
    """A Lambda function: who may invoke it, what it may call and its settings."""

    id: str
    handler: str
    environment: Mapping[str, str]
    allowed: frozenset[str]
    invokers: frozenset[str]
    timeout: int

    def may(self, action: str) -> bool:
        """Return whether the function's role allows an action (resources and conditions are not judged)."""
        return any(fnmatchcase(action, pattern) for pattern in self.allowed)


@dataclass(frozen=True)
class Schedule:
    """An enabled rate() rule and the functions that it invokes."""

    id: str
    seconds: int
    functions: tuple[str, ...]


@dataclass(frozen=True)
class EventRule:
    """An enabled rule on events, and the functions that it invokes."""

    id: str
    pattern: Mapping[str, Any]
    functions: tuple[str, ...]

    def matches(self, event: Mapping[str, Any]) -> bool:
        """Return whether an event fits: each field of the pattern lists what it may be."""
        return _fits(self.pattern, event)


def _fits(pattern: Mapping[str, Any], part: Mapping[str, Any]) -> bool:
    return all(
        _fits(wanted, part.get(name, {})) if isinstance(wanted, Mapping) else part.get(name) in wanted
        for name, wanted in pattern.items()
    )


@dataclass(frozen=True)
class BootScript:
    """The user data of a fleet's instance: files that it writes, variables that it sets."""

    text: str

    def file(self, name: str) -> str:
        """Return what is written to a file of the fleet's own directory."""
        pattern = rf"^cat >/etc/accelerated-fleet/{re.escape(name)} <<'(\w+)'\n(.*?)\n\1$"
        return self._found(pattern, name)[2]

    def fallback_configuration(self) -> str:
        """Return what the agent loads without the accelerator: the node program's own unless the fleet brings one."""
        if "AGENT_FALLBACK=" in self.text:
            return self.file("agent-fallback.json")
        return (Path(names.__file__).parent / "units" / "agent-fallback.json").read_text(encoding="utf-8")

    def variable(self, name: str) -> str:
        """Return what a variable is set to, a word."""
        return self._found(rf"^{name}=(\S+)$", name)[1]

    def first_agent_source(self) -> str:
        """Return the parameter with the configuration that the agent loads unless it refuses it."""
        return self._found(r"^AGENT_SOURCES=\('ssm:([^']+)'", "a parameter as first source of the agent")[1]

    def _found(self, pattern: str, what: str) -> re.Match[str]:
        match = re.search(pattern, self.text, re.MULTILINE | re.DOTALL)
        if match is None:
            raise ValueError(f"the user data has no {what}")
        return match


class Template:
    """A template dict and the questions that the simulator asks of it."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        self.body = body

    def resources(self, kind: str) -> dict[str, dict[str, Any]]:
        """Return the resolved properties of every resource of a type, by logical id."""
        return {
            name: self.resolve(resource.get("Properties", {}))
            for name, resource in self.body["Resources"].items()
            if resource["Type"] == kind
        }

    def only(self, kind: str) -> tuple[str, dict[str, Any]]:
        """Return the single resource of a type."""
        found = self.resources(kind)
        if len(found) != 1:
            raise ValueError(f"expected one {kind}, found {sorted(found)}")
        return next(iter(found.items()))

    def attribute(self, logical_id: str, name: str) -> Any:
        """Return a resource attribute beside its properties, such as UpdatePolicy, resolved; None if absent."""
        return self.resolve(self.body["Resources"][logical_id].get(name))

    def resolve(self, value: Any) -> Any:
        """Return a value with every intrinsic function replaced by text."""
        if isinstance(value, list):
            return [self.resolve(item) for item in value]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            name, argument = next(iter(value.items()))
            if name == "Ref":
                return _PSEUDO.get(argument, argument)
            if name.startswith("Fn::"):
                return self._intrinsic(name, argument)
        return {key: self.resolve(item) for key, item in value.items()}

    def _intrinsic(self, name: str, argument: Any) -> Any:
        resolved = self.resolve(argument)
        if name == "Fn::GetAtt":
            return resolved if isinstance(resolved, str) else ".".join(resolved)
        if name == "Fn::Join":
            return str(resolved[0]).join(resolved[1])
        if name == "Fn::Base64":
            return resolved
        if name == "Fn::Select" and isinstance(resolved[1], list):
            return resolved[1][int(resolved[0])]
        if name == "Fn::Split":
            return resolved[1].split(resolved[0])
        if name == "Fn::GetAZs":
            return [f"{_PSEUDO['AWS::Region']}{letter}" for letter in "abc"]
        if name == "Fn::Sub":
            text, names = (resolved, {}) if isinstance(resolved, str) else resolved
            return _SUBSTITUTION.sub(
                lambda m: f"${{{m[2]}}}" if m[1] else str(names.get(m[2], _PSEUDO.get(m[2], m[2]))), text
            )
        if name == "Fn::ImportValue":
            return f"import:{resolved}"
        raise ValueError(f"{name} is not simulated")

    def group(self) -> tuple[str, dict[str, Any]]:
        """Return the fleet's Auto Scaling group with every lifecycle hook that the template gives it."""
        name, properties = self.only("AWS::AutoScaling::AutoScalingGroup")
        hooks = list(self.resources("AWS::AutoScaling::LifecycleHook").values())
        inline = properties.get("LifecycleHookSpecificationList", [])
        return name, {**properties, "LifecycleHookSpecificationList": inline + hooks}

    def alarms(self) -> dict[str, Alarm]:
        """Return every metric alarm by logical id."""
        return {
            name: Alarm.from_properties(name, properties)
            for name, properties in self.resources("AWS::CloudWatch::Alarm").items()
        }

    def alarm_invoking(self, function: Function) -> Alarm:
        """Return the one alarm that invokes a function."""
        found = [alarm for alarm in self.alarms().values() if f"{function.id}.Arn" in alarm.actions["ALARM"]]
        if len(found) != 1:
            raise ValueError(f"expected one alarm that invokes {function.id}, found {[a.name for a in found]}")
        return found[0]

    def functions(self) -> dict[str, Function]:
        """Return every function by logical id."""
        return {
            name: Function(
                id=name,
                handler=properties["Handler"],
                environment=properties.get("Environment", {}).get("Variables", {}),
                allowed=self._allowed(properties["Role"].removesuffix(".Arn")),
                invokers=self._invokers(name),
                timeout=int(properties.get("Timeout", 3)),
            )
            for name, properties in self.resources("AWS::Lambda::Function").items()
        }

    def function(self, package: str) -> Function:
        """Return the function whose handler lives in a package of ``lambda_handlers``."""
        found = [f for f in self.functions().values() if f.handler.split(".")[0] == package]
        if len(found) != 1:
            raise ValueError(f"expected one function for {package}, found {[f.id for f in found]}")
        return found[0]

    def schedules(self) -> dict[str, Schedule]:
        """Return every enabled schedule rule by logical id."""
        found = {}
        for name, properties in self.resources("AWS::Events::Rule").items():
            if "ScheduleExpression" in properties and properties.get("State", "ENABLED") == "ENABLED":
                targets = tuple(target["Arn"].removesuffix(".Arn") for target in properties["Targets"])
                found[name] = Schedule(name, _rate(properties["ScheduleExpression"]), targets)
        return found

    def scheduled_actions(self) -> dict[str, dict[str, Any]]:
        """Return the group's scheduled actions, which have a start time and no recurrence, by logical id."""
        found = self.resources("AWS::AutoScaling::ScheduledAction")
        if any("Recurrence" in properties for properties in found.values()):
            raise ValueError("a recurring scheduled action is not simulated")
        return found

    def event_rules(self) -> dict[str, EventRule]:
        """Return every enabled rule on events by logical id; one may have a schedule besides."""
        found = {}
        for name, properties in self.resources("AWS::Events::Rule").items():
            if "EventPattern" in properties and properties.get("State", "ENABLED") == "ENABLED":
                arns = [target["Arn"].removesuffix(".Arn") for target in properties["Targets"]]
                functions = tuple(arn for arn in arns if arn in self.functions())
                found[name] = EventRule(name, properties["EventPattern"], functions)
        return found

    def parameters(self) -> dict[str, str]:
        """Return the values of the SSM parameters, by name."""
        return {name: str(p["Value"]) for name, p in self.resources("AWS::SSM::Parameter").items()}

    def instance_tags(self) -> dict[str, str]:
        """Return the tags that the launch template puts on each instance."""
        _, properties = self.only("AWS::EC2::LaunchTemplate")
        specifications = properties["LaunchTemplateData"].get("TagSpecifications", ())
        tags = [tag for s in specifications if s["ResourceType"] == "instance" for tag in s["Tags"]]
        return {tag["Key"]: tag["Value"] for tag in tags}

    def boot_script(self) -> BootScript | None:
        """Return the user data of the launch template, None if it is not a fleet's."""
        _, properties = self.only("AWS::EC2::LaunchTemplate")
        text = properties["LaunchTemplateData"].get("UserData", "")
        return BootScript(text) if "AGENT_SOURCES=" in text else None

    def agent_configuration(self) -> str:
        """Return the configuration that an instance loads first, as kept in an SSM parameter.

        Without a boot script of ours it is the only configuration of an agent among the parameters.
        """
        script = self.boot_script()
        parameters = {name: str(p["Value"]) for name, p in self.resources("AWS::SSM::Parameter").items()}
        if script is not None:
            return parameters[script.first_agent_source()]
        found = [text for text in parameters.values() if '"metrics_collected"' in text]
        if len(found) != 1:
            raise ValueError(f"expected one agent configuration, found {len(found)}")
        return found[0]

    def _allowed(self, role: str) -> frozenset[str]:
        documents = [p["PolicyDocument"] for p in self.resources("AWS::IAM::Role")[role].get("Policies", ())]
        documents += [
            p["PolicyDocument"] for p in self.resources("AWS::IAM::Policy").values() if role in p.get("Roles", ())
        ]
        actions: set[str] = set()
        for statement in (s for document in documents for s in document["Statement"] if s["Effect"] == "Allow"):
            given = statement["Action"]
            actions.update([given] if isinstance(given, str) else given)
        return frozenset(actions)

    def _invokers(self, function: str) -> frozenset[str]:
        """Return the sources (rule, alarm) that a permission lets invoke the function."""
        permissions = self.resources("AWS::Lambda::Permission").values()
        mine = [p for p in permissions if p["FunctionName"].removesuffix(".Arn") == function]
        return frozenset(p.get("SourceArn", "*").removesuffix(".Arn") for p in mine)


def _rate(expression: str) -> int:
    match = re.fullmatch(r"rate\((\d+) (minute|hour|day)s?\)", expression)
    if match is None:
        raise ValueError(f"schedule {expression!r} is not simulated")
    return int(match[1]) * {"minute": 60, "hour": 3_600, "day": 86_400}[match[2]]
