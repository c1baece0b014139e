"""What a rule reads: values of a template, each with its place; what is not known is never taken for absent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from constructs_lib.template.markers import Made, PartText, SsmParameter, StackOutput, Unknown, ZoneAt, Zones, is_marker
from constructs_lib.template.plain_values import whole

if TYPE_CHECKING:
    from constructs_lib.compliance.deployment import Resource

T = TypeVar("T")
Step = str | int

_AS_WRITTEN = "it is not written as CloudFormation wants it"
_ONE = ("Arn", "Id", "Name")
"""How attributes end that are one value."""
_ONLY_A_DEPLOY = "what only a deploy tells"
_INCLUDE = "Fn::Transform"
_BROUGHT = Unknown(
    f"what {_INCLUDE} puts there is known at the deploy only", "write what it includes into the template"
)
"""Whatever is not written beside it, where an object takes entries from a file."""


class NotKnown(Exception):
    """A rule asked for what the templates do not tell: it has no verdict, which is no finding."""

    def __init__(self, place: Value | Resource, reason: str) -> None:
        super().__init__(reason)
        self.place = place
        self.reason = reason


@dataclass(frozen=True)
class Broken:
    """What a rule found: ``<resource>: <property> must <must>, got <value>``, and the cure.

    Attributes:
        resource: that has it.
        path: to the property in ``Properties``. Empty: the resource as a whole.
        must: what would keep the rule, after "must".
        shown: the value, as the message has it.
        cure: what to change, as an order.
    """

    resource: Resource
    path: tuple[Step, ...]
    must: str
    shown: str
    cure: str

    @property
    def property(self) -> str:
        """The property as a text, for example ``BlockDeviceMappings[0].Ebs.Encrypted``."""
        return dotted(self.path)


def dotted(path: Iterable[Step]) -> str:
    """A path as a text: names between dots, numbers in brackets."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


@dataclass(unsafe_hash=True)
class Value:
    """A value of a template and where it stands; absent ones too, so that a rule can ask below them.

    Nobody changes one. Python does not see to it: a check makes a million of them, and those take three times as long
    that Python guards.

    Attributes:
        resource: that has it.
        path: in its ``Properties``.
        raw: plain data, or a marker of :mod:`constructs_lib.template.markers`. None: absent.
    """

    resource: Resource
    path: tuple[Step, ...] = field(default=())
    raw: Any = None

    def at(self, path: str) -> Value:
        """The value below, at names between dots.

        Raises:
            NotKnown: something on the way is not known.
        """
        names = path.split(".")
        raw = self.raw
        for depth, name in enumerate(names):
            if raw is None:
                break
            if not isinstance(raw, dict):
                if isinstance(raw, Unknown) and raw.choices:
                    raw = _below(self, raw, names[depth:])
                    break
                raise Value(self.resource, (*self.path, *names[:depth]), raw).not_known()
            raw = raw.get(name, _BROUGHT if _INCLUDE in raw else None)
        return Value(self.resource, (*self.path, *names), raw)

    def _entries(self) -> Mapping[str, Any]:
        if self.raw is None:
            return {}
        if isinstance(self.raw, Mapping) and _INCLUDE not in self.raw:
            return self.raw
        raise self.not_known(_BROUGHT.reason if isinstance(self.raw, Mapping) else "")

    def not_known(self, reason: str = "") -> NotKnown:
        """The exception that says that a rule cannot judge, because of this value."""
        return NotKnown(self, reason or _reason(self.raw))

    def choices(self) -> list[Value]:
        """Each value that it can be, as far as the template limits it; else itself."""
        listed = self.raw.choices if isinstance(self.raw, Unknown) else ()
        return [Value(self.resource, self.path, each) for each in listed] or [self]

    @property
    def is_absent(self) -> bool:
        """Whether the template does not have it."""
        return self.raw is None

    @property
    def is_known(self) -> bool:
        """Whether it is plain data, absent ones too."""
        return not is_marker(self.raw)

    def text(self, path: str = "") -> str | None:
        """The text at a path. None: absent. Numbers and truths are written as CloudFormation would pass them.

        Raises:
            NotKnown: it is not known, or no text.
        """
        value = self.at(path) if path else self
        if value.raw is None or isinstance(value.raw, str):
            return value.raw
        if isinstance(value.raw, bool):
            return str(value.raw).lower()
        if isinstance(value.raw, (int, float)):
            return str(int(value.raw)) if value.raw == value.raw // 1 else repr(value.raw)
        raise value.not_known()

    def searchable(self, path: str = "") -> str | None:
        """Like :meth:`text`, with ``${...}`` for parts that are not known; a search for other parts is of use."""
        value = self.at(path) if path else self
        return value.raw.known if isinstance(value.raw, PartText) else value.text()

    def number(self, path: str = "") -> float | None:
        """The number at a path, or what a text has as number. None: absent.

        Raises:
            NotKnown: it is not known, or no number.
        """
        value = self.at(path) if path else self
        if value.raw is None:
            return None
        if isinstance(value.raw, (int, float, str)) and not isinstance(value.raw, bool):
            try:
                return float(value.raw)
            except (OverflowError, ValueError):
                pass
        raise value.not_known()

    def whole(self, path: str = "") -> int | None:
        """The whole number at a path, or what a text has as such. None: absent.

        Raises:
            NotKnown: it is not known, or none.
        """
        value = self.at(path) if path else self
        if value.raw is None:
            return None
        number = whole(value.raw)
        if number is None:
            raise value.not_known()
        return number

    def flag(self, path: str = "", *, default: bool) -> bool:
        """Whether the value at a path is true. ``default``: what AWS takes an absent one for.

        Raises:
            NotKnown: it is not known, or neither true nor false.
        """
        value = self.at(path) if path else self
        if value.raw is None:
            return default
        if str(value.raw).lower() in ("true", "false"):
            return str(value.raw).lower() == "true"
        raise value.not_known()

    def each(self, path: str = "") -> list[Value]:
        """The entries of the list at a path; a single value counts as a list of one. Absent: none.

        Raises:
            NotKnown: the list as such is not known. An entry that is not known is an entry.
        """
        value = self.at(path) if path else self
        if value.raw is None:
            return []
        if is_marker(value.raw) and not _is_single(value.raw):
            raise value.not_known()
        if not isinstance(value.raw, (list, tuple)):
            return [value]
        return [Value(value.resource, (*value.path, number), entry) for number, entry in enumerate(value.raw)]

    def named(self, path: str = "") -> list[tuple[str, Value]]:
        """The entries of the object at a path, with their names. Absent: none."""
        value = self.at(path) if path else self
        return [(name, Value(value.resource, (*value.path, name), entry)) for name, entry in value._entries().items()]

    def made(self, path: str = "") -> Resource | None:
        """The resource of the templates that the value at a path refers to. None: absent, or it refers to none.

        Raises:
            NotKnown: nobody can tell what it refers to.
        """
        value = self.at(path) if path else self
        if isinstance(value.raw, Made):
            return value.resource.deployment.resource_made(value.raw)
        if isinstance(value.raw, Unknown) and not isinstance(value.raw, PartText):
            raise value.not_known()
        return None

    def broken(self, path: str = "", *, must: str, cure: str, got: object = None) -> Broken:
        """The finding that the value at a path breaks the rule.

        Args:
            path: below this value. Default: this value.
            must: what would keep the rule, after "must".
            cure: what to change, as an order.
            got: what to show in place of the value. Default: the value, "nothing" if absent.
        """
        value = self.at(path) if path else self
        return Broken(value.resource, value.path, must, shown(value.raw if got is None else got), cure)


