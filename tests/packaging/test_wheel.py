"""What the wheel holds and says of itself."""

from __future__ import annotations

import re
from email.message import Message
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.packaging.building import CHECKOUT


@pytest.fixture
def names(wheel: Path) -> list[str]:
    with ZipFile(wheel) as archive:
        return archive.namelist()


@pytest.fixture
def metadata(wheel: Path) -> Message:
    with ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode())


def sources(folder: str) -> list[str]:
    root = CHECKOUT / folder
    files = [path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return [path.relative_to(root).as_posix() for path in files]


def test_wheel_holds_the_package_and_the_handlers_and_nothing_else(names: list[str]) -> None:
    package = {f"constructs_lib/{name}" for name in sources("constructs_lib")}
    handlers = {f"constructs_lib/_lambda_handlers/{name}" for name in sources("lambda_handlers")}

    shipped = {name for name in names if ".dist-info/" not in name}

    assert shipped == package | handlers


@pytest.mark.parametrize(
    "name",
    [
        "constructs_lib/py.typed",
        "constructs_lib/fleet/boot.sh",
        "constructs_lib/catalog/data/instance_types.csv",
        "constructs_lib/_lambda_handlers/release_idle/index.py",
        "constructs_lib/_lambda_handlers/release_idle/decision.py",
        "constructs_lib/_lambda_handlers/wake_on_demand/index.py",
        "constructs_lib/_lambda_handlers/fleet_cleanup/index.py",
        "constructs_lib/_lambda_handlers/runtime/environment.py",
    ],
)
def test_wheel_holds_what_synthesis_and_the_functions_read(names: list[str], name: str) -> None:
    assert name in names


def test_wheel_needs_the_cdk_and_nothing_else_at_run_time(metadata: Message) -> None:
    requirements = metadata.get_all("Requires-Dist", [])

    assert sorted(re.split(r"[<>=]", text)[0] for text in requirements if "extra ==" not in text) == [
        "aws-cdk-lib",
        "constructs",
    ]


def test_wheel_names_its_licence_and_oldest_python(metadata: Message) -> None:
    assert metadata["License-Expression"] == "Apache-2.0 AND CC-BY-4.0 AND CC-BY-SA-4.0"  # tables, see NOTICE
    assert metadata.get_all("License-File") == ["LICENSE", "NOTICE"]
    assert metadata["Requires-Python"] == ">=3.10"


def test_version_is_the_newest_of_the_changelog(metadata: Message) -> None:
    headings = re.findall(r"^## \[(.+?)\]", (CHECKOUT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)

    assert metadata["Version"] == headings[0]


def test_development_extra_names_what_setup_pins(metadata: Message) -> None:
    extra = {re.split(r"[;\s]", text)[0] for text in metadata.get_all("Requires-Dist", []) if text.endswith("== 'dev'")}
    called, _, _ = (CHECKOUT / "requirements-dev.txt").read_text().partition("# Needed by the above.")
    pinned = set(re.findall(r"^([A-Za-z0-9._-]+)==", called, flags=re.MULTILINE))

    # A wheel has names in small letters.
    assert extra == {each.lower() for each in pinned} - {"aws-cdk-lib", "constructs"}


def test_every_requirement_is_pinned_to_one_version() -> None:
    for file in ("requirements-dev.txt", "requirements-mutants.txt", "requirements-node.txt"):
        lines = [line for line in (CHECKOUT / file).read_text().splitlines() if line and not line.startswith("#")]

        assert [line for line in lines if not re.match(r"[A-Za-z0-9._-]+==[^*,;\s]+( ; .+)?$", line)] == []
