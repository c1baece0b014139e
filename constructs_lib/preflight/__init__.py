"""Asks an account, before a deploy, what synth cannot know: quotas, offerings, reservations, images, ways to AWS."""

from constructs_lib.preflight.account import policy_document
from constructs_lib.preflight.report import SEVERITIES, Finding, Report
from constructs_lib.preflight.run import preflight
from constructs_lib.template.assembly import StackTemplate, templates_in

__all__ = [
    "SEVERITIES",
    "Finding",
    "Report",
    "StackTemplate",
    "policy_document",
    "preflight",
    "templates_in",
]
