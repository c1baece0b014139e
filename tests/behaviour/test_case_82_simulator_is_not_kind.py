"""Field case 82: what a fake must not forgive. The simulator itself, before anybody believes it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from botocore.exceptions import ClientError

from constructs_lib.rehearsal.cloud.clients import moment
from constructs_lib.rehearsal.cloud.metric_math import UnsupportedExpression
from constructs_lib.rehearsal.cloud.metrics import MetricStore
from constructs_lib.rehearsal.machine.agent import Agent
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.world import World
from tests.behaviour.edits import unprotected, with_setting, without_rollups
from tests.behaviour.fleets import BUSY, IDLE, MINUTE, fleet, fleet_of
from tests.rehearsal.machine.minute_by_minute import Sent, publish_minute

_METRIC = "nvidia_smi_utilization_gpu"


def _query(world: World, **dimensions: str) -> list[float]:
    client = world.account.client("cloudwatch", lambda _action: True)
    metric = {
        "Namespace": "AcceleratedFleet",
        "MetricName": _METRIC,
        "Dimensions": [{"Name": name, "Value": value} for name, value in dimensions.items()],
    }
    query = {"Id": "m", "MetricStat": {"Metric": metric, "Period": 60, "Stat": "Maximum"}}
    answer = client.get_metric_data(MetricDataQueries=[query], StartTime=moment(0), EndTime=moment(world.now + MINUTE))
    return list(answer["MetricDataResults"][0]["Values"])


@pytest.fixture
def reporting() -> World:
    world = World(fleet(), load=lambda _i, _now: BUSY)
    world.start(1)
    return world.run(10)


def test_case_82_1_query_with_a_wrong_dimension_returns_nothing(reporting: World) -> None:
    instance = reporting.group.in_service[0].id
    group = reporting.group.name

    assert _query(reporting, InstanceId=instance)
    assert _query(reporting, AutoScalingGroupName=group)
    assert _query(reporting, InstanceId="i-0123456789abcdef0") == []
    assert _query(reporting, InstanceId=instance, AutoScalingGroupName=group) == []
    assert _query(reporting) == []
    assert _query(reporting, instanceid=instance) == []


def test_case_82_1_group_series_exists_only_if_the_agent_rolls_it_up() -> None:
    text = World(fleet()).template.agent_configuration()
    identity = {"InstanceId": "i-1", "AutoScalingGroupName": "g"}
    for rolled_up in (True, False):
        store = MetricStore({})
        configuration = text if rolled_up else text.replace('"aggregation_dimensions"', '"aggregation_dimension"')
        publish_minute(Agent(configuration), store, 60, identity, BUSY)
        names = {dimensions for name, dimensions in store.published("AcceleratedFleet") if name == _METRIC}
        assert (frozenset({"AutoScalingGroupName"}) in names) is rolled_up


def test_case_82_1_agent_section_with_the_wrong_key_publishes_nothing() -> None:
    text = World(fleet()).template.agent_configuration().replace('"nvidia_gpu"', '"nvidia_smi"')
    store = MetricStore({})

    publish_minute(Agent(text), store, 60, {"InstanceId": "i-1", "AutoScalingGroupName": "g"}, BUSY)

    assert not [name for name, _ in store.published("AcceleratedFleet") if name.startswith("nvidia")]


_OF_INSTANCE = frozenset({("InstanceId", "i-1")})
_RAW = frozenset({("InstanceId", "i-1"), ("AutoScalingGroupName", "g"), ("index", "0"), ("metric_type", "gauge")})


def _heard(*lines: Sent, minutes: int = 1, resolution: int = 60) -> MetricStore:
    """Return what an agent of a Neuron fleet publishes when these lines come in the first minute, and none after it."""
    agent = Agent(World(fleet_of("inf2.8xlarge", resolution=resolution)).template.agent_configuration())
    store = MetricStore({})
    for minute in range(minutes):
        identity = {"InstanceId": "i-1", "AutoScalingGroupName": "g"}
        publish_minute(agent, store, minute * MINUTE, identity, IDLE, lines if minute == 0 else ())
    return store


def _points(
    store: MetricStore, name: str, dimensions: frozenset[tuple[str, str]], statistic: str = "Maximum"
) -> dict[int, float]:
    return store.series(("AcceleratedFleet", name, dimensions), statistic, MINUTE, range(0, 600, MINUTE), 600)


def test_case_82_1_series_of_one_accelerator_has_the_type_of_the_metric_among_its_dimensions() -> None:
    store = _heard((0, "accelerator_utilization:42|g|#index:0"))

    assert _points(store, "accelerator_utilization", _RAW) == {0: 42.0}
    assert _points(store, "accelerator_utilization", _OF_INSTANCE) == {0: 42.0}
    for one in _RAW:
        assert _points(store, "accelerator_utilization", _RAW - {one}) == {}


def test_case_82_1_dropped_original_leaves_the_rollups_alone() -> None:
    store = _heard((0, "busy_marks:1|g"))

    rollups = {frozenset({"InstanceId"}), frozenset({"AutoScalingGroupName"})}
    assert {names for name, names in store.published("AcceleratedFleet") if name == "busy_marks"} == rollups


def test_case_82_1_gauge_that_is_not_sent_again_goes_missing() -> None:
    assert _points(_heard((0, "busy_marks:1|g"), minutes=3), "busy_marks", _OF_INSTANCE) == {0: 1.0}


@pytest.mark.parametrize(("resolution", "samples", "most"), [(60, 1, 7.0), (10, 2, 7.0)])
def test_case_82_1_gauge_has_one_sample_for_each_interval_in_which_it_came(
    resolution: int, samples: int, most: float
) -> None:
    lines = [(0, "busy_marks:9|g"), (5, "busy_marks:3|g"), (50, "busy_marks:7|g")]
    store = _heard(*lines, resolution=resolution)

    assert _points(store, "busy_marks", _OF_INSTANCE, "SampleCount") == {0: samples}
    assert _points(store, "busy_marks", _OF_INSTANCE) == {0: most}


def test_case_82_1_counter_is_added_up() -> None:
    store = _heard((0, "accelerator_energy_joules:100|c"), (30, "accelerator_energy_joules:20|c"))

    assert _points(store, "accelerator_energy_joules", _OF_INSTANCE, "Sum") == {0: 120.0}


def test_case_82_1_agent_hears_only_what_is_sent_to_its_address() -> None:
    agent = Agent(World(fleet()).template.agent_configuration())

    assert agent.listens_at("127.0.0.1", 8125)
    assert not agent.listens_at("127.0.0.1", 8126)


def test_case_82_1_instance_keeps_the_agent_that_it_started_with() -> None:
    world = World(fleet(), load=lambda _i, _now: BUSY)
    old, *_ = world.start(1)
    world.redeploy(without_rollups(fleet()))
    _, new = world.start(2)
    world.run(10)

    assert _query(world, InstanceId=old.id)[:1] == [95.0]
    assert _query(world, InstanceId=new.id) == []


def test_case_82_2_expression_is_evaluated_or_raises() -> None:
    store = MetricStore({})
    store.put("N", "m", {}, 0, 4.0)
    metric = {"Id": "a", "MetricStat": {"Metric": {"Namespace": "N", "MetricName": "m"}, "Period": 60, "Stat": "Sum"}}

    assert store.answer([metric, {"Id": "e", "Expression": "a / 2"}], [0], 60)["e"] == {0: 2.0}
    with pytest.raises(UnsupportedExpression, match="ANOMALY_DETECTION_BAND"):
        store.answer([metric, {"Id": "e", "Expression": "ANOMALY_DETECTION_BAND(a, 2)"}], [0], 60)


def test_case_82_3_unhealthy_member_is_replaced(reporting: World) -> None:
    reporting.group.in_service[0].healthy = False

    reporting.run(5)

    assert [ending.cause for ending in reporting.group.endings] == ["unhealthy"]
    assert len(reporting.group.in_service) == 1


def test_case_82_4_protected_member_is_not_taken_and_an_unprotected_one_is() -> None:
    for protected in (True, False):
        world = World(fleet() if protected else unprotected(fleet()), load=lambda _i, _now: BUSY)
        world.start(3)
        world.group.set_desired(1)
        world.run(1)
        assert len(world.group.in_service) == (3 if protected else 1)


def test_case_82_4_victim_of_a_scale_in_is_the_busiest() -> None:
    def load(instance: object, _now: int) -> Load:
        return BUSY if str(getattr(instance, "id", "")).endswith("2") else IDLE

    world = World(unprotected(fleet()), load=load)
    world.start(3)
    world.group.set_desired(2)
    world.run(1)

    assert [ending.id[-1] for ending in world.group.endings] == ["2"]


def test_case_82_5_alarm_is_evaluated_from_published_data_only() -> None:
    world = World(fleet(), load=lambda _i, _now: IDLE)
    alarm = world.template.alarm_invoking(world.template.function("release_idle"))
    world.run(5)
    assert world.states[alarm.name] == "OK"

    world.start(1)
    world.run(alarm.window_seconds // MINUTE - 1)
    assert world.states[alarm.name] == "OK"
    world.run(10)
    assert world.went_to(alarm, "ALARM") != []


def test_decrement_below_the_minimum_is_refused() -> None:
    world = World(fleet())
    (member,) = world.start(1)
    world.group.resize(minimum=1)
    client = world.account.client("autoscaling", lambda _action: True)

    with pytest.raises(ClientError, match="ValidationError"):
        client.terminate_instance_in_auto_scaling_group(InstanceId=member.id, ShouldDecrementDesiredCapacity=True)


def test_handler_without_a_permission_is_denied_and_fails() -> None:
    world = World(fleet())
    world.start(1)
    function = world.template.function("release_idle")
    world.functions[function.id] = replace(function, allowed=function.allowed - {"cloudwatch:GetMetricData"})

    world.run(40)

    assert world.released == []
    assert world.failures != []


def test_handler_with_a_missing_setting_fails_and_changes_nothing() -> None:
    world = World(with_setting(fleet(), "release_idle", WINDOW_SECONDS=""))
    world.start(1)

    world.run(60)

    assert world.group.endings == []
    assert len(world.failures) == len(world.outcomes) > 0


def test_trigger_without_a_permission_never_reaches_the_function() -> None:
    body = {**fleet(), "Resources": dict(fleet()["Resources"])}
    for name in [n for n, r in body["Resources"].items() if r["Type"] == "AWS::Lambda::Permission"]:
        del body["Resources"][name]
    world = World(body)
    world.start(1)

    world.run(60)

    assert world.outcomes == []
