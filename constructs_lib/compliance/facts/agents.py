"""What instances are told at their start: their texts, and the configurations of the CloudWatch agent among them.

Source: "Manually create or edit the CloudWatch agent configuration file", CloudWatch User Guide; the agent's own
``amazon-cloudwatch-agent-ctl`` and translator, release 1.300071 (July 2026).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from constructs_lib.agent.complaints import mapping
from constructs_lib.agent.dimension_rules import SeriesDimensions, dimensions_of, rolled_up_sets
from constructs_lib.agent.kinds.nvidia import KIND as NVIDIA
from constructs_lib.agent.measurement_rules import prefix_of
from constructs_lib.agent.section_rules import section_entries, section_path
from constructs_lib.compliance.deployment import Deployment, Resource, once
from constructs_lib.compliance.facts.launches import Launch, launches
from constructs_lib.compliance.facts.scripts import commands_in, decoded
from constructs_lib.compliance.values import NotKnown, Value
from constructs_lib.errors import ArgumentError
from constructs_lib.template.markers import Made, PartText, is_marker, markers_in

PARAMETER = "AWS::SSM::Parameter"
DEFAULT_NAMESPACE = "CWAgent"
SECTIONS = (
    *("cpu", "disk", "diskio", "efa", "ethtool", "mem", "net", "netstat", "processes", "procstat", "swap"),
    str(NVIDIA.agent_section),
)
"""Those whose metrics are named after the section."""

_INIT = "AWS::CloudFormation::Init"
_AGENT_FILE = "amazon-cloudwatch-agent"
_HEREDOC = re.compile(r"<<(?P<tabs>-?)\s*(?P<quote>[\"'\\]?)(?P<end>\w+)[\"']?(?P<rest>[^\n]*)$")
_TARGET = re.compile(r"(?:>>?|\btee\b(?:\s+-\w+)*)\s*[\"']?([^\s\"'|;&<>]+)")
_FETCHED_FILE = re.compile(r"\bfile:[\"']?([^\s\"';]+)")
_FETCHED_PARAMETER = re.compile(r"\bssm:[\"']*([^\s\"';)]*)")
_INIT_RESOURCE = re.compile(r"cfn-init[^\n]*?(?:--resource|-r)[\s=]+([^\s\\]+)")
_PLACEHOLDER = re.compile(r"(?<!\\)\$\{aws:\w+\}")
_SHELL = re.compile(r"(?<!\\)(?:\$\{?\w|\$\(|`)")
_UNKNOWN_PART = re.compile(r"\$\{[^}]*\}")
_DEFAULT_INTERVAL = 60


@dataclass(frozen=True, eq=False)
class Told:
    """A text that an instance is given: a boot script, a file, a command, the value of a parameter.

    Attributes:
        value: where it stands.
        text: it, with ``${...}`` for parts that only a deploy knows.
        is_whole: whether all of it is known.
        path: of the file that it becomes, or name of the parameter that it is. None: neither.
    """

    value: Value
    text: str
    is_whole: bool
    path: str | None = None

    @cached_property
    def commands(self) -> str:
        """It without comments, for whoever looks for what it does."""
        return commands_in(self.text)


@dataclass(frozen=True, eq=False)
class AgentConfiguration:
    """A configuration of the CloudWatch agent in a template.

    Attributes:
        value: where it stands.
        text: as the agent gets it.
        is_whole: whether all of it is known.
        eaten: placeholders of the agent, such as ``${aws:InstanceId}``, that the shell takes for its own variables.
    """

    value: Value
    text: str
    is_whole: bool
    eaten: tuple[str, ...] = ()

    @cached_property
    def content(self) -> Mapping[str, Any] | None:
        """It as plain data. None: it is no JSON object."""
        try:
            parsed = json.loads(self.text)
        except (ValueError, RecursionError):
            return None
        return parsed if isinstance(parsed, Mapping) else None

    @property
    def metrics(self) -> Mapping[str, Any]:
        """Its chapter of metrics; empty where it has none."""
        found = (self.content or {}).get("metrics")
        return found if isinstance(found, Mapping) else {}

    @property
    def sections(self) -> Mapping[str, Any]:
        """What it collects, by the key of the section."""
        found = self.metrics.get("metrics_collected")
        return found if isinstance(found, Mapping) else {}

    @property
    def namespace(self) -> str | None:
        """The namespace that its metrics go to. None: a part of it is known at the deploy only."""
        given = self.metrics.get("namespace", DEFAULT_NAMESPACE)
        return given if isinstance(given, str) and "${" not in given else None

    def published(self) -> list[Published]:
        """Every metric whose name the configuration tells; those of StatsD and its like have none here.

        Raises:
            NotKnown: it is not written as the agent wants it.
        """
        try:
            sets = [frozenset(each) for each in rolled_up_sets(self.metrics)]
            return [
                metric
                for name, section in self.sections.items()
                for fields in section_entries(name, section)
                for metric in self._of_section(name, fields, sets)
            ]
        except ArgumentError as fault:
            raise self.value.not_known("the agent's configuration is not written as the agent wants it") from fault

    def _of_section(self, name: str, fields: Mapping[str, Any], sets: list[frozenset[str]]) -> Iterator[Published]:
        series = dimensions_of(name, section_path(name), fields, self.metrics)
        interval = self._interval(fields)
        names = fields.get("metrics_include" if name == "ethtool" else "measurement", [])
        for item in names if isinstance(names, list) else []:
            fields_of_item = item if isinstance(item, Mapping) else {"name": item}
            bare = str(fields_of_item.get("name")).removeprefix(prefix_of(name))
            published = str(fields_of_item.get("rename") or f"{prefix_of(name)}{bare}")
            dropped = fields.get("drop_original_metrics", [])
            keeps = not (isinstance(dropped, list) and {"*", bare} & set(map(str, dropped)))
            yield Published(self, published, name, series, keeps, tuple(sets), interval, fields_of_item.get("unit"))

    def _interval(self, fields: Mapping[str, Any]) -> int:
        agent = (self.content or {}).get("agent")
        common = agent.get("metrics_collection_interval") if isinstance(agent, Mapping) else None
        for given in (fields.get("metrics_collection_interval"), common):
            if isinstance(given, int) and not isinstance(given, bool) and given > 0:
                return given
        return _DEFAULT_INTERVAL


@dataclass(frozen=True, eq=False)
class Published:
    """A metric that an agent publishes.

    Attributes:
        configuration: that says so.
        name: of the metric.
        section: that it comes from.
        series: the dimensions of each of its series.
        keeps_series: whether these are published beside the roll-ups.
        rolled_up: sets of dimensions that the agent rolls up by.
        interval: seconds between two points.
        unit: that its points have. None: the section's own.
    """

    configuration: AgentConfiguration
    name: str
    section: str
    series: SeriesDimensions
    keeps_series: bool
    rolled_up: tuple[frozenset[str], ...]
    interval: int
    unit: object

    def has_series_by(self, names: frozenset[str]) -> bool:
        """Whether it has a series with exactly these dimensions."""
        if names in self.rolled_up and self.series.may_have(names) and names != self.series.always:
            return True
        if not self.keeps_series:
            return False
        return self.series.always <= names and (
            self.series.is_open or names <= self.series.always | self.series.sometimes
        )


@dataclass(frozen=True, eq=False)
class Start:
    """What the instances of a launch are told at their start.

    Attributes:
        launch: whose instances they are.
    """

    launch: Launch

    @cached_property
    def told(self) -> tuple[Told, ...]:
        """Every text, those of ``AWS::CloudFormation::Init`` and of parameters that it names too.

        Raises:
            NotKnown: the boot script as a whole is not known.
        """
        script = self._script()
        found = [] if script is None else [script]
        for resource in self._described_by(script):
            found += _of_init(resource)
        return (*found, *self._parameters(found))

    def _script(self) -> Told | None:
        if self.launch.is_left_to_service:
            return None
        value = self.launch.setting("UserData")
        if value.is_absent:
            return None
        return Told(value, decoded(value.searchable() or ""), value.is_known)

    def _described_by(self, script: Told | None) -> list[Resource]:
        own = [self.launch.owner, *([self.launch.configured_by] if self.launch.configured_by else [])]
        resources = self.launch.owner.stack.resources
        named = _INIT_RESOURCE.findall(script.commands) if script is not None else []
        return list(dict.fromkeys((*own, *(resources[each] for each in named if each in resources))))

    def _parameters(self, told: list[Told]) -> Iterator[Told]:
        deployment = self.launch.owner.deployment
        by_name = _parameters_by_name(deployment)
        used: dict[Resource, None] = {}
        for each in told:
            for marker in markers_in(each.value.raw):
                made = deployment.resource_made(marker) if isinstance(marker, Made) else None
                if made is not None and made.type == PARAMETER:
                    used[made] = None
            for name in _FETCHED_PARAMETER.findall(each.commands):
                if name in by_name:
                    used[by_name[name]] = None
        for parameter in used:
            value = parameter.properties.at("Value")
            if isinstance(value.raw, (str, PartText)):
                yield Told(value, value.searchable() or "", value.is_known, str(parameter.id))

    @cached_property
    def configurations(self) -> tuple[AgentConfiguration, ...]:
        """The configurations of the CloudWatch agent among them.

        Raises:
            NotKnown: the boot script as a whole is not known.
        """
        fetched = {path for each in self.told for path in _FETCHED_FILE.findall(each.commands)}
        found = []
        for each in self.told:
            if each.path is None:
                found += list(_in_script(each, fetched))
            elif each.path in fetched or _is_configuration(each.text) or _is_agents_file(each.path):
                found.append(AgentConfiguration(each.value, each.text, each.is_whole))
        return tuple(found)

    @cached_property
    def fetches_what_is_not_here(self) -> bool:
        """Whether the agent is told to fetch a parameter that is not in the templates."""
        known = set(_parameters_by_name(self.launch.owner.deployment))
        for each in self.told:
            if each.path is None or not _is_configuration(each.text):
                names = _FETCHED_PARAMETER.findall(each.commands)
                if any("$" not in name and name and name not in known for name in names):
                    return True
        return False


def start_of(launch: Launch) -> Start:
    """What the instances of a launch are told at their start."""
    known = launch.owner.deployment.once(_starts)
    if launch not in known:
        known[launch] = Start(launch)
    return known[launch]


def _starts(deployment: Deployment) -> dict[Launch, Start]:
    """The starts that were asked for, so that each is read once."""
    return {}


@once
def starts_by_owner(deployment: Deployment) -> Mapping[Resource, Sequence[Start]]:
    """What instances are told, by the group or instance that they belong to."""
    found: dict[Resource, list[Start]] = {}
    for launch in launches(deployment):
        found.setdefault(launch.owner, []).append(start_of(launch))
    return found


@once
def _parameters_by_name(deployment: Deployment) -> Mapping[str, Resource]:
    named = ((each.properties.at("Name").raw, each) for each in deployment.resources(PARAMETER))
    return {name: each for name, each in named if isinstance(name, str)}


def _of_init(resource: Resource) -> Iterator[Told]:
    """The files and commands of ``AWS::CloudFormation::Init``."""
    try:
        sets = resource.attribute("Metadata").at(_INIT).named()
    except NotKnown:
        return
    for _, config in sets:
        if isinstance(config.raw, Mapping):
            for path, entry in _entries(config, "files"):
                yield from _of_file(path, entry)
            for _, entry in _entries(config, "commands"):
                yield from _of_text(entry.at("command") if isinstance(entry.raw, Mapping) else entry, None)


def _of_file(path: str, entry: Value) -> Iterator[Told]:
    if not isinstance(entry.raw, Mapping):
        return
    content = entry.at("content")
    if content.is_absent:
        yield from _of_text(entry.at("source"), path)
    elif isinstance(content.raw, Mapping):
        yield Told(content, json.dumps(_plain(content.raw)), not list(markers_in(content.raw)), path)
    else:
        yield from _of_text(content, path)


def _of_text(value: Value, path: str | None) -> Iterator[Told]:
    if isinstance(value.raw, (str, PartText)):
        yield Told(value, value.searchable() or "", value.is_known, path)
    elif isinstance(value.raw, list):
        yield Told(value, " ".join(map(str, _plain(value.raw))), not list(markers_in(value.raw)), path)


def _entries(config: Value, name: str) -> list[tuple[str, Value]]:
    try:
        return config.named(name)
    except NotKnown:
        return []


def _plain(raw: Any) -> Any:
    """A value with texts in place of what is not known."""
    if isinstance(raw, PartText):
        return raw.known
    if is_marker(raw):
        return "${unknown}"
    if isinstance(raw, Mapping):
        return {key: _plain(each) for key, each in raw.items()}
    return [_plain(each) for each in raw] if isinstance(raw, (list, tuple)) else raw


def _in_script(script: Told, fetched: set[str]) -> Iterator[AgentConfiguration]:
    """The configurations that a boot script writes into files."""
    lines = iter(script.text.split("\n"))
    for line in lines:
        opened = _HEREDOC.search(line)
        if opened is None:
            continue
        body: list[str] = []
        for inner in lines:
            stripped = inner.lstrip("\t") if opened["tabs"] else inner
            if stripped.rstrip("\r") == opened["end"]:
                break
            body.append(stripped)
        text = "\n".join(body)
        target = _TARGET.search(line[: opened.start()] + opened["rest"])
        path = target[1] if target is not None else ""
        if path in fetched or _is_agents_file(path) or _is_configuration(text):
            yield _written(script, text, by_shell=not opened["quote"])


def _written(script: Told, text: str, *, by_shell: bool) -> AgentConfiguration:
    """What a file holds in the end; between quotes the shell leaves the text alone."""
    eaten = tuple(dict.fromkeys(_PLACEHOLDER.findall(text))) if by_shell else ()
    others = _PLACEHOLDER.sub("", text)
    changed = bool(_SHELL.search(others)) if by_shell else not script.is_whole and bool(_UNKNOWN_PART.search(others))
    if by_shell:
        text = text.replace("\\$", "$").replace("\\`", "`").replace("\\\\", "\\")
    return AgentConfiguration(script.value, text, not changed, eaten)


def _is_agents_file(path: str) -> bool:
    return _AGENT_FILE in path and path.endswith(".json")


def _is_configuration(text: str) -> bool:
    """Whether a text is a configuration of the agent by what it says, whether or not it is good JSON."""
    begins = text.lstrip()[:1] == "{"
    return begins and ('"metrics_collected"' in text or '"logs_collected"' in text)


def reads_nvidia(configuration: AgentConfiguration) -> bool:
    """Whether it has the section for NVIDIA GPUs."""
    return NVIDIA.agent_section in configuration.sections


def appends(configuration: AgentConfiguration, name: str) -> bool:
    """Whether it appends a dimension, such as ``AutoScalingGroupName``, to every series."""
    try:
        return name in mapping("metrics.append_dimensions", configuration.metrics.get("append_dimensions", {}))
    except ArgumentError:
        return False
