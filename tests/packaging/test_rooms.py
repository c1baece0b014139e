"""The rooms of the house (CONTRIBUTING.md): each may use those below it, never those above."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging.building import CHECKOUT

CONSTRUCTS, HANDLERS = CHECKOUT / "constructs_lib", CHECKOUT / "lambda_handlers"
ROOMS = (
    *("__init__", "cli", "compliance", "rehearsal", "fleet", "release", "scaling", "handlers", "telemetry", "agent"),
    *("node", "preflight", "template", "rightsizing", "catalog"),
)
"""From above to below, as the table has them."""
WITHOUT_THE_CDK = ("cli", "rehearsal", "agent", "node", "preflight", "template", "rightsizing", "catalog")
"""Rooms that are of use without an app: to load the CDK takes longer than anything that they do."""
CDK = {"aws_cdk", "constructs", "jsii"}
PLUGIN = "compliance.cdk."
"""What makes the rules a validation of the CDK's synthesis; the rest of the room is of use without an app."""
CELLAR = {each.stem for each in CONSTRUCTS.glob("*.py")} - {"__init__"}
"""Modules that every room may use, and that use no room."""
LEVELS = {**{room: level for level, room in enumerate(ROOMS)}, **dict.fromkeys(CELLAR, len(ROOMS))}


def imported(path: Path, root: Path) -> Iterator[str]:
    """Yield the full name of whatever a file imports, wherever in the file it does so."""
    yield from _imports(ast.parse(path.read_text(encoding="utf-8")), path, root)


def upward_arrows(root: Path) -> list[str]:
    """Imports of a room above the file's own."""
    found = []
    for path in sorted(root.rglob("*.py")):
        here = path.relative_to(root).parts[0].removesuffix(".py")
        for name in imported(path, root):
            package, _, rest = name.partition(".")
            # What is imported from the package itself and is no room comes through the front door.
            there = rest.split(".")[0] if rest.split(".")[0] in LEVELS else "__init__"
            if package == root.name and LEVELS[there] < LEVELS[here]:
                found.append(f"{path.relative_to(root.parent)} imports {name}")
    return found


def imported_at_once(path: Path, root: Path) -> Iterator[str]:
    """Yield the full name of whatever is imported together with the file: not in functions, not for type checkers."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) or (
            isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        ):
            node.body = [ast.Pass()]
    yield from _imports(tree, path, root)


def _imports(tree: ast.Module, path: Path, root: Path) -> Iterator[str]:
    package = path.relative_to(root.parent).parent.parts
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            outer = package[: len(package) + 1 - node.level] if node.level else ()
            module = ".".join([*outer, *([node.module] if node.module else [])])
            yield from (f"{module}.{each.name}" for each in node.names)


def test_the_rooms_are_those_of_the_table() -> None:
    table = (CHECKOUT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert tuple(re.findall(r"^\| `constructs_lib/(\w+)(?:\.py|/)` \|", table, re.MULTILINE)) == ROOMS
    assert {each.parent.name for each in CONSTRUCTS.glob("*/*.py")} == {*ROOMS[1:]}


def test_arrows_point_downwards_only() -> None:
    assert upward_arrows(CONSTRUCTS) == []


def needs_the_cdk(name: str) -> bool:
    """Whether what is imported is the CDK's, or of a room or a module of ours that has it."""
    package, _, rest = name.partition(".")
    with_it = {*(set(ROOMS) - set(WITHOUT_THE_CDK) - {"compliance"}), "acknowledgement", "claims", "notifications"}
    return package in CDK or (
        package == CONSTRUCTS.name and (rest.split(".")[0] in with_it or f"{rest}.".startswith(PLUGIN))
    )


@pytest.mark.parametrize("room", WITHOUT_THE_CDK)
def test_a_room_without_the_cdk_uses_none_that_has_it(room: str) -> None:
    for path in sorted((CONSTRUCTS / room).rglob("*.py")):
        assert [name for name in imported(path, CONSTRUCTS) if needs_the_cdk(name)] == [], path


def test_rules_are_asked_without_the_cdk() -> None:
    for path in sorted((CONSTRUCTS / "compliance").rglob("*.py")):
        found = [name for name in imported_at_once(path, CONSTRUCTS) if needs_the_cdk(name)]
        assert bool(found) == (path.name == "cdk.py"), path


def test_an_arrow_that_points_upwards_is_seen(tmp_path: Path) -> None:
    for file, code in {
        "release/__init__.py": "from constructs_lib.scaling import Hours\nfrom .loop import Loop\nimport json",
        "scaling/hours.py": "def late():\n    from constructs_lib.release import loop",
        "telemetry/names.py": "from constructs_lib import catalog, handlers",
        "node/sub/reader.py": "from ..names import A\nfrom ...fleet.boot import boot",
        "catalog/tables.py": "import constructs_lib.node.names",
        "errors.py": "from constructs_lib import AcceleratedFleet",
    }.items():
        path = tmp_path / "constructs_lib" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code)
    assert upward_arrows(tmp_path / "constructs_lib") == [
        "constructs_lib/catalog/tables.py imports constructs_lib.node.names",
        "constructs_lib/errors.py imports constructs_lib.AcceleratedFleet",
        "constructs_lib/node/sub/reader.py imports constructs_lib.fleet.boot.boot",
        "constructs_lib/scaling/hours.py imports constructs_lib.release.loop",
        "constructs_lib/telemetry/names.py imports constructs_lib.handlers",
    ]


def test_a_handler_uses_itself_and_what_all_share() -> None:
    packages = {each.name for each in HANDLERS.iterdir() if (each / "__init__.py").is_file()}
    for path in sorted(HANDLERS.rglob("*.py")):
        own = path.relative_to(HANDLERS).parts[0]
        used = {name.split(".")[0] for name in imported(path, HANDLERS)} & packages
        assert used <= {own, "runtime"}, path
