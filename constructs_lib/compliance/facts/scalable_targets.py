"""Targets of Application Auto Scaling: whose capacity they scale, and how far down.

Source: ``RegisterScalableTarget``, Application Auto Scaling API Reference, read 2026-11.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from constructs_lib.compliance.deployment import Deployment, Resource, once
from constructs_lib.compliance.values import NotKnown, any_of, markers_in
from constructs_lib.template.settling import Made, PartText

TARGET = "AWS::ApplicationAutoScaling::ScalableTarget"


def scales_to_zero(scaled: Resource, name: str | None) -> bool:
    """Whether a target of the templates has the capacity of a resource with a minimum of 0, always or at times.

    Args:
        scaled: a service, an endpoint, a fleet.
        name: that it is given. None: the deploy gives it one.

    Raises:
        NotKnown: none is seen, and one of which nobody can tell what it scales may be of the resource.
    """
    targets = _targets(scaled.deployment)
    named = () if name is None else targets.get(name, ())
    if any_of(_reaches_zero, (*targets.get(scaled, ()), *named)):
        return True
    for target in targets.get(None, ()):
        raise NotKnown(target, f"it may be of {scaled.id}: what it scales is not known")
    return False


@once
def _targets(deployment: Deployment) -> Mapping[object, Sequence[Resource]]:
    """By what they scale: resources that their ids refer to, parts of ids that are plain text, None: not known."""
    found: dict[object, list[Resource]] = {}
    for target in deployment.resources(TARGET):
        for key in _keys(target):
            found.setdefault(key, []).append(target)
    return found


def _keys(target: Resource) -> list[object]:
    id = target.properties.at("ResourceId")
    markers = list(markers_in(id.raw))
    made = [target.deployment.resource_made(each) for each in markers if isinstance(each, Made)]
    text = id.raw.known if isinstance(id.raw, PartText) else id.raw
    known = [each for each in text.split("/") if "${" not in each] if isinstance(text, str) else []
    # The text as a whole is a marker too, which says nothing beyond its parts.
    doubts = [each for each in markers if not isinstance(each, (Made, PartText))] or None in made
    return [*(each for each in made if each is not None), *known, *([None] if doubts else [])]


def _reaches_zero(target: Resource) -> bool:
    properties = target.properties
    least = [properties.at("MinCapacity")]
    least += [each.at("ScalableTargetAction.MinCapacity") for each in properties.each("ScheduledActions")]
    return any_of(lambda each: each.number() == 0, least)
