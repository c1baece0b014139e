"""The user data of a fleet's instances, which tells what each of them is started with."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from constructs_lib.errors import ArgumentError
from constructs_lib.node import names
from constructs_lib.node.settings import Settings, SettingsError, parse_settings
from constructs_lib.validation import complaint


@dataclass(frozen=True)
class BootScript:
    """The user data of a fleet's instance: files that it writes, variables that it sets."""

    text: str

    def file(self, name: str) -> str:
        """Return what is written to a file of the fleet's own directory."""
        pattern = rf"^cat >/etc/accelerated-fleet/{re.escape(name)} <<'(\w+)'\n(.*?)\n\1$"
        return self._found(pattern, name)[2]

    def settings(self) -> Settings:
        """Return what the node program is told."""
        try:
            return parse_settings(self.file("node.json"), "node.json")
        except SettingsError as error:
            cure = "rehearse the template as it was synthesized"
            raise ArgumentError(
                complaint("launch template", "UserData", "tell the node program what it takes", str(error), cure)
            ) from error

    def fallback_configuration(self) -> str:
        """Return what the agent loads without the accelerator: the node program's own unless the fleet brings one."""
        if "AGENT_FALLBACK=" in self.text:
            return self.file("agent-fallback.json")
        return (Path(names.__file__).parent / "units" / "agent-fallback.json").read_text(encoding="utf-8")

    def variable(self, name: str) -> str:
        """Return what a variable is set to, a word."""
        return self._found(rf"^{name}=(\S+)$", name)[1]

    def first_agent_source(self) -> str:
        """Return the parameter with the configuration that the agent loads unless it refuses it."""
        return self._found(r"^AGENT_SOURCES=\('ssm:([^']+)'", "a parameter as first source of the agent")[1]

    def _found(self, pattern: str, what: str) -> re.Match[str]:
        match = re.search(pattern, self.text, re.MULTILINE | re.DOTALL)
        if match is None:
            rule = f"be a fleet's, with {what}"
            cure = "rehearse the template as it was synthesized"
            raise ArgumentError(complaint("launch template", "UserData", rule, self.text, cure))
        return match
