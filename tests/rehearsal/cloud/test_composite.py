"""Composite alarms: rules, and actions that a suppressor holds back."""

from __future__ import annotations

from typing import Any

import pytest

from constructs_lib.errors import ArgumentError
from constructs_lib.rehearsal.cloud.alarm_rules import Rule
from constructs_lib.rehearsal.cloud.composite import CompositeAlarm, composite_alarms
from constructs_lib.rehearsal.cloud.verdicts import State

_METRIC_ALARMS = {"Hot": None, "Full": "queue-is-full", "Dark": None}
_KNOWN = {"Hot": "Hot", "Hot.Arn": "Hot", "Full": "Full", "queue-is-full": "Full", "Dark": "Dark"}
_ALL_OK: dict[str, State] = {"Hot": "OK", "Full": "OK", "Dark": "INSUFFICIENT_DATA"}
_HOT: dict[str, State] = {**_ALL_OK, "Hot": "ALARM"}


@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        ("ALARM(Hot)", True),
        ('ALARM("Hot.Arn")', True),
        ("OK(queue-is-full)", True),
        ("ALARM('Full')", False),
        ("INSUFFICIENT_DATA(Dark)", True),
        ("NOT ALARM(Hot)", False),
        ("NOT (ALARM(Full) OR ALARM(Dark))", True),
        # AND binds before OR: true OR (false AND false).
        ("ALARM(Hot) OR ALARM(Full) AND ALARM(Dark)", True),
        ("(ALARM(Hot) OR ALARM(Full)) AND ALARM(Dark)", False),
        ("ALARM(Hot) AND OK(Full) AND NOT OK(Dark)", True),
        ("TRUE AND NOT FALSE", True),
        ("AT_LEAST(1, ALARM, (Hot, Full, Dark))", True),
        ("AT_LEAST(2, ALARM, (Hot, Full, Dark))", False),
        ("AT_LEAST(2, NOT ALARM, (Hot, Full, Dark))", True),
        # A third of three is one, and 34 % of three are two.
        ("AT_LEAST(33%, ALARM, (Hot, Full, Dark))", True),
        ("AT_LEAST(34%, ALARM, (Hot, Full, Dark))", False),
        ("AT_LEAST(50%, OK, (Hot, queue-is-full)) AND ALARM(Hot)", True),
    ],
)
def test_rule_with_one_alarm_on(rule: str, holds: bool) -> None:
    assert Rule("Any", rule, _KNOWN).holds(_HOT) is holds


@pytest.mark.parametrize(
    "rule",
    [
        "",
        "ALARM(Hot",
        "ALARM()",
        "ALARM(Hot) AND",
        "ALARM(Hot) OK(Full)",
        "ALARM(nowhere)",
        "HOT(Hot)",
        "AT_LEAST(some, ALARM, (Hot))",
        "AT_LEAST(1, ALARM, Hot)",
        "AT_LEAST(1, BROKEN, (Hot))",
        "alarm(Hot)",
        'ALARM("Hot)',
    ],
)
def test_rule_that_cannot_be_read_is_refused_by_name(rule: str) -> None:
    with pytest.raises(ArgumentError, match=r"^Any: AlarmRule must"):
        Rule("Any", rule, _KNOWN)


def _composite(**properties: Any) -> CompositeAlarm:
    given = {"AlarmRule": "ALARM(Hot)", "AlarmActions": ["Topic"], "OKActions": ["Calm.Arn"], **properties}
    (found,) = composite_alarms({"Any": given}, _METRIC_ALARMS, ["Policy"])
    return found


def test_actions_run_when_the_state_changes_and_not_again() -> None:
    alarm = _composite()

    assert alarm.tick(60, _ALL_OK) == (True, ("Calm.Arn",))
    assert alarm.tick(120, _ALL_OK) == (False, ())
    assert alarm.tick(180, _HOT) == (True, ("Topic",))
    assert alarm.tick(240, _HOT) == (False, ())
    assert alarm.state == "ALARM"


@pytest.mark.parametrize("enabled", [False, "false"])
def test_actions_that_are_not_enabled_do_not_run(enabled: object) -> None:
    assert _composite(ActionsEnabled=enabled).tick(60, _HOT) == (True, ())


