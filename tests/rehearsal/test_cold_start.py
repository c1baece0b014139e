"""How long a start takes: drawn between the quantiles that others have measured, and said with source and date."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from statistics import median

import pytest

from constructs_lib.errors import ArgumentError
from constructs_lib.rehearsal.cold_start import ColdStart, Start
from constructs_lib.rehearsal.traces.quantiles import Quantiles
from constructs_lib.rightsizing.start_stages import start_stages

_MEASURED = Path(__file__).resolve().parents[3] / "shared" / "data" / "coldstart"
_MANY = 20_000

needs_the_origin = pytest.mark.skipif(not _MEASURED.is_dir(), reason="the measurements are not beside this checkout")


def _rows(name: str) -> list[dict[str, str]]:
    with (_MEASURED / name).open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def _quantile(values: list[float], share: float) -> float:
    """Linear between ranks, as ``statistics`` and spreadsheets have it."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def _distribution(stage: str) -> Quantiles:
    return Quantiles(start_stages()[stage].quantiles)


@pytest.mark.parametrize("name", start_stages())
def test_a_stage_is_a_distribution(name: str) -> None:
    stage = start_stages()[name]
    shares = [share for share, _ in stage.quantiles]
    values = [value for _, value in stage.quantiles]
    assert (shares[0], shares[-1]) == (0, 1)
    assert shares == sorted(shares)
    assert values == sorted(values)
    assert values[0] >= 0
    assert stage.unit in ("s", "s/GB")
    assert stage.measured >= 1
    assert stage.source
    assert stage.date.startswith("2026-")


def test_half_way_between_two_quantiles_is_half_way_between_their_times() -> None:
    boot = _distribution("boot")
    assert boot.at(0) == 16
    assert boot.at(0.05) == pytest.approx(17)
    assert boot.at(0.5) == 31
    assert boot.at(1) == 50


def test_a_jump_belongs_to_those_after_it() -> None:
    wait = _distribution("capacity")
    assert wait.at(0.958) == 0
    assert wait.at(0.959) == 549
    assert wait.at(1) == 1672


@needs_the_origin
def test_the_boot_is_that_of_the_launches_without_a_wait() -> None:
    starts = [
        float(row["user_data_start_s"])
        for row in _rows("aws_launch_timing_sparecores.csv")
        if row["user_data_start_s"] and not row["instance_type"].startswith("g6.12")
    ]
    stage = start_stages()["boot"]
    assert stage.measured == len(starts)
    for share, value in stage.quantiles:
        assert value == pytest.approx(_quantile(starts, share), abs=0.06)


@needs_the_origin
def test_the_driver_is_that_of_the_types_with_a_gpu() -> None:
    took = [
        float(row["user_data_end_s"]) - float(row["user_data_start_s"])
        for row in _rows("aws_launch_timing_sparecores.csv")
        if row["user_data_end_s"] and row["instance_type"].startswith("g")
    ]
    stage = start_stages()["driver"]
    assert stage.measured == len(took)
    for share, value in stage.quantiles:
        assert value == pytest.approx(_quantile(took, share), abs=0.6)


@needs_the_origin
def test_the_wait_for_capacity_is_what_exceeds_the_usual_call() -> None:
    calls = [float(row["api_end_s"]) for row in _rows("aws_launch_timing_sparecores.csv")]
    late = sorted(call - min(calls) for call in calls if call > 100)
    stage = start_stages()["capacity"]
    assert stage.measured == len(calls)
    assert [value for _, value in stage.quantiles if value] == late
    assert stage.quantiles[1][0] == pytest.approx(1 - len(late) / len(calls), abs=5e-4)


@needs_the_origin
def test_server_and_weights_are_those_of_machines_with_accelerators() -> None:
    runs: dict[tuple[str, ...], list[float]] = {}
    for row in _rows("vllm_server_start_to_healthy_sparecores.csv"):
        if row["tensor_parallel"]:
            machine = (row["provider"], row["instance_type"], row["tensor_parallel"], row["measured_on"])
            runs.setdefault((*machine, row["model_id"]), []).append(float(row["start_to_healthy_s"]))
    cached = [seconds for run in runs.values() for seconds in run[1:]]
    server, weights = start_stages()["server"], start_stages()["weights"]
    assert server.measured == len(cached)
    for share, value in server.quantiles:
        assert value == pytest.approx(_quantile(cached, share), abs=0.06)
    llama = [run for key, run in runs.items() if key[-1] == "meta-llama/Llama-3.1-8B-Instruct" and len(run) > 1]
    fetched = [(run[0] - median(run[1:])) / 16.06 for run in llama]
    assert weights.measured == len(fetched)
    for share, value in weights.quantiles:
        assert value == pytest.approx(_quantile(fetched, share), abs=0.006)


