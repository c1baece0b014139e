"""How much accelerator memory a model needs: arithmetic from published formulas, in bytes.

Nothing here knows an instance type. The sources, as the functions name them:

- ZeRO: Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", arXiv 1910.02054
- activations: Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", arXiv 2205.05198
- LoRA: Hu et al., arXiv 2106.09685; QLoRA: Dettmers et al., arXiv 2305.14314
- grouped-query attention: Ainslie et al., arXiv 2305.13245; PagedAttention: Kwon et al., arXiv 2309.06180
- EleutherAI, "Transformer Math 101", blog.eleuther.ai/transformer-math (2023)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from constructs_lib.rightsizing.models import Model, ModelShape, typical_model
from constructs_lib.rightsizing.workload import Workload

MIB = 2**20

# A 4-bit format keeps a scale for each block of weights. One 16-bit scale for 32 weights, as in GGML's Q4_0, makes 4.5
# bits; GPTQ and AWQ (a scale for 128) need less, Q4_K_M a little more.
_BYTES = MappingProxyType({"fp32": 4.0, "bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.0, "int4": 4.5 / 8})
_QUANTISED = frozenset({"fp8", "int8", "int4"})
_NF4_BYTES = 4.127 / 8  # 4-bit NormalFloat with double quantisation: 0.127 bits a parameter for constants (QLoRA)
_PAGE_TOKENS = 16  # vLLM hands out the KV cache in blocks of 16 tokens (PagedAttention, section 4)
_PREFILL_TOKENS = 2048  # of prompts that vLLM works off in one pass, by default
_OVERHEAD = 0.2  # inference takes about 1.2 times the weights ("Transformer Math 101")
# What an optimiser keeps for a parameter: with weights of 16 bits a copy in 32 bits besides ("Transformer Math 101").
_STATE_BYTES: Mapping[str, tuple[int, int]] = MappingProxyType({"adamw": (12, 8), "adamw8bit": (6, 2), "sgd": (8, 4)})


@dataclass(frozen=True, kw_only=True)
class Memory:
    """What one accelerator of a replica holds, MiB.

    Attributes:
        weights: of the model and its adapters.
        kv_cache: keys and values of the sequences that are being written.
        activations: of the pass that is being computed.
        gradients: of what is trained.
        optimizer: its states.
        stated: a need that was stated or measured, in place of all others.
    """

    weights: float = 0.0
    kv_cache: float = 0.0
    activations: float = 0.0
    gradients: float = 0.0
    optimizer: float = 0.0
    stated: float = 0.0

    @property
    def total(self) -> float:
        """All of it."""
        return self.weights + self.kv_cache + self.activations + self.gradients + self.optimizer + self.stated


def weight_bytes(parameters: float, precision: str, *, embedding_parameters: float = 0.0) -> float:
    """Bytes of the weights.

    Quantised checkpoints keep the embedding and the output layer in 16 bits.

    Source: "Transformer Math 101", section "Inference: Model Weights"; GPTQ, arXiv 2210.17323, for what is quantised.
    """
    if precision not in _QUANTISED:
        return parameters * _BYTES[precision]
    kept = min(embedding_parameters, parameters)
    return (parameters - kept) * _BYTES[precision] + kept * _BYTES["bf16"]


def kv_cache_bytes(shape: ModelShape, precision: str, *, tokens: int, sequences: int = 1) -> float:
    """Bytes of the KV cache: 2 x layers x kv_heads x head_dim x bytes for each token of each sequence.

    Source: "Transformer Math 101", section "Inference: KV cache", with the key and value heads of grouped-query
    attention (arXiv 2305.13245); sequences are rounded up to whole pages (arXiv 2309.06180).
    """
    pages = -(-tokens // _PAGE_TOKENS)
    a_token = 2 * shape.layers * shape.key_value_heads * shape.head_width * _BYTES[precision]
    return a_token * pages * _PAGE_TOKENS * sequences


def layer_activation_bytes(
    shape: ModelShape,
    *,
    tokens: int,
    sequences: int = 1,
    attention: bool = True,
    tensor_parallel: int = 1,
    sequence_parallel: bool = False,
) -> float:
    """Bytes that one transformer layer keeps for its backward pass, or works with in a forward one.

    ``s b h (10 + 24/t + 5 a s / (h t))`` for sequences of ``s`` tokens, a batch of ``b``, ``t`` tensor-parallel
    accelerators. Without ``attention`` the last term, the attention matrix, is left out: selective recomputation, or a
    kernel such as FlashAttention that never writes it. With ``sequence_parallel`` the 10 is divided by ``t`` too.

    Source: arXiv 2205.05198, equations 1, 2, 4 and 6.
    """
    sbh = tokens * sequences * shape.hidden
    dense = sbh * (10 / (tensor_parallel if sequence_parallel else 1) + 24 / tensor_parallel)
    matrix = 5 * shape.heads * tokens * tokens * sequences / tensor_parallel
    return dense + (matrix if attention else 0.0)


def training_activation_bytes(
    shape: ModelShape, *, tokens: int, sequences: int, recompute: str, tensor_parallel: int = 1
) -> float:
    """Bytes of the activations of all layers, with none, selective or full recomputation, and of the logits.

    Full recomputation keeps the input of each layer, ``2 s b h``, and the one layer that is being recomputed. The
    logits are kept in 32 bits: ``4 s b v``. Tensor parallelism with sequence parallelism divides all of it.

    Source: arXiv 2205.05198, section 4 and table 2.
    """
    sbh = tokens * sequences * shape.hidden
    logits = 4.0 * tokens * sequences * (shape.vocab or 0) + 4.0 * sbh
    attention = recompute == "none"
    layer = layer_activation_bytes(shape, tokens=tokens, sequences=sequences, attention=attention)
    layers = layer * shape.layers if recompute != "full" else 2.0 * sbh * shape.layers + layer
    return (layers + logits) / tensor_parallel


def training_state_bytes(
    parameters: float, *, precision: str = "bf16", optimizer: str = "adamw", zero_stage: int = 0, devices: int = 1
) -> tuple[float, float, float]:
    """Bytes of weights, gradients and optimiser states on one of ``devices`` accelerators.

    ``(2 + 2 + K) parameters`` with ``K = 12`` for Adam in mixed precision; stage 1 divides the states, stage 2 the
    gradients too, stage 3 the weights too.

    Source: arXiv 1910.02054, section 5 and figure 1.
    """
    mixed, full = _STATE_BYTES[optimizer]
    size = _BYTES[precision]
    states = parameters * (full if precision == "fp32" else mixed)
    weights, gradients = parameters * size, parameters * size
    return (
        weights / (devices if zero_stage >= 3 else 1),
        gradients / (devices if zero_stage >= 2 else 1),
        states / (devices if zero_stage >= 1 else 1),
    )


def adapter_parameters(shape: ModelShape, rank: int, *, matrices: tuple[str, ...] | None = None) -> int:
    """Parameters of LoRA adapters: ``rank x (rows + columns)`` for each matrix that has one.

    Args:
        shape: of the model.
        rank: of the adapters.
        matrices: of ``query``, ``key``, ``value``, ``output``, ``gate``, ``up`` and ``down``. Default: all, which is
            what QLoRA found to be needed.

    Source: arXiv 2106.09685, section 4.2; arXiv 2305.14314, section 4.
    """
    h, kv = shape.hidden, shape.key_value_heads * shape.head_width
    query, ffn = shape.heads * shape.head_width, shape.feed_forward
    sides = {"query": h + query, "key": h + kv, "value": h + kv, "output": query + h}
    wide = dict.fromkeys(("gate", "up", "down"), (h + ffn) * (shape.experts or 1))
    both = {**sides, **wide}
    return rank * shape.layers * sum(both[name] for name in (both if matrices is None else matrices))


def replica_memory(workload: Workload, devices: int, *, sequences: int | None = None, stages: int = 1) -> Memory | None:
    """What each accelerator holds of a replica of ``workload`` that is spread over ``devices`` of them.

    None where nobody stated it and nothing is known to compute it from.

    Args:
        workload: what is to be done.
        devices: accelerators of one replica on one instance: tensor parallel for serving; for training all that the
            model's states are divided among.
        sequences: at the same time, in place of what the workload states.
        stages: instances that one replica is spread over: pipeline parallel for serving.
    """
    facts = workload.facts
    if workload.memory_mib is not None:
        return Memory(stated=workload.memory_mib / (workload.accelerators or 1))
    if facts is None:
        return None
    if workload.use == "training":
        return _training(workload, facts, devices * stages)
    return _serving(workload, facts, devices, stages, workload.batch if sequences is None else sequences)


def _serving(workload: Workload, facts: Model, devices: int, stages: int, sequences: int) -> Memory:
    shape, decoder = facts.shape, facts.kind == "decoder"
    embedding = shape.embedding_parameters if shape is not None and decoder else 0
    weights = weight_bytes(facts.parameters, workload.weights_precision, embedding_parameters=embedding) / stages
    least = 0.0
    if shape is None:
        # They are computed in 16 bits or more, however few the weights have.
        passing = _OVERHEAD * max(weights, facts.parameters * _BYTES["bf16"] / stages)
        shape = typical_model(facts.parameters).shape if decoder else None
        # A model that writes text takes that once, and the keys and values of its requests grow beyond it.
        least, passing = passing / devices, passing * sequences
    if shape is None:
        return Memory(weights=weights / devices / MIB, activations=passing / devices / MIB)
    tokens = workload.longest_sequence
    if facts.kind != "decoder":
        passing = layer_activation_bytes(shape, tokens=tokens, sequences=sequences, tensor_parallel=devices)
        return Memory(weights=weights / devices / MIB, activations=passing / MIB)
    cache = kv_cache_bytes(shape, workload.cache_precision, tokens=tokens, sequences=sequences)
    in_a_pass = min(tokens * sequences, _PREFILL_TOKENS)
    passing = layer_activation_bytes(shape, tokens=in_a_pass, attention=False, tensor_parallel=devices)
    passing += 4.0 * sequences * (shape.vocab or 0)
    # More accelerators than key and value heads hold copies of them.
    cache = cache / min(devices, shape.key_value_heads) / stages
    return Memory(
        weights=weights / devices / MIB,
        kv_cache=cache / MIB,
        activations=max(passing, least - cache) / MIB,
    )


def _training(workload: Workload, facts: Model, devices: int) -> Memory:
    shape = facts.shape
    precision, stage = workload.weights_precision, workload.zero_stage or 0
    parallel = min(workload.tensor_parallel or 1, devices)
    trained, frozen = facts.parameters, 0.0
    passing = 0.0
    if shape is not None:
        if workload.method != "full":
            trained = adapter_parameters(shape, workload.lora_rank or 1)
            frozen = _frozen_bytes(facts, shape, precision, quantised=workload.method == "qlora")
        passing = training_activation_bytes(
            shape,
            tokens=workload.longest_sequence,
            sequences=workload.batch,
            recompute=workload.recompute or "none",
            tensor_parallel=parallel,
        )
    groups = max(1, devices // parallel)
    weights, gradients, states = training_state_bytes(
        trained / parallel,
        precision=precision,
        optimizer=workload.optimizer or "adamw",
        zero_stage=stage,
        devices=groups,
    )
    return Memory(
        weights=(weights + frozen / parallel / (groups if stage >= 3 else 1)) / MIB,
        gradients=gradients / MIB,
        optimizer=states / MIB,
        activations=passing / MIB,
    )


def _frozen_bytes(facts: Model, shape: ModelShape, precision: str, *, quantised: bool) -> float:
    """The base of adapters, which QLoRA keeps in 4-bit NormalFloat apart from the embedding."""
    if not quantised:
        return facts.parameters * _BYTES[precision]
    kept = shape.embedding_parameters
    return (facts.parameters - kept) * _NF4_BYTES + kept * _BYTES["bf16"]
