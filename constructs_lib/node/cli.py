"""The command line: ``accelerated-node run|drain|status|draining|read|busy|emit|setup``."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from . import names, status
from .application import TYPES
from .draining import NOT_NOW, announced, described, said
from .files import read_text
from .places import Places
from .readings import Reading
from .settings import DEFAULT_STATSD, Settings, load_settings

OK, FAILED, USAGE, NOT_RUNNING = 0, 1, 2, 3
"""Exit statuses; the last says that there is no program that could be asked, or that it has long said nothing."""


def main(arguments: Sequence[str]) -> int:
    """Run a command and return its exit status."""
    # Not left to argparse, whose releases differ in what they do with what follows the dashes.
    dashes = arguments.index("--") if "--" in arguments else len(arguments)
    parser = _parser()
    given = argparse.Namespace(argv=arguments[dashes + 1 :])
    chosen, others = parser.parse_known_args(arguments[:dashes], given)
    command: Callable[[argparse.Namespace], int] = chosen.command
    if command is _emit:
        others = _take_value(chosen, others)
    if command is _busy and others and not chosen.argv:
        return _misses_command(f" behind --; write it as: busy -- {shlex.join(others)}")
    if others:
        parser.error(f"unrecognized arguments: {' '.join(others)}")
    if chosen.argv and command is not _busy:
        parser.error("-- COMMAND belongs to busy")
    try:
        return command(chosen)
    except BrokenPipeError:
        # Whoever read the output has gone.
        return FAILED
    except (OSError, ValueError) as error:
        print(f"accelerated-node: {error}", file=sys.stderr)
        return FAILED


def _take_value(chosen: argparse.Namespace, others: list[str]) -> list[str]:
    """Take the value from what argparse could not place, and return the rest: it takes `-1e-05` for an option."""
    from .emit import is_number

    if chosen.name is None or chosen.value is not None or len(others) != 1 or not is_number(others[0]):
        return others
    chosen.value = others[0]
    return []


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="accelerated-node", description="Measures the accelerators of this instance and says what it does."
    )
    parser.add_argument("--settings", type=Path, help=f"default: {names.SETTINGS_FILE}")
    parser.add_argument(
        "--root", type=Path, default=Path("/"), help="where /run, /var and /etc lie, for trials; default: %(default)s"
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def add(name: str, command: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text)
        added.set_defaults(command=command)
        return added

    add("run", _run, "publish until stopped; the service does this")
    add("drain", _drain, "watch for the instance's end and let its work end before; the service does this")
    statuses = "exit with 1 if something fails, with 3 if nothing has been read yet or the last reading is old"
    shown = add("status", _status, f"show the last reading, and whether the instance drains; {statuses}")
    shown.add_argument("--json", action="store_true", help="as one JSON object")
    add("draining", _draining, "say whether the instance drains; exit with 0 while it does, else with 1")
    read = add("read", _read, "read the accelerators now; exit with 1 if that gives nothing")
    read.add_argument("--json", action="store_true", help="as one JSON object")
    busy = add("busy", _busy, "run a command, given behind --; the instance counts as busy until it ends")
    busy.add_argument("--name", help="what the mark is called; default: the command")
    busy.add_argument(
        "--not-while-draining",
        action="store_true",
        help=f"on an instance that drains, do not run the command but exit with {NOT_NOW}",
    )
    emit = add("emit", _emit, "publish a value, or the lines of embedded metric format on the standard input")
    emit.add_argument("name", nargs="?", help="the metric's name")
    emit.add_argument("value", nargs="?", help="its value, a timing in milliseconds")
    emit.add_argument("--type", choices=tuple(TYPES), default="gauge", help="default: %(default)s")
    add("setup", _setup, "set the machine up as the settings ask, and report; exit with 1 if a setting is not in force")
    return parser


def _settings(chosen: argparse.Namespace) -> Settings:
    return load_settings(chosen.settings or _places(chosen).file(names.SETTINGS_FILE))


def _places(chosen: argparse.Namespace) -> Places:
    return Places(chosen.root)


def _run(chosen: argparse.Namespace) -> int:
    from . import composition

    try:
        composition.run(_settings(chosen), _places(chosen))
    except composition.AlreadyRunning as error:
        print(f"accelerated-node: {error}", file=sys.stderr)
        return FAILED
    return OK


def _drain(chosen: argparse.Namespace) -> int:
    from . import composition
    from .drain import composition as drain

    try:
        drain.run(_settings(chosen), _places(chosen))
    except composition.AlreadyRunning as error:
        print(f"accelerated-node: {error}", file=sys.stderr)
        return FAILED
    return OK


def _draining(chosen: argparse.Namespace) -> int:
    going = said(_places(chosen).file(names.DRAINING))
    _show(["not draining" if going is None else f"draining: {going}"])
    return FAILED if going is None else OK


def _status(chosen: argparse.Namespace) -> int:
    drain = announced(_places(chosen).file(names.DRAINING))
    if drain is not None and not chosen.json:
        _show([f"draining: {described(drain)}"])
    path = _places(chosen).file(names.STATUS_FILE)
    text = read_text(path)
    if text is None:
        print(f"accelerated-node: there is no {path}: no program has read anything yet", file=sys.stderr)
        return NOT_RUNNING
    last = {**status.at(status.parse(text), time.time()), "drain": drain}
    _show([json.dumps(last)] if chosen.json else status.describe(last))
    if last["stale"]:
        return NOT_RUNNING
    return FAILED if last.get("problems") else OK


def _read(chosen: argparse.Namespace) -> int:
    from . import composition
    from .readers import reader_of
    from .stuck import Stuck
    from .tool import Tools

    settings = _settings(chosen)
    tools = Tools(Stuck(), time.monotonic)
    answer = composition.read_accelerators(settings, reader_of(settings.kind), tools, None)
    devices = status.devices_of(answer)
    if chosen.json:
        failure = {} if isinstance(answer, Reading) else {"cause": answer.cause, "reason": answer.reason}
        _show([json.dumps({"devices": devices, **failure})])
    elif isinstance(answer, Reading):
        _show(status.describe_devices(devices))
    else:
        _show([f"no reading, {answer.cause}: {answer.reason}"])
    return OK if isinstance(answer, Reading) else FAILED


def _busy(chosen: argparse.Namespace) -> int:
    from .busy_command import run_busy

    if not chosen.argv:
        return _misses_command("; write it as: busy -- COMMAND")
    places = _places(chosen)
    return run_busy(
        chosen.argv,
        chosen.name,
        places.file(names.BUSY_DIRECTORY),
        drain=places.file(names.DRAINING),
        not_while_draining=chosen.not_while_draining,
    )


def _misses_command(cure: str) -> int:
    print(f"accelerated-node busy: a command must be given{cure}", file=sys.stderr)
    return USAGE


def _emit(chosen: argparse.Namespace) -> int:
    from .emit import emit_stream, emit_value
    from .statsd import connect

    if chosen.name is not None and chosen.value is None:
        print("accelerated-node emit: a value must be given with the name", file=sys.stderr)
        return USAGE
    sender = connect(_statsd_address(chosen))
    try:
        if chosen.name is None:
            return emit_stream(sys.stdin.buffer, sender.send, sys.stderr)
        return emit_value(chosen.name, chosen.value, chosen.type, sender.send, sys.stderr)
    finally:
        sender.close()


def _statsd_address(chosen: argparse.Namespace) -> tuple[str, int]:
    """Return where the agent listens. What an application emits needs no settings file, as in a container."""
    path = chosen.settings or _places(chosen).file(names.SETTINGS_FILE)
    return load_settings(path).statsd if path.exists() else DEFAULT_STATSD


def _setup(chosen: argparse.Namespace) -> int:
    from . import composition, setup
    from .stuck import Stuck
    from .tool import Tools

    settings = _settings(chosen)
    machine = setup.Machine(Tools(Stuck(), time.monotonic), composition.instance_type(), _places(chosen))
    outcomes = setup.run(settings.setup, machine)
    words = {True: "ok", False: "NOT IN FORCE", None: "cannot be verified"}
    _show(f"{name}: {words[outcome.ok]}, {outcome.detail}" for name, outcome in outcomes.items())
    return FAILED if any(outcome.ok is False for outcome in outcomes.values()) else OK


def _show(lines: Sequence[str] | Iterator[str]) -> None:
    for line in lines:
        print(line)
