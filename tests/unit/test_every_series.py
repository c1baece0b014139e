"""For every kind, type and mix of features: what is asked for is what is published, to the last dimension (case 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest
from aws_cdk import aws_cloudwatch as cloudwatch

from constructs_lib import IdlePolicy, IdleSignal
from constructs_lib.catalog import AcceleratedType, known_types, lookup
from constructs_lib.errors import ArgumentError
from constructs_lib.fleet.machine_setup import MachineSetup
from constructs_lib.fleet.storage import FleetStorage
from constructs_lib.telemetry import AgentConfiguration, FleetMetrics, Telemetry, billed_metrics, kind_named, kind_of
from tests.support.agent_model import Series
from tests.support.agent_schema import agent_schema_faults
from tests.support.node_model import (
    FIGURES,
    NAMESPACE,
    WITH_POWER,
    devices_of,
    feature_combinations,
    fleet_series,
    instance_series,
    pass_series,
    representatives,
)
from tests.support.stacks import fleet, stack

COMBINATIONS = list(feature_combinations())
SHAPES = representatives()


def _series(metric: cloudwatch.Metric) -> Series:
    assert metric.dimensions is not None
    return metric.namespace, metric.metric_name, frozenset(metric.dimensions.items())


def _methods(metrics: FleetMetrics) -> Iterator[Callable[..., cloudwatch.Metric]]:
    """Every method that asks for what instances publish, of those that this fleet can be asked for."""
    yield from (metrics.busiest_accelerator, metrics.accelerator_utilization, metrics.accelerator_samples)
    yield from (metrics.idle_time, metrics.accelerators_missing, metrics.node_heartbeat, metrics.busy_marks)
    yield from (metrics.sessions, metrics.setup_failures)
    for phase in ("driver", "agent", "first_use"):
        yield lambda phase=phase, **options: metrics.cold_start(phase, **options)
    for name in metrics.application_metrics:
        yield lambda name=name, **options: metrics.application(name, **options)
    for offered, method in (
        (metrics.publishes_memory, metrics.accelerator_memory),
        (metrics.publishes_power, metrics.accelerator_power),
        (metrics.publishes_energy, metrics.accelerator_energy),
    ):
        if offered:
            yield method
        else:
            with pytest.raises(ArgumentError, match="must be asked for only what the fleet publishes"):
                method()


def _pass_methods(metrics: FleetMetrics) -> list[Callable[..., cloudwatch.Metric]]:
    return [
        *(metrics.members_busy, metrics.members_idle, metrics.members_unknown, metrics.members_held),
        *(metrics.members_idle_despite_work, metrics.instances_released),
        *(metrics.members_retained, metrics.launches_stopped),
        *(metrics.drains_done, metrics.drains_timed_out, metrics.drains_abandoned),
    ]


def _asked(types: Sequence[AcceleratedType], telemetry: Telemetry) -> set[Series]:
    """Every series that a metric object of the fleet can ask for, of the group and of its first instance."""
    metrics = FleetMetrics.of_fleet("fleet", types, telemetry)
    of_group = {_series(method()) for method in [*_methods(metrics), *_pass_methods(metrics)]}
    return of_group | {_series(method(instance_id="i-0")) for method in _methods(metrics)}


@pytest.mark.parametrize("shape", SHAPES, ids=lambda each: each.name)
def test_case_05_every_metric_object_asks_for_a_series_that_is_published(shape: AcceleratedType) -> None:
    asked: dict[tuple[str, ...], set[Series]] = {}
    for telemetry in COMBINATIONS:
        work = tuple(telemetry.application_metrics or ())
        # The other features add series; no metric object depends on them, and the CDK is slow.
        if work not in asked:
            asked[work] = _asked([shape], telemetry)
        assert asked[work] <= fleet_series([shape], telemetry, 1)


@pytest.mark.parametrize(
    "names",
    [
        ("g6.xlarge", "g6f.large", "g5.12xlarge"),
        ("g6.48xlarge", "p5.48xlarge"),
        ("inf2.xlarge", "trn1.2xlarge"),
        ("f2.6xlarge", "f2.48xlarge"),
        ("vt1.3xlarge", "vt1.24xlarge"),
    ],
)
def test_case_05_in_mixed_fleets_too(names: tuple[str, ...]) -> None:
    types = [lookup(name) for name in names]
    for telemetry in (Telemetry(), Telemetry(per_accelerator_series=False, network=True)):
        assert _asked(types, telemetry) <= fleet_series(types, telemetry, 1)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda each: each.name)
def test_every_configuration_passes_the_agents_schema(shape: AcceleratedType) -> None:
    for telemetry in COMBINATIONS:
        for made in (
            AgentConfiguration.full([shape], telemetry),
            AgentConfiguration.essential([shape], telemetry),
            AgentConfiguration.fallback(telemetry),
        ):
            if made is not None:
                assert agent_schema_faults(made.document) == []


@pytest.mark.parametrize("shape", SHAPES, ids=lambda each: each.name)
@pytest.mark.parametrize("instances", [1, 2, 3])
def test_the_billed_metrics_are_those_that_are_published(shape: AcceleratedType, instances: int) -> None:
    kind = kind_of([shape])
    for telemetry in COMBINATIONS:
        for setup in (True, False):
            published = fleet_series([shape], telemetry, instances, setup=setup)
            assert billed_metrics(kind, [shape], telemetry, instances, with_setup=setup) == len(published)


def test_traffic_is_counted_where_the_policy_looks_at_it() -> None:
    shape = lookup("g6.xlarge")
    kind, telemetry = kind_of([shape]), Telemetry()
    published = fleet_series([shape], telemetry, 2, setup=False, network=True)
    assert billed_metrics(kind, [shape], telemetry, 2, with_setup=False, with_network=True) == len(published)
    looks = IdlePolicy(signals=[IdleSignal.ACCELERATOR, IdleSignal.NETWORK])
    # One series for each instance, one for the group.
    assert fleet(stack(), idle=looks).billed_metrics(2) == fleet(stack()).billed_metrics(2) + 3


def test_a_fleet_counts_failed_settings_where_settings_were_asked_for() -> None:
    plain = fleet(stack()).billed_metrics(2)
    # One series for each instance, one for the group.
    assert fleet(stack(), machine=MachineSetup(huge_pages=8)).billed_metrics(2) == plain + 3
    assert fleet(stack(), storage=FleetStorage(instance_store_path="/mnt/data")).billed_metrics(2) == plain + 3


def test_a_fleet_at_zero_bills_no_metric() -> None:
    kind = kind_named("nvidia")
    assert billed_metrics(kind, [lookup("g6.xlarge")], Telemetry(), 0, with_setup=False) == 0


def test_of_mixed_types_the_one_with_the_most_to_tell_is_counted() -> None:
    types = [lookup("g6.xlarge"), lookup("g6.12xlarge")]
    kind, telemetry = kind_of(types), Telemetry()
    mixed, largest = (billed_metrics(kind, each, telemetry, 2, with_setup=False) for each in (types, types[1:]))
    assert mixed == largest


def test_fewer_series_cost_less_and_each_feature_costs_more() -> None:
    types = [lookup("trn1.32xlarge")]
    kind = kind_of(types)

    def count(telemetry: Telemetry) -> int:
        return billed_metrics(kind, types, telemetry, 4, with_setup=False)

    plain = count(Telemetry())
    # 16 devices of two figures each, on four instances.
    assert plain - count(Telemetry(per_accelerator_series=False)) == 4 * 16 * 2
    for more in (Telemetry(network=True), Telemetry(swap=True), Telemetry(processes=["python"])):
        assert count(more) > plain
    # One series for each instance, one for the group.
    assert count(Telemetry(application_metrics=["latency"])) == plain + 4 + 1


@pytest.mark.parametrize("instances", [-1, 1.5, True, "3"])
def test_a_number_of_instances_is_a_whole_one(instances: object) -> None:
    with pytest.raises(ArgumentError, match="billed_metrics: instances must be a whole number at least 0"):
        billed_metrics(
            kind_named("nvidia"),
            [lookup("g6.xlarge")],
            Telemetry(),
            instances,  # type: ignore[arg-type]
            with_setup=False,
        )


@pytest.mark.parametrize("shape", SHAPES, ids=lambda each: each.name)
def test_case_20_while_the_driver_is_missing_the_node_programs_figures_still_come(shape: AcceleratedType) -> None:
    telemetry = Telemetry(application_metrics=["latency"])
    config = AgentConfiguration.fallback(telemetry).document
    sent = instance_series(config, shape, work=["latency"])
    metrics = FleetMetrics.of_fleet("fleet", [shape], telemetry)
    for method in (metrics.accelerators_missing, metrics.busy_marks, metrics.sessions, metrics.setup_failures):
        assert _series(method()) in sent
        assert _series(method(instance_id="i-1")) in sent
    assert _series(metrics.application("latency")) in sent
    assert not [name for _, name, _ in sent if name.startswith("nvidia")]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda each: each.name)
def test_case_21_every_series_of_an_instance_can_be_seen_for_the_group_and_the_instance(shape: AcceleratedType) -> None:
    for telemetry in COMBINATIONS:
        sent = fleet_series([shape], telemetry, 1) - pass_series()
        owners = ({("InstanceId", "i-0")}, {("AutoScalingGroupName", "fleet")})
        for _, name, dimensions in sent:
            assert dict(dimensions).keys() & {"InstanceId", "AutoScalingGroupName"}
            for owner in owners:
                assert (NAMESPACE, name, frozenset(owner)) in sent


def test_an_accelerator_has_a_series_of_its_own_unless_only_roll_ups_are_wanted() -> None:
    for shape in SHAPES:
        use = kind_of([shape]).use_metric
        for series in (True, False):
            sent = fleet_series([shape], Telemetry(per_accelerator_series=series), 1)
            raw = [dims for _, name, dims in sent if name == use and "index" in dict(dims)]
            assert len(raw) == (devices_of(shape) if series else 0)


def test_the_kinds_say_what_the_program_can_publish() -> None:
    assert {each.kind for each in known_types().values()} == FIGURES.keys()
    for name, figures in FIGURES.items():
        kind = kind_named(name)
        assert (kind.power is not None) == (name in WITH_POWER)
        if kind.agent_section is None:
            assert {each.name for each in kind.measurements} == set(figures)
