"""``accel-fleet rehearse``: what a fleet would do with a trace of work, cost and waste, before it is deployed."""

from __future__ import annotations

import argparse
import errno
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from constructs_lib.cli.arguments import Commands, Parser, add_command, parameters_of
from constructs_lib.cli.spelling import Spelling, options_of
from constructs_lib.cli.statuses import FINE, FOUND
from constructs_lib.errors import ArgumentError, MissingExtraError
from constructs_lib.validation import complaint, number, one_of

if TYPE_CHECKING:
    from constructs_lib.preflight import StackTemplate
    from constructs_lib.rehearsal.cold_start import ColdStart
    from constructs_lib.rehearsal.cost import Prices
    from constructs_lib.rehearsal.report import Rehearsal
    from constructs_lib.rehearsal.simulate import Scenario
    from constructs_lib.rehearsal.trace import Trace

_WHERE = "accel-fleet rehearse"
_STANDARD = "-"
_GROUP = "AWS::AutoScaling::AutoScalingGroup"
_EXTRA = ("simpy", "boto3", "botocore")
_DRIVERS = {"baked": True, "installed": False}
_UNITS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_HELP = """\
The template is all that is configured: its sizes, alarms, policies, schedules
and functions are played on a simulated clock. Nothing is asked of AWS.

A trace is CSV with a line of names and a line for each job:

  arrival_s,service_s,accelerators
  0,600,1
  42.5,60,0.5

in seconds from the start, seconds of work, and accelerators of one instance.
Public formats are told by their header; --trace-format NAME says which.
--generate makes one instead: diurnal, bursty, batch-nights, rare-long, silence
and mix are among its names. Times may be written 90, 90s, 15m, 8h or 2d.

A template may be JSON or YAML. Exit status 1 tells of jobs that were cut off
or never done, and that nothing in the scenario explains."""

_SPELLING = Spelling(
    command="rehearse",
    options={
        **options_of("template", "trace", "fleet", "seed", "region", "start", "usd_per_hour", "days", "jobs_per_day"),
        **options_of("image_gb", "model_gb", "trace_format"),
        "parameters": "--parameter",
        "model_s": "--model-time",
        "driver_baked": "--driver",
        "capacity_wait": "--no-capacity-wait",
        "name": "--generate",
        "boot_s": "--boot",
        "ready_s": "--ready",
        "goal_s": "--goal",
        "skip_bad": "--skip-bad-rows",
        "model": "--trace-model",
        "scale": "--trace-scale",
        "stretch": "--trace-stretch",
        "limit_s": "--trace-part",
        "merge_s": "--trace-merge",
        "reclaims_per_hour": "--reclaims-per-hour",
        "launch_failures": "--launch-failures",
    },
)


def add_to(commands: Commands[Parser]) -> None:
    """Add the command."""
    added = add_command(
        commands,
        "rehearse",
        _rehearse,
        "play a trace of work through a template: what it would do, cost and waste",
        _HELP,
        spelling=_SPELLING,
    )
    added.add_argument("--template", metavar="PATH", help="a template, the folder that cdk synth wrote, or -")
    added.add_argument("--stack", metavar="NAME", help="of the folder; default: the one that has a fleet")
    added.add_argument("--fleet", metavar="ID", help="logical id of its group, or its beginning; default: the only one")
    added.add_argument(
        "--parameter", action="append", metavar="NAME=VALUE", help="of the template, as the deploy passes it"
    )
    _add_trace(added.add_argument_group("the work"))
    _add_scenario(added.add_argument_group("what the cloud does"))
    asked = added.add_argument_group("what is asked")
    asked.add_argument("--seed", type=int, default=0, help="of all that is drawn; default: 0")
    asked.add_argument("--goal", type=_seconds, metavar="TIME", help="a wait that is hoped for")
    asked.add_argument("--compare", action="store_true", help="play the usual alternatives, too")
    asked.add_argument("--tune", action="store_true", help="try other settings of the fleet, in at most 24 runs")
    asked.add_argument("--region", help="whose prices and grid count; default: the template's, else us-east-1")
    asked.add_argument("--usd-per-hour", type=float, metavar="USD", help="of an instance; default: list prices")
    asked.add_argument("--json", metavar="FILE", help="where the figures go as JSON; - for standard output")
    asked.add_argument("--html", metavar="FILE", help="where a page with pictures goes; - for standard output")


