"""``accel-fleet recommend``: which instance types suit a workload."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

from constructs_lib.cli.arguments import (
    Commands,
    Parser,
    add_command,
    add_json,
    add_tables,
    commands_of,
    listed,
    take_tables,
)
from constructs_lib.cli.catalog import devices
from constructs_lib.cli.output import amount, document, gib, heading, paragraph, point, table
from constructs_lib.cli.spelling import NEWER_TABLES, Spelling, options_of
from constructs_lib.cli.statuses import FINE, FOUND
from constructs_lib.errors import ArgumentError
from constructs_lib.plain_text import several
from constructs_lib.validation import closest, complaint

if TYPE_CHECKING:
    from constructs_lib.rightsizing import Choice, ModelShape, Recommendation, Refusal, Workload

_WHERE = "accel-fleet recommend"
_MOST_CHOICES = 8
_MOST_NAMES = 12
_MOST_REFUSALS = 8
# How reasons begin that tell most, and that nobody wonders about.
_TELLING = ("its memory", "one of its accelerators", "one does not hold", "it has fewer", "no measured load")
_PLAIN = ("its accelerators (", "AWS does not offer it", "AWS has retired it")
_ABBREVIATED = {"hpc": "HPC", "fpga": "FPGA"}
_PARTS = {
    "weights": "weights",
    "kv_cache": "KV cache",
    "activations": "activations",
    "gradients": "gradients",
    "optimizer": "optimizer",
    "stated": "as stated",
}


@dataclass(frozen=True)
class Work:
    """How work of one unit is spoken of.

    Attributes:
        cost: head of the column of what the work costs.
        paid: what that pays.
        energy: watts for a unit of throughput, in short.
        energy_in_words: what that is.
    """

    cost: str
    paid: str
    energy: str
    energy_in_words: str


# A watt for a token a second is a joule for a token, and for a job an hour a watt-hour for a job.
_WORK: Mapping[str, Work] = {
    "tokens/s": Work("USD/1M", "a million tokens", "J/token", "joules for a token"),
    "requests/s": Work("USD/1M", "a million requests", "J/request", "joules for a request"),
    "sequences/s": Work("USD/1M", "a million sequences", "J/sequence", "joules for a sequence"),
    "sessions": Work("USD/unit", "an hour of a session", "W/session", "watts for a session"),
    "streams": Work("USD/unit", "an hour of a stream", "W/stream", "watts for a stream"),
    "jobs/h": Work("USD/job", "a job", "Wh/job", "watt-hours for a job"),
}

Kind = Callable[[str], object]


@dataclass(frozen=True)
class Option:
    """An option that is a parameter of a workload: what it holds, and what help says of it."""

    kind: Kind
    help: str


OPTIONS: Mapping[str, Option] = {
    "model": Option(str, "name of a published model, for example llama-3.1-8b"),
    "parameters": Option(float, "of any other model, for example 8.03e9"),
    "model_kind": Option(str, "of that model: decoder, encoder, vision or diffusion; default: decoder"),
    "memory_mib": Option(float, "measured accelerator memory of one replica, MiB, in place of the arithmetic"),
    "precision": Option(str, "of the weights: fp32, bf16, fp16, fp8, int8 or int4; default: bf16"),
    "kv_precision": Option(str, "of the KV cache: bf16, fp16, fp8 or int8; default: bf16"),
    "input_tokens": Option(int, "of a typical request; default: 256"),
    "output_tokens": Option(int, "of a typical request; default: 128"),
    "context_tokens": Option(int, "longest sequence that must fit; default: a typical request, 2048 for training"),
    "concurrency": Option(int, "requests that one replica serves at the same time"),
    "rate": Option(float, "work to be done, in the unit; default: as much as one instance can"),
    "unit": Option(str, "of the rate: tokens/s, requests/s or sequences/s"),
    "first_token_ms": Option(float, "median time to the first token, at most"),
    "per_token_ms": Option(float, "median time between two tokens, at most"),
    "latency_ms": Option(float, "median time of a whole answer, at most"),
    "stack": Option(
        listed, "what the software runs on, of cuda,neuron,cpu; default: cuda,cpu, for training and hpc cuda"
    ),
    "architectures": Option(listed, "of the CPU that the software is built for; default: x86_64,arm64"),
    "accelerators": Option(int, "at least so many for one replica; default: as few as hold it"),
    "method": Option(str, "of training: full, lora or qlora; default: full"),
    "lora_rank": Option(int, "of the adapters; default: 16"),
    "optimizer": Option(str, "adamw, adamw8bit or sgd; default: adamw"),
    "zero_stage": Option(int, "0 divides nothing among accelerators, 3 the weights too; default: 3"),
    "tensor_parallel": Option(int, "accelerators of one instance that share each layer; default: 1"),
    "micro_batch": Option(int, "sequences on one such group at a time; default: 1"),
    "recompute": Option(str, "of activations: none, selective or full; default: selective"),
    "video": Option(str, "lines and frames a second, for example 1080p30; default: 1080p60"),
}
"""Parameters of the workloads' factories, but for the shape, which is made of :data:`SHAPE`."""

