"""What is to be done next on an instance that goes, or may. Pure: no clock, no files, no processes.

The road: say that the instance drains, checkpoint, signal, drain command, wait until the work is over or the deadline
is there, then tell how it went and let the termination go on. All times are seconds that never go back.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Union

from .. import names
from ..settings import Drain
from .notices import Notices, interruption_time

REBALANCE, TERMINATION, INTERRUPTION = "rebalance", "termination", "interruption"
"""Why the instance drains, each more pressing than the one before."""

CHECKPOINT, COMMAND = "checkpoint", "command"
"""The commands that a team can give."""

NOT_YET, BEGUN, ENDED = "not yet", "begun", "ended"
"""How far a command is."""

DONE, TIMED_OUT = "done", "timed out"
"""How a drain has ended."""

INTERRUPTION_SECONDS = 120.0
"""From the notice to the end of a Spot instance."""

INTERRUPTION_MARGIN_SECONDS = 15.0
"""What is kept of them to tell how it went."""

HOOK_MARGIN_SECONDS = 45.0
"""For how long after the deadline the hook is still completed; its own time ends 60 seconds after the deadline."""

UNKNOWN_SECONDS = 300.0
"""For how long work is waited for that nobody can see: a machine whose tool is broken bills as long as it drains."""

_PRESSING = ("", REBALANCE, TERMINATION, INTERRUPTION)
_GONE_AFTER_SECONDS = 120.0
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 4.0, 30.0


@dataclass(frozen=True)
class Work:
    """What is still on the instance: how many busy marks are held, and whether an accelerator is in use.

    None is unknown, which is not over.
    """

    marks: int | None = 0
    in_use: bool | None = False

    @property
    def over(self) -> bool:
        """Whether nothing would be lost."""
        return self.marks == 0 and self.in_use is False

    @property
    def unseen(self) -> bool:
        """Whether nothing says that there is any, and nothing that there is none."""
        return not self.marks and not self.in_use and not self.over


@dataclass(frozen=True)
class Sight:
    """What is seen at one moment; `running` are the commands that run."""

    now: float
    notices: Notices
    work: Work = field(default_factory=Work)
    running: frozenset[str] = frozenset()


@dataclass(frozen=True)
class State:
    """How far the drain is; it survives the program. Without a `reason` there is none.

    `served` says that the group had the instance in service. `hook_until` is when nobody waits for the hook any more,
    None while there is none; `hook_over` that this is so, or that it is completed; `next_attempt` when it is tried to
    complete it again. `interruption_ends` is when an
    interruption takes the instance. `rebalance` is the recommendation that was acted on.
    """

    served: bool = False
    reason: str = ""
    began: float = 0.0
    deadline: float = 0.0
    checkpoint: str = NOT_YET
    command: str = NOT_YET
    checkpoint_until: float = 0.0
    outcome: str = ""
    told: bool = False
    hook_until: float | None = None
    hook_over: bool = False
    attempts: int = 0
    next_attempt: float = 0.0
    interruption_ends: float | None = None
    rebalance: str = ""

    @property
    def over(self) -> bool:
        """Whether nothing is left to be done."""
        return not self.reason or bool(self.outcome and self.told and (self.hook_until is None or self.hook_over))

    def resumed(self, asked: Drain, now: float) -> State:
        """Return the state for a program that starts: commands that ran have ended with the one before, and run again.

        A clock that was wrong meanwhile lengthens nothing.
        """
        interrupted = BEGUN in (self.checkpoint, self.command)
        latest = now + asked.deadline_seconds
        return replace(
            self,
            began=min(self.began, now),
            deadline=min(self.deadline, latest),
            checkpoint=NOT_YET if self.checkpoint == BEGUN else self.checkpoint,
            command=NOT_YET if self.command == BEGUN else self.command,
            hook_until=None if self.hook_until is None else min(self.hook_until, latest + HOOK_MARGIN_SECONDS),
            next_attempt=0.0,
            interruption_ends=_earlier(self.interruption_ends, now + INTERRUPTION_SECONDS),
            rebalance="" if interrupted and not self.reason else self.rebalance,
        )


def _earlier(given: float | None, limit: float) -> float | None:
    return None if given is None else min(given, limit)


@dataclass(frozen=True)
class Announce:
    """Say to everybody on the instance that it drains, why, and until when.

    `anew` says that the road begins again: who got the signal may have gone on, and gets it once more.
    """

    reason: str
    deadline: float
    anew: bool = False


@dataclass(frozen=True)
class Retract:
    """Say that it drains no more."""


@dataclass(frozen=True)
class Run:
    """Start one of the commands; it is told the reason, and until when it may run."""

    which: str
    reason: str
    until: float


@dataclass(frozen=True)
class Kill:
    """End a command whose time is over."""

    which: str


@dataclass(frozen=True)
class Signal:
    """Send the signal to each program that holds a busy mark and has not got it yet."""


@dataclass(frozen=True)
class Publish:
    """Publish 1 under this name for the group."""

    metric: str


@dataclass(frozen=True)
class Complete:
    """Complete the group's termination hook. Whoever does it says so with `completed`."""


