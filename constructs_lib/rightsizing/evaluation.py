"""Judges each instance type for one workload: what fits on it, and what was measured there."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from constructs_lib.catalog import accelerator, price
from constructs_lib.rightsizing.figures import Match, Measurement, matches
from constructs_lib.rightsizing.machines import Machine
from constructs_lib.rightsizing.memory import replica_memory
from constructs_lib.rightsizing.recommendation import CONFIDENCES, Choice, Figure, Refusal
from constructs_lib.rightsizing.workload import Workload

# vLLM fills nine tenths of a GPU's memory by default (gpu_memory_utilization); the rest is for the driver, the CUDA
# context and what memory management wastes. On a CPU type it is for the operating system.
USABLE_SHARE = 0.9
_MOST_STAGES = 64
_TWICE, _FOUR_TIMES = math.log(2), math.log(4)
_PATIENCE_MS = 10_000.0
_ALONE = "its figure is of one request at a time, and what it does with several nobody has measured"
_TOO_SLOW = "no measured load keeps the latency goal"

_KIND_OF_STACK = MappingProxyType({"cuda": "nvidia", "neuron": "neuron", "cpu": "cpu"})
_SERVING = ("inference", "batch_inference")
_WORK: Mapping[str, tuple[str, float]] = MappingProxyType(
    {
        "tokens/s": ("1M tokens", 1e6 / 3600),
        "requests/s": ("1M requests", 1e6 / 3600),
        "sequences/s": ("1M sequences", 1e6 / 3600),
        "sessions": ("session-hour", 1.0),
        "streams": ("stream-hour", 1.0),
        "jobs/h": ("job", 1.0),
    }
)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What became of each instance type."""

    choices: tuple[Choice, ...]
    unmeasured: tuple[Choice, ...]
    refused: tuple[Refusal, ...]

    @property
    def fitting(self) -> tuple[Choice, ...]:
        """All that fit, ranked or not."""
        return (*self.choices, *self.unmeasured)


@dataclass(frozen=True, kw_only=True)
class _Layout:
    """How one measured figure is laid out on an instance type."""

    match: Match
    copies: int
    nodes: int
    needed_mib: float | None
    most: bool = False  # whether more requests at a time were measured there, and miss the goals

    @property
    def value(self) -> float:
        return self.match.value * self.copies

    @property
    def rank(self) -> tuple[bool, float, bool, float, float, int, str]:
        """The closest requests of the workload's own model come first, and of these the most work of one instance."""
        match, distance = self.match, self.match.distance
        near = 0.0 if distance is None else round(distance, 6)
        an_instance = self.value / self.nodes
        return (match.stand_in, match.gap, distance is None, near, -an_instance, self.nodes, match.measurement.source)


@dataclass(kw_only=True)
class _Question:
    """One workload with what is computed for it once, whatever number of types is judged."""

    workload: Workload
    prices_of: str
    offered_in: str | None
    found: Mapping[str, tuple[Match, ...]]
    needs: dict[tuple[int, int, int], float | None] = field(default_factory=dict)

    def need_mib(self, devices: int, *, sequences: int | None = None, stages: int = 1) -> float | None:
        key = (devices, self.workload.batch if sequences is None else sequences, stages)
        if key not in self.needs:
            memory = replica_memory(self.workload, devices, sequences=key[1], stages=stages)
            self.needs[key] = None if memory is None else memory.total
        return self.needs[key]

    def fits(self, machine: Machine, devices: int, *, sequences: int | None = None, stages: int = 1) -> bool:
        need = self.need_mib(devices, sequences=sequences, stages=stages)
        return need is None or need <= machine.memory_mib * USABLE_SHARE


