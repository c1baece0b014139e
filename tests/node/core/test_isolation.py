"""The program is shipped as a directory: it needs nothing but Python 3.9 and itself."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import constructs_lib.node as node
from constructs_lib.node import names
from tests.node.readers.recorded import recorded

DIRECTORY = Path(node.__file__).parent
FILES = sorted(DIRECTORY.rglob("*.py"))
OLDEST = (3, 9)

# What came with 3.10 or later ("What's New in Python"), of what a program like this would use.
TOO_NEW = {
    *("TypeAlias", "ParamSpec", "Concatenate", "TypeGuard", "TypeIs", "Self", "LiteralString", "Never", "NotRequired"),
    *("Required", "Unpack", "TypeVarTuple", "override", "assert_never", "assert_type", "reveal_type", "StrEnum"),
    *("pairwise", "batched", "bit_count", "EllipsisType", "NoneType", "UnionType", "ExceptionGroup", "add_note"),
    *("chdir", "aclosing", "hardlink_to", "is_junction", "TaskGroup", "tomllib", "UTC", "get_annotations", "anext"),
}
TOO_NEW_ARGUMENTS = {"dataclass": {"slots", "kw_only", "match_args"}, "field": {"kw_only"}, "zip": {"strict"}}


def name_of(path: Path) -> str:
    return str(path.relative_to(DIRECTORY))


@pytest.fixture(params=FILES, ids=name_of)
def file(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


@pytest.fixture
def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"), str(file), feature_version=OLDEST)


def evaluated(tree: ast.AST) -> Iterator[ast.AST]:
    """Everything in a file that is evaluated when it runs: all but the annotations, which stay text."""
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns"):
            continue
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, ast.AST):
                yield item
                yield from evaluated(item)


def is_a_type(operand: ast.expr) -> bool:
    """Whether an operand of ``|`` looks like a type: a flag is written in capitals."""
    if isinstance(operand, ast.Subscript):
        return is_a_type(operand.value)
    if isinstance(operand, ast.Constant):
        return operand.value is None
    name = operand.attr if isinstance(operand, ast.Attribute) else getattr(operand, "id", "")
    return name in {"str", "int", "float", "bool", "bytes", "list", "dict", "tuple", "set", "object", "type"} or (
        name[:1].isupper() and not name.isupper()
    )


def test_there_is_something_to_look_at() -> None:
    assert {"cli.py", "program.py", "tool.py", "readers/nvidia.py", "setup/__init__.py"} <= {*map(name_of, FILES)}


def test_annotations_stay_text(tree: ast.Module) -> None:
    statements = [statement for statement in tree.body if not isinstance(statement, ast.Expr)]
    if statements:
        first = statements[0]
        assert isinstance(first, ast.ImportFrom)
        assert first.module == "__future__"
        assert [alias.name for alias in first.names] == ["annotations"]


def test_nothing_is_imported_but_the_standard_library_and_itself(file: Path, tree: ast.Module) -> None:
    depth = len(file.relative_to(DIRECTORY).parts)
    for statement in ast.walk(tree):
        if isinstance(statement, ast.Import):
            assert {alias.name.partition(".")[0] for alias in statement.names} <= sys.stdlib_module_names
        elif isinstance(statement, ast.ImportFrom) and statement.level == 0:
            assert (statement.module or "").partition(".")[0] in sys.stdlib_module_names
        elif isinstance(statement, ast.ImportFrom):
            assert statement.level <= depth, f"line {statement.lineno} leaves the directory"


def test_no_union_of_types_is_evaluated(tree: ast.Module) -> None:
    unions = [
        item.lineno
        for item in evaluated(tree)
        if isinstance(item, ast.BinOp) and isinstance(item.op, ast.BitOr) and is_a_type(item.left)
    ]
    assert unions == []


def test_no_name_is_newer_than_the_oldest_python(tree: ast.Module) -> None:
    for item in ast.walk(tree):
        if isinstance(item, (ast.Import, ast.ImportFrom)):
            assert not {alias.name for alias in item.names} & TOO_NEW
        elif isinstance(item, ast.Attribute):
            assert item.attr not in TOO_NEW, f"line {item.lineno}"
        elif isinstance(item, ast.Call):
            function = getattr(item.func, "id", getattr(item.func, "attr", ""))
            assert not {keyword.arg for keyword in item.keywords} & TOO_NEW_ARGUMENTS.get(function, set())


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("A = int | None", True),
        ("A = Union[Reading, X] | None", True),
        ("isinstance(x, int | str)", True),
        ("def f(x: int | None) -> int | None: ...", False),
        ("class A:\n    x: int | None = None", False),
        ("flags = os.O_RDONLY | os.O_CLOEXEC", False),
        ("names = a | b", False),
    ],
)
def test_the_search_for_unions_finds_them(source: str, found: bool) -> None:
    unions = [item for item in evaluated(ast.parse(source)) if isinstance(item, ast.BinOp) and is_a_type(item.left)]
    assert bool(unions) is found


def test_syntax_of_a_later_python_is_refused() -> None:
    with pytest.raises(SyntaxError):
        ast.parse("match x:\n    case 1: pass", feature_version=OLDEST)


MODULES = [
    ".".join(["accelerated_node", *file.relative_to(DIRECTORY).with_suffix("").parts]).removesuffix(".__init__")
    for file in FILES
]


def unpack(place: Path) -> None:
    """As on an instance: only the directory, called accelerated_node."""
    shutil.copytree(DIRECTORY, place / "accelerated_node", ignore=shutil.ignore_patterns("__pycache__"))


def test_it_runs_alone_under_another_name(tmp_path: Path) -> None:
    """No other package is in reach."""
    unpack(tmp_path)
    script = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        f"import {', '.join(MODULES)}\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules} - sys.stdlib_module_names))"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-B", "-c", script], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) - {"__main__"} == {"accelerated_node"}
    shown = subprocess.run(
        [sys.executable, "-s", "-B", "-m", "accelerated_node", "--root", str(tmp_path), "status"],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (shown.returncode, shown.stdout) == (3, "")


def interpreter_of(version: str) -> str:
    """Return the interpreter of this version; skip the test where there is none that runs."""
    name = f"python{version}"
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not on this machine")
    # What a version manager puts on the path is there for each version, and runs those that are chosen.
    asked = subprocess.run(
        [path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True, check=False
    )
    if asked.returncode != 0:
        pytest.skip(f"{name} does not run on this machine: {asked.stderr.strip()[:100]}")
    assert asked.stdout.strip() == version
    return path


@pytest.mark.parametrize("version", ["3.9", "3.10", "3.11", "3.12", "3.13"])
def test_every_python_that_an_instance_may_have_runs_it(version: str, tmp_path: Path) -> None:
    """Every module is imported, and a tool is run whose answer was recorded."""
    interpreter = interpreter_of(version)
    unpack(tmp_path)
    answer, tool = tmp_path / "answer.xml", tmp_path / "bin" / "nvidia-smi"
    answer.write_text(recorded("nvidia", "busy-v12.xml"))
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\nexec cat "{answer}"\n')
    tool.chmod(0o755)
    settings = tmp_path / names.SETTINGS_FILE.lstrip("/")
    settings.parent.mkdir(parents=True)
    settings.write_text('{"kind": "nvidia", "expected": {"g6.xlarge": 1}}')

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PATH": f"{tool.parent}:{os.environ['PATH']}", "PYTHONPATH": str(tmp_path)}
        command = [interpreter, "-W", "error", "-s", "-B", *arguments]
        return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)

    imported = run("-c", f"import {', '.join(MODULES)}")
    assert (imported.returncode, imported.stderr) == (0, "")
    read = run("-m", "accelerated_node", "--root", str(tmp_path), "read", "--json")
    assert (read.returncode, read.stderr) == (0, "")
    devices = json.loads(read.stdout)["devices"]
    assert devices
    assert all("utilization" in device for device in devices)
    busy = run("-m", "accelerated_node", "--root", str(tmp_path), "busy", "--", "sh", "-c", "exit 7")
    assert busy.returncode == 7