SHAPE: Mapping[str, Option] = {
    "layers": Option(int, "num_hidden_layers"),
    "hidden": Option(int, "hidden_size"),
    "heads": Option(int, "num_attention_heads"),
    "kv_heads": Option(int, "num_key_value_heads; default: as many as heads"),
    "head_dim": Option(int, "width of a head; default: hidden / heads"),
    "ffn": Option(int, "intermediate_size; default: four times hidden"),
    "vocab": Option(int, "vocab_size"),
    "experts": Option(int, "feed-forward blocks of a layer; default: 1"),
}
_SHAPE_NEEDS = ("layers", "hidden", "heads")
_SHAPE_OPTIONS = "--layers, --hidden and --heads"
_SPELLING = Spelling(
    command="recommend",
    options={
        **options_of(*OPTIONS, *SHAPE, "tied", "region"),
        "shape": _SHAPE_OPTIONS,
        "instance_types": "--type",
        "folder": "--tables",
    },
    calls={"AcceleratedType": NEWER_TABLES},
)

_MODEL = ("model", "parameters", "model_kind", "precision", "context_tokens")
_MACHINE = ("memory_mib", "accelerators", "architectures")
_SERVED = ("kv_precision", "input_tokens", "output_tokens", "concurrency")
_LOAD = ("rate", "unit")
_GOALS = ("first_token_ms", "per_token_ms", "latency_ms")
_TRAINED = ("method", "lora_rank", "optimizer", "zero_stage", "tensor_parallel", "micro_batch", "recompute")
USES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "inference": (
        "a model that answers requests as they come",
        (*_MODEL, *_SERVED, *_LOAD, *_GOALS, "stack", *_MACHINE),
    ),
    "batch-inference": (
        "a model that works through a store of inputs",
        (*_MODEL, *_SERVED, *_LOAD, "stack", *_MACHINE),
    ),
    "training": ("a model that is trained or fine-tuned", (*_MODEL, *_TRAINED, *_LOAD, "stack", *_MACHINE)),
    "graphics": ("sessions that draw", ("rate", *_MACHINE)),
    "transcoding": ("video streams that are encoded anew", ("video", "rate", *_MACHINE)),
    "hpc": ("a simulation or another calculation", ("rate", "stack", *_MACHINE)),
    "fpga": ("work for FPGAs", ("rate", "memory_mib", "accelerators")),
}
"""What each use is, and the options that it takes."""


