"""That something takes accelerators away when nobody uses them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from constructs_lib.compliance.deployment import Deployment, Resource, Stack
from constructs_lib.compliance.facts.capacity_actions import (
    is_lowered,
    is_lowered_by_others,
    is_raised,
    lowering_policies,
    lowers_by_schedule,
    policies_of,
    reaches_zero,
    scheduled_actions_of,
)
from constructs_lib.compliance.facts.launches import FLEET, GROUP, INSTANCE, LAUNCH_TEMPLATE, SPOT_FLEET
from constructs_lib.compliance.facts.owners import accelerated_owners
from constructs_lib.compliance.facts.scaling_policies import TARGET_TRACKING, Policy
from constructs_lib.compliance.rule import ERROR, WARNING, Itself, Rule
from constructs_lib.compliance.values import Broken, NotKnown, Value, all_of, any_of
from constructs_lib.template.plain_values import mapping

_GROUPS_LINK = "https://docs.aws.amazon.com/autoscaling/ec2/userguide/scaling-overview.html"
_SCALE_IN = (
    "add a scaling policy that lowers the capacity on an alarm of the accelerators' use, with an alarm on the silence "
    "of these figures beside it, or a scheduled action"
)
_TOLD_OUTSIDE = "an output tells it to somebody outside the templates, who may lower it"
_MUST = {
    GROUP: "have its capacity lowered by something when its accelerators are idle",
    INSTANCE: "be stopped by something when its accelerators are idle",
    FLEET: "have an end, or its target capacity lowered by something when its accelerators are idle",
    SPOT_FLEET: "have an end, or its target capacity lowered by something when its accelerators are idle",
}
_CURES = {
    GROUP: _SCALE_IN,
    INSTANCE: "add an alarm of the accelerators' use with the action arn:aws:automate:REGION:ec2:stop, or stop it by a "
    "schedule",
    FLEET: "set ValidUntil and TerminateInstancesWithExpiration: true, or let a function lower its target capacity",
    SPOT_FLEET: "register it as a scalable target with a policy that lowers it, or set ValidUntil and "
    "TerminateInstancesWithExpiration: true",
}
_NIGHTS = {
    GROUP: "set MinSize: 0 with a policy that lowers the group, or a scheduled action that sets it to 0 for the night",
    INSTANCE: "stop the instance by a schedule for the night, or when its accelerators are idle",
}
_SURE_IN_NAME = frozenset({"dev", "develop", "development", "sandbox", "playground"})
_SURE_IN_TAG = _SURE_IN_NAME | {"test", "testing", "staging", "stage", "qa", "nonprod"}
_REAL = frozenset({"prod", "production", "prd", "live"})
_TAGS = frozenset({"env", "environment", "stage", "environmenttype", "environmentname"})
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def _holds_capacity(owner: Resource) -> bool:
    """Whether it keeps capacity until somebody lowers it; a fleet of another type is launched once."""
    if owner.type == SPOT_FLEET:
        return owner.properties.at("SpotFleetRequestConfigData").at("Type").raw in (None, "maintain")
    return owner.type != FLEET or owner.properties.at("Type").raw in (None, "maintain")


def _is_released(subject: Itself) -> Iterator[Broken]:
    owner = subject.resource
    if owner.type == GROUP and owner.properties.number("MaxSize") == 0:
        return
    if is_lowered(owner):
        return
    if owner.type == GROUP and not is_raised(owner) and owner.deployment.is_output(owner):
        raise NotKnown(owner, _TOLD_OUTSIDE)
    yield owner.properties.broken(
        must=_MUST[owner.type],
        got="no policy, schedule, service or function that does",
        cure=_CURES[owner.type],
    )


def _stops_above_zero(subject: Itself) -> Iterator[Broken]:
    """Only where each way down ends at a number that is written down, and nobody else may go further."""
    group = subject.resource
    exact = [each for each in policies_of(group) if _sets_number(each)]
    if not all(map(_sets_number, lowering_policies(group))) or not all_of(_is_above_zero, exact):
        return
    downward = [each for each in scheduled_actions_of(group) if lowers_by_schedule(each, group)]
    ends = [*(step for each in exact for step in each.adjustments), *map(_size_set_by, downward)]
    if not ends or any_of(lambda each: each.number() == 0, ends):
        return
    if is_lowered_by_others(group):
        return
    yield min(ends, key=lambda each: each.number() or 0).broken(
        must="be 0: nothing else brings the group down to its minimum of 0",
        cure="set the capacity to 0 when the accelerators are idle",
    )


def _size_set_by(action: Value) -> Value:
    sizes = [each for name in ("DesiredCapacity", "MaxSize") if not (each := action.at(name)).is_absent]
    return min(sizes, key=lambda each: each.number() or 0)


def _sets_number(policy: Policy) -> bool:
    return policy.kind != TARGET_TRACKING and policy.sets_capacity()


def _is_above_zero(policy: Policy) -> bool:
    return all_of(lambda each: (each.number() or 0) > 0, policy.adjustments)


def _may_rest_at_zero(group: Resource) -> bool:
    properties = group.properties
    return properties.at("MinSize").raw in ("0", 0) and bool(policies_of(group) or scheduled_actions_of(group))


# --- development -----------------------------------------------------------------------------------------------------


def _for_development(deployment: Deployment) -> Iterator[Itself | NotKnown]:
    if any(map(_is_development, deployment.stacks)) or any(map(_says_development, deployment.resources(*_OWNERS))):
        for each in accelerated_owners(*_OWNERS)(deployment):
            if isinstance(each, NotKnown):
                place = each.place.resource if isinstance(each.place, Value) else each.place
                if _is_development(place.stack):
                    yield each
            elif _is_development(each.resource.stack) or _says_development(each.resource):
                yield each


def _is_development(stack: Stack) -> bool:
    words = {each.lower() for each in _WORD.findall(stack.source.stack or "")}
    return bool(words & _SURE_IN_NAME) and not words & _REAL


def _says_development(owner: Resource) -> bool:
    """Whether a tag says so in so many words: what a parameter passes may be another word at the next deploy."""
    return any(map(_is_tag_of_development, _tags_written(owner)))


def _tags_written(owner: Resource) -> Iterator[object]:
    """The tags of an owner, and those that its launch templates give its instances."""
    yield from _listed(mapping(owner.written.get("Properties")).get("Tags"))
    for launch in owner.uses(LAUNCH_TEMPLATE):
        data = mapping(mapping(launch.written.get("Properties")).get("LaunchTemplateData"))
        for each in _listed(data.get("TagSpecifications")):
            if mapping(each).get("ResourceType") == "instance":
                yield from _listed(mapping(each).get("Tags"))


def _listed(written: object) -> list[object]:
    return written if isinstance(written, list) else []


def _is_tag_of_development(tag: object) -> bool:
    key, value = (tag.get("Key"), tag.get("Value")) if isinstance(tag, dict) else (None, None)
    if not isinstance(key, str) or not isinstance(value, str):
        return False
    return re.sub(r"[^a-z]", "", key.lower()) in _TAGS and value.lower() in _SURE_IN_TAG


_OWNERS = (GROUP, INSTANCE)


def _ends(subject: Itself) -> Iterator[Broken]:
    owner = subject.resource
    if not reaches_zero(owner):
        yield owner.properties.broken(
            must="come to zero by a schedule, a release or an expiry: its stack is for development",
            got="nothing that brings it there",
            cure=_NIGHTS[owner.type],
        )


RULES = (
    Rule(
        id="no-idle-release",
        title="Accelerated capacity is lowered when it is idle",
        severity=ERROR,
        practices=("SUS05-BP04/release", "SUS02-BP01", "COST09-BP03"),
        why="Accelerators are the most expensive and most power-hungry part of a stack, and bill by the second whether "
        "they work or not; capacity that nothing lowers runs until a person remembers it.",
        cure_here="Use AcceleratedFleet, or IdleRelease for a group of your own.",
        cure_plain="Add a scaling policy that lowers the group, a scheduled action, or a function that ends what is "
        "idle.",
        link=_GROUPS_LINK,
        subjects=accelerated_owners(GROUP, INSTANCE, FLEET, SPOT_FLEET, having=_holds_capacity),
        judge=_is_released,
    ),
    Rule(
        id="release-stops-above-zero",
        title="What lowers an accelerated group brings it to zero",
        severity=WARNING,
        practices=("SUS05-BP04/release", "COST09-BP03"),
        why="A minimum of 0 saves nothing when every policy and schedule sets a larger capacity.",
        cure_here="Use AcceleratedFleet, which ends the last idle instance too.",
        cure_plain="Let a policy or a scheduled action set the capacity to 0.",
        link="https://docs.aws.amazon.com/autoscaling/ec2/userguide/as-scaling-simple-step.html",
        subjects=accelerated_owners(GROUP, having=_may_rest_at_zero),
        judge=_stops_above_zero,
    ),
    Rule(
        id="development-never-ends",
        title="Accelerators for development come to zero by a schedule, a release or an expiry",
        severity=WARNING,
        practices=("COST04-BP04", "SUS05-BP04/release"),
        why="Nobody works on a development stack at night; a week has 168 hours, of which 40 to 50 are worked.",
        cure_here="Give the fleet FleetSchedule(office_hours=...), and the stack StackExpiry(after=...).",
        cure_plain="Set MinSize: 0 and add a scheduled action that sets the sizes to 0 for the night.",
        link="https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-scheduled-scaling.html",
        subjects=_for_development,
        judge=_ends,
    ),
)
