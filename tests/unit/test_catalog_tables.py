"""The catalog's tables, held against EC2's answers as moto has them, and against the files that they were made from."""

from __future__ import annotations

import csv
import gzip
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from moto.ec2.models.instance_types import INSTANCE_TYPE_OFFERINGS, INSTANCE_TYPES

from constructs_lib.catalog import (
    accelerator,
    cpu_types,
    instance_prices,
    known_types,
    lookup,
    offered_in,
    price,
    regions,
    spot_saving,
    tables,
)
from constructs_lib.catalog.refresh import Answers, corrections, make_tables, rebuild, shipped_texts
from constructs_lib.catalog.refresh.records import accelerated_row
from scripts.catalog_tables import ASKED_ON, answers_of_moto

_SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
_REGIONS = INSTANCE_TYPE_OFFERINGS["region"]
needs_files = pytest.mark.skipif(not _SHARED.is_dir(), reason="the files the tables were made from are not here")


def shipped() -> dict[str, list[dict[str, str]]]:
    return {name: tables.read_from(tables.SHIPPED, name) for name in tables.REFRESHED}


def rows(file: str) -> Iterator[dict[str, str]]:
    with (_SHARED / file).open(encoding="utf-8", newline="") as lines:
        yield from csv.DictReader(lines)


def test_the_tables_are_what_the_refresh_makes_of_motos_answer_and_the_corrections() -> None:
    made = make_tables(shipped(), answers_of_moto())
    for name, text in shipped_texts(made.tables).items():
        assert (tables.SHIPPED / name).read_text(encoding="utf-8") == text, name
    assert {remark.partition(".")[0] for remark in made.remarks} == {"dl1", "g4ad", "p3"}


@needs_files
def test_families_that_moto_has_dropped_are_what_older_records_say() -> None:
    with gzip.open(_SHARED / "ec2" / "accelerated_describe_instance_types.json.gz") as file:
        older = json.load(file)
    answers = answers_of_moto()
    both = Answers(asked_on=ASKED_ON, records={**older, **answers.records}, offerings=answers.offerings)
    made = rebuild({}, both, corrections.shipped(), [])
    assert made.tables["instance_types.csv"] == shipped()["instance_types.csv"]
    assert made.remarks == ()


def test_every_correction_is_needed() -> None:
    everything = corrections.shipped()
    with_all = rebuild({}, answers_of_moto(), everything, []).tables["instance_types.csv"]
    described = {name.partition(".")[0] for name in INSTANCE_TYPES} | set(INSTANCE_TYPES)
    for each in everything:
        if each.types not in described:
            continue
        others = [other for other in everything if other != each]
        without = rebuild({}, answers_of_moto(), others, []).tables["instance_types.csv"]
        assert without != with_all, each


def test_every_correction_says_what_ec2_says_and_why() -> None:
    for each in corrections.shipped():
        assert each.column in tables.REFRESHED["instance_types.csv"], each
        assert len(each.reason) > 8, each
        for name, record in INSTANCE_TYPES.items():
            if each.concerns(name):
                assert accelerated_row(record)[each.column] == each.answer, each


@pytest.mark.parametrize("table", sorted(path.name for path in tables.SHIPPED.glob("*.csv")))
def test_each_table_is_small_and_says_where_it_comes_from(table: str) -> None:
    text = (tables.SHIPPED / table).read_text(encoding="utf-8")
    assert len(text) < 45_000
    head = [line for line in text.splitlines() if line.startswith("#")]
    assert any(line.startswith("# Source: ") for line in head)
    assert any(year in "".join(head) for year in ("2024", "2025", "2026"))


