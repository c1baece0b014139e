"""The forms for programs hold all that was found, and are what the standards say."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any
from xml.etree import ElementTree

import pytest
from jsonschema import Draft4Validator  # type: ignore[import-untyped]

from constructs_lib.compliance.checking import BAD_SUPPRESSION
from constructs_lib.compliance.formats.json import SCHEMA, as_json
from constructs_lib.compliance.formats.junit import as_junit
from constructs_lib.compliance.formats.sarif import as_sarif
from constructs_lib.compliance.practices import PRACTICES
from tests.compliance.outcomes import HOSTILE, RULE, SCHEMAS, nothing, outcome

SARIF = json.loads((SCHEMAS / "sarif-2.1.0-rtm.5.json").read_text(encoding="utf-8"))
"""As in Microsoft's package jest-sarif 1.0.0, under the licence that lies beside it."""

# --- JSON ------------------------------------------------------------------------------------------------------------


def test_the_document_holds_all_that_was_found() -> None:
    document = as_json(outcome())

    assert document["schema"] == SCHEMA == "accel-fleet/check/1"
    assert document["stacks"] == ["Fleet"]
    assert document["rules"] == [RULE]
    (first,) = [each for each in document["findings"] if each["resource"] == "Breaks"]
    assert first == {
        "rule": RULE,
        "severity": "warning",
        "resource": "Breaks",
        "type": "AWS::EC2::Instance",
        "message": "Breaks: MetadataOptions.HttpTokens must be 'required', got nothing",
        "fix": first["fix"],
        "practice": "SEC06-BP02",
        "location": {
            "stack": "Fleet",
            "file": "cdk.out/Fleet template.json",
            "line": 15,
            "property": "MetadataOptions.HttpTokens",
        },
    }
    assert [each["resource"] for each in document["known"]] == ["Known"]
    assert [each["resource"] for each in document["gone"]] == ["Former"]
    assert [(each["resource"], each["reason"]) for each in document["suppressed"]] == [("Answered", HOSTILE)]
    (open_,) = document["not_judged"]
    assert (open_["resource"], open_["rule"]) == ("Open", RULE)
    assert "Tokens" in open_["reason"]
    assert document["unreadable"] == ["bad.json: template must be JSON"]


def test_the_summary_counts() -> None:
    summary = as_json(outcome())["summary"]
    practices = {each["practice"]: each for each in summary.pop("practices")}

    assert summary == {"errors": 1, "warnings": 2, "known": 1, "suppressed": 1, "stated": 0, "not_judged": 1, "kept": 2}
    metadata = practices["SEC06-BP02"]
    assert (metadata["kept"], metadata["broken"], metadata["suppressed"], metadata["not_judged"]) == (2, 3, 1, 1)
    assert metadata["score"] == pytest.approx(2 / 5)
    assert metadata["url"] == PRACTICES["SEC06-BP02"].url


def test_without_a_baseline_nothing_is_gone() -> None:
    assert as_json(outcome(baseline=False))["gone"] is None


def test_it_is_json_whatever_names_there_are() -> None:
    json.loads(json.dumps(as_json(outcome()), allow_nan=False))


# --- SARIF -----------------------------------------------------------------------------------------------------------


def _run(**given: Any) -> dict[str, Any]:
    (run,) = as_sarif(outcome(**given))["runs"]
    found: dict[str, Any] = run
    return found


@pytest.mark.parametrize("found", [outcome(), outcome(unreadable=(), baseline=False), nothing()])
def test_it_is_valid_by_the_schema(found: Any) -> None:
    Draft4Validator(SARIF).validate(as_sarif(found))


def test_results_point_at_their_rules() -> None:
    run = _run()
    rules = run["tool"]["driver"]["rules"]
    assert {each["id"] for each in rules} == {RULE, BAD_SUPPRESSION}
    assert all(rules[each["ruleIndex"]]["id"] == each["ruleId"] for each in run["results"])


def test_each_result_has_its_state() -> None:
    states = {
        each["locations"][0]["logicalLocations"][0]["fullyQualifiedName"].split("/")[1]: each
        for each in _run()["results"]
    }

    assert {name: each.get("baselineState") for name, each in states.items() if "Evil" not in name} == {
        "Breaks": "new",
        "Known": "unchanged",
        "Former": "absent",
        "Answered": "new",
        "Unanswered": "new",
    }
    assert states["Answered"]["suppressions"] == [{"kind": "inSource", "status": "accepted", "justification": HOSTILE}]
    assert all(each["suppressions"] == [] for name, each in states.items() if name != "Answered")
    assert (states["Breaks"]["kind"], states["Breaks"]["level"]) == ("fail", "warning")
    assert states["Unanswered"]["level"] == "error"


