"""Checks of an ``IdlePolicy``: its single values, and what they must be to each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aws_cdk import Duration

from constructs_lib.catalog import AcceleratedType
from constructs_lib.errors import ArgumentError
from constructs_lib.release.idle_signal import OF_ACCELERATORS, CustomSignal, IdleSignal
from constructs_lib.scaling.hours import Hours, hours_of, leave_no_minute
from constructs_lib.telemetry import AcceleratorKind
from constructs_lib.validation import complaint, instance_of, number

WHERE = "IdlePolicy"
MINUTE = 60
HOUR = 60 * MINUTE
DAY = 24 * HOUR
SHORTEST_DOUBT = 15 * MINUTE  # three passes of the release handler


def duration_seconds(
    parameter: str, value: Duration, minimum: int, maximum: int, *, example: str, cure: str | None = None
) -> int:
    """Return a duration of whole minutes between both bounds, in seconds.

    Raises:
        ArgumentError: it is none, or only known at deploy. The message names ``example``, and ``cure`` if it is given.
    """
    instance_of(WHERE, parameter, value, Duration, cure=f"write for example {example}")
    if value.is_unresolved():
        rule = "be known at synth, since other values are computed from it"
        raise ArgumentError(complaint(WHERE, parameter, rule, "a token", "give a literal Duration"))
    milliseconds = value.to_milliseconds()
    parts_of_a_minute = milliseconds % (1000 * MINUTE)
    if parts_of_a_minute or not minimum * 1000 <= milliseconds <= maximum * 1000:
        rule = f"be whole minutes from {minimum // MINUTE} to {maximum // MINUTE}"
        way_out = f"write for example {example}, or leave it out" if cure is None else cure
        # The CDK's own words leave out seconds beside hours.
        shown = f"{milliseconds / 1000:g} seconds" if parts_of_a_minute else value.to_human_string()
        raise ArgumentError(complaint(WHERE, parameter, rule, shown, way_out))
    return int(milliseconds // 1000)


def percentage(parameter: str, value: float) -> float:
    """Return a percentage that is neither 0 nor 100."""
    return number(WHERE, parameter, value, above=0, below=100, cure="give a percentage such as 5")


def signals_of(signals: Sequence[IdleSignal]) -> tuple[IdleSignal, ...]:
    """Return the signals in the library's own order.

    Raises:
        ArgumentError: it is no list of signals, or none of them looks at the accelerators.
    """
    if not isinstance(signals, (list, tuple)):
        cure = "write for example [IdleSignal.ACCELERATOR, IdleSignal.CPU]"
        raise ArgumentError(complaint(WHERE, "signals", "be a list of IdleSignal", signals, cure))
    for signal in signals:
        instance_of(WHERE, "signals", signal, IdleSignal, cure=_signal_meant(signal))
    if not set(OF_ACCELERATORS) & set(signals):
        cure = "add ACCELERATOR: a fleet whose accelerators nobody looks at would lose running work"
        rule = f"contain one of {', '.join(signal.name for signal in OF_ACCELERATORS)}"
        raise ArgumentError(complaint(WHERE, "signals", rule, [signal.name for signal in signals], cure))
    return tuple(signal for signal in IdleSignal if signal in signals)


def _signal_meant(given: object) -> str:
    if isinstance(given, CustomSignal):
        return "put it into custom_signals=[...]"
    named = [each.name for each in IdleSignal if isinstance(given, str) and given.lower() == each.value]
    return f"write IdleSignal.{named[0]}" if named else "write for example IdleSignal.CPU"


def check_thresholds(signals: Sequence[IdleSignal], thresholds: Mapping[str, tuple[IdleSignal, object]]) -> None:
    """Refuse a threshold whose signal nobody looks at: ``thresholds`` holds signal and value by parameter."""
    for parameter, (signal, value) in thresholds.items():
        if value is not None and signal not in signals:
            rule = f"be left out unless signals contain IdleSignal.{signal.name}"
            raise ArgumentError(complaint(WHERE, parameter, rule, value, f"add {signal.name} to the signals"))


def require_thresholds(signals: Sequence[IdleSignal], thresholds: Mapping[str, tuple[IdleSignal, object]]) -> None:
    """Refuse a signal without the threshold that nobody but the user can know."""
    for parameter, (signal, value) in thresholds.items():
        if value is None and signal in signals:
            cure = "measure an idle instance with your software loaded, and give a value above what it shows"
            rule = f"be given when signals contain IdleSignal.{signal.name}"
            raise ArgumentError(complaint(WHERE, parameter, rule, value, cure))


def check_published(
    signals: Sequence[IdleSignal],
    kind: AcceleratorKind,
    types: Sequence[AcceleratedType],
    measurements: Sequence[str],
    *,
    where: str,
) -> None:
    """Refuse a signal whose figure not every instance publishes. ``where`` is the construct's path."""
    for signal, figure in ((IdleSignal.MEMORY, kind.memory), (IdleSignal.POWER, kind.power)):
        if signal not in signals:
            continue
        if figure is None or figure not in measurements:
            rule = "hold only figures that the instances publish"
            cure = f"leave it out: no {kind.title} tells it"
            if figure is not None:
                can = all(kind.measurement(figure).readable_on(each) for each in types)
                cure = f"measure {figure!r} on all of them" if can else "leave it out: not every type tells it"
            raise ArgumentError(complaint(where, "idle.signals", rule, signal.name, cure))
        without = [each.name for each in types if not kind.measurement(figure).readable_on(each)]
        if without:
            rule = f"hold only figures that every type publishes ({', '.join(without)} does not)"
            cure = "leave it out, or make a fleet of its own for these types"
            raise ArgumentError(complaint(where, "idle.signals", rule, signal.name, cure))


def quiet_hours_of(given: object) -> tuple[Hours, ...]:
    """Return the hours in which nothing is released.

    Raises:
        ArgumentError: it is no list of them, or they leave no time to release anything.
    """
    hours = hours_of(WHERE, "quiet_hours", given)
    if leave_no_minute(hours):
        cure = "shorten them: with these an idle instance would bill for ever"
        raise ArgumentError(complaint(WHERE, "quiet_hours", "leave time to release something", given, cure))
    return hours


def check_longest_life(longest: int | None, window: int, shortest: int | None) -> None:
    """Refuse a life, in seconds, that ends before an instance could be released as idle."""
    for other, seconds in (("window", window), ("min_instance_life", shortest)):
        if longest is not None and seconds is not None and longest <= seconds:
            rule = f"be longer than {other} ({seconds // MINUTE} minutes)"
            cure = "lengthen it: no instance would ever live to be released as idle"
            raise ArgumentError(complaint(WHERE, "max_instance_life", rule, f"{longest // MINUTE} minutes", cure))


def check_longest_unknown(longest: int | None, window: int) -> None:
    """Refuse a doubt, in seconds, that a gap of the metrics alone would fill."""
    least = window + SHORTEST_DOUBT
    if longest is not None and longest < least:
        rule = f"be at least window and {SHORTEST_DOUBT // MINUTE} minutes ({least // MINUTE} minutes)"
        cure = "lengthen it: a gap of the metrics alone would end an instance at work"
        raise ArgumentError(complaint(WHERE, "max_unknown", rule, f"{longest // MINUTE} minutes", cure))
