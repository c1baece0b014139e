"""Reads what the simulation needs out of a synthesized template; a reference becomes a stable placeholder."""

from __future__ import annotations

import json
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from constructs_lib.catalog import known_types
from constructs_lib.errors import ArgumentError
from constructs_lib.rehearsal.boot_script import BootScript
from constructs_lib.rehearsal.cloud.alarms import Alarm
from constructs_lib.rehearsal.cloud.calendar import read_schedule
from constructs_lib.rehearsal.cloud.not_played import (
    notes_on_actions,
    notes_on_events,
    notes_on_group,
    notes_on_launch,
    notes_on_metrics,
    notes_on_monitoring,
    notes_on_mute_rules,
)
from constructs_lib.rehearsal.cloud.purchasing import Purchasing, read_purchasing
from constructs_lib.rehearsal.cloud.scheduled_actions import ScheduledAction, read_action
from constructs_lib.rehearsal.cloud.target_tracking import KIND as TARGET_TRACKING
from constructs_lib.rehearsal.cloud.target_tracking import tracking_alarms
from constructs_lib.rehearsal.property_shapes import AGENT, CUSTOM, SHAPES, check_body, is_custom
from constructs_lib.rehearsal.resolving import Properties, Resolver
from constructs_lib.rehearsal.triggers import EventRule, Function, Schedule, refuse_filters
from constructs_lib.rehearsal.value_shapes import missing, refused
from constructs_lib.validation import complaint

__all__ = ["EventRule", "Function", "Schedule", "Template"]

T = TypeVar("T")

_GROUP = "AWS::AutoScaling::AutoScalingGroup"
_GROUP_SETTINGS = ("AUTO_SCALING_GROUP_NAME", "GROUP_LOGICAL_ID")
"""The settings by which a function of ours is told its group."""
_USUAL_ZONES = 2
_MOST_ZONES = 6
_AT_LAUNCH = "resolve:ssm:"
"""What an image begins with that EC2 reads from its parameter at each launch."""
_COLLECTS_NOTHING = '{"metrics": {"metrics_collected": {}}}'


