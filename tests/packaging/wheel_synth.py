"""Install the built wheel alone into empty environments and synthesize every example there, away from the checkout.

Once with the pinned versions, where the result must equal the checkout's byte for byte, and once with the oldest
versions that the wheel allows, where synthesis must succeed. Needs the package index, so it is no test of the suite:
``make package`` runs it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

from tests.packaging.building import CHECKOUT, SYNTH, Assembly, read_assemblies


def main() -> None:
    """Check the wheel that the command line names."""
    (wheel,) = (Path(argument).resolve() for argument in sys.argv[1:])
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        expected = synthesize(sys.executable, CHECKOUT / "examples", place / "checkout")

        pinned = install(place / "pinned", wheel, ["--constraint", str(CHECKOUT / "requirements-dev.txt")])
        shutil.copytree(CHECKOUT / "examples", place / "apart" / "examples")
        differing = differences(expected, synthesize(pinned, place / "apart" / "examples", place / "from-pinned"))
        if differing:
            sys.exit(f"from the wheel these differ from the checkout: {', '.join(differing)}")
        print(f"wheel alone, pinned versions: {', '.join(sorted(expected))} equal the checkout's")

        floors = oldest_allowed(wheel)
        oldest = install(place / "oldest", wheel, floors)
        synthesize(oldest, place / "apart" / "examples", place / "from-oldest")
        print(f"wheel alone, {' and '.join(floors)}: every example synthesizes")


def install(place: Path, wheel: Path, arguments: list[str]) -> str:
    """Install the wheel and what it requires, and nothing else, into a new environment; return its interpreter."""
    run([sys.executable, "-m", "venv", "--without-pip", str(place)])
    interpreter = str(place / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", interpreter, "install", "--quiet", "--no-compile"]
    run([*pip, str(wheel), *arguments])
    return interpreter


def oldest_allowed(wheel: Path) -> list[str]:
    """Return the wheel's runtime requirements, each at its lowest version."""
    with ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(name).decode())
    required = [text for text in metadata.get_all("Requires-Dist", []) if "extra ==" not in text]
    return [re.sub(r"^([\w-]+).*>=([\d.]+).*$", r"\1==\2", text) for text in required]


def synthesize(interpreter: str, examples: Path, output: Path) -> dict[str, Assembly]:
    """Synthesize with ``interpreter``, which sees its own packages and the examples only."""
    run([interpreter, "-I", str(SYNTH), str(output), "--examples", str(examples)])
    return read_assemblies(output)


def differences(expected: dict[str, Assembly], found: dict[str, Assembly]) -> list[str]:
    """Return the examples that are not the same in both."""
    return sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))


def run(command: list[str]) -> None:
    """Run a command in a neutral folder; its output appears when it fails, and the failure ends this program."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=tempfile.gettempdir(), env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main()
