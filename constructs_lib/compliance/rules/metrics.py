"""Metrics of accelerators: that there are some, and that what is watched is what is published.

A series is its namespace, its name and its exact set of dimensions, and CloudWatch rolls nothing up by itself:
"Metrics concepts", CloudWatch User Guide. What the agent publishes: its translator and output plugin, release
1.300071 (July 2026).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from constructs_lib.agent.kinds.nvidia import KIND as NVIDIA
from constructs_lib.agent.measurement_rules import prefix_of
from constructs_lib.compliance.deployment import Deployment, Resource
from constructs_lib.compliance.facts.agents import (
    SECTIONS,
    AgentConfiguration,
    Published,
    Start,
    reads_nvidia,
    start_of,
    starts_by_owner,
)
from constructs_lib.compliance.facts.alarms import Series, alarms
from constructs_lib.compliance.facts.launches import BATCH, GROUP, NODE_GROUP, Launch, accelerated_launches
from constructs_lib.compliance.facts.roles import allows, role_of
from constructs_lib.compliance.facts.scaling_policies import Policy, policies_of_accelerated
from constructs_lib.compliance.facts.scripts import has_commands_of_a_deploy
from constructs_lib.compliance.facts.together import once_a_fleet
from constructs_lib.compliance.facts.watching import Watch, series_of, watches
from constructs_lib.compliance.rule import ERROR, WARNING, Rule
from constructs_lib.compliance.values import Broken, NotKnown, Value, any_of
from constructs_lib.template.markers import SsmParameter

_CALLS = ("cloudwatch:PutMetricData", "logs:PutLogEvents")
_ADDON = "AWS::EKS::Addon"
_OBSERVABILITY = "amazon-cloudwatch-observability"
_READERS = (
    *("dcgm-exporter", "dcgm_exporter", "dcgmi dmon", "neuron-monitor", "gpumon", "dlami-cloudwatch-agent"),
    *("amazon-cloudwatch-observability", "accelerated_node", "all-smi", "nvidia_gpu_exporter"),
)
"""Programs that publish figures of accelerators."""
_TOOLS = (
    "nvidia-smi",
    "neuron-ls",
    "neuron-top",
    "hl-smi",
    "rocm-smi",
    "amd-smi",
    "fpga-describe-local-image",
    "xbutil",
)
_BY_AGENT = "start the CloudWatch agent there with a section nvidia_gpu"
_SOURCES = {
    "amd": "the driver's file gpu_busy_percent",
    "fpga": "fpga-describe-local-image",
    "gaudi": "hl-smi",
    "media": "xrmadm",
    "neuron": "neuron-monitor",
    "nvidia": "nvidia-smi",
    "qualcomm": "qaic-util",
}
"""What tells the figures of accelerators, by their kind."""
_WINDOWS = re.compile(r"<powershell>|<script>", re.IGNORECASE)
_POWER = "GPUPowerUtilization"
"""EC2's own metric. Source: "Accelerator metrics" in "CloudWatch metrics that are available for your instances", Amazon
EC2 User Guide, which says that it is there for some accelerated types only, and not for which (read 2026-12)."""
_PUBLISHING = ("put-metric-data", "put_metric_data", "8125")
_BY_ITS_OWN_RIGHTS = (
    *("statsd", "collectd", "telegraf", "datadog", "dd_api_key", "newrelic", "prometheus", "node_exporter"),
    *("node-exporter", "grafana", "otel", "otlp", "opentelemetry", "zabbix", "netdata", "dynatrace", "splunk"),
    *("ecs_cluster", "bootstrap.sh", "nodeadm", "ansible", "puppet", "chef", "salt", "kubelet", "kubeadm", "k3s"),
    *("slurm", "parallelcluster"),
)
"""Words of a boot script that starts what may publish them to somebody else than AWS, or by rights of its own."""
_BY_RIGHTS_OF_THE_INSTANCE = (
    *("put-metric-data", "put_metric_data", "cloudwatch-agent", "ssm:", "dkr.ecr", "compose", "git clone"),
    *("s3 cp", "s3 sync", "s3://", "cfn-init"),
)
"""Words of one that fetches or starts what may publish them, if the instance may."""
_FETCHERS = ("curl", "wget")
_INTO_A_SHELL = re.compile(r"\|\s*(?:sudo )?(?:ba)?sh")
_OUT_OF_A_PROCESS = re.compile(r"(?:python3?|bash|sh)\s+<\(")
_AGENT = "cloudwatch-agent"
_ELSEWHERE = ("AWS::SSM::Association", "AWS::SSM::MaintenanceWindowTask", "AWS::ImageBuilder::Image")
_OPERATES = re.compile(r"AWS-(?:(?:Stop|Start|Restart|Terminate|Resize)EC2|RunPatchBaseline|UpdateSSMAgent|PatchAsg)")
"""How the names of AWS's documents begin that measure nothing."""
_MORE = re.compile(r"append-config|put-metric-data|put_metric_data|telegraf")
_PREFIXES = tuple(prefix_of(each) for each in SECTIONS)
_WITHOUT_PREFIX = frozenset(each.name for each in NVIDIA.measurements)
"""Names as the agent's section nvidia_gpu has them; it puts its prefix before each."""
_PUBLIC_IMAGE = re.compile(r"^(?:resolve:ssm:)?(/aws/service/(?!marketplace/).*)$")
_OF_CONTAINERS = ("/ecs/", "/eks/", "bottlerocket")
_OF_WHOLE = ("Group", "WarmPool", "Approximate", "NumberOf", "SentMessageSize")
"""Beginnings of names of which every series is one of a group or queue; those of forecasts have more dimensions."""
_DIMENSIONS = {
    "AWS/AutoScaling": frozenset({"AutoScalingGroupName"}),
    "AWS/SQS": frozenset({"QueueName"}),
}
_OPAQUE = ("Custom::", "AWS::CloudFormation::CustomResource")
_GROUP_PAGE = "https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-metrics.html"
_OF_ENDPOINTS = ("CPUUtilization", "DiskUtilization", "GPUMemoryUtilization", "GPUUtilization", "MemoryUtilization")
_NOT_PUBLISHED = {
    ("AWS/EC2", "GPUUtilization"): "nvidia_smi_utilization_gpu in the namespace of the CloudWatch agent",
    ("AWS/EC2", "GPUMemoryUtilization"): "nvidia_smi_memory_used in the namespace of the CloudWatch agent",
    ("AWS/EC2", "MemoryUtilization"): "mem_used_percent in the namespace of the CloudWatch agent",
    ("AWS/EC2", "DiskSpaceUtilization"): "disk_used_percent in the namespace of the CloudWatch agent",
    **{("AWS/SageMaker", name): f"{name} in the namespace /aws/sagemaker/Endpoints" for name in _OF_ENDPOINTS},
    ("AWS/SQS", "ApproximateNumberOfMessages"): "ApproximateNumberOfMessagesVisible",
    ("AWS/SQS", "ApproximateNumberOfMessagesInFlight"): "ApproximateNumberOfMessagesNotVisible",
}
"""Names that are often written, and that the service does not publish, attributes of a queue among them. Sources:
"CloudWatch metrics that are available for your instances", Amazon EC2 User Guide; "Available CloudWatch metrics for
Amazon SQS", Amazon SQS Developer Guide; "Amazon SageMaker AI metrics in Amazon CloudWatch", Amazon SageMaker AI
Developer Guide, read 2026-12: AWS/SageMaker has those of requests, and another namespace those of instances."""


