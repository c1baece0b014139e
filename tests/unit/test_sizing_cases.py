"""Published sizing cases: what vendors and papers say serves or trains a model must come out, and is nowhere a row."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

import constructs_lib.rightsizing as rightsizing
from constructs_lib.rightsizing import Choice, ModelShape, Workload, recommend

DJL = "docs.djl.ai, Large Model Inference, 'Instance Type Selection' (AWS's serving containers), table for fp16/bf16"
NIM = "docs.nvidia.com/nim/large-language-models/24.05, 'Support Matrix'"
OPERATOR = "docs.nvidia.com/ai-enterprise/rag-llm-operator/24.3.0, 'Platform Support', vLLM backend"
LLAMA_3 = "The Llama 3 Herd of Models, arXiv 2407.21783, section 6"
QLORA = "QLoRA, arXiv 2305.14314, abstract"
NEURON = "AWS Neuron documentation, tutorial 'Llama 3.1 405B on Trn2'"
NEURON_INF2 = "AWS Neuron documentation, 'Inf2 Inference Performance', Llama-2-70b, tensor parallel over 24 cores"

GPT_NEOX_20B = ModelShape(layers=44, hidden=6144, heads=64, ffn=24576, vocab=50432)
FALCON_180B = ModelShape(layers=80, hidden=14848, heads=232, kv_heads=8, head_dim=64, ffn=59392, vocab=65024, tied=True)


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    source: str
    workload: Workload
    fits: str
    accelerators: int
    instances: int = 1
    not_on: tuple[str, ...] = ()


def serve(model: str | None = None, **stated: object) -> Workload:
    return Workload.inference(model=model, stack=["cuda", "neuron"], **stated)  # type: ignore[arg-type]


CASES = [
    Case(
        name="7B in 16 bits on one A10G",
        source=DJL,
        workload=serve("llama-2-7b", context_tokens=4096),
        fits="g5.2xlarge",
        accelerators=1,
    ),
    Case(
        name="13B in 16 bits on g5.12xlarge",
        source=DJL,
        workload=serve("llama-2-13b", context_tokens=4096, concurrency=8, precision="fp16"),
        fits="g5.12xlarge",
        accelerators=4,
        not_on=("g5.2xlarge", "g5.16xlarge"),
    ),
    Case(
        name="20B in 16 bits on g5.12xlarge",
        source=DJL,
        workload=serve(parameters=20.55e9, shape=GPT_NEOX_20B, context_tokens=2048, concurrency=16),
        fits="g5.12xlarge",
        accelerators=4,
        not_on=("g5.2xlarge",),
    ),
    Case(
        name="34B in 16 bits, a batch of 32, on g5.48xlarge",
        source=DJL,
        workload=serve("codellama-34b", context_tokens=4096, concurrency=32),
        fits="g5.48xlarge",
        accelerators=8,
        not_on=("g5.12xlarge",),
    ),
    Case(
        name="70B in 16 bits, a batch of 8, on g5.48xlarge",
        source=DJL,
        workload=serve("llama-2-70b", context_tokens=4096, concurrency=8),
        fits="g5.48xlarge",
        accelerators=8,
        not_on=("g5.12xlarge", "g5.24xlarge"),
    ),
    Case(
        name="70B in 16 bits, a batch of 32, on p4d.24xlarge and no longer on g5.48xlarge",
        source=DJL,
        workload=serve("llama-2-70b", context_tokens=4096, concurrency=32),
        fits="p4d.24xlarge",
        accelerators=8,
        not_on=("g5.48xlarge",),
    ),
    Case(
        name="180B in 16 bits on p4de.24xlarge",
        source=DJL,
        workload=serve(parameters=179.5e9, shape=FALCON_180B, context_tokens=2048, concurrency=32),
        fits="p4de.24xlarge",
        accelerators=8,
        not_on=("p4d.24xlarge", "g5.48xlarge"),
    ),
    Case(
        name="Llama 3 8B in FP16 on one A10G",
        source=NIM,
        workload=serve("llama-3-8b", precision="fp16", context_tokens=8192),
        fits="g5.xlarge",
        accelerators=1,
    ),
    Case(
        name="Llama 2 13B on one L40S",
        source=OPERATOR,
        workload=serve("llama-2-13b", context_tokens=4096),
        fits="g6e.xlarge",
        accelerators=1,
    ),
    Case(
        name="Mixtral 8x7B on four L40S",
        source=OPERATOR,
        workload=serve("mixtral-8x7b", context_tokens=4096),
        fits="g6e.12xlarge",
        accelerators=4,
        not_on=("g6e.xlarge",),
    ),
    Case(
        name="Mixtral 8x7B on two A100 of 80 GB",
        source=OPERATOR,
        workload=serve("mixtral-8x7b", context_tokens=4096),
        fits="p4de.24xlarge",
        accelerators=2,
    ),
    Case(
        name="Mixtral 8x7B on two H100",
        source=OPERATOR,
        workload=serve("mixtral-8x7b", context_tokens=4096),
        fits="p5.48xlarge",
        accelerators=2,
        not_on=("p5.4xlarge",),
    ),
    Case(
        name="Llama 3.1 405B in BF16 on 16 H100 in two machines",
        source=LLAMA_3,
        workload=serve("llama-3.1-405b", context_tokens=8192),
        fits="p5.48xlarge",
        accelerators=16,
        instances=2,
    ),
    Case(
        name="Llama 3.1 405B in FP8 on one machine of 8 H100",
        source=LLAMA_3,
        workload=serve("llama-3.1-405b", precision="fp8", context_tokens=8192),
        fits="p5.48xlarge",
        accelerators=8,
        not_on=("p4d.24xlarge",),
    ),
    Case(
        name="Llama 3.1 405B in BF16 on trn2.48xlarge",
        source=NEURON,
        workload=serve("llama-3.1-405b", context_tokens=2048),
        fits="trn2.48xlarge",
        accelerators=16,
        not_on=("trn1.32xlarge", "inf2.48xlarge"),
    ),
    Case(
        name="65B with QLoRA on one GPU of 48 GB",
        source=QLORA,
        workload=Workload.training(model="llama-65b", method="qlora", context_tokens=512, recompute="full"),
        fits="g6e.xlarge",
        accelerators=1,
        not_on=("g6.xlarge", "g5.xlarge"),
    ),
]


def _only(workload: Workload, instance_type: str) -> Choice | None:
    fitting = recommend(workload, instance_types=[instance_type])
    found = (*fitting.choices, *fitting.unmeasured)
    return found[0] if found else None


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_published_type_holds_the_model(case: Case) -> None:
    choice = _only(case.workload, case.fits)
    assert choice is not None, case.source
    assert (choice.accelerators_per_replica, choice.instances_per_replica) == (case.accelerators, case.instances)


@pytest.mark.parametrize(
    ("case", "smaller"),
    [(case, smaller) for case in CASES for smaller in case.not_on],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_a_smaller_type_does_not_hold_it_alone(case: Case, smaller: str) -> None:
    choice = _only(case.workload, smaller)
    assert choice is None or choice.instances_per_replica > 1


def test_a_70b_model_is_served_on_inf2_48xlarge() -> None:
    choice = _only(serve("llama-2-70b", input_tokens=256, output_tokens=256), "inf2.48xlarge")
    assert choice is not None, NEURON_INF2
    assert choice.throughput is not None
    assert choice.throughput.value == pytest.approx(29.9, rel=0.01)


def test_there_are_ten_cases_and_more_from_five_sources() -> None:
    assert len(CASES) >= 10
    assert len({case.source for case in CASES}) >= 5


def test_no_case_is_written_into_the_product() -> None:
    """No code of the room names an instance type but in examples of its texts, and no table pairs one with a model."""
    room = Path(rightsizing.__file__).parent
    for path in (room / "evaluation.py", room / "memory.py", room / "machines.py", room / "figures.py"):
        text = path.read_text(encoding="utf-8")
        assert not [case.fits for case in CASES if case.fits in text], path.name
