"""Energy and carbon of a run, against sums by hand from the figures of their sources."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from constructs_lib.rehearsal import tables
from constructs_lib.rehearsal.energy import energy, power_of
from constructs_lib.rehearsal.record import InstanceRecord, JobRecord, Record, Slice

_HOUR = 3_600.0
_POWER = Path(__file__).resolve().parents[3] / "shared" / "data" / "power"
# g4dn.xlarge: 4 vCPUs, 16 GB, a T4 of 14 to 70 W. Its server: 0.57 to 3.197 W a vCPU, 0.875 W a vCPU for the rest of
# the machine, 0.156 to 0.41 W a GB.
_IDLE_W = 14 + 4 * (0.57 + 0.875) + 16 * 0.156
_BUSY_W = 70 + 4 * (3.197 + 0.875) + 16 * 0.41
_PUE = 1.135

needs_the_origin = pytest.mark.skipif(not _POWER.is_dir(), reason="the published tables are not beside this checkout")


def _record(*jobs: JobRecord, name: str = "g4dn.xlarge", accelerators: int = 1) -> Record:
    instance = InstanceRecord(
        id="i-1",
        instance_type=name,
        market="on-demand",
        launched_s=0,
        in_service_s=30,
        ready_s=_HOUR / 2,
        drain_from_s=2 * _HOUR,
        ended_s=2 * _HOUR,
    )
    return Record(
        fleet="Fleet",
        accelerators=accelerators,
        minimum=0,
        maximum=1,
        jobs=list(jobs),
        instances=[instance],
        end_s=3 * _HOUR,
    )


def _job(begin_s: float, end_s: float | None, accelerators: float = 1.0) -> JobRecord:
    return JobRecord(
        arrival_s=0,
        service_s=_HOUR,
        accelerators=accelerators,
        started_s=begin_s,
        ended_s=end_s,
        instance=0,
        first_started_s=begin_s,
    )


def test_two_hours_without_work_are_idle_power() -> None:
    found = energy(_record(), "us-east-1")
    assert found.kwh == pytest.approx(2 * _IDLE_W * _PUE / 1_000)
    assert found.reasons == ()


def test_an_hour_of_work_draws_the_limit() -> None:
    found = energy(_record(_job(_HOUR / 2, 1.5 * _HOUR)), "us-east-1")
    assert found.kwh == pytest.approx((_IDLE_W + _BUSY_W) * _PUE / 1_000)


def test_half_an_accelerator_draws_half_of_the_way() -> None:
    found = energy(_record(_job(_HOUR / 2, 1.5 * _HOUR, 0.5)), "us-east-1")
    assert found.kwh == pytest.approx((1.5 * _IDLE_W + 0.5 * _BUSY_W) * _PUE / 1_000)


def test_work_that_was_cut_off_has_drawn_power_too() -> None:
    record = _record()
    record.slices.append(Slice(_HOUR / 2, 1.5 * _HOUR, 0, 1.0))
    assert energy(record, "us-east-1").kwh == pytest.approx((_IDLE_W + _BUSY_W) * _PUE / 1_000)


def test_carbon_is_by_the_grid_of_the_region() -> None:
    # EPA for SERC: 415.755 g a kWh; Sweden 8 g.
    kwh = 2 * _IDLE_W * _PUE / 1_000
    assert energy(_record(), "us-east-1").kg_co2e == pytest.approx(kwh * 0.415755)
    assert energy(_record(), "eu-north-1").kg_co2e == pytest.approx(kwh * 0.008)


def test_without_a_figure_of_the_grid_carbon_is_not_told() -> None:
    found = energy(_record(), "ap-southeast-4")
    assert found.kwh is not None
    assert found.kg_co2e is None
    assert found.reasons == ("no figure of the grid of ap-southeast-4 is known",)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("trn1.2xlarge", "trn1.2xlarge: no public figure of the power of its Trainium is known"),
        ("inf2.xlarge", "inf2.xlarge: no public figure of the power of its Inferentia2 is known"),
        ("p5.48xlarge", "p5.48xlarge: no public figure of the idle power of its H100 is known"),
        ("x9.mega", "x9.mega: the catalogue has no facts about it"),
    ],
    ids=["trainium", "inferentia", "no-idle-power", "unknown"],
)
def test_without_a_figure_of_the_type_nothing_is_told(name: str, reason: str) -> None:
    found = energy(_record(name=name), "us-east-1")
    assert (found.kwh, found.kg_co2e, found.reasons) == (None, None, (reason,))


def test_a_part_of_a_gpu_draws_its_share() -> None:
    # g6f.large: an eighth of an L4 (12.5 to 72 W), 2 vCPUs, 8 GB.
    power = power_of("g6f.large")
    assert power.idle_w == pytest.approx(12.5 / 8 + 2 * 1.445 + 8 * 0.156)
    assert power.busy_w == pytest.approx(72 / 8 + 2 * 4.072 + 8 * 0.41)


def test_several_accelerators_each_draw_theirs() -> None:
    # g4dn.12xlarge: 4 T4, 48 vCPUs, 192 GB; one of four at work for an hour.
    found = energy(_record(_job(_HOUR / 2, 1.5 * _HOUR), name="g4dn.12xlarge", accelerators=4), "us-east-1")
    idle = 4 * 14 + 48 * 1.445 + 192 * 0.156
    busy = 4 * 70 + 48 * 4.072 + 192 * 0.41
    assert found.kwh == pytest.approx((2 * idle + (busy - idle) / 4) * _PUE / 1_000)


def test_the_report_has_figures_and_where_they_are_from() -> None:
    found = energy(_record(), "us-east-1")
    kwh = 2 * _IDLE_W * _PUE / 1_000
    assert found.as_json() == {
        "energy_kwh": pytest.approx(kwh, abs=1e-6),
        "carbon_kg": pytest.approx(kwh * 0.415755, abs=1e-6),
    }
    notes = " ".join(found.notes)
    for said in ("T4, 14 to 70 W", "Spare Cores", "Cloud Carbon Footprint", "1.135", "EPA", "2026-04-24"):
        assert said in notes


@pytest.mark.parametrize("name", ["grid.csv", "host_power.csv"])
def test_a_table_says_source_date_and_licence(name: str) -> None:
    text = (Path(tables.__file__).parent / "data" / name).read_text(encoding="utf-8")
    header = [line for line in text.splitlines() if line.startswith("#")]
    assert "Source:" in " ".join(header)
    assert "Apache-2.0" in " ".join(header)
    assert all(len(line) <= 130 for line in header)
    assert all(row["date"] for row in tables.read(name))


@needs_the_origin
def test_the_server_is_that_of_the_published_table() -> None:
    with (_POWER / "teads_ccf_aws_instance_power_w.csv").open(encoding="utf-8") as lines:
        row = next(row for row in csv.DictReader(lines) if row["instance_type"] == "g4dn.12xlarge")
    parts = {part["part"]: (float(part["idle"]), float(part["half"])) for part in tables.read("host_power.csv")}
    vcpus, gigabytes = float(row["instance_vcpu"]), float(row["instance_memory_in_gb"])
    at_rest, full = float(row["ramwatt_at_idle"]), float(row["ramwatt_at_100pct"])
    expected = {
        "package": (float(row["pkgwatt_at_idle"]) / vcpus, float(row["pkgwatt_at_50pct"]) / vcpus),
        "machine": (float(row["delta_full_machine"]) / vcpus,) * 2,
        "memory": (at_rest / gigabytes, (at_rest + full) / 2 / gigabytes),
        "pue": (1.135, 1.135),
    }
    assert parts.keys() == expected.keys()
    for part, figures in expected.items():
        assert parts[part] == pytest.approx(figures, abs=6e-4)


@needs_the_origin
def test_the_grid_is_that_of_the_published_table() -> None:
    with (_POWER / "ccf_grid_emissions_aws_regions.csv").open(encoding="utf-8") as lines:
        published = {row["Region"]: float(row["CO2e (metric ton/kWh)"]) for row in csv.DictReader(lines)}
    ours = {row["region"]: float(row["grams_per_kwh"]) / 1e6 for row in tables.read("grid.csv")}
    assert ours == pytest.approx(published)
