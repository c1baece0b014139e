"""Where the source of the Lambda handlers lies."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def handlers_directory() -> Path:
    """Where the handlers' source lies: inside the installed wheel, else beside the package in a checkout."""
    installed, checkout = _PACKAGE / "_lambda_handlers", _PACKAGE.parent / "lambda_handlers"
    for candidate in (installed, checkout):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"the Lambda handlers are in neither {installed} nor {checkout}; reinstall the package")
