"""Tells systemd that the program runs (sd_notify(3)), so that it is started again when it hangs."""

from __future__ import annotations

import socket
from collections.abc import Mapping


class Supervisor:
    """The service manager behind a datagram socket; None if nobody asked to be told."""

    def __init__(self, address: str | None) -> None:
        self._address = address

    def ready(self, watchdog_seconds: float) -> None:
        """Say that the program is up, and after how long without a sign of life it counts as hung."""
        self._tell(f"READY=1\nWATCHDOG_USEC={int(watchdog_seconds * 1_000_000)}\nWATCHDOG=1")

    def alive(self) -> None:
        """Give a sign of life."""
        self._tell("WATCHDOG=1")

    def stopping(self) -> None:
        """Say that the program ends because it was asked to."""
        self._tell("STOPPING=1")

    def _tell(self, message: str) -> None:
        """Raise OSError if the manager cannot be reached."""
        if self._address is None:
            return
        # A leading @ stands for the zero byte of an address without a file.
        address = f"\0{self._address[1:]}" if self._address.startswith("@") else self._address
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
            connection.sendto(message.encode("ascii"), address)


def supervisor(environment: Mapping[str, str]) -> Supervisor:
    """Return the service manager that the environment names."""
    return Supervisor(environment.get("NOTIFY_SOCKET") or None)