def _add_trace(group: argparse._ActionsContainer) -> None:
    group.add_argument("--trace", metavar="FILE", help="CSV or a public format, gzip or not; - for standard input")
    group.add_argument("--trace-format", metavar="NAME", help="of the file; default: the one that its header tells")
    group.add_argument("--skip-bad-rows", action="store_true", help="leave out rows that are no jobs; default: stop")
    group.add_argument(
        "--trace-part", type=_stretch, metavar="FROM..TO", help="of its time that is played, for example 0s..2d"
    )
    group.add_argument("--trace-model", metavar="NAME", help="of the models that a public format names")
    group.add_argument("--trace-scale", type=float, metavar="X", help="how much of its load is played; default: 1")
    group.add_argument(
        "--trace-merge", type=_seconds, metavar="TIME", help="requests within it are one job if they fit"
    )
    group.add_argument("--trace-stretch", type=float, metavar="X", help="what arrivals are multiplied by; default: 1")
    group.add_argument("--generate", metavar="NAME", help="make a trace of this shape instead")
    group.add_argument("--days", type=float, metavar="N", help="of such a trace; default: 7")
    group.add_argument("--jobs-per-day", type=float, metavar="N", help="of such a trace; default: as is usual for it")


def _add_scenario(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--start", type=_moment, metavar="TIME", help="clock of second 0, ISO, in UTC; default: 2026-01-05T00:00"
    )
    group.add_argument("--boot", type=_seconds, metavar="TIME", help="from launch to in service; default: as published")
    group.add_argument("--ready", type=_seconds, metavar="TIME", help="from launch until it takes work; with --boot")
    group.add_argument("--image-gb", type=float, metavar="GB", help="of the container image that a start pulls")
    group.add_argument("--model-gb", type=float, metavar="GB", help="of the weights that a start loads")
    group.add_argument(
        "--model-time", type=_seconds, metavar="TIME", help="from a running container until it takes work; or 0"
    )
    group.add_argument(
        "--driver",
        metavar="HOW",
        help="baked into the machine image, or installed at each start; default: as the image's name tells, else baked",
    )
    group.add_argument("--no-capacity-wait", action="store_true", help="EC2 has an instance at once, each time")
    group.add_argument(
        "--reclaims-per-hour", type=float, default=0.0, metavar="N", help="of an hour of a Spot instance; default: 0"
    )
    group.add_argument(
        "--no-capacity",
        type=_stretch,
        action="append",
        metavar="FROM..TO",
        help="nothing can be launched, for example 2h..5h; may be given again",
    )
    group.add_argument(
        "--launch-failures", type=float, default=0.0, metavar="SHARE", help="of launches that fail; default: 0"
    )


def _rehearse(chosen: argparse.Namespace) -> int:
    _check(chosen)
    try:
        from constructs_lib.rehearsal.deployed import as_deployed
        from constructs_lib.rehearsal.run import rehearse
        from constructs_lib.rehearsal.template import Template
    except ImportError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _EXTRA:
            raise
        raise MissingExtraError(
            f"{_WHERE}: {missing} must be installed, and is not; pip install simpy boto3 rich, "
            "or pip install '.[rehearsal]' in a checkout of the library"
        ) from error
    from constructs_lib.cli.progress import measured

    stack = _stack(chosen)
    stack = replace(stack, template=as_deployed(stack.template, parameters_of(_WHERE, chosen.parameter or ())))
    group, _ = Template(stack.template).group(chosen.fleet)
    with measured("Rehearsing") as say:
        found = rehearse(
            stack.template,
            _trace(chosen),
            fleet=group,
            scenario=_scenario(chosen, stack, group),
            seed=chosen.seed,
            compare=chosen.compare,
            tuned=chosen.tune,
            goal_s=chosen.goal,
            prices=_prices(chosen, stack),
            said=say,
        )
    _write(chosen, found)
    return FINE if found.is_fine else FOUND


