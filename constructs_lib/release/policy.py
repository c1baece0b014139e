"""When an instance counts as idle: the policy that the alarm, the release handler and the rehearsal share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from aws_cdk import Duration

from constructs_lib.errors import ArgumentError
from constructs_lib.telemetry import AcceleratorKind
from constructs_lib.validation import complaint, instance_of, integer, number

_WHERE = "IdlePolicy"
_MINUTE = 60
_SHORTEST_WINDOW = 5 * _MINUTE
_LONGEST_WINDOW = 24 * 60 * _MINUTE  # above one day CloudWatch evaluates an alarm only once an hour
_LONGEST_WARM_UP = 60 * _MINUTE  # Auto Scaling's default instance warm-up takes no more
_DEFAULT_WARM_UP = 10 * _MINUTE
_DEFAULT_PERCENT = 5.0
_DEFAULT_CPU_PERCENT = 10.0
_WHY_NO_LONGER = {
    "window": "CloudWatch judges an alarm over more than a day only once an hour",
    "warm_up": "Auto Scaling takes at most an hour",
}


class IdleSignal(Enum):
    """What can prove that an instance is in use. An instance is idle only if every enabled signal says so."""

    ACCELERATOR = "accelerator"
    """Use of the busiest accelerator of the instance. Always part of a policy."""

    BUSY_MARK = "busy_mark"
    """A program on the instance says that it is busy: ``accelerated-node busy -- COMMAND``, or a lock that it holds."""

    CPU = "cpu"
    """CPU utilisation of the whole instance: data loading, compiling, writing a checkpoint."""

    SESSIONS = "sessions"
    """A person is on the machine through SSM Session Manager, as Systems Manager says; over as soon as they leave."""

    LOGINS = "logins"
    """A person was logged in within the window, as the machine itself says: SSH, a console, and Session Manager too."""


_NEED_THE_NODE_PROGRAM = (IdleSignal.BUSY_MARK, IdleSignal.LOGINS)


@dataclass(frozen=True, kw_only=True)
class IdlePolicy:
    """When an instance is idle, and how fast idle ones are released. Two policies that say the same are equal.

    An instance is released when every signal was known and idle over the whole window. Silence is never idleness: a
    missing metric, a failed read or an unfinished warm-up keeps the instance.

    Attributes:
        window: how long an instance must have been idle. Whole minutes from 5 minutes to 24 hours.
            Default: 15 minutes.
        threshold_percent: an accelerator below this utilisation is idle. Above 0, below 100. Default: 5.
        threshold_transfers: for accelerators that know no utilisation (FPGAs), in place of ``threshold_percent``: one
            with fewer transfers over its bus and memory ports between two readings, which are a minute apart unless
            ``Telemetry(resolution=...)`` says otherwise, is idle. At least 1. Default: 1, so that any transfer is use.
        warm_up: time after launch in which an instance counts as starting: boot, driver, data staging. Whole minutes,
            at most an hour and at most the window. Default: 10 minutes, or the window if that is shorter.
        signals: what is looked at. Must contain ``IdleSignal.ACCELERATOR``. ``BUSY_MARK`` and ``LOGINS`` come from the
            program that an ``AcceleratedFleet`` puts on its instances; ``IdleRelease`` refuses them.
            Default: all five for an ``AcceleratedFleet``, the other three for an ``IdleRelease``.
        cpu_threshold_percent: an instance below this CPU utilisation (all cores together) is idle. Above 0, below 100.
            Default: 10.
        max_release_share: at most this share of the instances in service, rounded up, is released in one pass of the
            release handler. Above 0, at most 1. Default: 1, every idle instance.

    Raises:
        ArgumentError: a value is out of range, or the window is shorter than the warm-up.
    """

    # The CDK's Durations have no equality, so the seconds stand for them.
    window: Duration | None = field(default=None, compare=False)
    threshold_percent: float | None = None
    threshold_transfers: int | None = None
    warm_up: Duration | None = field(default=None, compare=False)
    signals: Sequence[IdleSignal] | None = None
    cpu_threshold_percent: float | None = None
    max_release_share: float | None = None
    window_seconds: int = field(init=False)
    warm_up_seconds: int = field(init=False)

    def __post_init__(self) -> None:
        window = _whole_minutes("window", self.window, 15 * _MINUTE, _SHORTEST_WINDOW, _LONGEST_WINDOW)
        warm_up = _whole_minutes("warm_up", self.warm_up, min(_DEFAULT_WARM_UP, window), 0, _LONGEST_WARM_UP)
        if warm_up > window:
            rule = f"not be shorter than warm_up ({warm_up // _MINUTE} minutes)"
            cure = "lengthen it or shorten the warm-up, else an instance is judged by its own boot"
            raise ArgumentError(complaint(_WHERE, "window", rule, f"{window // _MINUTE} minutes", cure))
        self._settle("window", Duration.seconds(window))
        self._settle("window_seconds", window)
        self._settle("warm_up", Duration.seconds(warm_up))
        self._settle("warm_up_seconds", warm_up)
        if self.threshold_percent is not None:
            self._settle("threshold_percent", _percent("threshold_percent", self.threshold_percent))
        if self.threshold_transfers is not None:
            cure = "give a number of transfers, such as 1000"
            integer(_WHERE, "threshold_transfers", self.threshold_transfers, minimum=1, cure=cure)
        self._settle("cpu_threshold_percent", _cpu_percent(self.cpu_threshold_percent))
        self._settle("signals", None if self.signals is None else _signals(self.signals))
        share = 1.0 if self.max_release_share is None else self.max_release_share
        number(_WHERE, "max_release_share", share, above=0, maximum=1, cure="give a share such as 0.5, or 1 for all")
        self._settle("max_release_share", float(share))

    def threshold(self, kind: AcceleratorKind, *, where: str = _WHERE) -> float:
        """Return below which use an accelerator of this kind is idle: percent, or transfers.

        Raises:
            ArgumentError: the threshold that was given is of the other sort. ``where`` is the construct's path.
        """
        counts = kind.idle_below is not None
        wrong = self.threshold_percent if counts else self.threshold_transfers
        if wrong is not None:
            given, right = ("threshold_percent", "threshold_transfers")[:: 1 if counts else -1]
            rule = f"be left out for accelerators of kind {kind.name!r}"
            has = "only counts of transfers" if counts else "a utilisation in percent"
            raise ArgumentError(complaint(where, f"idle.{given}", rule, wrong, f"they report {has}: use {right}"))
        if kind.idle_below is not None:
            return kind.idle_below if self.threshold_transfers is None else float(self.threshold_transfers)
        return _DEFAULT_PERCENT if self.threshold_percent is None else self.threshold_percent

    def signals_with_node_program(self) -> tuple[IdleSignal, ...]:
        """Return what is looked at on instances that run the node program."""
        return tuple(IdleSignal) if self.signals is None else tuple(self.signals)

    def signals_without_node_program(self, *, where: str = _WHERE) -> tuple[IdleSignal, ...]:
        """Return what is looked at on instances of a group that is not ours.

        Raises:
            ArgumentError: a signal was asked for that only the node program gives. ``where`` is the construct's path.
        """
        for signal in self.signals or ():
            if signal in _NEED_THE_NODE_PROGRAM:
                rule = "hold only what can be seen without the program of an AcceleratedFleet on the instances"
                cure = "leave it out, or use AcceleratedFleet: without its publisher every instance would be unknown"
                raise ArgumentError(complaint(where, "idle.signals", rule, signal.name, cure))
        return tuple(each for each in self.signals_with_node_program() if each not in _NEED_THE_NODE_PROGRAM)

    def _settle(self, name: str, value: object) -> None:
        """Replace an omitted value by its default; afterwards the policy never changes again."""
        object.__setattr__(self, name, value)


def _whole_minutes(parameter: str, value: Duration | None, default: int, minimum: int, maximum: int) -> int:
    if value is None:
        return default
    instance_of(_WHERE, parameter, value, Duration, cure="write for example Duration.minutes(15)")
    if value.is_unresolved():
        rule = "be known at synth, since the alarm's periods are computed from it"
        raise ArgumentError(complaint(_WHERE, parameter, rule, "a token", "give a literal Duration"))
    milliseconds = value.to_milliseconds()
    if milliseconds % (1000 * _MINUTE) or not minimum * 1000 <= milliseconds <= maximum * 1000:
        rule = f"be whole minutes from {minimum // _MINUTE} to {maximum // _MINUTE}"
        cure = f"metrics arrive once a minute, and {_WHY_NO_LONGER[parameter]}"
        raise ArgumentError(complaint(_WHERE, parameter, rule, value.to_human_string(), cure))
    return int(milliseconds // 1000)


def _cpu_percent(value: float | None) -> float:
    return _DEFAULT_CPU_PERCENT if value is None else _percent("cpu_threshold_percent", value)


def _percent(parameter: str, value: float) -> float:
    number(_WHERE, parameter, value, above=0, below=100, cure="give a percentage such as 5")
    return float(value)


def _signals(signals: Sequence[IdleSignal]) -> tuple[IdleSignal, ...]:
    if not isinstance(signals, (list, tuple)):
        cure = "write for example [IdleSignal.ACCELERATOR, IdleSignal.CPU]"
        raise ArgumentError(complaint(_WHERE, "signals", "be a list of IdleSignal", signals, cure))
    for signal in signals:
        instance_of(_WHERE, "signals", signal, IdleSignal, cure="write for example IdleSignal.CPU")
    if IdleSignal.ACCELERATOR not in signals:
        cure = "add it: a fleet whose accelerators nobody looks at would lose running work"
        named = [signal.name for signal in signals]
        raise ArgumentError(complaint(_WHERE, "signals", "contain IdleSignal.ACCELERATOR", named, cure))
    return tuple(signal for signal in IdleSignal if signal in signals)