def evaluate(workload: Workload, pool: Iterable[Machine], *, prices_of: str, offered_in: str | None) -> Answer:
    """Judge every type of the pool.

    Args:
        workload: what is to be done.
        pool: the types, by name.
        prices_of: the region whose prices count.
        offered_in: the region that must offer a type, None for any.
    """
    question = _Question(workload=workload, prices_of=prices_of, offered_in=offered_in, found=_by_device(workload))
    refusals: dict[str, list[str]] = {}
    choices: list[Choice] = []
    small: list[Machine] = []
    for machine in pool:
        judged = _judge(machine, question)
        if isinstance(judged, Choice):
            choices.append(judged)
        elif judged is None:
            small.append(machine)
        elif judged:
            refusals.setdefault(judged, []).append(machine.name)
    if not choices and _TOO_SLOW not in refusals:
        choices = [choice for choice in (_spread(machine, question) for machine in small) if choice is not None]
    placed = {choice.instance_type for choice in choices}
    for machine in small:
        if machine.name not in placed:
            refusals.setdefault(_too_small(machine, question), []).append(machine.name)
    choices = _at_like_load(choices, workload)
    return Answer(
        choices=tuple(sorted((each for each in choices if each.why_unranked is None), key=_by_cost)),
        unmeasured=tuple(sorted((each for each in choices if each.why_unranked is not None), key=_by_hour)),
        refused=tuple(
            Refusal(reason=reason, instance_types=tuple(sorted(refusals[reason]))) for reason in sorted(refusals)
        ),
    )


def is_alone(choice: Choice, workload: Workload) -> bool:
    """Whether its figure is of one request at a time, where the work takes several: no other figure compares."""
    figure = choice.throughput
    if figure is None or not workload.writes_text or workload.concurrency == 1:
        return False
    enough = workload.rate is not None and figure.value / figure.replicas >= workload.rate
    return choice.confidence == "low" and figure.concurrency == figure.replicas and not enough


def _at_like_load(choices: list[Choice], workload: Workload) -> list[Choice]:
    """Take what was measured with one request at a time out of a ranking by what others do with many."""
    ranked = [each for each in choices if each.why_unranked is None]
    if all(is_alone(each, workload) for each in ranked):
        return choices
    return [_unranked(each) if each.why_unranked is None and is_alone(each, workload) else each for each in choices]


def _unranked(choice: Choice) -> Choice:
    return replace(choice, why_unranked=_ALONE, instances=None, usd_per_unit=None, watts_per_unit=None)


def _by_device(workload: Workload) -> Mapping[str, tuple[Match, ...]]:
    """The measurements by model of accelerator, or by name of a CPU type."""
    found: dict[str, list[Match]] = {}
    for match in matches(workload):
        measured = match.measurement
        found.setdefault(measured.instance_type or measured.accelerator, []).append(match)
    return {device: tuple(each) for device, each in found.items()}


def _by_cost(choice: Choice) -> tuple[float, int, float, str]:
    """Of two that cost the same the fewer instances come first, and without a rate the smaller one."""
    return (choice.usd_per_unit or 0.0, choice.instances or 0, choice.usd_per_hour or 0.0, choice.instance_type)


def _by_hour(choice: Choice) -> tuple[bool, bool, float, str]:
    priced = choice.usd_per_hour is not None
    return (choice.kind == "cpu", not priced, choice.usd_per_hour_in_all or 0.0, choice.instance_type)


def _unsuited(machine: Machine, question: _Question) -> str | None:
    """Why a type is out of the question: None for no reason, an empty text where nobody would have thought of it."""
    workload = question.workload
    by_use = _unsuited_to_use(machine, workload)
    if by_use is not None:
        return by_use
    if machine.status == "retired":
        return "AWS has retired it"
    if machine.architecture not in (workload.architectures or ()):
        return f"its CPU is {machine.architecture}, and the software is built for {_listed(workload.architectures)}"
    offered = question.offered_in
    if offered is not None and machine.regions is not None and offered not in machine.regions:
        return f"{offered} does not offer it"
    able = machine.able
    if workload.use == "training" and not able.training:
        return f"{machine.model} is made for inference, not for training"
    if workload.writes_text and not able.text:
        return f"on {machine.model} no language models are served"
    if workload.facts is not None and workload.weights_precision not in able.precisions:
        return (
            f"{machine.model} does not compute with {workload.weights_precision}; it takes {_listed(able.precisions)}"
        )
    return None