class Template:
    """A template dict and the questions that the simulator asks of it, all about one fleet of those it may have.

    What is asked once is kept: a template does not change. ``fleet`` is the logical id of the Auto Scaling group, or
    how that begins; it can be left out of a template with one group. ``notes`` tell what of the template is left out.
    """

    def __init__(self, body: Mapping[str, Any], *, fleet: str | None = None) -> None:
        check_body(body)
        self.body = body
        self._fleet = fleet
        self._resolver = Resolver(body)
        self._resources: dict[str, Properties] = {}
        self._kept: dict[str, Any] = {}
        self.notes: list[str] = []
        for name, resource in body["Resources"].items():
            if resource["Type"] == "AWS::CloudFormation::Stack":
                self._note(f"the nested stack {name} is not read: rehearse its own template for what is in it")
        for macro in [body["Transform"]] if isinstance(body.get("Transform"), str) else body.get("Transform", ()):
            self._note(f"the macro {macro} is not applied: rehearse the template that it makes")

    # Resources, whatever they are

    def resources(self, kind: str) -> dict[str, Properties]:
        """Return the properties of every resource of a type, by logical id; each is resolved when it is asked for."""
        return {name: self.properties(name) for name in self._ids(kind)}

    def properties(self, logical_id: str) -> Properties:
        """Return the properties of one resource."""
        if logical_id not in self._resources:
            resource = self.body["Resources"][logical_id]
            kind = resource["Type"]
            shapes = CUSTOM if is_custom(kind) else SHAPES.get(kind, {})
            self._resources[logical_id] = Properties(self._resolver, logical_id, resource.get("Properties", {}), shapes)
        return self._resources[logical_id]

    def attribute(self, logical_id: str, name: str) -> Any:
        """Return a resource attribute beside its properties, such as UpdatePolicy, resolved; None if absent."""
        return self._resolver.value(self.body["Resources"][logical_id].get(name), f"{logical_id}.{name}")

    def resolve(self, value: Any) -> Any:
        """Return a value with every intrinsic function resolved."""
        return self._resolver.value(value, "template.value")

    def referred_to(self, value: Any) -> set[str]:
        """Return the logical ids of the resources that a value refers to."""
        return self._resolver.made_for(value)

    def custom_resources(self) -> list[str]:
        """Return the logical ids of the custom resources that a function of the template makes."""
        kinds = {str(resource["Type"]) for resource in self.body["Resources"].values()}
        custom = [kind for kind in kinds if is_custom(kind)]
        found = {name for kind in custom for name in self._ids(kind)}
        return [name for name in self.body["Resources"] if name in found]

    def _ids(self, kind: str) -> list[str]:
        return [
            name
            for name, resource in self.body["Resources"].items()
            if resource["Type"] == kind and self._resolver.exists(name)
        ]

    def _keep(self, what: str, find: Callable[[], T]) -> T:
        """Return what was found the first time."""
        if what not in self._kept:
            self._kept[what] = find()
        found: T = self._kept[what]
        return found

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    # The fleet

    def group(self, fleet: str | None = None) -> tuple[str, Mapping[str, Any]]:
        """Return the fleet's Auto Scaling group with every lifecycle hook, and the warm pool, that it is given.

        ``fleet`` chooses it, for all other questions too.

        Raises:
            ArgumentError: there is no such group, or there are several and none was chosen.
        """
        if fleet is not None and fleet != self._fleet:
            self._fleet = fleet
            self._kept.clear()
        return self._keep("group", self._find_group)

    @property
    def fleet(self) -> str:
        """Return the logical id of the group."""
        return self._keep("fleet", self._choose)

    def _choose(self) -> str:
        groups = self._ids(_GROUP)
        wanted = self._fleet
        found = [each for each in groups if wanted is None or each.startswith(wanted)]
        if wanted is not None and wanted in groups:
            found = [wanted]
        if len(found) != 1:
            rule = f"name one Auto Scaling group of the template: {', '.join(groups) or 'it has none'}"
            cure = "give the logical id, or how it begins" if groups else "rehearse the template of a fleet"
            raise ArgumentError(complaint("template", "fleet", rule, wanted, cure))
        for other in groups:
            if other != found[0]:
                self._note(f"the Auto Scaling group {other} is left out, with its functions, policies and alarms")
        return found[0]

    def _find_group(self) -> tuple[str, Mapping[str, Any]]:
        properties = self.properties(self.fleet)
        hooks = [
            {"LifecycleHookName": name, **each}
            for name, each in self._of_group("AWS::AutoScaling::LifecycleHook").items()
        ]
        for size in ("MinSize", "MaxSize"):
            if size not in properties:
                raise missing(f"{self.fleet}.{size}")
        inline = properties.get("LifecycleHookSpecificationList", [])
        more: dict[str, Any] = {"LifecycleHookSpecificationList": inline + hooks}
        for pool in self._of_group("AWS::AutoScaling::WarmPool").values():
            more["WarmPool"] = pool
        for note in notes_on_group(self.fleet, properties):
            self._note(note)
        return self.fleet, ChainMap(more, properties)  # type: ignore[arg-type]

    def _of_group(self, kind: str) -> dict[str, Properties]:
        """Return the resources of a type that name the fleet's group as theirs."""
        found = self.resources(kind).items()
        return {name: each for name, each in found if each.get("AutoScalingGroupName", self.fleet) == self.fleet}

    def zones(self) -> int:
        """Return over how many zones the group is spread: as many as it has subnets, or two where nobody can tell."""
        properties = self.properties(self.fleet)
        named = properties.get("VPCZoneIdentifier") or properties.get("AvailabilityZones")
        return min(len(named), _MOST_ZONES) if isinstance(named, list) else _USUAL_ZONES

    def purchasing(self) -> Purchasing:
        """Return of which types the group is, and on which market it buys."""
        return self._keep(
            "purchasing", lambda: read_purchasing(self.fleet, self.properties(self.fleet), self.launch_settings())
        )

    def accelerators(self) -> int:
        """Return how many accelerators an instance of the group has by the catalogue; one of what it does not know."""
        types = self.purchasing().types
        for unknown in [each for each in types if each not in known_types()]:
            self._note(f"the catalogue does not know {unknown}: it is taken to have one accelerator")
        counts = {each: known_types()[each].accelerators if each in known_types() else 1 for each in types}
        if len(set(counts.values())) > 1:
            rule = "launch types with the same number of accelerators"
            cure = "rehearse a template that names those of one number"
            raise ArgumentError(complaint(self.fleet, "instance types", rule, counts, cure))
        return max(counts.values())

    def launch_settings(self) -> Mapping[str, Any]:
        """Return what the group's launch template or configuration says; nothing if it is not in the template."""
        return self._keep("launch", self._find_launch)

    def _find_launch(self) -> Mapping[str, Any]:
        properties = self.properties(self.fleet)
        if "LaunchConfigurationName" in properties:
            return self._named("AWS::AutoScaling::LaunchConfiguration", properties["LaunchConfigurationName"]) or {}
        mixed = properties.get("MixedInstancesPolicy", {}).get("LaunchTemplate", {})
        reference = mixed.get("LaunchTemplateSpecification") or properties.get("LaunchTemplate", {})
        named = reference.get("LaunchTemplateId") or reference.get("LaunchTemplateName")
        found = self._named("AWS::EC2::LaunchTemplate", named, "LaunchTemplateName")
        launch = {} if found is None else found.nested("LaunchTemplateData")
        for note in notes_on_launch(self.fleet, launch):
            self._note(note)
        return launch

    def image_parameter(self) -> str | None:
        """Return the name of the SSM parameter that the machine image comes from, which tells what is on it.

        None: it comes from none.
        """
        launch = self.launch_settings()
        if not isinstance(launch, Properties) or "ImageId" not in launch:
            return None
        found = launch.ssm_parameter("ImageId")
        if found is None and str(launch["ImageId"]).startswith(_AT_LAUNCH):
            return str(launch["ImageId"]).removeprefix(_AT_LAUNCH).partition(":")[0]
        return found

    def _named(self, kind: str, reference: Any, name: str = "LaunchConfigurationName") -> Properties | None:
        for logical_id, properties in self.resources(kind).items():
            if reference == logical_id or properties.get(name) == reference:
                return properties
        return None

    def policies(self) -> dict[str, Properties]:
        """Return the scaling policies of the group by logical id."""
        return dict(self._keep("policies", lambda: self._of_group("AWS::AutoScaling::ScalingPolicy")))

    def scheduled_actions(self) -> dict[str, ScheduledAction]:
        """Return the group's scheduled actions by logical id."""
        found = self._of_group("AWS::AutoScaling::ScheduledAction")
        return {name: read_action(name, properties) for name, properties in found.items()}

    # Alarms

    def alarms(self) -> dict[str, Alarm]:
        """Return every metric alarm by logical id, with those that target-tracking policies make for themselves."""
        return dict(self._keep("alarms", self._find_alarms))

    def _find_alarms(self) -> dict[str, Alarm]:
        found: dict[str, Mapping[str, Any]] = {
            name: properties
            for name, properties in self.resources("AWS::CloudWatch::Alarm").items()
            if not self._is_elsewhere(_groups_watched(properties))
        }
        for name, policy in self.policies().items():
            if policy.get("PolicyType") == TARGET_TRACKING:
                found.update(tracking_alarms(name, policy))
        for note in notes_on_mute_rules(self._ids("AWS::CloudWatch::AlarmMuteRule")):
            self._note(note)
        alarms = {name: Alarm.from_properties(name, properties) for name, properties in found.items()}
        types = {name: str(resource["Type"]) for name, resource in self.body["Resources"].items()}
        detailed = "LaunchConfigurationName" in self.properties(self.fleet)
        for note in (
            *notes_on_actions(alarms.values(), types),
            *notes_on_metrics(alarms.values()),
            *notes_on_monitoring(alarms.values(), self.launch_settings(), detailed=detailed),
        ):
            self._note(note)
        return alarms

    def composite_alarms(self) -> dict[str, Properties]:
        """Return the properties of every composite alarm by logical id."""
        return self.resources("AWS::CloudWatch::CompositeAlarm")

    def alarm_invoking(self, function: Function) -> Alarm:
        """Return the one alarm that invokes a function."""
        found = [alarm for alarm in self.alarms().values() if f"{function.id}.Arn" in alarm.actions["ALARM"]]
        if len(found) != 1:
            rule, cure = f"be one that invokes {function.id}", "leave the others out"
            raise ArgumentError(complaint(self.fleet, "alarm", rule, [alarm.name for alarm in found], cure))
        return found[0]

    def _is_elsewhere(self, groups: set[str]) -> bool:
        """Return whether something is about groups of the template, and not about the fleet's."""
        return self.fleet not in groups and bool(groups & set(self._ids(_GROUP)))

    # Functions, and what invokes them

    def functions(self) -> dict[str, Function]:
        """Return every function by logical id, without those of other fleets."""
        return dict(self._keep("functions", self._find_functions))

    def _find_functions(self) -> dict[str, Function]:
        found = {}
        for name, properties in self.resources("AWS::Lambda::Function").items():
            environment = properties.get("Environment", {}).get("Variables", {})
            if self._is_elsewhere({str(environment[each]) for each in _GROUP_SETTINGS if each in environment}):
                continue
            found[name] = Function(
                id=name,
                handler=str(properties.get("Handler", "")),
                environment=environment,
                allowed=self._allowed(properties["Role"].removesuffix(".Arn")),
                invokers=self._invokers(name),
                timeout=int(properties.get("Timeout", 3)),
            )
        for note in notes_on_events(self.resources, found):
            self._note(note)
        return found

    def function(self, package: str) -> Function:
        """Return the function whose handler lives in a package of ``lambda_handlers``."""
        found = [f for f in self.functions().values() if f.handler.split(".")[0] == package]
        if len(found) != 1:
            rule, cure = f"be one with a handler in {package}", "leave the others out"
            raise ArgumentError(complaint(self.fleet, "function", rule, [each.id for each in found], cure))
        return found[0]

    def schedules(self) -> dict[str, Schedule]:
        """Return every enabled schedule that invokes a function, by logical id.

        Raises:
            ArgumentError: a schedule acts on Auto Scaling without a function, which is not simulated.
        """
        return dict(self._keep("schedules", lambda: {each.id: each for each in self._find_schedules()}))

    def _find_schedules(self) -> Iterator[Schedule]:
        for name, properties in self.resources("AWS::Events::Rule").items():
            if "ScheduleExpression" in properties and properties.get("State", "ENABLED") == "ENABLED":
                functions = self._targets(name, *(target["Arn"] for target in properties.get("Targets", ())))
                if functions:
                    yield Schedule(name, read_schedule(name, properties["ScheduleExpression"]), functions)
        for name, properties in self.resources("AWS::Scheduler::Schedule").items():
            if properties.get("State", "ENABLED") == "ENABLED":
                functions = self._targets(name, properties["Target"]["Arn"])
                zone = properties.get("ScheduleExpressionTimezone")
                if functions:
                    yield Schedule(name, read_schedule(name, properties["ScheduleExpression"], zone), functions)

    def _targets(self, where: str, *arns: str) -> tuple[str, ...]:
        """Return the functions among the targets; what else may change the group is refused, the rest is noted."""
        own = self.functions()
        found = [arn.removesuffix(".Arn") for arn in arns if arn.removesuffix(".Arn") in own]
        for arn in arns:
            if "aws-sdk:autoscaling" in arn.lower():
                cure = "use a scheduled action of the group instead"
                raise ArgumentError(complaint(where, "Target", "be a function", arn, cure))
            if arn.removesuffix(".Arn") not in self.body["Resources"]:
                self._note(f"what {where} invokes is not in the template: {arn}")
        return tuple(found)

    def event_rules(self) -> dict[str, EventRule]:
        """Return every enabled rule on events by logical id; one may have a schedule besides."""
        return dict(self._keep("event rules", lambda: {each.id: each for each in self._find_event_rules()}))

    def _find_event_rules(self) -> Iterator[EventRule]:
        for name, properties in self.resources("AWS::Events::Rule").items():
            if "EventPattern" in properties and properties.get("State", "ENABLED") == "ENABLED":
                arns = [target["Arn"] for target in properties.get("Targets", ())]
                functions = self._targets(name, *arns)
                if functions:
                    refuse_filters(name, properties["EventPattern"])
                yield EventRule(name, properties["EventPattern"], functions)

    def _allowed(self, role: str) -> frozenset[str]:
        """Return the actions that a role allows; all of them if it is not in the template, since nobody can tell."""
        roles = self._keep("roles", lambda: self.resources("AWS::IAM::Role"))
        if role not in roles:
            return frozenset({"*"})
        documents = [policy["PolicyDocument"] for policy in roles[role].get("Policies", ())]
        for kind in ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"):
            policies = self.resources(kind).values()
            documents += [each["PolicyDocument"] for each in policies if role in each.get("Roles", ())]
        actions: set[str] = set()
        for statement in (s for document in documents for s in _listed(document["Statement"])):
            if statement["Effect"] == "Allow":
                actions.update(_listed(statement.get("Action", ())))
        return frozenset(actions)

    def _invokers(self, function: str) -> frozenset[str]:
        """Return what a permission (rules, alarms) or its own role (schedules) lets invoke the function."""
        permissions = self.resources("AWS::Lambda::Permission").values()
        mine = [p for p in permissions if p["FunctionName"].removesuffix(".Arn") == function]
        allowed = {str(p.get("SourceArn", "*")).removesuffix(".Arn") for p in mine}
        for name, properties in self.resources("AWS::Scheduler::Schedule").items():
            target = properties["Target"]
            actions = self._allowed(target["RoleArn"].removesuffix(".Arn"))
            if target["Arn"].removesuffix(".Arn") == function and any(
                fnmatchcase("lambda:InvokeFunction", each) for each in actions
            ):
                allowed.add(name)
        return frozenset(allowed)

    # What instances are started with

    def parameters(self) -> dict[str, str]:
        """Return the values of the SSM parameters, by name."""
        return {name: str(p["Value"]) for name, p in self.resources("AWS::SSM::Parameter").items()}

    def instance_tags(self) -> dict[str, str]:
        """Return the tags that the launch template puts on each instance."""
        specifications = self.launch_settings().get("TagSpecifications", ())
        tags = [tag for s in specifications if s["ResourceType"] == "instance" for tag in s["Tags"]]
        return {tag["Key"]: tag["Value"] for tag in tags}

    def boot_script(self) -> BootScript | None:
        """Return the user data of the launch template, None if it is not a fleet's."""
        return self._keep("boot script", self._find_boot_script)

    def _find_boot_script(self) -> BootScript | None:
        text = str(self.launch_settings().get("UserData", ""))
        return BootScript(text) if "AGENT_SOURCES=" in text else None

    def agent_configuration(self) -> str:
        """Return the configuration that an instance loads first, as kept in an SSM parameter.

        Without a boot script of ours it is the only configuration of an agent among the parameters; where there is none
        the agent collects nothing.
        """
        script = self.boot_script()
        parameters = self.parameters()
        if script is not None:
            source = script.first_agent_source()
            if source not in parameters:
                rule, cure = "be a parameter of the template", "add it, as it was synthesized"
                raise ArgumentError(complaint(self.fleet, "agent configuration", rule, source, cure))
            return self._read_by_an_agent(parameters[source])
        found = [text for text in parameters.values() if '"metrics_collected"' in text]
        if len(found) > 1:
            rule, cure = "be one", "leave the others out of the template"
            raise ArgumentError(complaint(self.fleet, "agent configuration among the parameters", rule, found, cure))
        return self._read_by_an_agent(found[0]) if found else _COLLECTS_NOTHING

    def _read_by_an_agent(self, text: str) -> str:
        """Return the configuration of an agent, if one can read it."""
        try:
            AGENT(json.loads(text), f"{self.fleet}.agent configuration")["metrics"]["metrics_collected"]
        except (ValueError, RecursionError) as error:
            if isinstance(error, ArgumentError):
                raise
            raise refused(f"{self.fleet}.agent configuration", "be JSON", text) from error
        return text


def _groups_watched(properties: Mapping[str, Any]) -> set[str]:
    """Return the groups whose metrics an alarm watches."""
    metrics = [each["MetricStat"]["Metric"] for each in properties.get("Metrics", ()) if "MetricStat" in each]
    dimensions = [d for metric in (properties, *metrics) for d in metric.get("Dimensions", ())]
    return {str(each["Value"]) for each in dimensions if each["Name"] == "AutoScalingGroupName"}


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]
