"""Reads the command line, and says in one line what is wrong with it."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from constructs_lib.cli.spelling import Spelling
from constructs_lib.cli.statuses import UNUSABLE
from constructs_lib.errors import ArgumentError
from constructs_lib.plain_text import harmless
from constructs_lib.validation import complaint

if TYPE_CHECKING:
    from _typeshed import SupportsWrite


def complain(line: str) -> None:
    """Print a line on the error output, if there is one that takes it; what would steer a terminal is spelled out."""
    if sys.stderr is not None:
        with suppress(OSError):
            print(harmless(line), file=sys.stderr)


_VALUE = re.compile(r"^argument (\S+): must\b")
"""How argparse begins a complaint of ours about the value of an option."""


class Parser(argparse.ArgumentParser):
    """A parser whose complaint is one line, and that takes no abbreviations, which a later option could make two."""

    def __init__(self, **given: object) -> None:
        super().__init__(
            **{"allow_abbrev": False, "formatter_class": argparse.RawDescriptionHelpFormatter, **given}  # type: ignore[arg-type]
        )

    def error(self, message: str) -> NoReturn:
        """Print the line and leave."""
        said = _VALUE.sub(r"\1 must", " ".join(message.split()))
        complain(f"{self.prog}: {said}; {self.prog} --help shows how it is written")
        sys.exit(UNUSABLE)

    def print_help(self, file: SupportsWrite[str] | None = None) -> None:
        """Print the help, and let an output that cannot be written be an error, which argparse would pass over."""
        print(self.format_help(), end="", file=file)


Commands = argparse._SubParsersAction  # the class has no public name
Run = Callable[[argparse.Namespace], int]


def commands_of(parser: argparse.ArgumentParser, metavar: str) -> Commands[Parser]:
    """Give a parser commands of its own."""
    return parser.add_subparsers(title="commands", required=True, metavar=metavar, parser_class=Parser)


def add_command(
    commands: Commands[Parser], name: str, run: Run, text: str, more: str = "", *, spelling: Spelling
) -> Parser:
    """Add a command that calls ``run`` with what was read, and whose errors are spelled like that."""
    added = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.", epilog=more or None)
    added.set_defaults(run=run, spelling=spelling)
    return added


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def add_tables(parser: argparse.ArgumentParser) -> None:
    """Add ``--tables``."""
    parser.add_argument(
        "--tables",
        metavar="FOLDER",
        help="tables that catalog refresh wrote; default: those that came with the library",
    )


def take_tables(chosen: argparse.Namespace) -> None:
    """Use the tables that ``--tables`` names."""
    if chosen.tables is not None:
        from constructs_lib.catalog import use_tables

        use_tables(chosen.tables)


def listed(text: str) -> list[str]:
    """What stands between commas."""
    return [each.strip() for each in text.split(",")]


def parameters_of(where: str, given: Iterable[str]) -> dict[str, str]:
    """What ``--parameter`` states for the parameters of templates, by their names.

    Raises:
        ArgumentError: one of them is no name and value.
    """
    found = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not name or not equals:
            cure = "write for example --parameter ImageId=/my/parameter"
            raise ArgumentError(complaint(where, "--parameter", "be a name and a value with = between", each, cure))
        found[name] = value
    return found
