"""Names of a package that are imported when they are first asked for (PEP 562), so that nobody pays for the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence


def late_names(
    package: str, namespace: dict[str, object], homes: Mapping[str, Sequence[str]]
) -> Callable[[str], object]:
    """The ``__getattr__`` of a package.

    Args:
        package: its name.
        namespace: its globals, where a name stays once it was asked for.
        homes: the names by the module of the package that has them.
    """

    def find(name: str) -> object:
        for module, names in homes.items():
            if name in names:
                from importlib import import_module

                value = namespace[name] = getattr(import_module(f"{package}.{module}"), name)
                return value
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find
