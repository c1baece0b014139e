"""Event rules on Auto Scaling that lead to a function which acts on groups.

The fields of the events: "EC2 Auto Scaling event reference", Amazon EC2 Auto Scaling User Guide, read 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from constructs_lib.compliance.deployment import Deployment, Resource
from constructs_lib.compliance.facts.accelerated_stacks import beside_accelerators
from constructs_lib.compliance.facts.reach import ENDING, unlimited
from constructs_lib.compliance.facts.roles import FUNCTION, SERVERLESS_FUNCTION, role_of_function
from constructs_lib.compliance.rule import WARNING, Rule
from constructs_lib.compliance.values import Broken, NotKnown, Value, any_of

_RULE = "AWS::Events::Rule"
_SOURCE = "aws.autoscaling"
_EVENTS_OF_SAM = ("EventBridgeRule", "CloudWatchEvent")
_POWER = replace(
    ENDING,
    actions=(*ENDING.actions, "autoscaling:CompleteLifecycleAction", "autoscaling:SetInstanceProtection"),
)
_SAY_NOTHING_OF_THE_GROUP = frozenset(
    {"LifecycleTransition", "Origin", "Destination", "StatusCode", "StatusMessage", "Cause", "Details", "Description"}
)


@dataclass(frozen=True)
class _Led:
    """A pattern of events of Auto Scaling, and a function that it leads to."""

    pattern: Value
    function: Resource

    @property
    def resource(self) -> Resource:
        return self.pattern.resource


def _patterns_that_lead_to_functions(deployment: Deployment) -> Iterator[_Led | NotKnown]:
    for resource in beside_accelerators(deployment, _RULE, SERVERLESS_FUNCTION):
        if isinstance(resource, NotKnown):
            yield resource
            continue
        try:
            found = [each for each in _led(resource) if _is_on_auto_scaling(each.pattern)]
        except NotKnown as not_known:
            yield not_known
            continue
        yield from found


def _led(resource: Resource) -> Iterator[_Led]:
    properties = resource.properties
    if resource.type == SERVERLESS_FUNCTION:
        for _, event in properties.named("Events"):
            if event.text("Type") in _EVENTS_OF_SAM:
                yield _Led(event.at("Properties.Pattern"), resource)
        return
    for target in properties.each("Targets"):
        made = target.at("Arn").made()
        if made is not None and made.type in (FUNCTION, SERVERLESS_FUNCTION):
            yield _Led(properties.at("EventPattern"), made)


def _is_on_auto_scaling(pattern: Value) -> bool:
    sources = pattern.each("source")
    # An object in place of a name is a match by prefix or the like, for events of many services.
    return any_of(lambda each: each.text() == _SOURCE, (each for each in sources if not isinstance(each.raw, Mapping)))


def _acts_on_its_own_groups(led: _Led) -> Iterator[Broken]:
    if not led.pattern.at("resources").is_absent or _names_a_group(led.pattern):
        return
    doubt: NotKnown | None = None
    for found in unlimited(role_of_function(led.function) or led.function, _POWER):
        if not isinstance(found, NotKnown):
            yield led.pattern.at("detail.AutoScalingGroupName").broken(
                must=f"name the stack's groups: {led.function.id} may do {found.actions[0]} on all of the account",
                cure="add AutoScalingGroupName: [the Ref of the group] to detail in the pattern",
            )
            return
        doubt = doubt or found
    if doubt is not None:
        raise doubt


def _names_a_group(pattern: Value) -> bool:
    """Whether an event has to have something that tells its group: the name, a hook, what the hook passes on."""
    return any(name not in _SAY_NOTHING_OF_THE_GROUP for name, _ in pattern.named("detail"))


RULES = (
    Rule(
        id="event-rule-for-all-groups",
        title="A function that acts on events of Auto Scaling gets those of its own groups",
        severity=WARNING,
        practices=("SEC03-BP02", "SUS05-BP04/release"),
        why=(
            "The rule matches every group of the account, and the function may act on all of them: another team's "
            "instance that goes has its drain cut short, or is ended."
        ),
        cure_here="The event rules of AcceleratedFleet name its group; nothing is to be set.",
        cure_plain="Add detail: {AutoScalingGroupName: [!Ref Group]} to EventPattern.",
        link="https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-event-reference.html",
        subjects=_patterns_that_lead_to_functions,
        judge=_acts_on_its_own_groups,
    ),
)
