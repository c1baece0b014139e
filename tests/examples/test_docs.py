"""The code in the README and in docs/: each block runs as it stands, in the place that its text gives it."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import Duration
from aws_cdk.assertions import Template

import constructs_lib
from tests.support.stacks import ROOT, fleet, stack

_PARAMETERS = re.compile(r"\A(\w+)=")


def _blocks(path: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)


def _found(kind: str) -> list[Any]:
    """The blocks that are parameters of a fleet, or statements about one."""
    found = []
    for path in (ROOT / "README.md", ROOT / "docs" / "release.md"):
        for number, text in enumerate(_blocks(path)):
            is_parameters = _PARAMETERS.match(text) is not None
            is_statements = "OrphanSweep(stack" in text or "StackExpiry(stack" in text
            if (kind == "parameters" and is_parameters) or (kind == "statements" and is_statements):
                found.append(pytest.param(text, id=f"{path.name}-{number}"))
    return found


def _names() -> dict[str, Any]:
    public = {name: getattr(constructs_lib, name) for name in constructs_lib.__all__}
    return {**public, "Duration": Duration, "dict": dict}


@pytest.mark.parametrize("text", _found("parameters"))
def test_parameters_make_a_fleet(text: str) -> None:
    call = ast.parse(f"dict({text})", mode="eval")
    parameters = eval(compile(call, "docs", "eval"), {"__builtins__": {}}, _names())
    scope = stack()
    fleet(scope, **parameters)
    Template.from_stack(scope)


@pytest.mark.parametrize("text", _found("statements"))
def test_statements_stand_beside_a_fleet(text: str) -> None:
    scope = stack()
    exec(compile(text, "docs", "exec"), {**_names(), "stack": scope, "fleet": fleet(scope)})
    Template.from_stack(scope)
