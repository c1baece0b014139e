"""``accel-fleet check``: whether templates use accelerators responsibly."""

from __future__ import annotations

import argparse
import atexit
import gc
import io
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from constructs_lib.cli.arguments import Commands, Parser, add_command, complain, listed, parameters_of
from constructs_lib.cli.output import document, table
from constructs_lib.cli.spelling import Spelling, options_of
from constructs_lib.cli.statuses import FINE, FOUND, UNUSABLE
from constructs_lib.collecting import without_collecting
from constructs_lib.errors import ArgumentError
from constructs_lib.validation import complaint, one_of, text

if TYPE_CHECKING:
    from constructs_lib.compliance.outcome import Outcome

_WHERE = "accel-fleet check"
_STANDARD = "-"
_HELP = """\
PATH is a template in JSON or YAML, a folder with templates in it, a cloud
assembly (what cdk synth writes; all its stacks are judged together), or - for
standard input. Whoever wrote the template: nothing is asked of AWS.

A finding that has to stay is answered in the template, with a reason:

  Metadata:
    accel-fleet:
      suppress:
        - rule: minimum-above-zero
          reason: the model has to answer within a second

What the templates do not tell, such as a parameter without a default, is never
a finding: it is listed as not judged. Exit status 1 tells of a finding that
counts (--fail-on), 2 of input that cannot be used."""

_SPELLING = Spelling(
    command="check",
    options=options_of("select", "ignore", "explain", "baseline", "region", "parameter"),
)


def add_to(commands: Commands[Parser]) -> None:
    """Add the command."""
    added = add_command(
        commands,
        "check",
        _check,
        "tell whether templates use accelerators responsibly, by rules",
        _HELP,
        spelling=_SPELLING,
    )
    added.add_argument("path", nargs="*", metavar="PATH", help="of templates, folders or cloud assemblies; or -")
    told = added.add_argument_group("how it is told")
    told.add_argument("--format", default="text", metavar="NAME", help=f"{', '.join(_FORMS)}; default: text")
    told.add_argument("--output", metavar="FILE", help="where it goes; default: standard output")
    told.add_argument("--html", metavar="FILE", help="where a page for people goes besides")
    told.add_argument("--verbose", action="store_true", help="tell each question that could not be judged")
    told.add_argument(
        "--fail-on", default="warning", metavar="SEVERITY", help="error, warning or none; default: warning"
    )
    asked = added.add_argument_group("what is asked")
    asked.add_argument("--select", action="append", metavar="IDS", help="rules to ask, with commas, * for any letters")
    asked.add_argument("--ignore", action="append", metavar="IDS", help="rules to leave out, likewise")
    asked.add_argument("--baseline", metavar="FILE", help="JSON of an earlier run, whose findings do not count")
    asked.add_argument("--region", help="that templates go to which are not bound to one; default: not known")
    asked.add_argument(
        "--parameter", action="append", metavar="NAME=VALUE", help="of the templates, as the deploy passes it"
    )
    known = added.add_argument_group("what is known")
    known.add_argument("--explain", metavar="ID", help="say why a rule is there and how to keep it, and end")
    known.add_argument("--list", action="store_true", help="list the rules, and end")


def _check(chosen: argparse.Namespace) -> int:
    form = _FORMS[one_of(_WHERE, "--format", chosen.format, _FORMS, cure="say in which form it is told")]
    if chosen.list:
        _list(as_document=chosen.format == "json")
        return FINE
    if chosen.explain is not None:
        _explain(chosen.explain)
        return FINE
    _check_places(chosen)
    from constructs_lib.compliance.counting import counting

    counted = counting(_WHERE, "--fail-on", chosen.fail_on)
    with _without_collection():
        outcome = _outcome(chosen)
        for message in outcome.unreadable:
            complain(_SPELLING.error(message))
        if not outcome.report.stacks:
            return UNUSABLE
        _write(chosen.output, form(outcome, chosen.verbose))
        if chosen.html is not None:
            _write(chosen.html, _html(outcome, chosen.verbose))
    if outcome.unreadable:
        return UNUSABLE
    return FOUND if any(each.severity in counted for each in outcome.report.findings) else FINE


@contextmanager
def _without_collection() -> Iterator[None]:
    """Let garbage lie: nearly all that is made lives until the end, and to look through it takes long."""
    atexit.register(gc.freeze)
    with without_collecting():
        yield
        # From now on it counts as old, which is looked through last.
        gc.freeze()
        gc.unfreeze()


