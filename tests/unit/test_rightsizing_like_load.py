"""Choices are compared at like load, and a figure says no more than was measured."""

from __future__ import annotations

from typing import Any

import pytest

from constructs_lib.catalog import AcceleratedType, known_types, price, regions
from constructs_lib.rightsizing import Choice, Hint, Recommendation, Workload, recommend


def on(found: Recommendation, instance_type: str) -> Choice:
    every = (*found.choices, *found.unmeasured)
    return next(choice for choice in every if choice.instance_type == instance_type)


def hints(found: Recommendation) -> dict[str, Hint]:
    return {each.kind: each for each in found.hints}


def streams(choice: Choice) -> float:
    assert choice.throughput is not None
    return (choice.throughput.concurrency or 0) / choice.throughput.replicas


# --- a model whose shape nobody stated -------------------------------------------------------------------------------


def test_a_model_of_unknown_shape_is_ranked_as_a_published_one_of_its_size() -> None:
    own = recommend(Workload.inference(parameters=8.03e9, rate=2000))
    published = recommend(Workload.inference(model="llama-3.1-8b", rate=2000))
    assert own.best is not None
    assert published.best is not None
    assert own.best.instance_type == published.best.instance_type == "g5.xlarge"
    assert own.best.usd_per_unit == pytest.approx(published.best.usd_per_unit, rel=0.05)
    assert own.best.confidence == "low"


def test_the_shape_that_is_assumed_is_stated() -> None:
    assert "llama-3.1-8b" in hints(recommend(Workload.inference(parameters=8e9)))["typical-shape"].text
    assert "llama-3.1-70b" in hints(recommend(Workload.inference(parameters=20e9)))["typical-shape"].text
    for known in (Workload.inference(model="llama-3.1-8b"), Workload.inference(parameters=8e9, memory_mib=18_000)):
        assert "typical-shape" not in hints(recommend(known))


@pytest.mark.parametrize("parameters", [0.5e9, 1e9, 3e9, 7e9, 8e9, 13e9, 30e9, 70e9, 400e9, 1e12])
@pytest.mark.parametrize("precision", ["bf16", "fp16", "int4"])
@pytest.mark.parametrize("rate", [None, 5, 2000])
def test_one_stream_is_never_ranked_against_many(parameters: float, precision: str, rate: float | None) -> None:
    found = recommend(Workload.inference(parameters=parameters, precision=precision, rate=rate))
    for choice in found.choices:
        assert choice.throughput is not None
        enough = rate is not None and choice.throughput.value / choice.throughput.replicas >= rate
        if rate is not None:
            assert streams(choice) != 1 or enough
    if rate is None:
        assert len({streams(choice) == 1 for choice in found.choices}) <= 1


# --- one stream ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [20, 500])
def test_one_stream_sizes_no_fleet(rate: float) -> None:
    """llama.cpp ran one stream; a server would serve several together."""
    found = recommend(Workload.inference(model="llama-3.1-70b", rate=rate, precision="int4"))
    for choice in found.choices:
        assert choice.throughput is not None
        assert choice.throughput.value / choice.throughput.replicas >= rate
    apart = on(found, "g6e.xlarge")
    assert apart.throughput is not None
    assert apart.throughput.value == 15
    assert (apart.instances, apart.usd_per_unit) == (None, None)
    assert "one request at a time" in (apart.why_unranked or "")


def test_one_stream_is_not_advertised_as_cheaper() -> None:
    for model in ("llama-3.1-70b", "llama-2-7b", "llama-3.1-8b"):
        found = hints(recommend(Workload.inference(model=model, rate=500)))
        assert "INT4" not in "".join(found[kind].text for kind in ("quantise", "quantise-is-measured") if kind in found)


@pytest.mark.parametrize("model", ["llama-2-7b", "gemma-2b"])
def test_a_cpu_stays_enough_for_what_one_stream_does(model: str) -> None:
    found = recommend(Workload.inference(model=model, precision="int4", rate=4))
    assert "cpu-is-enough" in hints(found)
    assert found.best is not None
    assert (found.best.kind, found.best.instances, found.best.confidence) == ("cpu", 1, "high")


# --- training over many instances ------------------------------------------------------------------------------------


def neuron(**stated: Any) -> Recommendation:
    return recommend(Workload.training(model="llama-3.1-8b", stack=["neuron"], **stated))


def test_what_was_trained_is_not_refused_for_its_memory() -> None:
    best = neuron(context_tokens=8192).best
    assert best is not None
    assert (best.instance_type, best.instances_per_replica) == ("trn1.32xlarge", 32)
    assert best.throughput is not None
    assert (best.throughput.value, best.throughput.instances) == (48, 32)
    listed = price("trn1.32xlarge", "us-east-1")
    assert listed is not None
    assert best.usd_per_unit == pytest.approx(32 * listed.usd_per_hour / 3600 / 48 * 1e6)
    assert (best.memory_needed_mib or 0) <= 0.9 * best.memory_there_mib
    assert "tensor_parallel=16" in hints(neuron(context_tokens=8192))["tensor-parallel"].text


def test_shorter_sequences_say_what_was_measured() -> None:
    best = neuron().best
    assert best is not None
    assert best.throughput is not None
    assert "48 sequences/s as measured" in best.throughput.conditions
    assert "in 32 instances together" in best.throughput.conditions
    assert best.confidence == "medium"


def test_as_many_instances_as_were_measured_are_needed() -> None:
    best = neuron(context_tokens=8192, rate=1).best
    assert best is not None
    assert best.instances == 32