@once_a_fleet
def _measured(launch: Launch) -> Iterator[Broken]:
    start = start_of(launch)
    if any(reads_nvidia(each) for each in start.configurations):
        return
    if any(_publishes(each.commands) for each in start.told):
        return
    if _has_addon(launch):
        return
    doubt = _may_be_measured(launch, start)
    if doubt is not None:
        raise doubt
    place = launch.setting("UserData")
    yield place.broken(
        must="have the accelerators' use measured and published",
        got=None if place.is_absent else "a script that measures none",
        cure=_cure(launch, start),
    )


def _cure(launch: Launch, start: Start) -> str:
    """How the accelerators of this launch are measured; types that are not known may be of any kind."""
    kinds = launch.possible_kinds() or frozenset(_SOURCES)
    by_agent = "nvidia" in kinds and not _is_windows(launch, start)
    by_tool = sorted(kinds - {"nvidia"} if by_agent else kinds)
    cures = [_BY_AGENT] if by_agent else []
    if by_tool:
        sources = " or ".join(_SOURCES[each] for each in by_tool)
        cures.append(f"send the figures of {sources} there to the section statsd of the CloudWatch agent")
    return f"{', and '.join(cures)}, under a role that allows cloudwatch:PutMetricData"


def _is_windows(launch: Launch, start: Start) -> bool:
    """Whether instances run Windows, on which the agent has no section for GPUs."""
    name = _public_image(launch.setting("ImageId")) or ""
    return "windows" in name.lower() or any(_WINDOWS.search(each.text) for each in start.told)


