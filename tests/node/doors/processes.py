"""Real processes that hold locks or run the program. They tell by a pipe how far they are; nothing waits for time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PACKAGE = Path(__file__).parents[3] / "constructs_lib" / "node"

AS_ON_AN_INSTANCE = f"""
import importlib.util, sys
sys.dont_write_bytecode = True
_spec = importlib.util.spec_from_file_location(
    "accelerated_node", {str(_PACKAGE / "__init__.py")!r}, submodule_search_locations=[{str(_PACKAGE)!r}]
)
sys.modules["accelerated_node"] = importlib.util.module_from_spec(_spec)
"""
"""Makes the program a package of its own; below constructs_lib it would bring the CDK along."""

_HOLDER = """
import fcntl, os, struct, sys
kind, path = sys.argv[1:]
file = os.open(path, os.O_RDONLY if os.path.isdir(path) else os.O_RDWR | os.O_CREAT, 0o600)
if kind == "FLOCK":
    fcntl.flock(file, fcntl.LOCK_SH)
elif kind == "POSIX":
    fcntl.lockf(file, fcntl.LOCK_EX)
else:
    fcntl.fcntl(file, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))  # F_OFD_SETLK
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def lock_holder(path: Path, kind: str = "FLOCK") -> Iterator[subprocess.Popen[str]]:
    """Another process that holds a lock of the kind on the file for as long as the block runs."""
    with started("-c", _HOLDER, kind, str(path)) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield holder


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A Python process; its standard input is closed and it is waited for when the block ends."""
    pipe = subprocess.PIPE
    command = [sys.executable, *arguments]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            if process.stdin and not process.stdin.closed:
                process.stdin.close()
