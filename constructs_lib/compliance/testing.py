"""For the tests of those who use accelerators: that a stack, or whatever template, breaks no rule.

::

    def test_the_fleet_is_measured_and_released():
        assert_compliant(TrainingStack(App(), "Training"))

A template, as plain data or in a file, needs no CDK.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from constructs_lib.compliance.counting import FailOn, counting
from constructs_lib.compliance.findings import Finding, Report
from constructs_lib.compliance.run import check_template
from constructs_lib.errors import ArgumentError
from constructs_lib.plain_text import several
from constructs_lib.validation import complaint, text

if TYPE_CHECKING:
    from aws_cdk import Stack, Stage
    from aws_cdk.assertions import Template

_WHERE = "assert_compliant"


def assert_compliant(
    subject: Stack | Stage | Template | Mapping[str, Any] | str | Path,
    *,
    region: str | None = None,
    parameters: Mapping[str, str] | None = None,
    select: Iterable[str] | None = None,
    ignore: Iterable[str] | None = None,
    fail_on: FailOn | None = None,
) -> None:
    """Fail the test if a rule is broken.

    What cannot be told before a deploy breaks no rule, and what is suppressed with a reason does not count.

    Args:
        subject: a stack (judged together with the others of its app), a stage or an app of the CDK, a ``Template`` of
            its assertions, a template as plain data, or the path of a template, a folder or a cloud assembly.
        region: that templates go to which are not bound to one. Default: not known.
        parameters: values of the templates' parameters. Default: their own defaults.
        select: ids of rules that are asked, or patterns with ``*``. Default: all.
        ignore: ids or patterns of rules that are not asked. Default: none.
        fail_on: which findings fail it: ``error``, ``warning`` (these too), or ``none``. Default: ``warning``.

    Raises:
        AssertionError: a rule is broken; the message has resource, property, value and cure of each finding.
        ArgumentError: there is no template to read, or no such rule, parameter or choice.
    """
    __tracebackhide__ = True
    counted = counting(_WHERE, "fail_on", fail_on)
    if region is not None:
        text(_WHERE, "region", region, cure="write for example us-east-1")
    report = _report(subject, region=region, parameters=parameters, select=select, ignore=ignore)
    broken = [each for each in report.findings if each.severity in counted]
    if broken:
        raise AssertionError("\n".join([several(len(broken), "finding"), *(_told(each) for each in broken)]))


def _report(subject: Any, **asked: Any) -> Report:
    if isinstance(subject, Mapping):
        return check_template(subject, **asked)
    if isinstance(subject, (str, Path)):
        return check_template(Path(subject), **asked)
    # Whoever has none of the CDK's objects may have no CDK.
    try:
        from aws_cdk import Stack, Stage
        from aws_cdk.assertions import Template

        from constructs_lib.compliance.cdk import report_on
    except ImportError:
        raise _no_subject(subject) from None
    if isinstance(subject, (Stack, Stage, Template)):
        return report_on(subject, **asked)
    raise _no_subject(subject)


def _no_subject(subject: object) -> ArgumentError:
    rule = "be a stack, a stage, an app, a template or a path"
    return ArgumentError(complaint(_WHERE, "subject", rule, subject, "give for example Template.from_stack(stack)"))


def _told(finding: Finding) -> str:
    location = finding.location
    file = location.file or location.stack
    place = file if location.line is None else f"{file}:{location.line}"
    return f"\n{finding.severity} {finding.rule}: {finding.message}\n    cure: {finding.fix}\n    in {place}"
