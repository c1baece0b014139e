"""``constructs_lib`` is the only door: it opens to its public names and pulls in no AWS client."""

from __future__ import annotations

import json
import subprocess
import sys
from types import ModuleType

import constructs_lib
from tests.packaging.building import CHECKOUT

_PRINT_MODULES = "import json, sys, constructs_lib; print(json.dumps(sorted({n.split('.')[0] for n in sys.modules})))"


def test_all_is_sorted_and_names_everything_public() -> None:
    public = [
        name
        for name, value in vars(constructs_lib).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    ]

    assert constructs_lib.__all__ == sorted(public)


def test_import_brings_in_neither_aws_clients_nor_the_handlers() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PRINT_MODULES], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )

    unwanted = {
        "boto3",
        "botocore",
        "requests",
        "urllib3",
        "runtime",
        "release_idle",
        "wake_on_demand",
        "fleet_cleanup",
    }
    assert unwanted.isdisjoint(json.loads(done.stdout))
