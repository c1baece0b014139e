"""Field case 71: an asset's hash must not differ per machine, nor stay the same when the code has changed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.packaging.building import (
    CHECKOUT,
    Assembly,
    build_editable,
    build_wheel,
    copy_sources,
    synthesize,
    unpack,
)


@pytest.fixture(scope="module")
def from_checkout(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Assembly]:
    return synthesize(CHECKOUT / "examples", tmp_path_factory.mktemp("checkout") / "out")


def test_case_71_every_example_has_a_template_and_an_asset(from_checkout: dict[str, Assembly]) -> None:
    assert sorted(from_checkout) == sorted(path.parent.name for path in (CHECKOUT / "examples").glob("*/app.py"))
    assert all(assembly.templates and assembly.assets for assembly in from_checkout.values())


def test_case_71_other_path_times_modes_and_caches_change_nothing(
    from_checkout: dict[str, Assembly], tmp_path: Path
) -> None:
    copy = copy_sources(tmp_path / "elsewhere")
    for path in [path for path in copy.rglob("*") if path.is_file()]:
        path.chmod(0o755 if path.suffix == ".py" else 0o600)
        os.utime(path, (1_000_000_000, 1_000_000_000))
    for folder in [copy / "lambda_handlers", *(copy / "lambda_handlers").iterdir()]:
        (folder / "__pycache__").mkdir()
        (folder / "__pycache__" / "index.cpython-310.pyc").write_bytes(b"left by a run of the tests")

    assert synthesize(copy / "examples", tmp_path / "out") == from_checkout


def test_case_71_wheel_gives_the_same_bytes(from_checkout: dict[str, Assembly], tmp_path: Path) -> None:
    sources = copy_sources(tmp_path / "sources")
    installed = unpack(build_wheel(sources, tmp_path / "dist"), tmp_path / "site-packages")
    examples = (sources / "examples").rename(tmp_path / "examples")

    assert synthesize(examples, tmp_path / "out", site_directory=installed) == from_checkout


def test_case_71_editable_install_gives_the_same_bytes(from_checkout: dict[str, Assembly], tmp_path: Path) -> None:
    sources = copy_sources(tmp_path / "sources")
    installed = unpack(build_editable(sources, tmp_path / "dist"), tmp_path / "site-packages")
    examples = (sources / "examples").rename(tmp_path / "examples")

    assert synthesize(examples, tmp_path / "out", site_directory=installed) == from_checkout


def append_a_byte_to_a_handler(handlers: Path) -> None:
    with (handlers / "release_idle" / "decision.py").open("a") as file:
        file.write("\n")


def put_a_table_beside_a_handler(handlers: Path) -> None:
    (handlers / "release_idle" / "table.json").write_text("{}")


@pytest.mark.parametrize("change", [append_a_byte_to_a_handler, put_a_table_beside_a_handler])
def test_case_71_changed_handlers_change_every_hash(
    from_checkout: dict[str, Assembly], tmp_path: Path, change: Callable[[Path], None]
) -> None:
    copy = copy_sources(tmp_path / "elsewhere")
    change(copy / "lambda_handlers")

    changed = synthesize(copy / "examples", tmp_path / "out")

    assert changed.keys() == from_checkout.keys()
    assert all(set(changed[name].assets).isdisjoint(from_checkout[name].assets) for name in changed)
