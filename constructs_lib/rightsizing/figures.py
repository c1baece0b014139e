"""What has been measured: how much of which work an accelerator or a CPU type did, and who says so."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from constructs_lib.rightsizing import tables
from constructs_lib.rightsizing.models import Model, known_models
from constructs_lib.rightsizing.workload import Workload

# Who measured, by table: what a figure is attributed to.
_TABLES = MappingProxyType(
    {
        "figures_aws.csv": "AWS Compute Blog, Deep Dive on Amazon EC2 VT1 Instances",
        "figures_aws_ml.csv": "AWS Machine Learning Blog, BERT inference on G4 instances",
        "figures_mlperf.csv": "MLPerf Inference v5.1 Datacenter Closed Offline",
        "figures_neuron.csv": "AWS Neuron documentation (CC BY-SA 4.0)",
        "figures_sparecores.csv": "derived from SpareCores sc-inspector-data (CC BY-SA 4.0)",
    }
)
_SAME_WIDTH = MappingProxyType({"fp16": "bf16"})  # both are 16 bits, and as fast
_SAME_SIZE = 0.20  # a model of nearly the same size stands in for one that nobody measured, at the lowest confidence
_SAME_LENGTH = 4.0  # requests more than so many times as long or short say nothing about the ones that are wanted
_MEMORY_TOLERANCE = 0.15  # between what the maker prints on a GPU and what EC2 reports
_MIB_PER_GB = 1e9 / 2**20

_TASKS = MappingProxyType({"inference": "serving", "batch_inference": "serving", "training": "training"})


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One row of the tables: what was measured on ``count`` accelerators, or on one CPU type.

    Attributes:
        accelerator: its model as the catalog names it, ``cpu`` for none.
        count: accelerators that the figure is of, on ``nodes`` machines.
        nodes: machines.
        fraction: share of one accelerator, None for whole ones.
        memory_gb: of one accelerator, None where the model comes in one size.
        instance_type: of a CPU figure.
        model: what ran.
        precision: of its weights.
        task: ``serving``, ``training`` or ``transcoding``.
        input_tokens: of one request, None where not known.
        output_tokens: of one request, None where not known.
        concurrency: requests at the same time, None where not known.
        value: of the throughput.
        unit: of the throughput.
        first_token_ms: median, None where not known.
        per_token_ms: median, None where not known.
        latency_ms: median of a whole answer, None where not known.
        software: that served or trained.
        origin: whose machines; ``aws`` where it was EC2.
        date: month of the measurement.
        source: whom the figure is attributed to.
    """

    accelerator: str
    count: int
    nodes: int
    fraction: float | None
    memory_gb: float | None
    instance_type: str | None
    model: str
    precision: str
    task: str
    input_tokens: int | None
    output_tokens: int | None
    concurrency: float | None
    value: float
    unit: str
    first_token_ms: float | None
    per_token_ms: float | None
    latency_ms: float | None
    software: str
    origin: str
    date: str
    source: str

    @property
    def on_ec2(self) -> bool:
        """Whether it was measured on an EC2 instance."""
        return self.origin == "aws"

    def is_of(self, model: str, memory_mib: int, fraction: float | None) -> bool:
        """Whether it says something about this accelerator."""
        if self.accelerator != model or self.fraction != fraction:
            return False
        if self.memory_gb is None or fraction is not None:
            return True
        nominal = self.memory_gb * _MIB_PER_GB
        return abs(memory_mib - nominal) / nominal <= _MEMORY_TOLERANCE


