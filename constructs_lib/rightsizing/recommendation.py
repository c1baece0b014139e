"""What a recommendation says: choices, what could not be ranked, what does not fit, and advice."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from constructs_lib.rightsizing.workload import Workload

CONFIDENCES = ("high", "medium", "low")


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A throughput, and where it comes from.

    Attributes:
        value: of one instance, or of ``instances`` together, in ``unit``.
        unit: as the workload counts.
        source: whom it is attributed to.
        date: month of the measurement.
        conditions: what was measured, in words.
        replicas: whose figures are added up. Default: 1, the instance as it was measured.
        instances: that it is of, together: work on fewer of them is not known from it. Default: 1.
        concurrency: requests at the same time on the instance. None: not known.
        first_token_ms: median time to the first token, as measured. None: not known.
        per_token_ms: median time between two tokens, as measured. None: not known.
        latency_ms: median time of a whole answer, as measured. None: not known.
    """

    value: float
    unit: str
    source: str
    date: str
    conditions: str
    replicas: int = 1
    instances: int = 1
    concurrency: float | None = None
    first_token_ms: float | None = None
    per_token_ms: float | None = None
    latency_ms: float | None = None


@dataclass(frozen=True, kw_only=True)
class Choice:
    """An instance type that the workload fits on.

    Attributes:
        instance_type: for example ``g6.xlarge``.
        kind: of its accelerators as in the catalog, ``cpu`` for none.
        accelerator: their model, None for none.
        accelerators: of an instance, 0 for none.
        fraction: share of an accelerator that the type has, None for whole ones.
        architecture: of the CPU.
        processor: of a CPU type, for example ``Intel with AMX`` or ``AWS Graviton``. None for accelerated types.
        status: ``current`` or ``previous``.
        accelerators_per_replica: fewest that hold one model server, job, session or stream; 0 on a CPU type.
        replicas_per_instance: most that the memory of an instance holds; 0 where one takes several instances, None
            where the need is not known.
        instances_per_replica: 1, or how many instances one replica is spread over.
        memory_needed_mib: on each accelerator (on a CPU type: of the host), for the requests at the same time that
            the figure was measured with, or as many of them as it holds while the others wait. None: not known.
        memory_there_mib: on each accelerator.
        throughput: measured, of one instance; of all that one replica is spread over, where that is several. None:
            nobody measured it.
        instances: for the workload's rate; None without a rate or without a figure for it.
        region: that the price is of.
        usd_per_hour: list price of one instance, On-Demand, Linux. None: not known.
        price_date: of the price list. None: no price.
        price_estimated: whether the price is an estimate from that of another region.
        usd_per_unit: USD for ``unit_of_work``, at the workload's rate, or without one at full load. None: not known.
        unit_of_work: what ``usd_per_unit`` pays, for example ``1M tokens``.
        watts_per_unit: draw of the accelerators at their limit for one unit of throughput at full load, W. None: no
            public figure, as for CPUs and Neuron devices.
        confidence: ``high`` (measured on EC2 with these accelerators), ``medium`` (elsewhere with the same ones, with
            requests more than twice as long or short, or added up from replicas) or ``low`` (another model of nearly
            the same size, requests of unknown length or more than four times as long or short, or one request at a
            time where the rate takes several). None: no figure.
        why_unranked: why it is not among the ranked ones. None: it is.
        host_memory_mib: of the instance itself, MiB. Default: not known.
    """

    instance_type: str
    kind: str
    accelerator: str | None
    accelerators: int
    fraction: float | None
    architecture: str
    processor: str | None
    status: str
    accelerators_per_replica: int
    replicas_per_instance: int | None
    instances_per_replica: int
    memory_needed_mib: float | None
    memory_there_mib: int
    throughput: Figure | None
    instances: int | None
    region: str
    usd_per_hour: float | None
    price_date: str | None
    price_estimated: bool
    usd_per_unit: float | None
    unit_of_work: str
    watts_per_unit: float | None
    confidence: str | None
    why_unranked: str | None = None
    host_memory_mib: int | None = None

    @property
    def family(self) -> str:
        """The part before the dot: ``g6`` for ``g6.xlarge``."""
        return self.instance_type.partition(".")[0]

    @property
    def usd_per_hour_in_all(self) -> float | None:
        """Of all instances for the rate, or without one of as many as one replica takes. None: not known."""
        if self.usd_per_hour is None:
            return None
        return self.usd_per_hour * (self.instances_per_replica if self.instances is None else self.instances)


@dataclass(frozen=True, kw_only=True)
class Hint:
    """Something that would be better, or that is worth knowing.

    Attributes:
        kind: for programs: ``cpu-is-enough``, ``fraction-is-enough``, ``neuron-is-cheaper``, ``neuron-is-measured``,
            ``quantise`` (is cheaper), ``quantise-is-measured``, ``quantise-to-fit`` (on a smaller type),
            ``half-precision``, ``adapters``, ``tensor-parallel``, ``batching``, ``one-at-a-time`` (nobody measured
            more), ``several-instances``, ``typical-shape``, ``host-memory``, ``previous-generation``,
            ``software-has-ended``, ``no-price``, ``not-measured`` or ``nothing-fits``.
        text: for people.
        instance_type: that it is about. None: about none in particular.
        usd_per_unit: of that type, as in ``Choice``. None: not known.
    """

    kind: str
    text: str
    instance_type: str | None = None
    usd_per_unit: float | None = None


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """Types that will not do, and why.

    Attributes:
        reason: for people.
        instance_types: in alphabetical order.
    """

    reason: str
    instance_types: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """The answer of :func:`~constructs_lib.rightsizing.recommend`.

    Attributes:
        workload: that was asked about.
        region: that prices and offerings are of.
        choices: that fit, are measured and keep the goals, by USD per unit of work.
        unmeasured: that fit, but cannot be ranked: nobody measured them, or with one request at a time only, or their
            price is not known. Accelerated ones first, by price of an hour, which says nothing about how much they do
            in it.
        hints: what would be better, or is worth knowing.
        refused: what will not do, and why.
    """

    workload: Workload
    region: str
    choices: tuple[Choice, ...]
    unmeasured: tuple[Choice, ...]
    hints: tuple[Hint, ...]
    refused: tuple[Refusal, ...]

    @property
    def advice(self) -> tuple[str, ...]:
        """The hints in words."""
        return tuple(hint.text for hint in self.hints)

    @property
    def best(self) -> Choice | None:
        """The first choice, or None where nothing could be ranked."""
        return self.choices[0] if self.choices else None

    @property
    def accelerated(self) -> tuple[Choice, ...]:
        """The ranked choices that have an accelerator, which is what a fleet can be made of."""
        return tuple(choice for choice in self.choices if choice.kind != "cpu")

    def document(self) -> dict[str, Any]:
        """All of it as plain data, in a fixed order."""
        return {
            "workload": self.workload.document(),
            "region": self.region,
            "choices": [asdict(choice) for choice in self.choices],
            "unmeasured": [asdict(choice) for choice in self.unmeasured],
            "hints": [asdict(hint) for hint in self.hints],
            "refused": [
                {"reason": refusal.reason, "instance_types": list(refusal.instance_types)} for refusal in self.refused
            ],
        }

    def to_json(self) -> str:
        """The document as JSON."""
        return json.dumps(self.document(), indent=2)