def _unsuited_to_use(machine: Machine, workload: Workload) -> str | None:
    if workload.use == "fpga":
        return None if machine.kind == "fpga" else ""
    if workload.use in ("graphics", "transcoding"):
        if machine.kind == "cpu":
            return ""
        if not machine.video_encoder:
            return f"AWS does not offer it for {workload.use}"
        media = workload.use == "graphics" and machine.kind not in ("nvidia", "amd")
        return "it encodes video, and does not draw" if media else None
    kinds = [_KIND_OF_STACK[each] for each in workload.stack or ()]
    if machine.kind in kinds:
        return None
    if machine.kind == "cpu":
        return ""
    return f"its accelerators ({machine.kind}) do not run a stack of {_listed(workload.stack)}"


def _listed(names: Iterable[str] | None) -> str:
    return ", ".join(names or ())


def _fewest(machine: Machine, question: _Question) -> int | None:
    """Fewest devices that hold one replica, or None if all of them do not."""
    wanted = question.workload.accelerators or 1
    for devices in range(wanted, machine.devices + 1):
        if machine.devices % devices == 0 and _divides(machine, question, devices) and question.fits(machine, devices):
            return devices
    return None


def _divides(machine: Machine, question: _Question, devices: int) -> bool:
    """Tensor parallelism on GPUs gives each one a whole number of attention heads; Neuron pads them.

    For training whole groups that share a layer are counted.
    """
    facts = question.workload.facts
    if question.workload.use == "training":
        return devices % (question.workload.tensor_parallel or 1) == 0
    if machine.kind != "nvidia" or facts is None or facts.shape is None:
        return True
    return facts.shape.heads % devices == 0


def _judge(machine: Machine, question: _Question) -> Choice | str | None:
    """A choice; or why the type is refused, an empty text where nobody would ask; or None if it is too small."""
    reason = _unsuited(machine, question)
    if reason is not None:
        return reason
    fewest = _fewest(machine, question)
    found = question.found.get(machine.name if machine.kind == "cpu" else machine.model, ())
    layouts = [each for each in (_layout(machine, question, match, fewest) for match in found) if each]
    if not layouts and fewest is None:
        return None
    reached = _reached(layouts, question.workload)
    if reached:
        best = min(reached, key=lambda each: (_wants_more_at_once(each, machine, question), each.rank))
        return _choice(machine, question, fewest, best)
    if any(_misses_goals(each, question.workload) for each in layouts):
        return _TOO_SLOW
    why = "its figures have no latency to hold against the goal" if layouts else "nobody has measured this work on it"
    return _choice(machine, question, fewest, None, why)


def _reached(layouts: list[_Layout], workload: Workload) -> list[_Layout]:
    """The layouts that keep the goals, each knowing whether a higher load does not."""
    slow = [each for each in layouts if not _keeps_goals(each, workload)]
    tried = {
        (each.match.measurement.count, each.nodes, each.match.stand_in)
        for each in slow
        if (each.match.measurement.concurrency or 0) > 1
    }
    return [
        replace(each, most=(each.match.measurement.count, each.nodes, each.match.stand_in) in tried)
        for each in layouts
        if _keeps_goals(each, workload)
    ]


def _is_made_so(machine: Machine, question: _Question, measured: Measurement, fewest: int | None) -> bool:
    """Whether the type has such accelerators, and as many of them as were measured or a multiple."""
    if machine.kind != "cpu" and not measured.is_of(machine.model, machine.memory_mib, machine.fraction):
        return False
    if question.workload.use == "training" and not _divides(machine, question, machine.devices):
        return False
    count = max(1, measured.count)
    if measured.nodes > 1:
        return machine.devices * measured.nodes == count and machine.efa
    return machine.devices % count == 0 and fewest is not None and fewest <= count