# What the EC2 User Guide says of network cards ("Network cards", "Maximize network bandwidth", autumn 2026).
@pytest.mark.parametrize(
    ("name", "cards", "interfaces", "with_efa"),
    [
        ("p4d.24xlarge", 4, 60, 4),
        ("p5.48xlarge", 32, 64, 32),
        ("p5.4xlarge", 1, 4, 1),
        ("p5en.48xlarge", 16, 64, 16),
        ("p6-b200.48xlarge", 8, 32, 8),
        ("p6-b300.48xlarge", 17, 68, 16),
        ("trn1.32xlarge", 8, 40, 8),
        ("trn1n.32xlarge", 16, 80, 16),
        ("trn2.48xlarge", 16, 32, 16),
        ("g6e.24xlarge", 2, 20, 2),
        ("g7e.48xlarge", 4, 40, 4),
        ("g6.xlarge", 1, 4, 0),
    ],
)
def test_case_19_network_cards_of_a_type(name: str, cards: int, interfaces: int, with_efa: int) -> None:
    found = lookup(name).network_cards
    assert found is not None
    assert (len(found), sum(each.interfaces for each in found), sum(each.efa for each in found)) == (
        cards,
        interfaces,
        with_efa,
    )


@pytest.mark.parametrize("name", ["p6-b300.48xlarge", "p6e-gb200.36xlarge"])
def test_case_19_the_first_card_of_some_types_takes_no_efa(name: str) -> None:
    found = lookup(name).network_cards
    assert found is not None
    assert [each.efa for each in found] == [False, *[True] * 16]


def test_no_type_has_more_efa_than_cards_that_take_it() -> None:
    for each in known_types().values():
        if each.network_cards is not None and each.efa_interfaces is not None:
            assert each.efa_interfaces == sum(card.efa for card in each.network_cards), each.name
    unknown = {each.name for each in known_types().values() if each.network_cards is None}
    assert unknown == {"dl1.24xlarge"}


def test_no_accelerated_type_hibernates_and_two_are_bare_metal() -> None:
    types = known_types().values()
    assert {each.hibernation for each in types} == {False}
    assert [each.name for each in types if each.bare_metal] == ["g4dn.metal", "g5g.metal"]


def test_case_18_capacity_blocks_are_sold_of_some_types_and_spot_not_of_all() -> None:
    blocks = {each.family for each in known_types().values() if each.capacity_block}
    assert blocks == {
        *("p4d", "p4de", "p5", "p5e", "p5en", "p6-b200", "p6-b300", "p6e-gb200", "trn1", "trn2", "trn2u"),
    }
    assert {each.name for each in known_types().values() if not each.spot} == {"p6e-gb200.36xlarge", "trn2u.48xlarge"}
    assert lookup("trn1.2xlarge").capacity_block is False


@pytest.mark.parametrize(
    ("name", "minutes"),
    [
        ("p5.48xlarge", 30),
        ("p6e-gb200.36xlarge", 60),
        ("trn2.48xlarge", 30),
        ("trn2u.48xlarge", 60),
        ("g6.xlarge", None),
        ("trn1.2xlarge", None),
    ],
)
def test_instances_of_a_capacity_block_end_before_it(name: str, minutes: int | None) -> None:
    # "Capacity Blocks for ML", EC2 User Guide: 30 minutes before the end, in UltraServers 60.
    assert lookup(name).block_end_minutes == minutes


def test_an_ultraserver_is_sold_by_capacity_block_only() -> None:
    facts = lookup("p6e-gb200.36xlarge")
    assert (facts.on_demand, facts.spot, facts.capacity_block) == (False, False, True)


def test_placement_strategies_of_a_type() -> None:
    assert lookup("vt1.3xlarge").placement == ("partition", "spread")
    assert lookup("p5.48xlarge").placement == ("cluster", "partition", "spread")


@pytest.mark.parametrize(
    ("name", "status", "retired_on", "successor"),
    [
        ("f1.2xlarge", "retired", "2025-12-20", "f2.6xlarge"),
        ("g3s.xlarge", "retired", "2025-10-31", "g6.xlarge"),
        ("p2.16xlarge", "retired", None, "p4d.24xlarge"),
        ("p3.2xlarge", "previous", None, "p5.4xlarge"),
        ("p3dn.24xlarge", "previous", None, "p4d.24xlarge"),
        ("g6.xlarge", "current", None, None),
    ],
)
def test_life_cycle_of_a_type(name: str, status: str, retired_on: str | None, successor: str | None) -> None:
    facts = lookup(name)
    assert (facts.status, facts.retired_on, facts.successor) == (status, retired_on, successor)


