"""When an instance counts as idle: the policy that the alarm, the release handler and the rehearsal share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from aws_cdk import Duration

from constructs_lib.catalog import AcceleratedType
from constructs_lib.errors import ArgumentError
from constructs_lib.release.adaptive import (
    DEFAULT_ADAPTIVE_WINDOW,
    DEFAULT_COLD_START,
    check_adaptive_window,
    cold_start_seconds,
    start_worth_seconds,
    usual_warm_up,
)
from constructs_lib.release.idle_signal import NEED_THE_NODE_PROGRAM, STANDARD, CustomSignal, IdleSignal
from constructs_lib.release.keep_warm import KeepWarm
from constructs_lib.release.policy_checks import (
    DAY,
    HOUR,
    MINUTE,
    SHORTEST_DOUBT,
    WHERE,
    check_longest_life,
    check_longest_unknown,
    check_published,
    check_thresholds,
    duration_seconds,
    percentage,
    quiet_hours_of,
    require_thresholds,
    signals_of,
)
from constructs_lib.scaling import Hours
from constructs_lib.telemetry import AcceleratorKind
from constructs_lib.validation import complaint, instance_of, integer, list_of, number

_SHORTEST_WINDOW = 5 * MINUTE
_LONGEST_WINDOW = DAY  # above one day CloudWatch evaluates an alarm only once an hour
_LONGEST_WARM_UP = HOUR  # Auto Scaling's default instance warm-up takes no more
_DEFAULT_WINDOW = 15 * MINUTE
_DEFAULT_WARM_UP = 10 * MINUTE
_DEFAULT_PERCENT = 5.0
_DEFAULT_CPU_PERCENT = 10.0
_DEFAULT_NETWORK_MIB_S = 1.0
_CORES_AT_WORK = 2
_MOST_RELEASES = 200  # the release handler ends no more in one pass
_MOST_SIGNALS = 5
_MOST_TRANSFERS = 10**15  # the node program takes no higher threshold
# Parameter, shortest, longest, and what a message shows as an example.
_LIFE_TIMES = (
    ("min_instance_life", 0, 7 * DAY, "Duration.minutes(50)"),
    ("max_instance_life", HOUR, 365 * DAY, "Duration.days(7)"),
    ("max_unknown", SHORTEST_DOUBT, 30 * DAY, "Duration.hours(4)"),
    ("end_retained_after", MINUTE, 30 * DAY, "Duration.hours(12)"),
)


class AtMinimum(Enum):
    """What becomes of an instance past a hard limit when the group is as small as it may be."""

    LEAVE = "leave"
    """It stays, and each pass says so."""

    REPLACE = "replace"
    """It is ended, and Auto Scaling starts another in its place."""


@dataclass(frozen=True, kw_only=True)
class IdlePolicy:
    """When an instance is idle, and how fast idle ones are released. Two policies that say the same are equal.

    An instance is released when every signal was known and idle over the whole window. Silence is never idleness: a
    missing metric, a failed read or an unfinished warm-up keeps the instance. ``max_instance_life`` and
    ``max_unknown`` are the only exceptions; both are off unless they are given, and neither ends an instance that
    carries the tag ``accelerated-fleet:hold``. :meth:`adaptive` shortens the window where it only costs money.

    Attributes:
        window: how long an instance must have been idle. Whole minutes from 5 minutes to 24 hours.
            Default: 15 minutes.
        threshold_percent: an accelerator below this utilisation is idle. Above 0, below 100. Default: 5.
        threshold_transfers: for accelerators that know no utilisation (FPGAs), in place of ``threshold_percent``: one
            with fewer transfers over its bus and memory ports between two readings, which are a minute apart unless
            ``Telemetry(resolution=...)`` says otherwise, is idle. At least 1. Default: 1, so that any transfer is use.
        threshold_memory_mib: for ``IdleSignal.MEMORY``, which needs it: an instance whose accelerators each use less
            memory is idle. Above 0.
        threshold_power_watts: for ``IdleSignal.POWER``, which needs it: an instance whose accelerators each draw less
            is idle. Above 0.
        threshold_network_mib_s: for ``IdleSignal.NETWORK``: an instance with less traffic is idle. Above 0.
            Default: 1.
        warm_up: time after launch in which an instance counts as starting: boot, driver, data staging. Whole minutes,
            at most an hour and at most the window. Default: 10 minutes, or with ``cold_start`` as long as that and at
            least 5 minutes; the window if it is shorter.
        signals: what is looked at. Must contain ``ACCELERATOR``, or ``MEMORY``, ``POWER`` or ``IDLE_SECONDS`` where
            use cannot be read. ``BUSY_MARK``, ``LOGINS``, ``NETWORK`` and ``IDLE_SECONDS`` come from the program that
            an ``AcceleratedFleet`` puts on its instances; ``IdleRelease`` refuses them.
            Default: ``ACCELERATOR``, ``CPU``, ``SESSIONS``, and for an ``AcceleratedFleet`` ``BUSY_MARK`` and
            ``LOGINS``.
        cpu_threshold_percent: an instance below this CPU utilisation (all cores together) is idle. Above 0, below 100.
            Default: 10, or two cores of the fleet's largest type if that is less.
        custom_signals: metrics of the work itself, which are looked at besides; at most 5. Default: none.
        max_release_share: at most this share of the instances in service, rounded up, is released in one pass of the
            release handler. Above 0, at most 1. Default: 1, every idle instance.
        max_releases_per_pass: at most so many, besides. 1 to 200. Default: 200.
        min_instance_life: an idle instance younger than this stays, where starting one is slow or billed by the hour.
            Whole minutes, at most 7 days. Default: none.
        quiet_hours: in them nothing is released because it is idle. Default: none.
        keep_warm: capacities that are not undercut in some hours. Where several hold at once, the largest does.
            Default: none.
        max_instance_life: an instance older than this is ended, **also while it is busy**, once it has drained. Whole
            minutes from 1 hour to 365 days, longer than ``window``. ``FleetSchedule(maintenance=...)`` limits it to
            some hours. Default: none.
        max_unknown: an instance that could not be judged for so long, in three passes or more, is ended. Whole minutes,
            at least the window and 15 minutes more, at most 30 days. Default: none, such instances are kept and told
            of.
        at_minimum: what becomes of an instance past one of these two limits at the group's minimum size. An idle one
            stays there. Default: ``AtMinimum.LEAVE``.
        end_retained_after: an instance that a failed lifecycle hook has left behind (``Terminating:Retained``) is ended
            after this time. Whole minutes from 1 minute to 30 days. Default: never, each pass tells of it.
        max_failed_launches: after so many launches in a row that came to nothing the group launches no more, until
            somebody resumes it. 1 to 100, or 0 for never. Default: 5 for an ``AcceleratedFleet``, 0 for an
            ``IdleRelease``.
        cold_start: how long it takes from a launch until the instance works. Given, the policy is adaptive, see
            :meth:`adaptive`, and ``window`` at most 2 hours. Whole minutes from 1 to 6: for slower starts a fixed
            window costs less. Default: none, each instance is kept for the whole window.

    Raises:
        ArgumentError: a value is out of range, or does not go together with another one.
    """

    # The CDK's Durations have no equality, so the seconds stand for them.
    window: Duration | None = field(default=None, compare=False)
    threshold_percent: float | None = None
    threshold_transfers: int | None = None
    threshold_memory_mib: float | None = None
    threshold_power_watts: float | None = None
    threshold_network_mib_s: float | None = None
    warm_up: Duration | None = field(default=None, compare=False)
    signals: Sequence[IdleSignal] | None = None
    cpu_threshold_percent: float | None = None
    custom_signals: Sequence[CustomSignal] | None = None
    max_release_share: float | None = None
    max_releases_per_pass: int | None = None
    min_instance_life: Duration | None = field(default=None, compare=False)
    quiet_hours: Sequence[Hours] | None = None
    keep_warm: Sequence[KeepWarm] | None = None
    max_instance_life: Duration | None = field(default=None, compare=False)
    max_unknown: Duration | None = field(default=None, compare=False)
    at_minimum: AtMinimum | None = None
    end_retained_after: Duration | None = field(default=None, compare=False)
    max_failed_launches: int | None = None
    cold_start: Duration | None = field(default=None, compare=False)
    window_seconds: int = field(init=False)
    warm_up_seconds: int = field(init=False)
    cold_start_seconds: int | None = field(init=False)
    min_instance_life_seconds: int | None = field(init=False)
    max_instance_life_seconds: int | None = field(init=False)
    max_unknown_seconds: int | None = field(init=False)
    end_retained_after_seconds: int | None = field(init=False)

    def __post_init__(self) -> None:
        self._settle_window()
        self._settle_signals()
        self._settle_thresholds()
        self._settle_pace()
        self._settle_hours()
        self._settle_life_times()

    @classmethod
    def adaptive(
        cls, *, cold_start: Duration | None = None, window: Duration | None = None, **options: Any
    ) -> IdlePolicy:
        """Return a policy that lets instances go before their window is over, while the fleet has more than it uses.

        A queue gives work to any instance that is free, so that in a fleet with short jobs none is idle for long,
        although half of them would do. Each pass counts how many instances were in use at once, and looks back over a
        day: if so many as now were last in use together longer ago than it pays to wait, the difference may go. How
        long that is, follows from the gaps between such moments in the past day and from what a start costs: twice
        ``cold_start``, as the instance is paid for meanwhile and somebody waits, and a pass. Without a past it is one
        pass. Only instances that every signal knows to be idle now go, longest idle first, and all other rules of
        the policy hold.

        Args:
            cold_start: how long it takes from a launch until the instance works. Whole minutes from 1 to 6: for slower
                starts a fixed window costs less. ``warm_up``, if not given, is as long, at least 5 minutes.
                Default: 5 minutes.
            window: an instance that has been idle for so long goes in any case. Whole minutes from 5 minutes to
                2 hours. Default: 1 hour.
            options: all other attributes of the policy.

        Raises:
            ArgumentError: a value is out of range, or does not go together with another one.
        """
        start = Duration.seconds(DEFAULT_COLD_START) if cold_start is None else cold_start
        longest = Duration.seconds(DEFAULT_ADAPTIVE_WINDOW) if window is None else window
        return cls(cold_start=start, window=longest, **options)

    @property
    def start_worth_seconds(self) -> int | None:
        """As much idle time of an instance costs what a start costs. None: the policy is not adaptive."""
        return None if self.cold_start_seconds is None else start_worth_seconds(self.cold_start_seconds)

    @property
    def alarm_seconds(self) -> int:
        """For how long nobody may have been in use until the idle alarm asks for a pass."""
        return self.window_seconds if self.cold_start_seconds is None else _SHORTEST_WINDOW

    def threshold(self, kind: AcceleratorKind, *, where: str = WHERE) -> float:
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

    def cpu_threshold(self, types: Sequence[AcceleratedType]) -> float:
        """Return below which CPU utilisation an instance is idle, in percent of all its cores.

        On a machine of 192 cores 10 % are nineteen of them: a loop that feeds the accelerators takes one or two.
        """
        if self.cpu_threshold_percent is not None:
            return self.cpu_threshold_percent
        cores = max((each.vcpus for each in types if each.vcpus is not None), default=1)
        return min(_DEFAULT_CPU_PERCENT, round(100 * _CORES_AT_WORK / cores, 2))

    def signals_with_node_program(self) -> tuple[IdleSignal, ...]:
        """Return what is looked at on instances that run the node program."""
        return STANDARD if self.signals is None else tuple(self.signals)

    def signals_without_node_program(self, *, where: str = WHERE) -> tuple[IdleSignal, ...]:
        """Return what is looked at on instances of a group that is not ours.

        Raises:
            ArgumentError: a signal was asked for that only the node program gives. ``where`` is the construct's path.
        """
        for signal in self.signals or ():
            if signal in NEED_THE_NODE_PROGRAM:
                rule = "hold only what can be seen without the program of an AcceleratedFleet on the instances"
                cure = "leave it out, or use AcceleratedFleet: without its publisher every instance would be unknown"
                raise ArgumentError(complaint(where, "idle.signals", rule, signal.name, cure))
        return tuple(each for each in self.signals_with_node_program() if each not in NEED_THE_NODE_PROGRAM)

    def check_figures(
        self, kind: AcceleratorKind, types: Sequence[AcceleratedType], measurements: Sequence[str], *, where: str
    ) -> None:
        """Refuse a signal whose figure not every instance publishes: without it each one would be unknown for ever.

        Args:
            kind: of the accelerators.
            types: of the instances.
            measurements: what is published of each accelerator.
            where: construct path, for messages.
        """
        check_published(self.signals or (), kind, types, measurements, where=where)

    def check_memory(self, types: Sequence[AcceleratedType], *, where: str) -> None:
        """Refuse a threshold that the used memory of some accelerator can never reach: it would always be idle."""
        smallest = min(types, key=lambda each: each.accelerator_memory_mib)
        if self.threshold_memory_mib is not None and self.threshold_memory_mib >= smallest.accelerator_memory_mib:
            rule = f"be below the memory of an accelerator ({smallest.name}: {smallest.accelerator_memory_mib} MiB)"
            cure = "give a value just above what an idle instance shows: nothing that runs would ever count as use"
            given = self.threshold_memory_mib
            raise ArgumentError(complaint(where, "idle.threshold_memory_mib", rule, given, cure))

    def check_capacity(self, most: int, *, where: str) -> None:
        """Refuse to keep more instances warm than the group may have."""
        for each in self.keep_warm or ():
            if each.instances > most:
                rule = f"not exceed max_capacity ({most})"
                cure = "raise max_capacity, or keep fewer"
                raise ArgumentError(complaint(where, "idle.keep_warm", rule, each.instances, cure))

    # --- values and defaults -----------------------------------------------------------------------------------------

    def _settle_window(self) -> None:
        example = "Duration.minutes(15)"
        start = None if self.cold_start is None else cold_start_seconds(self.cold_start)
        window = _DEFAULT_WINDOW
        if self.window is not None:
            cure = "metrics arrive once a minute, and CloudWatch judges an alarm over more than a day only once an hour"
            window = duration_seconds(
                "window", self.window, _SHORTEST_WINDOW, _LONGEST_WINDOW, example=example, cure=cure
            )
        if start is not None:
            check_adaptive_window(window)
        warm_up = min(_DEFAULT_WARM_UP if start is None else usual_warm_up(start), window)
        if self.warm_up is not None:
            cure = "metrics arrive once a minute, and Auto Scaling takes at most an hour"
            warm_up = duration_seconds("warm_up", self.warm_up, 0, _LONGEST_WARM_UP, example=example, cure=cure)
        if warm_up > window:
            rule = f"not be shorter than warm_up ({warm_up // MINUTE} minutes)"
            cure = "lengthen it or shorten the warm-up, else an instance is judged by its own boot"
            raise ArgumentError(complaint(WHERE, "window", rule, f"{window // MINUTE} minutes", cure))
        self._settle("window", Duration.seconds(window))
        self._settle("window_seconds", window)
        self._settle("warm_up", Duration.seconds(warm_up))
        self._settle("warm_up_seconds", warm_up)
        self._settle("cold_start_seconds", start)

    def _settle_signals(self) -> None:
        if self.signals is not None:
            self._settle("signals", signals_of(self.signals))
        if self.custom_signals is None:
            return
        cure = "leave it out for none, or write [CustomSignal(namespace='Jobs', metric_name='running', idle_below=1)]"
        custom = list_of(WHERE, "custom_signals", self.custom_signals, CustomSignal, cure=cure)
        if len(custom) > _MOST_SIGNALS or len(set(custom)) < len(custom):
            rule = f"be at most {_MOST_SIGNALS} different ones"
            raise ArgumentError(complaint(WHERE, "custom_signals", rule, custom, "leave out what says the same"))
        self._settle("custom_signals", custom)

    def _settle_thresholds(self) -> None:
        if self.threshold_transfers is not None:
            cure = "give a number of transfers, such as 1000"
            given = self.threshold_transfers
            integer(WHERE, "threshold_transfers", given, minimum=1, maximum=_MOST_TRANSFERS, cure=cure)
        for parameter in ("threshold_percent", "cpu_threshold_percent"):
            if (given := getattr(self, parameter)) is not None:
                self._settle(parameter, percentage(parameter, given))
        for parameter, example in (
            ("threshold_memory_mib", "1024, in MiB"),
            ("threshold_power_watts", "40, in W"),
            ("threshold_network_mib_s", "1, in MiB a second"),
        ):
            if (given := getattr(self, parameter)) is not None:
                self._settle(parameter, number(WHERE, parameter, given, above=0, cure=f"give for example {example}"))
        needed = {
            "threshold_memory_mib": (IdleSignal.MEMORY, self.threshold_memory_mib),
            "threshold_power_watts": (IdleSignal.POWER, self.threshold_power_watts),
        }
        network = (IdleSignal.NETWORK, self.threshold_network_mib_s)
        cpu = (IdleSignal.CPU, self.cpu_threshold_percent)
        signals = self.signals_with_node_program()
        check_thresholds(signals, {**needed, "threshold_network_mib_s": network, "cpu_threshold_percent": cpu})
        require_thresholds(signals, needed)
        if IdleSignal.NETWORK in signals and self.threshold_network_mib_s is None:
            self._settle("threshold_network_mib_s", _DEFAULT_NETWORK_MIB_S)

    def _settle_pace(self) -> None:
        share = 1.0 if self.max_release_share is None else self.max_release_share
        number(WHERE, "max_release_share", share, above=0, maximum=1, cure="give a share such as 0.5, or 1 for all")
        self._settle("max_release_share", float(share))
        if self.max_releases_per_pass is not None:
            cure = "leave it out, or give a number of instances: the release handler ends no more in one pass"
            given = self.max_releases_per_pass
            integer(WHERE, "max_releases_per_pass", given, minimum=1, maximum=_MOST_RELEASES, cure=cure)
        if self.max_failed_launches is not None:
            cure = "give a number of launches, or 0 to try for ever"
            integer(WHERE, "max_failed_launches", self.max_failed_launches, minimum=0, maximum=100, cure=cure)

    def _settle_hours(self) -> None:
        if self.quiet_hours is not None:
            self._settle("quiet_hours", quiet_hours_of(self.quiet_hours))
        if self.keep_warm is not None:
            cure = "leave it out for none, or write [KeepWarm(instances=1, hours=Hours(...))]"
            self._settle("keep_warm", list_of(WHERE, "keep_warm", self.keep_warm, KeepWarm, cure=cure))

    def _settle_life_times(self) -> None:
        for parameter, shortest, longest, example in _LIFE_TIMES:
            given = getattr(self, parameter)
            seconds = None
            if given is not None:
                seconds = duration_seconds(parameter, given, shortest, longest, example=example)
            self._settle(f"{parameter}_seconds", seconds)
        check_longest_life(self.max_instance_life_seconds, self.window_seconds, self.min_instance_life_seconds)
        check_longest_unknown(self.max_unknown_seconds, self.window_seconds)
        chosen = AtMinimum.LEAVE if self.at_minimum is None else self.at_minimum
        instance_of(WHERE, "at_minimum", chosen, AtMinimum, cure="write AtMinimum.LEAVE or AtMinimum.REPLACE")
        if chosen is AtMinimum.REPLACE and self.max_instance_life is None and self.max_unknown is None:
            rule = "be left out without max_instance_life and max_unknown"
            cure = "give one of them: an idle instance at the minimum always stays"
            raise ArgumentError(complaint(WHERE, "at_minimum", rule, chosen.name, cure))
        self._settle("at_minimum", chosen)

    def _settle(self, name: str, value: object) -> None:
        """Replace an omitted value by its default; afterwards the policy never changes again."""
        object.__setattr__(self, name, value)
