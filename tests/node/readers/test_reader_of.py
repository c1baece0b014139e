"""A reader is found by its name alone, so that a new kind is a new module and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from constructs_lib.node import readers
from constructs_lib.node.readings import Output, Reading
from tests.node.readers.recorded import FIXTURES, KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_a_reader(kind: str) -> None:
    reader = readers.reader_of(kind)

    assert reader.FAULT_LINES
    assert reader.commands(1)


def test_each_reader_has_recorded_answers() -> None:
    modules = {path.stem for path in Path(readers.__file__).parent.glob("*.py")}

    assert {path.name for path in FIXTURES.iterdir()} == set(KINDS)
    assert modules - {"__init__", "figures", "reports"} == set(KINDS)


def test_a_module_that_is_placed_there_is_a_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "abacus.py").write_text(
        "from constructs_lib.node.readings import Command, Device, Reading\n"
        "FAULT_LINES = ('bead lost',)\n"
        "def commands(expected):\n"
        "    return (Command(('abacus',)),)\n"
        "def parse(outputs):\n"
        "    return Reading((Device(0, utilization=1.0),))\n"
    )
    monkeypatch.setattr(readers, "__path__", [*readers.__path__, str(tmp_path)])

    reader = readers.reader_of("abacus")

    assert reader.FAULT_LINES == ("bead lost",)
    assert isinstance(reader.parse([Output(0, "")]), Reading)


@pytest.mark.parametrize(
    "name",
    [
        "../x",
        "__init__",
        "figures",
        "reports",
        "",
        "nvidia ",
        "Nvidia",
        "nvidia.x",
        ".nvidia",
        "nvidiä",
        "os",
        "nvidia\n",
    ],
)
def test_a_name_that_is_no_kind_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"settings: kind must be the name of a reader, got .*; correct it, or add"):
        readers.reader_of(name)


def test_what_fails_inside_a_reader_is_not_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken.py").write_text("import there_is_no_such_module\n")
    monkeypatch.setattr(readers, "__path__", [*readers.__path__, str(tmp_path)])

    with pytest.raises(ModuleNotFoundError, match="there_is_no_such_module"):
        readers.reader_of("broken")