def _reason(raw: object) -> str:
    """Why a value tells a rule nothing."""
    if isinstance(raw, Unknown):
        return raw.reason
    if isinstance(raw, Made):
        return f"only a deploy tells what {shown(raw)} is"
    if isinstance(raw, SsmParameter):
        return f"it is what the SSM parameter {raw.name} holds at the deploy"
    if isinstance(raw, (Zones, ZoneAt)):
        return "only a deploy tells the zones of the Region"
    if isinstance(raw, StackOutput):
        return f"it is the output {raw.name} of a stack that is deployed already"
    return _AS_WRITTEN


def _below(value: Value, marker: Unknown, names: list[str]) -> Any:
    """What lies below a value of which it is known what it can be."""
    found = [Value(value.resource, value.path, each).at(".".join(names)).raw for each in marker.choices]
    if all(each == found[0] for each in found):
        return found[0]
    is_open = any(each is None or is_marker(each) for each in found)
    return replace(marker, choices=() if is_open else tuple(found))


def _is_single(marker: object) -> bool:
    """Whether what it stands for is one value for sure, and no list: a reference, an ARN, a text in part."""
    if isinstance(marker, Made):
        return marker.attribute is None or marker.attribute.endswith(_ONE)
    return isinstance(marker, (PartText, ZoneAt))


def shown(value: object) -> str:
    """A value as a message has it."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Made):
        return value.logical_id if value.attribute is None else f"{value.logical_id}.{value.attribute}"
    if is_marker(value) and not isinstance(value, PartText):
        return _ONLY_A_DEPLOY
    text = repr(_readable(value))
    return f"{text[:117]}..." if len(text) > 120 else text


def _readable(value: object) -> object:
    """The value with texts in place of markers, at whatever depth."""
    if isinstance(value, PartText):
        return value.written
    if is_marker(value):
        return shown(value)
    if isinstance(value, Mapping):
        return {name: _readable(each) for name, each in value.items()}
    return [_readable(each) for each in value] if isinstance(value, (list, tuple)) else value


def any_of(judge: Callable[[T], bool], items: Iterable[T]) -> bool:
    """Whether it is true of one of the items; one that cannot be judged matters only if it is true of none.

    Raises:
        NotKnown: it is true of none that can be judged, and one cannot be.
    """
    doubt: NotKnown | None = None
    for item in items:
        try:
            if judge(item):
                return True
        except NotKnown as not_known:
            doubt = doubt or not_known
    if doubt is not None:
        raise doubt
    return False


def all_of(judge: Callable[[T], bool], items: Iterable[T]) -> bool:
    """Whether it is true of all items; one that cannot be judged matters only if it is true of all others.

    Raises:
        NotKnown: it is true of all that can be judged, and one cannot be.
    """
    return not any_of(lambda item: not judge(item), items)
