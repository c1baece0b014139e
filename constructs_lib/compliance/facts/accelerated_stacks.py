"""What stands in a stack beside accelerators: its functions, topics, log groups and rules serve them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from constructs_lib.compliance.deployment import Deployment, Resource, Stack, once
from constructs_lib.compliance.facts.launches import accelerated_launches
from constructs_lib.compliance.facts.machines import names_accelerators
from constructs_lib.compliance.values import NotKnown, Value

_HOSTS = {
    "AWS::SageMaker::EndpointConfig": "ProductionVariants",
    "AWS::SageMaker::Cluster": "InstanceGroups",
    "AWS::SageMaker::NotebookInstance": "",
}
"""The list in which SageMaker is told what machines to keep, by the type of the resource; a notebook has one."""


def beside_accelerators(deployment: Deployment, *types: str) -> Iterator[Resource | NotKnown]:
    """The resources of these types in stacks that launch accelerators, or have SageMaker keep some.

    Of a stack of which nobody can tell whether it does comes, once, why.
    """
    doubts: set[Stack] = set()
    launching = stacks_with_accelerators(deployment)
    for resource in deployment.resources(*types):
        verdict = launching.get(resource.stack)
        if isinstance(verdict, NotKnown):
            if resource.stack not in doubts:
                yield verdict
            doubts.add(resource.stack)
        elif verdict is True:
            yield resource


@once
def stacks_with_accelerators(deployment: Deployment) -> Mapping[Stack, bool | NotKnown]:
    """The stacks that launch accelerators, or have SageMaker keep some; those that may have the reason beside them."""
    found: dict[Stack, bool | NotKnown] = {}
    for each in chain(accelerated_launches(deployment), _accelerated_hosts(deployment)):
        if isinstance(each, NotKnown):
            place = each.place.resource if isinstance(each.place, Value) else each.place
            found.setdefault(place.stack, each)
        else:
            found[each.resource.stack if isinstance(each, Value) else each.owner.stack] = True
    return found


def _accelerated_hosts(deployment: Deployment) -> Iterator[Value | NotKnown]:
    """The types of accelerated machines that SageMaker keeps."""
    for resource in deployment.resources(*_HOSTS):
        try:
            for each in resource.properties.each(_HOSTS[resource.type]):
                if names_accelerators(each.at("InstanceType")):
                    yield each
        except NotKnown as not_known:
            yield not_known
