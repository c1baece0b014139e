"""What a check says once in place of an answer of each rule: nobody can tell whether rules concern a resource, or the
templates do not show it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from constructs_lib.compliance.deployment import Deployment, Resource, Stack
from constructs_lib.compliance.facts.other_values import OtherValues, accelerated_with_other_values
from constructs_lib.compliance.rule import WARNING, Rule
from constructs_lib.compliance.values import NotKnown
from constructs_lib.template.documents import Repeated
from constructs_lib.template.plain_values import mapping

_NAMED = 6
_NO_PROPERTIES = "its Properties are no object, and CloudFormation refuses it"

OUT_OF_SIGHT: Rule[Any] = Rule(
    id="accelerators-out-of-sight",
    title="The check sees whatever may have accelerators",
    severity=WARNING,
    practices=("SUS05-BP04/measure",),
    why=(
        "What no rule can look at is not judged, and a report without findings does not praise it: accelerators that "
        "only another value of a parameter brings, types that only a deploy tells, templates that are not at hand."
    ),
    cure_here="Synthesize the app and check the cloud assembly: it has the templates of all stacks, with their values.",
    cure_plain="Pass --parameter NAME=VALUE for each way that the template is deployed, and check nested templates.",
    link="https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/parameters-section-structure.html",
    # It is about what other rules are not asked of, and never finds anything.
    subjects=lambda deployment: (),
    judge=lambda subject: iter(()),
)
"""What those lines of a report are about."""


def out_of_sight(deployment: Deployment) -> Iterator[NotKnown]:
    """What may have accelerators and is not looked at, each time with the reason."""
    for each in accelerated_with_other_values(deployment):
        yield NotKnown(each.owner, _how_to_ask(each))
    yield from _not_at_hand(deployment)
    for stack in deployment.stacks:
        if not (stack.unread or stack.included):  # What is not read may make resources of it, or have more conditions.
            yield from _malformed(stack)
            yield from _without_their_condition(stack)
        for key in stack.source.repeated:
            place = _place(stack, key)
            if place is not None:
                on = "" if key.line is None else f", the last time on line {key.line}"
                reason = (
                    f"the key {key.key} is there more than once{on}: CloudFormation takes the last, as this check does"
                )
                yield NotKnown(place, reason)


def _malformed(stack: Stack) -> Iterator[NotKnown]:
    """What stands among the resources and is none."""
    for id, written in mapping(stack.source.content.get("Resources")).items():
        if not isinstance(written, dict) or not isinstance(written.get("Type"), str):
            yield NotKnown(Resource(stack, id, ""), "it is no object with a Type, and CloudFormation refuses it")
        elif not isinstance(written.get("Properties", {}), dict) and written["Properties"] is not None:
            yield NotKnown(stack.resources.get(id) or Resource(stack, id, ""), _NO_PROPERTIES)


def _without_their_condition(stack: Stack) -> Iterator[NotKnown]:
    there = mapping(stack.source.content.get("Conditions"))
    for resource in stack.resources.values():
        condition = resource.written.get("Condition")
        if isinstance(condition, str) and condition not in there:
            yield NotKnown(resource, f"the template has no condition {condition}, and CloudFormation refuses it")


def _place(stack: Stack, key: Repeated) -> Resource | None:
    """The resource that has the key, or is it. None: the template has none."""
    if key.key in stack.resources:
        return stack.resources[key.key]
    before = [each for each in stack.resources.values() if key.line is None or (each.line() or 0) <= key.line]
    return max(before or stack.resources.values(), key=lambda each: each.line() or 0, default=None)


def _not_at_hand(deployment: Deployment) -> Iterator[NotKnown]:
    by_stack: dict[Stack, list[Resource]] = {}
    for each in deployment.not_at_hand:
        by_stack.setdefault(each.stack, []).append(each)
    for found in by_stack.values():
        named = ", ".join(each.id for each in found[:_NAMED])
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        yield NotKnown(found[0], f"not read, since their templates are not at hand: {named}{more}")


def _how_to_ask(other: OtherValues) -> str:
    told = [f"another value of {name}" if value is None else f"{name}={value}" for name, value in other.values.items()]
    options = [f"--parameter {name}={'VALUE' if value is None else value}" for name, value in other.values.items()]
    return f"it has accelerators with {' and '.join(told)}, and not as it was judged: pass {' '.join(options)}"