def add_to(commands: Commands[Parser]) -> None:
    """Add the command."""
    text = "rank instance types for a workload by what its work costs"
    added = commands.add_parser("recommend", help=text, description=f"{text[0].upper()}{text[1:]}.")
    uses = commands_of(added, "USE")
    for use, (what, names) in USES.items():
        under = add_command(uses, use, _recommend, what, spelling=_SPELLING)
        _add_options(under, {name: OPTIONS[name] for name in names})
        if "model" in names:
            shape = under.add_argument_group("shape of a model that is not named", "as its config.json says")
            _add_options(shape, SHAPE)
            shape.add_argument("--tied", action="store_true", default=None, help="the output shares the embedding")
        under.add_argument("--region", help="that offers the type and whose prices count; default: us-east-1's prices")
        under.add_argument(
            "--type", action="append", help="that may be chosen; may be given again; default: all of the catalog"
        )
        under.add_argument("--all", action="store_true", help=f"print all choices, not the first {_MOST_CHOICES}")
        add_tables(under)
        add_json(under)
        under.set_defaults(use=use)


def _add_options(parser: argparse._ActionsContainer, options: Mapping[str, Option]) -> None:
    metavars: Mapping[Kind, str] = {int: "N", float: "N", str: "NAME", listed: "LIST"}
    for name, option in options.items():
        parser.add_argument(
            f"--{name.replace('_', '-')}", type=option.kind, metavar=metavars[option.kind], help=option.help
        )


def _recommend(chosen: argparse.Namespace) -> int:
    take_tables(chosen)
    from constructs_lib.rightsizing import recommend

    answer = recommend(_workload(chosen), region=chosen.region, instance_types=chosen.type)
    if chosen.json:
        document("recommend/1", answer.document())
    else:
        _show(answer, most=None if chosen.all else _MOST_CHOICES)
    return FINE if answer.choices or answer.unmeasured else FOUND


def _workload(chosen: argparse.Namespace) -> Workload:
    from constructs_lib.rightsizing import Workload

    stated: dict[str, Any] = {name: getattr(chosen, name) for name in USES[chosen.use][1]}
    if "model" in stated:
        _check_model(chosen.model)
        stated["shape"] = _shape(chosen)
    factory: Callable[..., Workload] = getattr(Workload, chosen.use.replace("-", "_"))
    return factory(**stated)


def _check_model(name: str | None) -> None:
    """Check the name here: it may have been copied with its owner, and a list of all names hides the one meant."""
    if name is None:
        return
    from constructs_lib.rightsizing.models import known_models, model_named

    try:
        model_named(_WHERE, "--model", name)
    except ArgumentError as error:
        meant = closest(name.rpartition("/")[2].lower().replace("_", "-"), known_models())
        cure = (
            f"{meant}state any other by --parameters with {_SHAPE_OPTIONS}, or by a measured --memory-mib; known are "
            f"{', '.join(known_models())}"
        )
        raise ArgumentError(complaint(_WHERE, "--model", "be one that is known here", name, cure)) from error


def _shape(chosen: argparse.Namespace) -> ModelShape | None:
    from constructs_lib.rightsizing import ModelShape

    stated = {name: getattr(chosen, name) for name in (*SHAPE, "tied") if getattr(chosen, name) is not None}
    if not stated:
        return None
    name, value = next(iter(stated.items()))
    option = _SPELLING.options[name]
    if chosen.model is not None:
        cure = "state a published model by its name, or any other by --parameters and its shape"
        raise ArgumentError(complaint(_WHERE, option, "be left out beside --model", value, cure))
    if chosen.parameters is None:
        cure = "the number of them is what the memory is computed from"
        raise ArgumentError(complaint(_WHERE, option, "go with --parameters", value, cure))
    missing = [_SPELLING.options[name] for name in _SHAPE_NEEDS if name not in stated]
    if missing:
        cure = "copy them from the model's config.json"
        raise ArgumentError(complaint(_WHERE, option, f"go with {' and '.join(missing)}", value, cure))
    return ModelShape(**stated)


# What is printed for people


