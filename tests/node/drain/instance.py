"""An instance that goes, without a clock: its notices, its work and its commands, driven by the pure decision."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from constructs_lib.node.drain.decision import (
    Action,
    Announce,
    Complete,
    Kill,
    Publish,
    Run,
    Sight,
    Signal,
    State,
    Work,
    completed,
    decide,
)
from constructs_lib.node.drain.notices import Notices
from constructs_lib.node.settings import Drain

NOW = 1_800_000_000.0
SAVE = "save"
FINISH = "finish"
SPOT = '{"action": "terminate", "time": "2027-01-15T08:02:00Z"}'
"""Two minutes from NOW."""
ADVICE = '{"noticeTime": "2027-01-15T08:00:00Z"}'


def asked(deadline: int = 300, **options: Any) -> Drain:
    return Drain(deadline, "AcceleratedFleet", **options)


@dataclass
class Instance:
    """`marks` and `in_use` are what is on it until `work_ends`. `lasts` says for how long a command runs. The hook can
    be completed from `hook_from` on; before that and without it nobody waits."""

    asked: Drain
    now: float = NOW
    notices: Notices = field(default_factory=lambda: Notices("InService"))
    marks: int | None = 0
    in_use: bool | None = False
    work_ends: float = float("inf")
    heeds_signal: bool = True
    lasts: dict[str, float] = field(default_factory=dict)
    hook_from: float | None = NOW
    state: State = field(default_factory=State)
    log: list[tuple[float, Action]] = field(default_factory=list)
    running: dict[str, float] = field(default_factory=dict)

    def notice(self, **notices: str) -> None:
        self.notices = replace(self.notices, **notices)

    def step(self) -> tuple[Action, ...]:
        """One round."""
        self.running = {which: end for which, end in self.running.items() if end > self.now}
        if self.now >= self.work_ends:
            self.marks, self.in_use = 0, False
        sight = Sight(self.now, self.notices, Work(self.marks, self.in_use), frozenset(self.running))
        self.state, actions = decide(self.asked, self.state, sight)
        for action in actions:
            self.log.append((self.now - NOW, action))
            self._do(action)
        return actions

    def run(self, seconds: float, every: float = 5.0) -> None:
        end = self.now + seconds
        while self.now < end:
            self.step()
            self.now += every

    def _do(self, action: Action) -> None:
        if isinstance(action, Run):
            self.running[action.which] = self.now + self.lasts.get(action.which, 1.0)
        elif isinstance(action, Kill):
            self.running.pop(action.which)
        elif isinstance(action, Signal) and self.heeds_signal:
            self.work_ends = min(self.work_ends, self.now + 1)
        elif isinstance(action, Complete) and self.hook_from is not None and self.now >= self.hook_from:
            self.state = completed(self.state)

    def restart(self) -> None:
        """The program is started again: nothing that it had started runs on."""
        self.running = {}
        self.state = self.state.resumed(self.asked, self.now)

    @property
    def story(self) -> list[tuple[float, str]]:
        """What was done, when, in words; of a signal that goes on being sent only the first."""
        told: list[tuple[float, str]] = []
        for at, action in self.log:
            words = _words(action)
            if words != "signal" or words not in [said for _, said in told]:
                told.append((at, words))
        return told

    @property
    def deeds(self) -> list[str]:
        return [words for _, words in self.story]

    def at(self, deed: str) -> float:
        return next(at for at, words in self.story if words == deed)


def _words(action: Action) -> str:
    if isinstance(action, Announce):
        return f"announce {action.reason}"
    if isinstance(action, (Run, Kill)):
        return f"{type(action).__name__.lower()} {action.which}"
    if isinstance(action, Publish):
        return f"publish {action.metric}"
    return type(action).__name__.lower()
