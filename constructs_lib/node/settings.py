"""What the program is asked to do: the settings file that the instance's boot script writes, read and checked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import names

_KIND = re.compile(r"[a-z][a-z0-9_]{0,30}")
_INSTANCE_TYPE = re.compile(r"[a-z0-9-]+\.[a-z0-9-]+")
_FAMILY = re.compile(r"[a-z0-9-]+")
_LOOPBACK = re.compile(r"127(?:\.\d{1,3}){3}:\d{1,5}")
_LUSTRE = re.compile(r"[A-Za-z0-9.-]+@tcp:/[A-Za-z0-9_-]+")
_PATH = re.compile(r"(?:/(?!\.{1,2}(?:/|$))[\w.@+-]+)+")
_NAMESPACE = re.compile(r"[A-Za-z0-9._/#:-]{1,255}")
_SHORTEST_DEADLINE_SECONDS = 30
_LONGEST_DEADLINE_SECONDS = 115 * 60
_LARGEST_THRESHOLD = 1e15
_LONGEST_VALUE = 120


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.partition(":")
    return host, int(port)


DEFAULT_STATSD = _address(names.STATSD_ADDRESS)
"""Where the CloudWatch agent listens unless the settings say otherwise."""


class SettingsError(ValueError):
    """A setting that cannot be used. The message names it and says what to do."""


@dataclass(frozen=True)
class LustreMount:
    """A Lustre file system, as `mount` names it: the server's name, `@tcp:/` and the file system's."""

    source: str
    read_only: bool = False


@dataclass(frozen=True)
class MachineSetup:
    """How the machine is to be set up. What is None was not asked for, and is left as it is.

    `application_clocks` holds memory and graphics clock in MHz for each instance family, `instance_store` the path at
    which the instance store is mounted, `lustre` the file system for each path, `huge_pages` how many pages of 2 MiB.
    """

    persistence_mode: bool | None = None
    application_clocks: Mapping[str, tuple[int, int]] | None = None
    instance_store: str | None = None
    lustre: Mapping[str, LustreMount] | None = None
    huge_pages: int | None = None
    open_files: int | None = None

    @property
    def asked(self) -> tuple[str, ...]:
        """The names of the settings that were asked for."""
        return tuple(name for name, value in vars(self).items() if value not in (None, False))


@dataclass(frozen=True)
class Drain:
    """How work ends before the instance goes. A command that was not asked for is empty.

    `namespace` is where the metrics of a drain are published, `signal` the name of one of `names.DRAIN_SIGNALS`.
    """

    deadline_seconds: int
    namespace: str
    signal: str = "SIGTERM"
    command: str = ""
    checkpoint_command: str = ""
    drain_on_rebalance: bool = False


@dataclass(frozen=True)
class Settings:
    """The whole file. Only `kind` has to be in it.

    A reading is taken each `interval_seconds`, 60 unless given. `statsd` is where the CloudWatch agent listens, on this
    machine. A device whose use is at or above `use_threshold` is in use: percent, or transfers for a kind that knows no
    percentage; 5 unless given. `measurements` names the figures that are published for each device: none unless given.
    `expected` says how many devices an instance type has. Without `drain` nothing is done when the instance is to go.
    With `network` its traffic is published.
    """

    kind: str
    interval_seconds: int = 60
    statsd: tuple[str, int] = DEFAULT_STATSD
    use_threshold: float = 5.0
    measurements: tuple[str, ...] = ()
    expected: Mapping[str, int] = field(default_factory=dict)
    setup: MachineSetup | None = None
    drain: Drain | None = None
    network: bool = False


def load_settings(path: Path) -> Settings:
    """Read the settings file; raise :class:`SettingsError` if it cannot be read or used."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        cure = "the instance's boot script writes it; see its log"
        raise SettingsError(f"{path}: the settings cannot be read ({error}); {cure}") from error
    return parse_settings(text, str(path))


