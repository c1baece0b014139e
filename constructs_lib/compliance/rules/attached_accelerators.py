"""Accelerators that were attached to instances of other types, and that AWS has ended.

"Amazon Elastic Graphics reached end of life on January 8, 2024", Amazon EC2 User Guide; "Amazon Elastic Inference is no
longer available", AWS CloudFormation Template Reference; read in November 2026.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from constructs_lib.compliance.deployment import Deployment, Resource
from constructs_lib.compliance.facts.hosts import CONFIG, NOTEBOOK
from constructs_lib.compliance.facts.launches import INSTANCE, LAUNCH_TEMPLATE
from constructs_lib.compliance.rule import ERROR, Rule
from constructs_lib.compliance.values import Broken, NotKnown, Value

_TASK = "AWS::ECS::TaskDefinition"
_INFERENCE = "Elastic Inference"
_GRAPHICS = "Elastic Graphics"
_INSTEAD = {
    _INFERENCE: "use a type with an accelerator of its own, for example of the families inf2 or g6",
    _GRAPHICS: "use a type with a GPU of its own, for example of the families g4dn or g6",
}
_ON_INSTANCES = {"ElasticInferenceAccelerators": _INFERENCE, "ElasticGpuSpecifications": _GRAPHICS}
_PLACES = {
    INSTANCE: {"": _ON_INSTANCES},
    LAUNCH_TEMPLATE: {"LaunchTemplateData": _ON_INSTANCES},
    CONFIG: {"ProductionVariants": {"AcceleratorType": _INFERENCE}},
    NOTEBOOK: {"": {"AcceleratorTypes": _INFERENCE}},
    _TASK: {"": {"InferenceAccelerators": _INFERENCE}},
}
"""Where a resource may name one: the path to an object or a list of them, and what each of its properties attaches."""


@dataclass(frozen=True)
class _Attached:
    """What a resource attaches, and where it says so."""

    place: Value
    service: str

    @property
    def resource(self) -> Resource:
        return self.place.resource


def _attached(deployment: Deployment) -> Iterator[_Attached | NotKnown]:
    for kind, places in _PLACES.items():
        for resource in deployment.resources(kind):
            for path, names in places.items():
                yield from _in(resource, path, names)


def _in(resource: Resource, path: str, names: dict[str, str]) -> Iterator[_Attached | NotKnown]:
    try:
        for holder in resource.properties.each(path):
            for name, service in names.items():
                if not holder.at(name).is_absent:
                    yield _Attached(holder.at(name), service)
    except NotKnown as not_known:
        yield not_known


def _ended(attached: _Attached) -> Iterator[Broken]:
    if not attached.place.is_known:
        raise attached.place.not_known()
    yield attached.place.broken(
        must=f"be left out: AWS has ended {attached.service}", cure=f"remove it; {_INSTEAD[attached.service]}"
    )


RULES = (
    Rule(
        id="attached-accelerator-ended",
        title="No accelerator is attached that AWS has ended",
        severity=ERROR,
        practices=("SUS05-BP04/choose", "PERF02-BP06"),
        why="Elastic Inference and Elastic Graphics are gone: what asks for them is not launched.",
        cure_here="AcceleratedFleet launches types that have accelerators of their own.",
        cure_plain="Remove the property, and choose an accelerated instance type.",
        link=(
            "https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/"
            "aws-properties-ec2-instance-elasticgpuspecification.html"
        ),
        subjects=_attached,
        judge=_ended,
    ),
)