def _check(chosen: argparse.Namespace) -> None:
    """Refuse what does not go together before anything takes time."""
    if chosen.template is None:
        cure = "write --template cdk.out, or a template in it"
        raise ArgumentError(complaint(_WHERE, "--template", "be given", None, cure))
    if (chosen.trace is None) == (chosen.generate is None):
        cure = "write --trace FILE for a trace that you have, or --generate diurnal to have one made"
        raise ArgumentError(complaint(_WHERE, "--trace", "be given, or --generate, and not both", chosen.trace, cure))
    _alone(chosen, "--trace", "--trace-format", "--skip-bad-rows")
    _alone(chosen, "--trace", "--trace-part", "--trace-model", "--trace-scale", "--trace-merge", "--trace-stretch")
    _alone(chosen, "--generate", "--days", "--jobs-per-day")
    if chosen.template == chosen.trace == _STANDARD:
        raise ArgumentError(
            complaint(_WHERE, "--trace", "be a file beside --template -", "-", "only one is read there")
        )
    _check_outputs(chosen)
    if (chosen.boot is None) != (chosen.ready is None):
        cure = "give both, or neither"
        raise ArgumentError(complaint(_WHERE, "--boot", "go with --ready", chosen.boot, cure))
    for option in ("--image-gb", "--model-gb", "--model-time", "--driver", "--no-capacity-wait"):
        value = _value(chosen, option)
        if chosen.boot is not None and _is_given(value):
            cure = "the times say it all"
            raise ArgumentError(complaint(_WHERE, option, "be left out beside --boot and --ready", value, cure))
    if chosen.driver is not None:
        one_of(_WHERE, "--driver", chosen.driver, _DRIVERS, cure="say how the driver comes to the machine")
    if chosen.model_gb is not None and chosen.model_time is not None:
        cure = "the time has the loading of the weights in it"
        raise ArgumentError(complaint(_WHERE, "--model-gb", "be left out beside --model-time", chosen.model_gb, cure))
    cure = "give how often an hour of an instance ends in a reclaim, such as 0.05"
    number(_WHERE, "--reclaims-per-hour", chosen.reclaims_per_hour, minimum=0, maximum=60, cure=cure)
    number(_WHERE, "--launch-failures", chosen.launch_failures, minimum=0, maximum=1, cure="give a share such as 0.1")


def _check_outputs(chosen: argparse.Namespace) -> None:
    """Refuse to write over what is read or written besides."""
    taken: dict[str, str] = {}
    for option in ("--template", "--trace", "--json", "--html"):
        file = _value(chosen, option)
        if file is None:
            continue
        is_written = option in ("--json", "--html")
        standard = "standard output" if is_written else "standard input"
        place = standard if file == _STANDARD else os.path.realpath(file)
        other = taken.setdefault(place, option)
        if is_written and other != option:
            raise ArgumentError(complaint(_WHERE, option, f"not be that of {other}", file, "give each its own"))
        if is_written and file != _STANDARD and not Path(place).parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), file)


def _alone(chosen: argparse.Namespace, needed: str, *options: str) -> None:
    for option in options:
        value = _value(chosen, option)
        if _is_given(value) and _value(chosen, needed) is None:
            raise ArgumentError(complaint(_WHERE, option, f"go with {needed}", value, "leave it out"))


def _is_given(value: object) -> bool:
    """Whether somebody wrote an option; 0 may be what they wrote."""
    return value is not None and value is not False


def _value(chosen: argparse.Namespace, option: str) -> Any:
    return getattr(chosen, option.removeprefix("--").replace("-", "_"))


# --- what is read ----------------------------------------------------------------------------------------------------


def _stack(chosen: argparse.Namespace) -> StackTemplate:
    """The template with the fleet that is meant."""
    from constructs_lib.preflight import StackTemplate, templates_in

    if chosen.template == _STANDARD:
        found: Sequence[StackTemplate] = (StackTemplate(stack=None, template=_from_input()),)
    else:
        found = templates_in(chosen.template)
    if chosen.stack is not None:
        stacks = {each.stack: each for each in found if each.stack is not None}
        if not stacks:
            cure = "give the folder that cdk synth wrote, or leave --stack out"
            raise ArgumentError(complaint(_WHERE, "--stack", "be left out for one template", chosen.stack, cure))
        one_of(_WHERE, "--stack", chosen.stack, stacks, cure="these are in the folder")
        return stacks[chosen.stack]
    if len(found) == 1:
        return found[0]
    with_fleets = [each for each in found if _fleets(each, chosen.fleet)]
    if len(with_fleets) != 1:
        named = "; ".join(f"{each.stack}: {', '.join(_fleets(each, None))}" for each in found if _fleets(each, None))
        cure = f"name one with --stack or --fleet ({named or 'none of its stacks has a group'})"
        raise ArgumentError(complaint(_WHERE, "--template", "have one fleet that is meant", chosen.template, cure))
    return with_fleets[0]


def _fleets(stack: StackTemplate, begins: str | None) -> list[str]:
    resources = stack.template.get("Resources")
    named = resources.items() if isinstance(resources, Mapping) else ()
    groups = [name for name, each in named if isinstance(each, Mapping) and each.get("Type") == _GROUP]
    return [name for name in groups if name.startswith(begins or "")]


def _from_input() -> dict[str, Any]:
    from constructs_lib.template.assembly import read_all
    from constructs_lib.template.documents import parse

    document = parse(read_all(sys.stdin, _STANDARD), _STANDARD).content
    if "Resources" not in document:
        cure = "give the JSON that cdk synth writes"
        raise ArgumentError(complaint(_WHERE, "--template", "be a template with Resources", _STANDARD, cure))
    return document