def _show(answer: Recommendation, *, most: int | None) -> None:
    _show_question(answer)
    if answer.choices:
        _show_choices(answer, answer.choices[:most])
    else:
        heading("Nothing could be ranked.")
    if answer.hints:
        heading("Worth knowing:")
        for hint in answer.hints:
            point(_SPELLING.text(hint.text))
    if answer.unmeasured:
        _show_unranked(answer, most)
    if answer.refused:
        heading("Will not do:")
        for refusal in sorted(answer.refused, key=_plainness)[: None if most is None else _MOST_REFUSALS]:
            point(f"{_SPELLING.text(refusal.reason)}: {_some(refusal.instance_types, most)}")
        if most is not None and len(answer.refused) > _MOST_REFUSALS:
            point(f"{several(len(answer.refused) - _MOST_REFUSALS, 'more reason')}: --all")


def _plainness(refusal: Refusal) -> int:
    """Place of a reason among the others: first what a smaller model or a larger type would change."""
    if refusal.reason.startswith(_TELLING):
        return 0
    return 2 if refusal.reason.startswith(_PLAIN) else 1


def _show_question(answer: Recommendation) -> None:
    stated = [
        f"{name.replace('_', ' ')} {_said(value)}"
        for name, value in answer.workload.document().items()
        if name not in ("use", "shape", "unit", "rate", "memory_mib")
    ]
    rate = answer.workload.rate
    load = f"{amount(rate)} {answer.workload.unit_of_work}" if rate is not None else "full load of one instance"
    use = _ABBREVIATED.get(answer.workload.use, answer.workload.use.replace("_", " ").capitalize())
    told = f" {'; '.join(stated)}." if stated else ""
    paragraph(f"{use}, {load}, prices of {answer.region}.{told}")
    _show_memory(answer.workload)


def _show_memory(workload: Workload) -> None:
    """What one replica takes where its accelerators are as few as was asked for; the tables have it for each type."""
    from constructs_lib.rightsizing import replica_memory
    from constructs_lib.rightsizing.evaluation import USABLE_SHARE

    number = workload.accelerators or workload.tensor_parallel or 1
    memory = replica_memory(workload, number)
    if memory is None:
        paragraph("Memory: not known, and not looked at; --memory-mib states what one replica takes.")
        return
    on = "on one accelerator" if number == 1 else f"on each of {number} accelerators"
    if workload.stack == ("cpu",):
        on = "of its host"
    parts = [(name, getattr(memory, attribute)) for attribute, name in _PARTS.items()]
    told = ", ".join(f"{name} {amount(value / 1024)}" for name, value in parts if value)
    paragraph(
        f"Memory: one replica takes {gib(memory.total)} GiB {on} ({told}); {1 - USABLE_SHARE:.0%} of what is there "
        "stays free."
    )


