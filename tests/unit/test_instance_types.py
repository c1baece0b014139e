"""The catalog of accelerated instance types."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import pytest

from constructs_lib.catalog import (
    ARCHITECTURES,
    DRIVERS,
    PLACEMENTS,
    STATUSES,
    AcceleratedType,
    NetworkCard,
    application_clocks,
    known_kinds,
    known_types,
    lookup,
)
from constructs_lib.errors import ArgumentError, UnknownInstanceTypeError, UnsupportedInstanceTypeError

FACTS: dict[str, Any] = {
    "name": "g9.xlarge",
    "kind": "nvidia",
    "model": "L9",
    "accelerators": 1,
    "accelerator_memory_mib": 24_000,
    "architecture": "x86_64",
}

# From the EC2 user guide's page on accelerated instances and the release notes of the Deep Learning base image.
CASE_64 = [
    ("g4dn.xlarge", "nvidia", "x86_64", "open", 1),
    ("g4dn.12xlarge", "nvidia", "x86_64", "open", 4),
    ("g4dn.16xlarge", "nvidia", "x86_64", "open", 1),
    ("g5.xlarge", "nvidia", "x86_64", "open", 1),
    ("g5.48xlarge", "nvidia", "x86_64", "open", 8),
    ("g5g.16xlarge", "nvidia", "arm64", "open", 2),
    ("g6.xlarge", "nvidia", "x86_64", "open", 1),
    ("g6e.12xlarge", "nvidia", "x86_64", "open", 4),
    ("g6f.large", "nvidia", "x86_64", "open", 1),
    ("gr6.4xlarge", "nvidia", "x86_64", "open", 1),
    ("p3.2xlarge", "nvidia", "x86_64", "proprietary", 1),
    ("p4d.24xlarge", "nvidia", "x86_64", "open", 8),
    ("p5.48xlarge", "nvidia", "x86_64", "open", 8),
    ("p5.4xlarge", "nvidia", "x86_64", "open", 1),
    ("p5en.48xlarge", "nvidia", "x86_64", "open", 8),
    ("p6-b200.48xlarge", "nvidia", "x86_64", "open", 8),
    ("p6e-gb200.36xlarge", "nvidia", "arm64", "open", 4),
    ("trn1.32xlarge", "neuron", "x86_64", None, 16),
    ("trn2u.48xlarge", "neuron", "x86_64", None, 16),
    ("inf2.48xlarge", "neuron", "x86_64", None, 12),
    ("dl1.24xlarge", "gaudi", "x86_64", None, 8),
    ("dl2q.24xlarge", "qualcomm", "x86_64", None, 8),
    ("f2.6xlarge", "fpga", "x86_64", None, 1),
    ("vt1.24xlarge", "media", "x86_64", None, 8),
    ("g4ad.16xlarge", "amd", "x86_64", None, 4),
]


@pytest.mark.parametrize(("name", "kind", "architecture", "driver", "accelerators"), CASE_64)
def test_case_64_kind_architecture_and_driver_fit_the_type(
    name: str, kind: str, architecture: str, driver: str | None, accelerators: int
) -> None:
    found = lookup(name)
    assert (found.kind, found.architecture, found.driver, found.accelerators) == (
        kind,
        architecture,
        driver,
        accelerators,
    )


@pytest.mark.parametrize(
    ("name", "fraction"),
    [("g6f.large", 0.125), ("g6f.xlarge", 0.125), ("g6f.2xlarge", 0.25), ("g6f.4xlarge", 0.5), ("gr6f.4xlarge", 0.5)],
)
def test_case_64_a_fraction_is_one_visible_device_although_ec2_counts_zero(name: str, fraction: float) -> None:
    assert (lookup(name).accelerators, lookup(name).fraction) == (1, fraction)


def test_a_whole_accelerator_has_no_fraction() -> None:
    assert lookup("g6.xlarge").fraction is None


@pytest.mark.parametrize("name", ["trn2.3xlarge", "trn2.48xlarge", "trn2u.48xlarge"])
def test_a_trainium2_device_has_96_gib_although_ec2_says_512(name: str) -> None:
    assert lookup(name).accelerator_memory_mib == 96 * 1024


def test_case_64_an_unknown_future_family_is_an_error_that_says_how_to_go_on() -> None:
    with pytest.raises(UnknownInstanceTypeError) as caught:
        lookup("g9.xlarge", where="Stack/Fleet", parameter="instance_types")
    message = str(caught.value)
    assert message.startswith("Stack/Fleet: instance_types must be an accelerated instance type")
    assert "got 'g9.xlarge'" in message
    assert "catalog (2026-10-27)" in message
    assert "AcceleratedType(" in message


def test_case_64_a_future_family_can_be_stated() -> None:
    future = AcceleratedType(**FACTS)
    assert (future.family, future.driver, future.fraction, future.video_encoder) == ("g9", "open", None, False)


@pytest.mark.parametrize(("typo", "meant"), [("g6.64xlarge", "g6.48xlarge"), ("g6,xlarge", "g6.xlarge")])
def test_an_unknown_name_is_answered_with_similar_ones(typo: str, meant: str) -> None:
    with pytest.raises(UnknownInstanceTypeError, match=f"did you mean .*{meant}"):
        lookup(typo)


@pytest.mark.parametrize(
    "name", ["m5.large", "c7i-flex.large", "t3.micro", "u-6tb1.metal", "mac2-m2pro.metal", "m5.tiny"]
)
def test_case_76_a_type_without_accelerator_is_refused(name: str) -> None:
    with pytest.raises(
        UnsupportedInstanceTypeError, match=f"must be an instance type with an accelerator, got '{name}'"
    ):
        lookup(name)


@pytest.mark.parametrize("name", ["", None, 5, ["g6.xlarge"]])
def test_a_name_that_is_no_text_is_refused(name: Any) -> None:
    with pytest.raises(ArgumentError, match="catalog: instance_type must be a text"):
        lookup(name)


@pytest.mark.parametrize(
    ("name", "status"),
    [("g6.xlarge", "current"), ("p3dn.24xlarge", "previous"), ("p3.2xlarge", "previous"), ("g3.4xlarge", "retired")],
)
def test_a_type_knows_whether_aws_still_sells_it(name: str, status: str) -> None:
    assert lookup(name).status == status


@pytest.mark.parametrize(("name", "offered"), [("g6.xlarge", True), ("vt1.3xlarge", True), ("p5.48xlarge", False)])
def test_a_type_knows_whether_it_is_offered_for_video(name: str, offered: bool) -> None:
    assert lookup(name).video_encoder is offered


@pytest.mark.parametrize(
    ("change", "parameter"),
    [
        ({"name": "G9.XLARGE"}, "name"),
        ({"name": "g9"}, "name"),
        ({"name": None}, "name"),
        ({"kind": "cuda"}, "kind"),
        ({"model": ""}, "model"),
        ({"accelerators": 0}, "accelerators"),
        ({"accelerators": True}, "accelerators"),
        ({"accelerators": 1.0}, "accelerators"),
        ({"accelerator_memory_mib": 0}, "accelerator_memory_mib"),
        ({"architecture": "amd64"}, "architecture"),
        ({"fraction": 0}, "fraction"),
        ({"fraction": 1}, "fraction"),
        ({"fraction": float("nan")}, "fraction"),
        ({"fraction": 0.5, "accelerators": 2}, "accelerators"),
        ({"driver": "closed"}, "driver"),
        ({"driver": "open", "kind": "neuron"}, "driver"),
        ({"driver": ""}, "driver"),
        ({"video_encoder": "yes"}, "video_encoder"),
        ({"status": "old"}, "status"),
        ({"vcpus": 0}, "vcpus"),
        ({"vcpus": 4.0}, "vcpus"),
        ({"usd_per_hour": 0}, "usd_per_hour"),
        ({"usd_per_hour": float("nan")}, "usd_per_hour"),
        ({"usd_per_hour": "0.80"}, "usd_per_hour"),
        ({"memory_mib": 0}, "memory_mib"),
        ({"memory_mib": 1024.0}, "memory_mib"),
        ({"network_cards": []}, "network_cards"),
        ({"network_cards": [4]}, "network_cards"),
        ({"network_cards": NetworkCard(interfaces=4, efa=True)}, "network_cards"),
        ({"network_cards": [NetworkCard(interfaces=4, efa=True)] * 2, "efa_interfaces": 1}, "efa_interfaces"),
        ({"network_cards": [NetworkCard(interfaces=4, efa=False)], "efa_interfaces": 1}, "efa_interfaces"),
        ({"spot": "yes"}, "spot"),
        ({"on_demand": 1}, "on_demand"),
        ({"capacity_block": "no"}, "capacity_block"),
        ({"block_end_minutes": -1}, "block_end_minutes"),
        ({"block_end_minutes": 30.0}, "block_end_minutes"),
        ({"block_end_minutes": 30, "capacity_block": False}, "block_end_minutes"),
        ({"hibernation": 0}, "hibernation"),
        ({"bare_metal": "metal"}, "bare_metal"),
        ({"placement": "cluster"}, "placement"),
        ({"placement": ["rack"]}, "placement"),
        ({"regions": "eu-west-1"}, "regions"),
        ({"regions": [""]}, "regions"),
        ({"regions": [5]}, "regions"),
        ({"retired_on": "2026-01-01"}, "retired_on"),
        ({"retired_on": "soon", "status": "retired"}, "retired_on"),
        ({"retired_on": "2026-13-01", "status": "retired"}, "retired_on"),
        ({"successor": "g10"}, "successor"),
        ({"successor": "g9.xlarge"}, "successor"),
        ({"successor": ""}, "successor"),
    ],
)
def test_stated_facts_are_checked(change: dict[str, Any], parameter: str) -> None:
    with pytest.raises(ArgumentError, match=rf"^AcceleratedType.*: {parameter} must .+, got .+; .+"):
        AcceleratedType(**{**FACTS, **change})


def test_facts_never_change() -> None:
    with pytest.raises(AttributeError):
        lookup("g6.xlarge").kind = "amd"  # type: ignore[misc]
    with pytest.raises(TypeError):
        known_types()["g6.xlarge"] = lookup("g5.xlarge")  # type: ignore[index]


def test_the_table_uses_every_word_of_the_vocabulary_and_no_other() -> None:
    types = known_types().values()
    assert {each.kind for each in types} == set(known_kinds())
    assert {each.architecture for each in types} == set(ARCHITECTURES)
    assert {each.status for each in types} == set(STATUSES)
    assert {each.driver for each in types if each.kind == "nvidia"} == set(DRIVERS)
    assert {each.driver for each in types if each.kind != "nvidia"} == {None}
    assert {strategy for each in types for strategy in each.placement or ()} == set(PLACEMENTS)


@pytest.mark.parametrize("table", ["instance_types.csv", "cpu_families.csv"])
def test_each_table_names_source_date_and_licence(table: str) -> None:
    text = (files("constructs_lib.catalog") / "data" / table).read_text(encoding="utf-8")
    head = "".join(line for line in text.splitlines(keepends=True) if line.startswith("#"))
    assert "Source: " in head
    assert "2026-10-27" in head
    assert "Apache-2.0" in head


@pytest.mark.parametrize(
    ("name", "store", "efa"),
    [
        ("g6.xlarge", 250, 0),
        ("g5.16xlarge", 1900, 1),
        ("p5.48xlarge", 30_400, 32),
        ("p6e-gb200.36xlarge", 22_500, 16),
        ("trn1.32xlarge", 7600, 8),
        ("inf2.48xlarge", 0, 0),
        ("dl1.24xlarge", 4000, None),
    ],
)
def test_instance_store_and_network_of_a_type(name: str, store: int, efa: int | None) -> None:
    # "ac" page of the EC2 instance types guide; for dl1 AWS's pages contradict each other.
    facts = lookup(name)
    assert (facts.instance_store_gb, facts.efa_interfaces) == (store, efa)


@pytest.mark.parametrize(
    ("name", "vcpus", "price"),
    [
        ("g6.xlarge", 4, 0.8048),
        ("p5.48xlarge", 192, 55.04),
        ("trn2.48xlarge", 192, None),
        ("p6e-gb200.36xlarge", 144, None),
    ],
)
def test_cores_and_list_price_of_a_type(name: str, vcpus: int | None, price: float | None) -> None:
    facts = lookup(name)
    assert (facts.vcpus, facts.usd_per_hour) == (vcpus, price)


def test_what_nobody_stated_is_not_known() -> None:
    stated = AcceleratedType(**FACTS)
    assert (stated.vcpus, stated.usd_per_hour) == (None, None)
    assert (stated.memory_mib, stated.network_cards, stated.placement, stated.regions) == (None, None, None, None)
    assert (stated.spot, stated.on_demand, stated.capacity_block) == (None, None, None)
    assert (stated.hibernation, stated.bare_metal, stated.retired_on, stated.successor) == (None, None, None, None)


def test_case_64_all_facts_of_a_future_type_can_be_stated() -> None:
    card = NetworkCard(interfaces=4, efa=True)
    stated = AcceleratedType(
        **FACTS,
        memory_mib=65_536,
        network_cards=[card, card],
        efa_interfaces=2,
        spot=True,
        on_demand=False,
        capacity_block=True,
        hibernation=False,
        placement=["cluster"],
        regions=[],
        bare_metal=False,
        successor="g10.xlarge",
    )
    assert (stated.network_cards, stated.placement, stated.regions) == ((card, card), ("cluster",), ())
    assert hash(stated) == hash(AcceleratedType(**{name: getattr(stated, name) for name in FACTS}, **_others(stated)))


def _others(stated: AcceleratedType) -> dict[str, Any]:
    return {name: value for name, value in vars(stated).items() if name not in FACTS}


def test_facts_about_efa_that_fit_together_are_taken() -> None:
    cards = [NetworkCard(interfaces=4, efa=efa) for efa in (False, True, True)]
    assert AcceleratedType(**FACTS, network_cards=cards, efa_interfaces=2).efa_interfaces == 2
    assert AcceleratedType(**FACTS, network_cards=cards[:1], efa_interfaces=0).efa_interfaces == 0
    assert AcceleratedType(**FACTS, network_cards=cards).efa_interfaces is None


@pytest.mark.parametrize(
    ("interfaces", "efa", "parameter"), [(0, True, "interfaces"), ("4", True, "interfaces"), (4, "yes", "efa")]
)
def test_facts_about_a_network_card_are_checked(interfaces: Any, efa: Any, parameter: str) -> None:
    with pytest.raises(ArgumentError, match=f"^NetworkCard: {parameter} must "):
        NetworkCard(interfaces=interfaces, efa=efa)


def test_the_prices_say_where_and_when_they_were_read() -> None:
    text = (files("constructs_lib.catalog") / "data" / "prices.csv").read_text(encoding="utf-8")
    head = "".join(line for line in text.splitlines(keepends=True) if line.startswith("#"))
    assert "us-east-1 on 2026-07-20" in head
    assert "karpenter-provider-aws" in head


@pytest.mark.parametrize(
    ("family", "clocks"), [("g5", (6250, 1710)), ("p4d", (1215, 1410)), ("g6f", (6251, 2040)), ("g5g", None)]
)
def test_application_clocks_are_those_of_the_user_guide(family: str, clocks: tuple[int, int] | None) -> None:
    assert application_clocks(family) == clocks


def test_application_clocks_name_nvidia_families_of_the_catalog() -> None:
    nvidia = {each.family for each in known_types().values() if each.kind == "nvidia"}
    named = {family for family in nvidia if application_clocks(family)}
    assert nvidia - named == {"g3", "g3s", "p2", "g5g", "p6e-gb200"}
