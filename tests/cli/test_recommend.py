"""``accel-fleet recommend``."""

from __future__ import annotations

import inspect

import pytest

from constructs_lib.cli.recommend import OPTIONS, SHAPE, USES
from constructs_lib.rightsizing import USES as WORKLOAD_USES
from constructs_lib.rightsizing import ModelShape, Workload, recommend
from tests.cli.running import Command


def test_every_use_of_a_workload_is_there() -> None:
    assert {use.replace("-", "_") for use in USES} == set(WORKLOAD_USES)


@pytest.mark.parametrize("use", USES)
def test_options_of_a_use_are_the_parameters_of_its_factory(use: str) -> None:
    factory = inspect.signature(getattr(Workload, use.replace("-", "_")))

    _, names = USES[use]
    assert sorted(names) == sorted(set(factory.parameters) - {"shape"})
    assert ("shape" in factory.parameters) == ("model" in names)
    assert set(names) <= set(OPTIONS)


def test_options_of_a_shape_are_its_parameters() -> None:
    assert {*SHAPE, "tied"} == set(inspect.signature(ModelShape).parameters)


def test_document_is_that_of_the_function_with_its_schema(accel_fleet: Command) -> None:
    ran = accel_fleet("recommend inference --model llama-3.1-8b --rate 2000 --region us-west-2 --json")

    expected = recommend(Workload.inference(model="llama-3.1-8b", rate=2000), region="us-west-2").document()
    assert ran.status == 0
    assert ran.document == {"schema": "accel-fleet/recommend/1", **expected}
    assert list(ran.document) == ["schema", "workload", "region", "choices", "unmeasured", "hints", "refused"]


def test_the_same_question_has_the_same_answer(accel_fleet: Command) -> None:
    assert accel_fleet("recommend transcoding --rate 9").out == accel_fleet("recommend transcoding --rate 9").out


@pytest.mark.parametrize(
    ("arguments", "workload"),
    [
        (
            "batch-inference --model llama-3.1-8b --stack cuda,neuron --architectures x86_64 --concurrency 8",
            Workload.batch_inference(
                model="llama-3.1-8b", stack=["cuda", "neuron"], architectures=["x86_64"], concurrency=8
            ),
        ),
        (
            "training --parameters 8e9 --layers 32 --hidden 4096 --heads 32 --kv-heads 8 --tied --method lora",
            Workload.training(
                parameters=8e9,
                shape=ModelShape(layers=32, hidden=4096, heads=32, kv_heads=8, tied=True),
                method="lora",
            ),
        ),
        ("hpc --memory-mib 30000 --accelerators 2", Workload.hpc(memory_mib=30_000, accelerators=2)),
        ("transcoding --video 1080p30", Workload.transcoding(video="1080p30")),
        ("graphics --memory-mib 4000", Workload.graphics(memory_mib=4_000)),
        ("fpga", Workload.fpga()),
    ],
)
def test_options_reach_the_workload(accel_fleet: Command, arguments: str, workload: Workload) -> None:
    assert accel_fleet(f"recommend {arguments} --json").document["workload"] == workload.document()


def test_people_see_choices_with_the_source_of_each_figure(accel_fleet: Command) -> None:
    ran = accel_fleet("recommend inference --model llama-3.1-8b --rate 2000")

    best = recommend(Workload.inference(model="llama-3.1-8b", rate=2000)).choices[0]
    first = next(line for line in ran.out.splitlines() if line.startswith("1 "))
    assert best.throughput is not None
    assert first.split()[1] == best.instance_type
    assert str(best.instances) in first.split()
    assert " ".join(best.throughput.conditions.split()) in " ".join(ran.out.split())
    assert "more choices: --all" in ran.out
    assert "Fits, but is not ranked" in ran.out
    assert "Worth knowing:" in ran.out


def test_only_named_types_are_chosen_among(accel_fleet: Command) -> None:
    ran = accel_fleet("recommend inference --model llama-3.1-8b --type g6.xlarge --type g5.xlarge --json")

    assert {each["instance_type"] for each in ran.document["choices"]} == {"g6.xlarge", "g5.xlarge"}


def test_where_nothing_fits_the_status_says_so(accel_fleet: Command) -> None:
    ran = accel_fleet("recommend hpc --memory-mib 90000000")

    assert (ran.status, ran.err) == (1, "")
    assert "Nothing could be ranked." in ran.out
    assert accel_fleet("recommend hpc --memory-mib 90000000 --json").status == 1


def test_a_shape_that_is_not_whole_names_what_is_missing(accel_fleet: Command) -> None:
    ran = accel_fleet("recommend training --parameters 8e9 --layers 32")

    assert ran.status == 2
    assert "--layers must go with --hidden and --heads" in ran.err


def test_a_type_without_accelerators_says_none(accel_fleet: Command) -> None:
    ran = accel_fleet("recommend inference --model llama-3.1-8b --precision int4 --rate 5 --stack cpu")

    first = next(line for line in ran.out.splitlines() if line.startswith("1 "))
    assert first.split()[2] == "none"
