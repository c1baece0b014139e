"""What the library says of parameters is said of options on the command line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from constructs_lib.cli.spelling import Spelling, options_of
from constructs_lib.rightsizing import ModelShape, Workload
from constructs_lib.validation import complaint
from tests.cli.running import Command, is_one_teaching_line

SPELLING = Spelling(
    command="recommend",
    options={**options_of("model", "parameters", "memory_mib", "method"), "shape": "--layers and --heads"},
    calls={"AcceleratedType": "ask for newer tables"},
)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (
            complaint("Workload", "memory_mib", "be known for hpc", None, "give MiB"),
            "accel-fleet recommend: --memory-mib must be known for hpc; give MiB",
        ),
        (
            complaint("Workload", "shape", "go with parameters", 3, "state parameters= or a measured memory_mib="),
            "accel-fleet recommend: --layers and --heads must go with parameters, got 3; "
            "state --parameters or a measured --memory-mib",
        ),
        (
            complaint("Workload", "parameters", "be left out beside model='a b'", 8e9, "write method='lora' or None"),
            "accel-fleet recommend: --parameters must be left out beside --model a b, got 8000000000.0; "
            "write --method lora or None",
        ),
        (
            complaint("Workload", "model", "be known", "memory_mib=3; pass model=", "state shape=ModelShape(heads=..)"),
            "accel-fleet recommend: --model must be known, got 'memory_mib=3; pass model='; state --layers and --heads",
        ),
        (
            complaint(
                "recommend", "entry", "be a name", "x" * 300, "pass AcceleratedType(name=...) in place of the name"
            ),
            f"accel-fleet recommend: entry must be a name, got '{'x' * 119}...; ask for newer tables",
        ),
        ("accel-fleet: boto3 is not there\nat all", "accel-fleet: boto3 is not there at all"),
        ("it does not work", "accel-fleet recommend: it does not work"),
        (
            complaint("HotAlarm", "Metrics[0].Id", "be given", None, "add it to the template"),
            "accel-fleet recommend: HotAlarm: Metrics[0].Id must be given; add it to the template",
        ),
        (
            "accel-fleet pack: line 3: PackableModel a: memory_mib must be a number, got 'a: b'; write a number",
            "accel-fleet pack: line 3: PackableModel a: --memory-mib must be a number, got 'a: b'; write a number",
        ),
    ],
)
def test_messages(message: str, said: str) -> None:
    assert SPELLING.error(message) == said


@pytest.mark.parametrize(
    "prose", ["the model has parameters", "with --memory-mib 3", "a.memory_mib", "unknown_name and other=3", ""]
)
def test_what_is_no_parameter_stays(prose: str) -> None:
    assert SPELLING.text(prose) == prose


_UNUSABLE = [
    "inference",
    "inference --parameters 8",
    "inference --parameters 8e9 --concurrency 4",
    "inference --parameters 8e9 --context-tokens 4",
    "inference --layers 8 --hidden 44 --heads 3",
    "inference --layers 8 --model llama-3.1-8b",
    "inference --parameters 8e9 --layers 8 --hidden 64 --heads 3 --kv-heads 2",
    "inference --parameters 8e9 --layers -8 --hidden 64 --heads 4",
    "inference --model llama-3.1-8b --parameters 8e9",
    "inference --model llama-3.1-8b --model-kind encoder",
    "inference --model llama-3.1-8b --model-kind coder",
    "inference --model llama-3.1-8b --stack cude",
    "inference --model llama-3.1-8b --unit token/s",
    "inference --model llama-3.1-8b --rate 0",
    "inference --model llama-3.1-8b --context-tokens 9999999",
    "inference --model llama-3.1-8b --context-tokens 10 --input-tokens 20",
    "inference --model llama-3.1-8b --precision bf17",
    "inference --model llama-3.1-8b --kv-precision bf17",
    "inference --model llama-3.1-8b --accelerators 0",
    "inference --model llama-3.1-8b --architectures arm",
    "inference --model bert-base --unit tokens/s",
    "inference --model bert-base --first-token-ms 3",
    "inference --model llama-3.1-8b --type g66.xlarge",
    "inference --model llama-3.1-8b --type t2.nano",
    "inference --model llama-3.1-8b --region mars-north-1",
    "inference --model llama-3.1-8b --tables /no/such/folder",
    "training --parameters 8e9",
    "training --model llama-3.1-8b --lora-rank 4",
    "training --model llama-3.1-8b --method lara",
    "training --model llama-3.1-8b --zero-stage 4",
    "training --model llama-3.1-8b --precision int4",
    "training --model llama-3.1-8b --stack cpu",
    "training --model resnet-50",
    "hpc",
    "transcoding --video 1081p",
]
_PYTHON = re.compile(r"\b(?:Workload|ModelShape|AcceleratedType|CpuType|None)\b|\w=|(?<![\w-])[a-z]+_[a-z_]+")


@pytest.mark.parametrize("arguments", _UNUSABLE)
def test_no_message_of_recommend_speaks_of_python(accel_fleet: Command, arguments: str) -> None:
    ran = accel_fleet(f"recommend {arguments}")

    assert is_one_teaching_line(ran), ran
    assert ran.err.startswith("accel-fleet recommend: ")
    said = ran.err.replace("use_tables", "").replace("instance_types.csv", "").replace("x86_64", "")
    assert _PYTHON.findall(said) == []


@pytest.mark.parametrize(
    "arguments",
    [
        "catalog show g66.xlarge",
        "catalog list --kind nvidai",
        "catalog list --family g66",
        "catalog list --region mars-north-1",
        "catalog list --status old",
        "pack FILE --type g66.xlarge",
        "pack FILE --type g6.xlarge --apart rack",
        "pack FILE --type g6.xlarge --reserve-mib -1",
        "pack FILE --type g6.xlarge --effort 0",
        "preflight --template FILE",
    ],
)
def test_nor_does_one_of_the_other_commands(accel_fleet: Command, arguments: str, tmp_path: Path) -> None:
    path = tmp_path / "models.csv"
    path.write_text("name,memory_mib\na,1\n" if "pack" in arguments else "{}", encoding="utf-8")

    ran = accel_fleet(arguments.replace("FILE", str(path)))

    assert is_one_teaching_line(ran), ran
    assert _PYTHON.findall(ran.err.replace(str(path), "")) == []


def test_every_parameter_of_a_workload_is_an_option_in_messages() -> None:
    from constructs_lib.cli.recommend import _SPELLING

    parameters = {*Workload.__dataclass_fields__, *ModelShape.__dataclass_fields__} - {"use"}
    assert parameters <= set(_SPELLING.options)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("lama-3.1-8b", "llama-3.1-8b"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"),
        ("mistralai/Mistral_7B", "mistral-7b"),
    ],
)
def test_a_model_that_is_not_known_is_told_with_the_closest_before_the_list(
    accel_fleet: Command, name: str, meant: str
) -> None:
    ran = accel_fleet(f"recommend inference --model {name}")

    assert is_one_teaching_line(ran)
    told, _, known = ran.err.partition("known are ")
    assert f"--model must be one that is known here, got {name!r}; did you mean {meant!r}? " in told
    assert "gemma-2b, " in known
