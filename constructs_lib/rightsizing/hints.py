"""Advice beside the ranking: what would be cheaper or smaller, and what nobody has measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from constructs_lib.rightsizing.evaluation import USABLE_SHARE, Answer, is_alone
from constructs_lib.rightsizing.machines import Machine, abilities
from constructs_lib.rightsizing.memory import MIB, replica_memory, weight_bytes
from constructs_lib.rightsizing.models import typical_model
from constructs_lib.rightsizing.recommendation import Choice, Hint
from constructs_lib.rightsizing.workload import Workload

Asked = Callable[[Machine], bool]
Ask = Callable[[Workload, Asked], Answer]

_WORTH_SAYING = 0.95  # a saving of less is within what the figures differ anyhow
_BATCHING = 1.5
_WIDTHS = (2, 4, 8, 16)
_SERVING = ("inference", "batch_inference")
_NARROWER = {
    "fp32": ("fp8", "int8", "int4"),
    "bf16": ("fp8", "int8", "int4"),
    "fp16": ("fp8", "int8", "int4"),
    "fp8": ("int4",),
    "int8": ("int4",),
}


def hints_for(workload: Workload, answer: Answer, ask: Ask) -> tuple[Hint, ...]:
    """All advice about a workload, in a fixed order; ``ask`` judges a changed one on some of the types."""
    return tuple(
        hint
        for hints in (
            _fit(workload, answer),
            _cpu(workload, answer, ask),
            _fraction(workload, answer),
            _neuron(workload, answer, ask),
            _quantise(workload, answer, ask),
            _half_precision(workload, answer, ask),
            _adapters(workload, answer, ask),
            _shared_layers(workload, answer, ask),
            _batching(workload, answer, ask),
            _one_at_a_time(workload, answer),
            _typical_shape(workload),
            _host_memory(workload, answer),
            _age(answer),
        )
        for hint in hints
    )


def _fit(workload: Workload, answer: Answer) -> Iterator[Hint]:
    if not answer.fitting:
        text = "Nothing fits: no instance type, alone or together with others of its kind, keeps to what was asked."
        yield Hint(kind="nothing-fits", text=text)
        return
    several = [choice for choice in answer.fitting if choice.instances_per_replica > 1]
    if len(several) == len(answer.fitting):
        first = _cheapest_hours(several)
        how = "the model's states divided among all" if workload.use == "training" else "tensor parallel inside"
        text = (
            f"No single instance holds one replica. {first.instances_per_replica} x {first.instance_type} would, "
            f"joined by EFA, {how}{'' if workload.use == 'training' else ' and pipeline parallel between'} them."
        )
        yield Hint(kind="several-instances", text=text, instance_type=first.instance_type)
    if answer.choices:
        return
    unpriced = [each for each in answer.unmeasured if each.throughput is not None and each.usd_per_hour is None]
    if unpriced:
        yield Hint(kind="no-price", text=_no_price(unpriced))
    else:
        yield Hint(kind="not-measured", text=_not_measured(len(answer.unmeasured)))


def _no_price(choices: list[Choice]) -> str:
    several = len(choices) > 1
    return (
        f"{len(choices)} type{'s' if several else ''} that fit{'' if several else 's'} {'were' if several else 'was'} "
        f"measured, and the price in {choices[0].region} is not known: so nothing is ranked there. Ask for another "
        "region, or without one for the prices of us-east-1, or refresh the tables of the catalog."
    )


def _not_measured(types: int) -> str:
    if types == 1:
        return (
            "1 type fits, and it cannot be ranked: no figure of this work at such a load is known for it, or no price. "
            "Measure what it does."
        )
    return (
        f"{types} types fit, and none of them can be ranked: no figure of this work at such a load is known for them, "
        "or no price. They are listed by the price of an hour, which says nothing about what they do in it; measure "
        "two or three."
    )


def _cpu(workload: Workload, answer: Answer, ask: Ask) -> Iterator[Hint]:
    if workload.use not in _SERVING:
        return
    best = answer.choices[0] if answer.choices else None
    if "cpu" in (workload.stack or ()):
        if best is not None and best.kind == "cpu" and not is_alone(best, workload):
            rest = [choice for choice in answer.choices if choice.kind != "cpu"]
            than = f", against {_cost(rest[0])} for the best with an accelerator" if rest else ""
            text = f"A CPU is enough ({best.processor}): {_cost(best)}{than}."
            yield _hint("cpu-is-enough", text, best)
        return
    if workload.accelerators is not None and workload.accelerators > 1:
        return
    other = _best(ask(workload.with_changes(stack=("cpu",)), lambda machine: machine.kind == "cpu"))
    if other is not None and _cheaper(other, best) and not is_alone(other, workload):
        text = f"A CPU is enough ({other.processor}), if your software runs on one: {_cost(other)}{_against(best)}."
        yield _hint("cpu-is-enough", text, other)


def _fraction(workload: Workload, answer: Answer) -> Iterator[Hint]:
    best = answer.choices[0] if answer.choices else None
    if best is not None and best.fraction is not None and not is_alone(best, workload):
        whole = next((choice for choice in answer.choices if choice.kind != "cpu" and choice.fraction is None), None)
        than = "" if whole is None else f", against {_cost(whole)} for the best whole one"
        text = f"A fraction of a GPU is enough: {_cost(best)}, {best.fraction:g} of a {best.accelerator}{than}."
        yield _hint("fraction-is-enough", text, best)
        return
    first = answer.unmeasured[0] if best is None and answer.unmeasured else None
    if first is not None and first.fraction is not None and first.throughput is None:
        text = (
            f"A fraction of a GPU holds it: {first.instance_type} has {first.fraction:g} of a {first.accelerator}. "
            "Whether it is fast enough nobody has measured."
        )
        yield _hint("fraction-is-enough", text, first)


def _neuron(workload: Workload, answer: Answer, ask: Ask) -> Iterator[Hint]:
    if workload.use not in ("training", *_SERVING) or "neuron" in (workload.stack or ()):
        return
    best = answer.choices[0] if answer.choices else None
    other = _best(ask(workload.with_changes(stack=("neuron",)), lambda machine: machine.kind == "neuron"))
    if other is None or is_alone(other, workload):
        return
    if best is None:
        text = f"With Neuron in your stack there is a figure: {_cost(other)} on {other.accelerator}."
        yield _hint("neuron-is-measured", text, other)
    elif _cheaper(other, best) and (_comparable(other) or not _comparable(best)):
        text = f"{other.accelerator} is cheaper, if your stack can use Neuron: {_cost(other)}{_against(best)}."
        yield _hint("neuron-is-cheaper", text, other)


def _quantise(workload: Workload, answer: Answer, ask: Ask) -> Iterator[Hint]:
    if workload.use not in _SERVING or workload.facts is None or workload.memory_mib is not None:
        return
    best = answer.choices[0] if answer.choices else None
    smallest = _cheapest(answer)
    asked = [(width, ask(workload.with_changes(precision=width), _takes(width))) for width in _narrower(workload)]
    measured = [
        (choice, width)
        for width, other in asked
        for choice in other.choices
        if _cheaper(choice, best) and not is_alone(choice, workload) and (best is None or _comparable(choice))
    ]
    cheapest = None
    if measured:
        cheapest, width = min(measured, key=lambda pair: (pair[0].usd_per_unit or 0.0, pair[1]))
        kind, said = ("quantise-is-measured", "there is a figure") if best is None else ("quantise", "it is cheaper")
        text = f"Quantised to {width.upper()} {said}: {_cost(cheapest)}{_against(best)}. Check its answers first."
        yield _hint(kind, text, cheapest)
    for width, other in asked:
        small = _cheapest(other, roomy=workload.with_changes(precision=width))
        if small is not None and _smaller(small, smallest) and small != cheapest:
            held = "" if smallest is None else f", where {workload.weights_precision.upper()} takes {_hour(smallest)}"
            text = f"Quantised to {width.upper()} it fits on {_hour(small)}{held}. Check its answers first."
            yield _hint("quantise-to-fit", text, small, cost=False)
            return


def _half_precision(workload: Workload, answer: Answer, ask: Ask) -> Iterator[Hint]:
    """BF16 leaves out GPUs that have 16 bits of the older kind only: name one if it was measured and is cheaper."""
    if workload.use not in _SERVING or workload.facts is None or workload.weights_precision != "bf16":
        return
    best = _best(answer)
    other = _best(ask(workload.with_changes(precision="fp16"), lambda machine: "bf16" not in machine.able.precisions))
    if other is None or is_alone(other, workload) or not _cheaper(other, best):
        return
    if best is None or _comparable(other) or not _comparable(best):
        text = (
            f"{other.accelerator} takes FP16 in place of BF16: {_cost(other)}{_against(best)}. Check its answers first."
        )
        yield _hint("half-precision", text, other)


def _typical_shape(workload: Workload) -> Iterator[Hint]:
    facts = workload.facts
    if not workload.writes_text or workload.memory_mib is not None or facts is None or facts.shape is not None:
        return
    text = (
        f"The shape of the model is not stated: what its requests keep in memory is reckoned like that of "
        f"{typical_model(facts.parameters).name}. State shape=ModelShape(...) to have it right."
    )
    yield Hint(kind="typical-shape", text=text)


def _host_memory(workload: Workload, answer: Answer) -> Iterator[Hint]:
    best = _best(answer)
    if best is not None and _is_narrow(best, workload):
        text = (
            f"{best.instance_type} has less memory of its own ({(best.host_memory_mib or 0) / 1024:,.0f} GiB) than the "
            f"weights ({_weights_mib(workload) / 1024:,.1f} GiB): software that maps their files loads them there, "
            "and software that reads them whole does not."
        )
        yield _hint("host-memory", text, best, cost=False)


def _is_narrow(choice: Choice, workload: Workload, *, share: float = 1.0) -> bool:
    """Whether that share of the instance's own memory is less than the weights."""
    host = choice.host_memory_mib
    if choice.kind == "cpu" or host is None:
        return False
    return share * host * choice.instances_per_replica < _weights_mib(workload)


