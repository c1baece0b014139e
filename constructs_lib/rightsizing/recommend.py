"""From a workload to instance types: what fits, what it costs where it was measured, and what could not be ranked."""

from __future__ import annotations

from collections.abc import Sequence

from constructs_lib.catalog import AcceleratedType, CpuType, cpu_types, lookup, regions
from constructs_lib.errors import ArgumentError
from constructs_lib.rightsizing.evaluation import Answer, evaluate
from constructs_lib.rightsizing.hints import Asked, hints_for
from constructs_lib.rightsizing.machines import Machine, machines
from constructs_lib.rightsizing.recommendation import Recommendation
from constructs_lib.rightsizing.workload import Workload
from constructs_lib.validation import complaint, instance_of, one_of

_WHERE = "recommend"
_HOME = "us-east-1"


def recommend(
    workload: Workload,
    *,
    region: str | None = None,
    instance_types: Sequence[str | AcceleratedType | CpuType] | None = None,
) -> Recommendation:
    """Say which instance types fit a workload, and what its work costs on those that somebody measured.

    The answer depends on the arguments and the tables of this package only: the same question gets the same answer
    with no account, network or clock. Ranked is what fits, keeps the workload's goals and has both a measured
    throughput and a price; what fits but lacks one of them is listed apart. Throughput is what was measured at full
    load: for room to spare ask for a higher rate.

    Args:
        workload: what is to be done.
        region: whose prices count, and that must offer the type. Default: prices of us-east-1, offered anywhere.
        instance_types: that may be chosen, by name or, for types that the catalog does not have, by their facts.
            Default: all of the catalog that AWS has not retired.

    Raises:
        ArgumentError: an argument is of the wrong type, or a region is not known.
        UnknownInstanceTypeError: the catalog has no facts about one of the types.
    """
    instance_of(_WHERE, "workload", workload, Workload, cure="write for example Workload.inference(model=...)")
    if region is not None:
        one_of(_WHERE, "region", region, tuple(regions()), cure="or leave it out for the prices of us-east-1")
    pool = machines(_types(instance_types))
    answer = evaluate(workload, pool, prices_of=region or _HOME, offered_in=region)
    return Recommendation(
        workload=workload,
        region=region or _HOME,
        choices=answer.choices,
        unmeasured=answer.unmeasured,
        hints=hints_for(workload, answer, lambda changed, asked: _again(changed, pool, asked, region)),
        refused=answer.refused,
    )


def _again(workload: Workload, pool: tuple[Machine, ...], asked: Asked, region: str | None) -> Answer:
    some = tuple(machine for machine in pool if asked(machine))
    return evaluate(workload, some, prices_of=region or _HOME, offered_in=region)


def _types(given: object) -> tuple[AcceleratedType | CpuType, ...] | None:
    if given is None:
        return None
    if isinstance(given, str) or not isinstance(given, (list, tuple)) or not given:
        cure = "write for example ['g6.xlarge', 'c8g.4xlarge'], or leave it out for all of the catalog"
        raise ArgumentError(complaint(_WHERE, "instance_types", "be a list that is not empty", given, cure))
    found = {each.name: each for each in (_facts(entry) for entry in given)}
    return tuple(found.values())


def _facts(entry: object) -> AcceleratedType | CpuType:
    if isinstance(entry, (AcceleratedType, CpuType)):
        return entry
    if isinstance(entry, str) and entry in cpu_types():
        return cpu_types()[entry]
    if isinstance(entry, str):
        return lookup(entry, where=_WHERE, parameter="instance_types")
    rule = "hold names, AcceleratedType or CpuType"
    raise ArgumentError(complaint(_WHERE, "instance_types", rule, entry, 'write for example "g6.xlarge"'))
