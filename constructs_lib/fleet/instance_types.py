"""Which instance types a fleet may mix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aws_cdk import aws_ec2 as ec2

from constructs_lib.catalog import AcceleratedType, instead_of, lookup
from constructs_lib.errors import ArgumentError, UnsupportedInstanceTypeError
from constructs_lib.telemetry import AcceleratorKind, kind_of
from constructs_lib.validation import complaint

_PARAMETER = "instance_types"

InstanceTypes = str | ec2.InstanceType | AcceleratedType | Sequence[str | ec2.InstanceType | AcceleratedType]


def accelerated_types(where: str, given: InstanceTypes) -> tuple[tuple[AcceleratedType, ...], AcceleratorKind]:
    """The facts of the given types, in the given order, which is that of preference, and the kind that all have.

    Raises:
        ArgumentError: nothing given, a duplicate, or something that names no instance type.
        UnknownInstanceTypeError: a type that the catalogue does not have.
        UnsupportedInstanceTypeError: a type is withdrawn, has no accelerator or one of a kind not supported yet, or the
            types differ in CPU architecture, accelerator kind or driver.
    """
    entries = [given] if isinstance(given, (str, ec2.InstanceType, AcceleratedType)) else given
    if not isinstance(entries, (list, tuple)) or not entries:
        cure = 'write for example ["g6.xlarge", "g5.xlarge"]'
        raise ArgumentError(complaint(where, _PARAMETER, "name at least one instance type", given, cure))
    types = tuple(_facts(where, entry) for entry in entries)
    names = [each.name for each in types]
    if len(set(names)) < len(names):
        cure = "remove the repetition: the order of the list is the order of preference"
        raise ArgumentError(complaint(where, _PARAMETER, "name each type once", names, cure))
    _check_one(where, "CPU architecture", {each.name: each.architecture for each in types})
    kind = kind_of(types, where=where)
    _check_one(where, "kernel driver", {each.name: each.driver for each in types})
    return types, kind


def _facts(where: str, entry: object) -> AcceleratedType:
    match entry:
        case AcceleratedType():
            return _offered(where, entry)
        case ec2.InstanceType():
            return _offered(where, lookup(entry.to_string(), where=where, parameter=_PARAMETER))
        case str():
            return _offered(where, lookup(entry, where=where, parameter=_PARAMETER))
    rule = "hold names, ec2.InstanceType or AcceleratedType"
    raise ArgumentError(complaint(where, _PARAMETER, rule, entry, 'write for example "g6.xlarge"'))


def _offered(where: str, facts: AcceleratedType) -> AcceleratedType:
    """The catalogue also remembers types that AWS has withdrawn."""
    if facts.status == "retired":
        since = f"it was withdrawn on {facts.retired_on}: " if facts.retired_on else ""
        cure = f"{since}choose {instead_of(facts)}"
        raise UnsupportedInstanceTypeError(complaint(where, _PARAMETER, "still be offered by AWS", facts.name, cure))
    return facts


def _check_one(where: str, what: str, by_type: Mapping[str, str | None]) -> None:
    """All instances of a group boot one image, which fits one architecture and brings one driver."""
    if len(set(by_type.values())) > 1:
        cure = "make one fleet for each: all instances of a group boot the same image"
        raise UnsupportedInstanceTypeError(complaint(where, _PARAMETER, f"share one {what}", dict(by_type), cure))
