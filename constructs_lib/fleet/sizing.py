"""From a workload to a fleet: its types, its largest size, and how long its instances take to start."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aws_cdk import Annotations, CfnResource, Duration
from aws_cdk import aws_autoscaling as autoscaling
from constructs import Construct

from constructs_lib.catalog import AcceleratedType, known_types, regions
from constructs_lib.errors import ArgumentError
from constructs_lib.fleet.flexible_types import FlexibleTypes
from constructs_lib.fleet.image import FleetImage
from constructs_lib.fleet.instance_types import InstanceTypes, accelerated_types
from constructs_lib.fleet.network import FleetNetwork
from constructs_lib.fleet.purchase import Purchase
from constructs_lib.release import IdlePolicy
from constructs_lib.telemetry import kind_of
from constructs_lib.validation import complaint, instance_of, is_token

# Its tables and their many classes are imported where a workload needs them: a fleet without one does not pay for them.
if TYPE_CHECKING:
    from constructs_lib.rightsizing import Choice, Recommendation, Workload

CPU_IS_ENOUGH = "@cdk-accelerated-fleet/fleet:CpuIsEnough"
BELOW_THE_RATE = "@cdk-accelerated-fleet/fleet:BelowTheRate"
RIGHT_SIZING = "@cdk-accelerated-fleet/fleet:RightSizing"

_MOST_TYPES = 4
# Types that stand in for the first one: one instance counts as one, whichever it is, so they have to do about as much.
_LEAST_SHARE_OF_THROUGHPUT = 0.8
_MOST_OF_THE_PRICE = 2.0
_MINUTE = 60
_WINDOW_MINUTES = 15
_WARM_UP_MINUTES = 10
_LONGEST_WARM_UP_MINUTES = 60
# The estimate is a sum of single measurements; a warm-up that is too short makes a starting instance look idle.
_MARGIN = 2.0


@dataclass(frozen=True, kw_only=True)
class Sizing:
    """What a fleet is to be made of.

    Attributes:
        instance_types: as the fleet takes them.
        max_capacity: most instances at a time.
        idle: the policy that was given, or the workload's own; None for the default.
        chosen: the choices behind the types, with their figures; none for a fleet without a workload.
        hints: what would be better, text by kind.
        weakest: the choice that takes the most instances for the workload's rate; None where nobody knows.
    """

    instance_types: InstanceTypes | FlexibleTypes
    max_capacity: int
    idle: IdlePolicy | None
    chosen: tuple[Choice, ...] = ()
    hints: Mapping[str, str] = field(default_factory=dict)
    weakest: Choice | None = None

    def advise(self, scope: Construct, group: autoscaling.AutoScalingGroup) -> None:
        """Say at synth what would be better and what will not do, and in the template why these types were chosen."""
        resource = group.node.default_child
        assert isinstance(resource, CfnResource)
        if self.chosen:
            resource.add_metadata("RightSizing", {each.instance_type: _reason(each) for each in self.chosen})
        annotations = Annotations.of(scope)
        for kind, text in self.hints.items():
            if kind == "cpu-is-enough":
                cure = "run it without a fleet of accelerators, or acknowledge this warning"
                annotations.add_warning_v2(CPU_IS_ENOUGH, f"{text} {cure}")
            else:
                annotations.add_info_v2(f"{RIGHT_SIZING}:{kind}", text)
        needs = None if self.weakest is None else self.weakest.instances
        if self.weakest is not None and needs is not None and needs > self.max_capacity:
            annotations.add_warning_v2(
                BELOW_THE_RATE,
                f"the workload's rate takes {needs} instances of {self.weakest.instance_type}, and max_capacity is "
                f"{self.max_capacity}: raise it, or leave it out",
            )


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What else the fleet was told, as far as it limits which types will do.

    Attributes:
        region: of the stack, or a token.
        purchase: how the instances are bought. None: On-Demand.
        network: how they are wired. None: as usual.
        image: that they boot. None: the default one.
    """

    region: str
    purchase: Purchase | None
    network: FleetNetwork | None
    image: FleetImage | None

    @property
    def known_region(self) -> str | None:
        """The region, if it is settled and the tables have it."""
        return None if is_token(self.region) or self.region not in regions() else self.region

    @property
    def bought(self) -> Purchase:
        """How the instances are bought; one of the wrong type is refused elsewhere."""
        return self.purchase if isinstance(self.purchase, Purchase) else Purchase.on_demand()

    @property
    def with_efa(self) -> bool:
        """Whether the instances are joined by EFA, for which their network cards have to be alike."""
        return isinstance(self.network, FleetNetwork) and self.network.uses_efa

    def take(self, choice: Choice) -> bool:
        """Whether a type can be bought, wired and booted this way."""
        facts = known_types()[choice.instance_type]
        image = self.image if isinstance(self.image, FleetImage) else FleetImage.deep_learning_base()
        wired = bool(facts.efa_interfaces) or not self.with_efa
        return self.bought.sells(facts) and wired and image.boots(facts, kind_of([facts], where=choice.instance_type))


