"""Names of instance types, as far as the catalogue knows them."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import cache

from constructs_lib.catalog import AcceleratedType, known_types, lookup
from constructs_lib.catalog.withdrawn import withdrawn_family
from constructs_lib.compliance.values import Value
from constructs_lib.errors import UnknownInstanceTypeError, UnsupportedInstanceTypeError


@cache
def facts_of(name: str) -> AcceleratedType | None:
    """The facts about an accelerated type. None: it has no accelerator, or the catalogue does not know it."""
    return known_types().get(_bare(name))


@cache
def types_named(name: str) -> tuple[AcceleratedType, ...]:
    """The accelerated types that a name stands for: one, or all of a family, as AWS Batch takes them too."""
    facts = facts_of(name)
    if facts is not None:
        return (facts,)
    return tuple(each for each in known_types().values() if each.family == _bare(name))


@cache
def is_accelerated(name: str) -> bool | None:
    """Whether a type has an accelerator; a size that the catalogue lacks is like its family. None: not known.

    Args:
        name: of an EC2 type, or of one of SageMaker's, which stand behind ``ml.``.
    """
    bare = _bare(name)
    if bare in known_types() or bare.partition(".")[0] in _families() or withdrawn_family(bare) is not None:
        return True
    try:
        lookup(bare)
    except UnsupportedInstanceTypeError:
        return False
    except UnknownInstanceTypeError:
        return None
    return True


def names_accelerators(value: Value) -> bool:
    """Whether a value names a type, a family or, with ``*``, one of several that has accelerators. Absent: it does not.

    Raises:
        NotKnown: the value is not known, and may be one or the other; or the catalogue does not know the type.
    """
    return same_for_each(_names_accelerators, value)


def same_for_each(question: Callable[[Value], bool], value: Value) -> bool:
    """The answer that is the same for all that a value can be.

    Raises:
        NotKnown: it is not the same, or not known.
    """
    answers = {question(each) for each in value.choices()}
    if len(answers) > 1:
        raise value.not_known()
    return answers.pop()


def _names_accelerators(value: Value) -> bool:
    name = value.text()
    # Batch takes words such as "optimal", too, which stand for types without accelerators; Studio takes "system".
    if name is None or name in ("optimal", "default_x86_64", "default_arm64", "system"):
        return False
    if "*" in name:
        return any(fnmatchcase(each, name) for each in known_types())
    known = is_accelerated(name if "." in name else f"{name}.xlarge")
    if known is None:
        raise value.not_known(f"the catalogue does not know the instance type {name}")
    return known


def _bare(name: str) -> str:
    return name.removeprefix("ml.")


@cache
def _families() -> frozenset[str]:
    return frozenset(each.family for each in known_types().values())
