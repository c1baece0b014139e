"""The memory arithmetic against numbers that papers and vendors print."""

from __future__ import annotations

import pytest

from constructs_lib.errors import ArgumentError
from constructs_lib.rightsizing import ModelShape, Workload, known_models, replica_memory
from constructs_lib.rightsizing.memory import (
    adapter_parameters,
    kv_cache_bytes,
    layer_activation_bytes,
    training_activation_bytes,
    training_state_bytes,
    weight_bytes,
)

GB = 1e9
GIB = 2**30
GPT_3 = ModelShape(layers=96, hidden=12288, heads=96, vocab=50257)
MT_NLG = ModelShape(layers=105, hidden=20480, heads=128, vocab=51200)


def shape_of(model: str) -> ModelShape:
    shape = known_models()[model].shape
    assert shape is not None
    return shape


# "ZeRO", arXiv 1910.02054, figure 1: 7.5 billion parameters, K = 12, 64 devices.
@pytest.mark.parametrize(("stage", "gigabytes"), [(0, 120.0), (1, 31.4), (2, 16.6), (3, 1.9)])
def test_model_states_as_in_figure_1_of_the_zero_paper(stage: int, gigabytes: float) -> None:
    states = sum(training_state_bytes(7.5e9, zero_stage=stage, devices=64))
    assert states / GB == pytest.approx(gigabytes, rel=0.02)


# "ZeRO", section 3.1: a 1.5-billion-parameter GPT-2 takes at least 24 GB for its states.
def test_gpt_2_takes_24_gb_for_its_states() -> None:
    assert sum(training_state_bytes(1.5e9)) / GB == pytest.approx(24.0)


# "Transformer Math 101": AdamW 12 bytes a parameter, 8-bit optimisers 6, SGD with momentum 8.
@pytest.mark.parametrize(("optimizer", "each"), [("adamw", 12), ("adamw8bit", 6), ("sgd", 8)])
def test_states_of_an_optimiser(optimizer: str, each: int) -> None:
    assert training_state_bytes(1e9, optimizer=optimizer)[2] == each * 1e9


# arXiv 2205.05198, section 5: the attention term is 80 of GPT-3 and 64 of MT-NLG, so that selective recomputation saves
# 70 % and 65 % of the activations.
@pytest.mark.parametrize(("shape", "saved"), [(GPT_3, 0.70), (MT_NLG, 0.65)])
def test_selective_recomputation_saves_what_the_paper_says(shape: ModelShape, saved: float) -> None:
    full = layer_activation_bytes(shape, tokens=2048)
    without = layer_activation_bytes(shape, tokens=2048, attention=False)
    assert 1 - without / full == pytest.approx(saved, abs=0.01)


# arXiv 2205.05198, equations 1 and 2.
@pytest.mark.parametrize("parallel", [1, 2, 8])
def test_activations_of_a_layer(parallel: int) -> None:
    sbh = 2048 * 4 * 12288
    expected = sbh * (10 + 24 / parallel + 5 * 96 * 2048 / (12288 * parallel))
    measured = layer_activation_bytes(GPT_3, tokens=2048, sequences=4, tensor_parallel=parallel)
    assert measured == pytest.approx(expected)


# arXiv 2205.05198, equation 4: sequence parallelism divides all of a layer's activations.
def test_sequence_parallelism_divides_the_activations_of_a_layer() -> None:
    alone = layer_activation_bytes(GPT_3, tokens=2048)
    shared = layer_activation_bytes(GPT_3, tokens=2048, tensor_parallel=8, sequence_parallel=True)
    assert shared == pytest.approx(alone / 8)


def test_tensor_parallelism_divides_a_replica_of_training() -> None:
    one, eight = (
        replica_memory(Workload.training(model="llama-2-7b", tensor_parallel=each, zero_stage=0), 8) for each in (1, 8)
    )
    assert one is not None
    assert eight is not None
    assert eight.total == pytest.approx(one.total / 8)


def test_recomputation_orders_the_activations() -> None:
    none, selective, full = (
        training_activation_bytes(GPT_3, tokens=2048, sequences=1, recompute=each)
        for each in ("none", "selective", "full")
    )
    assert none > selective > full


# huggingface.co/blog/llama31, tables of weights (GB) and of the KV cache in FP16 (GB, of 2**30 bytes there).
@pytest.mark.parametrize(
    ("model", "precision", "gigabytes"),
    [
        ("llama-3.1-8b", "fp16", 16),
        ("llama-3.1-70b", "fp16", 140),
        ("llama-3.1-70b", "fp8", 70),
        ("llama-3.1-405b", "fp16", 810),
        ("llama-3.1-405b", "fp8", 405),
    ],
)
def test_weights_as_published(model: str, precision: str, gigabytes: int) -> None:
    facts = known_models()[model]
    held = weight_bytes(facts.parameters, precision, embedding_parameters=shape_of(model).embedding_parameters)
    assert held / GB == pytest.approx(gigabytes, rel=0.04)
    assert held / GB >= gigabytes * 0.999


@pytest.mark.parametrize(
    ("model", "tokens", "gibibytes"),
    [
        ("llama-3.1-8b", 1000, 0.125),
        ("llama-3.1-8b", 16_000, 1.95),
        ("llama-3.1-8b", 128_000, 15.62),
        ("llama-3.1-70b", 1000, 0.313),
        ("llama-3.1-70b", 16_000, 4.88),
        ("llama-3.1-70b", 128_000, 39.06),
    ],
)
def test_kv_cache_as_published(model: str, tokens: int, gibibytes: float) -> None:
    assert kv_cache_bytes(shape_of(model), "fp16", tokens=tokens) / GIB == pytest.approx(gibibytes, rel=0.03)