def size(
    where: str,
    *,
    workload: Workload | None,
    instance_types: InstanceTypes | FlexibleTypes | None,
    max_capacity: int | None,
    idle: IdlePolicy | None,
    surroundings: Surroundings,
) -> Sizing:
    """Settle types, largest size and policy of the fleet at construct path ``where``.

    Raises:
        ArgumentError: neither types nor workload, or a workload that nothing fits, or that nobody measured.
    """
    if workload is None:
        if instance_types is None:
            cure = 'write for example instance_types=["g6.xlarge", "g5.xlarge"] or workload=Workload.inference(...)'
            raise ArgumentError(complaint(where, "instance_types", "be given without a workload", None, cure))
        if max_capacity is None:
            cure = "give the most instances that may run at a time"
            raise ArgumentError(complaint(where, "max_capacity", "be given without a workload", None, cure))
        return Sizing(instance_types=instance_types, max_capacity=max_capacity, idle=idle)
    from constructs_lib.rightsizing import Workload

    cure = "write for example Workload.inference(model='llama-3.1-8b', rate=2000)"
    instance_of(where, "workload", workload, Workload, cure=cure)
    given = None if instance_types is None else _given_types(where, instance_types, surroundings)
    answer, prices = _recommended(workload, given, surroundings)
    if given is None:
        chosen = _choose(where, answer, surroundings)
        types: InstanceTypes | FlexibleTypes = [each.instance_type for each in chosen]
    else:
        chosen = _check_fit(where, answer, given)
        assert instance_types is not None
        types = instance_types
    weakest = max((each for each in chosen if each.instances is not None), key=_needed, default=None)
    return Sizing(
        instance_types=types,
        max_capacity=_largest(where, workload, chosen) if max_capacity is None else max_capacity,
        idle=_policy(workload) if idle is None else idle,
        chosen=chosen,
        hints={**prices, **{each.kind: each.text for each in answer.hints}},
        weakest=weakest,
    )


def _recommended(
    workload: Workload, given: Sequence[AcceleratedType] | None, surroundings: Surroundings
) -> tuple[Recommendation, Mapping[str, str]]:
    """The answer for the stack's region, and by whose prices, where they are another region's.

    Prices of most regions are in no table. What a type costs against others differs little between regions, so the
    types that a region offers are then ranked by the prices of us-east-1, which is said.
    """
    from constructs_lib.rightsizing import recommend

    region = surroundings.known_region
    answer = recommend(workload, region=region, instance_types=given)
    if region is None:
        if is_token(surroundings.region):
            return answer, {}
        text = (
            f"The tables do not know {surroundings.region}: types are ranked by the prices of us-east-1, and whether "
        )
        return answer, {"prices": f"{text}the region offers them nobody has checked."}
    priceless = [each for each in answer.unmeasured if each.throughput is not None and each.usd_per_hour is None]
    if answer.accelerated or not priceless:
        return answer, {}
    offered = [each for each in given or known_types().values() if region in (each.regions or ())]
    text = f"Prices in {region} are in no table: the types that it offers are ranked by those of us-east-1."
    return recommend(workload, instance_types=offered), {"prices": text}


def _given_types(where: str, given: InstanceTypes | FlexibleTypes, surroundings: Surroundings) -> list[AcceleratedType]:
    if isinstance(given, FlexibleTypes):
        return list(given.types_sold(surroundings.bought))
    types, _ = accelerated_types(where, given)
    return list(types)


def _choose(where: str, answer: Recommendation, surroundings: Surroundings) -> tuple[Choice, ...]:
    """The best type, and others that do about as much for about as little, on the same image."""
    if surroundings.bought.is_reserved:
        cure = "give instance_types beside the workload: the reservation says which"
        raise ArgumentError(complaint(where, "instance_types", "be given for reserved capacity", None, cure))
    able = [each for each in answer.accelerated if surroundings.take(each)]
    if not able:
        raise ArgumentError(complaint(where, "workload", *_nothing_ranked(answer, surroundings)))
    best = able[0]
    if surroundings.with_efa or best.instances_per_replica > 1:
        return (best,)
    alike = [each for each in able if _stands_in(each, best) and _same_image(each, best)]
    return tuple(alike[:_MOST_TYPES])