def _layout(machine: Machine, question: _Question, match: Match, fewest: int | None) -> _Layout | None:
    measured, workload = match.measurement, question.workload
    if not _is_made_so(machine, question, measured, fewest):
        return None
    busy = measured.concurrency or 1
    if workload.concurrency is not None and busy > workload.concurrency * 1.05:
        return None
    devices = max(1, measured.count) // measured.nodes
    # For training the figure's concurrency is its own micro-batch, which need not be the workload's.
    sequences = workload.batch
    if workload.use in _SERVING:
        sequences = max(sequences, math.ceil(busy - 1e-9))
    if not question.fits(machine, devices, sequences=sequences, stages=measured.nodes):
        if not match.was_held_for(workload):
            return None
        if workload.use == "training":
            needed = _divided_mib(machine, question, devices, measured.nodes)
            return _Layout(match=match, copies=1, nodes=measured.nodes, needed_mib=needed)
        sequences = _most_at_once(machine, question, devices, sequences)
        if sequences < workload.batch:
            return None
    copies = machine.devices // devices if measured.nodes == 1 else 1
    needed = question.need_mib(devices, sequences=sequences, stages=measured.nodes)
    return _Layout(match=match, copies=copies, nodes=measured.nodes, needed_mib=needed)


def _divided_mib(machine: Machine, question: _Question, devices: int, nodes: int) -> float | None:
    """The need with each layer shared by all accelerators of an instance; None if that would not do either."""
    memory = replica_memory(question.workload.with_changes(tensor_parallel=devices), devices, stages=nodes)
    return None if memory is None or memory.total > machine.memory_mib * USABLE_SHARE else memory.total


def _most_at_once(machine: Machine, question: _Question, devices: int, beyond: int) -> int:
    """How many sequences the memory holds, 0 for none; ``beyond`` is a number of them that it does not hold."""
    held = 0
    while beyond - held > 1:
        middle = (held + beyond) // 2
        if question.fits(machine, devices, sequences=middle):
            held = middle
        else:
            beyond = middle
    return held


def _goals(layout: _Layout, workload: Workload) -> tuple[tuple[float | None, float | None], ...]:
    match = layout.match
    return (
        (workload.first_token_ms, match.first_token_ms),
        (workload.per_token_ms, match.measurement.per_token_ms),
        (workload.latency_ms, match.latency_ms),
    )


def _keeps_goals(layout: _Layout, workload: Workload) -> bool:
    if _tries_patience(layout, workload):
        return False
    return all(goal is None or (figure is not None and figure <= goal) for goal, figure in _goals(layout, workload))


def _misses_goals(layout: _Layout, workload: Workload) -> bool:
    if _tries_patience(layout, workload):
        return True
    return any(goal is not None and figure is not None and figure > goal for goal, figure in _goals(layout, workload))


def _tries_patience(layout: _Layout, workload: Workload) -> bool:
    """Whether somebody who waits for the answer, and stated no goal, would be gone before its first token."""
    stated = (workload.first_token_ms, workload.latency_ms)
    waited = layout.match.first_token_ms
    return workload.use == "inference" and stated == (None, None) and waited is not None and waited > _PATIENCE_MS


