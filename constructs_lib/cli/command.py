"""The command line as a whole: its commands, and what their errors end in."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from constructs_lib.cli import catalog, packing, preflight, recommend
from constructs_lib.cli.arguments import Parser, commands_of
from constructs_lib.cli.statuses import INTERRUPTED, READER_GONE, UNUSABLE
from constructs_lib.errors import FleetError

_NAME = "accel-fleet"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status.

    Args:
        arguments: without the name of the program. Default: those of the process.
    """
    try:
        chosen = _parser().parse_args(arguments)
        status: int = chosen.run(chosen)
        sys.stdout.flush()
    except SystemExit as leaving:  # argparse has printed help or a complaint
        return leaving.code if isinstance(leaving.code, int) else UNUSABLE
    except FleetError as error:
        said = " ".join(str(error).split())
        print(said if said.startswith(_NAME) else f"{_NAME}: {said}", file=sys.stderr)
        return UNUSABLE
    except BrokenPipeError:
        _forget_output()
        return READER_GONE
    except KeyboardInterrupt:
        print(f"{_NAME}: interrupted", file=sys.stderr)
        return INTERRUPTED
    return status


def _parser() -> Parser:
    parser = Parser(
        prog=_NAME,
        description="Says which EC2 machines suit a workload, and whether an account can run a fleet.",
        epilog="Exit status: 0 fine, 1 something was found or nothing fits,\n2 the input cannot be used.",
    )
    commands = commands_of(parser, "COMMAND")
    for room in (recommend, catalog, packing, preflight):
        room.add_to(commands)
    return parser


def _forget_output() -> None:
    """Let the interpreter flush into nowhere when it ends, as its documentation on SIGPIPE advises."""
    with suppress(OSError, ValueError):  # in a test the output is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
