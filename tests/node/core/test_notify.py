"""The service manager is told that the program lives, as sd_notify(3) describes it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from constructs_lib.node.notify import supervisor


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.setblocking(False)
        yield listening


def test_it_is_told(manager: socket.socket, tmp_path: Path) -> None:
    told = supervisor({"NOTIFY_SOCKET": str(tmp_path / "notify")})
    told.ready(180)
    told.alive()
    told.stopping()
    assert [manager.recv(1000) for _ in range(3)] == [
        b"READY=1\nWATCHDOG_USEC=180000000\nWATCHDOG=1",
        b"WATCHDOG=1",
        b"STOPPING=1",
    ]


def test_an_address_without_a_file(tmp_path: Path) -> None:
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as listening:
        listening.bind(f"\0{tmp_path}")
        listening.setblocking(False)
        supervisor({"NOTIFY_SOCKET": f"@{tmp_path}"}).alive()
        assert listening.recv(1000) == b"WATCHDOG=1"


@pytest.mark.parametrize("environment", [{}, {"NOTIFY_SOCKET": ""}])
def test_nobody_asked(environment: dict[str, str]) -> None:
    supervisor(environment).alive()


def test_a_manager_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        supervisor({"NOTIFY_SOCKET": str(tmp_path / "gone")}).alive()