def _publishes(text: str) -> bool:
    """Whether a text starts what publishes figures of accelerators, or does so itself with their maker's tool."""
    by_hand = any(tool in text for tool in _TOOLS) and any(call in text for call in _PUBLISHING)
    return by_hand or any(word in text for word in _READERS)


def _has_addon(launch: Launch) -> bool:
    addons = launch.owner.deployment.resources(_ADDON) if launch.owner.type == NODE_GROUP else []
    return any(each.properties.at("AddonName").raw == _OBSERVABILITY for each in addons)


def _may_be_measured(launch: Launch, start: Start) -> NotKnown | None:
    """Why the accelerators may be measured although nothing here says so."""
    owner = launch.owner
    if owner.type in (NODE_GROUP, BATCH):
        return NotKnown(owner, "containers may measure its accelerators, and what runs in them is not in the templates")
    reader = _reader_of_power(launch)
    if reader is not None:
        reason = f"{reader.id} reads EC2's {_POWER}: power, and no use, which EC2 has of some types only"
        return NotKnown(owner, reason)
    elsewhere = [each for each in owner.deployment.resources(*_ELSEWHERE) if not _only_operates(each)]
    if elsewhere:
        return NotKnown(owner, f"{elsewhere[0].id} may have its accelerators measured")
    if owner.deployment.unread:
        return NotKnown(owner, f"{owner.deployment.unread[0]} may have its accelerators measured")
    may_publish = _may_publish(launch)
    agent_is_known = bool(start.configurations) and not start.fetches_what_is_not_here
    for each in start.told:
        if has_commands_of_a_deploy(each.value.raw):
            return each.value.not_known("a part of the boot script is known at the deploy only")
        programs = _programs(each.commands, may_publish=may_publish)
        program = next((name for name in programs if not (agent_is_known and name == _AGENT)), None)
        if program is not None:
            return each.value.not_known(f"what the boot script fetches, starts or joins may measure them ({program})")
    image = launch.setting("ImageId")
    name = _public_image(image)
    if name is None:
        return image.not_known("its image may bring what measures them") if may_publish else None
    return image.not_known("containers may measure them") if any(each in name for each in _OF_CONTAINERS) else None


def _only_operates(runs: Resource) -> bool:
    """Whether what Systems Manager runs is a document of AWS that stops, starts, updates or patches machines."""
    named = (runs.properties.at(each).raw for each in ("Name", "TaskArn"))
    return any(isinstance(each, str) and _OPERATES.match(each) is not None for each in named)