def _check_places(chosen: argparse.Namespace) -> None:
    """Refuse what does not go together before anything is read."""
    if not chosen.path:
        cure = "write for example accel-fleet check cdk.out"
        raise ArgumentError(complaint(_WHERE, "PATH", "be given", None, cure))
    read = {os.path.realpath(each) for each in chosen.path if each != _STANDARD}
    taken: set[str] = set()
    for option, file in (("--output", chosen.output), ("--html", chosen.html)):
        if file is None:
            continue
        place = file if file == _STANDARD else os.path.realpath(file)
        if place in read or place in taken:
            raise ArgumentError(complaint(_WHERE, option, "be a file of its own", file, "give it another name"))
        taken.add(place)


def _outcome(chosen: argparse.Namespace) -> Outcome:
    from constructs_lib.compliance.baseline import gone, read_baseline
    from constructs_lib.compliance.checking import check
    from constructs_lib.compliance.deployment import Deployment
    from constructs_lib.compliance.outcome import Outcome
    from constructs_lib.compliance.rules import RULES
    from constructs_lib.compliance.selection import chosen_rules
    from constructs_lib.compliance.sources import sources_in
    from constructs_lib.template.parameters import check_parameters

    if chosen.region is not None:
        text(_WHERE, "--region", chosen.region, cure="write for example us-east-1")
    rules = chosen_rules(_ids(chosen.select), _ids(chosen.ignore))
    baseline = None if chosen.baseline is None else read_baseline(chosen.baseline)
    parameters = parameters_of(_WHERE, chosen.parameter or ())
    found = sources_in(chosen.path, standard_input=_standard_input)
    sources = [source for deployment in found.deployments for source in deployment]
    if sources:
        check_parameters(_WHERE, "--parameter", parameters, (each.content for each in sources))
    deployments = (Deployment(each, region=chosen.region, parameters=parameters) for each in found.deployments)
    report = check(deployments, rules, all_ids=RULES, baseline=baseline or ())
    return Outcome(
        report=report,
        rules=rules,
        unreadable=found.unreadable,
        gone=None if baseline is None else gone(baseline, report, {each.id for each in rules}),
    )


def _standard_input() -> str:
    from constructs_lib.template.assembly import read_all

    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="strict")
    return read_all(sys.stdin, _STANDARD)


def _ids(given: list[str] | None) -> list[str] | None:
    return None if given is None else [id for each in given for id in listed(each)]


# --- what is told ----------------------------------------------------------------------------------------------------


def _text(outcome: Outcome, verbose: bool) -> str:
    from constructs_lib.compliance.formats.text import as_text

    return as_text(outcome, verbose=verbose)


def _json(outcome: Outcome, verbose: bool) -> str:
    from constructs_lib.compliance.formats.json import as_json_text

    return as_json_text(outcome)


def _sarif(outcome: Outcome, verbose: bool) -> str:
    from constructs_lib.compliance.formats.sarif import as_sarif

    return json.dumps(as_sarif(outcome), indent=2) + "\n"


def _junit(outcome: Outcome, verbose: bool) -> str:
    from constructs_lib.compliance.formats.junit import as_junit

    return as_junit(outcome)


def _html(outcome: Outcome, verbose: bool) -> str:
    from constructs_lib.compliance.formats.page import as_html

    return as_html(outcome)


_FORMS: Mapping[str, Callable[[Outcome, bool], str]] = MappingProxyType(
    {"text": _text, "json": _json, "sarif": _sarif, "junit": _junit, "html": _html}
)


def _write(file: str | None, text: str) -> None:
    if file is None or file == _STANDARD:
        print(text, end="")
    else:
        Path(file).write_text(text, encoding="utf-8", newline="\n")


def _list(*, as_document: bool) -> None:
    from constructs_lib.compliance.rules import RULES

    if as_document:
        rules = [
            {
                "id": each.id,
                "title": each.title,
                "severity": each.severity,
                "practices": list(each.practices),
                "link": each.link,
            }
            for each in RULES.values()
        ]
        document("check-rules/1", {"rules": rules})
    else:
        table(
            ("rule", "severity", "practice"), [(each.id, each.severity, each.practices[0]) for each in RULES.values()]
        )


def _explain(id: str) -> None:
    from constructs_lib.compliance.explain import DESCRIBED, explained
    from constructs_lib.compliance.selection import rule_with

    print(explained(rule_with(id, DESCRIBED.values(), parameter="explain")), end="")
