"""The command as a whole: what it loads, how it ends, and what it writes where."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from tests.cli.running import Command, Ran, is_one_teaching_line, widest
from tests.packaging.building import CHECKOUT

RECOMMEND = ["recommend", "inference", "--model", "llama-3.1-8b", "--rate", "2000"]
_TIMED = """
import json, sys, time
from constructs_lib.cli import main
began = time.process_time()
status = main(sys.argv[1:])
seconds = time.process_time() - began
print(json.dumps([status, seconds, sorted({each.split(".")[0] for each in sys.modules})]), file=sys.stderr)
"""


def in_a_process(arguments: Sequence[str], *, program: Sequence[str] = ("-m", "constructs_lib.cli")) -> list[str]:
    return [sys.executable, *program, *arguments]


def timed(arguments: Sequence[str]) -> tuple[int, float, set[str]]:
    done = subprocess.run(
        in_a_process(arguments, program=("-c", _TIMED)), cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    status, seconds, modules = json.loads(done.stderr)
    return status, seconds, set(modules)


def test_recommend_answers_in_a_second_and_loads_no_cdk() -> None:
    status, seconds, modules = timed(RECOMMEND)

    assert status == 0
    assert seconds < 1
    assert modules.isdisjoint({"aws_cdk", "jsii", "constructs", "boto3", "botocore", "ortools", "rich", "simpy"})


@pytest.mark.parametrize("arguments", [["catalog", "list"], ["catalog", "show", "g6.xlarge"], ["--help"]])
def test_other_answers_load_no_cdk_and_no_aws_client(arguments: list[str]) -> None:
    status, _, modules = timed(arguments)

    assert status == 0
    assert modules.isdisjoint({"aws_cdk", "jsii", "constructs", "boto3", "botocore", "ortools", "rich", "simpy"})


def test_packing_loads_the_solver_and_no_cdk(tmp_path: Path) -> None:
    models = tmp_path / "models.csv"
    models.write_text("name,memory_mib\na,1\n")

    status, _, modules = timed(["pack", str(models), "--type", "g6.xlarge"])

    assert status == 0
    assert "ortools" in modules
    assert modules.isdisjoint({"aws_cdk", "jsii", "constructs", "boto3"})


def test_as_a_module_it_prints_and_returns_the_status() -> None:
    done = subprocess.run(in_a_process(["catalog", "show", "g6.xlarg"]), cwd=CHECKOUT, capture_output=True, text=True)

    assert (done.returncode, done.stdout) == (2, "")
    assert "g6.xlarge" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reader_that_has_gone_ends_it_quietly() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.Popen(
        in_a_process(["catalog", "list"]), cwd=CHECKOUT, stdout=writing, stderr=subprocess.PIPE, text=True
    )
    os.close(writing)
    _, said = process.communicate()

    assert (process.returncode, said) == (141, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [["catalog", "list"], ["catalog", "list", "--json"], ["--help"], ["--version"]])
def test_an_output_that_cannot_be_written_is_one_line(arguments: list[str], unbuffered: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            in_a_process(arguments),
            cwd=CHECKOUT,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )

    assert done.returncode == 74
    assert done.stderr.splitlines() == ["accel-fleet: the output cannot be written (No space left on device)"]


@pytest.mark.parametrize(
    ("arguments", "closed", "status"),
    [("catalog list", ">&-", 74), ("catalog show x", "2>&-", 2), ("catalog lst", "2>&-", 2), ("pack", "2>&-", 2)],
)
def test_outputs_that_are_closed_are_no_traceback(arguments: str, closed: str, status: int) -> None:
    line = f"exec {sys.executable} -m constructs_lib.cli {arguments} {closed}"
    done = subprocess.run(["sh", "-c", line], cwd=CHECKOUT, capture_output=True, text=True)

    assert done.returncode == status
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == (1 if status == 74 else 0)


def test_what_fits_into_no_encoding_is_written_all_the_same(tmp_path: Path) -> None:
    models = tmp_path / "models.csv"
    models.write_text("name,memory_mib\n\u00e9\u4e00,1\n", encoding="utf-8")
    done = subprocess.run(
        in_a_process(["pack", str(models), "--type", "g6.xlarge"]),
        cwd=CHECKOUT,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "\\xe9\\u4e00" in done.stdout


def test_the_version_is_that_of_the_distribution(accel_fleet: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def version(name: str) -> str:
        asked.append(name)
        if len(asked) > 1:
            raise PackageNotFoundError(name)
        return "1.2.3"

    monkeypatch.setattr("importlib.metadata.version", version)

    assert accel_fleet("--version") == Ran(0, "accel-fleet 1.2.3\n", "")
    assert accel_fleet("--version") == Ran(0, "accel-fleet of a checkout that is not installed\n", "")
    assert f'name = "{asked[0]}"\n' in (CHECKOUT / "pyproject.toml").read_text(encoding="utf-8")


def test_an_interruption_ends_it_without_a_traceback(accel_fleet: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("constructs_lib.catalog.listing", interrupted)

    ran = accel_fleet("catalog list")

    assert (ran.status, ran.out, ran.err) == (130, "", "accel-fleet: interrupted\n")


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "recomend",
        "recommend",
        "recommend inference --rate x",
        "recommend inference --model llama-3.1-8b --rat 5",
        "recommend inference --model no-such-model",
        "recommend inference",
        "recommend graphics --model llama-3.1-8b",
        "recommend hpc",
        "recommend training --parameters 8e9 --layers 32",
        "recommend inference --model llama-3.1-8b --region mars-north-1",
        "recommend inference --model llama-3.1-8b --type g6.xlarg",
        "catalog list --kind nvidai",
        "catalog list --family g66",
        "catalog list --status old",
        "catalog show",
        "catalog show t2.nano",
        "catalog list --tables /no/such/folder",
        "catalog refresh",
        "pack --type g6.xlarge",
        "pack /no/such/file --type g6.xlarge",
        "preflight",
        "preflight --template /no/such/file",
        "rehearse",
        "rehearse --template /no/such/file --generate diurnal",
    ],
)
def test_unusable_input_is_one_teaching_line(accel_fleet: Command, arguments: str) -> None:
    ran = accel_fleet(arguments)

    assert is_one_teaching_line(ran), ran
    assert len(ran.err) < 1_200


@pytest.mark.parametrize(
    "arguments",
    [
        "--help",
        "recommend --help",
        "recommend inference --help",
        "recommend training --help",
        "catalog list --help",
        "catalog refresh --help",
        "pack --help",
        "preflight --help",
        "rehearse --help",
        " ".join(RECOMMEND),
        "recommend inference --model llama-3.3-70b --all",
        "recommend training --model llama-3.1-8b --method qlora",
        "recommend inference --model qwen2.5-0.5b --rate 9000 --all",
        "recommend inference --model phi-4 --rate 9000 --all",
        "recommend graphics --all",
        "recommend fpga",
        "recommend transcoding --rate 20",
        "catalog list",
        "catalog list --status retired",
        "catalog list --region eu-west-1",
        "catalog show p5.48xlarge",
        "catalog show g6f.large",
        "catalog show p2.xlarge",
        "catalog show c7i.xlarge",
    ],
)
def test_what_people_read_fits_into_80_columns(accel_fleet: Command, arguments: str) -> None:
    ran = accel_fleet(arguments)

    assert (ran.status, ran.err) == (0, "")
    assert widest(ran.out) <= 80
    assert ran.out.isascii()


def test_the_distribution_installs_it_under_its_name() -> None:
    """Also what its extras bring is what it asks for."""
    settings = (CHECKOUT / "pyproject.toml").read_text(encoding="utf-8")

    assert '[project.scripts]\naccel-fleet = "constructs_lib.cli:main"\n' in settings
    assert 'cli = ["boto3", "rich"]\n' in settings
    assert 'packing = ["ortools"]\n' in settings
    assert 'rehearsal = ["boto3", "rich", "simpy"]\n' in settings


def test_the_modules_of_other_commands_are_not_loaded() -> None:
    asked = "import sys; from constructs_lib.cli import main; main(['check', '--list']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", asked], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "constructs_lib.cli.check" in loaded
    assert not {f"constructs_lib.cli.{each}" for each in ("recommend", "packing", "rehearse")} & set(loaded)
