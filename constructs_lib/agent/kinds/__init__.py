"""How each kind of accelerator is measured: one module for each kind, named like the kind, with a constant ``KIND``.

Another kind needs a module here and a reader in ``constructs_lib/node/readers``; CONTRIBUTING.md says what else a
peculiar one may need.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from constructs_lib.agent.kinds.description import AcceleratorKind, Measurement
from constructs_lib.catalog import AcceleratedType
from constructs_lib.errors import ArgumentError, UnsupportedInstanceTypeError
from constructs_lib.validation import complaint

__all__ = ["AcceleratorKind", "Measurement", "kind_named", "kind_of"]


def kind_named(name: str) -> AcceleratorKind:
    """Return the description of a kind.

    Raises:
        ModuleNotFoundError: nobody has described this kind.
    """
    described: AcceleratorKind = import_module(f"{__name__}.{name}").KIND
    return described


def kind_of(
    types: Sequence[AcceleratedType], *, where: str = "telemetry", parameter: str = "instance_types"
) -> AcceleratorKind:
    """Return the one kind of accelerator that all these types have.

    Args:
        types: at least one.
        where: construct path, for messages. Default: ``telemetry``.
        parameter: whose value the types are, for messages. Default: ``instance_types``.

    Raises:
        ArgumentError: there is no type.
        UnsupportedInstanceTypeError: the types are of several kinds.
    """
    if not types:
        cure = "give for example ['g6.xlarge']"
        raise ArgumentError(complaint(where, parameter, "name at least one instance type", list(types), cure))
    kinds = {each.kind for each in types}
    if len(kinds) > 1:
        named = [f"{each.name} ({each.kind})" for each in types]
        rule = "be of one kind of accelerator"
        raise UnsupportedInstanceTypeError(complaint(where, parameter, rule, named, "make one fleet for each kind"))
    return kind_named(kinds.pop())