def _programs(commands: str, *, may_publish: bool) -> Iterator[str]:
    """Signs of programs that a script starts or fetches and that may publish, by their own or the instance's rights."""
    said = commands.lower()
    yield from (each for each in _BY_ITS_OWN_RIGHTS if each in said)
    # Whatever another program reads, it gets nowhere without permission.
    if may_publish:
        yield from (each for each in _BY_RIGHTS_OF_THE_INSTANCE if each in said)
        if any(_runs_what_it_fetches(line) for line in said.splitlines()):
            yield "a shell runs what is fetched"


def _runs_what_it_fetches(line: str) -> bool:
    begins = [begin for each in _FETCHERS if (begin := line.find(each)) >= 0]
    piped = begins and _INTO_A_SHELL.search(line, min(begins))
    return bool(piped or _OUT_OF_A_PROCESS.search(line))


def _reader_of_power(launch: Launch) -> Resource | None:
    """An alarm, a policy or a dashboard that reads the power of its GPUs, or of GPUs that are not in the templates."""
    deployment = launch.owner.deployment
    for reader, series in deployment.once(_series_of_power):
        named = series.resources()
        if launch.owner in named or not named:
            return reader
    boards = deployment.resources("AWS::CloudWatch::Dashboard")
    return next((each for each in boards if _POWER in str(each.written.get("Properties"))), None)


def _series_of_power(deployment: Deployment) -> list[tuple[Resource, Series]]:
    read = [(each.resource, series) for each in alarms(deployment) for series in series_of(each)]
    for policy in policies_of_accelerated(deployment):
        if isinstance(policy, Policy):
            read += [(policy.resource, series) for series in policy.tracked]
    return [each for each in read if each[1].metric.at("MetricName").raw == _POWER]


def _may_publish(launch: Launch) -> bool:
    """Whether the instances may publish metrics, by CloudWatch's own call or in lines of a log."""
    try:
        role = role_of(launch)
        return role is not None and any_of(lambda action: allows(role, action), _CALLS)
    except NotKnown:
        return True


def _public_image(image: Value) -> str | None:
    """Name of the public parameter that an image of AWS comes from; none of them publishes by itself."""
    given = image.raw.name if isinstance(image.raw, SsmParameter) else image.raw
    found = _PUBLIC_IMAGE.match(given) if isinstance(given, str) else None
    return None if found is None else found[1]


@dataclass(frozen=True, eq=False)
class Reading:
    """A series that an alarm about accelerators reads, or that a policy of an accelerated group follows.

    Attributes:
        resource: the alarm, or the policy.
        series: that it reads.
    """

    resource: Resource
    series: Series


def _readings(deployment: Deployment) -> Iterator[Reading | NotKnown]:
    for reader in (*watches(deployment), *policies_of_accelerated(deployment)):
        if isinstance(reader, NotKnown):
            yield reader
            continue
        try:
            series = reader.alarm.series if isinstance(reader, Watch) else reader.tracked
        except NotKnown as not_known:
            yield not_known
            continue
        yield from (Reading(reader.resource, each) for each in series if not each.is_elsewhere)


def _of_agents(deployment: Deployment) -> Iterator[Reading | NotKnown]:
    """Those whose names are of the kind that the agent gives."""
    for each in _readings(deployment):
        if isinstance(each, NotKnown):
            yield each
        elif not _is_of_aws(each.series):
            name = each.series.metric.at("MetricName").raw
            if not isinstance(name, str):
                yield each.series.metric.at("MetricName").not_known()
            elif name.startswith(_PREFIXES) or name in _WITHOUT_PREFIX:
                yield each


def _of_services(deployment: Deployment) -> Iterator[Reading | NotKnown]:
    for each in _readings(deployment):
        if isinstance(each, NotKnown) or _is_of_aws(each.series):
            yield each


def _is_of_aws(series: Series) -> bool:
    namespace = series.metric.at("Namespace").raw
    return isinstance(namespace, str) and namespace.startswith("AWS/")


