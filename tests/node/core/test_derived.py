"""From readings to what is published: the numbers, and the silence where a number is not known."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.node import names
from constructs_lib.node.derived import Counts, Outcome, State, derive
from constructs_lib.node.readings import FAILED, HUNG, MISSING, UNREADABLE, Answer, Device, NoReading, Reading
from constructs_lib.node.settings import Settings
from constructs_lib.node.statsd import COUNTER, Metric

NEURON = Settings("neuron", measurements=names.MEASUREMENTS)
ONE = Counts(expected_devices=1, busy_marks=0, sessions=0)
HUNG_TOOL = NoReading(HUNG, "no answer within 10 s")


def reading(*utilizations: float | None) -> Reading:
    return Reading(
        tuple(
            Device(index, utilization=use, fault=None if use is not None else "GPU is lost")
            for index, use in enumerate(utilizations)
        )
    )


def instance_metrics(outcome: Outcome) -> dict[str, float]:
    return {metric.name: metric.value for metric in outcome.metrics if metric.index is None}


def device_metrics(outcome: Outcome, name: str) -> dict[int, float]:
    return {m.index: m.value for m in outcome.metrics if m.index is not None and m.name == name}


def replay(*steps: tuple[float, Answer], counts: Counts = ONE, settings: Settings = NEURON) -> list[Outcome]:
    """Derive one after the other."""
    state, outcomes = State(), []
    for now, answer in steps:
        outcomes.append(derive(settings, state, answer, counts, now))
        state = outcomes[-1].state
    return outcomes


def idle_times(outcomes: list[Outcome]) -> list[float | None]:
    return [instance_metrics(outcome).get(names.IDLE_SECONDS) for outcome in outcomes]


class TestDevices:
    def test_idle_is_an_explicit_zero(self) -> None:
        (outcome,) = replay((0, reading(0.0, 0.0)))
        assert device_metrics(outcome, "accelerator_utilization") == {0: 0.0, 1: 0.0}

    def test_each_figure_has_its_name(self) -> None:
        device = Device(3, 50.0, 7, 1024.0, 2048.0, 75.5, 41.0)
        first, second = replay((0, Reading((device,))), (60, Reading((replace(device, transfers=17),))))
        assert {(m.name, m.index): m.value for m in second.metrics if m.index is not None} == {
            ("accelerator_utilization", 3): 50.0,
            ("accelerator_transfers", 3): 10,
            ("accelerator_memory_used", 3): 1024.0,
            ("accelerator_power", 3): 75.5,
            ("accelerator_temperature", 3): 41.0,
        }
        assert device_metrics(first, "accelerator_transfers") == {}

    def test_only_what_the_settings_name_is_published(self) -> None:
        settings = Settings("neuron", measurements=("power",))
        (outcome,) = replay((0, Reading((Device(0, 50.0, power_watts=70.0),))), settings=settings)
        assert {metric.name for metric in outcome.metrics if metric.index is not None} == {"accelerator_power"}

    def test_nvidia_devices_are_published_by_the_agent_itself(self) -> None:
        (outcome,) = replay((0, reading(50.0)), settings=Settings("nvidia"))
        assert all(metric.index is None for metric in outcome.metrics)

    def test_a_figure_that_is_not_known_is_not_published(self) -> None:
        (outcome,) = replay((0, Reading((Device(0, utilization=1.0),))))
        assert {metric.name for metric in outcome.metrics if metric.index is not None} == {"accelerator_utilization"}


class TestTransfers:
    @staticmethod
    def counters(*values: int | None) -> list[dict[int, float]]:
        steps = [(60.0 * n, Reading((Device(0, transfers=value),))) for n, value in enumerate(values)]
        return [device_metrics(outcome, "accelerator_transfers") for outcome in replay(*steps)]

    def test_the_first_reading_says_nothing(self) -> None:
        assert self.counters(1000, 1000, 1250) == [{}, {0: 0}, {0: 250}]

    def test_a_counter_that_was_cleared_says_nothing(self) -> None:
        assert self.counters(1000, 10, 30) == [{}, {}, {0: 20}]

    def test_what_moved_while_nobody_could_read_is_not_lost(self) -> None:
        assert self.counters(1000, None, 1300) == [{}, {}, {0: 300}]

    def test_use_is_a_difference_at_or_above_the_threshold(self) -> None:
        settings = Settings("fpga", use_threshold=100)
        steps = [(60.0 * n, Reading((Device(0, transfers=value),))) for n, value in enumerate((0, 99, 199))]
        assert [outcome.in_use for outcome in replay(*steps, settings=settings)] == [None, False, True]


class TestPresentAndMissing:
    @pytest.mark.parametrize(
        ("answer", "expected", "present", "missing", "heartbeat"),
        [
            (reading(*[10.0] * 8), 8, 8, 0, 1),
            (reading(*[10.0] * 7), 8, 7, 1, 1),
            (reading(*[10.0] * 7, None), 8, 8, 1, 1),
            (reading(None), 1, 1, 1, None),
            (HUNG_TOOL, 8, None, 8, None),
            (NoReading(MISSING, ""), 8, None, 8, None),
            (NoReading(FAILED, ""), 8, None, 8, None),
            (NoReading(UNREADABLE, ""), 8, None, 8, None),
            (reading(0.0, 0.0), 1, 2, 0, 1),
            (reading(0.0), None, 1, None, 1),
            (HUNG_TOOL, None, None, None, None),
        ],
    )
    def test_devices_are_counted(
        self, answer: Answer, expected: int | None, present: int | None, missing: int | None, heartbeat: int | None
    ) -> None:
        (outcome,) = replay((0, answer), counts=Counts(expected_devices=expected))
        found = instance_metrics(outcome)
        assert found.get(names.ACCELERATORS_PRESENT) == present
        assert found.get(names.ACCELERATORS_MISSING) == missing
        assert found.get(names.ACCELERATORS_UNKNOWN) == missing
        assert found.get(names.HEARTBEAT) == heartbeat

    def test_a_device_split_by_design_is_not_missing_and_its_use_is_not_known(self) -> None:
        split = Device(0, memory_used_mib=1.0, fault="MIG is on", use_unknown_by_design=True)
        outcomes = replay((0, Reading((split,))), (60, Reading((split,))))
        found = instance_metrics(outcomes[1])
        assert found[names.ACCELERATORS_MISSING] == 0
        assert found[names.ACCELERATORS_UNKNOWN] == 1
        assert found[names.HEARTBEAT] == 1
        assert idle_times(outcomes) == [None, None]

    def test_case_06_a_report_without_its_use_stops_the_heartbeat(self) -> None:
        """A newer driver's report: memory is still found, the utilisation is not."""
        (outcome,) = replay((0, Reading((Device(0, memory_used_mib=1.0, fault="no gpu_util"),))))
        assert names.HEARTBEAT not in instance_metrics(outcome)
        assert instance_metrics(outcome)[names.ACCELERATORS_MISSING] == 1

    def test_a_counter_that_was_read_once_has_told_no_use_yet(self) -> None:
        outcomes = replay(*[(60.0 * n, Reading((Device(0, transfers=5),))) for n in range(2)])
        assert [instance_metrics(outcome)[names.ACCELERATORS_UNKNOWN] for outcome in outcomes] == [1, 0]
        assert [instance_metrics(outcome)[names.ACCELERATORS_MISSING] for outcome in outcomes] == [0, 0]


