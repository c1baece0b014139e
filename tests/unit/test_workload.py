"""What a workload states, what it settles, and what it teaches about a wrong value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from constructs_lib.errors import ArgumentError
from constructs_lib.rightsizing import USES, ModelShape, Workload, known_models

SHAPE = ModelShape(layers=32, hidden=4096, heads=32, kv_heads=8, vocab=128256)


def test_one_factory_for_each_use() -> None:
    made = [
        Workload.training(model="llama-3.1-8b"),
        Workload.inference(model="llama-3.1-8b"),
        Workload.batch_inference(model="llama-3.1-8b"),
        Workload.graphics(),
        Workload.transcoding(),
        Workload.hpc(memory_mib=8000),
        Workload.fpga(),
    ]
    assert tuple(workload.use for workload in made) == USES


def test_defaults_of_serving_text() -> None:
    workload = Workload.inference(model="llama-3.1-8b")
    assert workload.stack == ("cuda", "cpu")
    assert workload.architectures == ("x86_64", "arm64")
    assert workload.weights_precision == "bf16"
    assert workload.request_tokens == (256, 128)
    assert workload.longest_sequence == 384
    assert workload.unit_of_work == "tokens/s"
    assert workload.batch == 1


def test_defaults_of_training() -> None:
    workload = Workload.training(model="bert-large")
    assert (workload.method, workload.optimizer, workload.recompute) == ("full", "adamw", "selective")
    assert (workload.zero_stage, workload.micro_batch, workload.lora_rank) == (3, 1, None)
    assert workload.longest_sequence == 512, "the longest that the model takes"
    assert workload.unit_of_work == "sequences/s"
    assert Workload.training(model="llama-2-7b", method="lora").lora_rank == 16


def test_a_model_that_writes_no_text_is_counted_in_requests() -> None:
    assert Workload.inference(model="bert-base").unit_of_work == "requests/s"


def test_an_optional_argument_of_none_is_one_that_was_left_out() -> None:
    assert Workload.inference(model="phi-4", rate=None, stack=None, precision=None) == Workload.inference(model="phi-4")


def test_the_order_of_a_stack_says_nothing() -> None:
    one = Workload.inference(model="phi-4", stack=["cpu", "neuron", "cuda"])
    assert one == Workload.inference(model="phi-4", stack=("cuda", "cpu", "neuron"))
    assert hash(one) == hash(Workload.inference(model="phi-4", stack=("cuda", "neuron", "cpu")))


def test_a_stack_of_one_may_be_a_text() -> None:
    assert Workload.inference(model="phi-4", stack="neuron").stack == ("neuron",)


def test_spelling_of_a_model_does_not_matter() -> None:
    assert Workload.inference(model="Llama 3.1_8B").model == "llama-3.1-8b"


def test_it_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        Workload.graphics().rate = 3  # type: ignore[misc]


def test_changed_values_are_checked_as_given_ones() -> None:
    workload = Workload.inference(model="phi-4")
    assert workload.with_changes(precision="int4") == Workload.inference(model="phi-4", precision="int4")
    with pytest.raises(ArgumentError, match="precision must be one of"):
        workload.with_changes(precision="int3")


def test_it_can_be_written_down() -> None:
    document = Workload.inference(parameters=8e9, shape=SHAPE, rate=5).document()
    assert document["parameters"] == 8e9
    assert document["shape"]["kv_heads"] == 8
    assert document["stack"] == ["cuda", "cpu"]
    assert "precision" not in document


@pytest.mark.parametrize("name", list(known_models()))
def test_every_known_model_can_be_served(name: str) -> None:
    assert Workload.inference(model=name).facts == known_models()[name]


WRONG: list[tuple[Callable[..., Workload], dict[str, Any], str]] = [
    (Workload, {"use": "infernce", "model": "phi-4"}, "use must be one of .*did you mean 'inference'"),
    (Workload.inference, {}, "model must be known for inference, got None; name a published model"),
    (Workload.inference, {"model": "llama-3.1-8"}, "model must be one of .*did you mean 'llama-3.1-8b'"),
    (Workload.inference, {"model": 3}, "model must be a text"),
    (Workload.inference, {"parameters": 8}, "parameters must be a number.*count parameters, not billions"),
    (Workload.inference, {"model": "phi-4", "parameters": 14e9}, "parameters must be left out beside model='phi-4'"),
    (Workload.inference, {"shape": SHAPE, "memory_mib": 4}, "shape must go with parameters"),
    (Workload.inference, {"parameters": 8e9, "shape": "wide"}, "shape must be of type ModelShape"),
    (Workload.inference, {"parameters": 8e9, "model_kind": "decoders"}, "model_kind must be one of"),
    (Workload.inference, {"parameters": 8e9, "concurrency": 4}, "concurrency must go with the shape of the model"),
    (Workload.inference, {"model": "phi-4", "precision": "fp4"}, "precision must be one of"),
    (Workload.inference, {"model": "phi-4", "kv_precision": "int4"}, "kv_precision must be one of"),
    (Workload.inference, {"model": "phi-4", "context_tokens": 32_000}, "context_tokens must be at most 16384"),
    (
        Workload.inference,
        {"model": "phi-4", "context_tokens": 100, "input_tokens": 90, "output_tokens": 20},
        "context_tokens must hold a typical request of 110 tokens",
    ),
    (Workload.inference, {"model": "phi-4", "input_tokens": 0}, "input_tokens must be a whole number at least 1"),
    (Workload.inference, {"model": "phi-4", "concurrency": 1.5}, "concurrency must be a whole number"),
    (Workload.inference, {"model": "phi-4", "rate": 0}, "rate must be a number above 0"),
    (Workload.inference, {"model": "phi-4", "rate": float("nan")}, "rate must be a number above 0"),
    (Workload.inference, {"model": "phi-4", "unit": "tokens"}, "unit must be one of.*did you mean 'tokens/s'"),
    (Workload.inference, {"model": "bert-base", "unit": "tokens/s"}, "unit must suit a model that writes no text"),
    (
        Workload.inference,
        {"model": "bert-base", "first_token_ms": 5},
        "first_token_ms must go with a model that writes",
    ),
    (Workload.inference, {"model": "phi-4", "latency_ms": -1}, "latency_ms must be a number above 0"),
    (Workload.inference, {"model": "phi-4", "stack": []}, "stack must be a list that is not empty"),
    (Workload.inference, {"model": "phi-4", "stack": ["rocm"]}, "stack must be one of cpu, cuda, neuron"),
    (Workload.inference, {"model": "phi-4", "architectures": ["arm"]}, "architectures must be one of"),
    (Workload.inference, {"model": "phi-4", "memory_mib": 0}, "memory_mib must be a number above 0"),
    (Workload.inference, {"memory_mib": 10, "accelerators": 0}, "accelerators must be a whole number at least 1"),
    (Workload.training, {"model": "phi-4", "method": "lorra"}, "method must be one of.*did you mean 'lora'"),
    (Workload.training, {"model": "phi-4", "lora_rank": 8}, "lora_rank must go with adapters"),
    (
        Workload.training,
        {"model": "phi-4", "zero_stage": 4},
        "zero_stage must be a whole number at least 0 and at most 3",
    ),
    (Workload.training, {"model": "phi-4", "precision": "int4"}, "precision must be fp32, bf16 or fp16 for training"),
    (Workload.training, {"model": "phi-4", "stack": ["cpu"]}, "stack must hold accelerators for training"),
    (Workload.training, {"parameters": 8e9}, "shape must be known for training"),
    (Workload.training, {"model": "sdxl"}, "shape must be known for training"),
    (Workload.hpc, {"memory_mib": None}, "memory_mib must be known for hpc"),
    (Workload.transcoding, {"video": "1080p"}, "video must be one of"),
    (
        Workload,
        {"use": "graphics", "model": "phi-4"},
        "model must be left out for graphics.*it belongs to training, inf",
    ),
    (Workload, {"use": "inference", "model": "phi-4", "zero_stage": 1}, "zero_stage must be left out for inference"),
]


@pytest.mark.parametrize(("make", "stated", "message"), WRONG, ids=lambda value: str(value)[:60])
def test_a_wrong_value_is_named_with_its_cure(
    make: Callable[..., Workload], stated: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArgumentError, match=f"^Workload: {message}"):
        make(**stated)
