"""Where the program's files lie."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Places:
    """The file system of the instance: the paths of `names` lie below `root`."""

    root: Path = Path("/")

    def file(self, path: str) -> Path:
        """Return where a file of this machine lies, given its absolute path."""
        return self.root / path.lstrip("/")
