"""The command line as a whole: its commands, and what their errors end in."""

from __future__ import annotations

import argparse
import errno
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from types import MappingProxyType

from constructs_lib.cli.arguments import Parser, commands_of, complain
from constructs_lib.cli.statuses import FINE, INTERRUPTED, NOT_WRITTEN, READER_GONE, UNUSABLE
from constructs_lib.errors import FleetError

_NAME = "accel-fleet"
_DISTRIBUTION = "cdk-accelerated-fleet"
_HOMES = MappingProxyType(
    {
        "recommend": "recommend",
        "catalog": "catalog",
        "pack": "packing",
        "preflight": "preflight",
        "rehearse": "rehearse",
        "check": "check",
    }
)
"""The module that adds it, by the name of the command."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status.

    Args:
        arguments: without the name of the program. Default: those of the process.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name from a template may not fit into the encoding
    try:
        status = _run(arguments)
        _finish_output()
    except BrokenPipeError:
        _forget_output()
        return READER_GONE
    except OSError as error:
        _forget_output()
        what = "the output cannot be written" if error.filename is None else f"{error.filename} cannot be used"
        complain(f"{_NAME}: {what} ({error.strerror or error})")
        return NOT_WRITTEN
    except KeyboardInterrupt:
        complain(f"{_NAME}: interrupted")
        return INTERRUPTED
    return status


def _run(arguments: Sequence[str] | None) -> int:
    try:
        chosen = _parser(sys.argv[1:] if arguments is None else arguments).parse_args(arguments)
    except SystemExit as leaving:  # argparse has printed help or a complaint
        return leaving.code if isinstance(leaving.code, int) else UNUSABLE
    try:
        status: int = chosen.run(chosen)
    except FleetError as error:
        complain(chosen.spelling.error(str(error)))
        return UNUSABLE
    return status


def _parser(arguments: Sequence[str]) -> Parser:
    """The parser: with the command that is called, and without one with all, whose modules take a while to load."""
    parser = Parser(
        prog=_NAME,
        description=(
            "Says which EC2 machines suit a workload, whether an account can run a fleet,\n"
            "what that would do, cost and waste, and whether templates use accelerators\n"
            "responsibly."
        ),
        epilog=(
            "Exit status: 0 fine, 1 something was found or nothing fits,\n"
            "2 the input cannot be used, 74 the output cannot be written."
        ),
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version, and end")
    commands = commands_of(parser, "COMMAND")
    called = [each for each in arguments[:1] if each in _HOMES]
    for name in called or _HOMES:
        import_module(f"constructs_lib.cli.{_HOMES[name]}").add_to(commands)
    return parser


class _Version(argparse.Action):
    """Prints the version, which is looked up only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            told = version(_DISTRIBUTION)
        except PackageNotFoundError:
            told = "of a checkout that is not installed"
        print(f"{_NAME} {told}")
        parser.exit(FINE)


def _finish_output() -> None:
    """See that all of it has got to where it goes."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    sys.stdout.flush()


def _forget_output() -> None:
    """Let the interpreter flush into nowhere when it ends, as its documentation on SIGPIPE advises."""
    with suppress(AttributeError, OSError, ValueError):  # there may be none, and in a test it is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
