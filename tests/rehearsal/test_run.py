"""A rehearsal as a whole: what is played how often, and which run counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from constructs_lib.rehearsal import run as module
from constructs_lib.rehearsal.alternatives import ALTERNATIVES
from constructs_lib.rehearsal.cloud.alarms import OPEN, Alarm
from constructs_lib.rehearsal.cloud.metrics import MetricStore
from constructs_lib.rehearsal.cloud.policies import AGGREGATED, BY_SILENCE, LEAST_CHANGE, WAKES
from constructs_lib.rehearsal.cloud.replacing import SPARED_BY_REBALANCING
from constructs_lib.rehearsal.cloud.retries import TRIES_AGAIN
from constructs_lib.rehearsal.cloud.scheduled_actions import RUNS_LATE
from constructs_lib.rehearsal.cloud.work_queue import CALLS_KEEP_AWAKE, WAKES_LATE
from constructs_lib.rehearsal.cold_start import ColdStart
from constructs_lib.rehearsal.record import Record
from constructs_lib.rehearsal.run import other_readings, rehearse, together
from constructs_lib.rehearsal.simulate import Scenario
from constructs_lib.rehearsal.trace import Job, Trace
from constructs_lib.rehearsal.tunable import Tunable, adaptive_copy
from constructs_lib.rehearsal.tune import MOST_RUNS
from constructs_lib.rehearsal.world import SEEN_LATE, Conditions
from tests.rehearsal.made_records import PRICES, cut_off, instance, job, record, two_jobs
from tests.rehearsal.test_tune import TEMPLATE

TRACE = Trace(jobs=(Job(0, 600), Job(600, 200)), name="by hand")
SCENARIO = Scenario(cold_start=ColdStart.fixed(boot_s=120, ready_s=300))


class Simulated:
    """Stands for the simulation: answers by the reading that it is asked for."""

    def __init__(self, answer: Callable[[Conditions | None], Record]) -> None:
        self._answer = answer
        self.asked: list[dict[str, Any]] = []

    def __call__(
        self,
        template: Mapping[str, Any],
        trace: Trace,
        *,
        said: Callable[[float], None],
        conditions: Conditions | None = None,
        **asked: Any,
    ) -> Record:
        said(0.5)
        self.asked.append({"template": template, "trace": trace, "conditions": conditions, **asked})
        return replace(self._answer(conditions), fleet="Group")


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Simulated]:
    def stand_in(answer: Callable[[Conditions | None], Record]) -> Simulated:
        found = Simulated(answer)
        monkeypatch.setattr(module, "simulate", found)
        monkeypatch.setattr("constructs_lib.rehearsal.alternatives.simulate", found)
        return found

    return stand_in


def asked(**more: Any) -> Any:
    return rehearse(TEMPLATE, TRACE, scenario=SCENARIO, prices=PRICES, **more)


def test_a_run_without_doubts_is_played_once(simulated: Callable[..., Simulated]) -> None:
    simulation = simulated(lambda _: two_jobs())
    found = asked(seed=3)

    assert [(each["fleet"], each["seed"], each["conditions"]) for each in simulation.asked] == [("Group", 3, None)]
    assert found.figures.done == 2
    assert found.seed == 3


RANGE = "Idle: how many periods more than 3 CloudWatch looks at"
FILL = "Idle: whether FILL fills a metric without any point"


def _worse_by_range(conditions: Conditions | None) -> Record:
    if conditions is not None and conditions.extra_periods == 5:
        return replace(cut_off(), doubts=[RANGE])
    if conditions is not None and not conditions.fill_empty:
        return replace(two_jobs(), end_s=90_000.0, doubts=[FILL])
    return replace(two_jobs(), doubts=[RANGE, FILL])


def test_where_a_reading_could_matter_the_worst_of_all_counts(simulated: Callable[..., Simulated]) -> None:
    """Cut-off work is worse than any that was paid in vain."""
    simulation = simulated(_worse_by_range)
    found = asked()

    assert len(simulation.asked) == 1 + 2 + 1
    assert found.figures.interrupted == 1
    assert found.record.doubts == [RANGE, FILL]


def _as_read(of: Record, conditions: Conditions | None, *doubts: str) -> Record:
    """The record of a run that tells with which reading it came about."""
    return replace(of, conditions=(conditions or Conditions()).describe(), doubts=list(doubts))


def _later(record: Record, seconds: float) -> Record:
    """The same work, with an instance that is paid for longer."""
    return replace(record, instances=[replace(record.instances[0], ended_s=seconds)], end_s=seconds)


def test_what_is_worse_for_itself_is_also_played_all_at_once(simulated: Callable[..., Simulated]) -> None:
    """Of the other ranges the longer is the worst; a run with it, and with FILL that leaves an empty metric so."""

    def answer(conditions: Conditions | None) -> Record:
        read = conditions or Conditions()
        paid = 2_000.0 + 1_000 * (read.extra_periods == 1) + 2_000 * (read.extra_periods == 5)
        return _as_read(_later(two_jobs(), paid + 4_000 * (not read.fill_empty)), conditions, RANGE, FILL)

    simulation = simulated(answer)
    found = asked()

    last = simulation.asked[-1]["conditions"]
    assert len(simulation.asked) == 1 + 2 + 1 + 1
    assert (last.extra_periods, last.fill_empty) == (5, False)
    assert found.record.end_s == 8_000
    assert [each["differs"] for each in found.as_json()["readings"]] == [
        {},
        {"evaluation_range_extra_periods": 1},
        {"evaluation_range_extra_periods": 5},
        {"fill_fills_an_empty_metric": False},
        {"evaluation_range_extra_periods": 5, "fill_fills_an_empty_metric": False},
    ]
    (said,) = found.choice
    assert said.startswith("played in 5 readings, with one thing read another way at a time, and all that made it")
    # 2,000 s and 8,000 s of two accelerators.
    assert "paid are 1.11 to 4.44 accelerator-hours, and 95% of jobs wait up to 5 min." in said


def test_one_reading_that_is_worse_is_not_played_twice(simulated: Callable[..., Simulated]) -> None:
    simulation = simulated(lambda read: _as_read(cut_off() if read and not read.fill_empty else two_jobs(), read, FILL))
    found = asked()

    assert len(simulation.asked) == 2
    assert found.figures.interrupted == 1
    assert "with one thing read another way at a time:" in " ".join(found.as_text().split())


def test_where_the_same_is_paid_the_longer_waits_are_worse(simulated: Callable[..., Simulated]) -> None:
    """The reading with 1 % more hours and shorter waits is none that one has to be warned of."""

    def answer(conditions: Conditions | None) -> Record:
        if conditions is None:
            return _as_read(record(jobs=[job(0, 900, 1_800)], instances=[instance(0, 900, 3_600, 3_600)]), None, FILL)
        return _as_read(record(jobs=[job(0, 60, 960)], instances=[instance(0, 60, 3_600, 3_630)]), conditions, FILL)

    simulated(answer)

    assert asked().figures.waits.p95 == 900


def test_without_doubts_nothing_is_said_of_readings(simulated: Callable[..., Simulated]) -> None:
    simulated(lambda _: two_jobs())
    assert asked().choice == []
    assert len(asked().as_json()["readings"]) == 1


@pytest.mark.parametrize(
    ("doubt", "changes"),
    [
        (f"Idle: {OPEN['fill_empty']}", [{"fill_empty": False}]),
        (f"Idle: {OPEN['repeat_reaches_back']}", [{"repeat_reaches_back": True}]),
        (f"Idle: {OPEN['both_missing_is_zero']}", [{"both_missing_is_zero": True}]),
        (f"Idle: {OPEN['silence_is_zeros']}", [{"silence_is_zeros": False}]),
        (f"Idle: {OPEN['queue_zeros']}", [{"queue_zeros": False}]),
        (WAKES_LATE, [{"wake_lag_seconds": 60}]),
        (CALLS_KEEP_AWAKE, [{"calls_keep_awake": False}]),
        (SEEN_LATE, [{"delays": {"AWS/AutoScaling": 60, "AWS/EC2": 60, "AWS/SQS": 60, "AWS/Lambda": 60}}]),
        (AGGREGATED, [{"steps_by_aggregate": True}]),
        (BY_SILENCE, [{"steps_by_silence": False}]),
        (LEAST_CHANGE, [{"least_change_wakes": False}]),
        (WAKES, [{"tracking_wakes": True}]),
        (TRIES_AGAIN, [{"longest_retry_seconds": 60}, {"longest_retry_seconds": 900}]),
    ],
)
def test_each_doubt_has_its_own_other_readings_and_no_more(doubt: str, changes: list[dict[str, Any]]) -> None:
    assert other_readings([doubt]) == [replace(Conditions(), **each) for each in changes]


def test_each_other_reading_is_told_in_the_report() -> None:
    """Or nobody could say with which reading the figures came about."""
    doubts = [*OPEN.values(), WAKES_LATE, CALLS_KEEP_AWAKE, SEEN_LATE, AGGREGATED, BY_SILENCE, LEAST_CHANGE, WAKES]
    for reading in other_readings([*doubts, TRIES_AGAIN, SPARED_BY_REBALANCING, RUNS_LATE, RANGE]):
        if reading != Conditions():
            told, usual = reading.describe(), Conditions().describe()
            assert sum(told[name] != usual[name] for name in usual) == 1


def test_readings_go_together_and_the_last_counts_of_what_several_change() -> None:
    several = [Conditions(extra_periods=5), Conditions(extra_periods=0), Conditions(tracking_wakes=True)]
    assert together(several) == Conditions(extra_periods=0, tracking_wakes=True)
    assert together([]) == Conditions()


def test_an_alarm_looks_at_more_periods_than_decide_in_every_reading() -> None:
    """CloudWatch asks for more datapoints than there are evaluation periods; it leaves open only how many more.

    With not one more, an alarm of one minute would never see a metric that comes two minutes late.
    """
    assert all(each.extra_periods > 0 for each in (Conditions(), *other_readings([RANGE])))


def test_only_what_is_in_doubt_is_read_another_way() -> None:
    assert [each.extra_periods for each in other_readings([RANGE])] == [1, 5]
    assert [each.fill_empty for each in other_readings([FILL, FILL])] == [False]
    assert [each.rebalancing_spares_protected for each in other_readings([SPARED_BY_REBALANCING])] == [False]
    assert [each.scheduled_action_seconds for each in other_readings([RUNS_LATE])] == [120]
    assert other_readings(["something of which only one reading is known"]) == []


@pytest.mark.parametrize("missing", ["missing", "breaching"])
def test_the_doubts_of_alarms_are_understood(missing: str) -> None:
    """One breaching point four periods ago: whether it is in the range decides, if silence is not breaching itself."""
    metric = {"Namespace": "Test", "MetricName": "use", "Period": 60, "Statistic": "Maximum"}
    judged = {"ComparisonOperator": "LessThanThreshold", "Threshold": 5, "EvaluationPeriods": 2}
    alarm = Alarm.from_properties("Idle", {**metric, **judged, "TreatMissingData": missing})
    store = MetricStore({"Test": 0})
    store.put("Test", "use", {}, 60, 0.0)
    doubts = alarm.judge(store, 300, "OK").doubts

    assert bool(doubts) == (missing == "missing")
    assert len(other_readings(doubts)) == 2 * len(doubts)


def test_the_optimum_and_the_ratio_are_of_the_work_that_was_done(simulated: Callable[..., Simulated]) -> None:
    """One job of 100 s on an instance that starts in 100 s and is then idle for 200 s: 400 s paid, at least 200 s."""
    run = record(jobs=[job(0, 100, 200)], instances=[instance(0, 100, 400, 400)], end_s=400.0)
    simulated(lambda _: run)
    found = asked()

    assert found.ratio == pytest.approx(2, abs=1e-3)
    assert found.optimum.figures.hours.paid == pytest.approx(200 / 3_600, abs=1e-6)
    assert found.optimum.figures.cost_usd == pytest.approx(2 * 200 / 3_600)
    assert found.as_json()["optimum"]["idle_accelerator_hours"] == 0
    assert found.nobody_waits.figures.waits.max == 0


def test_alternatives_are_played_only_if_asked_for(simulated: Callable[..., Simulated]) -> None:
    simulation = simulated(lambda _: two_jobs())

    assert asked().alternatives == {}
    assert len(simulation.asked) == 1
    assert asked().tuning is None


def test_each_way_is_played_in_the_readings_that_could_matter_to_it_and_the_worst_counts(
    simulated: Callable[..., Simulated],
) -> None:
    def answer(read: Conditions | None) -> Record:
        paid = 3_000.0 if read is not None and read.extra_periods == 5 else 2_000.0
        return _as_read(_later(two_jobs(), paid), read, RANGE)

    simulation = simulated(answer)
    told: list[float] = []
    found = asked(compare=True, said=lambda _, share: told.append(share))

    assert len(simulation.asked) == 3 * (1 + len(found.alternatives))
    for way in found.as_json()["alternatives"].values():
        # On two accelerators.
        assert way["paid_accelerator_hours"] == pytest.approx(2 * 3_000 / 3_600, abs=1e-6)
        paid = [each["paid_accelerator_hours"] for each in way["readings"]]
        assert [round(hours * 1_800) for hours in paid] == [2_000, 2_000, 3_000]
    assert 0 <= min(told) <= max(told) <= 1
    assert found.choice[1:] == ["each of the other ways is told in the worst of the readings that could matter to it"]


def test_settings_are_tried_in_the_reading_in_which_the_fleet_was_worst(simulated: Callable[..., Simulated]) -> None:
    """Otherwise those that are there would be compared by another measure than those that are tried."""
    simulation = simulated(lambda read: _as_read(cut_off() if read and not read.fill_empty else two_jobs(), read, FILL))
    asked(tuned=True)

    first, other, *tried = [each["conditions"] for each in simulation.asked]
    assert (first, other) == (None, Conditions(fill_empty=False))
    assert tried
    assert {*tried} == {other}


def test_settings_are_tried_in_no_more_runs_than_were_said(simulated: Callable[..., Simulated]) -> None:
    simulation = simulated(lambda _: two_jobs())
    told: list[float] = []
    found = asked(tuned=True, said=lambda _, share: told.append(share))

    assert found.tuning is not None
    assert len(found.tuning.trials) == len(simulation.asked) <= MOST_RUNS
    assert told == sorted(told)
    assert 0 <= told[0] <= told[-1] <= 1
    assert found.as_json()["tuning"]["runs"] == len(simulation.asked)


def test_each_alternative_has_its_ratio_to_what_its_own_work_took(simulated: Callable[..., Simulated]) -> None:
    simulated(lambda _: two_jobs())
    found = asked(compare=True)

    assert list(found.alternatives) == ["adaptive", *(each.name for each in ALTERNATIVES)]
    assert {way.ratio for way in found.alternatives.values()} == {found.ratio}
    assert set(found.as_json()["alternatives"]) == set(found.alternatives)


def test_what_is_adaptive_or_starts_slowly_has_no_adaptive_copy() -> None:
    (group,) = (
        name for name, each in TEMPLATE["Resources"].items() if each["Type"] == "AWS::AutoScaling::AutoScalingGroup"
    )
    adaptive = adaptive_copy(TEMPLATE, group, 290)
    assert adaptive is not None
    assert Tunable(adaptive, group).now.cold_start_s == 300
    assert adaptive_copy(adaptive, group, 290) is None
    assert adaptive_copy(TEMPLATE, group, 700) is None
    assert adaptive_copy({"Resources": {"Group": {"Type": "AWS::AutoScaling::AutoScalingGroup"}}}, "Group", 60) is None


def test_the_same_input_is_the_same_report(simulated: Callable[..., Simulated]) -> None:
    simulated(lambda _: cut_off())

    assert asked(tuned=True).as_json() == asked(tuned=True).as_json()
    assert asked().as_html() == asked().as_html()


def test_a_fleet_without_instances_has_no_ratio(simulated: Callable[..., Simulated]) -> None:
    simulated(lambda _: record())

    assert asked().ratio is None
    assert asked().as_json()["ratio_to_optimum"] is None
