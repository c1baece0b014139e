"""Templates are found in what cdk synth wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from constructs_lib.errors import ArgumentError
from constructs_lib.preflight import StackTemplate, templates_in

_TEMPLATE = {"Resources": {"A": {"Type": "T"}}}


def _write(folder: Path, files: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return folder


def _stack(file: str, environment: str = "aws://unknown-account/unknown-region", **properties: Any) -> dict[str, Any]:
    return {
        "type": "aws:cloudformation:stack",
        "environment": environment,
        "properties": {"templateFile": file, **properties},
    }


def test_a_file(tmp_path: Path) -> None:
    folder = _write(tmp_path, {"a.template.json": _TEMPLATE})
    assert templates_in(folder / "a.template.json") == (StackTemplate(stack=None, template=_TEMPLATE),)


def test_a_cloud_assembly_with_stages(tmp_path: Path) -> None:
    artifacts = {
        "A": _stack("a.json"),
        "Tree": {"type": "cdk:tree"},
        "Odd": 3,
        "Stage": {"type": "cdk:cloud-assembly", "properties": {"directoryName": "assembly-Stage"}},
    }
    _write(tmp_path, {"manifest.json": {"artifacts": artifacts}, "a.json": _TEMPLATE})
    inner = {"B": _stack("b.json", "aws://111122223333/eu-west-1", stackName="Stage-B")}
    _write(tmp_path / "assembly-Stage", {"manifest.json": {"artifacts": inner}, "b.json": _TEMPLATE})
    assert templates_in(str(tmp_path)) == (
        StackTemplate(stack="A", template=_TEMPLATE),
        StackTemplate(stack="Stage-B", template=_TEMPLATE, region="eu-west-1", account="111122223333"),
    )


def test_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="be a file that can be read"):
        templates_in(tmp_path / "nothing.json")
    with pytest.raises(ArgumentError, match="be a file that can be read"):
        templates_in(tmp_path)
    (tmp_path / "t.yaml").write_text("Resources:\n  A: {\n", encoding="utf-8")
    with pytest.raises(ArgumentError, match=r"be JSON or YAML: line 3, column 1"):
        templates_in(tmp_path / "t.yaml")
    _write(tmp_path, {"list.json": [], "other.json": {"a": 1}, "manifest.json": {"artifacts": {}}})
    with pytest.raises(ArgumentError, match="be an object with Resources"):
        templates_in(tmp_path / "list.json")
    with pytest.raises(ArgumentError, match="be a template with Resources"):
        templates_in(tmp_path / "other.json")
    with pytest.raises(ArgumentError, match="be a folder with a stack in it"):
        templates_in(tmp_path)


def test_a_template_in_yaml(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text("Resources:\n  A: {Type: AWS::SNS::Topic, Properties: {KmsMasterKeyId: !Ref K}}\n")
    topic = {"Type": "AWS::SNS::Topic", "Properties": {"KmsMasterKeyId": {"Ref": "K"}}}
    assert templates_in(tmp_path / "t.yaml") == (StackTemplate(stack=None, template={"Resources": {"A": topic}}),)


def test_a_broken_manifest(tmp_path: Path) -> None:
    _write(tmp_path, {"manifest.json": {"artifacts": [1]}})
    with pytest.raises(ArgumentError, match="be a folder with a stack in it"):
        templates_in(tmp_path)
