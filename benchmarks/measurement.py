"""One measurement in a fresh process; prints its result as a line of JSON. Called by ``benchmarks.synth``."""

from __future__ import annotations

import gc
import importlib
import json
import sys
import tempfile
from collections import Counter
from time import perf_counter
from typing import Any


def seconds_to_import(cdk: str) -> dict[str, float]:
    """Seconds for importing the given modules of the CDK, commas between them, and then for the library on top.

    One process gives both, so that a busy machine blurs their ratio little. Garbage is not collected meanwhile: one
    look at all that the CDK has loaded takes as long as all of our modules, and falls on whoever comes next.
    """
    gc.disable()
    began = perf_counter()
    for module in cdk.split(","):
        importlib.import_module(module)
    between = perf_counter()
    open_every_door()
    return {"cdk": between - began, "library": perf_counter() - between}


def open_every_door() -> None:
    """Import whatever the library has in public: its package alone imports nothing before it is asked for."""
    library = importlib.import_module("constructs_lib")
    for name in library.__all__:
        getattr(library, name)


def cdk_modules() -> list[str]:
    """The public modules of the CDK that importing the library brings in, in order."""
    before = set(sys.modules)
    open_every_door()
    return [
        name
        for name in sys.modules
        if name not in before and name.split(".")[0] in ("aws_cdk", "constructs", "jsii") and "._" not in name
    ]


def seconds_to_synthesize(side: str, fleets: str) -> float:
    """Seconds for building and synthesizing an app with that many fleets, a stack each; imports not counted."""
    build = importlib.import_module(f"benchmarks.{side}").build
    from aws_cdk import App

    with tempfile.TemporaryDirectory() as output:
        began = perf_counter()
        app = App(outdir=output)
        for number in range(int(fleets)):
            build(app, f"Fleet{number}")
        app.synth()
        return perf_counter() - began


def resources(side: str) -> dict[str, int]:
    """How many resources of each type one fleet has."""
    build = importlib.import_module(f"benchmarks.{side}").build
    from aws_cdk import App

    with tempfile.TemporaryDirectory() as output:
        app = App(outdir=output)
        build(app, "Fleet")
        template = app.synth().stacks[0].template
    return dict(Counter(resource["Type"] for resource in template["Resources"].values()))


def main() -> None:
    """Print the measurement that the command line names."""
    name, *arguments = sys.argv[1:]
    measurements: dict[str, Any] = {
        "import": seconds_to_import,
        "cdk_modules": cdk_modules,
        "fleets": seconds_to_synthesize,
        "resources": resources,
    }
    print(json.dumps(measurements[name](*arguments)))


if __name__ == "__main__":
    main()
