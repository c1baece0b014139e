"""What the catalog tells as plain data."""

from __future__ import annotations

import json
from typing import Any

import pytest

from constructs_lib.catalog import cpu_types, describe, known_kinds, known_types, listing
from constructs_lib.errors import ArgumentError, UnknownInstanceTypeError, UnsupportedInstanceTypeError


@pytest.mark.parametrize("name", [*known_types(), "c8i.4xlarge", "m8g.xlarge"])
def test_every_type_has_a_document_that_json_can_carry(name: str) -> None:
    document = describe(name)
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["type"] == name


def test_document_of_a_type() -> None:
    document = describe("g6f.large")
    assert document["kind"] == "nvidia"
    assert document["life_cycle"] == {"status": "current", "retired_on": None, "successor": None}
    assert (document["accelerators"]["model"], document["accelerators"]["fraction"]) == ("L4", 0.125)
    assert document["accelerators"]["whole"]["power_limit_w"]["value"] == 72
    assert "nvidia-smi" in document["accelerators"]["whole"]["power_limit_w"]["source"]
    assert document["cpu"] == {"architecture": "x86_64", "vcpus": 2, "memory_mib": 8192}
    assert document["bought"] == {"spot": True, "on_demand": True, "capacity_block": False}
    assert "sa-east-1" in document["regions"]
    assert document["prices"] == [
        {"region": "us-east-1", "usd_per_hour": 0.202, "date": "2026-07-20", "estimated": False}
    ]


def test_document_of_a_type_with_many_network_cards() -> None:
    network = describe("p6-b300.48xlarge")["network"]
    assert network["efa_interfaces"] == 16
    assert network["cards"][0] == {"interfaces": 4, "efa": False}
    assert network["cards"][1:] == [{"interfaces": 4, "efa": True}] * 16


def test_document_of_a_retired_type_names_its_successor() -> None:
    assert describe("f1.2xlarge")["life_cycle"] == {
        "status": "retired",
        "retired_on": "2025-12-20",
        "successor": "f2.6xlarge",
    }


def test_document_says_what_is_not_known() -> None:
    document = describe("p6e-gb200.36xlarge")
    assert (document["regions"], document["placement"], document["prices"]) == (None, None, [])
    assert describe("dl1.24xlarge")["network"] == {"efa_interfaces": None, "cards": None}
    assert describe("inf1.xlarge")["accelerators"]["whole"] is None
    assert describe("g5g.xlarge")["accelerators"]["whole"]["idle_w"] is None


def test_document_of_a_cpu_type() -> None:
    document = describe("c8i.4xlarge")
    assert document["kind"] == "cpu"
    assert document["cpu"]["amx"] is True
    assert document["prices"]
    assert document["spot_savings"] == []
    assert describe("c7i.4xlarge")["spot_savings"]
    assert cpu_types()["c8i.4xlarge"].family == document["family"] == "c8i"


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("g9.xlarge", UnknownInstanceTypeError),
        ("t3.micro", UnsupportedInstanceTypeError),
        ("", ArgumentError),
        (None, ArgumentError),
    ],
)
def test_a_type_that_the_catalog_does_not_have_is_refused(name: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"^catalog: instance_type must "):
        describe(name)


def test_the_list_holds_what_can_be_launched_in_the_order_of_the_table() -> None:
    assert [each["type"] for each in listing()] == [
        name for name, facts in known_types().items() if facts.status != "retired"
    ]
    assert json.dumps(listing(), allow_nan=False)


@pytest.mark.parametrize("kind", known_kinds())
def test_the_list_of_a_kind(kind: str) -> None:
    found = listing(kind=kind)
    assert found
    assert {each["kind"] for each in found} == {kind}


def test_the_list_of_a_region_has_its_offerings_and_prices() -> None:
    found = {each["type"]: each for each in listing(region="eu-west-1")}
    assert {name.partition(".")[0] for name in found} == {"g4dn", "g5", "inf1", "inf2", "p3dn", "p4d", "vt1"}
    assert found["p4d.24xlarge"]["price_estimated"] is True
    assert found["g5.xlarge"]["price_date"] == "2024-05-02"
    assert found["g5.xlarge"]["region"] == "eu-west-1"


def test_the_list_of_retired_types() -> None:
    assert {each["type"].partition(".")[0] for each in listing(status="retired")} == {"f1", "g3", "g3s", "p2"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"kind": "gpu"}, "kind must be one of amd"),
        ({"region": "eu-west-9"}, r"region must be one of .*did you mean 'eu-west-"),
        ({"status": "old"}, "status must be one of current, previous, retired"),
        ({"kind": ""}, "kind must be one of"),
        ({"region": 5}, "region must be one of"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=f"^catalog: {words}"):
        listing(**arguments)
