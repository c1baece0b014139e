"""How the library's messages are spelled on the command line: where they name parameters, it has options."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

NEWER_TABLES = "ask AWS for newer tables: accel-fleet catalog refresh --output FOLDER, and then --tables FOLDER"
"""What to do about a type that the catalogue does not know, where no facts can be stated."""

_NAME = "accel-fleet"
_COMPLAINT = re.compile(
    r"(?P<where>.+?): (?P<parameter>[^:]+?) must (?P<rule>.+?), got "
    r"(?P<value>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^;]*)(?P<shortened>(?:\.\.\.)?); (?P<cure>.+)",
    re.DOTALL,
)
_CALL = re.compile(r"(?:(?:pass|state|write) )?\b(?P<name>[A-Za-z_][\w.]*)\([^)]*\)(?: in place of the name)?")
_STATED = re.compile(
    r"(?<![\w.-])(?P<name>[a-z_]+)=(?:'(?P<quoted>[^']*)'|(?P<call>[\w.]+\([^)]*\))|(?P<plain>[^\s,;:)]*))"
)
_WORD = re.compile(r"(?<![\w.-])[a-z]+(?:_[a-z]+)+(?![\w=(])")


def options_of(*names: str) -> dict[str, str]:
    """The options of parameters that are spelled as the parameters are."""
    return {name: f"--{name.replace('_', '-')}" for name in names}


@dataclass(frozen=True, kw_only=True)
class Spelling:
    """What the parameters behind one command are called on the command line.

    Attributes:
        command: as it is typed, without ``accel-fleet``.
        options: by the parameter: the option, or some words where that is no single one.
        calls: by the name of what Python would call: what to do on the command line in its place. Default: nothing.
    """

    command: str
    options: Mapping[str, str]
    calls: Mapping[str, str] = field(default_factory=dict)

    def error(self, message: str) -> str:
        """The message of an error, in one line that begins with the command."""
        line = " ".join(message.split())
        parts = _COMPLAINT.fullmatch(line)
        if parts is None:
            return line if line.startswith(_NAME) else f"{_NAME} {self.command}: {self.text(line)}"
        where = parts["where"] if parts["where"].startswith(_NAME) else f"{_NAME} {self.command}"
        parameter = self.options.get(parts["parameter"])
        if parameter is None:  # of something in a file, and not of the command
            parameter = parts["parameter"]
            where = where if parts["where"] in (where, self.command) else f"{where}: {parts['where']}"
        # None is what an option is that nobody wrote.
        got = "" if parts["value"] == "None" else f", got {parts['value']}{parts['shortened']}"
        return f"{where}: {parameter} must {self.text(parts['rule'])}{got}; {self.text(parts['cure'])}"

    def text(self, prose: str) -> str:
        """A sentence, with options where it states parameters (``name=``) or names those of several words."""
        stated = _STATED.sub(self._stated, prose)
        called = _CALL.sub(lambda match: self.calls.get(match["name"], match[0]), stated)
        return _WORD.sub(lambda match: self.options.get(match[0], match[0]), called)

    def _stated(self, match: re.Match[str]) -> str:
        option = self.options.get(match["name"])
        if option is None:
            return match[0]
        value = match["quoted"] or match["plain"]
        return f"{option} {value}" if value else option
