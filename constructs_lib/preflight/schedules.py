"""Whether Auto Scaling takes the scheduled actions of a group."""

from __future__ import annotations

from datetime import datetime

from constructs_lib.preflight.plan import Group
from constructs_lib.preflight.report import Finding

_ASKED = "scheduled action"


def check(group: Group, now: datetime) -> list[Finding]:
    """Findings about actions that should have happened already.

    "If you try to schedule your action in the past, Amazon EC2 Auto Scaling returns an error message"
    (PutScheduledUpdateGroupAction, Amazon EC2 Auto Scaling API Reference).
    """
    findings = []
    for action in group.actions:
        if action.start is not None and action.start <= now:
            message = (
                f"{action.logical_id} is scheduled for {action.start:%Y-%m-%d %H:%M} UTC, which is past: Auto Scaling "
                "refuses it, and a deploy that makes or changes it fails"
            )
            cure = "write a time that is still to come; for a Capacity Block, that of one that has not ended"
            if action.recurs:
                cure = "write a time that is still to come, or leave StartTime out"
            findings.append(
                Finding(severity="error", resource=group.logical_id, asked=_ASKED, message=message, cure=cure)
            )
    return findings
