"""What is left, and paid for, when a group or a stack is gone.

"Enable stop protection for your EC2 instances" and "Change instance termination protection", Amazon EC2 User Guide:
either of the two has each call to end the instance refused, but for those of Auto Scaling. "AWS::CloudFormation::
CustomResource", AWS CloudFormation Template Reference: without ServiceTimeout it waits 3,600 seconds. Read 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterator

from constructs_lib.compliance.deployment import Deployment, Resource
from constructs_lib.compliance.facts.launches import (
    BATCH,
    FLEET,
    GROUP,
    INSTANCE,
    NODE_GROUP,
    SPOT_FLEET,
    Launch,
    accelerated_launches,
)
from constructs_lib.compliance.facts.owners import accelerated_owners
from constructs_lib.compliance.rule import WARNING, Itself, Rule
from constructs_lib.compliance.values import Broken, NotKnown

_OWNERS = (GROUP, INSTANCE, FLEET, SPOT_FLEET, BATCH, NODE_GROUP)
_PROTECTIONS = ("DisableApiTermination", "DisableApiStop")
_STAYS = ("Retain", "RetainExceptOnCreate")
_CUSTOM = ("Custom::", "AWS::CloudFormation::CustomResource")


def _launches_of_members(deployment: Deployment) -> Iterator[Launch | NotKnown]:
    """Protection of an instance of its own is its owner's choice; without a launch template nobody can ask for it."""
    for launch in accelerated_launches(deployment):
        if isinstance(launch, NotKnown) or (launch.owner.type != INSTANCE and not launch.is_left_to_service):
            yield launch


def _can_be_ended(launch: Launch) -> Iterator[Broken]:
    for name in _PROTECTIONS:
        protection = launch.setting(name)
        if protection.flag(default=False):
            yield protection.broken(
                must="be false: a member that outlives its group is ended by nobody",
                cure=f"set {name}: false, or leave it out; protect work with the group's scale-in protection",
            )


def _goes_with_its_stack(subject: Itself) -> Iterator[Broken]:
    for name, moment in (("DeletionPolicy", "the stack is deleted"), ("UpdateReplacePolicy", "it is replaced")):
        policy = subject.resource.attribute(name)
        if policy.text() in _STAYS:
            yield policy.broken(
                must=f"be Delete: its accelerators are paid for after {moment}, and no stack has them",
                cure=f"remove {name}, or set it to Delete",
            )


def _custom_resources(deployment: Deployment) -> Iterator[Itself | NotKnown]:
    """Custom resources that know an accelerated group or instance."""
    found = (
        [owner] if isinstance(owner, NotKnown) else [Itself(each) for each in _custom_users(owner.resource)]
        for owner in accelerated_owners(*_OWNERS, having=_has_custom_users)(deployment)
    )
    yield from dict.fromkeys(each for some in found for each in some)


def _has_custom_users(owner: Resource) -> bool:
    return bool(_custom_users(owner))


def _custom_users(owner: Resource) -> list[Resource]:
    return [each for each in owner.users() if each.type.startswith(_CUSTOM)]


def _answers_in_time(subject: Itself) -> Iterator[Broken]:
    timeout = subject.resource.properties.at("ServiceTimeout")
    if timeout.is_absent:
        yield timeout.broken(
            must="be set: a function that does not answer holds the stack, and its accelerators, for an hour",
            cure="set ServiceTimeout to the seconds that the function needs at most",
        )


RULES = (
    Rule(
        id="member-protected-from-termination",
        title="Members of accelerated groups and fleets can be ended",
        severity=WARNING,
        practices=("COST04-BP04", "SUS05-BP04/release"),
        why=(
            "Protection in the launch template does not keep Auto Scaling from ending a member. But when the group is "
            "deleted by force, its members run on outside of any group, and each call to end them is refused."
        ),
        cure_here="AcceleratedFleet does not set it; use its scale-in protection and its drain.",
        cure_plain="Leave DisableApiTermination and DisableApiStop out of LaunchTemplateData.",
        link="https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-instance-protection.html",
        subjects=_launches_of_members,
        judge=_can_be_ended,
    ),
    Rule(
        id="accelerators-outlive-stack",
        title="Accelerated capacity goes with its stack",
        severity=WARNING,
        practices=("COST04-BP04", "SUS05-BP04/release"),
        why=(
            "With Retain, CloudFormation leaves the group or the instance behind, with all that runs, when the stack "
            "is deleted or the resource is replaced. It is paid for until somebody finds it."
        ),
        cure_here="AcceleratedFleet sets no such policy; take away apply_removal_policy(RETAIN) from it.",
        cure_plain="Remove DeletionPolicy and UpdateReplacePolicy from the resource, or set them to Delete.",
        link="https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-deletionpolicy.html",
        subjects=accelerated_owners(*_OWNERS),
        judge=_goes_with_its_stack,
    ),
    Rule(
        id="custom-resource-waits-an-hour",
        title="A custom resource that acts on accelerated capacity has a time-out",
        severity=WARNING,
        practices=("REL08-BP05", "COST04-BP04"),
        why=(
            "When the function of a custom resource does not answer, CloudFormation waits an hour by default, at a "
            "rollback once more, and the accelerators of the stack are paid for meanwhile."
        ),
        cure_here="The custom resources of AcceleratedFleet have a time-out; give yours service_timeout.",
        cure_plain="Set ServiceTimeout on the custom resource, in seconds.",
        link="https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-cloudformation-customresource.html",
        subjects=_custom_resources,
        judge=_answers_in_time,
    ),
)