class TestIdleTime:
    def test_it_grows_until_the_next_use(self) -> None:
        uses = (0.0, 0.0, 4.9, 5.0, 0.0, 0.0)
        steps = [(1000 + 60.0 * n, reading(use)) for n, use in enumerate(uses)]
        assert idle_times(replay(*steps)) == [0, 60, 120, 0, 60, 120]

    def test_one_busy_device_keeps_the_instance_busy(self) -> None:
        eight = Counts(expected_devices=8, busy_marks=0)
        steps = [(60.0 * n, reading(*[0.0] * 7, 90.0)) for n in range(3)]
        assert idle_times(replay(*steps, counts=eight)) == [0, 0, 0]

    def test_a_busy_mark_is_use(self) -> None:
        marked = Counts(expected_devices=1, busy_marks=1)
        outcomes = replay((0, reading(0.0)), (60, reading(0.0)), counts=marked)
        assert idle_times(outcomes) == [0, 0]
        assert outcomes[1].in_use is True

    def test_case_07_time_without_a_reading_is_not_idle_time(self) -> None:
        """The tool hangs for two hours while the work goes on; then the device is idle for the first time."""
        hung = [(60.0 * n, HUNG_TOOL) for n in range(2, 122)]
        outcomes = replay((0, reading(0.0)), (60, reading(0.0)), *hung, (7320, reading(0.0)), (7380, reading(0.0)))
        assert idle_times(outcomes) == [0, 60, *[None] * 120, 0, 60]

    def test_case_07_a_program_that_was_away_starts_anew(self) -> None:
        assert idle_times(replay((0, reading(0.0)), (60, reading(0.0)), (4000, reading(0.0)))) == [0, 60, 0]

    def test_a_restart_of_the_program_does_not_break_it(self) -> None:
        """One reading falls out: at most two intervals and a half lie between those before and after."""
        assert idle_times(replay((0, reading(0.0)), (60, reading(0.0)), (205, reading(0.0)))) == [0, 60, 205]

    def test_a_state_of_a_later_time_is_not_trusted(self) -> None:
        state = State(known_at=9000.0, idle_since=8000.0)
        outcome = derive(NEURON, state, reading(0.0), ONE, now=100.0)
        assert instance_metrics(outcome)[names.IDLE_SECONDS] == 0

    @pytest.mark.parametrize(
        ("answer", "counts"),
        [
            (HUNG_TOOL, ONE),
            (reading(0.0, None), Counts(expected_devices=2, busy_marks=0)),
            (reading(0.0), Counts(expected_devices=2, busy_marks=0)),
            (reading(0.0), Counts(expected_devices=None, busy_marks=0)),
            (reading(0.0), Counts(expected_devices=1, busy_marks=None)),
            (Reading((Device(0, transfers=5),)), ONE),
        ],
        ids=["hung", "one device failing", "one device gone", "expected unknown", "marks unknown", "first counter"],
    )
    def test_case_07_it_is_not_published_while_any_use_is_unknown(self, answer: Answer, counts: Counts) -> None:
        outcome = derive(NEURON, State(known_at=0.0, idle_since=0.0), answer, counts, now=60.0)
        assert names.IDLE_SECONDS not in instance_metrics(outcome)
        assert outcome.in_use is None

    def test_use_that_is_seen_is_use_though_others_are_unknown(self) -> None:
        outcome = derive(NEURON, State(), reading(90.0, None), Counts(2, 0), now=0.0)
        assert outcome.in_use is True
        assert names.IDLE_SECONDS not in instance_metrics(outcome)


