"""``accel-fleet preflight``: what it asks for, prints and returns. What it finds is tested in ``tests/preflight``."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from moto import mock_aws

from constructs_lib.preflight import Finding, Report, policy_document
from tests.cli.running import Command, is_one_teaching_line, widest
from tests.preflight.fake_account import FakeAccount, refusal

OK = Finding(severity="ok", resource="Group", asked="quota", message="enough")
BAD = Finding(
    severity="error",
    resource="Group",
    asked="offering",
    message="no zone of eu-west-1 that the group launches in offers p5.48xlarge, which is all that it may launch",
    cure="launch in another Region, or take another type that its zones offer",
    commands=("aws ec2 describe-instance-type-offerings --location-type availability-zone --region eu-west-1",),
)
UNKNOWN = Finding(severity="unknown", resource="Group", asked="quota", message="not told", cure="allow it")


class Asking:
    """Stands for preflight: answers with findings, and remembers what it was asked."""

    def __init__(self) -> None:
        self.findings: tuple[Finding, ...] = (OK,)
        self.asked: list[dict[str, Any]] = []

    def __call__(
        self, template: Mapping[str, Any], session: Any, *, progress: Callable[[str], object], **given: Any
    ) -> Report:
        progress("ec2:DescribeSubnets")
        self.asked.append({"template": template, "session_region": session.region_name, **given})
        region = given["region"] or session.region_name or "eu-west-1"
        return Report(region=region, account="123456789012", findings=self.findings, not_judged=("the weather",))


@pytest.fixture
def asking(monkeypatch: pytest.MonkeyPatch) -> Asking:
    stand_in = Asking()
    monkeypatch.setattr("constructs_lib.preflight.preflight", stand_in)
    return stand_in


@pytest.fixture
def template(tmp_path: Path) -> Path:
    path = tmp_path / "Stack.template.json"
    path.write_text(json.dumps({"Resources": {}}))
    return path


@pytest.fixture
def assembly(tmp_path: Path) -> Path:
    folder = tmp_path / "cdk.out"
    folder.mkdir()
    artifacts = {}
    for name, environment in (("One", "aws://123456789012/eu-west-1"), ("Two", "aws://unknown-account/unknown-region")):
        (folder / f"{name}.template.json").write_text(json.dumps({"Resources": {}, "Description": name}))
        artifacts[name] = {
            "type": "aws:cloudformation:stack",
            "environment": environment,
            "properties": {"templateFile": f"{name}.template.json"},
        }
    (folder / "manifest.json").write_text(json.dumps({"version": "1", "artifacts": artifacts}))
    return folder


def test_all_ok_is_fine(accel_fleet: Command, asking: Asking, template: Path) -> None:
    ran = accel_fleet(f"preflight --template {template} --region eu-west-1")

    assert (ran.status, ran.err) == (0, "")
    assert "Template in eu-west-1, account 123456789012: 1 ok." in ran.out
    assert "OK      Group, quota: enough" in ran.out
    assert "Not judged:\n- the weather" in ran.out


@pytest.mark.parametrize("finding", [BAD, UNKNOWN])
def test_any_finding_that_is_not_ok_has_the_status_of_it(
    accel_fleet: Command, asking: Asking, template: Path, finding: Finding
) -> None:
    asking.findings = (OK, finding)

    ran = accel_fleet(f"preflight --template {template}")

    assert ran.status == 1
    assert finding.severity.upper() in ran.out
    assert f"-> {finding.cure.split()[0]}" in ran.out


def test_lines_fit_into_80_columns_but_for_commands_to_copy(
    accel_fleet: Command, asking: Asking, template: Path
) -> None:
    asking.findings = (BAD,)

    lines = accel_fleet(f"preflight --template {template}").out.splitlines()

    commands = [line for line in lines if line.lstrip().startswith("$ ")]
    assert commands == [f"$ {BAD.commands[0]}"]
    assert widest("\n".join(line for line in lines if line not in commands)) <= 80


def test_options_reach_the_questions(accel_fleet: Command, asking: Asking, template: Path) -> None:
    accel_fleet(
        f"preflight --template {template} --region us-west-2 --subnet subnet-1 --subnet subnet-2 "
        "--parameter Image=/my/image --parameter Empty="
    )

    (asked,) = asking.asked
    assert (asked["region"], asked["session_region"]) == ("us-west-2", "us-west-2")
    assert list(asked["subnets"]) == ["subnet-1", "subnet-2"]
    assert asked["parameters"] == {"Image": "/my/image", "Empty": ""}


def test_every_stack_of_a_folder_is_asked_about_beside_the_others(
    accel_fleet: Command, asking: Asking, assembly: Path
) -> None:
    ran = accel_fleet(f"preflight --template {assembly} --json")

    assert [each["template"]["Description"] for each in asking.asked] == ["One", "Two"]
    assert [each["region"] for each in asking.asked] == ["eu-west-1", None]
    assert [list(each["beside"]) for each in asking.asked] == [["Two"], ["One"]]
    report = Report(region="eu-west-1", account="123456789012", findings=(OK,), not_judged=("the weather",)).document()
    assert ran.document == {
        "schema": "accel-fleet/preflight/1",
        "stacks": [
            {"stack": "One", "meant_for": {"account": "123456789012", "region": "eu-west-1"}, **report},
            {"stack": "Two", "meant_for": {"account": None, "region": None}, **report},
        ],
    }


def test_one_stack_can_be_named(accel_fleet: Command, asking: Asking, assembly: Path) -> None:
    accel_fleet(f"preflight --template {assembly} --stack Two")

    assert [each["template"]["Description"] for each in asking.asked] == ["Two"]
    ran = accel_fleet(f"preflight --template {assembly} --stack Tow")
    assert is_one_teaching_line(ran)
    assert "did you mean 'Two'?" in ran.err


def test_another_region_than_the_stack_is_bound_to_is_told(
    accel_fleet: Command, asking: Asking, assembly: Path
) -> None:
    ran = accel_fleet(f"preflight --template {assembly} --stack One --region us-east-1")

    assert ran.status == 1
    assert "Attention: the stack is bound to Region eu-west-1, and us-east-1 was asked." in ran.out


@pytest.mark.parametrize("arguments", ["--stack One", "--parameter Image", "--parameter =x"])
def test_unusable_options_are_one_line(accel_fleet: Command, asking: Asking, template: Path, arguments: str) -> None:
    assert is_one_teaching_line(accel_fleet(f"preflight --template {template} {arguments}"))
    assert asking.asked == []


def test_the_policy_is_printed_without_asking(accel_fleet: Command, asking: Asking) -> None:
    ran = accel_fleet("preflight --print-policy")

    assert (ran.status, asking.asked) == (0, [])
    assert ran.document == policy_document()


def test_without_a_region_it_is_one_line(accel_fleet: Command, template: Path) -> None:
    ran = accel_fleet(f"preflight --template {template}")

    assert is_one_teaching_line(ran)
    assert "--region" in ran.err


def test_without_credentials_it_is_one_line_that_says_how_to_get_some(accel_fleet: Command, template: Path) -> None:
    ran = accel_fleet(f"preflight --template {template} --region eu-west-1")

    assert is_one_teaching_line(ran)
    assert "Unable to locate credentials" in ran.err
    assert "'aws configure' or 'aws sso login'" in ran.err
    assert "--profile NAME" in ran.err
    assert "boto3" not in ran.err


@pytest.mark.parametrize("code", ["ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId"])
def test_credentials_that_have_expired_are_one_line_too(
    accel_fleet: Command, template: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    def session(*_: object) -> FakeAccount:
        expired = refusal(code, "The security token included in the request is expired")
        return FakeAccount(refused={"get_caller_identity": expired})

    monkeypatch.setattr("constructs_lib.cli.session.session_for", session)

    ran = accel_fleet(f"preflight --template {template} --json")

    assert is_one_teaching_line(ran)
    assert f"{code}: The security token included in the request is expired" in ran.err


@mock_aws
def test_it_asks_an_account(accel_fleet: Command, template: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = accel_fleet(f"preflight --template {template} --region eu-west-1 --json")

    (stack,) = ran.document["stacks"]
    assert (stack["region"], stack["account"]) == ("eu-west-1", "123456789012")
