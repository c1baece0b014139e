"""Every place in a deployment from which EC2 instances are launched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from constructs_lib.catalog import AcceleratedType
from constructs_lib.compliance.deployment import Deployment, Resource, once
from constructs_lib.compliance.facts.loops import loops_of
from constructs_lib.compliance.facts.machines import facts_of, names_accelerators, types_named
from constructs_lib.compliance.facts.reasons import has_stated
from constructs_lib.compliance.values import NotKnown, Value, any_of

GROUP = "AWS::AutoScaling::AutoScalingGroup"
LAUNCH_TEMPLATE = "AWS::EC2::LaunchTemplate"
LAUNCH_CONFIGURATION = "AWS::AutoScaling::LaunchConfiguration"
INSTANCE = "AWS::EC2::Instance"
SPOT_FLEET = "AWS::EC2::SpotFleet"
FLEET = "AWS::EC2::EC2Fleet"
BATCH = "AWS::Batch::ComputeEnvironment"
NODE_GROUP = "AWS::EKS::Nodegroup"

_MAKERS = "AcceleratorManufacturers"
_KINDS_OF = {
    "amazon-web-services": ("neuron",),
    "amd": ("amd",),
    "habana": ("gaudi",),
    "nvidia": ("nvidia",),
    "xilinx": ("fpga", "media"),
}
"""Kinds by the makers that ``InstanceRequirements`` knows."""
_NAMES = ("LaunchTemplateName", "LaunchConfigurationName")
_NOT_HERE = "its launch template is not in the templates"
_OF_SERVICE = "it has no launch template, so that the service chooses this"


@dataclass(frozen=True, eq=False)
class Launch:
    """How one owner launches instances.

    Attributes:
        owner: the group, instance, fleet or environment whose instances they are.
        settings: what an instance is launched with, under the names of ``LaunchTemplateData``; an instance and a launch
            configuration have nearly all of them under the same names. Each question goes to ``setting``.
        configured_by: the resource that has them: a launch template, a launch configuration, or the owner. None: a
            launch template that is not in the templates.
        named_types: where types are named, one value each.
        requirements: where attributes stand in place of names.
    """

    owner: Resource
    settings: tuple[Value, ...]
    configured_by: Resource | None
    named_types: tuple[Value, ...]
    requirements: tuple[Value, ...]

    @property
    def resource(self) -> Resource:
        """The resource that findings about its settings are about."""
        return self.configured_by or self.owner

    @property
    def is_left_to_service(self) -> bool:
        """Whether a service launches by its own rules: nobody has given it settings."""
        return not self.settings and self.configured_by is not None

    def setting(self, path: str) -> Value:
        """The value at a path of ``LaunchTemplateData``; the owner's own goes before that of its launch template.

        Raises:
            NotKnown: it is in a launch template that is not in the templates.
        """
        known = self._asked.get(path)
        if known is None:
            known = self._asked[path] = self._setting(path)
        return known

    @cached_property
    def _asked(self) -> dict[str, Value]:
        """What many rules ask for."""
        return {}

    def _setting(self, path: str) -> Value:
        values = [each.at(path) for each in self.settings]
        found = next((each for each in values if not each.is_absent), None)
        if found is not None:
            return found
        if self.configured_by is None:
            raise NotKnown(self.owner, _NOT_HERE)
        if not values:
            raise NotKnown(self.owner, _OF_SERVICE)
        return values[-1]

    @cached_property
    def types(self) -> tuple[str, ...]:
        """Names of all types that may be launched; empty where attributes stand in their place.

        Raises:
            NotKnown: one is not known.
        """
        if not self.named_types and not self.requirements and self.configured_by is None:
            raise NotKnown(self.owner, _NOT_HERE)
        return tuple(dict.fromkeys(name for each in self.named_types if (name := each.text()) is not None))

    @cached_property
    def facts(self) -> tuple[AcceleratedType, ...]:
        """What the catalogue has on those of its types that are accelerated."""
        return tuple(facts for name in self.types if (facts := facts_of(name)) is not None)

    def facts_of_all(self) -> tuple[AcceleratedType, ...]:
        """Like ``facts``, for a question that one type more or less would answer otherwise.

        Raises:
            NotKnown: the catalogue lacks one of its types, or attributes stand in their place.
        """
        for each in self.requirements:
            raise each.not_known("attributes stand in place of its types")
        for each in self.named_types:
            name = each.text() or ""
            if facts_of(name) is None and names_accelerators(each):
                raise each.not_known(f"the catalogue does not know the instance type {name}")
        return self.facts

    @cached_property
    def kinds(self) -> frozenset[str]:
        """Kinds of its accelerators by the catalogue: ``nvidia``, ``neuron`` and so on."""
        return frozenset(each.kind for each in self.facts)

    def possible_kinds(self) -> frozenset[str]:
        """The kinds that its accelerators can be of, as far as types, or makers in their place, tell. Empty: any."""
        try:
            chosen = [choice.text() or "" for each in self.named_types for choice in each.choices()]
            makers = [[maker.text() or "" for maker in each.each(_MAKERS)] for each in self.requirements]
        except NotKnown:
            return frozenset()
        if not all(makers):
            return frozenset()
        by_maker = (kind for each in makers for maker in each for kind in _KINDS_OF.get(maker, ()))
        return frozenset((*(facts.kind for name in chosen for facts in types_named(name)), *by_maker))

    def has_stated(self, what: str) -> bool:
        """Whether its owner, or its launch template, gives the reason for something.

        Raises:
            NotKnown: neither is known to, and the metadata of one are not known.
        """
        return any_of(lambda each: has_stated(each, what), (self.owner, self.resource))

    def is_accelerated(self) -> bool:
        """Whether one of the types that it may launch has an accelerator.

        Raises:
            NotKnown: none is known to, and one is not known.
        """
        if any_of(lambda each: _asks_for_accelerators(each), self.requirements):
            return True
        if not self.named_types and not self.requirements and self.configured_by is None:
            raise NotKnown(self.owner, _NOT_HERE)
        return any_of(names_accelerators, self.named_types)


def _asks_for_accelerators(requirements: Value) -> bool:
    names = ("AcceleratorNames", _MAKERS, "AcceleratorTypes")
    least = requirements.number("AcceleratorCount.Min")
    return (
        bool(least)
        or any(requirements.each(name) for name in names)
        or any_of(names_accelerators, requirements.each("AllowedInstanceTypes"))
    )


@once
def launches(deployment: Deployment) -> Sequence[Launch]:
    """Every launch of the deployment, in the order of its owners' kinds."""
    found = [each for kind in _READERS for owner in deployment.resources(kind) for each in _of(owner)]
    # Whoever uses a launch template that nobody here does, launches what it says.
    used = {each.configured_by for each in found}
    found += [
        _with(each, each, (each.properties.at("LaunchTemplateData"),), ())
        for each in deployment.resources(LAUNCH_TEMPLATE)
        if each not in used
    ]
    return tuple(found)


