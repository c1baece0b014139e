"""What holds for all tests."""

from __future__ import annotations

from hypothesis import settings

# How long an example takes depends on what else the machine does, which no test is about.
settings.register_profile("whenever", deadline=None)
settings.load_profile("whenever")
