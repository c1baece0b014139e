"""Who keeps accelerated machines at Amazon SageMaker: endpoints, notebooks, Studio and HyperPod clusters.

Source: AWS CloudFormation Template Reference; ``AddTags``, Amazon SageMaker AI API Reference, read 2026-12.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from constructs_lib.compliance.deployment import Deployment, Resource
from constructs_lib.compliance.facts.loops import loops_of
from constructs_lib.compliance.facts.machines import names_accelerators
from constructs_lib.compliance.values import NotKnown, Value, any_of
from constructs_lib.template.markers import PartText

ENDPOINT = "AWS::SageMaker::Endpoint"
CONFIG = "AWS::SageMaker::EndpointConfig"
NOTEBOOK = "AWS::SageMaker::NotebookInstance"
DOMAIN = "AWS::SageMaker::Domain"
PROFILE = "AWS::SageMaker::UserProfile"
SPACE = "AWS::SageMaker::Space"
APP = "AWS::SageMaker::App"
CLUSTER = "AWS::SageMaker::Cluster"

STUDIO_SETTINGS = {
    DOMAIN: ("DefaultUserSettings", "DefaultSpaceSettings"),
    PROFILE: ("UserSettings",),
    SPACE: ("SpaceSettings",),
}
"""Where Studio is told what to start applications with, by the type of the resource."""
CLASSIC_APP = "KernelGatewayAppSettings"
"""Of Studio Classic, whose kernels run apart from the Jupyter server; it has no idle settings of its own."""
STUDIO_APPS = ("JupyterLabAppSettings", "CodeEditorAppSettings", CLASSIC_APP)


@dataclass(frozen=True)
class Variant:
    """A production variant of an endpoint.

    Attributes:
        endpoint: that has it.
        value: its entry in the endpoint's configuration.
    """

    endpoint: Resource
    value: Value

    @property
    def resource(self) -> Resource:
        """The configuration that has it."""
        return self.value.resource


def variants(deployment: Deployment) -> Iterator[Variant | NotKnown]:
    """The accelerated variants of endpoints; a configuration without an endpoint runs nothing."""
    for endpoint in deployment.resources(ENDPOINT):
        for config in _configs_of(endpoint):
            try:
                found = config.properties.each("ProductionVariants")
            except NotKnown as not_known:
                yield not_known
                continue
            for variant in found:
                try:
                    if any_of(names_accelerators, types_of_variant(variant)):
                        yield Variant(endpoint, variant)
                except NotKnown as not_known:
                    yield not_known
    yield from loops_of(deployment, ENDPOINT, CONFIG)


def hosts(deployment: Deployment) -> Iterator[Resource | NotKnown]:
    """What SageMaker bills for accelerated machines, and has tags of its own."""
    of_endpoints = (each if isinstance(each, NotKnown) else each.endpoint for each in variants(deployment))
    yield from dict.fromkeys(of_endpoints)
    for kind, machines in MACHINES.items():
        for resource in deployment.resources(kind):
            try:
                if any_of(names_accelerators, machines(resource.properties)):
                    yield resource
            except NotKnown as not_known:
                yield not_known
    yield from loops_of(deployment, *MACHINES)


def _configs_of(endpoint: Resource) -> Sequence[Resource]:
    """The configuration that it refers to, or names."""
    named = endpoint.properties.raw.get("EndpointConfigName")
    beside = endpoint.deployment.once(_configs_by_name).get(named, ()) if isinstance(named, (str, PartText)) else ()
    return endpoint.uses(CONFIG) or beside


def _configs_by_name(deployment: Deployment) -> Mapping[object, Sequence[Resource]]:
    named = ((each.properties.raw.get("EndpointConfigName"), each) for each in deployment.resources(CONFIG))
    return {name: (each,) for name, each in named if isinstance(name, (str, PartText))}


def types_of_variant(variant: Value) -> list[Value]:
    """The types of its machines, of which SageMaker takes the first that it gets."""
    return [variant.at("InstanceType"), *(each.at("InstanceType") for each in variant.each("InstancePools"))]


def _defaults(own: Value) -> list[Value]:
    """The machines that Studio starts applications on, unless a user chooses others."""
    paths = (f"{settings}.{app}" for settings in STUDIO_SETTINGS[own.resource.type] for app in STUDIO_APPS)
    return [own.at(f"{path}.DefaultResourceSpec.InstanceType") for path in paths]


MACHINES: Mapping[str, Callable[[Value], Sequence[Value]]] = {
    DOMAIN: _defaults,
    PROFILE: _defaults,
    SPACE: _defaults,
    NOTEBOOK: lambda own: [own.at("InstanceType")],
    APP: lambda own: [own.at("ResourceSpec.InstanceType")],
    CLUSTER: lambda own: [each.at("InstanceType") for each in own.each("InstanceGroups")],
}