def test_layers_are_shared_by_accelerators_and_not_by_cores() -> None:
    found = neuron(context_tokens=8192, tensor_parallel=32)
    assert not found.choices
    reason = next(each.reason for each in found.refused if "trn1.32xlarge" in each.instance_types)
    assert reason == "tensor_parallel=32 counts accelerators, not their cores, and it has 16"


# --- regions without prices ------------------------------------------------------------------------------------------


def unpriced() -> list[str]:
    return sorted(region for region in regions() if price("g5.xlarge", region) is None)


def test_a_price_that_is_not_known_is_the_reason() -> None:
    workload = Workload.inference(model="llama-3.1-8b", rate=2000)
    seen = 0
    for region in unpriced():
        found = recommend(workload, region=region)
        if found.choices or not any(each.throughput for each in found.unmeasured):
            continue
        seen += 1
        for choice in found.unmeasured:
            assert f"its price in {region} is not known" in (choice.why_unranked or "")
            assert choice.throughput is None or "nobody" not in (choice.why_unranked or "")
        assert f"price in {region} is not known" in hints(found)["no-price"].text
        assert "not-measured" not in hints(found)
    assert seen > 5


# --- hints -----------------------------------------------------------------------------------------------------------


def test_memory_of_the_instance_itself() -> None:
    fp8 = recommend(
        Workload.inference(model="llama-3.1-8b", precision="int8", stack="cuda"), instance_types=["g5g.xlarge"]
    )
    assert on(fp8, "g5g.xlarge").host_memory_mib == 8192
    told = hints(recommend(Workload.inference(model="llama-3.1-8b")))["quantise-to-fit"]
    assert told.instance_type is not None
    assert (known_types()[told.instance_type].memory_mib or 0) > 8500


def test_fp8_is_not_advised_for_gpus_before_ampere() -> None:
    for model in ("llama-3.1-8b", "llama-2-7b", "phi-4", "qwen2.5-7b"):
        told = hints(recommend(Workload.inference(model=model))).get("quantise-to-fit")
        if told is not None and "FP8" in told.text:
            assert told.instance_type is not None
            assert known_types()[told.instance_type].model not in ("T4", "T4g", "V100")


def test_half_precision_of_the_older_kind_is_named_where_it_was_measured() -> None:
    """AWS measured BERT base on g4dn.xlarge, whose T4 has no bfloat16."""
    told = hints(recommend(Workload.inference(model="bert-base", input_tokens=128, rate=1000)))["half-precision"]
    assert told.instance_type == "g4dn.xlarge"
    assert "T4 takes FP16" in told.text


@pytest.mark.parametrize("architecture", ["x86_64", "arm64"])
@pytest.mark.parametrize("model", ["llama-3.1-8b", "llama-3.1-70b", "bert-base", "qwen2.5-7b", "llama-3.1-405b"])
@pytest.mark.parametrize("stack", [None, "cuda"])
@pytest.mark.parametrize("use", [Workload.inference, Workload.training])
def test_hints_name_types_of_the_architecture_only(use: Any, model: str, architecture: str, stack: str | None) -> None:
    found = recommend(use(model=model, architectures=[architecture], stack=stack))
    for told in found.hints:
        facts = None if told.instance_type is None else known_types().get(told.instance_type)
        assert facts is None or facts.architecture == architecture


def test_the_sdk_of_a_media_card_is_named_without_a_price_too() -> None:
    for region in (None, *unpriced()):
        found = recommend(Workload.transcoding(), region=region)
        if any(each.instance_type == "vt1.3xlarge" for each in (*found.choices, *found.unmeasured)):
            assert "end of its life" in hints(found)["software-has-ended"].text


@pytest.mark.parametrize("precision", ["bf16", "int4"])
def test_accelerated_types_are_listed_before_cpus(precision: str) -> None:
    found = recommend(Workload.inference(model="llama-3.1-70b", rate=500, precision=precision))
    order = [choice.kind == "cpu" for choice in found.unmeasured]
    assert True in order
    assert order == sorted(order)


@pytest.mark.parametrize("model", ["llama-3.1-8b", "mistral-7b", "llama-2-7b", "qwen2.5-14b", "phi-4"])
def test_the_smallest_type_for_quantised_weights_has_room_to_load_them(model: str) -> None:
    told = hints(recommend(Workload.inference(model=model))).get("quantise-to-fit")
    if told is None or told.instance_type is None or told.instance_type not in known_types():
        return
    precision = told.text.split()[2].lower()
    choice = on(recommend(Workload.inference(model=model, precision=precision)), told.instance_type)
    assert choice.memory_needed_mib is not None
    assert (choice.host_memory_mib or 0) > 0.9 * choice.memory_needed_mib / 1.2


def test_a_type_with_too_little_memory_of_its_own_is_named_as_such() -> None:
    small = AcceleratedType(
        name="g9.xlarge",
        kind="nvidia",
        model="A10G",
        accelerators=1,
        accelerator_memory_mib=22_888,
        architecture="x86_64",
        memory_mib=8192,
        usd_per_hour=0.5,
    )
    found = recommend(Workload.inference(model="llama-3.1-8b"), instance_types=[small, "g5.xlarge"])
    told = hints(found)["host-memory"]
    assert told.instance_type == "g9.xlarge"
    assert "8 GiB" in told.text
    roomy = recommend(Workload.inference(model="llama-3.1-8b"), instance_types=["g5.xlarge"])
    assert "host-memory" not in hints(roomy)
