"""How work on an instance is brought to an end before the instance goes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from aws_cdk import Duration

from constructs_lib.errors import ArgumentError
from constructs_lib.node.names import DRAIN_HOOK, DRAIN_SIGNALS
from constructs_lib.telemetry.names import NAMESPACE
from constructs_lib.validation import complaint, instance_of, one_of, text

HOOK_NAME = DRAIN_HOOK
"""Name of the group's termination hook, which the instance completes when it has drained."""

_WHERE = "Drain"
_DEFAULT_DEADLINE = 30 * 60
_SHORTEST_DEADLINE = 30
_LONGEST_DEADLINE = 115 * 60
# Time to tell how it went and to complete the hook. A hook takes at most two hours with it.
_MARGIN = 60
_DEFAULT_SIGNAL = "SIGTERM"
_NEVER_CAUGHT = ("SIGKILL", "SIGSTOP")
_COMMANDS = ("command", "checkpoint_command")


@dataclass(frozen=True, kw_only=True)
class Drain:
    """What an instance does before it goes: work that is still on it ends by itself or saves what it has.

    An instance that is to be terminated by its group first says so (``accelerated-node draining`` succeeds on it, so
    that a worker takes no more jobs), runs ``checkpoint_command``, signals whoever holds a busy mark, runs ``command``,
    and waits until no mark is held and no accelerator is in use. Then the termination goes on. With nothing to do that
    takes until the next reading, a minute at most unless ``Telemetry(resolution=...)`` says otherwise; at the deadline
    it goes on in any case, as a termination can be delayed and not refused. A Spot interruption takes the same road
    within its two minutes, which no deadline lengthens; a longer one keeps no place in the group either, since the
    release function completes the termination of a machine that is gone. A command may be run again if the machine
    restarts meanwhile. Both run in bash as root; the environment tells ``ACCELERATED_DRAIN_REASON`` (``termination``,
    ``interruption`` or ``rebalance``) and ``ACCELERATED_DRAIN_SECONDS_LEFT``, and whatever of them runs at the deadline
    is killed.

    Two that say the same are equal.

    Attributes:
        deadline: for how long work may delay a termination. Whole seconds from 30 seconds to 115 minutes; an instance
            that drains is billed, and goes as soon as its work is done. A job that begins while its instance is being
            chosen is cut off if it outlasts this. A Spot interruption leaves less. Default: 30 minutes. A
            fleet with a Capacity Block that is given no ``Drain`` takes 5, since everybody leaves so much earlier.
        signal: what each program that holds a busy mark is sent, once: ``SIGTERM``, ``SIGINT``, ``SIGHUP``,
            ``SIGQUIT``, ``SIGUSR1`` or ``SIGUSR2``. A program that ignores it is waited for. Of
            ``accelerated-node busy -- COMMAND`` that is the command, with the programs that it has started and that
            inherited the mark; what a program has forked of itself is left to it. Default: ``SIGTERM``.
        command: a shell command that returns when the work is done. Default: none.
        checkpoint_command: a shell command that saves what the work has reached. It runs before anything else, also at
            a Spot interruption and, with nothing after it, at a rebalance recommendation. Once half of the time is over
            the rest begins beside it. Default: none.
        drain_on_rebalance: a rebalance recommendation drains the instance too. It takes no more work from then on,
            and goes when it has been idle for the policy's window. AWS may send the recommendation long before an
            interruption or without one: with types of which all of Spot is short, each new instance may get one at
            once. Default: False.

    Raises:
        ArgumentError: a value is of the wrong type or out of range.
    """

    # The CDK's Durations have no equality, so the seconds stand for it.
    deadline: Duration | None = field(default=None, compare=False, repr=False)
    signal: str | None = None
    command: str | None = None
    checkpoint_command: str | None = None
    drain_on_rebalance: bool | None = None
    deadline_seconds: int = field(init=False)

    def __post_init__(self) -> None:
        seconds = _DEFAULT_DEADLINE if self.deadline is None else _seconds(self.deadline)
        self._settle("deadline", Duration.seconds(seconds))
        self._settle("deadline_seconds", seconds)
        signal = _DEFAULT_SIGNAL if self.signal is None else self.signal
        if signal in _NEVER_CAUGHT:
            rule = f"be one of {', '.join(sorted(DRAIN_SIGNALS))}"
            cure = "it cannot be caught, so that no program could save its work: write for example 'SIGTERM'"
            raise ArgumentError(complaint(_WHERE, "signal", rule, signal, cure))
        self._settle("signal", one_of(_WHERE, "signal", signal, DRAIN_SIGNALS, cure="write for example 'SIGUSR1'"))
        for parameter in _COMMANDS:
            command = getattr(self, parameter)
            if command is not None:
                _check_command(parameter, command)
        rebalance = False if self.drain_on_rebalance is None else self.drain_on_rebalance
        instance_of(_WHERE, "drain_on_rebalance", rebalance, bool, cure="write True or leave it out")
        self._settle("drain_on_rebalance", rebalance)

    @property
    def hook_heartbeat_seconds(self) -> int:
        """After how long the group goes on by itself when the instance says nothing: a minute after the deadline."""
        return self.deadline_seconds + _MARGIN

    def settings(self) -> Mapping[str, object]:
        """What the node program is told; user data is short of room, so what is as usual is left out."""
        chosen: dict[str, object] = {"deadline_seconds": self.deadline_seconds, "namespace": NAMESPACE}
        if self.signal != _DEFAULT_SIGNAL:
            chosen["signal"] = self.signal
        for parameter in _COMMANDS:
            command = getattr(self, parameter)
            if command is not None:
                chosen[parameter] = command
        if self.drain_on_rebalance:
            chosen["drain_on_rebalance"] = True
        return chosen

    def _settle(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


def _seconds(value: object) -> int:
    deadline = instance_of(_WHERE, "deadline", value, Duration, cure="write for example Duration.minutes(5)")
    if deadline.is_unresolved():
        rule = "be known at synth, since the hook's time is computed from it"
        raise ArgumentError(complaint(_WHERE, "deadline", rule, "a token", "give a literal Duration"))
    milliseconds = deadline.to_milliseconds()
    if milliseconds % 1000 or not _SHORTEST_DEADLINE * 1000 <= milliseconds <= _LONGEST_DEADLINE * 1000:
        rule = f"be whole seconds from {_SHORTEST_DEADLINE} seconds to {_LONGEST_DEADLINE // 60} minutes"
        cure = "write for example Duration.minutes(5)"
        if milliseconds > _LONGEST_DEADLINE * 1000:
            cure = "a termination hook takes at most two hours; save work that takes longer with a checkpoint_command"
        raise ArgumentError(complaint(_WHERE, "deadline", rule, deadline.to_human_string(), cure))
    return int(milliseconds // 1000)


def _check_command(parameter: str, value: object) -> None:
    command = text(_WHERE, parameter, value, cure="write a shell command, such as '/opt/worker/finish'")
    if "\0" in command:
        rule = "be a text without a zero byte"
        raise ArgumentError(complaint(_WHERE, parameter, rule, command, "remove it: no program can be given one"))
    try:
        command.encode()
    except UnicodeEncodeError as error:
        cure = "write it anew: half of a surrogate pair, or a byte that was read as text, cannot be passed on"
        raise ArgumentError(complaint(_WHERE, parameter, "be a text in Unicode", command, cure)) from error
