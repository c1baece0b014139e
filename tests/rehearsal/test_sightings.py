"""What is said of a member without asking the handler: each guard against saying too much."""

from __future__ import annotations

import pytest

from constructs_lib.rehearsal.cloud.group import Instance
from constructs_lib.rehearsal.cloud.lambdas import Runtime
from constructs_lib.rehearsal.machine.crew import Evidence
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.sightings import Is, Sightings
from constructs_lib.rehearsal.world import World
from tests.rehearsal.fleets import WINDOW, queue_fleet

MINUTE = 60
NOW = 1_000 * MINUTE
START = NOW - WINDOW - 2 * MINUTE
"""When the window begins: the newest two minutes may still be on their way."""
LONG_AGO = 10 * MINUTE
IDLE, OTHER, WORK = Load(), Load(logins=1), Load(accelerators=(95.0,))
METRIC = "nvidia_smi_utilization_gpu"


class Seen:
    """One member of which the test says what its series should hold, and what the first signal's does."""

    def __init__(self) -> None:
        world = World(queue_fleet(), leaves_out=True)
        (function,) = (each for each in world.functions.values() if each.handler.startswith("release_idle"))
        settings = Runtime(function, world.account, world.tick).settings
        self.warm_up: int = settings.policy.warm_up_seconds
        self.evidence = Evidence(LONG_AGO, None, None, IDLE, LONG_AGO)
        self.member = Instance("i-1", "us-east-1a", 0, protected=True, state="InService")
        self.store = world.store
        self.sightings = Sightings(world.account, lambda _member, _now: self.evidence, settings)
        self.series = (settings.namespace, METRIC, frozenset({("InstanceId", "i-1")}))

    def launched(self, at: float) -> None:
        self.member.launched_at = at

    def learn(self, load: Load) -> None:
        self.evidence = Evidence(LONG_AGO, None, None, load, LONG_AGO)
        self.sightings.learn([self.member], NOW)

    def verdict(self, now: int = NOW) -> Is:
        found = self.sightings.verdicts([self.member], now)
        assert found is not None
        return found[0]


@pytest.fixture
def seen() -> Seen:
    return Seen()


def test_idle_by_the_first_signal_is_idle_only_under_a_load_that_the_handler_found_idle(seen: Seen) -> None:
    seen.store.hold(seen.series, 0, 0.0)
    assert seen.verdict() == "seems idle"
    seen.learn(IDLE)
    assert seen.verdict() == "idle"
    seen.evidence = Evidence(LONG_AGO, None, None, OTHER, LONG_AGO)
    assert seen.verdict() == "seems idle"


def test_idle_is_who_had_that_load_for_the_whole_window(seen: Seen) -> None:
    seen.store.hold(seen.series, 0, 0.0)
    seen.learn(IDLE)
    seen.evidence = Evidence(LONG_AGO, None, None, IDLE, START)
    assert seen.verdict() == "idle"
    seen.evidence = Evidence(LONG_AGO, None, None, IDLE, START + MINUTE)
    assert seen.verdict() == "seems idle"


def test_nothing_is_learnt_of_a_load_that_is_younger_than_the_window(seen: Seen) -> None:
    seen.store.hold(seen.series, 0, 0.0)
    seen.evidence = Evidence(LONG_AGO, None, None, IDLE, START + MINUTE)
    seen.sightings.learn([seen.member], NOW)
    seen.evidence = Evidence(LONG_AGO, None, None, IDLE, LONG_AGO)
    assert seen.verdict() == "seems idle"


def test_series_that_lacks_a_minute_of_the_window_shows_no_idleness(seen: Seen) -> None:
    seen.learn(IDLE)
    seen.store.hold(seen.series, START + MINUTE, 0.0)
    assert seen.verdict() == "unsure"


@pytest.mark.parametrize(
    ("first_before_expected", "since_first", "load", "is_starting"),
    [
        (6 * MINUTE, 0, IDLE, True),
        # A signal may begin some minutes after the first one, and silence is no youth.
        (5 * MINUTE, 0, IDLE, False),
        # What it did before may be in the window.
        (6 * MINUTE, MINUTE, IDLE, False),
        (6 * MINUTE, 0, OTHER, False),
        # It may have been idle for the whole window already.
        (NOW - START, 0, IDLE, False),
    ],
)
def test_too_young_is_who_has_had_one_load_that_is_idleness_and_reported_in_time(
    seen: Seen, first_before_expected: int, since_first: int, load: Load, is_starting: bool
) -> None:
    seen.learn(IDLE)
    seen.launched(NOW - seen.warm_up)
    first = NOW - first_before_expected
    seen.evidence = Evidence(first, None, None, load, first + since_first)
    assert seen.verdict() == ("starting" if is_starting else "unsure")


def test_work_is_believed_of_a_load_once_a_series_has_shown_it(seen: Seen) -> None:
    seen.evidence = Evidence(LONG_AGO, NOW - MINUTE, LONG_AGO, WORK, LONG_AGO)
    assert seen.verdict() == "unsure"
    seen.store.hold(seen.series, LONG_AGO, 95.0)
    assert seen.verdict() == "busy"
    assert seen.sightings.come_promptly
    # Another member under the same load, whose series nobody has to read.
    seen.member = Instance("i-2", "us-east-1a", 0, protected=True, state="InService")
    assert seen.verdict() == "busy"


def test_load_that_began_in_this_minute_has_shown_nothing_yet(seen: Seen) -> None:
    seen.store.hold(seen.series, LONG_AGO, 95.0)
    seen.evidence = Evidence(LONG_AGO, NOW - MINUTE, LONG_AGO, WORK, LONG_AGO)
    assert seen.verdict() == "busy"
    seen.member = Instance("i-2", "us-east-1a", 0, protected=True, state="InService")
    seen.evidence = Evidence(LONG_AGO, NOW - MINUTE, NOW, WORK, NOW)
    assert seen.verdict() == "unsure"


def test_one_minute_of_work_makes_busy_until_the_window_has_left_it_behind(seen: Seen) -> None:
    seen.store.hold(seen.series, NOW - MINUTE, 95.0)
    seen.store.hold(seen.series, NOW, 0.0)
    seen.evidence = Evidence(LONG_AGO, NOW - MINUTE, NOW - MINUTE, WORK, NOW - MINUTE)
    assert seen.verdict() == "busy"
    seen.evidence = Evidence(LONG_AGO, NOW - MINUTE, None, IDLE, NOW)
    assert seen.verdict(NOW + NOW - START - MINUTE) == "busy"
    assert seen.verdict(NOW + NOW - START) != "busy"


def test_who_is_held_or_was_unknown_is_left_to_the_handler(seen: Seen) -> None:
    seen.member.tags["accelerated-fleet:unknown"] = "since then"
    assert seen.sightings.verdicts([seen.member], NOW) is None