def _said(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, float) and value.is_integer():
        return f"{value:,.0f}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _show_choices(answer: Recommendation, choices: Sequence[Choice]) -> None:
    unit = choices[0].throughput.unit if choices[0].throughput is not None else answer.workload.unit_of_work
    work = _WORK[unit]
    sources: dict[str, str] = {}
    rows = []
    for number, choice in enumerate(choices, start=1):
        figure = choice.throughput
        source = "" if figure is None else f"{figure.conditions}; {figure.source}, {figure.date}"
        mark = sources.setdefault(source, _mark(len(sources)))
        rows.append(
            (
                str(number),
                choice.instance_type,
                devices(choice.accelerators, choice.fraction, choice.accelerator),
                amount(None if figure is None else figure.value),
                "-" if choice.instances is None else str(choice.instances),
                _price(choice),
                amount(choice.usd_per_unit),
                amount(choice.watts_per_unit),
                f"{choice.confidence} {mark}",
            )
        )
    print()
    heads = ["", "type", "devices", "does", "need", "USD/h", work.cost, work.energy, "trust"]
    # A column in which nothing is known makes the others too narrow a place.
    kept = [column for column in range(len(heads)) if any(row[column] != "-" for row in rows)]
    table(
        [heads[column] for column in kept],
        [[row[column] for column in kept] for row in rows],
        right=f"|does|need|USD/h|{work.cost}|{work.energy}",
    )
    print()
    need = "" if answer.workload.rate is None else "need: instances for the rate. "
    energy = f"{work.energy}: {work.energy_in_words}, of the accelerators at their power limit under full load. "
    if all(choice.watts_per_unit is None for choice in choices):
        energy = ""
    paragraph(
        f"does: {unit} of one instance (of all that one replica takes), as measured. {need}"
        f"USD/h: of one instance, On-Demand ({choices[0].price_date}; ~ estimated). {work.cost}: for {work.paid}. "
        f"{energy}trust: high on EC2, medium elsewhere or added up, low from another model; and where the figure is "
        "from:"
    )
    for source, mark in sources.items():
        paragraph(source, begins=f"{mark}  ", indent="   ")
    if len(answer.choices) > len(choices):
        paragraph(f"{several(len(answer.choices) - len(choices), 'more choice')}: --all")
    if any(choice.memory_needed_mib is not None for choice in choices):
        heading("Memory of one replica, with as many requests at a time as were measured:")
        _show_fit(choices)


def _show_unranked(answer: Recommendation, most: int | None) -> None:
    heading(f"Fits, but is not ranked ({several(len(answer.unmeasured), 'type')}):")
    groups: dict[str, list[Choice]] = {}
    for choice in answer.unmeasured:
        groups.setdefault(choice.why_unranked or "", []).append(choice)
    for number, (reason, choices) in enumerate(groups.items()):
        if number:
            print()
        shown = choices if most is None else choices[:_MOST_NAMES]
        point(f"{_SPELLING.text(reason)}:")
        _show_fit(shown, prices=True)
        if len(shown) < len(choices):
            print(f"{several(len(choices) - len(shown), 'more type')}: --all")


def _show_fit(choices: Sequence[Choice], *, prices: bool = False) -> None:
    """Print what one replica takes on each type, and what is there."""
    heads = ["type", "one replica on", "needs", "of GiB", "replicas"]
    rows = []
    for choice in choices:
        row = [
            choice.instance_type,
            _taken(choice),
            gib(choice.memory_needed_mib),
            gib(choice.memory_there_mib),
            "-" if choice.replicas_per_instance is None else str(choice.replicas_per_instance or "<1"),
        ]
        rows.append([*row, _price(choice)] if prices else row)
    if prices:
        heads.append("USD/h")
    table(heads, rows, right="needs|of GiB|replicas|USD/h")


def _taken(choice: Choice) -> str:
    """What one replica takes: ``4 x L4``, ``the host``, ``2 instances``."""
    if choice.instances_per_replica > 1:
        return several(choice.instances_per_replica, "instance")
    if choice.kind == "cpu":
        return "the host"
    return devices(choice.accelerators_per_replica, choice.fraction, choice.accelerator)


def _price(choice: Choice) -> str:
    price = amount(choice.usd_per_hour, digits=4)
    return f"~{price}" if choice.price_estimated else price


def _mark(number: int) -> str:
    """a, b, ... z, aa, ab, ..."""
    turn, letter = divmod(number, len(ascii_lowercase))
    return (_mark(turn - 1) if turn else "") + ascii_lowercase[letter]


def _some(names: Sequence[str], most: int | None) -> str:
    """Some names, those of types with accelerators first."""
    from constructs_lib.catalog import known_types

    ordered = sorted(names, key=lambda name: name not in known_types())
    shown = ordered if most is None else ordered[:_MOST_NAMES]
    more = f" and {len(names) - len(shown)} more" if len(shown) < len(names) else ""
    return ", ".join(shown) + more
