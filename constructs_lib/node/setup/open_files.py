"""How many files a process may hold open."""

from __future__ import annotations

from pathlib import Path

from .. import names
from ..files import write_atomically
from ..readings import NoReading
from .outcome import Machine, Outcome, reason, succeeded

_SERVICES = "/etc/systemd/system.conf.d/50-accelerated-fleet.conf"
_LOGINS = "/etc/security/limits.d/50-accelerated-fleet.conf"
_PROPERTY = "DefaultLimitNOFILE"


def apply(machine: Machine, limit: int) -> Outcome:
    """Set the limit for every service and login that starts from now on; those that run keep theirs."""
    _settle(machine.places.file(_LOGINS), "".join(f"{who} - nofile {limit}\n" for who in ("*", "root")))
    _settle(machine.places.file(names.OPEN_FILES), f"{limit}\n")
    _settle(machine.places.file(_SERVICES), f"[Manager]\n{_PROPERTY}={limit}\n")
    in_force, failed = _in_force(machine)
    if in_force != str(limit):
        # Not when it is in force already: a reload cuts running containers off from their GPU. After a restart of the
        # machine systemd has read the file itself.
        reloaded = machine.run("systemctl", "daemon-reload", time_limit_seconds=90)
        in_force, failed = _in_force(machine)
        failed = failed if succeeded(reloaded) else reason(reloaded)
    if in_force != str(limit):
        return Outcome(False, f"the limit for services is {in_force or 'unknown'}, not {limit} ({failed})")
    return Outcome(True, f"{limit} for services and logins")


def _in_force(machine: Machine) -> tuple[str, str]:
    answer = machine.run("systemctl", "show", f"--property={_PROPERTY}")
    if isinstance(answer, NoReading) or answer.exit_status != 0:
        return "", reason(answer)
    return answer.stdout.strip().partition(f"{_PROPERTY}=")[2], "systemd has not taken the file"


def _settle(file: Path, text: str) -> None:
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        write_atomically(file, text)