def _configurations(reading: Reading) -> list[AgentConfiguration]:
    """The configurations of the agents on the machines whose series an alarm reads.

    Raises:
        NotKnown: nobody can tell all that is published there.
    """
    starts = starts_by_owner(reading.resource.deployment)
    owners = [each for each in reading.series.resources() if each in starts]
    if not owners:
        raise reading.series.metric.at("Dimensions").not_known("whose series it is, is not in the templates")
    found: list[AgentConfiguration] = []
    for start in (each for owner in owners for each in starts[owner]):
        owner = start.launch.owner
        if start.fetches_what_is_not_here:
            raise NotKnown(owner, "its agent fetches a configuration that is not in the templates")
        if any(_MORE.search(each.commands) for each in start.told):
            raise NotKnown(owner, "its boot script has more published than its agent's configuration says")
        if not start.configurations:
            raise NotKnown(owner, "no configuration of its agent is in the templates")
        found += start.configurations
    for configuration in found:
        if configuration.content is None or configuration.namespace is None:
            raise configuration.value.not_known("the agent's configuration cannot be read")
    return found


def _is_nvidia(series: Series) -> bool:
    return (series.name or "").startswith(NVIDIA.metric_prefix)


def _lacks_prefix(series: Series, published: list[Published]) -> bool:
    """Whether it is what the agent publishes, but for the prefix that the agent puts before the name."""
    meant = f"{NVIDIA.metric_prefix}{series.name}"
    return any(each.name == meant and each.configuration.namespace == series.namespace for each in published)


def _is_published(reading: Reading) -> Iterator[Broken]:
    series = reading.series
    configurations = _configurations(reading)
    published = [each for configuration in configurations for each in configuration.published()]
    named = [each for each in published if each.name == series.name]
    here = [each for each in named if each.configuration.namespace == series.namespace]
    if not here and not _is_nvidia(series) and not _lacks_prefix(series, published):
        raise series.metric.at("MetricName").not_known("a program of the instances may publish it, and not the agent")
    if not named:
        yield series.metric.broken(
            "MetricName",
            must="name a metric that the agent publishes",
            cure=f"write one of {', '.join(sorted({each.name for each in published}))}, or have the agent measure it",
        )
    elif not here:
        yield series.metric.broken(
            "Namespace",
            must="be the one that the agent publishes in",
            cure=f"write {' or '.join(sorted({str(each.configuration.namespace) for each in named}))}",
        )
    elif not any(each.has_series_by(frozenset(series.dimensions)) for each in here):
        yield from _not_by(series, frozenset(series.dimensions), here)
    else:
        yield from _in_unit(series, here)


def _not_by(series: Series, names: frozenset[str], named: list[Published]) -> Iterator[Broken]:
    if names == {"AutoScalingGroupName"}:
        cure = (
            'add ["AutoScalingGroupName"] to metrics.aggregation_dimensions of the agent, and AutoScalingGroupName to '
            "its append_dimensions"
        )
    else:
        sets = {tuple(sorted(each)) for published in named for each in published.rolled_up}
        shown = [*sets, *{tuple(sorted(each.series.always)) for each in named if each.keeps_series}]
        cure = f"name all of one of these sets: {', '.join(str(list(each)) for each in shown)}"
    yield series.metric.broken(
        "Dimensions",
        must=f"be a set of dimensions that the agent publishes {series.name} with",
        got=", ".join(sorted(names)) or "none",
        cure=cure,
    )


def _in_unit(series: Series, named: list[Published]) -> Iterator[Broken]:
    asked = series.unit.text()
    units = {each.unit for each in named if each.section == "nvidia_gpu"}
    if asked is not None and asked != "None" and units and asked not in units:
        yield series.unit.broken(
            must=f"be left out: the agent publishes {series.name} without one",
            cure="remove Unit, or give the measurement this unit in the agent's section",
        )