def _weights_mib(workload: Workload) -> float:
    facts = workload.facts
    if facts is None or workload.memory_mib is not None or workload.use not in _SERVING:
        return 0.0
    kept = 0 if facts.shape is None else facts.shape.embedding_parameters
    return weight_bytes(facts.parameters, workload.weights_precision, embedding_parameters=kept) / MIB


def _adapters(workload: Workload, answer: Answer, ask: Ask) -> Iterator[Hint]:
    if workload.use != "training" or workload.method == "qlora" or workload.memory_mib is not None:
        return
    smallest = _cheapest(answer)
    for method in ("lora", "qlora") if workload.method == "full" else ("qlora",):
        small = _cheapest(ask(workload.with_changes(method=method), _any))
        if small is not None and _smaller(small, smallest):
            name = {"lora": "LoRA", "qlora": "QLoRA"}[method]
            held = "" if smallest is None else f"; as asked it takes {_hour(smallest)}"
            text = f"If adapters are enough, {name} fits on {_hour(small)}{held}."
            yield _hint("adapters", text, small, cost=False)
            return


def _needs_sharing(choice: Choice, workload: Workload) -> bool:
    """Whether it was measured with layers that more accelerators share than the workload says."""
    own = replica_memory(workload, choice.accelerators, stages=choice.instances_per_replica)
    needed = choice.memory_needed_mib
    return own is not None and (needed is None or own.total > needed + 1)


