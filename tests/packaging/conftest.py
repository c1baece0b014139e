"""The wheel that the packaging tests look into."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.packaging.building import CHECKOUT, build_wheel


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(CHECKOUT, tmp_path_factory.mktemp("wheel") / "dist")
