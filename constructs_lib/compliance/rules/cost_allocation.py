"""To whom accelerators are charged: tags on what a group launches, and budgets that tell somebody.

"Tag Auto Scaling groups and instances", Amazon EC2 Auto Scaling User Guide: tags of the group reach its instances if
PropagateAtLaunch is true, and never the volumes. ``Nodegroup``, Amazon EKS API Reference, and "Tag your resources", AWS
Batch User Guide: tags of a node group and of a compute environment reach nothing else. "AWS::EC2::Instance",
CloudFormation Template Reference: its tags reach volumes if PropagateTagsToVolumeOnCreation is true. ``AddTags``,
Amazon SageMaker AI API Reference: tags of a domain and of a user profile reach the applications that they start. Read
2026-12. Tags that a deploy puts on the stack reach the instances, too; a template does not tell them.
"""

from __future__ import annotations

from collections.abc import Iterator

from constructs_lib.compliance.deployment import Deployment, Resource
from constructs_lib.compliance.facts.accelerated_stacks import beside_accelerators
from constructs_lib.compliance.facts.hosts import APP, DOMAIN, PROFILE, SPACE, hosts
from constructs_lib.compliance.facts.launches import (
    BATCH,
    FLEET,
    GROUP,
    INSTANCE,
    LAUNCH_TEMPLATE,
    NODE_GROUP,
    SPOT_FLEET,
    Launch,
    accelerated_launches,
)
from constructs_lib.compliance.facts.other_services import KINDS, accelerated
from constructs_lib.compliance.facts.tags import can_tell_who_pays, tells_who_pays
from constructs_lib.compliance.facts.together import once_a_fleet
from constructs_lib.compliance.rule import WARNING, Itself, Rule
from constructs_lib.compliance.values import Broken, NotKnown, Value, any_of

_BUDGET = "AWS::Budgets::Budget"
_BUDGET_ACTION = "AWS::Budgets::BudgetsAction"
_TAGS_STAY = {
    NODE_GROUP: (
        "the launch template",
        "add {ResourceType: instance, Tags: [...]} to TagSpecifications in LaunchTemplateData",
    ),
    BATCH: ("ComputeResources", "write those that tell who pays into ComputeResources.Tags as well"),
}
"""Owners whose own tags reach no instance, by where those stand that do; and the cure."""
_WITHOUT_TAGS = (FLEET, SPOT_FLEET, LAUNCH_TEMPLATE, NODE_GROUP)
"""Owners whose instances get tags by what they are launched with, and in no other way."""


def _launches_of_groups(deployment: Deployment) -> Iterator[Launch | NotKnown]:
    for launch in accelerated_launches(deployment):
        if isinstance(launch, NotKnown) or launch.owner.type in (GROUP, *_TAGS_STAY):
            yield launch


def _reach_instances(launch: Launch) -> Iterator[Broken]:
    if not launch.is_left_to_service and _specifies(launch, "instance"):
        return
    if launch.owner.type in _TAGS_STAY:
        yield from _reach_by_another_way(launch.owner)
        return
    tags = [each for each in launch.owner.properties.each("Tags") if can_tell_who_pays(each)]
    if tags and not any_of(lambda each: each.flag("PropagateAtLaunch", default=False), tags):
        yield tags[0].broken(
            "PropagateAtLaunch",
            must="be true: no tag of the template that can tell who pays reaches an instance",
            cure="set PropagateAtLaunch: true on the tag that tells who pays",
        )


def _reach_by_another_way(owner: Resource) -> Iterator[Broken]:
    tags = owner.properties.at("Tags")
    where, cure = _TAGS_STAY[owner.type]
    if tells_who_pays(tags) and not tells_who_pays(owner.properties.at("ComputeResources.Tags")):
        yield tags.broken(must=f"stand in {where}, too: these reach no instance", cure=cure)


def _launches_with_templates(deployment: Deployment) -> Iterator[Launch | NotKnown]:
    """Launches whose volumes can be tagged at launch."""
    for launch in accelerated_launches(deployment):
        if isinstance(launch, NotKnown) or launch.owner.type == INSTANCE or _has_template(launch):
            yield launch


def _has_template(launch: Launch) -> bool:
    return launch.configured_by is not None and launch.configured_by.type == LAUNCH_TEMPLATE


