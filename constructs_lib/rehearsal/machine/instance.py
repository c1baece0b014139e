"""What runs on an instance beside its work: an agent and the node program, as the template puts them there at boot."""

from __future__ import annotations

from collections.abc import Mapping

from constructs_lib.rehearsal.cloud.metrics import Key, MetricStore
from constructs_lib.rehearsal.machine.agent import NOTHING, Agent, Figure, Held
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.machine.node_program import Core, NodeProgram, Speech
from constructs_lib.rehearsal.machine.outside import Outside
from constructs_lib.rehearsal.template import Template
from constructs_lib.rehearsal.watched import Watched


class Image:
    """What each instance gets that a template starts. A group that is not a fleet has an agent and no more.

    ``watched`` is what somebody asks for, None is all: nobody is told of anything else.
    """

    def __init__(self, template: Template, watched: Watched | None = None) -> None:
        self.watched = watched
        self.agent = Agent(template.agent_configuration(), watched=watched)
        script = template.boot_script()
        self.settings = None if script is None else script.settings()
        self.core = None if self.settings is None else Core(self.settings)
        self.fallback = None if script is None else Agent(script.fallback_configuration(), watched=watched)
        self.accelerators = template.accelerators() if self.settings is None else max(self.settings.expected.values())
        self.driver_timeout = 0 if script is None else int(script.variable("DRIVER_TIMEOUT"))


class Machine:
    """The software of one instance, which a deploy leaves as it is."""

    def __init__(self, image: Image, identity: Mapping[str, str], launched: float) -> None:
        self._image = image
        self._identity = identity
        self._launched = launched
        self._program = None if image.core is None else NodeProgram(image.core)
        self._outside = Outside(identity, image.watched)
        self._agent: Agent | None = None
        """The one that publishes, if one does."""
        self._load: Load | None = None
        self._hears, self._every = False, 0
        """Whether that hears the node program, and after how many seconds it makes one sample of what it heard."""
        self._published = NOTHING
        self._growing: tuple[Figure, Held] | None = None
        self._told_at = float("-inf")
        self._places: dict[Figure, tuple[object, list[Key]]] = {}

    def note(self, store: MetricStore, at: float, load: Load) -> bool:
        """Publish what follows from a load that lasts from a moment on; return whether it is another one than before.

        The same load again changes nothing. Until the driver answers nothing runs, and when nobody waits for it any
        more only the host's: that has to be noted once more when ``driver_timeout`` is over.
        """
        self._outside.note(store, at, load)
        is_other = load is not self._load and load != self._load
        self._load = load
        agent: Agent | None = self._image.agent
        if not load.driver and self._image.fallback is not None:
            agent = None if at - self._launched < self._image.driver_timeout else self._image.fallback
        if agent is None:
            self._fall_silent(store, at)
        elif is_other or agent is not self._agent:
            self._publish(store, at, agent, load)
        return is_other

    def end(self, store: MetricStore, at: float) -> None:
        """Publish nothing from a moment on."""
        self._outside.end(store, at)
        self._fall_silent(store, at)

    def _publish(self, store: MetricStore, at: float, agent: Agent, load: Load) -> None:
        if agent is not self._agent:
            self._take_up(store, at, agent)
        if self._program is None:
            self._hold(store, at, agent.published(load, None, 0), None)
            return
        first, *later = self._program.speech(at, load, self._every)
        self._say(store, at, agent, load, first)
        for speech in later:
            self._say(store, speech.at, agent, load, speech)

    def _take_up(self, store: MetricStore, at: float, agent: Agent) -> None:
        """Have another agent publish."""
        if self._agent is not None:
            self._hold(store, at, NOTHING, None)
            self._places.clear()
        self._agent = agent
        settings = self._image.settings
        if settings is not None:
            self._hears = agent.listens_at(*settings.statsd)
            self._every = max(settings.interval_seconds, agent.hears_every if self._hears else 0)

    def _say(self, store: MetricStore, at: float, agent: Agent, load: Load, speech: Speech) -> None:
        heard = speech if self._hears else None
        every = self._every
        self._hold(store, at, agent.published(load, heard, every), agent.growing(load, heard, every))

    def _fall_silent(self, store: MetricStore, at: float) -> None:
        """Let the software of the instance publish nothing from a moment on."""
        if self._agent is not None:
            self._hold(store, at, NOTHING, None)
            self._agent = None
        if self._program is not None:
            self._program.rest(at)

    def _hold(
        self, store: MetricStore, at: float, published: Mapping[Figure, Held], growing: tuple[Figure, Held] | None
    ) -> None:
        """Tell the store what is different from a moment on."""
        agent = self._agent or self._image.agent
        gone, changed = agent.difference(self._published, published)
        before = self._growing
        if at < self._told_at:
            # Some of that was to begin later than now: all is said again.
            changed, before = list(published.items()), None
        if self._growing is not None and growing is None:
            gone = [*gone, self._growing[0]]
        if growing is not None and growing != before:
            changed = [*changed, growing]
        self._published, self._growing, self._told_at = published, growing, at
        for figure in gone:
            source, keys = self._place(figure)
            for key in keys:
                store.stop(key, at, source=source)
        for figure, (value, every, slope) in changed:
            source, keys = self._place(figure)
            now = value + slope * at if slope else value
            store.hold_each(keys, at, now, every=every, slope=slope, source=source)

    def _place(self, figure: Figure) -> tuple[object, list[Key]]:
        """Return what tells this figure from others in the series that it goes to, and those."""
        place = self._places.get(figure)
        if place is None:
            assert self._agent is not None, "something is published"
            place = self._places[figure] = (object(), self._agent.series_of(figure, self._identity))
        return place