class TestEnergy:
    @staticmethod
    def energies(*steps: tuple[float, float | None], counts: Counts = ONE) -> list[float | None]:
        readings = [(now, Reading((Device(0, 0.0, power_watts=power),))) for now, power in steps]
        return [instance_metrics(outcome).get(names.ENERGY) for outcome in replay(*readings, counts=counts)]

    def test_it_is_power_times_the_time_since_the_last_reading(self) -> None:
        assert self.energies((0, 70.0), (60, 70.0), (120, 100.0)) == [None, 4200, 6000]

    def test_all_devices_add_up(self) -> None:
        both = Reading((Device(0, 0.0, power_watts=70.0), Device(1, 0.0, power_watts=30.0)))
        outcomes = replay((0, both), (60, both), counts=Counts(2, 0))
        assert instance_metrics(outcomes[1])[names.ENERGY] == 6000

    def test_the_rest_of_a_joule_is_carried(self) -> None:
        found = self.energies((0, 0.51), (1, 0.51), (2, 0.51), (3, 0.51), (4, 0.51))
        assert found == [None, 0, 1, 0, 1]

    def test_a_device_without_power_makes_it_unknown(self) -> None:
        assert self.energies((0, 70.0), (60, None), (120, 70.0), (180, 70.0)) == [None, None, None, 4200]

    def test_a_device_that_is_gone_makes_it_unknown(self) -> None:
        assert self.energies((0, 70.0), (60, 70.0), counts=Counts(expected_devices=2)) == [None, None]

    def test_a_gap_is_not_filled(self) -> None:
        assert self.energies((0, 70.0), (3600, 70.0), (3660, 70.0)) == [None, None, 4200]

    def test_it_is_a_counter_of_whole_numbers(self) -> None:
        outcomes = replay(*[(60.0 * n, Reading((Device(0, 0.0, power_watts=70.3),))) for n in range(2)])
        (energy,) = [metric for metric in outcomes[1].metrics if metric.name == names.ENERGY]
        assert list(energy.lines()) == ["accelerator_energy_joules:4218|c"]

    @given(st.lists(st.tuples(st.floats(1, 100), st.floats(0, 5000)), min_size=2, max_size=50))
    def test_no_energy_is_lost_or_made(self, steps: list[tuple[float, float]]) -> None:
        now, exact, timed = 0.0, 0.0, []
        for passed, power in steps:
            now += passed
            timed.append((now, power))
            exact += passed * power
        exact -= steps[0][0] * steps[0][1]
        total = sum(joules or 0 for joules in self.energies(*timed))
        assert exact - 1.01 <= total <= exact + 0.01


