"""Where templates are found, what is passed over, and what is deployed together."""

from __future__ import annotations

import codecs
import json
import os
from pathlib import Path
from typing import Any

import pytest

from constructs_lib.compliance.deployment import Deployment, Source
from constructs_lib.compliance.sources import Found, sources_in
from tests.template.test_assembly import stack, write_assembly

YAML = "Resources:\n  Queue:\n    Type: AWS::SQS::Queue\n"
TEMPLATE: dict[str, Any] = {"Resources": {"Queue": {"Type": "AWS::SQS::Queue"}}}


@pytest.fixture(autouse=True)
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout, in a folder of which the command is called."""
    root = tmp_path / "checkout"
    (root / ".git").mkdir(parents=True)
    (root / "infra").mkdir()
    monkeypatch.chdir(root / "infra")
    return root


def write(file: Path, template: object = TEMPLATE) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(template if isinstance(template, str) else json.dumps(template))
    return file


def found(*paths: str | Path, given: str = "") -> Found:
    return sources_in([str(each) for each in paths], standard_input=lambda: given)


def names(these: Found) -> list[list[str]]:
    return [[each.name for each in sources] for sources in these.deployments]


def nesting(url: str, **more: Any) -> dict[str, Any]:
    child = {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": url, **more}}
    return {"Resources": {"Child": child}}


# --- files and folders -----------------------------------------------------------------------------------------------


def test_a_file_is_named_as_the_checkout_has_it(checkout: Path) -> None:
    write(checkout / "infra" / "t.yaml", YAML)
    for path in ("t.yaml", "./t.yaml", checkout / "infra" / "t.yaml", "../infra/t.yaml"):
        ((source,),) = found(path).deployments
        assert (source.name, source.file) == ("infra/t.yaml", "infra/t.yaml")
        assert source.line_of(("Resources", "Queue")) == 2


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "latin-1"])
def test_a_template_that_is_not_in_utf_8_is_told_of_in_a_folder_too(checkout: Path, encoding: str) -> None:
    boms = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}
    text = f"Description: für Übungen\n{YAML}"
    write(checkout / "infra" / "good.yaml", YAML)
    (checkout / "infra" / "t.yaml").write_bytes(boms.get(encoding, b"") + text.encode(encoding))
    these = found(".")
    assert names(these) == [["infra/good.yaml"]]
    assert len(these.unreadable) == 1
    assert "infra/t.yaml" in these.unreadable[0]
    assert "be text in UTF-8" in these.unreadable[0]


def test_what_is_no_text_is_passed_over_in_a_folder(checkout: Path) -> None:
    write(checkout / "infra" / "good.yaml", YAML)
    (checkout / "infra" / "picture.json").write_bytes(bytes(range(256)))
    assert found(".").unreadable == ()


def test_a_file_outside_the_checkout_has_its_whole_name(tmp_path: Path) -> None:
    file = write(tmp_path / "elsewhere" / "t.json")
    assert names(found(file)) == [[file.as_posix()]]


def test_without_a_checkout_names_begin_at_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "free" / "a" / "t.json")
    monkeypatch.chdir(tmp_path / "free")
    assert names(found("a")) == [["a/t.json"]]


def test_a_folder_is_walked_through_for_templates(checkout: Path) -> None:
    for file in ("a.json", "b.yaml", "c.yml", "d.template", "deep/er/e.template.json"):
        write(checkout / file, TEMPLATE if "json" in file else YAML)
    for file in ("package.json", "readme.md", "note.txt", "deep/kubernetes.yaml", "list.json"):
        write(checkout / file, '{"Resources": "none"}' if "package" in file else "kind: Pod\n")
    write(checkout / "list.json", "[1, 2]")
    write(checkout / "compose.yaml", "Resources:\n  limits: 1\n")

    these = found("..")
    assert names(these) == [["a.json"], ["b.yaml"], ["c.yml"], ["d.template"], ["deep/er/e.template.json"]]
    assert these.unreadable == ()


@pytest.mark.parametrize("folder", [".aws-sam", "node_modules", "asset.0123", "__pycache__", "a/node_modules/b"])
def test_some_folders_are_passed_over(checkout: Path, folder: str) -> None:
    write(checkout / folder / "t.json")
    write(checkout / "t.json")
    assert names(found(checkout)) == [["t.json"]]


def test_a_hidden_folder_that_is_named_is_read(checkout: Path) -> None:
    write(checkout / ".aws-sam" / "build" / "t.yaml", YAML)
    assert names(found(checkout / ".aws-sam" / "build")) == [[".aws-sam/build/t.yaml"]]


def test_what_is_named_twice_is_read_once(checkout: Path) -> None:
    write(checkout / "a" / "t.json")
    assert names(found("..", "../a", "../a/t.json", "..")) == [["a/t.json"]]


def test_standard_input() -> None:
    ((source,),) = found("-", given=YAML).deployments
    assert (source.name, source.file) == ("standard input", None)
    assert source.line_of(("Resources", "Queue")) == 2


# --- what cannot be read ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"Resources": {"A": {"Type": "AWS::SQS::Queue"},}}', "line 1, column"),
        ("Resources:\n  A: {Type: AWS::SQS::Queue\n", "line 3, column 1"),
        ("Resources: {{ range }} AWS::SQS::Queue", "line 1"),
    ],
)
def test_one_that_wants_to_be_a_template_and_is_written_wrongly_is_told(checkout: Path, text: str, told: str) -> None:
    write(checkout / "infra" / "bad.yaml", text)
    write(checkout / "infra" / "good.json")
    for path in (".", "bad.yaml"):
        these = found(path, "good.json")
        assert names(these) == [["infra/good.json"]]
        (message,) = these.unreadable
        assert message.startswith("infra/bad.yaml: template must be JSON")
        assert told in message


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("none.json", "a file that can be read"),
        ("empty", "have a template in it"),
        ("list.json", "be an object"),
        ("package.json", "have Resources"),
        ("binary.json", "UTF-8"),
        ("strange.json", "have Resources"),
    ],
)
def test_what_is_named_has_to_be_a_template(checkout: Path, path: str, told: str) -> None:
    infra = checkout / "infra"
    (infra / "empty").mkdir()
    write(infra / "list.json", "[]")
    write(infra / "package.json", '{"name": "x"}')
    write(infra / "strange.json", '{"Resources": [{"Type": "AWS::SQS::Queue"}]}')
    (infra / "binary.json").write_bytes(b"\xff\xfe")

    these = found(path)
    assert these.deployments == ()
    (message,) = these.unreadable
    assert told in message


@pytest.mark.parametrize("given", ["", "{", "[]", "just words", '{"a": 1}'])
def test_standard_input_has_to_be_a_template(given: str) -> None:
    these = found("-", given=given)
    assert these.deployments == ()
    assert len(these.unreadable) == 1
    assert "standard input" in these.unreadable[0]


# --- cloud assemblies ------------------------------------------------------------------------------------------------


def test_the_stacks_of_an_assembly_are_one_deployment(checkout: Path) -> None:
    folder = checkout / "cdk.out"
    write_assembly(folder, {"A": stack("A.json", "eu-west-1"), "B": stack("B.json", stackName="b")})
    for file in ("A.json", "B.json", "stale.json"):
        write(folder / file)

    for path in (folder, folder / "manifest.json", checkout):
        (sources,) = found(path).deployments
        assert [(each.name, each.stack, each.region, each.file) for each in sources] == [
            ("A", "A", "eu-west-1", "cdk.out/A.json"),
            ("b", "b", None, "cdk.out/B.json"),
        ]


def test_stages_belong_to_it_and_stacks_of_one_name_are_told_apart(checkout: Path) -> None:
    folder = checkout / "cdk.out"
    stages = ("assembly-East", "assembly-West")
    write_assembly(
        folder, {each: {"type": "cdk:cloud-assembly", "properties": {"directoryName": each}} for each in stages}
    )
    for each in stages:
        write_assembly(folder / each, {"Fleet": stack("Fleet.json")})
        write(folder / each / "Fleet.json")

    assert names(found(folder)) == [["Fleet (assembly-East/Fleet.json)", "Fleet (assembly-West/Fleet.json)"]]


def test_another_manifest_is_no_assembly(checkout: Path) -> None:
    write(checkout / "web" / "manifest.json", '{"name": "an app for the browser"}')
    write(checkout / "web" / "t.json")
    assert names(found(checkout)) == [["web/t.json"]]


def test_a_broken_assembly_is_told(checkout: Path) -> None:
    write_assembly(checkout / "cdk.out", {"A": stack("gone.json")})
    these = found(checkout)
    assert these.deployments == ()
    assert "gone.json" in these.unreadable[0]


def test_nested_stacks_of_an_assembly_hang_below_theirs(checkout: Path) -> None:
    folder = checkout / "cdk.out"
    write_assembly(folder, {"A": stack("A.json")})
    parent = nesting("https://s3.amazonaws.com/assets/x.json")
    parent["Resources"]["Child"]["Metadata"] = {"aws:asset:path": "ANested.json"}
    write(folder / "A.json", parent)
    write(folder / "ANested.json")

    ((source,),) = found(folder).deployments
    assert [(id, each.name, each.file) for id, each in source.nested.items()] == [
        ("Child", "A/Child", "cdk.out/ANested.json")
    ]


# --- nested templates ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["AWS::CloudFormation::Stack", "AWS::Serverless::Application"])
def test_a_nested_template_is_part_of_its_parent_and_gets_its_parameters(checkout: Path, kind: str) -> None:
    location = {"AWS::CloudFormation::Stack": "TemplateURL"}.get(kind, "Location")
    child = {"Type": kind, "Properties": {location: "sub/child.yaml", "Parameters": {"Size": {"Ref": "Most"}}}}
    parameters = {"Most": {"Type": "Number", "Default": 3}}
    write(checkout / "parent.json", {"Parameters": parameters, "Resources": {"Child": child}})
    write(
        checkout / "sub" / "child.yaml",
        "Parameters: {Size: {Type: Number}}\n"
        "Resources: {G: {Type: 'AWS::AutoScaling::AutoScalingGroup', Properties: {MaxSize: !Ref Size}}}\n",
    )

    these = found(checkout)
    assert names(these) == [["parent.json"]]
    deployment = Deployment(these.deployments[0])
    (group,) = deployment.resources("AWS::AutoScaling::AutoScalingGroup")
    assert group.stack.name == "parent.json/Child"
    assert group.properties.whole("MaxSize") == 3
    assert deployment.unread == ()


def test_a_type_that_is_no_text_nests_nothing(checkout: Path) -> None:
    these = found(
        write(checkout / "odd.json", {"Resources": {"Odd": {"Type": {"Ref": "Kind"}}, "Other": {"Type": [1]}}})
    )
    assert these.unreadable == ()
    assert Deployment(these.deployments[0]).unread == ()


@pytest.mark.parametrize(
    "url",
    ["https://bucket.s3.amazonaws.com/child.json", "s3://bucket/c.json", "gone.json", "../..", {"Ref": "Url"}],
)
def test_a_nested_template_that_is_not_at_hand_is_unread(checkout: Path, url: Any) -> None:
    these = found(write(checkout / "parent.json", nesting(url)))
    assert these.unreadable == ()
    assert Deployment(these.deployments[0]).unread == ("the nested stack Child",)


@pytest.mark.parametrize(
    "url", ["https://s3.example/bucket/{}.json", {"Fn::Join": ["", [{"Ref": "AWS::Region"}, "/{}.json"]]}]
)
def test_a_nested_template_is_known_by_its_hash_in_an_assembly_without_asset_metadata(checkout: Path, url: Any) -> None:
    """The asset manifest has the path of each hash: "Cloud assembly schema", package @aws-cdk/cloud-assembly-schema."""
    hash = "0123456789abcdef" * 4
    named = json.loads(json.dumps(url).replace("{}", hash))
    parent = write(checkout / "Test.template.json", nesting(named))
    write(checkout / "Test.assets.json", {"files": {hash: {"source": {"path": "Child.nested.template.json"}}}})
    write(checkout / "Child.nested.template.json")
    ((source,),) = found(parent).deployments
    assert {id: each.file for id, each in source.nested.items()} == {"Child": "Child.nested.template.json"}


@pytest.mark.parametrize("manifest", ["{", '{"files": 1}', '{"files": {"0": 1}}'])
def test_an_asset_manifest_that_tells_nothing_leaves_the_nested_stack_unread(checkout: Path, manifest: str) -> None:
    parent = write(checkout / "Test.template.json", nesting(f"https://s3.example/bucket/{'0' * 64}.json"))
    write(checkout / "Test.assets.json", manifest)
    assert Deployment(found(parent).deployments[0]).unread == ("the nested stack Child",)


def test_a_nested_template_that_cannot_be_read_is_told(checkout: Path) -> None:
    write(checkout / "child.json", "{")
    these = found(write(checkout / "parent.json", nesting("child.json")))
    assert these.unreadable[0].startswith("child.json: template must be JSON")
    assert Deployment(these.deployments[0]).unread == ("the nested stack Child",)


def test_templates_that_nest_each_other_are_read_once(checkout: Path) -> None:
    write(checkout / "a.json", nesting("b.json"))
    write(checkout / "b.json", nesting("a.json"))
    write(checkout / "itself.json", nesting("itself.json"))

    these = found(checkout)
    assert sorted(names(these)) == [["a.json"], ["itself.json"]]
    assert sorted(_depth(each) for (each,) in these.deployments) == [1, 2]


def test_a_long_chain_ends(checkout: Path) -> None:
    for number in range(40):
        write(checkout / f"{number}.json", nesting(f"{number + 1}.json"))
    write(checkout / "40.json")
    ((source,),) = found(checkout).deployments
    assert source.name == "0.json"
    assert _depth(source) == 10


def _depth(source: Source) -> int:
    return 1 + max((_depth(each) for each in source.nested.values()), default=0)


# --- what would be waited for, or never end ---------------------------------------------------------------------------


def test_a_pipe_in_a_folder_is_passed_over(checkout: Path) -> None:
    os.mkfifo(checkout / "infra" / "t.json")
    os.mkfifo(checkout / "infra" / "manifest.json")
    write(checkout / "infra" / "u.json")
    assert names(found(".")) == [["infra/u.json"]]


@pytest.mark.parametrize("path", ["", "x" * 5_000, "a\0b", "\ud800"])
def test_a_name_that_no_file_can_have(path: str) -> None:
    assert len(found(path).unreadable) == 1


@pytest.mark.parametrize("url", ["x" * 5_000, "a\0b", "\ud800", "."])
def test_a_nested_template_whose_name_no_file_can_have(checkout: Path, url: str) -> None:
    write(checkout / "infra" / "t.json", nesting(url))
    ((source,),) = found("t.json").deployments
    assert not source.nested


def test_nested_stacks_that_stand_for_millions_are_read_in_part(checkout: Path) -> None:
    write(checkout / "infra" / "0.json")
    for level in range(1, 9):
        nested = {f"N{n}": nesting(f"{level - 1}.json")["Resources"]["Child"] for n in range(8)}
        write(checkout / "infra" / f"{level}.json", {"Resources": nested})
    ((source,),) = found("8.json").deployments
    deployment = Deployment((source,))
    assert len(deployment.stacks) == 2_501
    assert any("nested stack" in each for each in deployment.unread)


def test_what_is_wrong_in_an_assembly_is_named_as_the_checkout_has_it(checkout: Path) -> None:
    write_assembly(checkout / "cdk.out", {"Fleet": stack("none.json")})
    (message,) = found(checkout / "cdk.out").unreadable
    assert "'cdk.out/none.json'" in message