def _shared_layers(workload: Workload, answer: Answer, ask: Ask) -> Iterator[Hint]:
    """Activations are what data parallelism does not divide: say what tensor parallelism would."""
    if workload.use != "training" or (workload.tensor_parallel or 1) > 1 or workload.memory_mib is not None:
        return
    if answer.choices and not _needs_sharing(answer.choices[0], workload):
        return
    asked = [(width, ask(workload.with_changes(tensor_parallel=width), _any)) for width in _WIDTHS]
    for width, other in reversed(asked):  # published runs share the layers among all accelerators of an instance
        best = _best(other)
        if best is not None:
            text = f"With tensor_parallel={width} there is a figure: {_cost(best)}."
            yield _hint("tensor-parallel", text, best)
            return
    smallest = _cheapest(answer)
    found = [(small, width) for width, other in asked if (small := _cheapest(other)) is not None]
    if not found:
        return
    small, width = min(found, key=lambda pair: (_hourly(pair[0]), pair[1]))
    if _smaller(small, smallest):
        held = "" if smallest is None else f"; as asked it takes {_hour(smallest)}"
        text = f"With tensor_parallel={width} it fits on {_hour(small)}{held}."
        yield _hint("tensor-parallel", text, small, cost=False)


def _batching(workload: Workload, answer: Answer, ask: Ask) -> Iterator[Hint]:
    """Requests that are served together lift the throughput: say how far, and what one at a time would give."""
    if workload.use not in _SERVING or not answer.choices:
        return
    best = answer.choices[0]
    stated = workload.concurrency is not None
    changed = workload.with_changes(concurrency=None if stated else 1)
    other = _best(ask(changed, lambda machine: machine.name == best.instance_type))
    high, low = (other, best) if stated else (best, other)
    if high is None or low is None or high.throughput is None or low.throughput is None:
        return
    if high.throughput.value >= _BATCHING * low.throughput.value and high.throughput.concurrency is not None:
        much, little = high.throughput, low.throughput
        text = (
            f"Batching lifts this: {high.instance_type} does {much.value:,.4g} {much.unit} with "
            f"{much.concurrency:.0f} requests at the same time, and {little.value:,.4g} with "
            f"{little.concurrency or 1:.0f}."
        )
        yield _hint("batching", text, high)


