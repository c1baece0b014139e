"""What AWS leaves open, in whole rehearsals: it is played both ways where it matters, and nowhere else."""

from __future__ import annotations

from typing import Any

from constructs_lib.rehearsal.cloud.retries import TRIES_AGAIN
from constructs_lib.rehearsal.cloud.work_queue import WAKES_LATE
from constructs_lib.rehearsal.plain_templates import group_idle_alarm
from constructs_lib.rehearsal.report import Rehearsal
from constructs_lib.rehearsal.run import rehearse
from constructs_lib.rehearsal.simulate import Scenario, simulate
from constructs_lib.rehearsal.template import Template
from constructs_lib.rehearsal.trace import Trace
from constructs_lib.rehearsal.world import SEEN_LATE
from tests.rehearsal.fleets import COLD_START, SCENARIO, queue_fleet, trace

_HOUR = 3_600
_WORK = trace((30, 600), (20 * _HOUR, 900))


def _plain(**of_queue_alarm: str) -> dict[str, Any]:
    """Return a group that steps out with its queue, and to zero on an idle alarm."""
    name, _ = Template(queue_fleet()).group()
    body = group_idle_alarm(queue_fleet(), name, at_once=1)
    body["Resources"]["QueueAlarm"]["Properties"].update(of_queue_alarm)
    return body


def _rehearsed(template: dict[str, Any], work: Trace = _WORK, **scenario: Any) -> Rehearsal:
    return rehearse(template, work, scenario=Scenario(cold_start=COLD_START, **scenario))


def test_fleet_that_goes_by_no_metric_of_aws_is_played_once() -> None:
    found = _rehearsed(queue_fleet())
    assert found.record.doubts == []
    assert len(found.readings) == 1


def test_fleet_that_a_queues_alarm_wakes_is_played_with_early_and_with_late_metrics() -> None:
    found = _rehearsed(_plain())
    assert {WAKES_LATE, SEEN_LATE} <= {*found.record.doubts}
    changed = {name for each in found.readings for name in each.differs}
    assert {"queue_wake_lag_seconds", "metric_delay_seconds"} <= changed


def test_delays_of_retries_are_played_only_where_launches_fail_again_and_again() -> None:
    found = _rehearsed(queue_fleet(), no_capacity=((0.0, 2.0 * _HOUR),))
    assert found.record.doubts == [TRIES_AGAIN]
    assert [dict(each.differs) for each in found.readings] == [
        {},
        {"longest_retry_seconds": 60},
        {"longest_retry_seconds": 900},
    ]


def test_queue_that_falls_asleep_while_nothing_else_happens_is_seen_to() -> None:
    """Six hours after the last call its metrics end, and silence that is breaching launches instances."""
    template = _plain(TreatMissingData="breaching")
    quick, thorough = (simulate(template, _WORK, scenario=SCENARIO, thorough=each) for each in (False, True))
    assert [each.launched_s for each in quick.instances] == [each.launched_s for each in thorough.instances]
    assert quick.alarms == thorough.alarms
    assert any(6 * _HOUR < each.launched_s < 8 * _HOUR for each in quick.instances)