Action = Union[Announce, Retract, Run, Kill, Signal, Publish, Complete]


def completed(state: State) -> State:
    """Return the state once the hook is completed."""
    return replace(state, hook_over=True)


def not_begun(state: State, which: str) -> State:
    """Return the state when a command could not be started: it is tried again."""
    again = replace(state, rebalance=state.rebalance if state.reason else "")
    return replace(again, checkpoint=NOT_YET) if which == CHECKPOINT else replace(again, command=NOT_YET)


def decide(asked: Drain, before: State, sight: Sight) -> tuple[State, tuple[Action, ...]]:
    """Return what is to be done now, in this order, and the state after it. What was seen before changes nothing."""
    plan = _Plan(asked, sight, _ended_commands(before, sight))
    plan.take_in_the_notices()
    if plan.has_come_back():
        plan.forget()
    elif plan.state.reason:
        plan.go_on(before)
    else:
        plan.checkpoint_at_a_recommendation()
    return plan.state, tuple(plan.actions)


def _ended_commands(state: State, sight: Sight) -> State:
    if state.checkpoint == BEGUN and CHECKPOINT not in sight.running:
        state = replace(state, checkpoint=ENDED)
    if state.command == BEGUN and COMMAND not in sight.running:
        state = replace(state, command=ENDED)
    return state


