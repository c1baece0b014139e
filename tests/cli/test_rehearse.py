"""``accel-fleet rehearse``: what it takes, prints, writes and returns."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
import yaml

from constructs_lib.rehearsal.record import Record
from constructs_lib.rehearsal.report import Rehearsal
from constructs_lib.rehearsal.template import Template
from constructs_lib.rehearsal.trace import Trace
from constructs_lib.rehearsal.traces import GENERATORS
from constructs_lib.rehearsal.tune import MOST_RUNS
from tests.cli.running import Command, is_one_teaching_line, widest
from tests.cli.test_command import timed
from tests.packaging.building import CHECKOUT
from tests.rehearsal.made_records import PROMISED, cut_off, rehearsal, two_jobs

GROUP: dict[str, Any] = {
    "Type": "AWS::AutoScaling::AutoScalingGroup",
    "Properties": {
        "MinSize": "0",
        "MaxSize": "4",
        "LaunchTemplate": {"LaunchTemplateId": {"Ref": "Launch"}, "Version": "1"},
        "AvailabilityZones": ["us-east-1a"],
    },
}
LAUNCH = {
    "Type": "AWS::EC2::LaunchTemplate",
    "Properties": {"LaunchTemplateData": {"InstanceType": "g6.xlarge", "ImageId": "ami-0123456789abcdef0"}},
}
TEMPLATE = {"Resources": {"FleetASG": GROUP, "Launch": LAUNCH}}


class Playing:
    """Stands for the rehearsal: has a result ready, and remembers what it was asked."""

    def __init__(self) -> None:
        self.record: Record = two_jobs()
        self.asked: dict[str, Any] = {}

    def __call__(self, template: Mapping[str, Any], trace: Trace, **asked: Any) -> Rehearsal:
        asked["said"]("the fleet", 0.5)
        self.asked = {"template": template, "trace": trace, **asked}
        return replace(rehearsal(self.record, goal_s=asked["goal_s"]), scenario=asked["scenario"])


@pytest.fixture
def playing(monkeypatch: pytest.MonkeyPatch) -> Playing:
    stand_in = Playing()
    monkeypatch.setattr("constructs_lib.rehearsal.run.rehearse", stand_in)
    return stand_in


@pytest.fixture
def template(tmp_path: Path) -> Path:
    path = tmp_path / "Stack.template.json"
    path.write_text(json.dumps(TEMPLATE))
    return path


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "work.csv"
    path.write_text("arrival_s,service_s,accelerators\n0,600,1\n60,30,0.5\n")
    return path


@pytest.fixture
def usual(template: Path, trace: Path) -> str:
    return f"rehearse --template {template} --trace {trace}"


@pytest.fixture
def assembly(tmp_path: Path) -> Path:
    folder = tmp_path / "cdk.out"
    folder.mkdir()
    contents = {
        "Network": {"Resources": {}},
        "One": TEMPLATE,
        "Two": {"Resources": {"OtherASG": GROUP, "Launch": LAUNCH}},
    }
    artifacts = {}
    for name, content in contents.items():
        (folder / f"{name}.template.json").write_text(json.dumps(content))
        artifacts[name] = {
            "type": "aws:cloudformation:stack",
            "environment": "aws://123456789012/eu-west-1",
            "properties": {"templateFile": f"{name}.template.json"},
        }
    (folder / "manifest.json").write_text(json.dumps({"version": "1", "artifacts": artifacts}))
    return folder


# --- what it prints and returns --------------------------------------------------------------------------------------


def test_a_run_that_did_all_work_is_fine_and_reads_well(accel_fleet: Command, playing: Playing, usual: str) -> None:
    ran = accel_fleet(usual)

    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith("FleetASG: 0 to 4 instances of 2 accelerators.\n")
    assert "Accelerator-hours" in ran.out
    assert widest(ran.out) <= 80


def test_work_that_was_cut_off_is_a_finding(accel_fleet: Command, playing: Playing, usual: str) -> None:
    playing.record = cut_off()

    assert accel_fleet(usual).status == 1


def test_what_the_scenario_explains_is_no_finding(accel_fleet: Command, playing: Playing, usual: str) -> None:
    playing.record = cut_off()

    assert accel_fleet(f"{usual} --reclaims-per-hour 0.5").status == 0


def test_no_capacity_explains_what_is_unfinished_and_not_what_was_cut_off(
    accel_fleet: Command, playing: Playing, usual: str
) -> None:
    playing.record = cut_off()
    assert accel_fleet(f"{usual} --no-capacity 0..1h").status == 1

    playing.record.jobs = playing.record.jobs[1:]
    assert accel_fleet(f"{usual} --no-capacity 0..1h").status == 0
    assert accel_fleet(usual).status == 1


def test_the_document_goes_to_the_output_or_to_a_file(
    accel_fleet: Command, playing: Playing, usual: str, tmp_path: Path
) -> None:
    printed = accel_fleet(f"{usual} --json -")
    written = accel_fleet(f"{usual} --json {tmp_path / 'found.json'}")

    assert printed.document["schema"] == "accel-fleet/rehearse/1"
    assert (tmp_path / "found.json").read_text() == printed.out
    assert written.out.startswith("FleetASG: ")


def test_the_document_has_the_keys_that_were_promised(accel_fleet: Command, playing: Playing, usual: str) -> None:
    document = accel_fleet(f"{usual} --json -").document

    assert PROMISED | {"optimum", "ratio_to_optimum", "alternatives"} <= set(document)
    for part in (document["optimum"], document["nobody_waits"], *document["alternatives"].values()):
        assert set(part) >= PROMISED
        assert {"p50", "p95", "p99", "max"} <= set(part["wait_s"])


def test_the_page_goes_to_a_file_or_to_the_output(
    accel_fleet: Command, playing: Playing, usual: str, tmp_path: Path
) -> None:
    printed = accel_fleet(f"{usual} --html -")
    accel_fleet(f"{usual} --html {tmp_path / 'page.html'}")

    assert printed.out.startswith("<!DOCTYPE html>\n")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == printed.out


def test_a_file_that_cannot_be_written_is_one_line(
    accel_fleet: Command, playing: Playing, usual: str, tmp_path: Path
) -> None:
    ran = accel_fleet(f"{usual} --json {tmp_path / 'no' / 'such' / 'folder.json'}")

    assert ran.status == 74
    assert len(ran.err.splitlines()) == 1


# --- what it takes ---------------------------------------------------------------------------------------------------


def test_options_reach_the_rehearsal(accel_fleet: Command, playing: Playing, usual: str) -> None:
    accel_fleet(
        f"{usual} --fleet Fleet --seed 7 --goal 10m --compare --tune --boot 90 --ready 5m --reclaims-per-hour 0.1 "
        "--no-capacity 2h..5h --no-capacity 6000..7000 --launch-failures 0.25 --start 2026-02-03T06:00 "
        "--region eu-west-1 --usd-per-hour 1.5"
    )
    asked = playing.asked
    scenario = asked["scenario"]

    assert (asked["fleet"], asked["seed"], asked["goal_s"], asked["compare"], asked["tuned"]) == (
        "FleetASG",
        7,
        600,
        True,
        True,
    )
    assert [each.seconds(0.5) for each in (scenario.cold_start.boot, *scenario.cold_start.setup)] == [90, 210]
    assert (scenario.reclaims_per_hour, scenario.launch_failures) == (0.1, 0.25)
    assert scenario.no_capacity == ((7_200, 18_000), (6_000, 7_000))
    assert scenario.start == datetime(2026, 2, 3, 6, tzinfo=timezone.utc)
    assert (asked["prices"].region, asked["prices"].usd_per_hour) == ("eu-west-1", 1.5)


def test_a_parameter_reaches_the_template(accel_fleet: Command, playing: Playing, tmp_path: Path, trace: Path) -> None:
    size = {"Type": "Number", "Default": 4}
    group = {**GROUP, "Properties": {**GROUP["Properties"], "MaxSize": {"Ref": "Most"}}}
    file = tmp_path / "sized.json"
    file.write_text(
        json.dumps({"Parameters": {"Most": size}, "Resources": {**TEMPLATE["Resources"], "FleetASG": group}})
    )

    accel_fleet(f"rehearse --template {file} --trace {trace} --parameter Most=9")

    assert Template(playing.asked["template"]).group()[1]["MaxSize"] == "9"


def test_what_is_known_of_a_start_reaches_it(accel_fleet: Command, playing: Playing, usual: str) -> None:
    accel_fleet(f"{usual} --image-gb 2 --model-time 3m --driver installed --no-capacity-wait")
    cold_start = playing.asked["scenario"].cold_start

    assert cold_start.capacity is None
    assert [each.figures.name for each in cold_start.setup] == ["driver", "image", "work"]
    assert (cold_start.setup[1].gigabytes, cold_start.setup[2].seconds(0.5)) == (2, 180)


@pytest.mark.parametrize(
    ("said", "installed"), [("", False), (" --driver baked", False), (" --driver installed", True)]
)
def test_an_image_of_unknown_content_has_the_driver_unless_told_otherwise(
    accel_fleet: Command, playing: Playing, usual: str, said: str, installed: bool
) -> None:
    accel_fleet(f"{usual}{said}")
    stages = [each.figures.name for each in playing.asked["scenario"].cold_start.setup]

    assert ("driver" in stages) is installed
    assert playing.asked["scenario"].cold_start.capacity is not None


@pytest.mark.parametrize("option", ["--json", "--html"])
@pytest.mark.parametrize("other", ["template", "trace"])
def test_what_is_read_is_not_written_over(
    accel_fleet: Command, playing: Playing, usual: str, request: pytest.FixtureRequest, option: str, other: str
) -> None:
    file: Path = request.getfixturevalue(other)
    before = file.read_text()
    ran = accel_fleet(f"{usual} {option} {file.parent}/./{file.name}")

    assert is_one_teaching_line(ran)
    assert f"{option} must not be that of --{other}, got" in ran.err
    assert file.read_text() == before
    assert not playing.asked


def test_both_reports_cannot_go_to_one_file_whatever_it_is_called(
    accel_fleet: Command, playing: Playing, usual: str, tmp_path: Path
) -> None:
    ran = accel_fleet(f"{usual} --json {tmp_path}/a --html {tmp_path}/./a")

    assert is_one_teaching_line(ran)
    assert "--html must not be that of --json" in ran.err


def test_a_folder_that_is_not_there_is_told_before_anything_is_played(
    accel_fleet: Command, playing: Playing, usual: str, tmp_path: Path
) -> None:
    ran = accel_fleet(f"{usual} --json {tmp_path}/none/a.json")

    assert (ran.status, ran.out, len(ran.err.splitlines())) == (74, "", 1)
    assert not playing.asked


@pytest.mark.parametrize("start", ["0001-01-01T00:00+05:00", "1999-12-31", "2101-01-01", "9999-12-31T23:59-05:00"])
def test_a_start_far_from_today_is_one_line(accel_fleet: Command, usual: str, start: str) -> None:
    assert is_one_teaching_line(accel_fleet(f"{usual} --start {start}"))


def test_what_is_wrong_in_a_template_is_named_by_where_it_stands(
    accel_fleet: Command, tmp_path: Path, trace: Path
) -> None:
    file = tmp_path / "a.json"
    alarm = {"Type": "AWS::CloudWatch::Alarm", "Properties": {"Threshold": "a\x1b[31m"}}
    file.write_text(json.dumps({"Resources": {**TEMPLATE["Resources"], "Hot\x1b[31m": alarm}}))
    ran = accel_fleet("rehearse", "--template", str(file), "--trace", str(trace))

    assert is_one_teaching_line(ran)
    assert ran.err.startswith("accel-fleet rehearse: Hot\\x1b[31m: ComparisonOperator must be given; ")


@pytest.mark.parametrize("source", ["file", "input"])
def test_json_that_is_nested_too_deeply_is_one_line(
    accel_fleet: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, trace: Path, source: str
) -> None:
    deep = '{"Resources":' + "[" * 100_000 + "]" * 100_000 + "}"
    (tmp_path / "deep.json").write_text(deep)
    monkeypatch.setattr("sys.stdin", io.StringIO(deep))
    template = "-" if source == "input" else str(tmp_path / "deep.json")

    assert is_one_teaching_line(accel_fleet(f"rehearse --template {template} --trace {trace}"))


def test_the_trace_is_read(accel_fleet: Command, playing: Playing, usual: str) -> None:
    accel_fleet(usual)

    assert [tuple(each) for each in playing.asked["trace"].jobs] == [(0, 600, 1), (60, 30, 0.5)]


def test_a_trace_can_come_from_the_standard_input(
    accel_fleet: Command, playing: Playing, template: Path, trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(trace.read_text()))
    accel_fleet(f"rehearse --template {template} --trace -")

    assert len(playing.asked["trace"]) == 2


def test_a_template_can_come_from_the_standard_input(
    accel_fleet: Command, playing: Playing, trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(TEMPLATE)))

    assert accel_fleet(f"rehearse --template - --trace {trace}").status == 0
    assert playing.asked["template"] == TEMPLATE


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "be JSON: line 1, column 2"),
        ("Resources: [\n", "be JSON or YAML: line 2, column 1"),
        ("[]", "be an object with Resources"),
        ("{}", "be a template with Resources"),
    ],
)
def test_what_is_no_template_is_one_line_from_there_too(
    accel_fleet: Command, playing: Playing, trace: Path, monkeypatch: pytest.MonkeyPatch, text: str, told: str
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    ran = accel_fleet(f"rehearse --template - --trace {trace}")

    assert is_one_teaching_line(ran)
    assert told in ran.err


def test_bad_rows_stop_it_with_their_lines_or_are_left_out(
    accel_fleet: Command, playing: Playing, usual: str, trace: Path
) -> None:
    trace.write_text("arrival_s,service_s,accelerators\n0,600,1\nx,30,1\n")
    ran = accel_fleet(usual)

    assert ran.status == 2
    assert "line 3" in ran.err
    assert accel_fleet(f"{usual} --skip-bad-rows").status == 0
    assert len(playing.asked["trace"]) == 1


def test_a_part_of_a_public_trace_is_read(accel_fleet: Command, playing: Playing, usual: str, trace: Path) -> None:
    """Of two models' requests, one's, in the second and third minute, at a tenth of the pace."""
    header = "Timestamp,Model,Request tokens,Response tokens\n"
    rows = [f"{30 * place},{'GPT-4' if place % 2 else 'ChatGPT'},100,10\n" for place in range(10)]
    trace.write_text(header + "".join(rows))
    accel_fleet(f"{usual} --trace-model GPT-4 --trace-part 1m..3m --trace-stretch 10 --trace-scale 1")

    assert [job.arrival_s for job in playing.asked["trace"].jobs] == [300, 900]

    accel_fleet(f"{usual} --trace-model GPT-4 --trace-part 1m..3m --trace-merge 1m")
    assert [(job.arrival_s, job.accelerators) for job in playing.asked["trace"].jobs] == [(30, 0.25)]


def test_a_part_of_a_trace_can_be_played(accel_fleet: Command, playing: Playing, usual: str, trace: Path) -> None:
    rows = "".join(f"{minute * 60},30,1\n" for minute in range(10))
    trace.write_text(f"arrival_s,service_s,accelerators\n{rows}")
    accel_fleet(f"{usual} --trace-part 2m..5m --trace-stretch 2")

    assert [each.arrival_s for each in playing.asked["trace"].jobs] == [0, 120, 240]
    assert is_one_teaching_line(accel_fleet(f"{usual} --trace-scale -1"))
    assert is_one_teaching_line(accel_fleet(f"{usual} --trace-merge soon"))


def test_a_trace_can_be_made(accel_fleet: Command, playing: Playing, template: Path) -> None:
    accel_fleet(f"rehearse --template {template} --generate diurnal --days 2 --jobs-per-day 50 --seed 3")

    made = playing.asked["trace"]
    assert (made.name, len(made)) == ("diurnal", 100)


def test_the_fleet_of_a_folder_is_found(accel_fleet: Command, playing: Playing, assembly: Path, trace: Path) -> None:
    by_fleet = accel_fleet(f"rehearse --template {assembly} --trace {trace} --fleet Other")
    assert (by_fleet.status, playing.asked["fleet"]) == (0, "OtherASG")

    accel_fleet(f"rehearse --template {assembly} --trace {trace} --stack One")
    assert playing.asked["fleet"] == "FleetASG"
    assert playing.asked["prices"].region == "eu-west-1"

    ran = accel_fleet(f"rehearse --template {assembly} --trace {trace}")
    assert is_one_teaching_line(ran)
    assert "One: FleetASG; Two: OtherASG" in ran.err


def test_a_template_in_yaml_is_read_like_one_in_json(
    accel_fleet: Command, playing: Playing, trace: Path, tmp_path: Path
) -> None:
    path = tmp_path / "template.yaml"
    path.write_text(yaml.safe_dump(TEMPLATE))

    assert accel_fleet(f"rehearse --template {path} --trace {trace}").status == 0
    assert playing.asked["template"] == TEMPLATE


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "--template {template}",
        "--trace {trace}",
        "--template {template} --trace {trace} --generate diurnal",
        "--template {template} --generate no-such-shape",
        "--template {template} --trace {trace} --days 3",
        "--template {template} --generate diurnal --trace-scale 0",
        "--template {template} --generate diurnal --skip-bad-rows",
        "--template {template} --trace {trace} --trace-format no-such-format",
        "--template - --trace -",
        "--template {template} --trace /no/such/file",
        "--template /no/such/file --trace {trace}",
        "--template {template} --trace {trace} --fleet NoSuchFleet",
        "--template {template} --trace {trace} --stack One",
        "--template {template} --trace {trace} --parameter Most=9",
        "--template {template} --trace {trace} --parameter Most",
        "--template {template} --trace {trace} --json - --html -",
        "--template {template} --trace {trace} --boot 90",
        "--template {template} --trace {trace} --boot 90 --ready 60",
        "--template {template} --trace {trace} --boot 90 --ready 120 --model-gb 3",
        "--template {template} --trace {trace} --model-gb -3",
        "--template {template} --trace {trace} --model-gb 3 --model-time 60",
        "--template {template} --trace {trace} --boot 90 --ready 120 --model-time 0",
        "--template {template} --trace {trace} --boot 90 --ready 120 --driver baked",
        "--template {template} --trace {trace} --boot 90 --ready 120 --no-capacity-wait",
        "--template {template} --trace {trace} --driver maybe",
        "--template {template} --trace {trace} --reclaims-per-hour -1",
        "--template {template} --trace {trace} --launch-failures 2",
        "--template {template} --trace {trace} --no-capacity 5h..2h",
        "--template {template} --trace {trace} --no-capacity 5h",
        "--template {template} --trace {trace} --goal soon",
        "--template {template} --trace {trace} --start yesterday",
        "--template {template} --trace {trace} --usd-per-hour -1",
    ],
)
def test_unusable_input_is_one_teaching_line(
    accel_fleet: Command, playing: Playing, template: Path, trace: Path, arguments: str
) -> None:
    ran = accel_fleet(f"rehearse {arguments.format(template=template, trace=trace)}".strip())

    assert is_one_teaching_line(ran), ran
    assert playing.asked == {}


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--no-capacity 5h..2h", "--no-capacity must end after it begins, got '5h..2h'; write the earlier time first"),
        ("--no-capacity 5h", "--no-capacity must say from when until when, got '5h'; write for example 2h..5h"),
        ("--goal=-1m", "--goal must be a time from 0 on, got '-1m'; write 90, 90s, 15m, 8h or 2d"),
        ("--start yesterday", "--start must be a date and a time as in ISO 8601, got 'yesterday'; write for example"),
    ],
)
def test_times_that_are_none_are_told_with_rule_value_and_cure(
    accel_fleet: Command, usual: str, option: str, said: str
) -> None:
    assert accel_fleet(f"{usual} {option}").err.startswith(f"accel-fleet rehearse: {said}")


# --- what it needs ---------------------------------------------------------------------------------------------------


def test_without_the_extra_it_says_what_to_install(usual: str) -> None:
    """In a process of its own: this one has imported it."""
    program = "import sys; sys.modules['simpy'] = None; from constructs_lib.cli import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", program, *usual.split()], cwd=CHECKOUT, capture_output=True, text=True)

    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("accel-fleet rehearse: simpy must be installed, and is not")
    assert "pip install '.[rehearsal]'" in line


def test_help_fits_into_80_columns_and_loads_no_simulator() -> None:
    status, _, modules = timed(["rehearse", "--help"])

    assert status == 0
    assert modules.isdisjoint({"aws_cdk", "jsii", "constructs", "boto3", "botocore", "simpy", "rich"})


def test_help_names_every_shape_and_how_many_runs_a_search_takes(accel_fleet: Command) -> None:
    said = " ".join(accel_fleet("rehearse --help").out.split())

    assert [name for name in GENERATORS if name not in said] == []
    assert f"in at most {MOST_RUNS} runs" in said


# --- all of it -------------------------------------------------------------------------------------------------------


def test_a_plain_group_is_rehearsed_the_same_each_time(accel_fleet: Command, template: Path, trace: Path) -> None:
    """Nothing raises this group: its jobs are never done, which is a finding."""
    ran = accel_fleet(f"rehearse --template {template} --trace {trace} --boot 2m --ready 5m --json -")

    assert ran.status == 1
    assert ran.document["unfinished_jobs"] == 2
    assert ran.out == accel_fleet(f"rehearse --template {template} --trace {trace} --boot 2m --ready 5m --json -").out
