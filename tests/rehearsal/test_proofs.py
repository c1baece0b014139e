"""What stands for a run that is left out publishes what the run would."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from types import SimpleNamespace

from constructs_lib.rehearsal.release_proof import _figures
from release_idle.members import State, Verdict
from release_idle.report import PassReport
from runtime.clock import SystemClock
from runtime.structured_log import StructuredLog


def test_a_pass_that_is_left_out_counts_what_a_pass_counts_that_finds_nothing_to_do() -> None:
    verdicts = {
        "i-1": Verdict(state=State.BUSY, reason="at work"),
        "i-2": Verdict(state=State.IDLE, reason="idle"),
        "i-3": Verdict(state=State.IDLE, reason="idle"),
    }
    lines: list[str] = []
    report = PassReport(group_name="Group", dry_run=False, verdicts=verdicts, kept_for_work={"i-2", "i-3"})
    report.write(StructuredLog(SystemClock(), lines.append), "Fleet", datetime(2026, 1, 5, tzinfo=timezone.utc))
    (published,) = [line for line in map(json.loads, lines) if "_aws" in line]
    names = [metric["Name"] for each in published["_aws"]["CloudWatchMetrics"] for metric in each["Metrics"]]

    settings = SimpleNamespace(namespace="Fleet", auto_scaling_group="Group")
    left_out = _figures(settings, busy=1, idle=2, idle_despite_work=2)

    assert {name: value for (_, name, _), value in left_out.items()} == {name: published[name] for name in names}
