"""What the fleet has and uses: its group, what its stack has made, and who is a member of any group."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from orphan_sweep.aws import Clients, Document, pages, tags_of
from orphan_sweep.settings import Settings
from runtime.patience import Patience

_GROUPS_PER_PAGE = 100
_WARM_INSTANCES_PER_PAGE = 50
_STACK_TAG = "aws:cloudformation:stack-id"


class FleetUnreadable(Exception):
    """Nobody can tell what belongs to the fleet, so that nothing can be called an orphan."""


@dataclass(frozen=True, kw_only=True)
class Belongings:
    """What belongs to the fleet, or to another group.

    `own` holds the names of all that the fleet's stack has made, `members` the group of each instance that has one,
    `versions` the launch template versions in use, as (template's id or name, version as it is written), and
    `templates` the ids of those templates.
    """

    stack_id: str
    going: bool
    own: frozenset[str]
    members: Mapping[str, str]
    versions: frozenset[tuple[str, str]]
    templates: frozenset[str]

    def owner(self, names: Collection[str], tags: Mapping[str, str], operator: Document) -> str | None:
        """Return who else looks after a thing known under `names`, or None. `operator` is what EC2 says of a service.

        Of the fleet's own stack its resources tell, and not the tags: members have inherited those from their group.
        """
        if self.own.intersection(names):
            return "the fleet's stack"
        if operator.get("Managed"):
            return f"the service {operator.get('Principal', 'that manages it')}"
        if tags.get(_STACK_TAG, self.stack_id) != self.stack_id:
            return f"the stack {tags[_STACK_TAG]}"
        # Both copy the tags of what they save, the fleet's among them.
        if any(key.startswith("aws:backup:") for key in tags):
            return "AWS Backup"
        if any(key.startswith("aws:dlm:") for key in tags):
            return "a policy of Data Lifecycle Manager"
        return None


def read_belongings(clients: Clients, settings: Settings, patience: Patience) -> Belongings:
    """Return what belongs to the fleet.

    Raises `FleetUnreadable` when its group is not there under its own tag, or not in what its stack has made.
    """
    groups = list(_groups(clients, patience))
    ours = next((each for each in groups if each["AutoScalingGroupName"] == settings.auto_scaling_group), None)
    if ours is None:
        raise FleetUnreadable(f"there is no group {settings.auto_scaling_group}")
    rules = settings.rules
    if tags_of(ours).get(rules.tag_key) != rules.tag_value:
        why = f"group {settings.auto_scaling_group} does not carry the tag {rules.tag_key}={rules.tag_value}"
        raise FleetUnreadable(why)
    own = frozenset(_stack_resources(clients, settings, patience))
    if settings.auto_scaling_group not in own:
        # The sweep is of the fleet's own stack, so a list without the group lacks other things too.
        raise FleetUnreadable(f"the stack {settings.stack_id} does not list the group {settings.auto_scaling_group}")
    # They are no members, and a describe of the group does not list them.
    warm = list(_warm_instances(clients, settings, patience))
    groups = [{**each, "Instances": [*each["Instances"], *warm]} if each is ours else each for each in groups]
    members = {
        instance["InstanceId"]: group["AutoScalingGroupName"] for group in groups for instance in group["Instances"]
    }
    return Belongings(
        stack_id=settings.stack_id,
        going=bool(ours.get("Status")),
        own=own,
        members=members,
        versions=frozenset(use for group in groups for use in _versions_of(group)),
        templates=frozenset(id for group in groups for id in _templates_of(group)),
    )


def _groups(clients: Clients, patience: Patience) -> Iterator[Document]:
    # All of the account: any of them may use a version of the fleet's launch template.
    ask = partial(clients.autoscaling.describe_auto_scaling_groups, MaxRecords=_GROUPS_PER_PAGE)
    for page in pages("reading the Auto Scaling groups", ask, patience):
        yield from page["AutoScalingGroups"]


def _warm_instances(clients: Clients, settings: Settings, patience: Patience) -> Iterator[Document]:
    ask = partial(
        clients.autoscaling.describe_warm_pool,
        AutoScalingGroupName=settings.auto_scaling_group,
        MaxRecords=_WARM_INSTANCES_PER_PAGE,
    )
    for page in pages("reading the warm pool", ask, patience):
        yield from page.get("Instances", [])


def _stack_resources(clients: Clients, settings: Settings, patience: Patience) -> Iterator[str]:
    ask = partial(clients.cloudformation.list_stack_resources, StackName=settings.stack_id)
    for page in pages("reading the stack's resources", ask, patience):
        # A resource that is only being made has no name in AWS yet.
        names = (each.get("PhysicalResourceId") for each in page["StackResourceSummaries"])
        yield from (name for name in names if name)


def _versions_of(group: Document) -> Iterator[tuple[str, str]]:
    for specification in _specifications(group):
        # Without a version the default one is meant, which nobody can delete.
        version = specification.get("Version", "$Default")
        for name in ("LaunchTemplateId", "LaunchTemplateName"):
            if name in specification:
                yield specification[name], version


def _templates_of(group: Document) -> Iterator[str]:
    return (each["LaunchTemplateId"] for each in _specifications(group) if "LaunchTemplateId" in each)


def _specifications(group: Document) -> list[Document]:
    """Return every launch template that the group names, or an instance of it, in service or in its warm pool."""
    mixed = group.get("MixedInstancesPolicy", {}).get("LaunchTemplate", {})
    named = [
        group.get("LaunchTemplate"),
        mixed.get("LaunchTemplateSpecification"),
        *(each.get("LaunchTemplateSpecification") for each in mixed.get("Overrides", [])),
        *(each.get("LaunchTemplate") for each in group["Instances"]),
    ]
    return [each for each in named if each]
