"""What the roles of functions and instances beside accelerators may end."""

from __future__ import annotations

from collections.abc import Iterator

from constructs_lib.compliance.deployment import Deployment, Resource
from constructs_lib.compliance.facts.accelerated_stacks import beside_accelerators
from constructs_lib.compliance.facts.launches import accelerated_launches
from constructs_lib.compliance.facts.reach import ENDING_ACTIONS, Unlimited, unlimited
from constructs_lib.compliance.facts.roles import FUNCTION, SERVERLESS_FUNCTION, role_of, role_of_function
from constructs_lib.compliance.rule import WARNING, Itself, Rule
from constructs_lib.compliance.values import Broken, NotKnown

_MOST_NAMED = 3


def _roles(deployment: Deployment) -> Iterator[Itself | NotKnown]:
    """Each role once, and each function of SAM whose role SAM makes."""
    for each in dict.fromkeys(_of_functions_and_instances(deployment)):
        yield each if isinstance(each, NotKnown) else Itself(each)


def _of_functions_and_instances(deployment: Deployment) -> Iterator[Resource | NotKnown]:
    for function in beside_accelerators(deployment, FUNCTION, SERVERLESS_FUNCTION):
        try:
            yield function if isinstance(function, NotKnown) else role_of_function(function) or function
        except NotKnown as not_known:
            yield not_known
    for launch in accelerated_launches(deployment):
        try:
            role = launch if isinstance(launch, NotKnown) else role_of(launch)
        except NotKnown as not_known:
            yield not_known
            continue
        if role is not None:
            yield role


def _ends_its_own_only(subject: Itself) -> Iterator[Broken]:
    doubt: NotKnown | None = None
    for found in unlimited(subject.resource, ENDING_ACTIONS):
        if isinstance(found, NotKnown):
            doubt = doubt or found
        else:
            yield _broken(found)
    if doubt is not None:
        raise doubt


def _broken(found: Unlimited) -> Broken:
    statement = found.statement
    more = len(found.actions) - _MOST_NAMED
    named = ", ".join(found.actions[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    must = f"limit {named} to resources of the stack"
    if statement.managed is not None:
        cure = "replace the policy by statements with the actions that are needed, on the stack's own resources"
        return statement.managed.broken(must=must, cure=cure)
    left_out = statement.value.at("NotResource")
    cure = "name the ARNs in Resource, or add a Condition on aws:ResourceTag with a value of the stack's own"
    return (statement.value.at("Resource") if left_out.is_absent else left_out).broken(must=must, cure=cure)


RULES = (
    Rule(
        id="may-end-anything",
        title="Functions and instances beside accelerators may end only what is their own",
        severity=WARNING,
        practices=("SEC03-BP02",),
        why=(
            "A clean-up that filters by one tag, or a program that is taken over, ends the training of another team: "
            "the role may terminate whatever there is in the account."
        ),
        cure_here="The handlers of AcceleratedFleet have rights on its own group only; nothing is to be set.",
        cure_plain=(
            "Name the ARNs in Resource, or add a Condition on aws:ResourceTag/KEY with a value that only the stack's "
            "resources have."
        ),
        link="https://docs.aws.amazon.com/IAM/latest/UserGuide/access_tags.html",
        subjects=_roles,
        judge=_ends_its_own_only,
    ),
)