def _one_at_a_time(workload: Workload, answer: Answer) -> Iterator[Hint]:
    """Say so where all that is known are figures of one request at a time, and the work takes several."""
    best = _best(answer)
    apart = next((each for each in answer.unmeasured if is_alone(each, workload)), None)
    if best is not None and is_alone(best, workload):
        text = (
            f"The figure of {best.instance_type} is of one request at a time, for nobody has measured more of them "
            "together. Served together they take fewer instances, above all with accelerators: measure that before "
            "you rent so many."
        )
        yield _hint("one-at-a-time", text, best)
    elif best is None and apart is not None and apart.throughput is not None:
        figure = apart.throughput
        text = (
            f"What is known is of one request at a time, for example {figure.value / figure.replicas:,.4g} "
            f"{figure.unit} on {apart.instance_type}: what one gets, and the least that an instance does. The rate "
            "takes several together: measure that before you rent."
        )
        yield _hint("one-at-a-time", text, apart)


def _age(answer: Answer) -> Iterator[Hint]:
    measured = (each for each in answer.unmeasured if each.throughput is not None)
    best = _best(answer) or next(measured, None)
    if best is not None and best.accelerator is not None:
        ended = abilities(best.accelerator).ended
        if ended is not None:
            text = f"Look at the software of {best.instance_type} before you choose it: {ended}."
            yield _hint("software-has-ended", text, best)
    if best is not None and best.status == "previous":
        text = f"{best.instance_type} is of a previous generation: AWS still rents it, but builds no more of it."
        yield _hint("previous-generation", text, best)


def _narrower(workload: Workload) -> tuple[str, ...]:
    return _NARROWER.get(workload.weights_precision, ())


def _best(answer: Answer) -> Choice | None:
    return answer.choices[0] if answer.choices else None


def _any(machine: Machine) -> bool:
    return True


def _takes(width: str) -> Asked:
    """Which machines to name for it: FP8 is for GPUs from Ampere on, before it hardly any software takes it."""
    return _any if width != "fp8" else lambda machine: "bf16" in machine.able.precisions


def _cheapest(answer: Answer, *, roomy: Workload | None = None) -> Choice | None:
    """The smallest that fits: an accelerated one where there is any, for memory is what a CPU type has most of.

    With ``roomy`` only those count whose own memory takes the weights of that workload, too.
    """
    priced = [choice for choice in answer.fitting if choice.usd_per_hour is not None]
    if roomy is not None:
        priced = [choice for choice in priced if not _is_narrow(choice, roomy, share=USABLE_SHARE)]
    accelerated = [choice for choice in priced if choice.kind != "cpu"]
    return _cheapest_hours(accelerated or priced) if priced else None


def _cheapest_hours(choices: list[Choice]) -> Choice:
    return min(choices, key=lambda each: (each.usd_per_hour is None, _hourly(each), each.instance_type))


def _hourly(choice: Choice) -> float:
    return (choice.usd_per_hour or 0.0) * choice.instances_per_replica


def _cheaper(choice: Choice, than: Choice | None) -> bool:
    if choice.usd_per_unit is None:
        return False
    return than is None or than.usd_per_unit is None or choice.usd_per_unit < _WORTH_SAYING * than.usd_per_unit


def _comparable(choice: Choice) -> bool:
    """Whether its figure is of about the requests that are wanted: else they would make the difference."""
    return choice.confidence != "low"


def _smaller(choice: Choice, than: Choice | None) -> bool:
    return than is None or _hourly(choice) < _WORTH_SAYING * _hourly(than)


def _against(choice: Choice | None) -> str:
    return "" if choice is None else f", against {_cost(choice)}"


def _cost(choice: Choice) -> str:
    several = choice.instances_per_replica if choice.instances_per_replica > 1 else None
    count = several if choice.instances is None else choice.instances
    number = "" if count is None else f"{count} x "
    if choice.usd_per_unit is None:
        return f"{number}{choice.instance_type}"
    doubt = " (low confidence)" if choice.confidence == "low" else ""
    return f"{number}{choice.instance_type} at {_shown(choice.usd_per_unit)} USD for {choice.unit_of_work}{doubt}"


def _hour(choice: Choice) -> str:
    number = f"{choice.instances_per_replica} x " if choice.instances_per_replica > 1 else ""
    return f"{number}{choice.instance_type} ({_shown(_hourly(choice))} USD an hour)"


def _shown(amount: float) -> str:
    return f"{amount:,.2f}" if amount >= 1 else f"{amount:.3g}"


def _hint(kind: str, text: str, choice: Choice, *, cost: bool = True) -> Hint:
    usd = choice.usd_per_unit if cost else None
    return Hint(kind=kind, text=text, instance_type=choice.instance_type, usd_per_unit=usd)
