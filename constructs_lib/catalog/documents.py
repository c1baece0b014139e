"""What the catalog knows, as plain data: dictionaries, lists, texts and numbers, ready for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from constructs_lib.catalog.accelerators import accelerator
from constructs_lib.catalog.cpu_types import CpuType, cpu_types
from constructs_lib.catalog.instance_types import STATUSES, AcceleratedType, known_kinds, known_types, lookup
from constructs_lib.catalog.offerings import regions
from constructs_lib.catalog.prices import HOME, price, spot_saving
from constructs_lib.validation import one_of, text

Document = dict[str, Any]

_WHERE = "catalog"


def listing(*, kind: str | None = None, region: str | None = None, status: str | None = None) -> list[Document]:
    """One short document for each accelerated type, in the order of the table.

    Args:
        kind: of the accelerators, for example ``nvidia``. Default: every kind.
        region: whose offerings and prices count, for example ``eu-west-1``. Default: every type, with the prices of
            us-east-1.
        status: ``current``, ``previous`` or ``retired``. Default: all but retired ones.

    Raises:
        ArgumentError: a kind, region or status that the catalog does not know.
    """
    if kind is not None:
        one_of(_WHERE, "kind", kind, known_kinds(), cure="NVIDIA GPUs are 'nvidia'")
    if region is not None:
        one_of(_WHERE, "region", region, regions(), cure="a refresh asks for further regions")
    if status is not None:
        one_of(_WHERE, "status", status, STATUSES, cure="leave it out for all that can be launched")
    return [
        _line(each, region or HOME)
        for each in known_types().values()
        if (kind is None or each.kind == kind)
        and (each.status != "retired" if status is None else each.status == status)
        and (region is None or region in (each.regions or ()))
    ]


def describe(name: str) -> Document:
    """All that the catalog knows of an instance type, accelerated or one of the CPU types that it compares with.

    Raises:
        ArgumentError: ``name`` is not a text.
        UnsupportedInstanceTypeError: the type has no accelerator, and the catalog does not compare with it.
        UnknownInstanceTypeError: the catalog has no facts about the type.
    """
    text(_WHERE, "instance_type", name, cure="write an instance type, for example 'g6.xlarge'")
    cpu = cpu_types().get(name)
    return _of_cpu(cpu) if cpu is not None else _of_accelerated(lookup(name, where=_WHERE))


def _line(facts: AcceleratedType, region: str) -> Document:
    listed = price(facts.name, region)
    return {
        "type": facts.name,
        "kind": facts.kind,
        "model": facts.model,
        "accelerators": facts.accelerators,
        "fraction": facts.fraction,
        "accelerator_memory_mib": facts.accelerator_memory_mib,
        "architecture": facts.architecture,
        "vcpus": facts.vcpus,
        "memory_mib": facts.memory_mib,
        "status": facts.status,
        "region": region,
        "usd_per_hour": None if listed is None else listed.usd_per_hour,
        "price_date": None if listed is None else listed.date,
        "price_estimated": None if listed is None else listed.estimated,
    }


def _of_accelerated(facts: AcceleratedType) -> Document:
    return {
        "type": facts.name,
        "family": facts.family,
        "kind": facts.kind,
        "life_cycle": {"status": facts.status, "retired_on": facts.retired_on, "successor": facts.successor},
        "accelerators": _accelerators(facts),
        "cpu": {"architecture": facts.architecture, "vcpus": facts.vcpus, "memory_mib": facts.memory_mib},
        "instance_store_gb": facts.instance_store_gb,
        "network": _network(facts),
        "bought": {"spot": facts.spot, "on_demand": facts.on_demand, "capacity_block": facts.capacity_block},
        "hibernation": facts.hibernation,
        "bare_metal": facts.bare_metal,
        "placement": None if facts.placement is None else list(facts.placement),
        **_where_and_for_how_much(facts.name, facts.regions),
    }


def _of_cpu(facts: CpuType) -> Document:
    return {
        "type": facts.name,
        "family": facts.family,
        "kind": "cpu",
        "cpu": {
            "architecture": facts.architecture,
            "vcpus": facts.vcpus,
            "memory_mib": facts.memory_mib,
            "processor": facts.processor,
            "amx": facts.amx,
        },
        **_where_and_for_how_much(facts.name, facts.regions),
    }


def _accelerators(facts: AcceleratedType) -> Document:
    model = accelerator(facts.model, memory_mib=facts.accelerator_memory_mib)
    # Of a part of a GPU the table knows the whole one.
    return {
        "model": facts.model,
        "count": facts.accelerators,
        "fraction": facts.fraction,
        "memory_mib": facts.accelerator_memory_mib,
        "driver": facts.driver,
        "video_encoder": facts.video_encoder,
        "whole": None
        if model is None
        else {
            "memory_bandwidth_gb_s": _sourced(model.memory_bandwidth_gb_s, model.bandwidth_source),
            "power_limit_w": _sourced(model.power_limit_w, model.power_source),
            "idle_w": _sourced(model.idle_w, model.idle_source),
        },
    }


def _sourced(figure: float | None, source: str | None) -> Document | None:
    return None if figure is None else {"value": figure, "source": source}


def _network(facts: AcceleratedType) -> Document:
    cards = facts.network_cards
    return {
        "efa_interfaces": facts.efa_interfaces,
        "cards": None if cards is None else [{"interfaces": card.interfaces, "efa": card.efa} for card in cards],
    }


def _where_and_for_how_much(name: str, offered: Sequence[str] | None) -> Document:
    prices, savings = [], []
    for region in sorted({*regions(), HOME}):
        listed, saving = price(name, region), spot_saving(name, region)
        if listed is not None:
            prices.append(
                {
                    "region": region,
                    "usd_per_hour": listed.usd_per_hour,
                    "date": listed.date,
                    "estimated": listed.estimated,
                }
            )
        if saving is not None:
            savings.append(
                {
                    "region": region,
                    "share": saving.share,
                    "interruption": saving.interruption,
                    "date": saving.date,
                }
            )
    return {
        "regions": None if offered is None else list(offered),
        "prices": prices,
        "spot_savings": savings,
    }
