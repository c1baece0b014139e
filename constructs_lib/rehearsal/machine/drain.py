"""The drain service of an instance: its own decision, fed with what a load makes of the machine."""

from __future__ import annotations

from collections.abc import Callable

from constructs_lib.errors import ArgumentError
from constructs_lib.node.drain.decision import Complete, Publish, Sight, State, Work, completed, decide
from constructs_lib.node.drain.notices import Notices
from constructs_lib.node.settings import Settings
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.validation import complaint

_ROUND_SECONDS = 5


class DrainService:
    """What completes the termination hook of one instance. Commands of the team are not simulated."""

    def __init__(self, settings: Settings) -> None:
        if settings.drain is None or settings.drain.command or settings.drain.checkpoint_command:
            rule = "be a drain without commands, which alone is simulated"
            cure = "rehearse the template without them"
            raise ArgumentError(complaint("rehearsal", "drain", rule, settings.drain, cure))
        self._asked = settings.drain
        self._threshold = settings.use_threshold
        self._state = State(served=True)
        self.published: list[str] = []

    def pass_minute(self, now: int, load: Load, complete: Callable[[], None]) -> None:
        """Go round through one minute in which the instance is to be terminated, until the hook is completed."""
        work = Work(load.busy_marks, None if load.accelerators is None else load.busiest >= self._threshold)
        for second in range(0, 60, _ROUND_SECONDS):
            sight = Sight(now=float(now + second), notices=Notices(target="Terminated"), work=work)
            self._state, actions = decide(self._asked, self._state, sight)
            self.published += [action.metric for action in actions if isinstance(action, Publish)]
            if any(isinstance(action, Complete) for action in actions):
                complete()
                self._state = completed(self._state)
                return
