"""The tables that recommendations come from: source and licence of each, and single figures against their origin."""

from __future__ import annotations

import csv
import re
from importlib.resources import files
from pathlib import Path

import pytest

from constructs_lib.catalog import cpu_types, known_types
from constructs_lib.rightsizing import PRECISIONS, VIDEOS, known_models
from constructs_lib.rightsizing.figures import Measurement, measurements
from constructs_lib.rightsizing.machines import abilities

_DATA = files("constructs_lib.rightsizing") / "data"
_TABLES = sorted(entry.name for entry in _DATA.iterdir() if entry.name.endswith(".csv"))
_PERF = Path(__file__).resolve().parents[3] / "shared" / "data" / "perf"

needs_the_origin = pytest.mark.skipif(not _PERF.is_dir(), reason="the published tables are not beside this checkout")


@pytest.mark.parametrize("name", _TABLES)
def test_a_table_says_where_it_comes_from(name: str) -> None:
    header = [line for line in (_DATA / name).read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    text = "\n".join(header)
    assert "Source:" in text
    assert re.search(r"20\d\d|compute capability", text), "a date, or what does not change"
    assert all(len(line) <= 130 for line in header)


@pytest.mark.parametrize("name", ["figures_sparecores.csv", "figures_neuron.csv"])
def test_adapted_tables_carry_their_licence_and_are_apart(name: str) -> None:
    text = " ".join((_DATA / name).read_text(encoding="utf-8").split("accelerator,count")[0].replace("#", "").split())
    assert (
        "licensed under CC BY-SA 4.0 (creativecommons.org/licenses/by-sa/4.0); the rest of the package is not" in text
    )
    assert "Changes:" in text


def test_mlperf_figures_carry_version_division_and_result() -> None:
    rows = [each for each in measurements() if "MLPerf" in each.source]
    assert rows
    for row in rows:
        assert re.search(r"MLPerf Inference v5\.1 Datacenter Closed Offline, MLPerf 5\.1-\d{4} ", row.source)
        assert not row.on_ec2


@pytest.mark.parametrize("measured", measurements(), ids=lambda each: f"{each.accelerator}-{each.model}")
def test_a_figure_is_of_things_that_exist(measured: Measurement) -> None:
    assert measured.value > 0
    assert re.fullmatch(r"20\d\d-\d\d", measured.date)
    if measured.task == "transcoding":
        assert measured.model in VIDEOS
    else:
        assert measured.model in known_models()
        assert measured.precision in PRECISIONS
    if measured.accelerator == "cpu":
        assert measured.instance_type in cpu_types()
        return
    types = [each for each in known_types().values() if each.model == measured.accelerator]
    assert any(measured.is_of(each.model, each.accelerator_memory_mib, each.fraction) for each in types)


def test_no_figure_is_there_twice() -> None:
    keys = [
        (
            each.accelerator,
            each.instance_type,
            each.count,
            each.fraction,
            each.memory_gb,
            each.model,
            each.precision,
            each.task,
            each.input_tokens,
            each.output_tokens,
            each.concurrency,
            each.software,
        )
        for each in measurements()
    ]
    assert len(keys) == len(set(keys))


def test_what_software_can_do_on_each_accelerator() -> None:
    assert "bf16" not in abilities("T4").precisions
    assert "fp16" in abilities("V100").precisions
    assert "bf16" in abilities("A10G").precisions
    assert not abilities("Inferentia").text
    assert not abilities("Inferentia2").training
    assert abilities("Trainium").training
    assert abilities("an accelerator of next year").precisions == PRECISIONS


def _rows(name: str) -> list[dict[str, str]]:
    with (_PERF / name).open(encoding="utf-8", newline="") as table:
        return list(csv.DictReader(table))


def _figure(**wanted: object) -> Measurement:
    found = [each for each in measurements() if all(getattr(each, name) == value for name, value in wanted.items())]
    assert len(found) == 1
    return found[0]


@needs_the_origin
@pytest.mark.parametrize("instance_type", ["c8i.2xlarge", "c8g.4xlarge", "c7i.4xlarge", "m8i.4xlarge"])
def test_a_cpu_figure_is_reading_and_writing_added_up(instance_type: str) -> None:
    rows = _rows("llama_cpp_speed_aws_cpu_baselines.csv")
    row = next(each for each in rows if each["instance_type"] == instance_type)
    reading, writing = 512 / float(row["llama7b_pp512_tok_s"]), 128 / float(row["llama7b_tg128_tok_s"])
    figure = _figure(instance_type=instance_type, model="llama-7b", precision="int4")
    assert figure.value == pytest.approx(128 / (reading + writing), rel=0.01)
    assert figure.first_token_ms == pytest.approx(reading * 1000, rel=0.01)


@needs_the_origin
def test_a_serving_figure_is_the_highest_load_of_the_sweep() -> None:
    rows = [
        each
        for each in _rows("vllm_serving_sparecores.csv")
        if (each["instance_type"], each["model"], each["workload"]) == ("g5.16xlarge", "llama-8b", "chat")
    ]
    highest = max(float(each["output_tok_s"]) for each in rows if each["output_tok_s"])
    figures = [
        each
        for each in measurements()
        if (each.accelerator, each.model, each.input_tokens) == ("A10G", "llama-3.1-8b", 256)
    ]
    assert max(each.value for each in figures) == pytest.approx(highest, rel=0.01)


@needs_the_origin
def test_a_neuron_figure_is_the_row_of_the_page() -> None:
    row = next(
        each for each in _rows("neuron/inf2_throughput_data_encoder.csv") if each["Model"] == "bert-base-uncased"
    )
    figure = _figure(accelerator="Inferentia2", model="bert-base")
    assert figure.value == pytest.approx(float(row["Throughput (inference/second)"]), rel=0.01)
