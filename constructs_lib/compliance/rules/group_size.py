"""Sizes of accelerated capacity that a template states: what always runs, and what a deploy sets back.

Source: ``AWS::AutoScaling::AutoScalingGroup``, AWS CloudFormation Template Reference; "Launch configurations", Amazon
EC2 Auto Scaling User Guide, read 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterator

from constructs_lib.compliance.deployment import Deployment, Resource
from constructs_lib.compliance.facts.launches import BATCH, GROUP, LAUNCH_CONFIGURATION, NODE_GROUP
from constructs_lib.compliance.facts.other_services import DEADLINE, GAME_SERVERS, PCS, is_accelerated
from constructs_lib.compliance.facts.owners import accelerated_owners
from constructs_lib.compliance.facts.reasons import has_stated
from constructs_lib.compliance.rule import ERROR, WARNING, Itself, Rule, resources_of
from constructs_lib.compliance.values import Broken, NotKnown
from constructs_lib.statements import MINIMUM

_MINIMUM = {
    GROUP: "MinSize",
    BATCH: "ComputeResources.MinvCpus",
    NODE_GROUP: "ScalingConfig.MinSize",
    PCS: "ScalingConfiguration.MinInstanceCount",
    DEADLINE: "MinWorkerCount",
    GAME_SERVERS: "MinSize",
}
_GROUP_LINK = "https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-autoscaling-autoscalinggroup.html"
_SOURCES = ("LaunchTemplate", "MixedInstancesPolicy", "LaunchConfigurationName", "InstanceId")


def _with_minimum(deployment: Deployment) -> Iterator[Itself | NotKnown]:
    yield from accelerated_owners(GROUP, BATCH, NODE_GROUP, having=_has_minimum)(deployment)
    yield from resources_of(PCS, DEADLINE, GAME_SERVERS, having=_keeps_accelerated)(deployment)


def _has_minimum(owner: Resource) -> bool:
    """Whether it states a minimum that is not surely 0: who is accelerated does not matter otherwise."""
    try:
        return owner.properties.at(_MINIMUM[owner.type]).raw not in (None, 0, "0")
    except NotKnown:
        return True


def _keeps_accelerated(service: Resource) -> bool:
    return _has_minimum(service) and is_accelerated(service)


def _rests_at_zero(subject: Itself) -> Iterator[Broken]:
    resource = subject.resource
    minimum = resource.properties.at(_MINIMUM[resource.type])
    if (minimum.number() or 0) > 0 and not has_stated(resource, MINIMUM):
        name = _MINIMUM[resource.type]
        yield minimum.broken(
            must="be 0, or have its reason stated",
            cure=f"set {name}: 0, or write why it has to be so: Metadata: {{accel-fleet: {{minimum: reason}}}}",
        )


def _states_desired(owner: Resource) -> bool:
    return not owner.properties.at("DesiredCapacity").is_absent


def _leaves_desired(subject: Itself) -> Iterator[Broken]:
    """A group of one fixed size has nothing to be set back; sizes that a deploy leaves alone are not set back."""
    group = subject.resource
    properties = group.properties
    desired = properties.at("DesiredCapacity")
    if desired.number() is None or properties.number("MinSize") == properties.number("MaxSize"):
        return
    kept = group.attribute("UpdatePolicy").at("AutoScalingScheduledAction")
    if kept.flag("IgnoreUnmodifiedGroupSizeProperties", default=False):
        return
    yield desired.broken(
        must="be left out: each deploy that touches the group sets it back to this size, whoever is at work",
        cure="remove DesiredCapacity, or set UpdatePolicy: {AutoScalingScheduledAction: "
        "{IgnoreUnmodifiedGroupSizeProperties: true}}",
    )


def _uses_launch_configuration(owner: Resource) -> bool:
    return not owner.properties.at("LaunchConfigurationName").is_absent


def _has_launch_template(subject: Itself) -> Iterator[Broken]:
    yield subject.resource.properties.broken(
        "LaunchConfigurationName",
        must="be replaced by LaunchTemplate: accounts made since October 2024 cannot make launch configurations",
        cure=f"replace the {LAUNCH_CONFIGURATION} by an AWS::EC2::LaunchTemplate, and name that in LaunchTemplate",
    )


def _named(owner: Resource) -> list[str]:
    return [each for each in _SOURCES if not owner.properties.at(each).is_absent]


def _launches_one_way(subject: Itself) -> Iterator[Broken]:
    properties = subject.resource.properties
    first, *more = _named(subject.resource)
    for each in more:
        yield properties.broken(
            each, must=f"be left out beside {first}: a group has one of them", cure=f"keep either {first} or {each}"
        )


RULES = (
    Rule(
        id="minimum-above-zero",
        title="Accelerated capacity rests at zero, or its reason is stated",
        severity=WARNING,
        practices=("SUS05-BP04/release", "COST09-BP03"),
        why="What is below the minimum is never released: it bills day and night, whether there is work or not.",
        cure_here="Leave min_capacity out; IdlePolicy(keep_warm=...) keeps instances in the hours that need them only.",
        cure_plain="Set the minimum to 0, or state in the metadata why it has to be so.",
        link="https://docs.aws.amazon.com/autoscaling/ec2/userguide/asg-capacity-limits.html",
        subjects=_with_minimum,
        judge=_rests_at_zero,
    ),
    Rule(
        id="desired-capacity-fixed",
        title="A deploy leaves the current size of an accelerated group alone",
        severity=ERROR,
        practices=("REL08-BP05", "SUS02-BP01"),
        why="CloudFormation sets the group to the capacity in the template whenever it updates the group: a busy group "
        "loses instances at work, an idle one starts some for nothing.",
        cure_here="AcceleratedFleet renders no desired capacity; nothing is to be set.",
        cure_plain="Leave DesiredCapacity out, or set IgnoreUnmodifiedGroupSizeProperties: true in the update policy.",
        link=_GROUP_LINK,
        subjects=accelerated_owners(GROUP, having=_states_desired),
        judge=_leaves_desired,
    ),
    Rule(
        id="launch-configuration-used",
        title="Accelerated groups are launched with a launch template",
        severity=WARNING,
        practices=("REL08-BP05", "SUS05-BP02"),
        why="New accounts cannot make launch configurations: the deploy fails there. They know no instance types "
        "that are newer than 2022.",
        cure_here="AcceleratedFleet uses a launch template; nothing is to be set.",
        cure_plain="Replace the launch configuration by an AWS::EC2::LaunchTemplate.",
        link="https://docs.aws.amazon.com/autoscaling/ec2/userguide/launch-configurations.html",
        subjects=accelerated_owners(GROUP, having=_uses_launch_configuration),
        judge=_has_launch_template,
    ),
    Rule(
        id="launch-stated-twice",
        title="An accelerated group has one source of what it launches",
        severity=ERROR,
        practices=("REL08-BP05",),
        why="Auto Scaling refuses a group with two of them, and the deploy fails.",
        cure_here="AcceleratedFleet renders one of them; nothing is to be set.",
        cure_plain="Keep one of LaunchTemplate, MixedInstancesPolicy, LaunchConfigurationName and InstanceId.",
        link=_GROUP_LINK,
        subjects=accelerated_owners(GROUP, having=lambda owner: bool(_named(owner))),
        judge=_launches_one_way,
    ),
)