def test_what_was_not_judged_is_a_note_and_no_result_that_a_reader_could_take_for_an_alert() -> None:
    run = _run(unreadable=())
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert note["level"] == "note"
    assert note["message"]["text"].startswith("Open cannot be judged: parameter Tokens has no default")
    assert run["tool"]["driver"]["rules"][note["associatedRule"]["index"]]["id"] == note["associatedRule"]["id"] == RULE
    assert note["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "cdk.out/Fleet%20template.json"
    assert {each["kind"] for each in run["results"]} == {"fail"}


def test_without_a_baseline_results_have_no_state() -> None:
    assert not any("baselineState" in each for each in _run(baseline=False)["results"])


def test_a_place_is_a_relative_address_and_a_line() -> None:
    physical = [each["locations"][0]["physicalLocation"] for each in _run()["results"]]
    assert {each["artifactLocation"]["uri"] for each in physical} == {
        "cdk.out/Fleet%20template.json",
        "cdk.out/Fleet.json",
    }
    assert all(each["region"]["startLine"] >= 1 for each in physical)


def test_fingerprints_tell_results_apart_and_stay_when_lines_move() -> None:
    prints = [tuple(each["partialFingerprints"].items()) for each in _run()["results"]]
    assert len(set(prints)) == len(prints)
    assert prints == [tuple(each["partialFingerprints"].items()) for each in _run()["results"]]


def test_rules_explain_themselves() -> None:
    (rule,) = [each for each in _run()["tool"]["driver"]["rules"] if each["id"] == RULE]
    assert rule["helpUri"].startswith("https://docs.aws.amazon.com/")
    assert rule["properties"]["tags"] == ["SEC06-BP02"]
    assert rule["defaultConfiguration"] == {"level": "warning"}
    for part in ("With this library", "In plain CloudFormation"):
        assert part in rule["help"]["text"]
        assert f"**{part}:**" in rule["help"]["markdown"]


@pytest.mark.parametrize("unreadable", [(), ("a.json: template must be JSON",)])
def test_a_run_that_could_not_read_all_was_no_success(unreadable: tuple[str, ...]) -> None:
    (invocation,) = _run(unreadable=unreadable)["invocations"]
    assert invocation["executionSuccessful"] is (not unreadable)
    told = [each["message"]["text"] for each in invocation["toolExecutionNotifications"] if each["level"] == "error"]
    assert told == list(unreadable)


# --- JUnit -----------------------------------------------------------------------------------------------------------

# As the schema of Jenkins' xUnit plugin has them, junit-10.xsd, and that of Maven Surefire, as far as they agree.
ATTRIBUTES = {
    "testsuites": {"name", "tests", "failures", "errors"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped"},
    "testcase": {"name", "classname"},
    "failure": {"message", "type"},
    "error": {"message", "type"},
    "skipped": {"message"},
}
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"testcase"},
    "testcase": {"failure", "error", "skipped"},
}


@pytest.mark.parametrize("found", [outcome(), nothing()])
def test_it_has_the_elements_and_attributes_of_junit(found: Any) -> None:
    root = ElementTree.fromstring(as_junit(found))
    assert root.tag == "testsuites"
    for each in root.iter():
        assert set(each.attrib) == ATTRIBUTES[each.tag]
        assert {child.tag for child in each} <= CHILDREN.get(each.tag, set())
        assert each.tag != "testcase" or len(each) <= 1


def test_the_counts_are_those_of_the_cases() -> None:
    root = ElementTree.fromstring(as_junit(outcome()))
    for each in (root, *root.iter("testsuite")):
        assert int(each.attrib["tests"]) == len(list(each.iter("testcase")))
        for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            if attribute in each.attrib:
                assert int(each.attrib[attribute]) == len(list(each.iter(tag)))


def test_there_is_a_case_for_each_rule_and_resource() -> None:
    root = ElementTree.fromstring(as_junit(outcome()))
    suites = {each.attrib["name"]: each for each in root}
    assert set(suites) == {"Fleet", "input"}
    outcomes = {
        case.attrib["name"]: case[0].tag if len(case) else "passed"
        for case in suites["Fleet"]
        if "Evil" not in case.attrib["name"]
    }
    assert outcomes == {
        f"{RULE}: Breaks": "failure",
        f"{RULE}: Known": "skipped",
        f"{RULE}: Keeps": "passed",
        f"{RULE}: Open": "skipped",
        f"{RULE}: Answered": "skipped",
        f"{BAD_SUPPRESSION}: Unanswered": "failure",
        f"{RULE}: Unanswered": "passed",
    }
    assert Counter(case.attrib["name"] for case in root.iter("testcase")).most_common(1)[0][1] == 1
    (error,) = suites["input"].iter("error")
    assert error.attrib["message"] == "bad.json: template must be JSON"
