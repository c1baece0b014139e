"""Small files that the parts of the program and the boot script leave for each other."""

from __future__ import annotations

from pathlib import Path

_LIMIT_BYTES = 1 << 20


def read_text(path: Path) -> str | None:
    """Return what a file holds, None if there is no such file.

    Raises OSError if it cannot be read, ValueError if it is no text or more than 1 MiB.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_LIMIT_BYTES + 1)
    except FileNotFoundError:
        return None
    if len(content) > _LIMIT_BYTES:
        raise ValueError(f"{path}: more than {_LIMIT_BYTES >> 20} MiB")
    return content.decode("utf-8")


def write_atomically(path: Path, text: str) -> None:
    """Replace a file, so that a reader sees the old text or the new one; raise OSError if that fails.

    Its directory is made if need be.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.new")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