@dataclass(frozen=True, kw_only=True)
class Match:
    """A measurement that speaks about a workload.

    Attributes:
        measurement: what was measured.
        value: its throughput in the workload's unit.
        gap: between the sizes of the models, as a share of the workload's; 0.0 for the same model.
        stand_in: whether another model of nearly the same size was measured.
        distance: how far its requests are from the workload's: 0 the same, None where they are not known.
        reading: how many times as long the workload's inputs are, 1.0 where they are not longer.
        writing: how many times as long its outputs are, 1.0 where they are not longer.
    """

    measurement: Measurement
    value: float
    gap: float
    stand_in: bool
    distance: float | None
    reading: float = 1.0
    writing: float = 1.0

    @property
    def first_token_ms(self) -> float | None:
        """What the measured time comes to for the workload's requests: a longer input takes longer in proportion."""
        measured = self.measurement.first_token_ms
        return None if measured is None else measured * self.reading

    @property
    def latency_ms(self) -> float | None:
        """What the measured time of an answer comes to: longer inputs and outputs take longer in proportion."""
        measured, first = self.measurement.latency_ms, self.measurement.first_token_ms
        if measured is None:
            return None
        if first is None:
            return measured * max(self.reading, self.writing)
        return first * self.reading + max(0.0, measured - first) * self.writing

    def was_held_for(self, workload: Workload) -> bool:
        """Whether this load was run with all that the workload asks, whatever arithmetic says of its memory.

        A model server lets requests wait for which it has no memory, and its figure is one with that waiting. Whoever
        trained sequences as long had found a way to divide them.
        """
        measured = self.measurement
        if workload.use == "training":
            as_long = workload.longest_sequence <= (measured.input_tokens or 0)
            return as_long and not self.stand_in and workload.batch <= (measured.concurrency or 1)
        if self.stand_in or not workload.writes_text or not measured.input_tokens or not measured.output_tokens:
            return False
        return measured.nodes == 1 and workload.longest_sequence <= measured.input_tokens + measured.output_tokens


@cache
def measurements() -> tuple[Measurement, ...]:
    """All rows of all tables."""
    return tuple(_from_row(row, source) for name, source in _TABLES.items() for row in tables.read(name))


def matches(workload: Workload) -> tuple[Match, ...]:
    """The measurements that speak about the workload, whatever they were made on.

    They are of its model, or, where the model writes text, of another one that is at most a fifth larger or smaller; of
    its precision; and of requests that are not more than four times as long or short.
    """
    if workload.use == "transcoding":
        found = _by_model().get(workload.video or "", ())
        return tuple(Match(measurement=each, value=each.value, gap=0.0, stand_in=False, distance=0.0) for each in found)
    facts = workload.facts
    task = _TASKS.get(workload.use)
    if facts is None or task is None or (task == "training" and workload.method != "full"):
        return ()
    wanted = _SAME_WIDTH.get(workload.weights_precision, workload.weights_precision)
    found_matches = []
    for name, rows in _by_model().items():
        measured = known_models().get(name)
        if measured is None or not _speaks_for(measured, facts):
            continue
        stand_in = not _is_same(measured, facts)
        gap = round(abs(measured.parameters / facts.parameters - 1), 6) if stand_in else 0.0
        for each in rows:
            if each.task == task and _SAME_WIDTH.get(each.precision, each.precision) == wanted:
                match = _match(each, workload, gap=gap, stand_in=stand_in)
                if match is not None:
                    found_matches.append(match)
    return tuple(found_matches)


def _match(measurement: Measurement, workload: Workload, *, gap: float, stand_in: bool) -> Match | None:
    known, distance = _distance(measurement, workload)
    if not known:
        return None
    value = _in_unit(measurement, workload)
    if value is None:
        return None
    reading, writing = (
        max(1.0, wanted / measured) if measured else 1.0 for measured, wanted in _lengths(measurement, workload)
    )
    return Match(
        measurement=measurement,
        value=value,
        gap=gap,
        stand_in=stand_in,
        distance=distance,
        reading=reading,
        writing=writing,
    )


def _lengths(measurement: Measurement, workload: Workload) -> tuple[tuple[int | None, int], tuple[int | None, int]]:
    """Input and output of a request, measured and wanted; where no text is written the output does not count."""
    if workload.use == "training" or not workload.writes_text:
        return (measurement.input_tokens, workload.longest_sequence), (None, 1)
    read, written = workload.request_tokens
    return (measurement.input_tokens, read), (measurement.output_tokens, written)


