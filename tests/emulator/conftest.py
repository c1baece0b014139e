"""One emulator for all tests of this folder; each test has stacks of its own in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from demo.emulator import Emulator, running
from tests.emulator.fleets import Fleet


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    directory: Path = tmp_path_factory.mktemp("emulator")
    with running(directory) as started:
        yield started


@pytest.fixture
def fleet(emulator: Emulator, request: pytest.FixtureRequest) -> Fleet:
    """A group of at most 8, with new instances protected from scale-in, at zero."""
    return Fleet.deploy(emulator, request.node.name)
