"""The code in the README and in docs/: each block runs as it stands, in the place that its text gives it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import Duration
from aws_cdk.assertions import Annotations, Match, Template

import constructs_lib
from tests.constructs.scenarios import queue
from tests.support.stacks import ROOT, fleet, stack, vpc

_PARAMETERS = ("drain", "idle", "instance_types", "network", "schedule", "warm_pool", "workload")


def _blocks(path: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)


def _found(beginnings: tuple[str, ...]) -> list[Any]:
    """The blocks of which a line begins so."""
    found = []
    for path in (ROOT / "README.md", ROOT / "docs" / "release.md", ROOT / "docs" / "machines.md"):
        for number, text in enumerate(_blocks(path)):
            if any(line.startswith(beginnings) for line in text.splitlines()):
                found.append(pytest.param(text, id=f"{path.name}-{number}"))
    return found


def _names() -> dict[str, Any]:
    return {"Duration": Duration, **{name: getattr(constructs_lib, name) for name in constructs_lib.__all__}}


@pytest.mark.parametrize("text", _found(tuple(f"{name} = " for name in _PARAMETERS)))
def test_parameters_make_a_fleet(text: str) -> None:
    names = _names()
    exec(compile(text, "docs", "exec"), names)
    scope = stack()
    given = {name: names[name] for name in _PARAMETERS if name in names}
    if "workload" in given:
        given["instance_types"] = given["max_capacity"] = None
    fleet(scope, **given)
    Template.from_stack(scope)


@pytest.mark.parametrize("text", _found(("spot = AcceleratedFleet(",)))
def test_fleets_stand_beside_each_other(text: str) -> None:
    scope = stack()
    given = {"stack": scope, "vpc": vpc(scope), "jobs": queue(scope)}
    exec(compile(text, "docs", "exec"), {**_names(), **given})
    Template.from_stack(scope)
    ours = Annotations.from_stack(scope).find_warning("*", Match.string_like_regexp("@cdk-accelerated-fleet"))
    assert [str(each.entry.data) for each in ours] == []


def test_the_ladder_is_run() -> None:
    assert len(_found(("spot = AcceleratedFleet(",))) == 1


@pytest.mark.parametrize("text", _found(("StackExpiry(", "OrphanSweep(")))
def test_statements_stand_beside_a_fleet(text: str) -> None:
    scope = stack()
    exec(compile(text, "docs", "exec"), {**_names(), "stack": scope, "fleet": fleet(scope)})
    Template.from_stack(scope)
