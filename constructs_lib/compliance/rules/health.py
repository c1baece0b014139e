"""Whether somebody notices an accelerator that is dead on an instance that EC2 finds healthy.

Sources, read in November 2026: "Health checks for instances in an Auto Scaling group", "Set the health check grace
period", "Monitor application health" (Amazon EC2 Auto Scaling); "Automatically repair nodes in EKS clusters" (EKS).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from constructs_lib.compliance.deployment import Deployment, Resource
from constructs_lib.compliance.facts.agents import start_of
from constructs_lib.compliance.facts.launches import GROUP, NODE_GROUP, Launch, accelerated_launches
from constructs_lib.compliance.facts.policies import either
from constructs_lib.compliance.facts.roles import (
    FUNCTION,
    ROLE,
    SERVERLESS_FUNCTION,
    is_meant_to,
    role_of,
    role_of_function,
)
from constructs_lib.compliance.facts.together import told_together
from constructs_lib.compliance.rule import ERROR, WARNING, Rule
from constructs_lib.compliance.values import Broken, NotKnown, any_of

_UNNOTICED = "dead-accelerator-unnoticed"
_OF_THE_APPLICATION = frozenset({"ELB", "VPC_LATTICE"})
"""Checks that an instance passes only when it is up; EBS looks at volumes."""
_ATTACHED = ("TargetGroupARNs", "LoadBalancerNames", "TrafficSources")
_REPLACES = (
    "autoscaling:SetInstanceHealth",
    "autoscaling:TerminateInstanceInAutoScalingGroup",
    "ec2:TerminateInstances",
)
_LOOKS = re.compile(r"nvidia-smi|dcgmi|neuron-(?:ls|top|monitor)|hl-smi|rocm-smi|amd-smi|xbutil|fpga-describe")
_ENDS_ITSELF = re.compile(r"\b(?:shutdown|poweroff|halt|Stop-Computer)\b")
_STATUS_CHECKS = ("AWS::EC2::ApplicationStatusCheck", "AWS::EC2::ApplicationStatusCheckAssociation")
_IN_CLUSTER = ("Custom::AWSCDK-EKS-", "AWSQS::Kubernetes::", "AWS::EKS::Addon")
_SHORTEST_GRACE_SECONDS = 60
_CHECKS = "https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-health-checks.html"
_GRACE = "https://docs.aws.amazon.com/autoscaling/ec2/userguide/health-check-grace-period.html"


def _launched_by(*types: str) -> Callable[[Deployment], Iterator[Launch | NotKnown]]:
    """Subjects: accelerated launches of owners of these types."""

    def found(deployment: Deployment) -> Iterator[Launch | NotKnown]:
        for launch in accelerated_launches(deployment):
            if isinstance(launch, NotKnown) or launch.owner.type in types:
                yield launch

    return found


@dataclass(frozen=True)
class _Watched:
    """Owners of which the rule has one thing to say: one that is seen to, or all groups that one cure would mend."""

    owners: Sequence[Resource]
    are_noticed: bool

    @property
    def resource(self) -> Resource:
        return self.owners[0]


def _owners(deployment: Deployment) -> Iterator[_Watched | NotKnown]:
    """Groups that nobody sees to come as one: whoever marks instances unhealthy does so for all of them."""
    unnoticed: dict[Resource, None] = {}
    for launch in _launched_by(GROUP, NODE_GROUP)(deployment):
        try:
            if isinstance(launch, NotKnown):
                yield launch
            elif launch.owner.type == NODE_GROUP:
                yield _Watched([launch.owner], _is_repaired(launch.owner))
            elif _is_noticed(launch):
                yield _Watched([launch.owner], are_noticed=True)
            else:
                unnoticed[launch.owner] = None
        except NotKnown as not_known:
            yield not_known
    for each in told_together(_UNNOTICED, unnoticed):
        yield _Watched(each, are_noticed=False)


def _unnoticed(watched: _Watched) -> Iterator[Broken]:
    if watched.are_noticed:
        return
    owner = watched.resource
    if owner.type == NODE_GROUP:
        yield owner.properties.broken(
            "NodeRepairConfig.Enabled",
            must="be true: Kubernetes finds a node with a dead accelerator ready",
            cure="set NodeRepairConfig: {Enabled: true}, and add the add-on eks-node-monitoring-agent",
        )
        return
    others = f" (and so for {', '.join(each.id for each in watched.owners[1:])})" if len(watched.owners) > 1 else ""
    yield owner.properties.broken(
        "HealthCheckType",
        must="be more than EC2, or something must mark instances unhealthy: EC2 finds an instance with a dead "
        f"accelerator healthy{others}",
        cure="check the accelerator on the instance or in a function and call autoscaling:SetInstanceHealth, or attach "
        "a load balancer whose health check uses the accelerator, and set HealthCheckType: ELB and "
        "HealthCheckGracePeriod to the seconds until it is passed",
    )


def _is_noticed(launch: Launch) -> bool:
    """Whether something sees to the instances of a group beside EC2.

    Raises:
        NotKnown: nothing is seen to, and something might.
    """
    group = launch.owner
    deployment = group.deployment
    is_checked = bool(_checks_of(group) & _OF_THE_APPLICATION)
    is_attached = any(group.properties.at(each).raw not in (None, []) for each in _ATTACHED)
    if (is_checked and is_attached) or deployment.resources(*_STATUS_CHECKS):
        return True
    if _has_who_replaces(launch) or _may_end_itself(launch):
        return True
    if is_checked:
        raise NotKnown(group, "no load balancer whose health check would count is attached to it in the templates")
    if deployment.unread:
        raise NotKnown(group, f"{deployment.unread[0]} may mark instances unhealthy")
    if deployment.exported(group):
        raise NotKnown(group, "another stack may mark its instances unhealthy: an output exports it")
    if _is_of_kubernetes(group):
        raise NotKnown(group, "what runs in its Kubernetes cluster may replace nodes")
    return False


def _checks_of(group: Resource) -> frozenset[str]:
    checks = group.properties.at("HealthCheckType").text() or ""
    return frozenset(each.strip() for each in checks.split(","))


def _is_of_kubernetes(group: Resource) -> bool:
    keys = [each.at("Key") for each in group.properties.each("Tags")]
    return any("kubernetes.io/" in (each.searchable() or "") or "k8s.io/" in (each.searchable() or "") for each in keys)


def _may_end_itself(launch: Launch) -> bool:
    """Whether a boot script looks at the accelerators and can switch the machine off: its group then replaces it."""
    return any(_LOOKS.search(each.commands) and _ENDS_ITSELF.search(each.commands) for each in start_of(launch).told)


def _has_who_replaces(launch: Launch) -> bool:
    """Whether a role of the templates, of their functions or of the instances may mark one unhealthy, or end it.

    Raises:
        NotKnown: none is known to, and of one it is not known.
    """
    somebody = launch.owner.deployment.once(_somebody_replaces)
    if somebody is True:
        return True
    role = role_of(launch)
    if role is not None and _replaces(role):
        return True
    if isinstance(somebody, NotKnown):
        raise somebody
    return False


def _somebody_replaces(deployment: Deployment) -> bool | NotKnown:
    try:
        return either(
            lambda: any_of(_replaces, deployment.resources(ROLE)),
            lambda: any_of(_function_replaces, deployment.resources(FUNCTION, SERVERLESS_FUNCTION)),
        )
    except NotKnown as not_known:
        return not_known


def _replaces(role: Resource) -> bool:
    return any_of(lambda action: is_meant_to(role, action), _REPLACES)


def _function_replaces(function: Resource) -> bool:
    return _replaces(role_of_function(function) or function)


def _is_repaired(group: Resource) -> bool:
    """Whether EKS repairs the nodes of a group.

    Raises:
        NotKnown: it is not told to, and something else might.
    """
    repair = group.properties.at("NodeRepairConfig.Enabled")
    if repair.is_absent:
        deployment = group.deployment
        if deployment.unread:
            raise repair.not_known(f"{deployment.unread[0]} may repair nodes")
        in_cluster = next((each for each in deployment.resources() if each.type.startswith(_IN_CLUSTER)), None)
        if in_cluster is not None:
            raise repair.not_known(f"{in_cluster.id} may repair nodes")
    return repair.flag(default=False)


def _grace(launch: Launch) -> Iterator[Broken]:
    group = launch.owner
    if not _checks_of(group) & _OF_THE_APPLICATION:
        return
    grace = group.properties.at("HealthCheckGracePeriod")
    seconds = grace.whole()
    if seconds is None or seconds < _SHORTEST_GRACE_SECONDS:
        yield grace.broken(
            must="be as long as an instance takes until it answers the health check (0 is what AWS takes an absent one "
            "for)",
            cure="set HealthCheckGracePeriod to the seconds from launch until the model is loaded, for example 900",
        )


RULES = (
    Rule(
        id=_UNNOTICED,
        title="Something besides EC2's own checks notices a dead accelerator",
        severity=WARNING,
        practices=("REL11-BP01", "REL11-BP03"),
        why=(
            "A GPU that has fallen off the bus leaves the host answering. EC2 finds it healthy, work goes on being "
            "placed there and fails, and the node is paid for."
        ),
        cure_here="The release function sees each instance's readings, and tells of one that has none.",
        cure_plain="Let the instance or a function call SetInstanceHealth, or check the application behind ELB.",
        link=_CHECKS,
        subjects=_owners,
        judge=_unnoticed,
    ),
    Rule(
        id="health-check-before-boot",
        title="Health checks of the application wait until an instance is up",
        severity=ERROR,
        practices=("REL11-BP03", "SUS05-BP04/tune"),
        why=(
            "An accelerated instance loads drivers and models for minutes. Without a grace period each new one fails "
            "its check before it is up and is replaced, for ever, and each one is paid for."
        ),
        cure_here="AcceleratedFleet's grace period is at least its warm-up.",
        cure_plain="Set HealthCheckGracePeriod to the time from launch until the check passes.",
        link=_GRACE,
        subjects=_launched_by(GROUP),
        judge=_grace,
    ),
)