@once
def accelerated_launches(deployment: Deployment) -> Sequence[Launch | NotKnown]:
    """The launches that are accelerated, and in place of one of which nobody can tell, why."""
    found: list[Launch | NotKnown] = []
    for each in launches(deployment):
        try:
            if each.is_accelerated():
                found.append(each)
        except NotKnown as not_known:
            found.append(not_known)
    return (*found, *loops_of(deployment, *_READERS, LAUNCH_TEMPLATE, LAUNCH_CONFIGURATION))


def _of(owner: Resource) -> Iterator[Launch]:
    try:
        yield from _READERS[owner.type](owner)
    except NotKnown as not_known:
        named = (not_known.place,) if isinstance(not_known.place, Value) else ()
        yield Launch(owner, (), None, named, ())


def _of_group(owner: Resource) -> Iterator[Launch]:
    properties = owner.properties
    try:
        mixed = properties.at("MixedInstancesPolicy.LaunchTemplate")
        if not mixed.is_absent:
            yield from _of_specification(owner, mixed.at("LaunchTemplateSpecification"), mixed.each("Overrides"))
        elif not properties.at("LaunchTemplate").is_absent:
            yield from _of_specification(owner, properties.at("LaunchTemplate"), [])
        elif not properties.at("LaunchConfigurationName").is_absent:
            made = _made(properties.at("LaunchConfigurationName"))
            yield _with(owner, made, () if made is None else (made.properties,), ())
        elif not properties.at("InstanceId").is_absent:
            made = _made(properties.at("InstanceId"))
            yield _with(owner, made, () if made is None else (made.properties,), ())
    except NotKnown:
        yield _with(owner, None, (), ())


