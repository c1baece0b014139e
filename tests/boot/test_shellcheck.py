"""shellcheck has nothing to say about any shell script of the project, nor about those that it writes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.boot.machines import NODE
from tests.boot.test_install import LAUNCHER, install
from tests.constructs.reading import user_data
from tests.constructs.scenarios import SCENARIOS, template
from tests.support.stacks import ROOT

SHELLCHECK = Path(sys.executable).with_name("shellcheck")
FLEETS = sorted(set(SCENARIOS) - {"idle_release"})  # that one has no instances of its own
_NOT_OURS = {"node_modules", "build", "cdk.out", "dist"}


def scripts() -> list[Path]:
    """Every shell script of the checkout."""
    found = [path for path in ROOT.rglob("*.sh") if not ignored(path.relative_to(ROOT))]
    return sorted([*found, ROOT / ".ci" / "run"])


def ignored(path: Path) -> bool:
    return path.parts[0] in _NOT_OURS or path.parts[0].startswith(".")


def findings(script: Path, *options: str) -> str:
    """What shellcheck says."""
    checked = subprocess.run([SHELLCHECK, *options, str(script)], capture_output=True, text=True, check=False)
    return checked.stdout + checked.stderr


def test_the_scripts_are_found() -> None:
    names = {path.name for path in scripts()}
    assert {"boot.sh", "driver.sh", "late-driver.sh", "install.sh", "worker.sh", "run"} <= names


@pytest.mark.parametrize("script", scripts(), ids=lambda path: str(path.relative_to(ROOT)))
def test_scripts(script: Path) -> None:
    first = script.read_text().partition("\n")[0]
    # A part of a larger script has no first line of its own; bash runs all of those.
    assert findings(script, *([] if first.startswith("#!") else ["--shell=bash"])) == ""


@pytest.mark.parametrize("fleet", FLEETS)
def test_user_data(fleet: str, tmp_path: Path) -> None:
    script = tmp_path / "user-data"
    # In a template, what only a deploy settles is a reference, which the tests write as <Name>, or a ${Name}.
    script.write_text(re.sub(r"<[A-Za-z0-9:.]+>|\$\{AWS::\w+\}", "name", user_data(template(fleet))))
    # What is read is a file that the script itself has written, and one of the node program, which uses the variables.
    assert findings(script, "--exclude=SC1091,SC2034") == ""


def test_the_command_that_the_installer_writes(tmp_path: Path) -> None:
    install(NODE, tmp_path)
    assert findings(tmp_path / "machine" / LAUNCHER) == ""