def _is_of_service(reading: Reading) -> Iterator[Broken]:
    series = reading.series
    namespace, name = series.namespace or "", series.name or ""
    meant = _NOT_PUBLISHED.get((namespace, name))
    if meant is not None:
        yield series.metric.broken("MetricName", must=f"be a metric that {namespace} has", cure=f"write {meant}")
        return
    names = frozenset(series.dimensions)
    wanted = _DIMENSIONS.get(namespace)
    if wanted is not None and names != wanted and name.startswith(_OF_WHOLE):
        yield series.metric.broken(
            "Dimensions",
            must=f"be {', '.join(wanted)}, the only dimension of {namespace}",
            got=", ".join(sorted(names)) or "none",
            cure=f"name {', '.join(wanted)} and nothing else: no series has other dimensions",
        )
    elif namespace == "AWS/AutoScaling":
        yield from _is_collected(series, name)


def _is_collected(series: Series, name: str) -> Iterator[Broken]:
    for group in series.resources():
        if group.type != GROUP or _is_collected_by(group, name):
            continue
        if group.deployment.exported(group) or any(each.type.startswith(_OPAQUE) for each in group.users()):
            raise NotKnown(group, "something that is not in the templates may have its metrics collected")
        yield group.properties.broken(
            "MetricsCollection",
            must=f"have {name} collected, which {series.metric.resource.id} reads",
            cure="write MetricsCollection: [{Granularity: 1Minute}]: all metrics of the group, at no cost",
        )


def _is_collected_by(group: Resource, name: str) -> bool:
    if not name.startswith(("Group", "WarmPool")):
        return True  # Those of forecasts come without being asked for.
    for each in group.properties.each("MetricsCollection"):
        metrics = [metric.text() for metric in each.each("Metrics")]
        if not metrics or name in metrics:
            return True
    return False


_SERIES_PAGE = "https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch_concepts.html"

RULES = (
    Rule(
        id="accelerators-not-measured",
        title="The use of accelerators is measured and published",
        severity=WARNING,
        practices=("SUS05-BP04/measure", "OPS04-BP02", "REL06-BP01"),
        why=(
            "EC2 publishes no use of accelerators by itself, at most the power that GPUs of some types take, and the "
            "CPU says little about it: without it nobody sees that they are idle or too large, and nothing can release "
            "them."
        ),
        cure_here="Use AcceleratedFleet: it measures NVIDIA, Neuron, Gaudi, FPGA and media accelerators by itself.",
        cure_plain=(
            "Start the CloudWatch agent at boot with metrics_collected: {nvidia_gpu: {measurement: [utilization_gpu]}};"
            " on Windows, and for other makers, send the figures of the maker's tool to its section statsd."
        ),
        link="https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch-Agent-NVIDIA-GPU.html",
        subjects=accelerated_launches,
        judge=_measured,
    ),
    Rule(
        id="alarm-without-series",
        title="Alarms watch series that the agent publishes",
        severity=ERROR,
        practices=("SUS05-BP04/measure", "SUS05-BP04/release"),
        why=(
            "A series is told by its namespace, its name and all of its dimensions. An alarm on any other set of them "
            "has no data for ever: it never releases anything, and nobody is told."
        ),
        cure_here="AcceleratedFleet takes the names for alarms and agent from one place; use its metric methods.",
        cure_plain=(
            'Roll up with aggregation_dimensions: [["InstanceId"], ["AutoScalingGroupName"]] in the agent\'s '
            "configuration, and give the alarm one of these sets."
        ),
        link=_SERIES_PAGE,
        subjects=_of_agents,
        judge=_is_published,
    ),
    Rule(
        id="service-metric-not-published",
        title="Alarms watch metrics that the service publishes",
        severity=ERROR,
        practices=("SUS05-BP04/measure", "REL06-BP01"),
        why=(
            "An alarm on a metric that the service does not have, or that its group does not collect, stays in "
            "INSUFFICIENT_DATA: capacity is neither raised nor released by it."
        ),
        cure_here="AcceleratedFleet collects all metrics of its group; use its metric methods.",
        cure_plain="Correct name and dimensions, and set MetricsCollection: [{Granularity: 1Minute}] on the group.",
        link=_GROUP_PAGE,
        subjects=_of_services,
        judge=_is_of_service,
    ),
)