def _reach_volumes(launch: Launch) -> Iterator[Broken]:
    """Where instances have tags of the template, their volumes have them, too."""
    own = launch.owner.properties
    passed_on = own.at("PropagateTagsToVolumeOnCreation")
    if (launch.owner.type == INSTANCE and passed_on.flag(default=False)) or _specifies(launch, "volume"):
        return
    if launch.owner.type == INSTANCE and tells_who_pays(own.at("Tags")):
        yield passed_on.broken(
            must="be true: the tags of the instance do not reach its volumes",
            cure="set PropagateTagsToVolumeOnCreation: true",
        )
    elif _has_template(launch) and (_specifies(launch, "instance") or _passes_tags_on(launch.owner)):
        yield launch.setting("TagSpecifications").broken(
            must="have an entry for volumes that tells who pays: the tags of the instances do not reach them",
            got="none for volumes",
            cure="add {ResourceType: volume, Tags: [...]} to TagSpecifications in LaunchTemplateData",
        )


def _specifies(launch: Launch, kind: str) -> bool:
    """Whether the launch itself gives what it makes a tag that can tell who pays; a launch configuration cannot."""
    specifications = launch.setting("TagSpecifications").each()
    return any_of(lambda each: each.text("ResourceType") == kind and tells_who_pays(each.at("Tags")), specifications)


def _passes_tags_on(owner: Resource) -> bool:
    if owner.type != GROUP:
        return False
    tags = [each for each in owner.properties.each("Tags") if can_tell_who_pays(each)]
    return any_of(lambda each: each.flag("PropagateAtLaunch", default=False), tags)


def _paid_for(deployment: Deployment) -> Iterator[Launch | Itself | NotKnown]:
    yield from accelerated_launches(deployment)
    for host in hosts(deployment):
        yield host if isinstance(host, NotKnown) else Itself(host)
    yield from accelerated(*KINDS)(deployment)


@once_a_fleet
def _says_who_pays(subject: Launch | Itself) -> Iterator[Broken]:
    """A tag of the owner or of its instances that can tell it, or a budget; a deploy may add the stack's tags."""
    owner = subject.owner if isinstance(subject, Launch) else subject.resource
    deployment = owner.deployment
    tagged = _launches_tagged(subject) if isinstance(subject, Launch) else _is_tagged(owner)
    if tagged or deployment.resources(_BUDGET):
        return
    if deployment.unread:
        raise NotKnown(owner, f"{deployment.unread[0]} may add tags or a budget")
    # Who launches by this template, as far as anybody can tell.
    users = owner.users(GROUP, INSTANCE, FLEET, SPOT_FLEET, BATCH, NODE_GROUP) if owner.type == LAUNCH_TEMPLATE else []
    if users:
        raise NotKnown(owner, f"{users[0].id} refers to it, and may tag what it launches")
    place = _place_for_tags(subject) if isinstance(subject, Launch) else owner.properties.at("Tags")
    how = _how_to_tag(subject) if isinstance(subject, Launch) else ""
    yield place.broken(
        must="say who pays, or a budget has to stand beside it",
        cure=f"add a cost allocation tag, for example CostCenter{how}, or an AWS::Budgets::Budget",
    )


def _how_to_tag(launch: Launch) -> str:
    """How a tag reaches all that is paid for, the volumes with it."""
    if launch.owner.type == INSTANCE:
        return ", with PropagateTagsToVolumeOnCreation: true"
    if launch.owner.type == NODE_GROUP:
        return ", by TagSpecifications of a launch template, for instances and volumes"
    volumes = ", and {ResourceType: volume, Tags: [...]} to TagSpecifications of the launch template"
    return f", that its instances get{volumes if _has_template(launch) else ''}"


def _is_tagged(host: Resource) -> bool:
    """Whether a host has a tag that can tell it; what Studio starts has those of its user and domain, too."""
    above = host.uses(PROFILE, DOMAIN) if host.type in (APP, PROFILE, SPACE) else []
    if any_of(lambda each: tells_who_pays(each.properties.at("Tags")), [host, *above]):
        return True
    if host.type in (APP, PROFILE, SPACE) and not host.uses(DOMAIN):
        raise NotKnown(host, "its domain, whose tags it gets, is not in the templates")
    return False


