"""``accel-fleet check``: what it reads, what it tells and in which form, and what its exit status says."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from constructs_lib.compliance.rules import RULES
from tests.cli.running import Command, is_one_teaching_line, widest
from tests.compliance.outcomes import HOSTILE, machine
from tests.template.test_assembly import stack, write_assembly

RULE = "instance-metadata-v1"
"""A warning; a template that breaks it, and one that keeps it."""
BAD: dict[str, Any] = {"Resources": {"Machine": machine("optional")}}
GOOD: dict[str, Any] = {"Resources": {"Machine": machine("required")}}
ONLY = ("--select", RULE)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of which the command is called."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    for name, template in (("bad.json", BAD), ("good.json", GOOD)):
        (tmp_path / name).write_text(json.dumps(template))
    return tmp_path


# --- exit status -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("good.json",), 0),
        (("bad.json",), 1),
        (("good.json", "bad.json"), 1),
        ((".",), 1),
        (("bad.json", "--fail-on", "warning"), 1),
        (("bad.json", "--fail-on", "error"), 0),
        (("bad.json", "--fail-on", "none"), 0),
        (("none.json", "bad.json"), 2),
    ],
)
def test_the_exit_status(accel_fleet: Command, arguments: tuple[str, ...], status: int) -> None:
    assert accel_fleet("check", *arguments, *ONLY).status == status


def test_an_error_counts_more_than_a_warning(accel_fleet: Command, folder: Path) -> None:
    (folder / "e.json").write_text(json.dumps({"Resources": {"M": machine("required", suppress=[{}])}}))
    assert accel_fleet("check", "e.json", "--fail-on", "error", *ONLY).status == 1


def test_one_file_that_cannot_be_read_does_not_keep_the_others_from_being_judged(
    accel_fleet: Command, folder: Path
) -> None:
    (folder / "broken.yaml").write_text("Resources:\n  A: {Type: 'AWS::EC2::Instance'\n")
    ran = accel_fleet("check", ".", *ONLY)
    assert ran.status == 2
    assert RULE in ran.out
    assert ran.err.startswith("accel-fleet check: broken.yaml: template must be JSON or YAML: line 3, column 1")
    assert len(ran.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("", "PATH must be given"),
        ("none.json", "a file that can be read"),
        ("empty", "have a template in it"),
        ("words.json", "line 1"),
        ("bad.json --select instance-metadata-v2", f"did you mean '{RULE}'"),
        ("bad.json --ignore no-such-rule", "--ignore must be the id of a rule"),
        ("bad.json --ignore *", "leave a rule to be asked"),
        ("bad.json --format srif", "did you mean 'sarif'"),
        ("bad.json --fail-on never", "--fail-on must be one of error, none, warning"),
        ("bad.json --parameter Size", "--parameter Image"),
        ("bad.json --baseline none.json", "--baseline must be a file that can be read"),
        ("bad.json --baseline bad.json", "--baseline must be of schema"),
        ("bad.json --output bad.json", "--output must be a file of its own"),
        ("bad.json --output a.html --html a.html", "--html must be a file of its own"),
        ("--explain instance-metadata", f"did you mean '{RULE}'"),
        ("bad.json --no-such-option", "--help shows how it is written"),
    ],
)
def test_what_cannot_be_used_is_told_in_one_line(accel_fleet: Command, folder: Path, arguments: str, told: str) -> None:
    (folder / "empty").mkdir()
    (folder / "words.json").write_text("{words}")
    ran = accel_fleet("check", *arguments.split())
    assert is_one_teaching_line(ran), ran
    assert told in ran.err


def test_an_output_that_cannot_be_written_is_told(accel_fleet: Command) -> None:
    ran = accel_fleet("check", "bad.json", "--output", "no/such/folder.txt")
    assert (ran.status, ran.err.count("\n")) == (74, 1)


# --- what is read ----------------------------------------------------------------------------------------------------


def test_yaml_names_the_line(accel_fleet: Command, folder: Path) -> None:
    text = yaml.safe_dump(BAD)
    (folder / "t.yaml").write_text(text)
    (finding,) = accel_fleet("check", "t.yaml", "--format", "json", *ONLY).document["findings"]
    location = finding["location"]
    assert "HttpTokens" in text.splitlines()[location["line"] - 1]
    assert location == {**location, "file": "t.yaml", "stack": "t.yaml", "property": "MetadataOptions.HttpTokens"}


def test_an_assembly_is_read_with_its_stacks(accel_fleet: Command, folder: Path) -> None:
    write_assembly(folder / "cdk.out", {"Fleet": stack("Fleet.template.json", stackName="prod")})
    (folder / "cdk.out" / "Fleet.template.json").write_text(json.dumps(BAD))
    document = accel_fleet("check", "cdk.out", "--format", "json", *ONLY).document
    assert document["stacks"] == ["prod"]
    assert document["findings"][0]["location"]["file"] == "cdk.out/Fleet.template.json"


def test_standard_input(accel_fleet: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(yaml.safe_dump(BAD)))
    ran = accel_fleet("check", "-", *ONLY)
    assert ran.status == 1
    assert ran.out.startswith("standard input\n")


def test_parameters_and_the_region_are_passed(accel_fleet: Command, folder: Path) -> None:
    template: dict[str, Any] = {
        "Parameters": {"Tokens": {"Type": "String"}},
        "Mappings": {"By": {"eu-west-1": {"Type": "g6.xlarge"}}},
        "Resources": {"Machine": machine({"Ref": "Tokens"})},
    }
    machine_type = {"Fn::FindInMap": ["By", {"Ref": "AWS::Region"}, "Type"]}
    template["Resources"]["Machine"]["Properties"]["InstanceType"] = machine_type
    (folder / "t.json").write_text(json.dumps(template))

    def ran(*more: str) -> tuple[int, int]:
        summary = accel_fleet("check", "t.json", "--format", "json", *ONLY, *more).document["summary"]
        return summary["warnings"], summary["not_judged"]

    assert ran() == (0, 1)
    assert ran("--region", "eu-west-1") == (0, 1)
    assert ran("--region", "eu-west-1", "--parameter", "Tokens=optional") == (1, 0)
    assert ran("--region", "eu-west-1", "--parameter", "Tokens=required") == (0, 0)


# --- which rules -----------------------------------------------------------------------------------------------------


def test_rules_are_chosen_with_commas_and_patterns(accel_fleet: Command) -> None:
    def asked(*given: str) -> list[str]:
        found: list[str] = accel_fleet("check", "good.json", "--format", "json", *given).document["rules"]
        return found

    first, second = list(RULES)[:2]
    assert asked() == list(RULES)
    assert asked("--select", f"{first}, {second}") == [first, second]
    assert asked("--select", first, "--select", second) == [first, second]
    assert asked("--ignore", first) == list(RULES)[1:]
    assert RULE in asked("--select", "instance-*")


def test_the_list_names_every_rule(accel_fleet: Command) -> None:
    ran = accel_fleet("check --list")
    assert ran.status == 0
    assert [line.split()[0] for line in ran.out.splitlines()[1:]] == list(RULES)
    assert widest(ran.out) <= 80
    document = accel_fleet("check --list --format json").document
    assert [each["id"] for each in document["rules"]] == list(RULES)


@pytest.mark.parametrize("id", [*RULES, "suppression-not-usable"])
def test_a_rule_is_explained(accel_fleet: Command, id: str) -> None:
    ran = accel_fleet("check", "--explain", id)
    assert ran.status == 0
    for part in (id, "With this library:", "In plain CloudFormation:", "Serves:", "See https://docs.aws.amazon.com/"):
        assert part in ran.out


# --- what is told ----------------------------------------------------------------------------------------------------


def test_every_form_goes_to_a_file_or_to_the_output(accel_fleet: Command, folder: Path) -> None:
    read: dict[str, Callable[[str], object]] = {
        "text": lambda text: text.splitlines()[-1],
        "json": json.loads,
        "sarif": json.loads,
        "junit": ElementTree.fromstring,
        "html": lambda text: ElementTree.fromstring(text.removeprefix("<!DOCTYPE html>")),
    }
    for form, reader in read.items():
        printed = accel_fleet("check", "bad.json", "--format", form, *ONLY)
        silent = accel_fleet("check", "bad.json", "--format", form, "--output", "out", *ONLY)
        assert (printed.status, silent.status, silent.out) == (1, 1, "")
        assert (folder / "out").read_text(encoding="utf-8") == printed.out
        reader(printed.out)


def test_a_page_goes_besides(accel_fleet: Command, folder: Path) -> None:
    ran = accel_fleet("check", "bad.json", "--html", "page.html", *ONLY)
    assert RULE in ran.out
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert page == accel_fleet("check", "bad.json", "--format", "html", *ONLY).out


def test_hostile_names_break_no_form(accel_fleet: Command, folder: Path) -> None:
    template = {"Resources": {f"A{HOSTILE}\ud800": machine(HOSTILE)}}
    (folder / "t.json").write_text(json.dumps(template))
    for form in ("text", "json", "sarif", "junit", "html"):
        ran = accel_fleet("check", "t.json", "--format", form, "--output", "out", *ONLY)
        assert (ran.status, ran.err) == (1, "")
        assert "\x1b" not in (folder / "out").read_text(encoding="utf-8")


def test_text_fits_into_80_columns(accel_fleet: Command) -> None:
    assert widest(accel_fleet("check", ".").out) <= 80
    assert widest(accel_fleet("check --help").out) <= 80


def test_the_same_input_makes_the_same_bytes(accel_fleet: Command) -> None:
    for form in ("text", "json", "sarif", "junit", "html"):
        first, second = (accel_fleet("check", ".", "--format", form) for _ in range(2))
        assert first == second


def test_verbose_tells_each_question(accel_fleet: Command, folder: Path) -> None:
    template = {"Parameters": {"T": {"Type": "String"}}, "Resources": {"Machine": machine({"Ref": "T"})}}
    (folder / "t.json").write_text(json.dumps(template))
    assert "with --verbose" in accel_fleet("check", "t.json", *ONLY).out
    assert "t.json, line 1" in " ".join(accel_fleet("check", "t.json", "--verbose", *ONLY).out.split())


# --- suppressions and the baseline -----------------------------------------------------------------------------------


def test_an_answered_finding_does_not_count_and_is_told(accel_fleet: Command, folder: Path) -> None:
    answer = [{"rule": RULE, "reason": "an old client"}]
    (folder / "t.json").write_text(json.dumps({"Resources": {"Machine": machine("optional", suppress=answer)}}))
    ran = accel_fleet("check", "t.json", *ONLY)
    assert ran.status == 0
    assert "Reason: an old client" in " ".join(ran.out.split())


def test_what_the_baseline_has_does_not_count_and_what_is_gone_is_told(accel_fleet: Command, folder: Path) -> None:
    accel_fleet("check", "bad.json", "--format", "json", "--output", "base.json", *ONLY)

    ran = accel_fleet("check", "bad.json", "--baseline", "base.json", *ONLY)
    assert ran.status == 0
    assert "1 known, 0 gone" in " ".join(ran.out.split())

    more = {"Resources": {**BAD["Resources"], "Another": machine("optional")}}
    (folder / "bad.json").write_text(json.dumps(more, indent=4))
    ran = accel_fleet("check", "bad.json", "--baseline", "base.json", *ONLY)
    assert ran.status == 1
    assert "Another" in ran.out

    (folder / "bad.json").write_text(json.dumps(GOOD))
    ran = accel_fleet("check", "bad.json", "--baseline", "base.json", *ONLY)
    assert ran.status == 0
    assert "Gone since the baseline:\n- bad.json, instance-metadata-v1: Machine" in ran.out


def test_a_baseline_can_be_renewed_in_place(accel_fleet: Command, folder: Path) -> None:
    again = ("check", "bad.json", "--format", "json", "--output", "base.json", *ONLY)
    accel_fleet(*again)
    first = json.loads((folder / "base.json").read_text())
    accel_fleet(*again, "--baseline", "base.json")
    second = json.loads((folder / "base.json").read_text())
    assert second["findings"] == []
    assert second["known"] == first["findings"]
    assert accel_fleet("check", "bad.json", "--baseline", "base.json", *ONLY).status == 0


def test_standard_input_without_an_end(accel_fleet: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("constructs_lib.template.assembly._MOST_CHARACTERS", 100)
    monkeypatch.setattr(sys, "stdin", io.StringIO("\0" * 200))
    ran = accel_fleet("check -")
    assert is_one_teaching_line(ran)
    assert "must have at most 100 characters, got '-'" in ran.err


def test_standard_input_that_is_no_text(accel_fleet: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe{"), errors="surrogateescape"))
    ran = accel_fleet("check", "-")
    assert ran.status == 2
    assert "text in UTF-8" in ran.err


def test_a_parameter_that_no_template_has(accel_fleet: Command, folder: Path) -> None:
    (folder / "t.json").write_text(json.dumps({**BAD, "Parameters": {"Tokens": {"Type": "String"}}}))
    ran = accel_fleet("check", "t.json", "--parameter", "Token=optional")
    assert ran.status == 2
    assert "did you mean 'Tokens'?" in ran.err


def test_a_region_that_is_empty(accel_fleet: Command, folder: Path) -> None:
    (folder / "t.json").write_text(json.dumps(BAD))
    assert accel_fleet("check", "t.json", "--region", "").status == 2
