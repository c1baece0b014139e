"""The machine is set up as asked: each setting is made, read back and reported, and none that fails stops another.

How a GPU is split (MIG) is left as found.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from .. import names
from ..files import write_atomically
from ..settings import MachineSetup
from . import application_clocks, huge_pages, instance_store, lustre, open_files, persistence_mode
from .outcome import Machine, Outcome, Runner

__all__ = ["Machine", "Outcome", "Runner", "run"]


def run(asked: MachineSetup | None, machine: Machine) -> Mapping[str, Outcome]:
    """Make all settings that were asked for, write the report, and return how each ended.

    Nothing asked for: nothing is done, and there is no report.
    """
    if asked is None:
        return {}
    outcomes = {name: _attempt(setting) for name, setting in _settings(asked, machine).items()}
    report = {name: {"ok": outcome.ok, "detail": outcome.detail} for name, outcome in outcomes.items()}
    write_atomically(machine.places.file(names.SETUP_REPORT), json.dumps({"settings": report}) + "\n")
    return outcomes


def _settings(asked: MachineSetup, machine: Machine) -> dict[str, Callable[[], Outcome]]:
    persistence, clocks, path = asked.persistence_mode, asked.application_clocks, asked.instance_store
    mounts, pages, files = asked.lustre, asked.huge_pages, asked.open_files
    chosen: dict[str, Callable[[], Outcome]] = {}
    if persistence is not None:
        chosen["persistence_mode"] = lambda: persistence_mode.apply(machine, persistence)
    if clocks is not None:
        chosen["application_clocks"] = lambda: application_clocks.apply(machine, clocks)
    if path is not None:
        chosen["instance_store"] = lambda: instance_store.apply(machine, path)
    if mounts is not None:
        chosen["lustre"] = lambda: lustre.apply(machine, mounts)
    if pages is not None:
        chosen["huge_pages"] = lambda: huge_pages.apply(machine, pages)
    if files is not None:
        chosen["open_files"] = lambda: open_files.apply(machine, files)
    return chosen


def _attempt(setting: Callable[[], Outcome]) -> Outcome:
    try:
        return setting()
    except Exception as error:  # whatever it is, the other settings are made, and the report says what it was
        return Outcome(False, f"{type(error).__name__}: {error}")
