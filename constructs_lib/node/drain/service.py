"""The loop: every few seconds it is seen whether the instance is to go, and what `decide` says is done.

Each part may fail without holding the others up; what fails is told once, when that begins, and tried again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from .. import names
from ..events import Events, utc
from ..files import read_text, write_atomically
from ..guard import Guard
from ..instance_metadata import Identity
from ..notify import Supervisor
from ..places import Places
from ..settings import Drain
from . import memory
from .decision import (
    CHECKPOINT,
    Action,
    Announce,
    Complete,
    Kill,
    Publish,
    Retract,
    Run,
    Sight,
    Signal,
    State,
    Work,
    completed,
    decide,
    not_begun,
)
from .notices import Notices, read_notices

POLL_SECONDS = 5.0
"""How often it is asked whether the instance goes: as often as AWS advises for a Spot interruption."""

BUSY_POLL_SECONDS = 2.0
"""The same while it drains: each second of it is billed."""

WATCHDOG_SECONDS = 120.0
"""More than all time limits of one round together."""


class Team(Protocol):
    """The team's commands: `commands.Commands`."""

    def start(self, which: str, text: str, reason: str, seconds_left: float) -> None:
        """Start one; raise OSError if that cannot be done."""

    def running(self) -> frozenset[str]:
        """Return those that run."""

    def kill(self, which: str) -> None:
        """End one."""


class Cloud(Protocol):
    """What is asked of AWS: `aws.Aws`. Each raises if it fails."""

    def group(self) -> str:
        """Return the group's name."""

    def publish(self, metric: str) -> None:
        """Publish 1 for the group."""

    def complete(self) -> bool:
        """Complete the hook; return False if none waits."""


class Crier(Protocol):
    """Tells the holders of busy marks: `holders.Herald`."""

    def signal_holders(self) -> int:
        """Send the signal to those that have not got it."""

    def forget(self) -> None:
        """Begin anew."""


@dataclass(frozen=True)
class Machine:
    """The world around the program; each may raise.

    `session` begins a round of questions to the instance metadata. `now` gives seconds that never go back and begin as
    epoch seconds.
    """

    identity: Callable[[], Identity]
    session: Callable[[], Callable[[str], str | None]]
    look: Callable[[Guard], Work]
    team: Team
    crier: Crier
    cloud: Callable[[Identity], Cloud]
    now: Callable[[], float]


