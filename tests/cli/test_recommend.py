"""``accel-fleet recommend``."""

from __future__ import annotations

import inspect
import re

import pytest

from constructs_lib.catalog import known_types
from constructs_lib.cli.recommend import _WORK, OPTIONS, SHAPE, USES
from constructs_lib.rightsizing import UNITS_OF, ModelShape, Workload, recommend, replica_memory
from constructs_lib.rightsizing import USES as WORKLOAD_USES
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


def test_people_see_the_memory_that_a_replica_takes_and_what_is_there(accel_fleet: Command) -> None:
    types = ["g6e.xlarge", "g5.12xlarge"]
    question = f"recommend inference --model llama-3.1-8b --rate 2000 --type {types[0]} --type {types[1]}"
    lines = accel_fleet(question).out.splitlines()

    memory = replica_memory(Workload.inference(model="llama-3.1-8b"), 1)
    assert memory is not None
    assert f"Memory: one replica takes {memory.total / 1024:.1f} GiB on one accelerator" in " ".join(lines)
    answer = recommend(Workload.inference(model="llama-3.1-8b", rate=2000), instance_types=types)
    assert len(answer.choices) == 2
    for choice in answer.choices:
        assert choice.memory_needed_mib is not None
        expected = [
            choice.instance_type,
            *f"{choice.accelerators_per_replica} x {choice.accelerator}".split(),
            f"{choice.memory_needed_mib / 1024:.1f}",
            f"{choice.memory_there_mib / 1024:.1f}",
            str(choice.replicas_per_instance),
        ]
        assert expected in [line.split() for line in lines]


def test_where_nothing_was_measured_memory_and_price_of_each_type_are_there(accel_fleet: Command) -> None:
    told = accel_fleet("recommend inference --model llama-3.3-70b").out
    table = told.partition("nobody has measured this work on it:\n")[2].partition("\n\n")[0].splitlines()

    assert table[0].split() == ["type", "one", "replica", "on", "needs", "of", "GiB", "replicas", "USD/h"]
    fits = {each.instance_type: each for each in recommend(Workload.inference(model="llama-3.3-70b")).unmeasured}
    assert len(table) == 1 + 12 + 1
    for line in table[1:-1]:
        choice = fits[line.split()[0]]
        assert choice.memory_needed_mib is not None
        needs, there = f"{choice.memory_needed_mib / 1024:.1f}", f"{choice.memory_there_mib / 1024:.1f}"
        assert line.split()[-4:] == [needs, there, str(choice.replicas_per_instance), f"{choice.usd_per_hour:.4g}"]
    assert table[-1].endswith(" more types: --all")


def test_types_with_accelerators_come_before_those_without(accel_fleet: Command) -> None:
    told = accel_fleet("recommend inference --model llama-3.3-70b --all").out
    lines = told.partition("nobody has measured this work on it:")[2].partition("\n\n")[0].splitlines()

    fits = {each.instance_type: each.kind for each in recommend(Workload.inference(model="llama-3.3-70b")).unmeasured}
    kinds = [fits[line.split()[0]] for line in lines if line and line.split()[0] in fits]
    assert "cpu" in kinds
    assert kinds == sorted(kinds, key=lambda kind: kind == "cpu")


@pytest.mark.parametrize("arguments", ["inference --model llama-3.3-70b", "hpc --memory-mib 90000000"])
def test_types_that_are_too_small_are_refused_first_and_retired_ones_last(accel_fleet: Command, arguments: str) -> None:
    told = accel_fleet(f"recommend {arguments} --all").out.partition("Will not do:\n")[2]
    reasons = [line for line in told.splitlines() if line.startswith("- ")]

    assert reasons[0].startswith("- its memory does not hold one replica")
    first = told.partition(": ")[2].partition("\n- ")[0].replace("\n", " ").split(", ")
    accelerated = [name.strip() in known_types() for name in first]
    assert accelerated == sorted(accelerated, reverse=True)
    plain = [line.startswith(("- AWS has retired it", "- its accelerators (")) for line in reasons]
    assert any(plain)
    assert plain == sorted(plain)


@pytest.mark.parametrize(
    ("arguments", "cost", "energy", "words"),
    [
        ("inference --model llama-3.1-8b", "USD/1M", "J/token", "for a million tokens. J/token: joules for a token"),
        ("inference --model bert-large --stack neuron", "USD/1M", None, "USD/1M: for a million requests. trust:"),
        ("transcoding --rate 9", "USD/unit", None, "USD/unit: for an hour of a stream. trust:"),
    ],
)
def test_money_and_energy_have_their_units(
    accel_fleet: Command, arguments: str, cost: str, energy: str | None, words: str
) -> None:
    """Of U30 and Neuron devices nobody has published the power: there is no column of blanks."""
    out = accel_fleet(f"recommend {arguments}").out

    (heads,) = [line.split() for line in out.splitlines() if line.lstrip().startswith("type  ") and "trust" in line]
    assert cost in heads
    assert [head for head in heads if head[:2] in ("J/", "W/", "Wh")] == ([] if energy is None else [energy])
    assert words in " ".join(out.split())


def test_every_unit_of_work_is_spoken_of() -> None:
    assert set(_WORK) == {unit for units in UNITS_OF.values() for unit in units}
    # A watt for one of them a second is a joule for one, for one an hour a watt-hour.
    energies = {unit: work.energy_in_words.partition(" ")[0] for unit, work in _WORK.items()}
    assert energies == {
        unit: "joules" if unit.endswith("/s") else "watt-hours" if unit.endswith("/h") else "watts" for unit in _WORK
    }


def test_one_thing_is_not_spoken_of_as_several(accel_fleet: Command) -> None:
    out = accel_fleet("recommend inference --model llama-3.3-70b --type g7e.12xlarge").out

    assert "not ranked (1 type):" in out


@pytest.mark.parametrize("most", range(1, 12))
def test_what_is_left_out_is_counted_in_words_that_fit(
    accel_fleet: Command, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr("constructs_lib.cli.recommend._MOST_REFUSALS", most)
    monkeypatch.setattr("constructs_lib.cli.recommend._MOST_CHOICES", most)
    out = accel_fleet("recommend transcoding --rate 9").out + accel_fleet("recommend hpc --memory-mib 9000000").out

    left = re.findall(r"(\d+) more (\w+)", out)
    assert left
    assert all((number == "1") == (not word.endswith("s")) for number, word in left)


def test_memory_without_accelerators_is_that_of_the_host(accel_fleet: Command) -> None:
    out = accel_fleet("recommend inference --model llama-3.1-8b --stack cpu").out

    assert "GiB of its host (weights" in " ".join(out.split())
    assert "the host" in out


def test_hints_speak_of_options(accel_fleet: Command) -> None:
    workload = Workload.training(model="llama-3.3-70b", method="lora", context_tokens=8000)
    assert any("tensor_parallel=" in hint.text for hint in recommend(workload).hints)

    out = accel_fleet("recommend training --model llama-3.3-70b --method lora --context-tokens 8000").out
    assert "tensor_parallel" not in out
    assert "--tensor-parallel " in out


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