def _choice(
    machine: Machine,
    question: _Question,
    fewest: int | None,
    layout: _Layout | None,
    why_unranked: str | None = None,
    stages: int = 1,
) -> Choice:
    workload = question.workload
    usd, date, estimated = _price(machine, question.prices_of)
    nodes = stages if layout is None else layout.nodes
    value = None if layout is None else layout.value
    instances = None
    if workload.rate is not None and value is not None:
        instances = max(1, math.ceil(workload.rate / value - 1e-9)) * nodes
    unit_of_work, amount = _WORK[workload.unit_of_work]
    per_unit = None
    if usd is not None and value is not None:
        per_unit = usd * (nodes if instances is None else instances) * amount / (workload.rate or value)
        per_unit = float(f"{per_unit:.12g}")  # the last bits would decide between two that cost the same
    if usd is None:
        no_price = f"its price in {question.prices_of} is not known"
        why_unranked = no_price if why_unranked is None else f"{why_unranked}, and {no_price}"
    confidence = None if layout is None else _confidence(layout, machine, question, instances)
    if instances is not None and workload.concurrency is None and _is_floor(layout, machine, question):
        # What one request gets is no measure of what the rate takes.
        instances = per_unit = value = None
        why_unranked = why_unranked or _ALONE
    held = fewest or machine.devices
    needed = layout.needed_mib if layout is not None else question.need_mib(held, stages=stages)
    return Choice(
        instance_type=machine.name,
        kind=machine.kind,
        accelerator=None if machine.kind == "cpu" else machine.model,
        accelerators=machine.accelerators,
        fraction=machine.fraction,
        architecture=machine.architecture,
        processor=machine.processor,
        status=machine.status,
        accelerators_per_replica=0 if machine.kind == "cpu" else held * nodes if nodes > 1 else held,
        replicas_per_instance=0 if nodes > 1 else _replicas(machine, question, held),
        instances_per_replica=nodes,
        memory_needed_mib=None if needed is None else round(needed, 1),
        memory_there_mib=machine.memory_mib,
        throughput=None if layout is None else _figure(layout, workload),
        instances=instances,
        region=question.prices_of,
        usd_per_hour=usd,
        price_date=date,
        price_estimated=estimated,
        usd_per_unit=per_unit,
        unit_of_work=unit_of_work,
        watts_per_unit=None if value is None else _watts(machine, nodes, value),
        confidence=confidence,
        why_unranked=why_unranked,
        host_memory_mib=machine.host_memory_mib,
    )