class Service:
    """The program, between the machine and whoever watches it."""

    def __init__(self, asked: Drain, machine: Machine, events: Events, places: Places) -> None:
        self._asked = asked
        self._machine = machine
        self._events = events
        self._places = places
        self._guard = Guard(events)
        self._notices = Notices()
        self._identity: Identity | None = None
        self._cloud: Cloud | None = None
        self._state = State()
        self._is_announced = True

    @property
    def pause(self) -> float:
        """How many seconds to wait for the next round."""
        return POLL_SECONDS if self._state.over else BUSY_POLL_SECONDS

    def run(self, wait: Callable[[float], bool], supervisor: Supervisor) -> None:
        """Go round until `wait`, which is given seconds, returns True."""
        self._events.tell("starts", deadline_seconds=self._asked.deadline_seconds)
        self._guard.attempt("supervisor", lambda: supervisor.ready(WATCHDOG_SECONDS))
        while True:
            self.step()
            self._guard.attempt("supervisor", supervisor.alive)
            if wait(self.pause):
                break
        self._guard.attempt("supervisor", supervisor.stopping)
        self._events.tell("ends")

    def step(self) -> None:
        """Do what is to be done in one round."""
        if self._identity is None and not self._recognise():
            return
        if not self._is_announced:
            self._announce(self._state.reason, self._state.deadline)
        self._notices = self._read_notices()
        running = self._machine.team.running()
        going = bool(self._state.reason) or self._notices.any
        work = self._machine.look(self._guard) if going else Work()
        self._state, actions = self._decided(Sight(self._machine.now(), self._notices, work, running))
        for action in actions:
            self._do(action)
        if not self._state.over and self._cloud is not None:
            # Before the end, when every second counts.
            self._guard.attempt("group", self._cloud.group)

    def _recognise(self) -> bool:
        """Find out which instance this is, and how far its drain was."""
        identity = self._guard.attempt("instance metadata", self._machine.identity)
        if identity is None:
            return False
        self._identity, self._cloud = identity, self._machine.cloud(identity)
        remembered = self._guard.attempt("memory", lambda: self._remembered(identity.instance_id))
        if remembered is not None:
            self._state = remembered.resumed(self._asked, self._machine.now())
        if self._state.reason:
            self._events.tell("goes on", reason=self._state.reason)
            self._announce(self._state.reason, self._state.deadline)
        else:
            self._retract()
        return True

    def _remembered(self, instance_id: str) -> State:
        text = read_text(self._places.file(names.DRAIN_MEMORY))
        return (memory.from_text(text, instance_id) if text is not None else None) or State()

    def _read_notices(self) -> Notices:
        session = self._machine.session()

        def read(path: str) -> str | None:
            return session(f"/latest/meta-data/{path}")

        return read_notices(read, self._notices, self._guard)

    def _decided(self, sight: Sight) -> tuple[State, tuple[Action, ...]]:
        before = self._state
        state, actions = decide(self._asked, before, sight)
        self._keep(state, before)
        return state, actions

    def _keep(self, state: State, before: State) -> None:
        # Before it is acted on: what is done twice after a crash is what was not yet done when it was written.
        if state != before and self._identity is not None:
            text = memory.to_text(self._identity.instance_id, state)
            self._guard.attempt("memory", lambda: write_atomically(self._places.file(names.DRAIN_MEMORY), text))

    def _do(self, action: Action) -> None:
        if isinstance(action, Announce):
            self._events.tell("drains", reason=action.reason, until=utc(action.deadline))
            self._announce(action.reason, action.deadline)
            if action.anew:
                self._guard.attempt("signal", self._machine.crier.forget)
        elif isinstance(action, Retract):
            self._events.tell("drains no more")
            self._retract()
            self._guard.attempt("signal", self._machine.crier.forget)
        elif isinstance(action, Run):
            self._start(action)
        elif isinstance(action, Kill):
            self._guard.attempt(action.which, lambda: self._machine.team.kill(action.which))
        elif isinstance(action, Signal):
            told = self._guard.attempt("signal", self._machine.crier.signal_holders)
            if told:
                self._events.tell("signal sent", programs=told)
        elif self._cloud is not None:
            self._ask(action, self._cloud)

    def _start(self, action: Run) -> None:
        text = self._asked.checkpoint_command if action.which == CHECKPOINT else self._asked.command
        left = max(0.0, action.until - self._machine.now())

        def start() -> bool:
            self._machine.team.start(action.which, text, action.reason, left)
            return True

        if not self._guard.attempt(action.which, start):
            before, self._state = self._state, not_begun(self._state, action.which)
            self._keep(self._state, before)

    def _ask(self, action: Publish | Complete, cloud: Cloud) -> None:
        if isinstance(action, Publish):
            seconds = int(self._machine.now() - self._state.began)
            self._events.tell("drained", outcome=self._state.outcome, seconds=seconds)
            self._guard.attempt("metric", lambda: cloud.publish(action.metric))
        elif self._guard.attempt("hook", cloud.complete):
            self._events.tell("hook completed")
            before, self._state = self._state, completed(self._state)
            self._keep(self._state, before)

    def _announce(self, reason: str, deadline: float) -> None:
        text = json.dumps({"reason": reason, "deadline": int(deadline), "until": utc(deadline)})

        def write() -> bool:
            write_atomically(self._places.file(names.DRAINING), f"{text}\n")
            return True

        self._is_announced = bool(self._guard.attempt("announcement", write))

    def _retract(self) -> None:
        self._is_announced = True
        self._guard.attempt("announcement", lambda: self._places.file(names.DRAINING).unlink(missing_ok=True))