def test_the_pull_is_what_was_published_for_each_gigabyte() -> None:
    pull = _distribution("image")
    assert pull.at(0) == pytest.approx(45.0 / 10.78, abs=0.005)
    assert pull.at(0.25) == pytest.approx(59.8 / 10.78, abs=0.005)
    assert pull.at(0.5) == pytest.approx(112.33 / 10.78, abs=0.005)
    assert pull.at(1) == pytest.approx(300 / 17.5, abs=0.05)


def test_draws_have_the_quantiles_of_the_table() -> None:
    dice = random.Random(7)
    cold = ColdStart.default(image_gb=0, model_s=0)
    drawn = [cold.sample(dice) for _ in range(_MANY)]
    boots = sorted(start.boot_s for start in drawn)
    for share, value in start_stages()["boot"].quantiles:
        assert _quantile(boots, share) == pytest.approx(value, abs=0.5)
    assert all(start.ready_s == start.boot_s for start in drawn)
    waited = sum(start.capacity_wait_s > 0 for start in drawn) / _MANY
    assert waited == pytest.approx(3 / 73, abs=0.005)


def test_every_stage_lies_within_what_was_measured() -> None:
    dice = random.Random(3)
    cold = ColdStart.default(image_gb=10, model_gb=20, driver_baked=False, capacity_wait=False)
    least = 162 + 10 * 4.17 + 36 + 20 * 0.56
    most = 1208 + 10 * 17.1 + 124 + 20 * 11.08
    for _ in range(1_000):
        start = cold.sample(dice)
        assert start.capacity_wait_s == 0
        assert least <= start.ready_s - start.boot_s <= most


def test_the_same_seed_draws_the_same() -> None:
    cold = ColdStart.default()
    draws = [[cold.sample(dice) for _ in range(5)] for dice in (random.Random(4), random.Random(4), random.Random(5))]
    assert draws[0] == draws[1] != draws[2]


def test_a_fixed_start_never_varies() -> None:
    cold = ColdStart.fixed(boot_s=40, ready_s=180)
    assert {cold.sample(random.Random(seed)) for seed in range(5)} == {Start(0.0, 40.0, 180.0)}


def test_a_stopped_instance_has_image_and_weights_and_starts_its_server() -> None:
    dice = random.Random(1)
    cold = ColdStart.default(capacity_wait=False)
    start = cold.from_pool("Stopped").sample(dice)
    assert start.boot_s == 21.2
    assert 36 <= start.ready_s - start.boot_s <= 124


def test_a_hibernated_or_running_instance_has_its_server_up() -> None:
    dice = random.Random(1)
    cold = ColdStart.default()
    assert cold.from_pool("Hibernated").sample(dice)[1:] == (20.7, 20.7)
    running = cold.from_pool("Running").sample(dice)
    assert running.capacity_wait_s == 0
    assert 1.9 <= running.ready_s <= 3.9


def test_the_description_states_every_stage() -> None:
    stated = ColdStart.default(image_gb=10, model_gb=16, driver_baked=False).describe()
    assert json.loads(json.dumps(stated)) == stated
    stages = {each["stage"]: each for each in stated["stages"]}
    assert list(stages) == ["capacity", "boot", "driver", "image", "server", "weights"]
    assert all(each["source"] and each["date"] and each["measured"] for each in stages.values())
    assert stages["weights"]["median_s"] == pytest.approx(16 * 7.47)
    assert stated["median_s"] == pytest.approx(31 + 247 + 10 * 10.42 + 66 + 16 * 7.47)


def test_measured_seconds_take_the_place_of_the_model() -> None:
    cold = ColdStart.default(image_gb=0, model_gb=999, model_s=90, capacity_wait=False)
    start = cold.sample(random.Random(1))
    assert start.ready_s - start.boot_s == pytest.approx(90)
    given = cold.describe()["stages"][-1]
    assert (given["stage"], given["median_s"], given["source"]) == ("work", 90, "given")


@pytest.mark.parametrize(
    ("given", "parameter"),
    [
        ({"image_gb": -1}, "image_gb"),
        ({"image_gb": float("nan")}, "image_gb"),
        ({"model_gb": "16"}, "model_gb"),
        ({"model_s": -0.5}, "model_s"),
    ],
    ids=["negative", "nan", "text", "negative-seconds"],
)
def test_what_is_no_size_is_refused(given: dict[str, float], parameter: str) -> None:
    with pytest.raises(ArgumentError, match=f"ColdStart: {parameter} must"):
        ColdStart.default(**given)  # type: ignore[arg-type]


def test_work_does_not_start_before_the_instance_is_up() -> None:
    with pytest.raises(ArgumentError, match="ready_s must be a number at least 60"):
        ColdStart.fixed(boot_s=60, ready_s=59)


def test_a_pool_has_one_of_three_states() -> None:
    with pytest.raises(ArgumentError, match="state must be one of Hibernated, Running, Stopped"):
        ColdStart.default().from_pool("stopped")