@dataclass
class _Plan:
    asked: Drain
    sight: Sight
    state: State
    actions: list[Action] = field(default_factory=list)

    @property
    def _is_terminated(self) -> bool:
        """Whether the group ends the instance's service. One that is on its way into a warm pool had none."""
        target = self.sight.notices.target
        back_to_the_pool = target.startswith("Warmed:") and self.state.served
        return target in ("Terminated", "Warmed:Terminated") or back_to_the_pool

    @property
    def _time_is_up(self) -> bool:
        """Whether work holds up the end no longer."""
        unseen_for = self.sight.now - self.state.began if self.sight.work.unseen else 0.0
        return self.sight.now >= self.state.deadline or unseen_for >= UNKNOWN_SECONDS

    def take_in_the_notices(self) -> None:
        now, notices, asked = self.sight.now, self.sight.notices, self.asked
        if notices.target == "InService":
            self._change(served=True)
        if self._is_terminated and self.state.hook_until is None:
            self._change(hook_until=now + asked.deadline_seconds + HOOK_MARGIN_SECONDS)
            self._shorten(now + asked.deadline_seconds)
        if notices.interruption and self.state.interruption_ends is None:
            ends = _plausible_end(interruption_time(notices.interruption), now)
            self._change(interruption_ends=ends)
            self._shorten(ends - INTERRUPTION_MARGIN_SECONDS)
        reason = self._most_pressing_reason()
        if _PRESSING.index(reason) > _PRESSING.index(self.state.reason):
            self._begin(reason)

    def _most_pressing_reason(self) -> str:
        notices = self.sight.notices
        if notices.interruption:
            return INTERRUPTION
        if self._is_terminated:
            return TERMINATION
        return REBALANCE if notices.rebalance and self.asked.drain_on_rebalance else ""

    def _begin(self, reason: str) -> None:
        """Take the road from its beginning, unless it is the same one with less time."""
        if self.state.reason in (TERMINATION, INTERRUPTION):
            self._change(reason=reason)
            return
        state = self.state
        ends = [self.sight.now + self.asked.deadline_seconds]
        if state.interruption_ends is not None:
            ends = [state.interruption_ends - INTERRUPTION_MARGIN_SECONDS]
        if state.hook_until is not None:
            ends.append(state.hook_until - HOOK_MARGIN_SECONDS)
        self._change(
            reason=reason,
            began=self.sight.now,
            deadline=min(ends),
            # What runs already is not started a second time.
            checkpoint=BEGUN if state.checkpoint == BEGUN else NOT_YET,
            command=BEGUN if state.command == BEGUN else NOT_YET,
            outcome="",
            told=False,
            rebalance=self.sight.notices.rebalance,
        )

    def has_come_back(self) -> bool:
        """Whether a drain was for nothing: the group has the instance in service again, or a notice has gone."""
        state, notices = self.state, self.sight.notices
        if not state.reason or notices.interruption or self._is_terminated:
            return False
        if state.reason == REBALANCE:
            return not notices.rebalance
        if state.reason == INTERRUPTION:
            ends = self.sight.now if state.interruption_ends is None else state.interruption_ends
            return self.sight.now > ends + _GONE_AFTER_SECONDS
        return notices.target == "InService"

    def forget(self) -> None:
        """Be as before the drain."""
        self.actions += [*(Kill(which) for which in sorted(self.sight.running)), Retract()]
        self.state = State(served=self.state.served, rebalance=self.state.rebalance)

    def checkpoint_at_a_recommendation(self) -> None:
        """A recommendation saves the work and, unless it was asked for, ends nothing."""
        now, recommended = self.sight.now, self.sight.notices.rebalance
        if CHECKPOINT in self.sight.running and now >= self.state.checkpoint_until:
            self.actions.append(Kill(CHECKPOINT))
        if not recommended or recommended == self.state.rebalance:
            return
        self._change(rebalance=recommended)
        if self.asked.checkpoint_command and CHECKPOINT not in self.sight.running:
            until = now + self.asked.deadline_seconds
            self._change(checkpoint=BEGUN, checkpoint_until=until)
            self.actions.append(Run(CHECKPOINT, REBALANCE, until))

    def go_on(self, before: State) -> None:
        """Take the next steps of the road."""
        state = self.state
        if (state.reason, state.deadline) != (before.reason, before.deadline):
            anew = before.reason == REBALANCE != state.reason
            self.actions.append(Announce(state.reason, state.deadline, anew))
        if not state.outcome:
            # What was seen before that was said tells nothing: whoever could not know of it may have taken a job since.
            self._work_towards_the_end(may_be_over=bool(before.reason))
        if self.state.outcome:
            self._let_it_go()

    def _work_towards_the_end(self, *, may_be_over: bool) -> None:
        now, deadline = self.sight.now, self.state.deadline
        if self._time_is_up:
            if self.state.began == now and self.sight.work.marks != 0:
                # A notice that was seen late, as when nobody answered for it: seconds are enough to be told.
                self.actions.append(Signal())
            self.actions += [Kill(which) for which in sorted(self.sight.running)]
            self._change(outcome=TIMED_OUT)
            return
        if self.asked.checkpoint_command and self.state.checkpoint == NOT_YET:
            self._run(CHECKPOINT)
        if self.state.checkpoint == BEGUN and now < (self.state.began + deadline) / 2:
            return
        if self.sight.work.marks != 0:
            self.actions.append(Signal())
        if self.asked.command and self.state.command == NOT_YET:
            self._run(COMMAND)
        if may_be_over and BEGUN not in (self.state.checkpoint, self.state.command) and self.sight.work.over:
            self._change(outcome=DONE)

    def _run(self, which: str) -> None:
        self._change(**{which: BEGUN})
        self.actions.append(Run(which, self.state.reason, self.state.deadline))

    def _let_it_go(self) -> None:
        now, state = self.sight.now, self.state
        if not state.told:
            self._change(told=True)
            metric = names.DRAINS_DONE if state.outcome == DONE else names.DRAINS_TIMED_OUT
            self.actions.append(Publish(metric))
        if state.hook_until is None or state.hook_over or now < state.next_attempt:
            return
        if now > state.hook_until:
            self._change(hook_over=True)
            return
        if not (self._time_is_up or self.sight.work.over):
            # It came after the end was seen, and before the hook could be completed.
            self.actions.append(Signal())
            return
        pause = min(_FIRST_PAUSE_SECONDS * 2**state.attempts, _LONGEST_PAUSE_SECONDS)
        self._change(attempts=min(state.attempts + 1, 10), next_attempt=now + pause)
        self.actions.append(Complete())

    def _shorten(self, deadline: float) -> None:
        if self.state.reason in (TERMINATION, INTERRUPTION):
            self._change(deadline=min(self.state.deadline, deadline))

    def _change(self, **changes: object) -> None:
        self.state = replace(self.state, **changes)  # type: ignore[arg-type]


def _plausible_end(said: float | None, now: float) -> float:
    """Return when an interruption begins. A clock that is wrong, or a notice that cannot be read, gives two minutes."""
    plausible = said is not None and now < said <= now + INTERRUPTION_SECONDS
    return said if said is not None and plausible else now + INTERRUPTION_SECONDS
