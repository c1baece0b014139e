"""Runs the command: ``python -m constructs_lib.cli``."""

from __future__ import annotations

import sys

from constructs_lib.cli.command import main

if __name__ == "__main__":
    sys.exit(main())