class TestCounts:
    def test_what_is_known_is_published(self) -> None:
        counts = Counts(expected_devices=1, busy_marks=2, sessions=0, setup_failures=1)
        (outcome,) = replay((0, HUNG_TOOL), counts=counts)
        assert instance_metrics(outcome) == {
            names.ACCELERATORS_MISSING: 1,
            names.ACCELERATORS_UNKNOWN: 1,
            names.BUSY_MARKS: 2,
            names.SESSIONS: 0,
            names.SETUP_FAILURES: 1,
        }

    def test_what_is_unknown_is_not(self) -> None:
        (outcome,) = replay((0, HUNG_TOOL), counts=Counts())
        assert outcome.metrics == ()


_FIGURE = st.none() | st.floats(0, 100)
_DEVICES = st.lists(
    st.builds(Device, st.just(0), _FIGURE, st.none() | st.integers(0, 2**64), _FIGURE, _FIGURE, _FIGURE, _FIGURE),
    min_size=1,
    max_size=4,
).map(lambda devices: Reading(tuple(replace(device, index=index) for index, device in enumerate(devices))))
_ANSWERS = _DEVICES | st.just(HUNG_TOOL)
_COUNT = st.none() | st.integers(0, 4)
_COUNTS = st.builds(Counts, st.none() | st.integers(1, 4), _COUNT, _COUNT, _COUNT)


@given(st.lists(st.tuples(st.floats(0, 1000), _ANSWERS, _COUNTS), max_size=12))
def test_whatever_comes_only_known_names_and_numbers_go(steps: list[tuple[float, Answer, Counts]]) -> None:
    state, now = State(), 0.0
    for passed, answer, counts in steps:
        now += passed
        outcome = derive(NEURON, state, answer, counts, now)
        state = outcome.state
        seen = [(metric.name, metric.index) for metric in outcome.metrics]
        assert len(set(seen)) == len(seen)
        for metric in outcome.metrics:
            _check(metric)
        if isinstance(answer, NoReading):
            assert all(metric.index is None for metric in outcome.metrics)
            assert not {names.HEARTBEAT, names.IDLE_SECONDS, names.ENERGY} & {name for name, _ in seen}


def _check(metric: Metric) -> None:
    per_device = metric.name in {names.measurement_metric(measurement) for measurement in names.MEASUREMENTS}
    assert per_device == (metric.index is not None)
    assert per_device or metric.name in names.INSTANCE_METRICS
    assert 0 <= metric.value < math.inf
    assert metric.type != COUNTER or type(metric.value) is int
