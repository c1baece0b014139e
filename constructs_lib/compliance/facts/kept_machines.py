"""The machines that SageMaker and EMR are told by their type to keep, for rules about types.

Source: the property lists of the AWS CloudFormation Template Reference, read 2026-12.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from constructs_lib.compliance.deployment import Deployment, Resource
from constructs_lib.compliance.facts.hosts import MACHINES, types_of_variant, variants
from constructs_lib.compliance.facts.loops import loops_of
from constructs_lib.compliance.facts.machines import names_accelerators
from constructs_lib.compliance.facts.reasons import has_stated
from constructs_lib.compliance.values import NotKnown, Value

BIG_DATA = "AWS::EMR::Cluster"
_GROUPS = ("MasterInstanceGroup", "CoreInstanceGroup")
_FLEETS = ("MasterInstanceFleet", "CoreInstanceFleet")


@dataclass(frozen=True)
class KeptMachine:
    """An accelerated type that a service is told to keep machines of.

    Attributes:
        value: names it.
    """

    value: Value

    @property
    def resource(self) -> Resource:
        """The resource that names it."""
        return self.value.resource

    @property
    def named_types(self) -> tuple[Value, ...]:
        """Where types are named, as a launch has it."""
        return (self.value,)

    @property
    def is_of_sagemaker(self) -> bool:
        """Whether SageMaker names it, which has types of its own for those of EC2."""
        return str(self.value.raw).startswith("ml.")

    def has_stated(self, what: str) -> bool:
        """Whether the resource gives the reason for something."""
        return has_stated(self.resource, what)


def kept_machines(deployment: Deployment) -> Iterator[KeptMachine | NotKnown]:
    """The accelerated ones, and in place of one of which nobody can tell, why."""
    for variant in variants(deployment):
        if isinstance(variant, NotKnown):
            yield variant
        else:
            yield from _accelerated(types_of_variant(variant.value))
    for kind, types in _KEPT.items():
        for resource in deployment.resources(kind):
            try:
                named = list(types(resource.properties))
            except NotKnown as not_known:
                yield not_known
            else:
                yield from _accelerated(named)
    yield from loops_of(deployment, *_KEPT)


def types_of_cluster(cluster: Value) -> Iterator[Value]:
    """The types of a cluster of EMR, by its properties."""
    instances = cluster.at("Instances")
    groups = [*(instances.at(each) for each in _GROUPS), *instances.each("TaskInstanceGroups")]
    yield from (each.at("InstanceType") for each in groups)
    for fleet in (*(instances.at(each) for each in _FLEETS), *instances.each("TaskInstanceFleets")):
        yield from (each.at("InstanceType") for each in fleet.each("InstanceTypeConfigs"))


def _accelerated(types: Sequence[Value]) -> Iterator[KeptMachine | NotKnown]:
    for each in types:
        try:
            if names_accelerators(each):
                yield KeptMachine(each)
        except NotKnown as not_known:
            yield not_known


_KEPT: Mapping[str, Callable[[Value], Sequence[Value] | Iterator[Value]]] = {**MACHINES, BIG_DATA: types_of_cluster}
