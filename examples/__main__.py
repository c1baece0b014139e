"""All examples in one CDK application: what ``cdk ls`` and ``cdk deploy NAME`` see."""

from __future__ import annotations

import importlib
from pathlib import Path

from aws_cdk import App


def main() -> None:
    """Add every example, which is a folder with an ``app.py``, and synthesize."""
    app = App()
    for name in sorted(file.parent.name for file in Path(__file__).parent.glob("*/app.py")):
        importlib.import_module(f"examples.{name}.app").build(app)
    app.synth()


if __name__ == "__main__":
    main()
