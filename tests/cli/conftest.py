"""The command for the tests, and no credentials."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.running import Command


@pytest.fixture
def accel_fleet(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [each for each in os.environ if each.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name, file in (("AWS_CONFIG_FILE", "config"), ("AWS_SHARED_CREDENTIALS_FILE", "credentials")):
        monkeypatch.setenv(name, str(tmp_path / file))
    monkeypatch.setenv("COLUMNS", "80")