@pytest.mark.parametrize(
    ("name", "said", "status"), [("g5.xlarge", False, "current"), ("p3dn.24xlarge", True, "previous")]
)
def test_ec2s_word_on_generations_is_not_taken(name: str, said: bool, status: str) -> None:
    assert INSTANCE_TYPES[name]["CurrentGeneration"] is said
    assert lookup(name).status == status


def test_what_is_not_current_has_a_successor_that_is() -> None:
    for each in known_types().values():
        if each.status == "current":
            assert each.successor is None
        else:
            assert each.successor is not None
            assert lookup(each.successor).status == "current", each.name


def test_case_28_regions_are_those_of_the_offerings() -> None:
    assert set(regions()) == set(_REGIONS)
    assert set(regions().values()) == {ASKED_ON}
    for name, facts in known_types().items():
        where = tuple(sorted(region for region, offered in _REGIONS.items() if _offers(offered, name)))
        assert facts.regions == (None if name == "p6e-gb200.36xlarge" else where), name
    assert lookup("p3.2xlarge").regions == ()
    assert lookup("trn2.48xlarge").regions == ("ap-south-2", "us-east-2")


def _offers(offered: Any, name: str) -> bool:
    return any(each["InstanceType"] == name for each in offered)


def test_cpu_types_are_what_moto_says() -> None:
    for name, facts in cpu_types().items():
        record = INSTANCE_TYPES[name]
        assert facts.vcpus == record["VCpuInfo"]["DefaultVCpus"]
        assert facts.memory_mib == record["MemoryInfo"]["SizeInMiB"]
        assert facts.architecture in record["ProcessorInfo"]["SupportedArchitectures"]
        assert facts.processor == record["ProcessorInfo"]["Manufacturer"]
        assert not record["BareMetal"]
        assert facts.regions == offered_in(name) != ()
        assert facts.usd_per_hour, name
    assert {facts.family for facts in cpu_types().values()} >= {
        f"{family}{generation}{maker}" for family in "cm" for generation in "78" for maker in "agi"
    }


def test_amx_is_in_intels_processors_of_the_last_two_generations() -> None:
    # "Accelerate CPU-based AI inference workloads using Intel AMX on Amazon EC2", AWS Compute Blog.
    for facts in cpu_types().values():
        assert facts.amx is (facts.processor == "Intel"), facts.name
    assert (cpu_types()["c8g.4xlarge"].architecture, cpu_types()["c8g.4xlarge"].processor) == ("arm64", "AWS")


def test_prices_in_the_home_region_are_those_of_the_facts() -> None:
    for name, facts in known_types().items():
        listed = price(name, "us-east-1")
        assert facts.usd_per_hour == (None if listed is None else listed.usd_per_hour)
        assert listed is None or (listed.date, listed.estimated) == ("2026-07-20", False)
    assert instance_prices()["g6.xlarge"] == 0.8048
    assert "f1.2xlarge" not in instance_prices()


@needs_files
def test_prices_are_those_of_the_lists() -> None:
    listed = {
        row["instance_type"]: row["usd_per_hour"] for row in rows("price/ondemand_us_east_1_karpenter_2026-07-20.csv")
    }
    for name in (*known_types(), *cpu_types()):
        found = price(name, "us-east-1")
        if name in listed:
            assert found is not None
            assert found.usd_per_hour == float(listed[name]), name
    compared = 0
    for row in rows("price/multi_region_ondemand_spot_reserved_2024-05.csv"):
        found = price(row["instance_type"], row["region"])
        if found is None or row["region"] == "us-east-1":
            continue
        if found.estimated:
            assert row["instance_type"].partition(".")[0] in {"p4d", "p4de", "p5"}
        else:
            assert (found.usd_per_hour, found.date) == (float(row["ondemand_usd_h"]), "2024-05-02")
            compared += 1
    assert compared > 500


