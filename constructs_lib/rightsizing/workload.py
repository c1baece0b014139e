"""What has to be done: the workload that instance types are chosen for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from constructs_lib.catalog import ARCHITECTURES
from constructs_lib.errors import ArgumentError
from constructs_lib.rightsizing.models import MODEL_KINDS, Model, ModelShape, model_named
from constructs_lib.validation import complaint, instance_of, integer, number, one_of

USES = ("training", "inference", "batch_inference", "graphics", "transcoding", "hpc", "fpga")
PRECISIONS = ("fp32", "bf16", "fp16", "fp8", "int8", "int4")
STACKS = ("cuda", "neuron", "cpu")
METHODS = ("full", "lora", "qlora")
OPTIMIZERS = ("adamw", "adamw8bit", "sgd")
RECOMPUTES = ("none", "selective", "full")
VIDEOS = ("2160p60", "2160p30", "1080p60", "1080p30", "720p30", "540p30")

_SERVING = ("inference", "batch_inference")
_SMALLEST_MODEL = 1e5  # fewer parameters were counted in billions
_LARGEST_MODEL = 1e15
# Beyond what anybody can mean, and within what can be calculated with.
_SMALLEST, _LARGEST = 1e-9, 1e15
_MOST = 10**9
_LORA_RANK = 16
_INPUT_TOKENS = 256
_OUTPUT_TOKENS = 128
_TRAINING_TOKENS = 2048

_MODEL_FIELDS = frozenset({"model", "parameters", "shape", "model_kind", "precision", "context_tokens"})
_SERVING_FIELDS = _MODEL_FIELDS | {
    "kv_precision",
    "input_tokens",
    "output_tokens",
    "concurrency",
    "first_token_ms",
    "per_token_ms",
    "latency_ms",
    "stack",
}
_TRAINING_FIELDS = _MODEL_FIELDS | {
    "method",
    "lora_rank",
    "optimizer",
    "zero_stage",
    "tensor_parallel",
    "micro_batch",
    "recompute",
    "stack",
}
_EVERY_USE = frozenset({"use", "memory_mib", "accelerators", "rate", "unit", "architectures"})
_FIELDS_OF = {
    "training": _TRAINING_FIELDS,
    "inference": _SERVING_FIELDS,
    "batch_inference": _SERVING_FIELDS,
    "graphics": frozenset[str](),
    "transcoding": frozenset({"video"}),
    "hpc": frozenset({"stack"}),
    "fpga": frozenset[str](),
}
# The first unit of a use is its default; a model that writes text is counted in tokens.
UNITS_OF = {
    "training": ("sequences/s", "tokens/s"),
    "inference": ("requests/s", "tokens/s"),
    "batch_inference": ("requests/s", "tokens/s"),
    "graphics": ("sessions",),
    "transcoding": ("streams",),
    "hpc": ("jobs/h",),
    "fpga": ("jobs/h",),
}


@dataclass(frozen=True, kw_only=True)
class Workload:
    """What an accelerator is wanted for. Two workloads that say the same are equal.

    Make one with the factory of its use: :meth:`training`, :meth:`inference`, :meth:`batch_inference`,
    :meth:`graphics`, :meth:`transcoding`, :meth:`hpc` or :meth:`fpga`. A model is stated by the name of a published
    one, or by its parameters (with its shape, where a KV cache or training activations have to be computed), or by
    the memory that it was measured to use.

    Attributes:
        use: one of the factories' names.
        model: name of a published model, see :func:`~constructs_lib.rightsizing.known_models`.
        parameters: of any other model, for example ``8.03e9``.
        shape: of that model, from its ``config.json``. Default: not known; a KV cache is reckoned like that of the
            smallest Llama 3 that has as many parameters.
        model_kind: of that model: ``decoder`` (writes text token by token), ``encoder``, ``vision`` or ``diffusion``.
            Default: ``decoder``.
        memory_mib: accelerator memory that one replica (model server, job, session, stream) needs or was measured to
            use, MiB, in place of the arithmetic. Default: computed from the model.
        precision: of the weights: ``fp32``, ``bf16``, ``fp16``, ``fp8``, ``int8`` or ``int4``.
            Default: ``bf16``, in which most models are published.
        kv_precision: of the KV cache, ``bf16``, ``fp16``, ``fp8`` or ``int8``. Default: ``bf16``.
        input_tokens: of a typical request. Default: 256.
        output_tokens: of a typical request. Default: 128.
        context_tokens: longest sequence that must fit. Default: for serving ``input_tokens``, with ``output_tokens``
            where text is written, for training 2048; the model's longest, where that is less.
        concurrency: requests that one replica serves at the same time, or its batch. Default: 1 for the memory, and
            for the throughput as many as were measured and fit.
        rate: work to be done, in ``unit``. Default: as much as one instance can.
        unit: ``tokens/s`` (that are written; for training, that are read), ``requests/s``, ``sequences/s``,
            ``sessions``, ``streams`` or ``jobs/h``. Default: tokens for a model that writes text, else the use's own.
        first_token_ms: median time to the first token, at most. Default: no goal, but for ``inference`` without one a
            load under which the first token took more than 10 seconds does not count. What was measured with shorter
            inputs counts in proportion.
        per_token_ms: median time between two tokens, at most. Default: no goal.
        latency_ms: median time of a whole answer, at most. Default: no goal. What was measured with shorter inputs and
            outputs counts in proportion.
        stack: what the software runs on, any of ``cuda``, ``neuron`` and ``cpu``. Default: ``cuda`` and ``cpu``;
            ``cuda`` alone for training and HPC.
        architectures: CPU architectures that the software is built for. Default: ``x86_64`` and ``arm64``.
        accelerators: at least so many for one replica; a stated ``memory_mib`` is spread evenly over them.
            Default: as few as hold it, and one for a stated ``memory_mib``.
        method: of training: ``full``, ``lora`` or ``qlora``. Default: ``full``.
        lora_rank: of the adapters, on every matrix of every layer. Default: 16.
        optimizer: ``adamw``, ``adamw8bit`` or ``sgd`` (with momentum). Default: ``adamw``.
        zero_stage: what is divided among the accelerators: 0 nothing, 1 optimiser states, 2 gradients too, 3 the
            weights too. Default: 3.
        tensor_parallel: accelerators of one instance that share each layer, with sequence parallelism. It does not
            count their cores, as the software of Neuron does. Default: 1.
        micro_batch: sequences on one such group at a time. Default: 1.
        recompute: of activations: ``none``, ``selective`` (attention, which is what FlashAttention does) or ``full``.
            Default: ``selective``.
        video: lines and frames a second of the streams that are transcoded, for example ``1080p30``.
            Default: ``1080p60``.

    Raises:
        ArgumentError: a value is out of range, does not belong to the use or does not go together with another one.
    """

    use: str
    model: str | None = None
    parameters: float | None = None
    shape: ModelShape | None = None
    model_kind: str | None = None
    memory_mib: float | None = None
    precision: str | None = None
    kv_precision: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    context_tokens: int | None = None
    concurrency: int | None = None
    rate: float | None = None
    unit: str | None = None
    first_token_ms: float | None = None
    per_token_ms: float | None = None
    latency_ms: float | None = None
    stack: Sequence[str] | None = None
    architectures: Sequence[str] | None = None
    accelerators: int | None = None
    method: str | None = None
    lora_rank: int | None = None
    optimizer: str | None = None
    zero_stage: int | None = None
    tensor_parallel: int | None = None
    micro_batch: int | None = None
    recompute: str | None = None
    video: str | None = None

    def __post_init__(self) -> None:
        where = "Workload"
        one_of(where, "use", self.use, USES, cure="or call one of the factories, for example Workload.inference(...)")
        self._check_use()
        self._settle_model(where)
        self._check_memory(where)
        self._settle_stack(where)
        self._check_load(where)
        self._check_goals(where)
        if self.use == "transcoding":
            object.__setattr__(self, "video", "1080p60" if self.video is None else self.video)
            one_of(where, "video", self.video, VIDEOS, cure="choose the closest one that is not below")
        if self.use == "training":
            self._settle_training(where)

    @classmethod
    def inference(
        cls,
        *,
        model: str | None = None,
        parameters: float | None = None,
        shape: ModelShape | None = None,
        model_kind: str | None = None,
        memory_mib: float | None = None,
        precision: str | None = None,
        kv_precision: str | None = None,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        context_tokens: int | None = None,
        concurrency: int | None = None,
        rate: float | None = None,
        unit: str | None = None,
        first_token_ms: float | None = None,
        per_token_ms: float | None = None,
        latency_ms: float | None = None,
        stack: Sequence[str] | None = None,
        architectures: Sequence[str] | None = None,
        accelerators: int | None = None,
    ) -> Workload:
        """A model that answers requests as they come. The parameters are the attributes of the class."""
        return cls(use="inference", **_given(locals()))

    @classmethod
    def batch_inference(
        cls,
        *,
        model: str | None = None,
        parameters: float | None = None,
        shape: ModelShape | None = None,
        model_kind: str | None = None,
        memory_mib: float | None = None,
        precision: str | None = None,
        kv_precision: str | None = None,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        context_tokens: int | None = None,
        concurrency: int | None = None,
        rate: float | None = None,
        unit: str | None = None,
        stack: Sequence[str] | None = None,
        architectures: Sequence[str] | None = None,
        accelerators: int | None = None,
    ) -> Workload:
        """A model that works through a store of inputs, where nobody waits. The parameters are the attributes."""
        return cls(use="batch_inference", **_given(locals()))

    @classmethod
    def training(
        cls,
        *,
        model: str | None = None,
        parameters: float | None = None,
        shape: ModelShape | None = None,
        model_kind: str | None = None,
        memory_mib: float | None = None,
        precision: str | None = None,
        context_tokens: int | None = None,
        method: str | None = None,
        lora_rank: int | None = None,
        optimizer: str | None = None,
        zero_stage: int | None = None,
        tensor_parallel: int | None = None,
        micro_batch: int | None = None,
        recompute: str | None = None,
        rate: float | None = None,
        unit: str | None = None,
        stack: Sequence[str] | None = None,
        architectures: Sequence[str] | None = None,
        accelerators: int | None = None,
    ) -> Workload:
        """A model that is trained or fine-tuned. The parameters are the attributes of the class."""
        return cls(use="training", **_given(locals()))

    @classmethod
    def graphics(
        cls,
        *,
        memory_mib: float | None = None,
        rate: float | None = None,
        accelerators: int | None = None,
        architectures: Sequence[str] | None = None,
    ) -> Workload:
        """Sessions that draw: workstations, rendering, game streaming.

        Args:
            memory_mib: of one session. Default: not known.
            rate: sessions at the same time. Default: not known.
            accelerators: at least so many for one session. Default: 1.
            architectures: CPU architectures that the software is built for. Default: ``x86_64`` and ``arm64``.
        """
        return cls(use="graphics", **_given(locals()))

    @classmethod
    def transcoding(
        cls,
        *,
        video: str | None = None,
        memory_mib: float | None = None,
        rate: float | None = None,
        accelerators: int | None = None,
        architectures: Sequence[str] | None = None,
    ) -> Workload:
        """Video streams that are decoded and encoded anew, which takes types with a video encoder.

        Args:
            video: lines and frames a second, for example ``1080p30``. Default: ``1080p60``.
            memory_mib: of one stream. Default: not known.
            rate: streams at the same time. Default: not known.
            accelerators: at least so many for one stream. Default: 1.
            architectures: CPU architectures that the software is built for. Default: ``x86_64`` and ``arm64``.
        """
        return cls(use="transcoding", **_given(locals()))

    @classmethod
    def hpc(
        cls,
        *,
        memory_mib: float,
        accelerators: int | None = None,
        rate: float | None = None,
        stack: Sequence[str] | None = None,
        architectures: Sequence[str] | None = None,
    ) -> Workload:
        """A simulation or another calculation.

        Args:
            memory_mib: accelerator memory of one job.
            accelerators: over which that memory is spread. Default: 1.
            rate: jobs an hour. Default: not known.
            stack: what the software runs on. Default: ``cuda``.
            architectures: CPU architectures that the software is built for. Default: ``x86_64`` and ``arm64``.
        """
        return cls(use="hpc", **_given(locals()))

    @classmethod
    def fpga(
        cls,
        *,
        memory_mib: float | None = None,
        accelerators: int | None = None,
        rate: float | None = None,
    ) -> Workload:
        """Work for FPGAs.

        Args:
            memory_mib: of one job. Default: not known.
            accelerators: cards of one job. Default: 1.
            rate: jobs an hour. Default: not known.
        """
        return cls(use="fpga", **_given(locals()))

    @cached_property
    def facts(self) -> Model | None:
        """The model that is meant, or None where only its memory is known."""
        if self.model is not None:
            return model_named("Workload", "model", self.model)
        if self.parameters is None:
            return None
        return Model(name="own model", kind=self.model_kind or "decoder", parameters=self.parameters, shape=self.shape)

    @cached_property
    def writes_text(self) -> bool:
        """Whether it is served token by token."""
        facts = self.facts
        return self.use in _SERVING and facts is not None and facts.kind == "decoder"

    @property
    def weights_precision(self) -> str:
        """``precision``, settled."""
        return self.precision or "bf16"

    @property
    def cache_precision(self) -> str:
        """``kv_precision``, settled."""
        return self.kv_precision or "bf16"

    @property
    def request_tokens(self) -> tuple[int, int]:
        """Tokens that a typical request brings and gets."""
        return self.input_tokens or _INPUT_TOKENS, self.output_tokens or _OUTPUT_TOKENS

    @cached_property
    def longest_sequence(self) -> int:
        """``context_tokens``, settled."""
        if self.context_tokens is not None:
            return self.context_tokens
        wanted = sum(self.request_tokens) if self.writes_text else self.request_tokens[0]
        if self.use == "training":
            wanted = _TRAINING_TOKENS
        longest = self.facts.context if self.facts is not None else None
        return wanted if longest is None else min(wanted, longest)

    @property
    def batch(self) -> int:
        """Sequences that one replica must hold at the same time."""
        return (self.micro_batch if self.use == "training" else self.concurrency) or 1

    @cached_property
    def unit_of_work(self) -> str:
        """``unit``, settled."""
        if self.unit is not None:
            return self.unit
        return "tokens/s" if self.writes_text else UNITS_OF[self.use][0]

    def with_changes(self, **changes: Any) -> Workload:
        """The same workload with other values; the parameters are the attributes of the class."""
        return replace(self, **changes)

    def document(self) -> dict[str, Any]:
        """What was stated, as plain data."""
        stated: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, tuple):
                value = list(value)
            elif isinstance(value, ModelShape):
                value = {part.name: getattr(value, part.name) for part in fields(value)}
            if value is not None:
                stated[each.name] = value
        return stated

    def _check_use(self) -> None:
        allowed = _EVERY_USE | _FIELDS_OF[self.use]
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not None and each.name not in allowed:
                uses = ", ".join(use for use in USES if each.name in _FIELDS_OF[use])
                rule = f"be left out for {self.use}"
                raise ArgumentError(complaint("Workload", each.name, rule, value, f"it belongs to {uses}"))

    def _settle_model(self, where: str) -> None:
        if self.model is not None:
            facts = model_named(where, "model", self.model)
            object.__setattr__(self, "model", facts.name)
            for parameter in ("parameters", "shape", "model_kind"):
                if getattr(self, parameter) is not None:
                    cure = "state a published model by its name, or any other by its parameters and shape"
                    rule = f"be left out beside model={facts.name!r}"
                    raise ArgumentError(complaint(where, parameter, rule, getattr(self, parameter), cure))
        if self.parameters is not None:
            cure = "count parameters, not billions: 8.03e9 for an 8B model"
            number(where, "parameters", self.parameters, minimum=_SMALLEST_MODEL, maximum=_LARGEST_MODEL, cure=cure)
        if self.shape is not None:
            instance_of(where, "shape", self.shape, ModelShape, cure="write ModelShape(layers=32, ...)")
        if self.model_kind is not None:
            one_of(where, "model_kind", self.model_kind, MODEL_KINDS, cure="a model that writes text is a 'decoder'")
        for parameter in ("shape", "model_kind"):
            if getattr(self, parameter) is not None and self.parameters is None:
                cure = "state parameters= too: the number of them is what the memory is computed from"
                rule = "go with parameters"
                raise ArgumentError(complaint(where, parameter, rule, getattr(self, parameter), cure))

    def _check_memory(self, where: str) -> None:
        if self.memory_mib is not None:
            _amount(where, "memory_mib", self.memory_mib, "give MiB of accelerator memory for one replica")
        elif self.use in ("training", *_SERVING):
            if self.model is None and self.parameters is None:
                cure = "name a published model, or state parameters= or a measured memory_mib="
                raise ArgumentError(complaint(where, "model", f"be known for {self.use}", None, cure))
        elif self.use == "hpc":
            cure = "give MiB of accelerator memory for one job"
            raise ArgumentError(complaint(where, "memory_mib", "be known for hpc", None, cure))
        if self.accelerators is not None:
            cure = "leave it out for as few as possible"
            integer(where, "accelerators", self.accelerators, minimum=1, maximum=_MOST, cure=cure)
        for parameter, choices in (("precision", PRECISIONS), ("kv_precision", ("bf16", "fp16", "fp8", "int8"))):
            value = getattr(self, parameter)
            if value is not None:
                one_of(where, parameter, value, choices, cure="most models are published in 'bf16'")

    def _settle_stack(self, where: str) -> None:
        default: tuple[str, ...] | None = ("cuda", "cpu") if self.use in _SERVING else ("cuda",)
        if self.use in ("graphics", "transcoding", "fpga"):
            default = None
        for parameter, choices, unsaid in (("stack", STACKS, default), ("architectures", ARCHITECTURES, ARCHITECTURES)):
            given = getattr(self, parameter)
            if given is None:
                object.__setattr__(self, parameter, unsaid)
                continue
            entries = (given,) if isinstance(given, str) else given
            if not isinstance(entries, (list, tuple)) or not entries:
                rule = "be a list that is not empty"
                raise ArgumentError(complaint(where, parameter, rule, given, f"write for example {list(choices)}"))
            for entry in entries:
                one_of(where, parameter, entry, choices, cure="name what the software was built for")
            object.__setattr__(self, parameter, tuple(each for each in choices if each in entries))
        if self.use == "training" and "cpu" in (self.stack or ()):
            cure = "leave 'cpu' out: no figure of training on CPUs is known here"
            raise ArgumentError(complaint(where, "stack", "hold accelerators for training", self.stack, cure))

    def _check_load(self, where: str) -> None:
        for parameter in ("input_tokens", "output_tokens", "context_tokens", "concurrency"):
            value = getattr(self, parameter)
            if value is not None:
                integer(where, parameter, value, minimum=1, maximum=_MOST, cure="leave it out for the default")
        self._check_sequence(where)
        if self.rate is not None:
            _amount(where, "rate", self.rate, "leave it out for as much as one instance can do")
        if self.unit is not None:
            one_of(where, "unit", self.unit, UNITS_OF[self.use], cure="say what is counted")
            if self.unit == "tokens/s" and self.use in _SERVING and not self.writes_text:
                cure = "count its answers: unit='requests/s'"
                raise ArgumentError(complaint(where, "unit", "suit a model that writes no text", self.unit, cure))

    def _check_sequence(self, where: str) -> None:
        facts = self.facts
        if facts is None:
            return
        stated = self.context_tokens or 0
        if facts.context is not None and stated > facts.context:
            rule = f"be at most {facts.context}, the longest that {facts.name} takes"
            raise ArgumentError(complaint(where, "context_tokens", rule, stated, "shorten it, or choose another model"))
        typical = sum(self.request_tokens)
        self._check_request(where, facts)
        if stated and (self.input_tokens or self.output_tokens) and typical > stated:
            rule = f"hold a typical request of {typical} tokens"
            raise ArgumentError(complaint(where, "context_tokens", rule, stated, "lengthen it, or leave it out"))
        if facts.shape is None and self.memory_mib is None and facts.kind == "decoder":
            for parameter in ("concurrency", "context_tokens", "micro_batch"):
                value = getattr(self, parameter)
                if value is not None and value > 1:
                    rule = "go with the shape of the model"
                    cure = (
                        "state shape=ModelShape(layers=..., hidden=..., heads=...): the memory of a sequence needs it"
                    )
                    raise ArgumentError(complaint(where, parameter, rule, value, cure))

    def _check_request(self, where: str, facts: Model) -> None:
        """A typical request that is stated must be one that the model takes; the defaults are shortened to it."""
        parts = ("input_tokens", "output_tokens") if self.writes_text else ("input_tokens",)
        given = {part: getattr(self, part) for part in parts if getattr(self, part) is not None}
        whole = sum(self.request_tokens) if self.writes_text else self.request_tokens[0]
        if facts.context is None or not given or whole <= facts.context:
            return
        parameter = max(given, key=lambda part: given[part])
        rule = f"be at most {facts.context}"
        if self.writes_text:
            others = "outputs" if parameter == "input_tokens" else "inputs"
            rule = f"be, together with the {others}, at most {facts.context}"
        rule = f"{rule}, the longest that {facts.name} takes"
        raise ArgumentError(complaint(where, parameter, rule, given[parameter], "shorten it, or choose another model"))

    def _check_goals(self, where: str) -> None:
        for parameter in ("first_token_ms", "per_token_ms", "latency_ms"):
            value = getattr(self, parameter)
            if value is None:
                continue
            _amount(where, parameter, value, "give milliseconds, or leave it out for no goal")
            if parameter != "latency_ms" and not self.writes_text:
                cure = "give latency_ms, the time of a whole answer"
                raise ArgumentError(complaint(where, parameter, "go with a model that writes text", value, cure))

    def _settle_training(self, where: str) -> None:
        for parameter, choices, default in (
            ("method", METHODS, "full"),
            ("optimizer", OPTIMIZERS, "adamw"),
            ("recompute", RECOMPUTES, "selective"),
        ):
            value = getattr(self, parameter)
            if value is None:
                object.__setattr__(self, parameter, default)
            else:
                one_of(where, parameter, value, choices, cure=f"leave it out for {default!r}")
        if self.lora_rank is not None and self.method == "full":
            cure = "write method='lora' or method='qlora'"
            raise ArgumentError(complaint(where, "lora_rank", "go with adapters", self.lora_rank, cure))
        for parameter, lowest, highest, settled in (
            ("lora_rank", 1, 4096, _LORA_RANK if self.method != "full" else None),
            ("zero_stage", 0, 3, 3),
            ("tensor_parallel", 1, _MOST, 1),
            ("micro_batch", 1, _MOST, 1),
        ):
            value = getattr(self, parameter)
            if value is None:
                object.__setattr__(self, parameter, settled)
            else:
                integer(where, parameter, value, minimum=lowest, maximum=highest, cure="leave it out for the default")
        if self.precision is not None and self.precision not in ("fp32", "bf16", "fp16"):
            cure = "for a quantised base write method='qlora'"
            raise ArgumentError(
                complaint(where, "precision", "be fp32, bf16 or fp16 for training", self.precision, cure)
            )
        if self.memory_mib is None and (self.facts is None or self.facts.shape is None):
            cure = "state shape=ModelShape(layers=..., hidden=..., heads=...), or a measured memory_mib="
            raise ArgumentError(complaint(where, "shape", "be known for training", self.shape, cure))


def _amount(where: str, parameter: str, value: object, cure: str) -> None:
    """Check a number above 0 that can be multiplied and divided by."""
    number(where, parameter, value, above=0, cure=cure)
    number(where, parameter, value, minimum=_SMALLEST, maximum=_LARGEST, cure=cure)


def _given(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if name not in ("cls", "__class__")}
