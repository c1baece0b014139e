"""Mutation testing of the release function's deciding and acting modules, with mutmut.

    python -m tests.mutants.run [--jobs N] [MODULE ...]

Works on a copy in build/mutants, because mutmut knows a module by its path: there the handlers lie in src/, and are
imported as on Lambda. Prints every mutant that survives with what it changes, and the share that the tests kill;
exits with 1 when that is less than the bound. A survivor that changes only a sentence written for people is counted
apart: what such a sentence must say is tested where somebody acts on it. The others are explained in README.md beside
this file.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from mutmut.stats import status_by_exit_code

CHECKOUT = Path(__file__).resolve().parents[2]
PLACE = CHECKOUT / "build" / "mutants"
LEAST_KILLED = 0.95

MODULES = (
    "acting",
    "decision",
    "launch_trouble",
    "launches",
    "leaving",
    "look",
    "measurement",
    "members",
    "planning",
    "release_pass",
    "state",
    "state_document",
    "termination",
    "unknown_memory",
)
TESTS = (
    "tests/handlers/test_activities.py",
    "tests/handlers/test_launches.py",
    "tests/handlers/test_leaving.py",
    "tests/handlers/test_measurement.py",
    "tests/handlers/test_mutants_*.py",
    "tests/handlers/test_release_*.py",
    "tests/handlers/test_state.py",
)
"""Without the random worlds: they would kill some more, in a hundred times the time."""

SLOW = ("thousand", "twelve_hundred", "any_order", "without_the_number_of_the_version")
"""Tests of scale and of every order of calls take seconds each, and what they would kill, quicker ones kill."""

_FOUND_OUT = ("killed", "timeout", "segfault", "suspicious")
"""A mutant that loops for ever or ends the process is found out as well as one that a test names."""

_TEXT = re.compile(r'"([^"]*)"')

_SETTINGS = """\
[tool.mutmut]
source_paths = ["src"]
only_mutate = [{only}]
pytest_add_cli_args = [
  "-p", "no:cacheprovider", "--import-mode=importlib", "--disable-socket", "--allow-unix-socket", "-k", "{skipped}",
]
pytest_add_cli_args_test_selection = [{tests}]
# A line written to the log for people may say anything.
do_not_mutate_patterns = ['\\.log\\.(info|warning|error)\\(']
timeout_constant = 5.0
use_git_change_detection = false

[tool.pytest.ini_options]
pythonpath = ["src", "."]
filterwarnings = ["error", "ignore::pytest.PytestUnraisableExceptionWarning"]
"""


def main() -> None:
    """Run mutmut and tell."""
    parser = argparse.ArgumentParser(description="Find the faults that the tests would miss.")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes; default: one for each core")
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=f"default: {' '.join(MODULES)}")
    arguments = parser.parse_args()
    prepare(arguments.modules or MODULES)
    command = [str(Path(sys.executable).with_name("mutmut")), "run", "--max-children", str(arguments.jobs)]
    done = subprocess.run(command, cwd=PLACE, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    sys.exit(0 if told() else 1)


def prepare(modules: Sequence[str]) -> None:
    """Lay the handlers and their tests out as mutmut wants them. What did not change keeps its results."""
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(parents=True)
    leave = shutil.ignore_patterns("__pycache__")
    shutil.copytree(CHECKOUT / "lambda_handlers", PLACE / "src", ignore=leave)
    (PLACE / "tests").mkdir()
    shutil.copytree(CHECKOUT / "tests" / "handlers", PLACE / "tests" / "handlers", ignore=leave)
    for name in ("__init__.py", "conftest.py"):
        shutil.copy(CHECKOUT / "tests" / name, PLACE / "tests" / name)
    tests = sorted(str(path.relative_to(PLACE)) for pattern in TESTS for path in PLACE.glob(pattern))
    settings = _SETTINGS.format(
        only=", ".join(f'"src/release_idle/{module}.py"' for module in modules),
        tests=", ".join(f'"{test}"' for test in tests),
        skipped=" and ".join(f"not {name}" for name in SLOW),
    )
    (PLACE / "pyproject.toml").write_text(settings)


def told() -> bool:
    """Print what became of the mutants; return whether enough were killed."""
    outcomes = {name: status_by_exit_code[code] for name, code in results()}
    left = {name: changed_lines(name) for name, outcome in sorted(outcomes.items()) if outcome not in _FOUND_OUT}
    sentences = {name for name, lines in left.items() if changes_a_sentence(*lines)}
    for name, (before, after) in left.items():
        if name not in sentences:
            print(f"{outcomes[name]}: {name}", *before, *after, sep="\n    ")
    counted = len(outcomes) - len(sentences)
    killed = len(outcomes) - len(left)
    share = killed / counted if counted else 0.0
    print(f"{len(outcomes)} mutants: {dict(Counter(outcomes.values()))}")
    print(f"{len(sentences)} survivors change a sentence only")
    print(f"{killed} of the other {counted} killed: {share:.1%}, at least {LEAST_KILLED:.0%} must be")
    return share >= LEAST_KILLED


def results() -> Iterator[tuple[str, int | None]]:
    """Yield every mutant with the exit code of its tests."""
    for path in sorted((PLACE / "mutants").rglob("*.py.meta")):
        yield from json.loads(path.read_text())["exit_code_by_key"].items()


def changed_lines(name: str) -> tuple[list[str], list[str]]:
    """Return the lines that a mutant replaces, and what it puts there."""
    command = [str(Path(sys.executable).with_name("mutmut")), "show", name]
    shown = subprocess.run(command, cwd=PLACE, capture_output=True, text=True, check=False).stdout.splitlines()
    changed = [line for line in shown if line[:1] in ("+", "-") and line[:3] not in ("+++", "---")]
    return [line for line in changed if line[0] == "-"], [line for line in changed if line[0] == "+"]


def changes_a_sentence(before: Sequence[str], after: Sequence[str]) -> bool:
    """Return whether nothing differs but the text of literals with several words: names and keys have one."""
    if len(before) != len(after):
        return False
    for old, new in zip(before, after, strict=True):
        differing = [pair for pair in zip(_TEXT.findall(old), _TEXT.findall(new), strict=False) if pair[0] != pair[1]]
        if _TEXT.sub("", old[1:]) != _TEXT.sub("", new[1:]) or not all(" " in text for text, _ in differing):
            return False
    return bool(before)


if __name__ == "__main__":
    main()
