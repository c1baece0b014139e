"""What an instance is told to publish from a load on is what its software would publish minute by minute."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constructs_lib.node.derived import Counts, State, derive
from constructs_lib.node.readings import FAILED, Answer, Device, NoReading, Reading
from constructs_lib.node.settings import Settings
from constructs_lib.rehearsal.cloud.metrics import Key, MetricStore
from constructs_lib.rehearsal.machine.instance import Image, Machine
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.template import Template
from constructs_lib.rehearsal.watched import Watched
from tests.behaviour.fleets import fleet, fleet_of
from tests.rehearsal.machine.minute_by_minute import MINUTE, Sent, publish_minute

_IDENTITY = {"InstanceId": "i-1", "AutoScalingGroupName": "g"}
_LOADS = [
    Load(accelerators=(0.0,)),
    Load(accelerators=(95.0,), cpu=30.0, working=True),
    Load(accelerators=(3.0,), busy_marks=1),
    Load(accelerators=(0.0,), busy_marks=None, logins=2),
    Load(accelerators=(None,)),
    Load(accelerators=None),
    Load(accelerators=(0.0,), mig=(0,), session=True),
    Load(accelerators=(0.0,), node_program=False),
    Load(accelerators=(95.0,), agent=False),
    Load(accelerators=(0.0,), driver=False),
]


class _MinuteByMinute:
    """The software of an instance as it would run: each reading of the node program, each sample of the agent."""

    def __init__(self, image: Image) -> None:
        self._image = image
        self._state = State()
        self._transfers: dict[int, int] = {}

    def publish(self, store: MetricStore, now: int, load: Load) -> None:
        agent = self._image.agent
        if not load.driver and self._image.fallback is not None:
            if now < self._image.driver_timeout:
                return
            agent = self._image.fallback
        program = self._image.settings
        assert program is not None
        lines = list(self._lines(program, now, load))
        publish_minute(agent, store, now, _IDENTITY, load, lines if agent.listens_at(*program.statsd) else ())

    def _lines(self, given: Settings, now: int, load: Load) -> Iterator[Sent]:
        if not load.node_program:
            return
        sessions = None if load.logins is None else load.logins + load.session
        (expected,) = set(given.expected.values())
        for second in range(0, MINUTE, given.interval_seconds):
            answer = self._answer(given, load)
            outcome = derive(given, self._state, answer, Counts(expected, load.busy_marks, sessions), now + second)
            self._state = outcome.state
            for metric in outcome.metrics:
                for line in metric.lines():
                    yield second, line

    def _answer(self, given: Settings, load: Load) -> Answer:
        if load.accelerators is None or not load.driver:
            return NoReading(FAILED, "")
        return Reading(tuple(self._device(given, index, use, load) for index, use in enumerate(load.accelerators)))

    def _device(self, given: Settings, index: int, use: float | None, load: Load) -> Device:
        if use is None:
            return Device(index, fault="it does not answer")
        if given.kind == "fpga":
            self._transfers[index] = self._transfers.get(index, 0) + int(use)
            return Device(index, transfers=self._transfers[index], power_watts=20.0)
        mig = index in load.mig
        power = None if given.kind in ("media", "neuron") else 30.0 + use
        return Device(
            index,
            utilization=None if mig else use,
            memory_used_mib=load.memory,
            power_watts=power,
            fault="MIG is on" if mig else None,
            use_unknown_by_design=mig,
        )


@cache
def _image(instance_type: str, resolution: int) -> Image:
    if instance_type == "g5.12xlarge":
        return Image(Template(fleet()))
    # AWS has an image of its own for the accelerators of some makers only.
    has_image = instance_type.startswith(("g5", "inf2"))
    return Image(Template(fleet_of(instance_type, resolution=resolution, has_image=has_image)))


def _series(store: MetricStore) -> set[Key]:
    return set(store._series)


@pytest.mark.parametrize(
    ("instance_type", "resolution"),
    [
        ("g5.xlarge", 60),
        ("g5.xlarge", 10),
        ("g5.12xlarge", 60),
        ("inf2.xlarge", 60),
        ("f2.6xlarge", 60),
        ("vt1.3xlarge", 10),
    ],
)
@settings(max_examples=15)
@given(loads=st.lists(st.sampled_from(_LOADS) | st.none(), min_size=1, max_size=14))
def test_what_is_held_is_what_is_published_each_minute(
    instance_type: str, resolution: int, loads: list[Load | None]
) -> None:
    image = _image(instance_type, resolution)
    machine, reference = Machine(image, _IDENTITY, 0), _MinuteByMinute(image)
    held, published = MetricStore({}), MetricStore({})
    load = _LOADS[0]
    for minute, change in enumerate(loads, start=1):
        load = change or load
        wide = replace(load, accelerators=load.accelerators and (*load.accelerators,) * image.accelerators)
        machine.note(held, minute * MINUTE, wide)
        reference.publish(published, minute * MINUTE, wide)
    end = (len(loads) + 1) * MINUTE
    machine.end(held, end)

    of_the_agent = {key for key in _series(held) | _series(published) if key[0] == image.agent.namespace}
    grid = range(0, end + MINUTE, MINUTE)
    for key in sorted(of_the_agent, key=str):
        for statistic in ("SampleCount", "Sum", "Maximum", "Minimum"):
            expected = published.series(key, statistic, MINUTE, grid, end + MINUTE)
            assert held.series(key, statistic, MINUTE, grid, end + MINUTE) == pytest.approx(expected), (key, statistic)


def test_only_what_is_watched_is_held() -> None:
    by_group = ("AcceleratedFleet", "accelerators_missing", frozenset({("AutoScalingGroupName", "g")}))
    image = Image(Template(fleet()), Watched(frozenset({by_group}), frozenset({"busy_marks"})))
    store = MetricStore({})

    Machine(image, _IDENTITY, 0).note(store, 60, Load(accelerators=(0.0,) * 4))

    assert store.published("AcceleratedFleet") == {
        ("busy_marks", frozenset({"InstanceId"})),
        ("accelerators_missing", frozenset({"AutoScalingGroupName"})),
    }
    assert not store.published("AWS/EC2")


def test_job_between_two_samples_is_not_seen() -> None:
    image, store = _image("g5.xlarge", 60), MetricStore({})
    machine = Machine(image, _IDENTITY, 0)
    idle, busy = Load(accelerators=(0.0,)), Load(accelerators=(95.0,))
    for at, load in ((60.0, idle), (130.5, busy), (170.0, idle), (310.0, busy), (365.0, idle)):
        machine.note(store, at, load)

    key = ("AcceleratedFleet", "nvidia_smi_utilization_gpu", frozenset({("InstanceId", "i-1")}))
    points = store.series(key, "Maximum", MINUTE, range(60, 480, 60), 900)
    assert [at for at, value in points.items() if value == 95.0] == [360]


def test_idle_seconds_count_from_the_last_sample_in_use() -> None:
    image, store = _image("g5.xlarge", 60), MetricStore({})
    machine = Machine(image, _IDENTITY, 0)
    machine.note(store, 60, Load(accelerators=(95.0,)))
    machine.note(store, 290, Load(accelerators=(0.0,)))

    key = ("AcceleratedFleet", "accelerator_idle_seconds", frozenset({("InstanceId", "i-1")}))
    # In use at 240, the last reading before the work ended.
    points = store.series(key, "Maximum", MINUTE, [180, 240, 300, 360, 3_600], 7_200)
    assert points == {180: 0.0, 240: 0.0, 300: 60.0, 360: 120.0, 3_600: 3_360.0}
