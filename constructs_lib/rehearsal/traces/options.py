"""How a file becomes a trace: which part of it, how much of it, and how fast tokens are served."""

from __future__ import annotations

from dataclasses import dataclass, field

from constructs_lib import validation

_WHERE = "TraceOptions"


@dataclass(frozen=True, kw_only=True)
class ServingRates:
    """How fast one accelerator answers a request of a language model.

    A request of ``prompt`` and ``answer`` tokens takes ``prompt / prefill_tokens_per_s + answer / decode_tokens_per_s``
    seconds and holds ``1 / at_once`` of an accelerator meanwhile. The rates are those of one request while ``at_once``
    of them run, not those of the accelerator.

    Attributes:
        prefill_tokens_per_s: tokens of the prompt read in a second. Default: 2,217.
        decode_tokens_per_s: tokens of the answer written in a second. Default: 11.87.
        at_once: requests that one accelerator serves side by side. Default: 8.

    The defaults are one measurement of Spare Cores (sc-inspector-data, CC BY-SA 4.0) of 2026-07-08: Llama-3.1-8B on one
    NVIDIA L4 (the GPU of a g6.xlarge, on a machine of another cloud), vLLM 0.22.1, prompts of 1,024 and answers of 256
    tokens at a constant load of 7.8 requests at once: median time to the first token 461.87 ms, median time between
    tokens 84.23 ms. With more at once the GPU writes more tokens in all, and each answer takes longer.

    Raises:
        ArgumentError: a value is not above zero.
    """

    prefill_tokens_per_s: float = 1024 / 0.46187
    decode_tokens_per_s: float = 1 / 0.08423
    at_once: int = 8

    def __post_init__(self) -> None:
        cure = "state what one request gets on the machines of the fleet"
        for name in ("prefill_tokens_per_s", "decode_tokens_per_s"):
            validation.number("ServingRates", name, getattr(self, name), above=0, cure=cure)
        cure = "state how many requests one accelerator serves side by side"
        validation.integer("ServingRates", "at_once", self.at_once, minimum=1, cure=cure)

    def service_s(self, prompt: float, answer: float) -> float:
        """Return the seconds that a request takes."""
        return prompt / self.prefill_tokens_per_s + answer / self.decode_tokens_per_s

    def describe(self) -> str:
        """Say in words what was assumed."""
        return (
            f"a request reads {self.prefill_tokens_per_s:,.6g} and writes {self.decode_tokens_per_s:,.6g} tokens"
            f" a second, {self.at_once} at a time on an accelerator"
        )


@dataclass(frozen=True, kw_only=True)
class TraceOptions:
    """Which part of a file becomes the trace, and how.

    They are applied in this order: model, from_s and limit_s, scale, merge_s, stretch, limit_jobs.

    Attributes:
        seed: of everything that is drawn. Default: 0.
        model: of the models in the file, the one whose requests are taken. Default: those of all models, or an error
            where a file has the rates of several.
        from_s: seconds of the file that are left out at its beginning. The trace starts there. Default: 0.
        limit_s: seconds of the file that are taken from there. Default: all.
        scale: how much of the load is taken. Rates are multiplied by it; of jobs one by one it is the share that is
            drawn, at most 1. Default: 1.
        rates: how fast tokens are served.
        merge_s: requests that come within so many seconds of another become one job; see
            :func:`constructs_lib.rehearsal.traces.merge.merged`. Default: 0, none.
        stretch: what arrival times are multiplied by; how long a job takes stays. Default: 1.
        limit_jobs: how many jobs at most. Default: all.
        skip_bad: whether rows that are no jobs are skipped. Default: no, they are an error.

    Raises:
        ArgumentError: a value is out of range.
    """

    seed: int = 0
    model: str = ""
    from_s: float = 0.0
    limit_s: float | None = None
    scale: float = 1.0
    rates: ServingRates = field(default_factory=ServingRates)
    merge_s: float = 0.0
    stretch: float = 1.0
    limit_jobs: int | None = None
    skip_bad: bool = False

    def __post_init__(self) -> None:
        validation.integer(_WHERE, "seed", self.seed, cure="write a whole number")
        validation.instance_of(_WHERE, "model", self.model, str, cure="write a model that the file names")
        validation.number(_WHERE, "from_s", self.from_s, minimum=0, cure="count seconds from the first row")
        if self.limit_s is not None:
            validation.number(_WHERE, "limit_s", self.limit_s, above=0, cure="leave it out to take all")
        validation.number(_WHERE, "scale", self.scale, above=0, cure="write 0.1 for a tenth of the load")
        validation.instance_of(_WHERE, "rates", self.rates, ServingRates, cure="pass ServingRates(...)")
        validation.number(_WHERE, "merge_s", self.merge_s, minimum=0, cure="leave it out to merge nothing")
        validation.number(_WHERE, "stretch", self.stretch, above=0, cure="write 24 to make a day of an hour")
        if self.limit_jobs is not None:
            validation.integer(_WHERE, "limit_jobs", self.limit_jobs, minimum=1, cure="leave it out to take all")
        validation.instance_of(_WHERE, "skip_bad", self.skip_bad, bool, cure="write True or False")

    def holds(self, time_s: float) -> bool:
        """Whether a time of the file lies in the part that is taken."""
        return time_s >= self.from_s and (self.limit_s is None or time_s < self.from_s + self.limit_s)
