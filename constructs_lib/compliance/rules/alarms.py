"""Alarms that lower the capacity of accelerators: what silence means, who acts, who is told.

Source: "Configuring how CloudWatch alarms treat missing data", "CloudWatch alarm actions", CloudWatch User Guide, read
2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from constructs_lib.agent.kinds.nvidia import KIND as NVIDIA
from constructs_lib.compliance.deployment import Deployment, once
from constructs_lib.compliance.facts.agents import starts_by_owner
from constructs_lib.compliance.facts.alarms import (
    FUNCTIONS,
    ON_ALARM,
    ON_INSUFFICIENT_DATA,
    Alarm,
    Expression,
    Series,
    alarms,
)
from constructs_lib.compliance.facts.roles import allows, role_of_function
from constructs_lib.compliance.facts.scaling_policies import Policy, protects_what_works
from constructs_lib.compliance.facts.watching import (
    Watch,
    is_of_accelerators,
    metric_watches,
    series_of,
    tells_use,
)
from constructs_lib.compliance.rule import ERROR, WARNING, Rule
from constructs_lib.compliance.values import Broken, NotKnown

_MISSING_DATA = "TreatMissingData"
_IDLE_PERCENT = 10
_FILLED = re.compile(r"^\s*FILL\s*\(\s*(\w+)\s*,\s*(-?\d+(?:\.\d+)?)\s*\)\s*$", re.IGNORECASE)
_HIDING = ("Average", "Minimum")
"""Statistics of which one figure among many can be far away; a sum below a threshold has no figure above it."""
_LOWERING_CALLS = (
    "autoscaling:TerminateInstanceInAutoScalingGroup",
    "autoscaling:SetDesiredCapacity",
    "autoscaling:UpdateAutoScalingGroup",
    "ec2:TerminateInstances",
)
_STOPS = re.compile(r"^arn:[^:]*:(?:automate:[^:]*:ec2:|swf:.*/AWS_EC2\.InstanceId\.)(?:stop|terminate)", re.IGNORECASE)
_SLICES = re.compile(r"nvidia-smi[^\n]*(?:-mig|--multi-instance-gpu)[= ]+1|nvidia-mig-parted apply|nvidia-smi mig -cgi")
_ATTACHMENT = "AWS::AutoScaling::TrafficSourceAttachment"
_MISSING_PAGE = "https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html"


def _moving(deployment: Deployment) -> Iterator[Watch | NotKnown]:
    for each in metric_watches(deployment):
        if isinstance(each, NotKnown) or each.policies:
            yield each


def _lowering(deployment: Deployment) -> Iterator[Watch | NotKnown]:
    for each in _moving(deployment):
        if isinstance(each, NotKnown):
            yield each
            continue
        try:
            if each.lowering():
                yield each
        except NotKnown as not_known:
            yield not_known


def _lowering_or_stopping(deployment: Deployment) -> Iterator[Watch | NotKnown]:
    yield from _lowering(deployment)
    for each in metric_watches(deployment):
        if isinstance(each, Watch) and _stops_instance(each):
            yield each


def _stops_instance(watch: Watch) -> bool:
    """Whether the alarm itself stops or terminates the instance that it watches."""
    return any(
        each.made() is None and _STOPS.match(each.searchable() or "") for each in watch.alarm.named_actions(ON_ALARM)
    )


def _says_what_silence_is(watch: Watch) -> Iterator[Broken]:
    if watch.alarm.properties.text(_MISSING_DATA) is None:
        yield watch.alarm.properties.broken(
            _MISSING_DATA,
            must="say what silence means",
            cure="write notBreaching for an alarm that lowers capacity, and choose for the others",
        )


def _silence_is_not_idleness(watch: Watch) -> Iterator[Broken]:
    alarm = watch.alarm
    if alarm.properties.text(_MISSING_DATA) == "breaching" and _acts_in_alarm(watch) and _comes_from_instances(watch):
        yield alarm.properties.broken(
            _MISSING_DATA,
            must="not take silence for idleness: it lowers the capacity of accelerators",
            cure="write notBreaching: an agent that has stopped says nothing about the work on its machine",
        )
    yield from _fills_with_idleness(watch)


def _comes_from_instances(watch: Watch) -> bool:
    """Whether figures come from programs on instances; a queue or a load balancer is silent when there is no work."""
    groups = [each.group for each in watch.policies if each.group is not None]
    return any(
        is_of_accelerators(each) or (not (each.namespace or "").startswith("AWS/") and any(map(each.is_of, groups)))
        for each in watch.alarm.series
    )


def _acts_in_alarm(watch: Watch) -> bool:
    acted = set(watch.alarm.actions(ON_ALARM))
    return any(each.resource in acted for each in watch.lowering()) or _stops_instance(watch)


def _fills_with_idleness(watch: Watch) -> Iterator[Broken]:
    """A gap that an expression fills with a figure on the idle side of the threshold."""
    alarm = watch.alarm
    judged = alarm.judged
    if not isinstance(judged, Expression) or not alarm.breaches_below or not _acts_in_alarm(watch):
        return
    filled = _FILLED.match(judged.value.text() or "")
    threshold = alarm.properties.number("Threshold")
    if filled is None or threshold is None or float(filled[2]) >= threshold:
        return
    series = _series_called(alarm, filled[1])
    if series is not None and is_of_accelerators(series):
        yield judged.value.broken(
            must=f"not fill gaps with {filled[2]}, which is idleness for this alarm",
            cure=f"fill with a figure above the threshold, such as FILL({filled[1]}, 100), or leave FILL out",
        )


def _series_called(alarm: Alarm, id: str) -> Series | None:
    return next((each for each in alarm.series if each.id == id), None)


def _needs_more_than_one_point(watch: Watch) -> Iterator[Broken]:
    alarm = watch.alarm
    if alarm.properties.text(_MISSING_DATA) != "missing" or not _acts_in_alarm(watch):
        return
    if any(is_of_accelerators(each) for each in alarm.series):
        yield alarm.properties.broken(
            _MISSING_DATA,
            must="not let one old figure lower the capacity of accelerators",
            cure="write notBreaching: with missing, one idle figure and then silence is enough for the alarm",
        )


def _busiest(watch: Watch) -> Iterator[Broken]:
    alarm = watch.alarm
    judged = alarm.judged
    threshold = alarm.properties.number("Threshold")
    if not isinstance(judged, Series) or not alarm.breaches_below or not tells_use(judged):
        return
    if set(judged.dimensions) & {"InstanceId", "index", "GpuIndex"} or judged.statistic.text() not in _HIDING:
        return
    policies = [each for each in watch.lowering() if _ends_what_works(each, threshold)]
    if policies:
        group = policies[0].group
        yield judged.statistic.broken(
            must=f"be Maximum: it lowers {group.id if group else 'a group'} when its accelerators are idle",
            cure="write Maximum: with one of 40 accelerators at work the average is 2.5 percent, and its work is lost",
        )


def _ends_what_works(policy: Policy, threshold: float | None) -> bool:
    """Whether it takes instances of which one may work: one of several, without protection or a load balancer."""
    group = policy.group
    if group is None or (group.properties.number("MaxSize") or 0) <= 1:
        return False
    empties = policy.sets_capacity() and any(each.number() == 0 for each in policy.adjustments)
    balanced = not group.properties.at("TargetGroupARNs").is_absent or bool(group.users(_ATTACHMENT))
    means_idle = threshold is not None and threshold <= _IDLE_PERCENT and not balanced
    return (empties or means_idle) and not protects_what_works(group)


def _can_be_read(watch: Watch) -> Iterator[Broken]:
    """With slices of GPUs (MIG) the driver has no figure for the use of a whole one, and the agent publishes none."""
    series = watch.alarm.series
    use = NVIDIA.metric_name(NVIDIA.use)
    if not series or any(each.name != use for each in series):
        return
    starts = starts_by_owner(watch.resource.deployment)
    sliced = [
        start.launch.owner.id
        for policy in watch.lowering()
        for start in (starts.get(policy.group, ()) if policy.group is not None else ())
        if any(_SLICES.search(each.commands) for each in start.told)
    ]
    if sliced:
        yield series[0].metric.broken(
            "MetricName",
            must=f"not be the only sign that {sliced[0]} is idle: its boot script turns on MIG, and ends it",
            cure="judge nvidia_smi_memory_used beside it, or the profiling figures of dcgm-exporter",
        )


def _one_actor(watch: Watch) -> Iterator[Broken]:
    alarm = watch.alarm
    if not _acts_in_alarm(watch):
        return
    for function in (each for each in alarm.acts_on(ON_ALARM) if each.type in FUNCTIONS):
        role = role_of_function(function) or function
        calls = [each for each in _LOWERING_CALLS if allows(role, each)]
        if calls:
            yield alarm.properties.broken(
                ON_ALARM,
                must="have one action that lowers the capacity",
                got=f"{', '.join(each.resource.id for each in watch.lowering())} and {function.id} ({calls[0]})",
                cure="keep one of them: each lowers the capacity once, and together they take instances that work",
            )


def _gap_is_told(watch: Watch) -> Iterator[Broken]:
    """An alarm that lowers by figures of accelerators, and is quiet when they stop."""
    alarm = watch.alarm
    if not any(is_of_accelerators(each) for each in alarm.series) or not _acts_in_alarm(watch):
        return
    if alarm.properties.text(_MISSING_DATA) == "breaching" or alarm.properties.each(ON_INSUFFICIENT_DATA):
        return
    deployment = watch.resource.deployment
    if deployment.unread:
        raise NotKnown(watch.resource, f"{deployment.unread[0]} may have an alarm on the silence of its metrics")
    if deployment.exported(watch.resource):
        raise NotKnown(watch.resource, "another stack may watch it: an output exports it")
    if not any(each.resource is not alarm.resource for each in _telling_silence(deployment)):
        yield alarm.properties.broken(
            _MISSING_DATA,
            must="go with an alarm on the silence of the accelerators' metrics",
            got="no such alarm",
            cure=(
                "add an alarm that tells people when instances are in service and the metric's SampleCount is 0, for "
                "example in_service - samples > 0"
            ),
        )


@once
def _telling_silence(deployment: Deployment) -> Sequence[Alarm]:
    """Two of the alarms that tell when figures stop: one may be the very alarm that is asked about."""
    return tuple(islice(filter(_tells_silence, alarms(deployment)), 2))


def _tells_silence(alarm: Alarm) -> bool:
    if alarm.is_composite:
        return False
    concerned = any(is_of_accelerators(each) or _may_be_heartbeat(each) for each in series_of(alarm))
    if not concerned:
        return False
    properties = alarm.properties
    counted = any(each.statistic.raw == "SampleCount" for each in series_of(alarm))
    silent = properties.at(_MISSING_DATA).raw == "breaching" or not properties.at(ON_INSUFFICIENT_DATA).is_absent
    return counted or silent


def _may_be_heartbeat(series: Series) -> bool:
    namespace = series.metric.at("Namespace").raw
    return not (isinstance(namespace, str) and namespace.startswith("AWS/"))


RULES = (
    Rule(
        id="missing-data-unsaid",
        title="Alarms about accelerators say what silence means",
        severity=WARNING,
        practices=("SUS05-BP04/release", "REL06-BP01"),
        why=(
            "By default silence lets old figures decide: one idle figure and then nothing is enough for an alarm, "
            "and an agent that has stopped looks like a machine without work."
        ),
        cure_here="IdlePolicy and IdleRelease make the alarm, and it is tested against what CloudWatch does.",
        cure_plain="Set TreatMissingData: notBreaching on alarms that lower capacity, and choose for the others.",
        link=_MISSING_PAGE,
        subjects=metric_watches,
        judge=_says_what_silence_is,
    ),
    Rule(
        id="silence-read-as-idle",
        title="Silence never lowers the capacity of accelerators",
        severity=ERROR,
        practices=("SUS05-BP04/release",),
        why=(
            "Drivers are updated, agents restart, permissions go: the figures stop while the work goes on, and "
            "the alarm ends instances in the middle of it."
        ),
        cure_here="IdlePolicy and IdleRelease make the alarm, and it is tested against what CloudWatch does.",
        cure_plain="Set TreatMissingData: notBreaching, and let another alarm tell people that figures are missing.",
        link=_MISSING_PAGE,
        subjects=_lowering_or_stopping,
        judge=_silence_is_not_idleness,
    ),
    Rule(
        id="one-figure-lowers-capacity",
        title="One old figure does not lower the capacity of accelerators",
        severity=WARNING,
        practices=("SUS05-BP04/release",),
        why=(
            "With TreatMissingData: missing, an alarm fires as soon as its oldest figure is old enough and all "
            "that there are breach: a first idle figure of a new instance, and then silence, ends it."
        ),
        cure_here="IdlePolicy and IdleRelease make the alarm, and it is tested against what CloudWatch does.",
        cure_plain="Set TreatMissingData: notBreaching.",
        link=_MISSING_PAGE,
        subjects=_lowering,
        judge=_needs_more_than_one_point,
    ),
    Rule(
        id="idle-by-average",
        title="Idle means that the busiest accelerator is idle",
        severity=ERROR,
        practices=("SUS05-BP04/release",),
        why=(
            "The average of a group hides the one that works: with one of 40 accelerators training it is 2.5 "
            "percent, and the group ends an instance of its own choice, the busy one too."
        ),
        cure_here="IdlePolicy judges each instance by its own accelerators, and its alarm their maximum.",
        cure_plain="Judge the Maximum of the group's accelerators, or release each instance by its own figures.",
        link="https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/Statistics-definitions.html",
        subjects=_lowering,
        judge=_busiest,
    ),
    Rule(
        id="use-unreadable-with-mig",
        title="Idleness of sliced GPUs is not judged by a figure that they do not have",
        severity=ERROR,
        practices=("SUS05-BP04/release",),
        why=(
            "With MIG on, nvidia-smi answers N/A for the use of the GPU, and the agent publishes nothing: such a fleet "
            "is never released, or it is ended at work if silence counts as idleness."
        ),
        cure_here="IdlePolicy takes such GPUs for unknown, and keeps them until a person or another sign decides.",
        cure_plain="Judge nvidia_smi_memory_used too, or publish the profiling figures of dcgm-exporter.",
        link="https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch-Agent-NVIDIA-GPU.html",
        subjects=_lowering,
        judge=_can_be_read,
    ),
    Rule(
        id="two-actors-lower-capacity",
        title="One actor lowers a group's capacity when an alarm fires",
        severity=ERROR,
        practices=("SUS05-BP04/release",),
        why=(
            "A policy and a function that both act on one alarm lower the capacity twice for one idle instance: "
            "the second time an instance goes that works."
        ),
        cure_here="IdleRelease is the only one that lowers a fleet's capacity because it is idle.",
        cure_plain="Keep the function or the scaling policy among the alarm's actions, not both.",
        link="https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-actions.html",
        subjects=_lowering,
        judge=_one_actor,
    ),
    Rule(
        id="telemetry-gap-untold",
        title="Somebody is told when the figures of accelerators stop",
        severity=WARNING,
        practices=("REL06-BP01", "SUS05-BP04/measure"),
        why=(
            "A fleet that is released by its figures is never released again once they stop, as after a driver "
            "update: it bills until somebody happens to look."
        ),
        cure_here="AcceleratedFleet has such an alarm, TelemetryGapAlarm; give it notifications.",
        cure_plain=(
            "Add an alarm on GroupInServiceInstances less the metric's SampleCount, with a topic as its action."
        ),
        link=_MISSING_PAGE,
        subjects=_lowering,
        judge=_gap_is_told,
    ),
)
