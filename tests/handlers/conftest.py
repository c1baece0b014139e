"""Fixtures of the handler tests."""

from __future__ import annotations

import pytest

from tests.handlers.cleaning import CleanUpFunction
from tests.handlers.fake_aws import FakeAws


@pytest.fixture
def aws() -> FakeAws:
    """Return a fresh account."""
    return FakeAws()


@pytest.fixture
def cleanup(aws: FakeAws) -> CleanUpFunction:
    """Return the clean-up function over that account."""
    return CleanUpFunction(aws)
