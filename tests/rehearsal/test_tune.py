"""The search for settings: bounded, the same each time, and never satisfied with what another one beats."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from constructs_lib.rehearsal.figures import Figures, figures_of
from constructs_lib.rehearsal.trace import Job, Trace
from constructs_lib.rehearsal.tunable import Settings, Tunable
from constructs_lib.rehearsal.tune import Trial, Tuning, frontier, tune
from tests.rehearsal.made_records import two_jobs

FIGURES = figures_of(two_jobs(), cost_usd=1.0)
TRACE = Trace(jobs=(Job(0, 60, 2.0), Job(10, 60, 2.0)), name="by hand")
NOW = Settings(window_s=900, warm_up_s=600, messages_per_instance=4, minimum=0, pool=0)


TEMPLATE = {
    "Resources": {
        "Group": {
            "Type": "AWS::AutoScaling::AutoScalingGroup",
            "Properties": {
                "MinSize": "0",
                "MaxSize": "8",
                "LaunchTemplate": {"LaunchTemplateId": {"Ref": "Launch"}, "Version": "1"},
            },
        },
        "Launch": {
            "Type": "AWS::EC2::LaunchTemplate",
            "Properties": {"LaunchTemplateData": {"InstanceType": "g6.xlarge"}},
        },
        "Release": {
            "Type": "AWS::Lambda::Function",
            "Properties": {
                "Handler": "release_idle.index.handler",
                "Environment": {
                    "Variables": {
                        "AUTO_SCALING_GROUP_NAME": {"Ref": "Group"},
                        "WINDOW_SECONDS": "900",
                        "WARM_UP_SECONDS": "600",
                        "SIGNALS": "[]",
                        "MESSAGES_PER_INSTANCE": "4",
                    }
                },
            },
        },
    }
}


TUNABLE = Tunable(TEMPLATE, "Group")


def came_to(cost: float | None, wait: float | None, *, unfinished: int = 0) -> Figures:
    return replace(FIGURES, cost_usd=cost, waits=replace(FIGURES.waits, p95=wait), unfinished=unfinished)


def trial(cost: float | None, wait: float | None, settings: Settings = NOW, **more: int) -> Trial:
    return Trial(settings=settings, figures=came_to(cost, wait, **more))


def as_if(cost_of: Callable[[Settings], float], wait_of: Callable[[Settings], float]) -> Any:
    """A stand-in for the rehearsal, by formulas of the settings."""

    def play(template: Mapping[str, Any], _number: int) -> Figures:
        settings = Tunable(template, "Group").now
        return came_to(cost_of(settings), wait_of(settings))

    return play


def usual_cost(settings: Settings) -> float:
    """An adaptive policy saves a fifth of what the window costs."""
    kept = settings.window_s / (900 if settings.cold_start_s is None else 1_125)
    return kept + 5 * settings.minimum + settings.pool / 10 + 1 / (settings.messages_per_instance or 1)


def usual_wait(settings: Settings) -> float:
    waited = (
        600
        + (settings.cold_start_s or 0) / 10
        - settings.window_s / 10
        - 40 * settings.pool
        + 10 * (settings.messages_per_instance or 1)
    )
    return max(0.0, waited / (1 + settings.minimum))


def searched(play: Any = None, *, template: Tunable | None = None, runs: int = 24, trace: Trace = TRACE) -> Tuning:
    own = came_to(usual_cost(NOW), usual_wait(NOW))
    chosen = play or as_if(usual_cost, usual_wait)
    return tune(template or TUNABLE, trace, own=own, accelerators=4, cold_start_s=270, play=chosen, runs=runs)


# --- the frontier ----------------------------------------------------------------------------------------------------


def test_the_frontier_is_what_no_other_one_beats() -> None:
    trials = [trial(10, 100), trial(5, 200), trial(7, 150), trial(8, 150), trial(5, 250), trial(20, 100)]

    assert [(each.cost, each.wait_s) for each in frontier(trials)] == [(5, 200), (7, 150), (10, 100)]


def test_cutting_off_more_work_than_now_is_on_no_frontier() -> None:
    trials = [trial(10, 100), trial(1, 1, unfinished=1)]

    assert frontier(trials) == trials[:1]
    assert frontier([trial(10, 100, unfinished=1), trials[1]]) == trials[1:]


def test_of_two_that_come_to_the_same_the_one_with_less_kept_ready_is_taken() -> None:
    plain = trial(5, 5)
    with_pool = trial(5, 5, replace(NOW, pool=1))

    assert frontier([with_pool, plain]) == [plain]


def test_without_prices_the_hours_that_are_paid_count() -> None:
    found = Tuning(trials=[trial(None, 100)], allowed=1)

    assert found.own.cost == FIGURES.hours.paid
    assert found.unit == "paid h"


# --- the search ------------------------------------------------------------------------------------------------------


def test_it_begins_with_what_is_there_and_stays_within_its_runs() -> None:
    found = searched(runs=7)

    assert found.trials[0].settings == NOW
    assert len(found.trials) == 7
    assert len({each.settings for each in found.trials}) == 7
    assert not found.is_complete


def test_it_is_the_same_each_time() -> None:
    assert searched().as_json() == searched().as_json()


def test_only_settings_that_the_construct_takes_are_tried() -> None:
    assert all(TUNABLE.accepts(each.settings) for each in searched().trials)


def test_messages_are_those_of_jobs_that_fit_side_by_side_too() -> None:
    """Jobs of two accelerators on instances of four: two at a time. Half of 4 is that, and twice is 8."""
    tried = {each.settings.messages_per_instance for each in searched(runs=200).trials}

    assert tried == {2, 4, 8}
    alone = Trace(jobs=(Job(0, 60, 4.0),), name="one")
    assert 1 in {each.settings.messages_per_instance for each in searched(runs=200, trace=alone).trials}


def test_with_enough_runs_it_finds_the_frontier_of_all_combinations() -> None:
    found = searched(runs=800)
    everything = [
        Trial(settings=each, figures=came_to(usual_cost(each), usual_wait(each)))
        for window, messages, minimum, pool, cold_start_s in product(
            (5, 10, 15, 30, 60), (2, 4, 8), (0, 1, 2), (0, 1, 2, 4), (None, 240)
        )
        for each in [
            replace(
                TUNABLE.with_cold_start(TUNABLE.with_window(NOW, window * 60), cold_start_s),
                messages_per_instance=messages,
                minimum=minimum,
                pool=pool,
            )
        ]
    ]
    wanted = [(each.cost, each.wait_s) for each in frontier([found.own, *everything])]

    assert [(each.cost, each.wait_s) for each in found.frontier] == wanted
    assert found.is_complete


def test_the_adaptive_policy_is_told_the_usual_cold_start_in_whole_minutes() -> None:
    def told(cold_start_s: float) -> set[int | None]:
        found = tune(
            TUNABLE,
            TRACE,
            own=came_to(1, 1),
            accelerators=4,
            cold_start_s=cold_start_s,
            play=as_if(usual_cost, usual_wait),
            runs=20,
        )
        return {each.settings.cold_start_s for each in found.trials}

    assert told(270) == {None, 240}
    assert told(3) == {None, 60}
    assert told(360) == {None, 360}


def test_of_slow_starts_no_adaptive_policy_is_told() -> None:
    found = tune(
        TUNABLE,
        TRACE,
        own=came_to(1, 1),
        accelerators=4,
        cold_start_s=400,
        play=as_if(usual_cost, usual_wait),
        runs=20,
    )
    assert {each.settings.cold_start_s for each in found.trials} == {None}


def test_it_says_what_it_left_out() -> None:
    assert searched(runs=200).notes[1:] == ["what the volumes of stopped instances in a warm pool cost is not counted"]


def test_it_says_what_it_could_not_try() -> None:
    """A fleet without a queue, of Spot Instances."""
    template = copy.deepcopy(TEMPLATE)
    resources: Any = template["Resources"]
    del resources["Release"]["Properties"]["Environment"]["Variables"]["MESSAGES_PER_INSTANCE"]
    resources["Launch"]["Properties"]["LaunchTemplateData"]["InstanceMarketOptions"] = {"MarketType": "spot"}

    def play(changed: Mapping[str, Any], _number: int) -> Figures:
        assert Tunable(changed, "Group").now.messages_per_instance is None
        return came_to(1, 1)

    found = searched(play, template=Tunable(template, "Group"), runs=10)

    assert {each.settings.pool for each in found.trials} == {0}
    assert [note.partition(":")[0].partition(",")[0] for note in found.notes[1:]] == [
        "the fleet has no queue",
        "no warm pool was tried",
    ]


# --- how it is told --------------------------------------------------------------------------------------------------


def test_each_point_of_the_frontier_says_what_to_write() -> None:
    found = Tuning(trials=[trial(10, 100), trial(8, 120, TUNABLE.with_window(NOW, 300)), trial(30, 1)], allowed=24)
    lines = found.as_lines()

    assert "1: idle=IdlePolicy(window=Duration.minutes(5))" in lines
    assert "2: as it is now" in lines
    assert max(map(len, lines)) <= 80


def test_the_document_has_every_trial() -> None:
    document = searched(runs=5).as_json()

    assert (document["runs"], document["runs_allowed"], len(document["trials"])) == (5, 5, 5)
    assert document["trials"][0]["settings"]["window_s"] == 900
    assert document["trials"][0]["changes"] == []
    assert any(each["frontier"] for each in document["trials"])


@pytest.mark.parametrize("wait", [None, 0.0])
def test_without_jobs_nothing_waits(wait: float | None) -> None:
    assert trial(1, wait).wait_s == 0