def _of_instance(owner: Resource) -> Iterator[Launch]:
    own = owner.properties
    template = _template(own, "LaunchTemplate") if not own.at("LaunchTemplate").is_absent else owner
    settings = (own,) if template is owner or template is None else (own, template.properties.at("LaunchTemplateData"))
    yield Launch(owner, settings, template, *_chosen((), settings))


def _of_spot_fleet(owner: Resource) -> Iterator[Launch]:
    data = owner.properties.at("SpotFleetRequestConfigData")
    for specification in _each(data, "LaunchSpecifications"):
        yield Launch(owner, (specification,), owner, *_chosen((), [specification]))
    for each in _each(data, "LaunchTemplateConfigs"):
        yield from _of_specification(owner, each.at("LaunchTemplateSpecification"), _each(each, "Overrides"))


def _of_fleet(owner: Resource) -> Iterator[Launch]:
    for each in _each(owner.properties, "LaunchTemplateConfigs"):
        yield from _of_specification(owner, each.at("LaunchTemplateSpecification"), _each(each, "Overrides"))


def _of_batch(owner: Resource) -> Iterator[Launch]:
    resources = owner.properties.at("ComputeResources")
    if resources.is_absent or (resources.at("Type").raw in ("FARGATE", "FARGATE_SPOT")):
        return
    yield from _managed(owner, resources, resources, "LaunchTemplate")


def _of_node_group(owner: Resource) -> Iterator[Launch]:
    yield from _managed(owner, owner.properties, owner.properties, "LaunchTemplate")


_READERS: dict[str, Callable[[Resource], Iterator[Launch]]] = {
    GROUP: _of_group,
    INSTANCE: _of_instance,
    FLEET: _of_fleet,
    SPOT_FLEET: _of_spot_fleet,
    BATCH: _of_batch,
    NODE_GROUP: _of_node_group,
}


def _managed(owner: Resource, types: Value, own: Value, path: str) -> Iterator[Launch]:
    """A service that launches by its own rules, with a launch template if it is given one."""
    named = _each(types, "InstanceTypes")
    if own.at(path).is_absent:
        yield Launch(owner, (), owner, tuple(named), ())
        return
    template = _template(own, path)
    settings = () if template is None else (template.properties.at("LaunchTemplateData"),)
    chosen = (tuple(named), ()) if named else _chosen((), settings)
    yield Launch(owner, settings, template, *chosen)


def _of_specification(owner: Resource, specification: Value, overrides: Sequence[Value]) -> Iterator[Launch]:
    template = _template_of(specification)
    yield _with(owner, template, () if template is None else (template.properties.at("LaunchTemplateData"),), overrides)


def _with(
    owner: Resource, configured_by: Resource | None, settings: tuple[Value, ...], overrides: Sequence[Value]
) -> Launch:
    return Launch(owner, settings, configured_by, *_chosen(overrides, settings))


def _chosen(overrides: Sequence[Value], settings: Sequence[Value]) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
    """Where types are named, and where attributes stand in their place; overrides take the place of the template's."""
    for values in (overrides, settings):
        types = tuple(_present("InstanceType", values))
        requirements = tuple(_present("InstanceRequirements", values))
        if types or requirements:
            return types if values is overrides else types[:1], requirements
    return (), ()


def _present(name: str, values: Sequence[Value]) -> Iterator[Value]:
    for each in values:
        try:
            found = each.at(name)
        except NotKnown:
            found = each
        if not found.is_absent:
            yield found


def _each(value: Value, path: str) -> list[Value]:
    try:
        return value.each(path)
    except NotKnown as not_known:
        return [not_known.place] if isinstance(not_known.place, Value) else []


def _template(own: Value, path: str) -> Resource | None:
    return _template_of(own.at(path))


def _template_of(specification: Value) -> Resource | None:
    # A node group of EKS has shorter names for them.
    for name in ("LaunchTemplateId", "LaunchTemplateName", "Id", "Name"):
        try:
            if (made := _made(specification.at(name))) is not None:
                return made
        except NotKnown:
            continue
    return None


def _made(value: Value) -> Resource | None:
    found = value.made()
    if found is None and isinstance(value.raw, str):
        # By the name that a launch template of the templates has.
        for each in value.resource.deployment.resources(LAUNCH_TEMPLATE, LAUNCH_CONFIGURATION):
            if value.raw in (
                each.properties.raw.get("LaunchTemplateName"),
                each.properties.raw.get("LaunchConfigurationName"),
            ):
                return each
    return found