def _stands_in(other: Choice, best: Choice) -> bool:
    if other.throughput is None or best.throughput is None or other.instances_per_replica > 1:
        return False
    cheap = (other.usd_per_unit or math.inf) <= (best.usd_per_unit or math.inf) * _MOST_OF_THE_PRICE
    return cheap and other.throughput.value >= best.throughput.value * _LEAST_SHARE_OF_THROUGHPUT


def _same_image(one: Choice, other: Choice) -> bool:
    facts = known_types()
    first, second = facts[one.instance_type], facts[other.instance_type]
    return (first.kind, first.architecture, first.driver) == (second.kind, second.architecture, second.driver)


def _nothing_ranked(answer: Recommendation, surroundings: Surroundings) -> tuple[str, object, str]:
    """Rule, value and cure where no type can be chosen without guessing."""
    unmeasured = [each for each in answer.unmeasured if each.kind != "cpu"]
    able = [each.instance_type for each in unmeasured if surroundings.take(each)]
    measured = [each.instance_type for each in answer.accelerated]
    excluded = f"purchase, network or image exclude {', '.join(measured[:5])}, which were measured"
    shown = answer.workload.document()
    if able:
        rule = "be one for which types can be chosen by what somebody has measured"
        named = f"name types beside it with instance_types, of those that hold it: {', '.join(able[:5])}"
        reasons = dict.fromkeys(each.why_unranked for each in unmeasured if each.why_unranked)
        named = f"{named} ({'; '.join(reasons)})" if reasons else named
        return rule, shown, f"{excluded}: change them, or {named}" if measured else named
    others = [*measured, *(each.instance_type for each in unmeasured)]
    if others:
        rule = "fit types that can be bought, wired and booted as the fleet is told to"
        return rule, shown, f"change purchase, network or image, which exclude {', '.join(others[:5])}"
    refusals = "; ".join(dict.fromkeys(each.reason for each in answer.refused))
    return "fit an accelerated instance type", shown, f"ask for less: {refusals or 'nothing holds it'}"


def _check_fit(where: str, answer: Recommendation, given: Sequence[AcceleratedType]) -> tuple[Choice, ...]:
    """Refuse types that the user named and that do not hold the workload."""
    fitting = {each.instance_type: each for each in (*answer.choices, *answer.unmeasured)}
    for facts in given:
        if facts.name not in fitting:
            reasons = [each.reason for each in answer.refused if facts.name in each.instance_types]
            rule = "name types that the workload fits on"
            cure = f"{'; '.join(reasons) or 'it does not fit'}: leave instance_types out to have them chosen"
            raise ArgumentError(complaint(where, "instance_types", rule, facts.name, cure))
    return tuple(fitting[facts.name] for facts in given)


def _needed(choice: Choice) -> int:
    return choice.instances or 0


def _largest(where: str, workload: Workload, chosen: Sequence[Choice]) -> int:
    unknown = [each.instance_type for each in chosen if each.instances is None]
    if not unknown:
        return max(map(_needed, chosen))
    rule = "be given for a workload without a rate"
    cure = "give the most instances at a time, or Workload(rate=...)"
    if workload.rate is not None:
        rule = f"be given where nobody measured the throughput ({', '.join(unknown[:5])})"
        cure = "give the most instances at a time"
    raise ArgumentError(complaint(where, "max_capacity", rule, None, cure))


def _policy(workload: Workload) -> IdlePolicy | None:
    """A warm-up that the model's load fits into, if it takes longer than the default one."""
    from constructs_lib.rightsizing.cold_start import cold_start_seconds

    seconds = cold_start_seconds(workload)
    if seconds is None:
        return None
    minutes = min(math.ceil(seconds * _MARGIN / _MINUTE), _LONGEST_WARM_UP_MINUTES)
    if minutes <= _WARM_UP_MINUTES:
        return None
    return IdlePolicy(warm_up=Duration.minutes(minutes), window=Duration.minutes(max(minutes, _WINDOW_MINUTES)))


def _reason(choice: Choice) -> str:
    if choice.throughput is None:
        return "fits; nobody measured what it does"
    figure = choice.throughput
    cost = "" if choice.usd_per_unit is None else f", {choice.usd_per_unit:.4g} USD per {choice.unit_of_work}"
    return f"{figure.value:.4g} {figure.unit}{cost} ({figure.source}, {figure.date}; confidence {choice.confidence})"
