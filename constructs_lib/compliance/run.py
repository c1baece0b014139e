"""Checks templates from Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from constructs_lib.compliance.checking import check
from constructs_lib.compliance.deployment import Deployment, Source
from constructs_lib.compliance.findings import Report
from constructs_lib.compliance.rules import RULES
from constructs_lib.compliance.selection import chosen_rules
from constructs_lib.compliance.sources import STANDARD, sources_in
from constructs_lib.errors import ArgumentError
from constructs_lib.template.parameters import check_parameters
from constructs_lib.validation import text

_WHERE = "check"


def check_template(
    template: Mapping[str, Any] | str | Path,
    *,
    region: str | None = None,
    parameters: Mapping[str, str] | None = None,
    select: Iterable[str] | None = None,
    ignore: Iterable[str] | None = None,
) -> Report:
    """Ask rules about a template.

    Args:
        template: as plain data, as a text in JSON or YAML, or the path of a file, a folder or a cloud assembly. A text
            of more than one line, or one that begins with a brace, is a template.
        region: that it goes to, unless it is bound to one. Default: not known.
        parameters: values of its parameters. Default: their own defaults.
        select: ids of rules that are asked, or patterns with ``*``. Default: all.
        ignore: ids or patterns of rules that are not asked. Default: none.

    Raises:
        ArgumentError: there is no template to read, or no such rule or parameter.
        MissingExtraError: it is in YAML, and PyYAML is not installed.
    """
    if region is not None:
        text(_WHERE, "region", region, cure="write for example us-east-1")
    rules = chosen_rules(select, ignore)
    found = _sources_of(template)
    given = check_parameters(_WHERE, "parameters", parameters or {}, (each.content for each in chain(*found)))
    return check([Deployment(each, region=region, parameters=given) for each in found], rules, all_ids=RULES)


def _sources_of(template: Mapping[str, Any] | str | Path) -> Iterable[tuple[Source, ...]]:
    if isinstance(template, Mapping):
        return [(Source(name="template", content=template),)]
    is_text = isinstance(template, str) and ("\n" in template or template.lstrip().startswith("{"))
    found = sources_in([STANDARD if is_text else str(template)], standard_input=lambda: str(template))
    if found.unreadable:
        raise ArgumentError(found.unreadable[0])
    return found.deployments