def _trace(chosen: argparse.Namespace) -> Trace:
    from constructs_lib.rehearsal.traces import TraceOptions, generate, read_trace

    if chosen.generate is not None:
        stated = {"days": chosen.days, "jobs_per_day": chosen.jobs_per_day}
        given = {name: value for name, value in stated.items() if value is not None}
        return generate(chosen.generate, seed=chosen.seed, **given)
    begin_s, end_s = chosen.trace_part or (0.0, None)
    return read_trace(
        sys.stdin if chosen.trace == _STANDARD else chosen.trace,
        trace_format=chosen.trace_format or "",
        options=TraceOptions(
            seed=chosen.seed,
            skip_bad=chosen.skip_bad_rows,
            model=chosen.trace_model or "",
            from_s=begin_s,
            limit_s=None if end_s is None else end_s - begin_s,
            scale=1.0 if chosen.trace_scale is None else chosen.trace_scale,
            merge_s=chosen.trace_merge or 0.0,
            stretch=1.0 if chosen.trace_stretch is None else chosen.trace_stretch,
        ),
    )


def _scenario(chosen: argparse.Namespace, stack: StackTemplate, group: str) -> Scenario:
    from constructs_lib.rehearsal.simulate import Scenario

    return Scenario(
        cold_start=_cold_start(chosen, stack, group),
        reclaims_per_hour=chosen.reclaims_per_hour,
        no_capacity=tuple(chosen.no_capacity or ()),
        launch_failures=chosen.launch_failures,
        **({} if chosen.start is None else {"start": chosen.start}),
    )


def _cold_start(chosen: argparse.Namespace, stack: StackTemplate, group: str) -> ColdStart:
    from constructs_lib.rehearsal.cold_start import ColdStart
    from constructs_lib.rehearsal.template_start import start_of_template

    if chosen.boot is not None:
        return ColdStart.fixed(boot_s=chosen.boot, ready_s=chosen.ready)
    stated = {"image_gb": chosen.image_gb, "model_gb": chosen.model_gb}
    given = {name: value for name, value in stated.items() if value is not None}
    return start_of_template(
        stack.template,
        group=group,
        model_s=chosen.model_time,
        driver_baked=None if chosen.driver is None else _DRIVERS[chosen.driver],
        capacity_wait=not chosen.no_capacity_wait,
        **given,
    )


def _prices(chosen: argparse.Namespace, stack: StackTemplate) -> Prices:
    from constructs_lib.catalog.prices import HOME
    from constructs_lib.rehearsal.cost import Prices, region_of

    region = chosen.region or stack.region or region_of(stack.template) or HOME
    return Prices(region=region, usd_per_hour=chosen.usd_per_hour)


# --- what is written -------------------------------------------------------------------------------------------------


def _write(chosen: argparse.Namespace, found: Rehearsal) -> None:
    forms = {
        chosen.json: lambda: json.dumps(found.as_json(), indent=2, allow_nan=False) + "\n",
        chosen.html: found.as_html,
    }
    if _STANDARD not in forms:
        print(found.as_text(), end="")
    for file, form in forms.items():
        if file == _STANDARD:
            print(form(), end="")
        elif file is not None:
            Path(file).write_text(form(), encoding="utf-8", newline="\n")


# --- times -----------------------------------------------------------------------------------------------------------


def _seconds(text: str) -> float:
    """Seconds, or a number with its unit: s, m, h or d."""
    amount, unit = (text[:-1], text[-1]) if text[-1:] in _UNITS else (text, "s")
    try:
        value = float(amount) * _UNITS[unit]
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise _no(text, "be a time from 0 on", "write 90, 90s, 15m, 8h or 2d")
    return value


def _stretch(text: str) -> tuple[float, float]:
    """From when until when."""
    begin, dots, end = text.partition("..")
    if not dots:
        raise _no(text, "say from when until when", "write for example 2h..5h")
    found = _seconds(begin), _seconds(end)
    if found[0] >= found[1]:
        raise _no(text, "end after it begins", "write the earlier time first, for example 2h..5h")
    return found


def _moment(text: str) -> datetime:
    """A moment in ISO's way of writing it; without a zone it is UTC."""
    try:
        at = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        at = None
    if at is None or (at.tzinfo is not None and not 1 < at.year < 9999):  # in UTC it may have no year
        raise _no(text, "be a date and a time as in ISO 8601", "write for example 2026-01-05T08:00")
    return at.replace(tzinfo=timezone.utc) if at.tzinfo is None else at.astimezone(timezone.utc)


def _no(text: str, rule: str, cure: str) -> argparse.ArgumentTypeError:
    """The complaint about the value of an option, which argparse names."""
    return argparse.ArgumentTypeError(f"must {rule}, got {text!r}; {cure}")
