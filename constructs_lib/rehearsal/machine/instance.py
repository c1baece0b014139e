"""What runs on an instance beside its work: an agent and the node program, as the template puts them there at boot."""

from __future__ import annotations

from collections.abc import Mapping

from constructs_lib.rehearsal.cloud.metrics import Key, MetricStore
from constructs_lib.rehearsal.machine.agent import NOTHING, Agent, Figure, Held
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.machine.node_program import Core, NodeProgram
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
        self._under: tuple[Agent, Load] | None = None
        self._published = NOTHING
        self._growing: tuple[Figure, Held] | None = None
        self._told_at = float("-inf")
        self._places: dict[Figure, tuple[object, list[Key]]] = {}

    def note(self, store: MetricStore, at: float, load: Load) -> None:
        """Publish what follows from a load that lasts from a moment on; the same load again changes nothing.

        Until the driver answers nothing runs, and when nobody waits for it any more only the host's: that has to be
        noted once more when ``driver_timeout`` is over.
        """
        self._outside.note(store, at, load)
        agent = self._image.agent
        if not load.driver and self._image.fallback is not None:
            if at - self._launched < self._image.driver_timeout:
                self._fall_silent(store, at)
                return
            agent = self._image.fallback
        if self._under == (agent, load):
            return
        if self._under is not None and self._under[0] is not agent:
            self._hold(store, at, NOTHING, None)
            self._places.clear()
        self._under = (agent, load)
        settings = self._image.settings
        if self._program is None or settings is None:
            self._hold(store, at, agent.published(load, None, 0), None)
            return
        hears = agent.listens_at(*settings.statsd)
        every = max(settings.interval_seconds, agent.hears_every if hears else 0)
        first, *later = self._program.speech(at, load, every)
        for moment, speech in ((at, first), *((each.at, each) for each in later)):
            heard = speech if hears else None
            self._hold(store, moment, agent.published(load, heard, every), agent.growing(load, heard, every))

    def end(self, store: MetricStore, at: float) -> None:
        """Publish nothing from a moment on."""
        self._outside.end(store, at)
        self._fall_silent(store, at)

    def _fall_silent(self, store: MetricStore, at: float) -> None:
        """Let the software of the instance publish nothing from a moment on."""
        if self._under is not None:
            self._hold(store, at, NOTHING, None)
            self._under = None
        if self._program is not None:
            self._program.rest(at)

    def _hold(
        self, store: MetricStore, at: float, published: Mapping[Figure, Held], growing: tuple[Figure, Held] | None
    ) -> None:
        """Tell the store what is different from a moment on."""
        agent = self._under[0] if self._under else self._image.agent
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
            assert self._under is not None, "something is published"
            place = self._places[figure] = (object(), self._under[0].series_of(figure, self._identity))
        return place
