"""Does a template use accelerators responsibly: rules over CloudFormation templates, and what they found.

Templates may be anybody's. Neither AWS nor the CDK is asked. What the templates do not tell is never taken for good or
bad: it is listed as not judged.

A name is imported when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constructs_lib.late_names import late_names

if TYPE_CHECKING:
    from constructs_lib.compliance.cdk import AcceleratorChecks, suppress
    from constructs_lib.compliance.findings import Finding, Report
    from constructs_lib.compliance.rule import Rule
    from constructs_lib.compliance.rules import RULES
    from constructs_lib.compliance.run import check_template
    from constructs_lib.compliance.testing import assert_compliant

__all__ = [
    "RULES",
    "AcceleratorChecks",
    "Finding",
    "Report",
    "Rule",
    "assert_compliant",
    "check_template",
    "suppress",
]

_MODULES = {
    "cdk": ("AcceleratorChecks", "suppress"),
    "findings": ("Finding", "Report"),
    "rule": ("Rule",),
    "rules": ("RULES",),
    "run": ("check_template",),
    "testing": ("assert_compliant",),
}


__getattr__ = late_names(__name__, globals(), _MODULES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
