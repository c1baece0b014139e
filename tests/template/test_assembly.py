"""Templates of an assembly are found with their stacks, Regions and lines, in whatever form they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from constructs_lib.errors import ArgumentError
from constructs_lib.template.assembly import templates_in

TEMPLATE = "Resources:\n  Queue:\n    Type: AWS::SQS::Queue\n"


def write_assembly(folder: Path, artifacts: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manifest.json").write_text(json.dumps({"version": "48.0.0", "artifacts": artifacts}))


def stack(file: str, region: str = "unknown-region", **properties: object) -> dict[str, object]:
    return {
        "type": "aws:cloudformation:stack",
        "environment": f"aws://unknown-account/{region}",
        "properties": {"templateFile": file, **properties},
    }


def test_an_assembly_with_a_template_in_yaml(tmp_path: Path) -> None:
    write_assembly(tmp_path, {"Fleet": stack("fleet.yaml", "eu-west-1", stackName="prod-fleet")})
    (tmp_path / "fleet.yaml").write_text(TEMPLATE)

    (found,) = templates_in(tmp_path)

    assert (found.stack, found.region, found.account) == ("prod-fleet", "eu-west-1", None)
    assert found.file == tmp_path / "fleet.yaml"
    assert found.document is not None
    assert found.document.line_of(("Resources", "Queue")) == 2


def test_stages_are_read_in_their_own_folders(tmp_path: Path) -> None:
    nested = {"type": "cdk:cloud-assembly", "properties": {"directoryName": "assembly-Prod"}}
    write_assembly(tmp_path, {"Here": stack("here.yaml"), "Prod": nested})
    write_assembly(tmp_path / "assembly-Prod", {"There": stack("there.yaml")})
    (tmp_path / "here.yaml").write_text(TEMPLATE)
    (tmp_path / "assembly-Prod" / "there.yaml").write_text(TEMPLATE)

    assert [each.stack for each in templates_in(tmp_path)] == ["Here", "There"]


@pytest.mark.parametrize("artifacts", [None, [], {}, {"A": None}, {"A": {"type": "aws:cloudformation:stack"}}])
def test_an_assembly_without_a_stack_is_none(tmp_path: Path, artifacts: object) -> None:
    write_assembly(tmp_path, artifacts)
    with pytest.raises(ArgumentError, match="a folder with a stack in it"):
        templates_in(tmp_path)


def test_what_the_manifest_names_has_to_be_there(tmp_path: Path) -> None:
    write_assembly(tmp_path, {"Fleet": stack("gone.json")})
    with pytest.raises(ArgumentError, match=r"gone\.json"):
        templates_in(tmp_path)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ArgumentError, match="UTF-8"):
        templates_in(tmp_path / "t.json")


def test_a_file_that_is_no_template_by_its_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What has no end, as ``/dev/zero``, is not read to it."""
    monkeypatch.setattr("constructs_lib.template.assembly._MOST_CHARACTERS", 100)
    (tmp_path / "t.json").write_text('{"Resources": {}}'.ljust(100), encoding="utf-8")
    assert templates_in(tmp_path / "t.json")[0].template == {"Resources": {}}
    (tmp_path / "t.json").write_text('{"Resources": {}}'.ljust(101), encoding="utf-8")
    with pytest.raises(ArgumentError, match="at most 100 characters"):
        templates_in(tmp_path / "t.json")