# arXiv 2309.06180 (PagedAttention), section 3: 800 KB for one token of OPT-13B, 1.6 GB for 2048 of them.
def test_kv_cache_of_opt_13b() -> None:
    opt = ModelShape(layers=40, hidden=5120, heads=40)
    assert kv_cache_bytes(opt, "fp16", tokens=16) / 16 / 1024 == pytest.approx(800)
    assert kv_cache_bytes(opt, "fp16", tokens=2048) / GIB == pytest.approx(1.6, rel=0.03)


# Files on huggingface.co that hold 4-bit weights: an estimate below what they weigh would be a promise that breaks.
@pytest.mark.parametrize(
    ("model", "gigabytes"),
    [("llama-2-7b", 4.08), ("llama-3.1-8b", 5.73), ("llama-3.1-70b", 39.8)],
    ids=["TheBloke Q4_K_M", "hugging-quants AWQ 8B", "hugging-quants AWQ 70B"],
)
def test_four_bits_are_no_less_than_published_files(model: str, gigabytes: float) -> None:
    facts = known_models()[model]
    held = weight_bytes(facts.parameters, "int4", embedding_parameters=shape_of(model).embedding_parameters) / GB
    assert gigabytes <= held <= gigabytes * 1.1


# LoRA, arXiv 2106.09685, table 4 and section 5.5: 4.7 M for rank 1 and 18.9 M for rank 4 on two matrices of GPT-3.
@pytest.mark.parametrize(("rank", "millions"), [(1, 4.7), (4, 18.9), (8, 37.7)])
def test_adapters_of_gpt_3(rank: int, millions: float) -> None:
    counted = adapter_parameters(GPT_3, rank, matrices=("query", "value"))
    assert counted / 1e6 == pytest.approx(millions, rel=0.01)


# What PEFT prints for Llama 7B with rank 8 on query and value: "trainable params: 4,194,304".
def test_adapters_of_llama_7b() -> None:
    assert adapter_parameters(shape_of("llama-7b"), 8, matrices=("query", "value")) == 4_194_304


# QLoRA, arXiv 2305.14314, section 1: 16-bit fine-tuning of LLaMA 65B takes more than 780 GB.
def test_full_fine_tuning_of_65b_takes_more_than_780_gb() -> None:
    memory = replica_memory(Workload.training(model="llama-65b", zero_stage=0), 1)
    assert memory is not None
    assert memory.total * 2**20 > 780e9


def test_qlora_takes_a_fraction_of_lora_and_that_of_full() -> None:
    full, lora, qlora = (
        replica_memory(Workload.training(model="llama-2-7b", method=method), 1) for method in ("full", "lora", "qlora")
    )
    assert full is not None
    assert lora is not None
    assert qlora is not None
    assert full.total > 3 * lora.total > 3 * qlora.total


# "Transformer Math 101": total inference memory is about 1.2 times the weights.
def test_a_model_of_unknown_shape_takes_a_fifth_more_than_its_weights() -> None:
    memory = replica_memory(Workload.inference(parameters=20e9), 1)
    assert memory is not None
    assert memory.total * 2**20 == pytest.approx(1.2 * 40e9)


# The parameters that are stated in the table and those that its shapes make must be the same: a slip would show here.
@pytest.mark.parametrize("model", [name for name, each in known_models().items() if each.kind == "decoder"])
def test_the_shape_of_a_model_makes_its_parameters(model: str) -> None:
    shape = shape_of(model)
    query, kv = shape.heads * shape.head_width, shape.key_value_heads * shape.head_width
    attention = 2 * shape.hidden * query + 2 * shape.hidden * kv
    experts = shape.experts or 1
    mixture = shape.hidden * experts if experts > 1 else 0
    layer = attention + 3 * shape.hidden * shape.feed_forward * experts + mixture + 2 * shape.hidden
    made = shape.embedding_parameters + shape.layers * layer + shape.hidden
    assert made == pytest.approx(known_models()[model].parameters, rel=2e-4)


def test_parts_of_a_replica_on_several_accelerators() -> None:
    workload = Workload.inference(model="llama-3.1-8b", context_tokens=8192, concurrency=4)
    one, eight, sixteen = (replica_memory(workload, devices) for devices in (1, 8, 16))
    assert one is not None
    assert eight is not None
    assert sixteen is not None
    assert eight.weights == pytest.approx(one.weights / 8)
    assert eight.kv_cache == pytest.approx(one.kv_cache / 8)
    assert sixteen.kv_cache == eight.kv_cache, "there are eight key and value heads to divide"


def test_a_measured_footprint_is_taken_as_it_is_and_spread_as_stated() -> None:
    alone = replica_memory(Workload.inference(memory_mib=30_000), 1)
    spread = replica_memory(Workload.inference(memory_mib=30_000, accelerators=4), 4)
    assert alone is not None
    assert spread is not None
    assert (alone.total, spread.total) == (30_000, 7_500)


def test_nothing_is_made_up_where_nothing_is_known() -> None:
    assert replica_memory(Workload.graphics(), 1) is None


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"layers": 0}, "ModelShape: layers must be a whole number at least 1"),
        ({"heads": 32, "kv_heads": 7}, "kv_heads must be a divisor of heads"),
        ({"vocab": -1}, "vocab must be"),
        ({"tied": "yes"}, "tied must be of type bool"),
    ],
)
def test_a_shape_checks_itself(stated: dict[str, object], message: str) -> None:
    facts: dict[str, object] = {"layers": 32, "hidden": 4096, "heads": 32, **stated}
    with pytest.raises(ArgumentError, match=message):
        ModelShape(**facts)  # type: ignore[arg-type]
