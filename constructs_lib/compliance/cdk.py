"""The rules in a CDK app: asked whenever it is synthesized, and answered beside the construct.

::

    app = App()
    Validations.of(app).add_plugins(AcceleratorChecks())
    suppress(fleet, "minimum-above-zero", reason="the model has to answer within a second, day and night")

How the CDK takes part: "Template and Policy Validation" and "Aspects", AWS CDK, package aws-cdk-lib.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import jsii
from aws_cdk import (
    AspectPriority,
    Aspects,
    CfnResource,
    IAspect,
    IPolicyValidationContext,
    IPolicyValidationPlugin,
    PolicyValidationPluginReport,
    PolicyViolatingResource,
    PolicyViolation,
    Stack,
    Stage,
)
from aws_cdk.assertions import Template
from constructs import IConstruct, Node

from constructs_lib.compliance.checking import check
from constructs_lib.compliance.counting import FailOn, counting
from constructs_lib.compliance.deployment import Deployment, Source
from constructs_lib.compliance.explain import DESCRIBED
from constructs_lib.compliance.findings import Finding, Report
from constructs_lib.compliance.rule import ERROR, WARNING
from constructs_lib.compliance.rules import RULES
from constructs_lib.compliance.run import check_template
from constructs_lib.compliance.selection import chosen_rules
from constructs_lib.compliance.sources import located, sources_in
from constructs_lib.errors import ArgumentError
from constructs_lib.statements import KEY, SUPPRESS
from constructs_lib.template.plain_values import items, mapping
from constructs_lib.validation import closest, complaint, text

PLUGIN = "accel-fleet"
"""What the CDK puts before the id of a rule where a finding is acknowledged: ``accel-fleet::<rule>``."""

_WHERE = "AcceleratorChecks"
_ATTRIBUTE, _METADATA = "<", "Metadata."


@jsii.implements(IPolicyValidationPlugin)
class AcceleratorChecks:
    """Asks the rules whenever the app is synthesized, about stacks of whatever constructs.

    All stacks of the app (or of the stage that it was added to), nested ones included, are judged together. What
    cannot be told before a deploy is no finding.

    Args:
        region: that stacks go to which are not bound to one. Default: not known.
        select: ids of rules that are asked, or patterns with ``*``. Default: all.
        ignore: ids or patterns of rules that are not asked. Default: none.
        fail_on: which findings make the synthesis fail: ``error``, ``warning`` (these too), or ``none``. Others are
            shown as warnings. Default: ``warning``.

    Raises:
        ArgumentError: no such rule, or no such choice.
    """

    def __init__(
        self,
        *,
        region: str | None = None,
        select: Iterable[str] | None = None,
        ignore: Iterable[str] | None = None,
        fail_on: FailOn | None = None,
    ) -> None:
        self._region = None if region is None else text(_WHERE, "region", region, cure="write for example us-east-1")
        self._rules = chosen_rules(select, ignore)
        self._counting = counting(_WHERE, "fail_on", fail_on)

    @property
    def name(self) -> str:
        """What the CDK calls it in its report."""
        return PLUGIN

    # The CDK would write version and ids into the metadata of every stack, which would then change with each release.
    @property
    def version(self) -> None:
        """None is told."""

    @property
    def rule_ids(self) -> None:
        """None are told."""

    def validate(self, context: IPolicyValidationContext) -> PolicyValidationPluginReport:
        """Judge the templates; the CDK calls it."""
        app = context.app_construct
        assert isinstance(app, Stage)
        report = self._judged(app.outdir, {Path(each).resolve() for each in context.template_paths})
        violations = [self._violation(each) for each in report.findings]
        return PolicyValidationPluginReport(
            success=all(each.severity not in self._counting for each in report.findings),
            violations=violations,
            metadata={
                "suppressed": str(len(report.suppressed)),
                "stated": str(len(report.stated)),
                "notJudged": str(len(report.not_judged)),
            },
        )

    def _judged(self, folder: str, files: set[Path]) -> Report:
        deployments = [
            Deployment([each for each in sources if _file(each).resolve() in files], region=self._region)
            for sources in _assembly(folder)
        ]
        return check(deployments, self._rules, all_ids=RULES)

    def _violation(self, finding: Finding) -> PolicyViolation:
        return PolicyViolation(
            rule_name=finding.rule,
            description=finding.message,
            fix=finding.fix,
            # Once a finding is acknowledged, the CDK asks for errors among the others to see whether synthesis fails.
            severity=ERROR if finding.severity in self._counting else WARNING,
            rule_metadata=_described(finding),
            violating_resources=[
                PolicyViolatingResource(
                    resource_logical_id=finding.resource if finding.type else None,
                    template_path=str(located(finding.location.file or "")),
                    locations=_locations(finding),
                )
            ],
        )


def _assembly(folder: str) -> Iterable[tuple[Source, ...]]:
    found = sources_in([folder], standard_input=str)
    if found.unreadable:
        raise ArgumentError(found.unreadable[0])
    return found.deployments


def _file(source: Source) -> Path:
    return located(source.file or "")


def _described(finding: Finding) -> Mapping[str, str]:
    rule = DESCRIBED[finding.rule]
    return {"title": rule.title, "severity": finding.severity, "practice": finding.practice, "link": rule.link}


def _locations(finding: Finding) -> list[str]:
    """Where in the resource, as the CDK writes it: the finding names what is below ``Properties``, or an attribute."""
    place = finding.location.property
    if not place or place.startswith(_METADATA):
        return [place] if place else []
    return [place.replace("<", "").replace(">", "") if place.startswith(_ATTRIBUTE) else f"Properties.{place}"]


# --- suppressions -----------------------------------------------------------------------------------------------------


def suppress(construct: IConstruct, rule: str, *, reason: str) -> None:
    """Answer the findings of a rule about a construct and all below it, also what is added later.

    The answer is written into the metadata of each resource, where ``accel-fleet check`` finds it too. An answer nearer
    to the resource goes before one from further up.

    Args:
        construct: whose resources they are.
        rule: id, for example ``minimum-above-zero``.
        reason: why it stays as it is.

    Raises:
        ArgumentError: there is no such rule, or no reason.
    """
    node = getattr(construct, "node", None)
    if not isinstance(node, Node):
        cure = "give the construct that the finding is about"
        raise ArgumentError(complaint("suppress", "construct", "be of type Construct", construct, cure))
    where = node.path or type(construct).__name__
    given = text(where, "reason", reason, cure="say why it stays as it is, for whoever reads the template")
    answer = _Answer(_id(where, rule), given.strip(), construct)
    for each in answer.reached:
        Aspects.of(each).add(answer, priority=AspectPriority.MUTATING)


def _id(where: str, rule: object) -> str:
    if isinstance(rule, str) and rule in RULES:
        return rule
    meant = closest(rule, list(RULES)) if isinstance(rule, str) else ""
    raise ArgumentError(
        complaint(where, "rule", "be the id of a rule", rule, f"{meant}accel-fleet check --list shows them")
    )


@jsii.implements(IAspect)
class _Answer:
    """Writes an answer into the metadata of each resource that it visits."""

    def __init__(self, rule: str, reason: str, construct: IConstruct) -> None:
        self._written = {"rule": rule, "reason": reason}
        self._construct = construct
        # The CDK leads no aspect from a stage into one below.
        self.reached = [construct, *_stages_below(construct)]
        self._is_complete = False

    def visit(self, node: IConstruct) -> None:
        """Write it; the CDK calls it, for answers from further up first."""
        self._refuse_stages_made_later()
        if isinstance(node, CfnResource):
            ours = mapping(node.get_metadata(KEY))
            others = [each for each in items(ours.get(SUPPRESS)) if mapping(each).get("rule") != self._written["rule"]]
            node.add_metadata(KEY, {**ours, SUPPRESS: [self._written, *others]})

    def _refuse_stages_made_later(self) -> None:
        if self._is_complete:
            return
        reached = {each.node.path for each in self.reached}
        for stage in _stages_below(self._construct):
            if stage.node.path not in reached:
                where = self._construct.node.path or type(self._construct).__name__
                rule = "have all its stages before a finding is suppressed"
                cure = f"call suppress after the stage {stage.node.path} is made"
                raise ArgumentError(complaint(where, "construct", rule, stage.node.path, cure))
        self._is_complete = True


def _stages_below(construct: IConstruct) -> list[Stage]:
    path = construct.node.path
    return [each for each in construct.node.find_all() if isinstance(each, Stage) and each.node.path != path]


# --- what is synthesized by a test ------------------------------------------------------------------------------------


def report_on(
    subject: Stack | Stage | Template,
    *,
    region: str | None = None,
    parameters: Mapping[str, str] | None = None,
    select: Iterable[str] | None = None,
    ignore: Iterable[str] | None = None,
) -> Report:
    """Ask rules about an app, a stage, a stack or the template of one.

    A stack is judged together with the others of its stage; the report has the findings about it alone.

    Args:
        subject: of the test.
        region: that stacks go to which are not bound to one. Default: not known.
        parameters: values of the templates' parameters. Default: their own defaults.
        select: ids of rules that are asked, or patterns with ``*``. Default: all.
        ignore: ids or patterns of rules that are not asked. Default: none.
    """
    if isinstance(subject, Template):
        return check_template(subject.to_json(), region=region, parameters=parameters, select=select, ignore=ignore)
    stage = subject if isinstance(subject, Stage) else Stage.of(subject)
    assert stage is not None
    folder = stage.synth().directory
    report = check_template(Path(folder), region=region, parameters=parameters, select=select, ignore=ignore)
    if isinstance(subject, Stage):
        return report
    stacks = [each for each in subject.node.find_all() if isinstance(each, Stack)]
    files = {Path(folder, each.template_file).resolve() for each in stacks}
    about = [each for each in report.findings if located(each.location.file or "").resolve() in files]
    return replace(report, findings=tuple(about))
