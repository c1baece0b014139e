"""Templates that are deployed together, as rules see them: resources, and who refers to whom."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from types import MappingProxyType
from typing import Any, TypeVar

from constructs_lib.compliance.values import Value
from constructs_lib.errors import FleetError
from constructs_lib.template.documents import Path, Repeated, parse
from constructs_lib.template.loops import LOOP, unrolled
from constructs_lib.template.markers import Made, Unknown, markers_in
from constructs_lib.template.plain_values import items, mapping
from constructs_lib.template.settling import Surroundings, Template

T = TypeVar("T")

NESTED: Mapping[str, str] = MappingProxyType(
    {"AWS::CloudFormation::Stack": "TemplateURL", "AWS::Serverless::Application": "Location"}
)
"""Types of resources that are stacks of their own, and the property that says where the template is."""

STACK_SET = "AWS::CloudFormation::StackSet"
_MODULE = "::MODULE"
_INCLUDE = "Fn::Transform"
_ELSEWHERE = ("AWS::ServiceCatalog::CloudFormationProvisionedProduct",)
_VARIABLE = re.compile(r"\$\{([^!}][^}]{0,600})\}")
_EXPANDED_HERE = ("AWS::Serverless-2016-10-31", "AWS::LanguageExtensions")
"""Macros that leave the resources of the kinds that rules look at as they are; loops are told by their key."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a template is from.

    Attributes:
        name: of the stack, or of the file, for messages.
        content: the template as plain data.
        file: where it lies. None: it was given as data.
        line_of: the line on which an entry of it stands. None: it was given as data.
        stack: name of the stack. None: not known.
        region: that it goes to. None: not known.
        nested: the templates of nested stacks that are at hand, by the logical id of the stack's resource.
        repeated: the keys that objects of it have more than once.
    """

    name: str
    content: Mapping[str, Any]
    file: str | None = None
    line_of: Any = None
    stack: str | None = None
    region: str | None = None
    nested: Mapping[str, Source] = field(default_factory=dict)
    repeated: Sequence[Repeated] = ()


class Stack:
    """One template of a deployment.

    Attributes:
        deployment: it is part of.
        source: of the template.
        template: settles its values.
        name: for messages.
    """

    def __init__(self, deployment: Deployment, source: Source, surroundings: Surroundings) -> None:
        self.deployment = deployment
        self.source = source
        self.template = Template(source.content, surroundings, stack=source.stack)
        self.name = source.name

    @property
    def region(self) -> str | None:
        """The Region that it goes to. None: not known."""
        return self.template.region

    @cached_property
    def resources(self) -> dict[str, Resource]:
        """Its resources by logical id, but for those that a condition leaves out."""
        made = {}
        for id in self.template.ids():
            kind = self.template.kind(id)
            if kind is not None and not id.startswith(LOOP):
                made[id] = Resource(self, id, kind)
        return made

    @cached_property
    def loops(self) -> tuple[Resource, ...]:
        """The loops that only a deploy unrolls, each in the place of the resources that it makes."""
        entries = mapping(self.source.content.get("Resources"))
        return tuple(Resource(self, id, "Fn::ForEach") for id in entries if id.startswith(LOOP))

    @cached_property
    def included(self) -> tuple[Resource, ...]:
        """What a deploy takes from a file that is not here in the place of resources."""
        entries = mapping(self.source.content.get("Resources"))
        return tuple(Resource(self, id, _INCLUDE) for id, each in entries.items() if _INCLUDE in (id, *mapping(each)))

    @cached_property
    def unread(self) -> tuple[str, ...]:
        """What may add resources that nobody sees here: macros, loops and modules."""
        content = self.source.content
        given = content.get("Transform")
        macros = [given] if isinstance(given, (str, Mapping)) else given if isinstance(given, list) else []
        named = [each.get("Name") if isinstance(each, Mapping) else each for each in macros]
        found = [f"the macro {name}" for name in named if name not in _EXPANDED_HERE]
        entries = mapping(content.get("Resources"))
        found += [f"the loop {each.id}" for each in self.loops]
        found += [
            f"the loop {name} of {id}"
            for id, each in entries.items()
            for name in mapping(mapping(each).get("Properties"))
            if str(name).startswith(LOOP)
        ]
        modules = [id for id, each in entries.items() if str(mapping(each).get("Type")).endswith(_MODULE)]
        return (*found, *(f"the module {id}" for id in modules))


@dataclass(frozen=True, eq=False)
class Resource:
    """A resource of a template.

    Attributes:
        stack: that has it.
        id: its logical id.
        type: for example ``AWS::EC2::Instance``.
    """

    stack: Stack
    id: str
    type: str

    @property
    def deployment(self) -> Deployment:
        """All that is deployed with it."""
        return self.stack.deployment

    @cached_property
    def properties(self) -> Value:
        """Its properties, settled."""
        return Value(self, (), self.stack.template.properties(self.id))

    @cached_property
    def written(self) -> Mapping[str, Any]:
        """The whole resource as the template has it: attributes such as ``UpdatePolicy``, nothing settled."""
        return mapping(self.stack.source.content["Resources"][self.id])

    def attribute(self, name: str) -> Value:
        """An attribute beside the properties, such as ``UpdatePolicy`` or ``Metadata``, settled."""
        return Value(self, (f"<{name}>",), self.stack.template.settle(self.written.get(name)))

    def line(self, path: Path = ()) -> int | None:
        """The line on which it, or one of its properties, stands. None: the template was given as data."""
        if self.stack.source.line_of is None:
            return None
        below: Path = ("Properties", *path) if path and not str(path[0]).startswith("<") else ()
        found: int = self.stack.source.line_of(("Resources", self.id, *below))
        return found

    def users(self, *types: str) -> list[Resource]:
        """The resources that refer to it, wherever in the deployment, of these types or of all."""
        found = self.deployment.users_of(self)
        return [each for each in found if not types or each.type in types]

    def uses(self, *types: str) -> list[Resource]:
        """The resources that it refers to, of these types or of all."""
        found = self.deployment.used_by(self)
        return [each for each in found if not types or each.type in types]

    def __repr__(self) -> str:
        return f"{self.stack.name}/{self.id}"


class Deployment:
    """Templates that are deployed together.

    Args:
        sources: of the templates; nested ones hang below theirs.
        region: that those go to which are not bound to one. Default: not known.
        parameters: values for the templates' parameters. Default: their own defaults.
    """

    def __init__(
        self, sources: Sequence[Source], *, region: str | None = None, parameters: Mapping[str, str] | None = None
    ) -> None:
        self._asked = (sources, region, parameters or {})
        self.stacks: list[Stack] = []
        self._by_template: dict[int, Stack] = {}
        self._found: dict[tuple[Hashable, ...], Any] = {}
        self._inline: set[Resource] = set()
        around = [Surroundings(each.region or region, None, parameters or {}) for each in sources]
        read = [_unrolled(*each) for each in zip(sources, around, strict=True)]
        beside = {each.stack: each.content for each in read if each.stack is not None}
        for source, surroundings in zip(read, around, strict=True):
            self._add(source, replace(surroundings, beside=beside))

    @property
    def sources(self) -> Sequence[Source]:
        """The templates that are not nested in others."""
        return self._asked[0]

    @property
    def parameters(self) -> Mapping[str, str]:
        """The values that were given for parameters."""
        return self._asked[2]

    def with_parameters(self, more: Mapping[str, str]) -> Deployment:
        """The same templates, deployed with values for further parameters."""
        return Deployment(self.sources, region=self._asked[1], parameters={**self.parameters, **more})

    def _add(self, source: Source, surroundings: Surroundings) -> Stack:
        stack = Stack(self, source, surroundings)
        self.stacks.append(stack)
        self._by_template[id(stack.template)] = stack
        for logical_id, nested in source.nested.items():
            if logical_id in stack.resources:
                passed = mapping(stack.template.properties(logical_id).get("Parameters"))
                below = Surroundings(surroundings.region, None, passed, surroundings.beside)
                child = self._add(_unrolled(nested, below), below)
                stack.template.take_nested(logical_id, child.template)
        for set_ in (each for each in stack.resources.values() if each.type == STACK_SET):
            inline = _inline(set_)
            if inline is not None:
                self._inline.add(set_)
                # It goes to accounts and Regions of its own.
                elsewhere = Surroundings(_only_region(set_, surroundings.region), None, _passed(set_), {})
                self._add(_unrolled(inline, elsewhere), elsewhere)
        return stack

    def once(self, find: Callable[..., T], *more: Hashable) -> T:
        """What a function finds in the deployment, which is looked for once: templates do not change.

        Args:
            find: is called with the deployment and ``more``.
            more: what it is to find. Default: it finds one thing only.
        """
        asked = (find, *more)
        if asked not in self._found:
            self._found[asked] = find(self, *more)
        found: T = self._found[asked]
        return found

    @cached_property
    def _by_type(self) -> Mapping[str, list[Resource]]:
        found: dict[str, list[Resource]] = {}
        for stack in self.stacks:
            for resource in stack.resources.values():
                found.setdefault(resource.type, []).append(resource)
        return found

    @property
    def types(self) -> frozenset[str]:
        """The types of all its resources."""
        return frozenset(self._by_type)

    def resources(self, *types: str) -> list[Resource]:
        """Its resources of these types, in the order of the templates; of all types if none is named."""
        return [each for kind in types or self._by_type for each in self._by_type.get(kind, ())]

    def resource_made(self, made: Made) -> Resource | None:
        """The resource that a marker stands for. None: its template is not part of the deployment."""
        stack = self._by_template.get(id(made.home)) or next(
            (each for each in self.stacks if each.source.content is made.home.document), None
        )
        return None if stack is None else stack.resources.get(made.logical_id)

    @cached_property
    def not_at_hand(self) -> tuple[Resource, ...]:
        """What deploys a template of its own that is not at hand: nested stacks, sets of them, products, modules."""
        included = [each for stack in self.stacks for each in stack.included]
        return (
            *included,
            *(each for each in self.resources() if self._deploys_unseen(each)),
        )

    def _deploys_unseen(self, each: Resource) -> bool:
        return (
            each.type.endswith(_MODULE)
            or each.type in _ELSEWHERE
            or (each.type in NESTED and each.id not in each.stack.source.nested)
            or (each.type == STACK_SET and each not in self._inline)
        )

    @cached_property
    def unread(self) -> tuple[str, ...]:
        """What may hold more than is seen here: macros, loops, modules, nested stacks without a template at hand."""
        nested = [
            f"the nested stack {each.id}" for each in self.resources(*NESTED) if each.id not in each.stack.source.nested
        ]
        return (*(each for stack in self.stacks for each in stack.unread), *nested)

    def users_of(self, resource: Resource) -> list[Resource]:
        """The resources that refer to a resource."""
        return self._links[1].get(resource, [])

    def used_by(self, resource: Resource) -> list[Resource]:
        """The resources that a resource refers to."""
        return self._links[0].get(resource, [])

    @cached_property
    def _links(self) -> tuple[dict[Resource, list[Resource]], dict[Resource, list[Resource]]]:
        uses: dict[Resource, list[Resource]] = {}
        users: dict[Resource, list[Resource]] = {}
        for user in self.resources():
            properties = user.written.get("Properties")
            for used in dict.fromkeys(self._referred(user.stack, properties)):
                if used is not user:
                    uses.setdefault(user, []).append(used)
                    users.setdefault(used, []).append(user)
        return uses, users

    def _referred(self, stack: Stack, raw: Any) -> Iterator[Resource]:
        pending = [raw]
        while pending:
            value = pending.pop()
            if isinstance(value, str):
                continue  # Most are, and are told fast.
            if isinstance(value, list):
                pending += value
            elif isinstance(value, Mapping):
                if len(value) == 1:
                    ((name, argument),) = value.items()
                    yield from self._named(stack, str(name), argument)
                pending += value.values()

    def _named(self, stack: Stack, function: str, argument: Any) -> Iterator[Resource]:
        if function == "Ref":
            names = [argument]
        elif function == "Fn::GetAtt":
            first = _first(argument)
            names = [first.split(".", 1)[0] if isinstance(argument, str) else first]
        elif function == "Fn::Sub":
            names = [each.split(".", 1)[0] for each in _VARIABLE.findall(_first(argument))]
        elif function in ("Fn::ImportValue", "Fn::GetStackOutput"):
            names = []
            yield from self._at_deploy(stack, {function: argument})
        else:
            return
        for name in names:
            if not isinstance(name, str):
                continue
            if name in stack.resources:
                yield stack.resources[name]
                if name in stack.source.nested and function == "Fn::GetAtt":
                    yield from self._at_deploy(stack, {function: argument})
            elif function != "Fn::GetAtt" and name in mapping(stack.source.content.get("Parameters")):
                yield from self._at_deploy(stack, {"Ref": name})

    def _at_deploy(self, stack: Stack, expression: Mapping[str, Any]) -> Iterator[Resource]:
        """What an expression refers to that has to be settled: an output of another stack, what a parent passes."""
        for marker in markers_in(stack.template.settle(expression)):
            found = self.resource_made(marker) if isinstance(marker, Made) else None
            if found is not None:
                yield found

    def exported(self, resource: Resource) -> bool:
        """Whether an output of its template exports it: others may act on it that nobody sees here."""
        return resource in self._told[1]

    def is_output(self, resource: Resource) -> bool:
        """Whether an output of its template tells it: to people, to programs, or to a parent stack."""
        return resource in self._told[0]

    @cached_property
    def _told(self) -> tuple[frozenset[Resource], frozenset[Resource]]:
        """What outputs tell, and what they export."""
        told: list[tuple[Resource, bool]] = []
        for stack in self.stacks:
            for output in map(mapping, mapping(stack.source.content.get("Outputs")).values()):
                referred = self._referred(stack, output.get("Value"))
                told += [(each, "Export" in output) for each in referred if each.stack is stack]
        return frozenset(each for each, _ in told), frozenset(each for each, is_exported in told if is_exported)


def _inline(stack_set: Resource) -> Source | None:
    """The template that a stack set has in it. None: it has none, or none that can be read."""
    body = stack_set.properties.at("TemplateBody")
    if not isinstance(body.raw, str):
        return None
    name = f"{stack_set.stack.name}/{stack_set.id}"
    try:
        document = parse(body.raw, name)
    except FleetError:
        return None
    own = stack_set.stack.source
    line_of = None if own.line_of is None else lambda path: stack_set.line(body.path)
    return Source(name=name, content=document.content, file=own.file, line_of=line_of)


def _passed(stack_set: Resource) -> Mapping[str, object]:
    """What a stack set passes for the parameters of its template."""
    own = stack_set.properties.raw
    given = {str(name): value for name, value in _pairs(own.get("Parameters"))}
    for group in map(mapping, items(own.get("StackInstancesGroup"))):
        for name, _ in _pairs(group.get("ParameterOverrides")):
            given[str(name)] = Unknown(
                f"some stacks of the set get another value for {name}", "check its template alone"
            )
    return given


def _pairs(parameters: Any) -> Iterator[tuple[Any, Any]]:
    for each in map(mapping, items(parameters)):
        yield each.get("ParameterKey"), each.get("ParameterValue")


def _only_region(stack_set: Resource, given: str | None) -> str | None:
    """The Region that all stacks of a set go to, or the one that is given where it names none."""
    groups = [mapping(each) for each in items(stack_set.properties.raw.get("StackInstancesGroup"))]
    named = [each for group in groups for each in items(group.get("Regions"))]
    if not named:
        return given
    return named[0] if len(named) == 1 and isinstance(named[0], str) else None


def _unrolled(source: Source, surroundings: Surroundings) -> Source:
    """The source with what its loops make in their place, and the lines on which that is written."""
    found = unrolled(source.content, surroundings)
    if found is None:
        return source
    line_of, origins = source.line_of, found.origins

    def line(path: Path) -> Any:
        written = origins.get(str(path[1])) if path[:1] == ("Resources",) and len(path) > 1 else None
        return line_of(path if written is None else (*written, *path[2:]))

    return replace(source, content=found.document, line_of=None if line_of is None else line)


def once(find: Callable[[Deployment], T]) -> Callable[[Deployment], T]:
    """Let a function look once for what it finds in a deployment; it is kept as long as the deployment is."""

    @wraps(find)
    def found(deployment: Deployment) -> T:
        return deployment.once(find)

    return found


def _first(argument: Any) -> str:
    """What a function is given: a text, or a list that begins with it."""
    found = argument[0] if isinstance(argument, list) and argument else argument
    return found if isinstance(found, str) else ""