def parse_settings(text: str, where: str) -> Settings:
    """Turn the text of a settings file into settings; `where` stands in front of an error's message."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{where}: the settings must be JSON ({error}); write the file again") from error
    return Settings(**_checked(where, "", document, _SETTINGS, needed=("kind",)))


_Check = Callable[[str, str, Any], Any]


def _checked(
    where: str, prefix: str, value: object, checks: Mapping[str, _Check], needed: tuple[str, ...] = ()
) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _error(where, prefix.rstrip(".") or "the file", "be an object", value)
    for key in value:
        if key not in checks:
            raise _error(where, f"{prefix}{key}", f"not be there: the settings are {', '.join(checks)}", value[key])
    for key in needed:
        if key not in value:
            raise _error(where, f"{prefix}{key}", "be given", None)
    return {key: checks[key](where, f"{prefix}{key}", item) for key, item in value.items()}


def _error(where: str, parameter: str, rule: str, value: object) -> SettingsError:
    shown = repr(value)
    if len(shown) > _LONGEST_VALUE:
        shown = f"{shown[:_LONGEST_VALUE]}..."
    return SettingsError(f"{where}: {parameter} must {rule}, got {shown}; correct it and start the program again")


def _flag(where: str, parameter: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise _error(where, parameter, "be true or false", value)
    return value


def _whole(minimum: int, maximum: int) -> Callable[[str, str, object], int]:
    def check(where: str, parameter: str, value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not minimum <= value <= maximum:
            raise _error(where, parameter, f"be a whole number from {minimum} to {maximum}", value)
        return value

    return check


def _threshold(where: str, parameter: str, value: object) -> float:
    # Zero would make every device busy for ever.
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= _LARGEST_THRESHOLD:
        return float(value)
    raise _error(where, parameter, "be a number above 0 and at most 1e15", value)


def _matching(pattern: re.Pattern[str], rule: str) -> Callable[[str, str, object], str]:
    def check(where: str, parameter: str, value: object) -> str:
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise _error(where, parameter, rule, value)
        return value

    return check


def _loopback(where: str, parameter: str, value: object) -> tuple[str, int]:
    if isinstance(value, str) and _LOOPBACK.fullmatch(value):
        host, port = _address(value)
        if 0 < port < 65536 and all(int(part) < 256 for part in host.split(".")):
            return host, port
    raise _error(where, parameter, f"be an address and port on this machine, as {names.STATSD_ADDRESS}", value)


def _measurements(where: str, parameter: str, value: object) -> tuple[str, ...]:
    known = isinstance(value, list) and all(item in names.MEASUREMENTS for item in value)
    if not isinstance(value, list) or not known or len(set(value)) != len(value):
        raise _error(where, parameter, f"list each at most once of {', '.join(names.MEASUREMENTS)}", value)
    return tuple(value)


def _expected(where: str, parameter: str, value: object) -> dict[str, int]:
    return _table(where, parameter, value, _INSTANCE_TYPE, "an instance type", _whole(1, 256))


def _clocks(where: str, parameter: str, value: object) -> dict[str, tuple[int, int]]:
    return _table(where, parameter, value, _FAMILY, "an instance family", _clock_pair)


def _clock_pair(where: str, parameter: str, value: object) -> tuple[int, int]:
    if not isinstance(value, list) or len(value) != 2:
        raise _error(where, parameter, "be two numbers: memory and graphics clock in MHz", value)
    memory, graphics = (_whole(1, 100_000)(where, parameter, clock) for clock in value)
    return memory, graphics


def _table(
    where: str, parameter: str, value: object, key_pattern: re.Pattern[str], key_is: str, check: _Check
) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _error(where, parameter, "be an object", value)
    for key in value:
        if not key_pattern.fullmatch(key):
            raise _error(where, parameter, f"have keys that are each {key_is}", key)
    return {key: check(where, f"{parameter}.{key}", item) for key, item in value.items()}


def _lustre(where: str, parameter: str, value: object) -> dict[str, LustreMount]:
    return _table(where, parameter, value, _PATH, "an absolute path of plain characters", _lustre_mount)


def _lustre_mount(where: str, parameter: str, value: object) -> LustreMount:
    return LustreMount(**_checked(where, f"{parameter}.", value, _LUSTRE_MOUNT, needed=("source",)))


def _setup(where: str, parameter: str, value: object) -> MachineSetup:
    return MachineSetup(**_checked(where, f"{parameter}.", value, _MACHINE_SETUP))


_LUSTRE_MOUNT: Mapping[str, _Check] = {
    "source": _matching(_LUSTRE, "be the name of a Lustre file system, as server@tcp:/name"),
    "read_only": _flag,
}

_MACHINE_SETUP: Mapping[str, _Check] = {
    "persistence_mode": _flag,
    "application_clocks": _clocks,
    "instance_store": _matching(_PATH, "be an absolute path of plain characters"),
    "lustre": _lustre,
    "huge_pages": _whole(1, 1 << 24),
    "open_files": _whole(1024, 1 << 30),
}


def _text(where: str, parameter: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise _error(where, parameter, "be a text that is not empty", value)
    return value


def _signal(where: str, parameter: str, value: object) -> str:
    if not isinstance(value, str) or value not in names.DRAIN_SIGNALS:
        raise _error(where, parameter, f"be one of {', '.join(names.DRAIN_SIGNALS)}", value)
    return value


def _drain(where: str, parameter: str, value: object) -> Drain:
    needed = ("deadline_seconds", "namespace")
    return Drain(**_checked(where, f"{parameter}.", value, _DRAIN, needed=needed))


_DRAIN: Mapping[str, _Check] = {
    "deadline_seconds": _whole(_SHORTEST_DEADLINE_SECONDS, _LONGEST_DEADLINE_SECONDS),
    "namespace": _matching(_NAMESPACE, "be the name of a namespace of metrics"),
    "signal": _signal,
    "command": _text,
    "checkpoint_command": _text,
    "drain_on_rebalance": _flag,
}

_SETTINGS: Mapping[str, _Check] = {
    "kind": _matching(_KIND, "be the name of a kind of accelerator, as nvidia"),
    "interval_seconds": _whole(10, 600),
    "statsd": _loopback,
    "use_threshold": _threshold,
    "measurements": _measurements,
    "expected": _expected,
    "setup": _setup,
    "drain": _drain,
    "network": _flag,
}
