"""docs/compliance.md: the options, forms and fields that it names are there, its commands run, and its code does."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from aws_cdk import Acknowledgment, App, Stack, Validations

from constructs_lib.cli.command import main
from constructs_lib.compliance import AcceleratorChecks, assert_compliant, check_template
from constructs_lib.compliance.formats.json import SCHEMA, as_json
from constructs_lib.compliance.rules import RULES
from constructs_lib.compliance.sources import sources_in
from constructs_lib.statements import ALL, SUPPRESS
from tests.compliance.cases import group as a_group
from tests.compliance.outcomes import machine, outcome
from tests.compliance.test_cdk import group
from tests.support.stacks import ROOT, fleet
from tests.template.test_assembly import stack, write_assembly

TEXT = (ROOT / "docs" / "compliance.md").read_text(encoding="utf-8")
COMMANDS = [
    line.strip().removeprefix("- run: ").removeprefix("- ")
    for line in TEXT.splitlines()
    if re.match(r"( {4,})(- run: |- )?accel-fleet ", line)
]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with templates and an assembly, as the page takes for granted."""
    template = json.dumps({"Resources": {"Machine": machine("required")}})
    (tmp_path / "infra").mkdir()
    (tmp_path / "infra" / "t.json").write_text(template)
    write_assembly(tmp_path / "cdk.out", {"Fleet": stack("Fleet.json")})
    (tmp_path / "cdk.out" / "Fleet.json").write_text(template)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_option_is_one_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--help"]) == 0
    known = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", TEXT))
    assert named <= known
    assert known - named == {"--help"}


def test_there_are_commands_to_be_tried() -> None:
    assert len(COMMANDS) >= 6


def test_the_commands_run_one_after_another(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in COMMANDS:
        status = main(shlex.split(command)[1:])
        printed = capsys.readouterr()
        assert status in (0, 1), (command, printed.err)
        assert printed.err == ""
    for file in ("check.sarif", "check.html", "check.xml", "baseline.json"):
        assert (folder / file).stat().st_size > 0


def test_every_form_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", "--help"])
    listed = re.search(r"--format NAME\s+([\w, ]+);", capsys.readouterr().out)
    assert listed is not None
    table = TEXT.partition("| `--format` |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == listed[1].split(", ")
    assert f"`{SCHEMA}`" in table


def test_every_field_of_the_document_is_named() -> None:
    document = as_json(outcome())
    finding = document["findings"][0]
    for key in (*document, *finding, *finding["location"], "practices"):
        assert f"`{key}`" in TEXT, key


def test_the_answer_is_taken() -> None:
    (text,) = [each for each in blocks("yaml") if "suppress:" in each]
    suppressed = yaml.safe_load(text)["Resources"]["Chat"]["Metadata"]["accel-fleet"]["suppress"]
    assert {each["rule"] for each in suppressed} <= set(RULES)
    report = check_template(text)
    assert not [each for each in report.findings if each.rule == "suppression-not-usable"]


def test_what_a_template_can_state_is_what_rules_read() -> None:
    (text,) = [each for each in blocks("yaml") if "minimum:" in each]
    stated = yaml.safe_load(text)["Resources"]["Chat"]["Metadata"]["accel-fleet"]
    assert set(stated) < set(ALL)
    assert not check_template(text).findings
    table = set(
        re.findall(r"^\| `(\w+)` \|", TEXT.partition("## What a template can state")[2].partition("## ")[0], re.M)
    )
    assert table == set(ALL) - {SUPPRESS}


def test_the_pipelines_are_yaml() -> None:
    pipelines: list[dict[str, Any]] = [yaml.safe_load(each) for each in blocks("yaml")]
    assert [set(each) for each in pipelines] == [{"Resources"}, {"Resources"}, {"jobs"}, {"accelerators"}]


def test_the_code_runs_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = [each for each in blocks("python") if "check_template(" in each]
    exec(compile(code, "docs", "exec"), {})
    assert capsys.readouterr().out.startswith("Machine: set MetadataOptions")


def test_the_code_for_an_app_runs_as_it_stands() -> None:
    plugin, suppression, acknowledgement = [
        each for each in blocks("python") if "app = App()" in each or "(fleet" in each
    ]
    names: dict[str, Any] = {"Acknowledgment": Acknowledgment}
    exec(compile(plugin, "docs", "exec"), names)
    names["fleet"] = fleet(Stack(names["app"], "Test"), min_capacity=1)
    for each in (suppression, acknowledgement):
        exec(compile(each, "docs", "exec"), names)
    names["app"].synth()


def test_the_code_for_a_test_runs_as_it_stands() -> None:
    (code,) = [each for each in blocks("python") if "def test_" in each]
    names: dict[str, Any] = {"TrainingStack": Stack, "App": App}
    exec(compile(code, "docs", "exec"), names)
    (test,) = [each for name, each in names.items() if name.startswith("test_")]
    test()


def test_what_the_page_shows_of_a_finding_is_what_is_told() -> None:
    app = App()
    Validations.of(app).add_plugins(AcceleratorChecks(select=["instance-metadata-v1"]))
    group(Stack(app, "Test"))
    with pytest.raises(RuntimeError) as caught:
        app.synth()
    (told,) = [each for each in blocks("text") if each.startswith("ERROR ")]
    assert told.strip() in str(caught.value)

    (told,) = [each for each in blocks("text") if each.startswith("1 finding")]
    with pytest.raises(AssertionError) as asserted:
        assert_compliant(
            a_group(launch={"MetadataOptions": {"HttpTokens": "optional"}}), select=["instance-metadata-v1"]
        )
    assert str(asserted.value).partition("    in ")[0] == told.partition("    in ")[0]


def test_a_folder_is_read_as_the_page_says(folder: Path) -> None:
    found = sources_in(["."], standard_input=str)
    assert sorted(source.name for sources in found.deployments for source in sources) == ["Fleet", "infra/t.json"]


def test_links_lead_to_files_of_the_checkout() -> None:
    for target in re.findall(r"\]\(([\w./-]+)\)", TEXT):
        assert (ROOT / "docs" / target).is_file()
