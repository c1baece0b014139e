"""What the roles of functions and instances beside accelerators may do to what is not their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from constructs_lib.compliance.deployment import Deployment, Resource, once
from constructs_lib.compliance.facts.accelerated_stacks import beside_accelerators
from constructs_lib.compliance.facts.launches import accelerated_launches
from constructs_lib.compliance.facts.policies import Statement
from constructs_lib.compliance.facts.reach import (
    CHANGING_DATA,
    COMMANDING,
    ENDING,
    LAUNCHING,
    TAKING_ROLES,
    Power,
    Unlimited,
    acts_on_capacity,
    unlimited,
)
from constructs_lib.compliance.facts.roles import FUNCTION, SERVERLESS_FUNCTION, role_of, role_of_function
from constructs_lib.compliance.rule import WARNING, Itself, Rule
from constructs_lib.compliance.values import Broken, NotKnown

_MOST_NAMED = 3
_NAME_THE_ARNS = "name the ARNs in Resource"
_DATA = {
    "s3": "buckets",
    "dynamodb": "tables",
    "sqs": "queues",
    "ecr": "repositories",
    "ec2": "snapshots",
    "elasticfilesystem": "file systems",
    "fsx": "file systems",
}


def _roles(deployment: Deployment) -> Iterator[Itself | NotKnown]:
    """Each role once, and each function of SAM whose role SAM makes."""
    for each in dict.fromkeys((*_of_functions(deployment), *_of_instances(deployment))):
        yield each if isinstance(each, NotKnown) else Itself(each)


@once
def _roles_on_capacity(deployment: Deployment) -> Sequence[Itself | NotKnown]:
    """Those of accelerated instances, and of functions that act on capacity."""
    return tuple(_acting_on_capacity(deployment))


def _acting_on_capacity(deployment: Deployment) -> Iterator[Itself | NotKnown]:
    of_instances = dict.fromkeys(_of_instances(deployment))
    for each in dict.fromkeys((*_of_functions(deployment), *of_instances)):
        try:
            if isinstance(each, NotKnown):
                yield each
            elif each in of_instances or acts_on_capacity(each):
                yield Itself(each)
        except NotKnown as not_known:
            yield not_known


def _of_functions(deployment: Deployment) -> Iterator[Resource | NotKnown]:
    for function in beside_accelerators(deployment, FUNCTION, SERVERLESS_FUNCTION):
        try:
            yield function if isinstance(function, NotKnown) else role_of_function(function) or function
        except NotKnown as not_known:
            yield not_known


def _of_instances(deployment: Deployment) -> Iterator[Resource | NotKnown]:
    for launch in accelerated_launches(deployment):
        try:
            role = launch if isinstance(launch, NotKnown) else role_of(launch)
        except NotKnown as not_known:
            yield not_known
            continue
        if role is not None:
            yield role


def _ends_its_own_only(subject: Itself) -> Iterator[Broken]:
    cure = f"{_NAME_THE_ARNS}, or add a Condition on aws:ResourceTag with a value of the stack's own"
    doubt: NotKnown | None = None
    for found in unlimited(subject.resource, ENDING):
        if isinstance(found, NotKnown):
            doubt = doubt or found
        else:
            yield _broken(found, cure)
    if doubt is not None:
        raise doubt


def _within(power: Power, cure: Callable[[Unlimited], str]) -> Callable[[Itself], Iterator[Broken]]:
    """The judge of a power; what gives all that there is, or all of a service, is told by what may be ended with it."""

    def judge(subject: Itself) -> Iterator[Broken]:
        doubt: NotKnown | None = None
        for found in unlimited(subject.resource, power):
            if isinstance(found, NotKnown):
                doubt = doubt or found
                continue
            left = tuple(each for each in found.actions if not _is_told_of(each, found.statement, subject.resource))
            if left:
                still = replace(found, actions=left)
                yield _broken(still, cure(still))
        if doubt is not None:
            raise doubt

    return judge


def _is_told_of(action: str, statement: Statement, role: Resource) -> bool:
    ending = (each for each in unlimited(role, ENDING) if isinstance(each, Unlimited))
    told = [name for each in ending if each.statement == statement for name in each.actions]
    if statement.names_no_action():
        return bool(told)
    of_service = any(_service(each) == _service(action) for each in told)
    return of_service and statement.gives_whole_service_of(action)


def _service(action: str) -> str:
    return action.partition(":")[0]


def _naming(kinds: str) -> Callable[[Unlimited], str]:
    return lambda found: f"{_NAME_THE_ARNS}{kinds}"


def _naming_data(found: Unlimited) -> str:
    kinds = dict.fromkeys(_DATA[_service(each)] for each in found.actions)
    return f"name the ARNs of the {' and '.join(kinds)} in Resource"


def _broken(found: Unlimited, cure: str) -> Broken:
    statement = found.statement
    must = f"limit {_named(found)} to resources of the stack"
    whole = dict.fromkeys(_service(each) for each in found.actions if statement.gives_whole_service_of(each))
    if statement.names_no_action():
        must = f"allow the actions that are needed, on resources of the stack, and not all, among them {_named(found)}"
    elif whole:
        all_of_them = " and ".join(f"{each}:*" for each in whole)
        must = f"allow what is needed, on resources of the stack, in place of {all_of_them}, among it {_named(found)}"
    if statement.managed is not None:
        cure = "replace the policy by statements with the actions that are needed, on the stack's own resources"
        return statement.managed.broken(must=must, cure=cure)
    left_out = statement.value.at("NotResource")
    return (statement.value.at("Resource") if left_out.is_absent else left_out).broken(must=must, cure=cure)


def _named(found: Unlimited) -> str:
    more = len(found.actions) - _MOST_NAMED
    return ", ".join(found.actions[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


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
    Rule(
        id="may-launch-anything",
        title="Functions and instances beside accelerators may launch only what is meant",
        severity=WARNING,
        practices=("SEC03-BP02", "COST02-BP05"),
        why=(
            "A program that is taken over, or has a fault, starts the most expensive machines that the account's "
            "quotas allow, where nothing measures or ends them."
        ),
        cure_here="The handlers of AcceleratedFleet launch by the size of its own group only; nothing is to be set.",
        cure_plain=(
            "Add a Condition: ec2:LaunchTemplate or ec2:InstanceType for EC2, autoscaling:InstanceTypes or a tag for "
            "groups, sagemaker:InstanceTypes for SageMaker. Or name the ARNs of queues, clusters and endpoints."
        ),
        link="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ExamplePolicies_EC2.html",
        subjects=_roles,
        judge=_within(LAUNCHING, _naming(", or add a Condition on what may be launched, such as ec2:LaunchTemplate")),
    ),
    Rule(
        id="may-take-any-role",
        title="Functions and instances that have to do with accelerators take only roles that are named",
        severity=WARNING,
        practices=("SEC03-BP02",),
        why=(
            "Whoever may pass, assume or write any role has the rights of all of them: that is the account, for one "
            "program on one machine."
        ),
        cure_here="Roles of AcceleratedFleet pass no role; nothing is to be set.",
        cure_plain="Name the ARN of the role in Resource, and with iam:PassRole the service in iam:PassedToService.",
        link="https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_use_passrole.html",
        subjects=_roles_on_capacity,
        judge=_within(
            TAKING_ROLES,
            lambda found: (
                "name the ARN of the role in Resource, and with iam:PassRole add iam:PassedToService as Condition"
            ),
        ),
    ),
    Rule(
        id="may-command-any-instance",
        title="Functions and instances that have to do with accelerators command only instances of their own",
        severity=WARNING,
        practices=("SEC03-BP02",),
        why="Who may send a command to any instance is root on each machine of the account.",
        cure_here="Handlers of AcceleratedFleet send no commands; nothing is to be set.",
        cure_plain="Add a Condition on ssm:resourceTag/KEY with a value that only the stack's instances have.",
        link="https://docs.aws.amazon.com/systems-manager/latest/userguide/run-command-setting-up.html",
        subjects=_roles_on_capacity,
        judge=_within(COMMANDING, _naming(", or add a Condition on ssm:resourceTag with a value of the stack's own")),
    ),
    Rule(
        id="may-change-any-data",
        title="Functions and instances that have to do with accelerators write only to what is theirs",
        severity=WARNING,
        practices=("SEC03-BP02",),
        why=(
            "A job with the wrong name in it, or an instance that is taken over, overwrites or deletes data of all "
            "teams of the account."
        ),
        cure_here="Give the fleet rights on one bucket, table or queue: bucket.grant_read_write(fleet).",
        cure_plain="Name the ARNs of the buckets, tables, queues and repositories in Resource.",
        link="https://docs.aws.amazon.com/IAM/latest/UserGuide/best-practices.html",
        subjects=_roles_on_capacity,
        judge=_within(CHANGING_DATA, _naming_data),
    ),
)
