"""What holds of every workload: memory grows with the work, nothing overflows, rankings are sorted."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constructs_lib.catalog import cpu_types, known_types
from constructs_lib.rightsizing import (
    PRECISIONS,
    ModelShape,
    Workload,
    known_models,
    recommend,
    replica_memory,
)
from constructs_lib.rightsizing.evaluation import USABLE_SHARE

NARROW_TO_WIDE = ("int4", "int8", "fp8", "fp16", "bf16", "fp32")

shapes = st.builds(
    lambda layers, heads, share, width, vocab: ModelShape(
        layers=layers, hidden=heads * width, heads=heads, kv_heads=heads // share, vocab=vocab
    ),
    layers=st.integers(1, 128),
    heads=st.sampled_from([8, 16, 32, 64, 128]),
    share=st.sampled_from([1, 2, 4, 8]),
    width=st.sampled_from([64, 128]),
    vocab=st.one_of(st.none(), st.integers(1000, 200_000)),
)
decoders = st.sampled_from([name for name, each in known_models().items() if each.kind == "decoder"])


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    use = draw(st.sampled_from(["inference", "batch_inference", "training", "transcoding", "graphics", "fpga", "hpc"]))
    rate = draw(st.one_of(st.none(), st.floats(0.01, 1e6)))
    if use in ("transcoding", "graphics", "fpga"):
        return Workload(use=use, rate=rate, memory_mib=draw(st.one_of(st.none(), st.floats(1, 200_000))))
    if use == "hpc":
        return Workload.hpc(memory_mib=draw(st.floats(1, 1e6)), accelerators=draw(st.integers(1, 16)), rate=rate)
    if use == "training":
        return Workload.training(
            model=draw(decoders),
            rate=rate,
            method=draw(st.sampled_from(["full", "lora", "qlora"])),
            micro_batch=draw(st.integers(1, 8)),
            context_tokens=draw(st.integers(1, 2048)),
            stack=draw(st.sampled_from([["cuda"], ["neuron"], ["cuda", "neuron"]])),
        )
    return Workload(
        use=use,
        model=draw(st.sampled_from(list(known_models()))),
        precision=draw(st.sampled_from(PRECISIONS)),
        concurrency=draw(st.one_of(st.none(), st.integers(1, 64))),
        rate=rate,
        stack=draw(st.sampled_from([["cuda"], ["cpu"], ["neuron"], ["cuda", "cpu"], ["cuda", "neuron", "cpu"]])),
    )


def total(workload: Workload, devices: int = 1) -> float:
    memory = replica_memory(workload, devices)
    assert memory is not None
    return memory.total


@given(
    shape=shapes,
    parameters=st.floats(1e6, 1e12),
    factor=st.floats(1, 10),
    precision=st.sampled_from(PRECISIONS),
    devices=st.sampled_from([1, 2, 4, 8]),
)
def test_memory_grows_with_the_parameters(
    shape: ModelShape, parameters: float, factor: float, precision: str, devices: int
) -> None:
    small = Workload.inference(parameters=parameters, shape=shape, precision=precision)
    large = Workload.inference(parameters=parameters * factor, shape=shape, precision=precision)
    assert total(small, devices) <= total(large, devices) * (1 + 1e-12)


@given(
    shape=shapes,
    context=st.integers(1, 100_000),
    longer=st.integers(0, 100_000),
    concurrency=st.integers(1, 256),
    more=st.integers(0, 256),
    devices=st.sampled_from([1, 2, 4, 8, 16]),
)
def test_memory_grows_with_the_context_and_with_the_batch(
    shape: ModelShape, context: int, longer: int, concurrency: int, more: int, devices: int
) -> None:
    def need(tokens: int, sequences: int) -> float:
        stated = Workload.inference(parameters=8e9, shape=shape, context_tokens=tokens, concurrency=sequences)
        return total(stated, devices)

    assert need(context, concurrency) <= need(context + longer, concurrency)
    assert need(context, concurrency) <= need(context, concurrency + more)


@given(model=st.sampled_from(list(known_models())), devices=st.sampled_from([1, 2, 4, 8]))
def test_memory_grows_with_the_precision(model: str, devices: int) -> None:
    needs = [total(Workload.inference(model=model, precision=each), devices) for each in NARROW_TO_WIDE]
    assert needs == sorted(needs)


@given(
    model=decoders,
    batch=st.integers(1, 16),
    tokens=st.integers(16, 1024),
    method=st.sampled_from(["full", "lora", "qlora"]),
    stage=st.integers(0, 3),
    devices=st.sampled_from([1, 2, 8, 64]),
)
def test_memory_of_training_grows_with_the_work_and_falls_with_the_devices(
    model: str, batch: int, tokens: int, method: str, stage: int, devices: int
) -> None:
    def need(sequences: int, length: int, spread: int) -> float:
        stated = Workload.training(
            model=model, method=method, micro_batch=sequences, context_tokens=length, zero_stage=stage
        )
        return total(stated, spread)

    assert need(batch, tokens, devices) <= need(batch + 1, tokens, devices)
    assert need(batch, tokens, devices) <= need(batch, tokens + 16, devices)
    assert need(batch, tokens, devices * 2) <= need(batch, tokens, devices)


@settings(max_examples=60, deadline=None)
@given(workload=workloads())
def test_no_choice_holds_more_than_its_memory_and_the_ranking_is_sorted(workload: Workload) -> None:
    found = recommend(workload)
    for choice in (*found.choices, *found.unmeasured):
        if choice.memory_needed_mib is not None:
            assert choice.memory_needed_mib <= choice.memory_there_mib * USABLE_SHARE + 0.1
        if choice.replicas_per_instance is not None and choice.instances_per_replica == 1:
            assert choice.replicas_per_instance >= 1
        assert choice.status != "retired"
        if workload.use == "transcoding":
            assert known_types()[choice.instance_type].video_encoder
    costs = [choice.usd_per_unit for choice in found.choices]
    assert None not in costs
    assert costs == sorted(cost for cost in costs if cost is not None)
    assert all(choice.throughput is not None and choice.why_unranked is None for choice in found.choices)
    assert all(choice.why_unranked is not None for choice in found.unmeasured)
    assert all(choice.instances is None or choice.instances >= 1 for choice in found.choices)


@settings(max_examples=40, deadline=None)
@given(workload=workloads(), rate=st.floats(0.01, 1e6))
def test_twice_the_rate_never_takes_fewer_instances(workload: Workload, rate: float) -> None:
    once, twice = (recommend(workload.with_changes(rate=each)) for each in (rate, 2 * rate))
    needed = {choice.instance_type: choice.instances for choice in once.choices}
    # A figure of one request at a time is ranked only where the work takes no more: such a type may change its list.
    apart = {choice.instance_type for answer in (once, twice) for choice in answer.unmeasured}
    assert needed.keys() ^ {choice.instance_type for choice in twice.choices} <= apart
    for choice in twice.choices:
        if choice.instance_type not in needed:
            continue
        before = needed[choice.instance_type]
        assert before is not None
        assert choice.instances is not None
        assert before <= choice.instances <= 2 * before


@settings(max_examples=30, deadline=None)
@given(workload=workloads(), random=st.randoms(use_true_random=False))
def test_the_order_of_the_types_says_nothing(workload: Workload, random: object) -> None:
    names = sorted({*known_types(), *cpu_types()})
    shuffled = list(names)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    everything = recommend(workload)
    assert recommend(workload, instance_types=shuffled) == everything
    assert recommend(workload, instance_types=names).document() == everything.document()


@pytest.mark.parametrize("name", list(known_models()))
def test_every_known_model_gets_an_answer(name: str) -> None:
    found = recommend(Workload.inference(model=name, stack=["cuda", "neuron", "cpu"]))
    assert found.choices or found.unmeasured
