"""What runs on an instance beside its work: an agent and the node program, as the template puts them there at boot."""

from __future__ import annotations

from collections.abc import Mapping

from constructs_lib.node.settings import parse_settings
from constructs_lib.rehearsal.cloud.metrics import MetricStore
from constructs_lib.rehearsal.machine.agent import Agent
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.machine.node_program import NodeProgram
from constructs_lib.rehearsal.template import Template


class Image:
    """What each instance gets that a template starts. A group that is not a fleet has an agent and no more."""

    def __init__(self, template: Template) -> None:
        self.agent = Agent(template.agent_configuration())
        script = template.boot_script()
        self.settings = None if script is None else parse_settings(script.file("node.json"), "node.json")
        self.fallback = None if script is None else Agent(script.fallback_configuration())
        self.accelerators = 1 if self.settings is None else max(self.settings.expected.values())
        self.driver_timeout = 0 if script is None else int(script.variable("DRIVER_TIMEOUT"))


class Machine:
    """The software of one instance, which a deploy leaves as it is."""

    def __init__(self, image: Image, identity: Mapping[str, str], launched: int) -> None:
        self._image = image
        self._identity = identity
        self._launched = launched
        self._program = None if image.settings is None else NodeProgram(image.settings, launched)

    def publish(self, store: MetricStore, now: int, load: Load) -> None:
        """Publish one minute. Until the driver answers nothing runs, and when nobody waits any more only the host's."""
        agent = self._image.agent
        if not load.driver and self._image.fallback is not None:
            if now - self._launched < self._image.driver_timeout:
                return
            agent = self._image.fallback
        lines = [] if self._program is None else list(self._program.lines(now, load))
        settings = self._image.settings
        heard = settings is not None and agent.listens_at(*settings.statsd)
        agent.publish(store, now, self._identity, load, lines if heard else ())
