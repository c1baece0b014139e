"""Advice beside the ranking: what would be cheaper or smaller, and what nobody has measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from constructs_lib.rightsizing.evaluation import Answer
from constructs_lib.rightsizing.machines import Machine, abilities
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
            _adapters(workload, answer, ask),
            _shared_layers(workload, answer, ask),
            _batching(workload, answer, ask),
            _one_at_a_time(workload, answer),
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
    if not answer.choices:
        yield Hint(kind="not-measured", text=_not_measured(len(answer.unmeasured)))


def _not_measured(types: int) -> str:
    if types == 1:
        return (
            "1 type fits, and it cannot be ranked: no figure of this work is known for it, or no price. Measure what "
            "it does."
        )
    return (
        f"{types} types fit, and none of them can be ranked: no figure of this work is known for them, or no price. "
        "They are listed by the price of an hour, which says nothing about what they do in it; measure two or three."
    )


def _cpu(workload: Workload, answer: Answer, ask: Ask) -> Iterator[Hint]:
    if workload.use not in _SERVING:
        return
    best = answer.choices[0] if answer.choices else None
    if "cpu" in (workload.stack or ()):
        if best is not None and best.kind == "cpu" and not _is_alone(best, workload):
            rest = [choice for choice in answer.choices if choice.kind != "cpu"]
            than = f", against {_cost(rest[0])} for the best with an accelerator" if rest else ""
            text = f"A CPU is enough ({best.processor}): {_cost(best)}{than}."
            yield _hint("cpu-is-enough", text, best)
        return
    if workload.accelerators is not None and workload.accelerators > 1:
        return
    other = _best(ask(workload.with_changes(stack=("cpu",)), lambda machine: machine.kind == "cpu"))
    if other is not None and _cheaper(other, best) and not _is_alone(other, workload):
        text = f"A CPU is enough ({other.processor}), if your software runs on one: {_cost(other)}{_against(best)}."
        yield _hint("cpu-is-enough", text, other)


def _fraction(workload: Workload, answer: Answer) -> Iterator[Hint]:
    best = answer.choices[0] if answer.choices else None
    if best is not None and best.fraction is not None and not _is_alone(best, workload):
        whole = next((choice for choice in answer.choices if choice.kind != "cpu" and choice.fraction is None), None)
        than = "" if whole is None else f", against {_cost(whole)} for the best whole one"
        text = f"A fraction of a GPU is enough: {_cost(best)}, {best.fraction:g} of a {best.accelerator}{than}."
        yield _hint("fraction-is-enough", text, best)
    elif best is None and answer.unmeasured and answer.unmeasured[0].fraction is not None:
        first = answer.unmeasured[0]
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
    if other is None:
        return
    if best is None:
        text = f"With Neuron in your stack there is a figure: {_cost(other)} on {other.accelerator}."
        yield _hint("neuron-is-measured", text, other)
    elif _cheaper(other, best):
        text = f"{other.accelerator} is cheaper, if your stack can use Neuron: {_cost(other)}{_against(best)}."
        yield _hint("neuron-is-cheaper", text, other)


def _quantise(workload: Workload, answer: Answer, ask: Ask) -> Iterator[Hint]:
    if workload.use not in _SERVING or workload.facts is None or workload.memory_mib is not None:
        return
    best = answer.choices[0] if answer.choices else None
    smallest = _cheapest(answer)
    asked = [(width, ask(workload.with_changes(precision=width), _any)) for width in _narrower(workload)]
    measured = [
        (choice, width)
        for width, other in asked
        for choice in other.choices
        if _cheaper(choice, best) and (best is None or _comparable(choice))
    ]
    cheapest = None
    if measured:
        cheapest, width = min(measured, key=lambda pair: (pair[0].usd_per_unit or 0.0, pair[1]))
        text = (
            f"Quantised to {width.upper()} it is cheaper: {_cost(cheapest)}{_against(best)}. Check its answers first."
        )
        yield _hint("quantise", text, cheapest)
    for width, other in asked:
        small = _cheapest(other)
        if small is not None and _smaller(small, smallest) and small != cheapest:
            held = "" if smallest is None else f", where {workload.weights_precision.upper()} takes {_hour(smallest)}"
            text = f"Quantised to {width.upper()} it fits on {_hour(small)}{held}. Check its answers first."
            yield _hint("quantise-to-fit", text, small, cost=False)
            return


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


def _shared_layers(workload: Workload, answer: Answer, ask: Ask) -> Iterator[Hint]:
    """Activations are what data parallelism does not divide: say what tensor parallelism would."""
    if workload.use != "training" or (workload.tensor_parallel or 1) > 1 or workload.memory_mib is not None:
        return
    if answer.choices:
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
    """Say so where the ranking rests on figures of one request at a time, and the work takes several."""
    best = _best(answer)
    if best is not None and _is_alone(best, workload):
        text = (
            f"The figure of {best.instance_type} is of one request at a time, for nobody has measured more of them "
            "together. Served together they take fewer instances, above all with accelerators: measure that before "
            "you rent so many."
        )
        yield _hint("one-at-a-time", text, best)


def _is_alone(choice: Choice, workload: Workload) -> bool:
    """Whether its figure is of one request at a time, where the work takes several: no other figure compares."""
    figure = choice.throughput
    if figure is None or not workload.writes_text or workload.concurrency == 1:
        return False
    enough = choice.instances == choice.instances_per_replica
    return choice.confidence == "low" and figure.concurrency == figure.replicas and not enough


def _age(answer: Answer) -> Iterator[Hint]:
    best = answer.choices[0] if answer.choices else None
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


def _cheapest(answer: Answer) -> Choice | None:
    """The smallest that fits: an accelerated one where there is any, for memory is what a CPU type has most of."""
    priced = [choice for choice in answer.fitting if choice.usd_per_hour is not None]
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