@pytest.mark.parametrize(
    "action",
    [
        "Policy",
        "Policy.Arn",
        "arn:aws:autoscaling:us-east-1:111122223333:scalingPolicy:x",
        "arn:aws:automate:us-east-1:ec2:stop",
    ],
)
def test_action_of_auto_scaling_or_ec2_is_refused_as_by_cloudwatch(action: str) -> None:
    with pytest.raises(ArgumentError, match="Any: AlarmActions must be functions, topics"):
        _composite(AlarmActions=[action])


def test_alarms_in_a_circle_are_refused() -> None:
    rules = {"A": {"AlarmRule": "ALARM(B)"}, "B": {"AlarmRule": "OK(A) OR ALARM(Hot)"}}

    with pytest.raises(ArgumentError, match=r"^A: AlarmRule must not be among"):
        composite_alarms(rules, _METRIC_ALARMS)


def test_composite_of_a_composite_comes_after_it() -> None:
    rules = {
        "Outer": {"AlarmRule": "ALARM(inner-name)"},
        "Inner": {"AlarmRule": "ALARM(Hot)", "AlarmName": "inner-name"},
    }

    assert [alarm.name for alarm in composite_alarms(rules, _METRIC_ALARMS)] == ["Inner", "Outer"]


# A suppressor, after the pictures of "Alarm suppression": wait 120 s for it, and 180 s after it.

_SUPPRESSED = {"ActionsSuppressor": "Full", "ActionsSuppressorWaitPeriod": 120, "ActionsSuppressorExtensionPeriod": 180}


def _acted_at(hot: range, full: range, minutes: int = 30) -> list[tuple[int, str]]:
    """Return the minutes at which something was done, while alarms are on from and to minutes."""
    alarm = _composite(**_SUPPRESSED)
    # Out of INSUFFICIENT_DATA, and past the waiting for that.
    for minute in range(-5, 1):
        alarm.tick(minute * 60, _ALL_OK)
    done = []
    for minute in range(1, minutes):
        states: dict[str, State] = {
            **_ALL_OK,
            "Hot": "ALARM" if minute in hot else "OK",
            "Full": "ALARM" if minute in full else "OK",
        }
        _, targets = alarm.tick(minute * 60, states)
        done += [(minute, target) for target in targets]
    return done


def test_without_the_suppressor_actions_wait_for_it_and_then_run() -> None:
    assert _acted_at(hot=range(5, 99), full=range(0)) == [(7, "Topic")]


def test_suppressor_in_time_holds_the_actions_back_and_a_while_longer() -> None:
    assert _acted_at(hot=range(5, 99), full=range(6, 10)) == [(13, "Topic")]


def test_alarm_waits_while_its_actions_are_held_back() -> None:
    alarm = _composite(**_SUPPRESSED)

    alarm.tick(60, _HOT)
    assert alarm.is_waiting
    alarm.tick(180, _HOT)
    assert not alarm.is_waiting


def test_suppressor_that_comes_after_the_wait_is_too_late() -> None:
    assert _acted_at(hot=range(5, 99), full=range(8, 12)) == [(7, "Topic")]


def test_what_is_over_when_the_suppressor_ends_has_the_actions_of_the_state_then() -> None:
    assert _acted_at(hot=range(5, 8), full=range(4, 10)) == [(13, "Calm.Arn")]


def test_change_while_waiting_does_not_make_the_wait_longer() -> None:
    assert _acted_at(hot=range(5, 6), full=range(0)) == [(7, "Calm.Arn")]


@pytest.mark.parametrize("missing", ["ActionsSuppressorWaitPeriod", "ActionsSuppressorExtensionPeriod"])
def test_suppressor_needs_both_periods(missing: str) -> None:
    with pytest.raises(ArgumentError, match="Any: ActionsSuppressor must come with"):
        _composite(**{key: value for key, value in _SUPPRESSED.items() if key != missing})


def test_suppressor_from_elsewhere_is_refused() -> None:
    with pytest.raises(ArgumentError, match="Any: ActionsSuppressor must be an alarm of the template"):
        _composite(**{**_SUPPRESSED, "ActionsSuppressor": "arn:aws:cloudwatch:us-east-1:999:alarm:other"})