def _place_for_tags(launch: Launch) -> Value:
    own = launch.owner.properties
    if launch.owner.type == NODE_GROUP and launch.is_left_to_service:
        return own.at("LaunchTemplate")
    if launch.owner.type in _WITHOUT_TAGS:
        return launch.setting("TagSpecifications")
    return own.at("ComputeResources.Tags" if launch.owner.type == BATCH else "Tags")


def _launches_tagged(launch: Launch) -> bool:
    """Whether the owner or its instances have such a tag. Of those that reach no instance another rule tells."""
    own = launch.owner.properties
    if any_of(lambda path: tells_who_pays(own.at(path)), ("Tags", "ComputeResources.Tags")):
        return True
    return any_of(lambda each: tells_who_pays(each.at("Tags")), own.each("TagSpecifications")) or (
        not launch.is_left_to_service and _specifies(launch, "instance")
    )


def _budgets(deployment: Deployment) -> Iterator[Itself | NotKnown]:
    for each in beside_accelerators(deployment, _BUDGET):
        yield each if isinstance(each, NotKnown) else Itself(each)


def _tells_somebody(subject: Itself) -> Iterator[Broken]:
    told = subject.resource.properties.at("NotificationsWithSubscribers")
    if not told.each() and not subject.resource.users(_BUDGET_ACTION):
        yield told.broken(
            must="have somebody who is told, or an action has to follow",
            cure="add NotificationsWithSubscribers with a threshold and an e-mail address or a topic",
        )


RULES = (
    Rule[Launch | Itself](
        id="cost-not-attributed",
        title="Accelerated capacity has a tag that tells who pays, or a budget beside it",
        severity=WARNING,
        practices=("COST03-BP02", "COST02-BP05"),
        why=(
            "Accelerators are the largest line of many bills. Without a tag nobody can say whose line it is, and "
            "without a budget nobody hears of it before the bill does."
        ),
        cure_here="AcceleratedFleet tags what it launches; add your own with Tags.of(fleet).add('CostCenter', ...).",
        cure_plain=(
            "Add Tags to the group, instance, environment or service, for a node group to TagSpecifications of its "
            "launch template; or an AWS::Budgets::Budget to the template."
        ),
        link="https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/cost-alloc-tags.html",
        subjects=_paid_for,
        judge=_says_who_pays,
    ),
    Rule(
        id="tags-do-not-reach-instances",
        title="Tags of a group, or of an environment, reach its accelerated instances",
        severity=WARNING,
        practices=("COST03-BP02",),
        why=(
            "The instances are what is paid for. Tags that stay on the group show in no bill, and nobody can say whose "
            "accelerators they are."
        ),
        cure_here="AcceleratedFleet tags what it launches; Tags.of(fleet).add(...) reaches the instances, too.",
        cure_plain=(
            "Set PropagateAtLaunch: true on the group's tags, or TagSpecifications in the launch template, which alone "
            "reach the instances of a node group; for AWS Batch use ComputeResources.Tags."
        ),
        link="https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-tagging.html",
        subjects=_launches_of_groups,
        judge=_reach_instances,
    ),
    Rule(
        id="tags-do-not-reach-volumes",
        title="The volumes of accelerated instances have the tags of the instances",
        severity=WARNING,
        practices=("COST03-BP02", "COST04-BP04"),
        why=(
            "Volumes are paid for on their own line. Without a tag nobody is charged for them, and no clean-up finds "
            "those that outlive their instance."
        ),
        cure_here="AcceleratedFleet tags volumes; nothing is to be set.",
        cure_plain=(
            "Add an entry with ResourceType: volume to TagSpecifications in LaunchTemplateData; of a single instance "
            "set PropagateTagsToVolumeOnCreation: true."
        ),
        link="https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-tagging.html",
        subjects=_launches_with_templates,
        judge=_reach_volumes,
    ),
    Rule(
        id="budget-tells-nobody",
        title="A budget beside accelerators tells somebody",
        severity=WARNING,
        practices=("COST02-BP05",),
        why="A budget that tells nobody and sets off nothing is a number that people have to go and look at.",
        cure_here="Use AWS::Budgets::Budget with NotificationsWithSubscribers beside the fleet.",
        cure_plain="Add NotificationsWithSubscribers, or an AWS::Budgets::BudgetsAction.",
        link="https://docs.aws.amazon.com/cost-management/latest/userguide/budgets-managing-costs.html",
        subjects=_budgets,
        judge=_tells_somebody,
    ),
)