def _distance(measurement: Measurement, workload: Workload) -> tuple[bool, float | None]:
    """Whether the requests compare, and how far they are apart: the sum of the logarithms of the ratios."""
    pairs = _lengths(measurement, workload)[: 2 if workload.writes_text else 1]
    if workload.use != "training" and not workload.writes_text and not measurement.input_tokens:
        pairs = ()
    ratios = [abs(math.log(measured / wanted)) for measured, wanted in pairs if measured]
    if len(ratios) < len(pairs):
        return True, None
    if any(ratio > math.log(_SAME_LENGTH) + 1e-9 for ratio in ratios):
        return False, None
    return True, sum(ratios)


def _in_unit(measurement: Measurement, workload: Workload) -> float | None:
    """The throughput in the workload's unit: answers and sequences are turned into tokens by their length."""
    unit = workload.unit_of_work
    if measurement.unit == unit:
        if unit == "sequences/s" and measurement.input_tokens:
            return measurement.value * measurement.input_tokens / workload.longest_sequence
        if unit == "requests/s" and measurement.input_tokens and not workload.writes_text:
            # Longer ones take longer at least in proportion; of shorter ones nobody has shown that it does more.
            return measurement.value * min(1.0, measurement.input_tokens / workload.longest_sequence)
        return measurement.value
    if (measurement.unit, unit) == ("tokens/s", "requests/s"):
        return measurement.value / workload.request_tokens[1]
    if (measurement.unit, unit) == ("sequences/s", "tokens/s") and measurement.input_tokens:
        return measurement.value * measurement.input_tokens
    return None


def _speaks_for(measured: Model, wanted: Model) -> bool:
    if _is_same(measured, wanted):
        return True
    if measured.kind != "decoder" or wanted.kind != "decoder":
        return False
    if _experts(measured) != _experts(wanted):
        return False
    return abs(measured.parameters / wanted.parameters - 1) <= _SAME_SIZE


def _is_same(measured: Model, wanted: Model) -> bool:
    """Models of one shape and size take the same work, whatever they were trained on."""
    if measured.name == wanted.name:
        return True
    alike = measured.shape is not None and measured.shape == wanted.shape
    return alike and measured.kind == wanted.kind and measured.parameters == wanted.parameters


def _experts(model: Model) -> int:
    return 1 if model.shape is None else model.shape.experts or 1


@cache
def _by_model() -> Mapping[str, tuple[Measurement, ...]]:
    found: dict[str, list[Measurement]] = {}
    for each in measurements():
        found.setdefault(each.model, []).append(each)
    return {name: tuple(rows) for name, rows in found.items()}


def _from_row(row: Mapping[str, str], source: str) -> Measurement:
    origin = row["origin"]
    return Measurement(
        accelerator=row["accelerator"],
        count=int(row["count"]),
        nodes=int(row["nodes"]),
        fraction=_number(row["fraction"]),
        memory_gb=_number(row["memory_gb"]),
        instance_type=row["instance_type"] or None,
        model=row["model"],
        precision=row["precision"],
        task=row["task"],
        input_tokens=_whole(row["input_tokens"]),
        output_tokens=_whole(row["output_tokens"]),
        concurrency=_number(row["concurrency"]),
        value=float(row["value"]),
        unit=row["unit"],
        first_token_ms=_number(row["first_token_ms"]),
        per_token_ms=_number(row["per_token_ms"]),
        latency_ms=_number(row["latency_ms"]),
        software=row["software"],
        origin=origin,
        date=row["date"],
        source=f"{source}, {origin}" if origin.startswith("MLPerf") else source,
    )


def _number(cell: str) -> float | None:
    return float(cell) if cell else None


def _whole(cell: str) -> int | None:
    return int(cell) if cell else None
