"""Writes several files as one: either all of them are new, or all are as they were."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

_NEW, _OLD = ".new", ".old"


def write_all(folder: Path, texts: Mapping[str, str]) -> None:
    """Write each text under its name in a folder, which is made if it is not there.

    Whatever can fail for want of space or permission is done on copies beside the files; only then do the copies take
    the files' places, and if one cannot, those before it go back. No file is ever missing or half written.

    Raises:
        OSError: something could not be written; the files are as they were.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        for name, text in texts.items():
            if (folder / name).exists():
                shutil.copyfile(folder / name, folder / f"{name}{_OLD}")
            with (folder / f"{name}{_NEW}").open("w", encoding="utf-8", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        _take_their_places(folder, list(texts))
    finally:
        for name in texts:
            (folder / f"{name}{_NEW}").unlink(missing_ok=True)
            (folder / f"{name}{_OLD}").unlink(missing_ok=True)


def _take_their_places(folder: Path, names: list[str]) -> None:
    done: list[str] = []
    try:
        for name in names:
            (folder / f"{name}{_NEW}").replace(folder / name)
            done.append(name)
    except BaseException:
        for name in done:
            if (folder / f"{name}{_OLD}").exists():
                (folder / f"{name}{_OLD}").replace(folder / name)
            else:
                (folder / name).unlink()
        raise
