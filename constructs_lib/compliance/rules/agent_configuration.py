"""The CloudWatch agent on accelerated instances: a configuration that it acts on, and the right to publish.

Facts: the agent's schema and translator as of release 1.300071 (July 2026); "Create IAM roles and users for use with
the CloudWatch agent", CloudWatch User Guide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from constructs_lib.agent import check
from constructs_lib.compliance.deployment import Deployment, Resource
from constructs_lib.compliance.facts.agents import (
    PARAMETER,
    AgentConfiguration,
    appends,
    reads_nvidia,
    start_of,
)
from constructs_lib.compliance.facts.launches import GROUP, Launch, launches
from constructs_lib.compliance.facts.policies import Statement, stands_for
from constructs_lib.compliance.facts.roles import allows, role_of, statements_of
from constructs_lib.compliance.rule import ERROR, WARNING, Itself, Rule
from constructs_lib.compliance.values import Broken, NotKnown, any_of
from constructs_lib.errors import ArgumentError
from constructs_lib.template.markers import SsmParameter

_PUBLISH = "cloudwatch:PutMetricData"
_READ_TAGS = "ec2:DescribeTags"
_GROUP_NAME = "AutoScalingGroupName"
_ACCELERATORS = frozenset({"nvidia_gpu", "statsd"})
"""Sections with figures of accelerators; those of other makers than NVIDIA come through StatsD."""
_NAMESPACE_KEY = "cloudwatch:namespace"
_TELLS_A_VALUE = re.compile(r"\$\{(?!aws:)")
_FAULT = re.compile(
    r"^agent configuration: (?P<path>.*?) must (?P<rule>.*), got (?P<value>.*?); (?P<cure>.*)$", re.DOTALL
)
_OTHER_CREDENTIALS = ("common-config.toml", "shared_credential", "AWS_ACCESS_KEY_ID")
_DRIVER = re.compile(
    r"install[^\n]*(?:nvidia-(?:driver|open|headless|kmod)|cuda-drivers)|NVIDIA-Linux-[^\n]*\.run|ubuntu-drivers[^\n]*install"
)
_AGENT_STARTS = re.compile(r"fetch-config|systemctl[^\n]*start amazon-cloudwatch-agent")
_WITHOUT_DRIVER = re.compile(r"/aws/service/(?:ami-amazon-linux-latest|canonical|debian)/")
"""Images of operating systems alone."""
_SUB_PLACEHOLDER = re.compile(r"\$\{aws:\w+\}")
_CLOSED = {
    "statsd": {"service_address": "127.0.0.1:8125"},
    "collectd": {"service_address": "udp://127.0.0.1:25826", "collectd_security_level": "none"},
}
"""What the check of configurations wants of listeners for the sake of safety; figures come without it too."""
_CONFIGURATION_PAGE = (
    "https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch-Agent-Configuration-File-Details.html"
)
_GPU_PAGE = "https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch-Agent-NVIDIA-GPU.html"
_ROLE_PAGE = "https://docs.aws.amazon.com/aws-managed-policy/latest/reference/CloudWatchAgentServerPolicy.html"


@dataclass(frozen=True, eq=False)
class Configured:
    """An accelerated launch, and a configuration of the agent that its instances get.

    Attributes:
        launch: whose instances they are.
        configuration: that they get.
    """

    launch: Launch
    configuration: AgentConfiguration

    @property
    def resource(self) -> Resource:
        """The resource that has the configuration."""
        return self.configuration.value.resource


def _configured(deployment: Deployment) -> Iterator[Configured | NotKnown]:
    """The configurations of accelerated instances, and where nobody can tell whether there is one, why."""
    for launch in launches(deployment):
        try:
            if _is_told(launch) and not start_of(launch).configurations:
                continue
            if launch.is_accelerated():
                yield from (Configured(launch, each) for each in start_of(launch).configurations)
        except NotKnown as not_known:
            yield not_known


def _is_told(launch: Launch) -> bool:
    """Whether it is known what the instances of a launch are told, so that nothing else is asked in vain."""
    try:
        return start_of(launch).told is not None
    except NotKnown:
        return False


def _publishing(deployment: Deployment) -> Iterator[Configured | NotKnown]:
    for each in _configured(deployment):
        if isinstance(each, NotKnown) or each.configuration.sections:
            yield each


def _acts_on(subject: Configured) -> Iterator[Broken]:
    configuration = subject.configuration
    content = configuration.content
    if content is None:
        if not configuration.is_whole:
            raise configuration.value.not_known("a part of the agent's configuration is known at the deploy only")
        yield configuration.value.broken(
            must="hold a configuration of the CloudWatch agent that is a JSON object",
            got=_beginning(configuration.text),
            cure="correct the JSON: the agent does not start with it",
        )
        return
    if _is_for_windows(configuration):
        raise configuration.value.not_known("it is for the agent on Windows")
    try:
        check(_with_closed_listeners(content))
    except ArgumentError as error:
        if not configuration.is_whole and _TELLS_A_VALUE.search(str(error)):
            raise configuration.value.not_known("a part of it is known at the deploy only") from error
        fault = _FAULT.match(str(error))
        must = "hold an agent configuration that the agent acts on"
        if fault is None:
            yield configuration.value.broken(must=must, cure=str(error))
            return
        yield configuration.value.broken(
            must=f"hold an agent configuration that the agent acts on: its {fault['path']} must {fault['rule']}",
            got=fault["value"].strip("'"),
            cure=fault["cure"],
        )


def _beginning(text: str) -> str:
    return " ".join(text.split())[:60]


def _is_for_windows(configuration: AgentConfiguration) -> bool:
    return any(name[:1].isupper() or " " in name for name in configuration.sections)


def _with_closed_listeners(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """The configuration with listeners on this machine only: where they listen does not keep figures from coming."""
    metrics = content.get("metrics")
    collected = metrics.get("metrics_collected") if isinstance(metrics, Mapping) else None
    if not isinstance(metrics, Mapping) or not isinstance(collected, Mapping):
        return content
    closed = {
        name: {**section, **_CLOSED.get(name, {})} if isinstance(section, Mapping) else section
        for name, section in collected.items()
    }
    return {**content, "metrics": {**metrics, "metrics_collected": closed}}


def _placeholders(subject: Configured) -> Iterator[Broken]:
    configuration = subject.configuration
    if configuration.eaten:
        named = ", ".join(configuration.eaten)
        yield configuration.value.broken(
            must=f"keep {named} of the agent from the shell",
            got=f"{named} in a here-document whose end is not quoted",
            cure="write <<'EOF' in place of <<EOF: bash puts an empty text there, and the agent appends nothing",
        )


def _substituted(subject: Itself) -> Iterator[Broken]:
    texts = _sub_texts(subject.resource.written)
    found = list(dict.fromkeys(each for text in texts for each in _SUB_PLACEHOLDER.findall(text)))
    if found:
        escaped = ", ".join(each.replace("${", "${!") for each in found)
        yield subject.resource.properties.broken(
            must=f"keep {', '.join(found)} of the agent from Fn::Sub",
            got=f"{', '.join(found)} in the text of Fn::Sub",
            cure=f"write {escaped}, else CloudFormation looks for a resource of this name and refuses the template",
        )


def _sub_texts(raw: Any) -> Iterator[str]:
    pending = [raw]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            continue  # Most are, and are told fast.
        if isinstance(value, list):
            pending += value
        elif isinstance(value, Mapping):
            argument = value.get("Fn::Sub")
            text = argument[0] if isinstance(argument, list) and argument else argument
            if isinstance(text, str):
                yield text
            pending += value.values()


def _with_placeholders(deployment: Deployment) -> Iterator[Itself | NotKnown]:
    """What accelerated instances get boot scripts, files and parameters from, if it has placeholders in Fn::Sub."""
    found: dict[Resource, None] = {}
    for launch in launches(deployment):
        texts = dict.fromkeys((launch.resource, launch.owner, *launch.resource.uses(PARAMETER)))
        try:
            if launch.is_accelerated():
                found |= dict.fromkeys(each for each in texts if any(_has_placeholder(each)))
        except NotKnown as not_known:
            if any(any(_has_placeholder(each)) for each in texts):
                yield not_known
    yield from map(Itself, found)


def _has_placeholder(resource: Resource) -> Iterator[bool]:
    return ("{aws:" in text or "{!aws:" in text for text in _sub_texts(resource.written))


def _has_gpus(subject: Configured) -> Iterator[Broken]:
    launch = subject.launch
    if launch.requirements or not launch.types:
        raise NotKnown(launch.owner, "its types are chosen by their attributes")
    if len(launch.facts) < len(launch.types):
        raise NotKnown(launch.owner, "of some of its types the catalogue does not know what accelerators they have")
    if "nvidia" not in launch.kinds:
        yield subject.configuration.value.broken(
            must=f"hold no section nvidia_gpu for {', '.join(launch.types)}",
            got="nvidia_gpu",
            cure=(
                "remove the section: without /usr/bin/nvidia-smi the whole agent does not start; read these "
                "accelerators with the tool of their maker, and send the figures to the section statsd"
            ),
        )


def _with_nvidia(deployment: Deployment) -> Iterator[Configured | NotKnown]:
    for each in _configured(deployment):
        if isinstance(each, NotKnown) or reads_nvidia(each.configuration):
            yield each


def _driver_comes_first(subject: Configured) -> Iterator[Broken]:
    """The agent looks for /usr/bin/nvidia-smi when it is configured, and does not start without it."""
    launch = subject.launch
    for script in start_of(launch).told:
        installed = _DRIVER.search(script.commands)
        starts = [each.start() for each in _AGENT_STARTS.finditer(script.commands)]
        if installed is None or not starts or installed.start() < starts[-1]:
            continue
        image = launch.setting("ImageId")
        name = image.raw.name if isinstance(image.raw, SsmParameter) else image.raw
        if not isinstance(name, str) or not _WITHOUT_DRIVER.search(name):
            raise image.not_known("its image may bring the driver")
        yield script.value.broken(
            must="start the agent once the driver is there",
            got="a script that starts the agent first",
            cure="move fetch-config behind the installation, and wait until nvidia-smi -L succeeds",
        )


def _may_publish(subject: Configured) -> Iterator[Broken]:
    role = _role(subject)
    if role is None:
        yield _without_profile(subject.launch)
    elif not allows(role, _PUBLISH):
        yield role.properties.broken(
            "Policies",
            must=f"allow {_PUBLISH} for the CloudWatch agent of {subject.launch.owner.id}",
            got="policies without it",
            cure="attach the managed policy CloudWatchAgentServerPolicy to the role",
        )
    else:
        yield from _in_namespace(subject, role)


def _in_namespace(subject: Configured, role: Resource) -> Iterator[Broken]:
    namespace = subject.configuration.namespace
    if namespace is None:
        raise subject.configuration.value.not_known("the agent's namespace is known at the deploy only")
    if not any_of(lambda each: _gives(each, namespace), statements_of(role)):
        yield role.properties.broken(
            "Policies",
            must=f"allow {_PUBLISH} in the namespace {namespace!r}, which the agent publishes in",
            got=f"a condition on {_NAMESPACE_KEY} that has no such value",
            cure=f"add {namespace!r} to the condition, or write the condition's namespace in the agent's configuration",
        )


def _gives(statement: Statement | NotKnown, namespace: str) -> bool:
    if isinstance(statement, NotKnown):
        raise statement
    if not statement.allows() or not statement.covers(_PUBLISH):
        return False
    for operator, key, value in statement.conditions():
        if key != _NAMESPACE_KEY:
            continue
        if operator not in ("stringequals", "stringlike", "stringequalsignorecase"):
            raise value.not_known("it is a condition of another kind")
        # Without wildcards, the three say the same; a namespace has none.
        if not any_of(lambda each: stands_for(each.text() or "", namespace), value.each()):
            return False
    return True


def _may_read_tags(subject: Configured) -> Iterator[Broken]:
    if not appends(subject.configuration, "AutoScalingGroupName"):
        return
    role = _role(subject)
    if role is not None and not allows(role, _READ_TAGS):
        yield role.properties.broken(
            "Policies",
            must=f"allow {_READ_TAGS}, by which the agent of {subject.launch.owner.id} finds its group",
            got="policies without it",
            cure="attach CloudWatchAgentServerPolicy, or allow ec2:DescribeTags on '*': it takes no narrower resource",
        )


def _role(subject: Configured) -> Resource | None:
    """The role that the agent publishes with. None: it has none."""
    content = subject.configuration.content or {}
    chapters = (content.get("agent"), subject.configuration.metrics)
    if any(isinstance(each, Mapping) and each.get("credentials") for each in chapters):
        raise subject.configuration.value.not_known("the agent publishes with credentials of its own")
    told = start_of(subject.launch).told
    if any(word in each.commands for each in told for word in _OTHER_CREDENTIALS):
        raise subject.configuration.value.not_known("the agent may publish with credentials of its own")
    return role_of(subject.launch)


def _without_profile(launch: Launch) -> Broken:
    return launch.setting("IamInstanceProfile").broken(
        must="name an instance profile whose role may publish metrics",
        cure=f"add an instance profile whose role allows {_PUBLISH}: the agent has no credentials without one",
    )


def _of_groups(deployment: Deployment) -> Iterator[Configured | NotKnown]:
    """Configurations of groups that collect figures of accelerators."""
    for each in _publishing(deployment):
        if isinstance(each, NotKnown) or (
            each.launch.owner.type == GROUP and _ACCELERATORS & each.configuration.sections.keys()
        ):
            yield each


def _rolls_up(subject: Configured) -> Iterator[Broken]:
    configuration = subject.configuration
    sets = configuration.metrics.get("aggregation_dimensions", [])
    if isinstance(sets, list) and any(each in ([_GROUP_NAME], []) for each in sets):
        return
    if not configuration.is_whole:
        raise configuration.value.not_known("a part of the agent's configuration is known at the deploy only")
    yield configuration.value.broken(
        must=f"have [{_GROUP_NAME!r}] among its aggregation_dimensions, else no series tells of the group",
        got=str(sets),
        cure=f"write aggregation_dimensions: [['InstanceId'], ['{_GROUP_NAME}']], and append that dimension",
    )


def _destined_for_cloudwatch(deployment: Deployment) -> Iterator[Configured | NotKnown]:
    for each in _publishing(deployment):
        if isinstance(each, Configured):
            destinations = each.configuration.metrics.get("metrics_destinations")
            if isinstance(destinations, Mapping) and destinations and "cloudwatch" not in destinations:
                continue
        yield each


RULES = (
    Rule(
        id="agent-configuration-ignored",
        title="The CloudWatch agent acts on all of its configuration",
        severity=ERROR,
        practices=("SUS05-BP04/measure", "OPS04-BP02"),
        why=(
            "The agent's schema lets wrong keys and measurements through, and the agent then leaves them out without a "
            "word, or does not start at all: the accelerators are not measured, and nobody is told."
        ),
        cure_here="AcceleratedFleet writes the configuration; Telemetry adds to it and is checked at synth.",
        cure_plain="Correct the configuration as the message says; the key for NVIDIA GPUs is nvidia_gpu.",
        link=_CONFIGURATION_PAGE,
        subjects=_configured,
        judge=_acts_on,
    ),
    Rule(
        id="agent-section-without-gpus",
        title="The agent's section nvidia_gpu is for instances with NVIDIA GPUs",
        severity=ERROR,
        practices=("SUS05-BP04/measure",),
        why=(
            "When it starts, the agent looks for /usr/bin/nvidia-smi if it has this section, and does not start where "
            "it is missing: no metric and no log comes from such an instance."
        ),
        cure_here="AcceleratedFleet measures each kind of accelerator with its own tool; nothing is to be set.",
        cure_plain="Remove nvidia_gpu, and send the figures of the maker's own tool to the section statsd.",
        link=_GPU_PAGE,
        subjects=_with_nvidia,
        judge=_has_gpus,
    ),
    Rule(
        id="agent-before-driver",
        title="The agent starts once the driver is there",
        severity=ERROR,
        practices=("SUS05-BP04/measure",),
        why=(
            "An agent with the section nvidia_gpu does not start before the driver is installed: no metric and no log "
            "comes from the instance, and nothing can release it."
        ),
        cure_here="AcceleratedFleet starts the agent once the driver answers; nothing is to be set.",
        cure_plain="Install the driver, wait for nvidia-smi -L, then run fetch-config; or use an image with a driver.",
        link=_GPU_PAGE,
        subjects=_with_nvidia,
        judge=_driver_comes_first,
    ),
    Rule(
        id="agent-placeholder-expanded-by-shell",
        title="Placeholders of the agent reach it as they are written",
        severity=ERROR,
        practices=("SUS05-BP04/measure",),
        why=(
            "In a here-document whose end is not quoted, bash takes ${aws:InstanceId} for a variable and writes "
            "nothing: the dimension is never appended, and what watches it has no data."
        ),
        cure_here="AcceleratedFleet keeps the configuration in a parameter that no shell reads; nothing is to be set.",
        cure_plain="Quote the end of the here-document: cat >file <<'EOF'.",
        link=_CONFIGURATION_PAGE,
        subjects=_configured,
        judge=_placeholders,
    ),
    Rule(
        id="agent-placeholder-in-sub",
        title="Placeholders of the agent are escaped in Fn::Sub",
        severity=ERROR,
        practices=("SUS05-BP04/measure",),
        why=(
            "Fn::Sub takes ${aws:InstanceId} for a reference of the template, finds no resource of that name, and the "
            "deploy fails."
        ),
        cure_here="AcceleratedFleet passes the placeholders on as they are; nothing is to be set.",
        cure_plain="Write ${!aws:InstanceId} in Fn::Sub, or leave Fn::Sub out.",
        link="https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference-sub.html",
        subjects=_with_placeholders,
        judge=_substituted,
    ),
    Rule(
        id="metrics-not-permitted",
        title="Instances with an agent may publish metrics, in the agent's namespace",
        severity=ERROR,
        practices=("SUS05-BP04/measure", "OPS04-BP02"),
        why=(
            f"Without {_PUBLISH} nothing that the agent measures arrives, and an alarm on it never leaves "
            "INSUFFICIENT_DATA: idle accelerators are not released."
        ),
        cure_here="AcceleratedFleet grants it to its role, for its namespace; nothing is to be set.",
        cure_plain=f"Attach CloudWatchAgentServerPolicy to the instances' role, or allow {_PUBLISH} in the namespace.",
        link=_ROLE_PAGE,
        subjects=_destined_for_cloudwatch,
        judge=_may_publish,
    ),
    Rule(
        id="group-roll-up-missing",
        title="The agent of a group rolls the accelerators' figures up for the group",
        severity=WARNING,
        practices=("SUS05-BP04/measure",),
        why=(
            "CloudWatch adds nothing up: without the roll-up each accelerator of each instance is a series of its own, "
            "and no alarm can say that the group as a whole is idle."
        ),
        cure_here="AcceleratedFleet configures the roll-up; nothing is to be set.",
        cure_plain="Add ['AutoScalingGroupName'] to metrics.aggregation_dimensions of the agent's configuration.",
        link=_CONFIGURATION_PAGE,
        subjects=_of_groups,
        judge=_rolls_up,
    ),
    Rule(
        id="group-name-not-permitted",
        title="An agent that appends its group's name may read tags",
        severity=ERROR,
        practices=("SUS05-BP04/measure",),
        why=(
            f"The agent reads its group's name with {_READ_TAGS}. Until that succeeds it drops its metrics, so that "
            "neither idle nor busy accelerators are seen."
        ),
        cure_here="AcceleratedFleet grants it to its role; nothing is to be set.",
        cure_plain=f"Attach CloudWatchAgentServerPolicy to the instances' role, or allow {_READ_TAGS} on '*'.",
        link=_ROLE_PAGE,
        subjects=_destined_for_cloudwatch,
        judge=_may_read_tags,
    ),
)
