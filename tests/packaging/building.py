"""Builds of this project, made without the network, and what an example synthesizes to from each of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

CHECKOUT = Path(__file__).resolve().parents[2]
SYNTH = CHECKOUT / "scripts" / "synth.py"

_SOURCES = ("constructs_lib", "lambda_handlers")
_BUILD_FILES = ("pyproject.toml", "README.md", "LICENSE", "NOTICE", ".gitignore")
# An editable install is a .pth file, which Python reads in site directories only.
_WITH_SITE_DIRECTORY = (
    "import runpy, site, sys; site.addsitedir(sys.argv.pop(1)); sys.argv.pop(0);"
    " runpy.run_path(sys.argv[0], run_name='__main__')"
)


@dataclass(frozen=True)
class Assembly:
    """What synthesis wrote: each template's bytes, and the names of the assets, which hold their hashes."""

    templates: dict[str, bytes]
    assets: list[str]


def copy_sources(destination: Path) -> Path:
    """Copy what a build needs to ``destination``, without byte-code caches, and return it."""
    for name in _SOURCES:
        shutil.copytree(CHECKOUT / name, destination / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in _BUILD_FILES:
        shutil.copy(CHECKOUT / name, destination / name)
    return destination


def build_wheel(sources: Path, destination: Path) -> Path:
    """Build the wheel of ``sources`` into ``destination``."""
    return _build(sources, destination, "build_wheel")


def build_editable(sources: Path, destination: Path) -> Path:
    """Build what ``pip install --editable`` of ``sources`` installs."""
    return _build(sources, destination, "build_editable")


def unpack(wheel: Path, destination: Path) -> Path:
    """Unpack a wheel as an installation would and return the folder that stands for site-packages."""
    with ZipFile(wheel) as archive:
        archive.extractall(destination)
    return destination


def synthesize(examples: Path, output: Path, *, site_directory: Path) -> dict[str, Assembly]:
    """Synthesize every example of the folder in a fresh interpreter.

    Args:
        examples: the folder, beside which no library lies.
        output: where the assemblies go.
        site_directory: a checkout, or what stands for the site-packages of an installation.
    """
    program = [str(site_directory), str(SYNTH), str(output), "--examples", str(examples)]
    _run([sys.executable, "-c", _WITH_SITE_DIRECTORY, *program], cwd=output.parent)
    return read_assemblies(output)


def read_assemblies(output: Path) -> dict[str, Assembly]:
    """Read what ``scripts/synth.py`` wrote, by the name of the example."""
    return {example.name: _read_assembly(example) for example in output.iterdir()}


def _read_assembly(directory: Path) -> Assembly:
    return Assembly(
        templates={path.name: path.read_bytes() for path in directory.glob("*.template.json")},
        assets=sorted(path.name for path in directory.glob("asset.*")),
    )


def _build(sources: Path, destination: Path, hook: str) -> Path:
    destination.mkdir(parents=True)
    call = f"import sys; from hatchling.build import {hook}; {hook}(sys.argv[1])"
    _run([sys.executable, "-c", call, str(destination)], cwd=sources)
    (wheel,) = destination.iterdir()
    return wheel


def _run(command: list[str], *, cwd: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    # The CDK's own check of a template takes most of the time of a synthesis, and changes nothing in what it writes.
    environment["CDK_VALIDATION"] = "false"
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