def _replicas(machine: Machine, question: _Question, devices: int) -> int | None:
    """How many replicas the memory holds: several on one accelerator, or one on several."""
    need = question.need_mib(devices)
    if need is None:
        return None
    if devices > 1:
        return machine.devices // devices
    return machine.devices * int(machine.memory_mib * USABLE_SHARE // need)


def _price(machine: Machine, region: str) -> tuple[float | None, str | None, bool]:
    listed = price(machine.name, region)
    if listed is not None:
        return listed.usd_per_hour, listed.date, listed.estimated
    if region == "us-east-1" and machine.usd_per_hour is not None:
        return machine.usd_per_hour, None, False
    return None, None, False


def _watts(machine: Machine, nodes: int, value: float) -> float | None:
    facts = None if machine.kind == "cpu" else accelerator(machine.model, memory_mib=machine.memory_mib)
    if facts is None or facts.power_limit_w is None:
        return None
    return facts.power_limit_w * machine.devices * (machine.fraction or 1.0) * nodes / value


def _confidence(layout: _Layout, machine: Machine, question: _Question, instances: int | None) -> str:
    match, workload = layout.match, question.workload
    level = 0
    if not match.measurement.on_ec2 or layout.copies > 1:
        level = 1
    if match.distance is not None and match.distance > _TWICE:
        level = 1
    if workload.use == "training" and instances is not None and instances > layout.nodes:
        level = 1  # several such jobs side by side are no one job at the sum of their speeds
    if match.stand_in or match.distance is None or match.distance > _FOUR_TIMES + 1e-9:
        level = 2
    if _wants_more_at_once(layout, machine, question):
        level = 2
    return CONFIDENCES[level]


def _wants_more_at_once(layout: _Layout, machine: Machine, question: _Question) -> bool:
    """Whether one request at a time was measured, where the work takes several and the memory holds them."""
    measured, workload = layout.match.measurement, question.workload
    if not workload.writes_text or workload.concurrency == 1 or measured.concurrency is None:
        return False
    enough = workload.rate is not None and layout.match.value >= workload.rate
    if measured.concurrency > 1 or enough or layout.most:
        return False
    devices = max(1, measured.count) // measured.nodes
    return question.fits(machine, devices, sequences=2, stages=measured.nodes)


def _is_floor(layout: _Layout | None, machine: Machine, question: _Question) -> bool:
    return layout is not None and _wants_more_at_once(layout, machine, question)


def _figure(layout: _Layout, workload: Workload) -> Figure:
    measured = layout.match.measurement
    return Figure(
        value=layout.value,
        unit=workload.unit_of_work,
        source=measured.source,
        date=measured.date,
        conditions=_conditions(layout, workload),
        replicas=layout.copies,
        instances=layout.nodes,
        concurrency=None if measured.concurrency is None else measured.concurrency * layout.copies,
        first_token_ms=measured.first_token_ms,
        per_token_ms=measured.per_token_ms,
        latency_ms=measured.latency_ms,
    )


def _conditions(layout: _Layout, workload: Workload) -> str:
    measured = layout.match.measurement
    on = "a CPU" if measured.accelerator == "cpu" else f"{measured.count} x {measured.accelerator}"
    if measured.fraction is not None:
        on = f"{measured.fraction:g} of a {measured.accelerator}"
    parts = [f"{measured.model} {measured.precision}".strip(), f"on {on}"]
    if measured.nodes > 1:
        parts.append(f"in {measured.nodes} instances together")
    parts.extend(_lengths(measured))
    if measured.concurrency:
        parts.append(f"{measured.concurrency:g} at the same time")
    if workload.use == "training" and layout.match.value != measured.value:
        parts.append(f"{measured.value:g} {measured.unit} as measured, counted by their tokens")
    if layout.copies > 1:
        parts.append(f"times {layout.copies} replicas")
    if measured.software:
        parts.append(measured.software)
    if not measured.on_ec2:
        parts.append("not measured on EC2")
    return ", ".join(parts)


def _lengths(measured: Measurement) -> tuple[str, ...]:
    if measured.input_tokens and measured.output_tokens:
        return (f"{measured.input_tokens} tokens in, {measured.output_tokens} out",)
    if measured.input_tokens:
        return (f"sequences of {measured.input_tokens} tokens",)
    served = measured.task == "serving" and measured.unit == "tokens/s"
    return ("requests of the benchmark's own lengths",) if served else ()


def _spread(machine: Machine, question: _Question) -> Choice | None:
    """One replica over several instances, where nothing holds it alone."""
    stages = _stages(machine, question)
    if stages is None:
        return None
    why = f"nobody has measured this work on {stages} of them together"
    return _choice(machine, question, None, None, why, stages)


def _stages(machine: Machine, question: _Question) -> int | None:
    """How many instances hold one replica together, None for no number: only types with EFA are joined so."""
    workload = question.workload
    if not machine.efa or workload.memory_mib is not None or workload.use not in ("training", *_SERVING):
        return None
    facts = workload.facts
    most = _MOST_STAGES if facts is None or facts.shape is None else min(_MOST_STAGES, facts.shape.layers)
    if not _divides(machine, question, machine.devices):
        return None
    for stages in range(2, most + 1):
        if question.fits(machine, machine.devices, stages=stages):
            return stages
    return None


def _too_small(machine: Machine, question: _Question) -> str:
    parallel = question.workload.tensor_parallel or 1
    if parallel > machine.devices:
        return f"tensor_parallel={parallel} counts accelerators, not their cores, and it has {machine.devices}"
    wanted = question.workload.accelerators or 1
    if wanted > machine.devices:
        return f"it has fewer than {wanted} accelerators"
    layouts = [each for each in range(wanted, machine.devices + 1) if machine.devices % each == 0]
    if not any(_divides(machine, question, each) for each in layouts):
        return "its accelerators cannot share the model evenly"
    stated = question.workload.memory_mib
    spread = stated is not None and stated <= machine.memory_mib * machine.devices * USABLE_SHARE
    if spread and question.workload.accelerators is None:
        return "one of its accelerators does not hold it: state accelerators= if several may"
    if _stages(machine, question) is not None:
        return "one does not hold one replica, several of them joined by EFA would"
    return "its memory does not hold one replica"