@pytest.mark.parametrize(
    ("name", "region", "ratio"), [("p4d.24xlarge", "sa-east-1", 1.6193), ("p4d.24xlarge", "eu-west-1", 1.0801)]
)
def test_a_price_that_no_list_has_is_marked_as_estimated(name: str, region: str, ratio: float) -> None:
    found, home = price(name, region), price(name, "us-east-1")
    assert found is not None
    assert home is not None
    assert found.estimated
    assert found.usd_per_hour == pytest.approx(home.usd_per_hour * ratio, rel=1e-3)


def test_what_nobody_published_has_no_price() -> None:
    assert price("p5e.48xlarge", "us-east-1") is None
    assert price("g7.2xlarge", "eu-central-1") is None
    assert price("g6.xlarge", "nowhere-1") is None
    assert price("m5.large", "us-east-1") is None


@needs_files
def test_spot_savings_are_those_of_the_advisor() -> None:
    compared = 0
    for row in rows("price/spot_advisor_2025-06.csv"):
        found = spot_saving(row["instance_type"], row["region"])
        if found is not None:
            assert found.share == pytest.approx(float(row["savings_vs_ondemand_pct"]) / 100)
            assert (found.interruption, found.date) == (row["interruption_frequency_month"], "2025-06-28")
            compared += 1
    assert compared > 900


def test_spot_saving_of_a_type() -> None:
    found = spot_saving("g5.xlarge", "us-east-1")
    assert found is not None
    assert (found.share, found.interruption, found.region) == (0.59, ">20%", "us-east-1")
    assert spot_saving("g7.2xlarge", "us-east-1") is None


# Data sheets, and the limits that nvidia-smi shows on EC2.
@pytest.mark.parametrize(
    ("model", "memory_mib", "bandwidth", "limit"),
    [
        ("A10G", None, 600, 300),
        ("L40S", None, 864, 350),
        ("T4", None, 320, 70),
        ("L4", 2861, 300, 72),
        ("A100", 40_960, 1560, 400),
        ("A100", 81_920, 2040, 400),
        ("V100", 32_768, 900, 300),
        ("Trainium2", None, 2900, None),
    ],
)
def test_figures_of_an_accelerator(model: str, memory_mib: int | None, bandwidth: float, limit: float | None) -> None:
    found = accelerator(model, memory_mib=memory_mib)
    assert found is not None
    assert (found.memory_bandwidth_gb_s, found.power_limit_w) == (bandwidth, limit)


def test_every_figure_of_an_accelerator_has_a_source() -> None:
    for row in tables.read("accelerators.csv"):
        for figure, source in (
            ("memory_bandwidth_gb_s", "bandwidth_source"),
            ("power_limit_w", "power_source"),
            ("idle_w", "idle_source"),
        ):
            assert bool(row[figure]) == bool(row[source]), row
    models = {each.model for each in known_types().values()}
    assert {row["model"] for row in tables.read("accelerators.csv")} <= models
    assert accelerator("Inferentia") is None


@needs_files
def test_power_is_what_was_measured_on_ec2() -> None:
    measured: dict[str, float] = {}
    for row in rows("power/aws_nvidia_smi_power_limits.csv"):
        if row["default_power_limit_w"] not in ("", "N/A"):
            measured[row["instance_type"]] = float(row["default_power_limit_w"])
    for name, watts in measured.items():
        facts = lookup(name)
        found = accelerator(facts.model, memory_mib=facts.accelerator_memory_mib)
        assert found is not None
        assert found.power_limit_w == watts, name
    assert len(measured) > 40


def test_the_catalog_reads_no_table_when_it_is_imported() -> None:
    code = (
        "import sys; import constructs_lib.catalog; assert not {'csv', 'boto3', 'aws_cdk', 'jsii'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_image_parameters_are_those_that_fleets_start_from() -> None:
    from constructs_lib.telemetry import AcceleratorKind, kind_of

    kinds: Mapping[str, AcceleratorKind] = {
        each.kind: kind_of((each,)) for each in known_types().values() if each.kind in ("nvidia", "neuron")
    }
    named = {
        template.format(architecture=architecture)
        for kind in kinds.values()
        for template in kind.images.values()
        for architecture in ("x86_64", "arm64")
    }
    assert {row["parameter"] for row in tables.read("images.csv")} == named
