"""What can prove that an instance is in use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from constructs_lib.errors import ArgumentError
from constructs_lib.telemetry import names
from constructs_lib.validation import complaint, instance_of, number, one_of, text

STATISTICS = ("Average", "Maximum", "Minimum", "SampleCount", "Sum")
# "MetricDatum" and "Dimension", CloudWatch API: of a namespace, a metric, or a dimension's name; and of its value.
_LONGEST_NAME, _LONGEST_VALUE = 255, 1024
_MOST_DIMENSIONS = 30  # of one metric, the instance's id among them


class IdleSignal(Enum):
    """What can prove that an instance is in use. An instance is idle only if every enabled signal says so."""

    ACCELERATOR = "accelerator"
    """Use of the busiest accelerator of the instance."""

    MEMORY = "memory"
    """Used memory of the fullest accelerator, for accelerators whose use nobody can read (MIG)."""

    POWER = "power"
    """Power of the accelerator that draws most, for accelerators whose use nobody can read."""

    IDLE_SECONDS = "idle_seconds"
    """Time since the instance's last use, as the node program counts it: use of an accelerator, or a busy mark."""

    BUSY_MARK = "busy_mark"
    """A program on the instance says that it is busy: ``accelerated-node busy -- COMMAND``, or a lock that it holds."""

    CPU = "cpu"
    """CPU utilisation of the whole instance: data loading, compiling, writing a checkpoint."""

    NETWORK = "network"
    """Traffic of the instance, in and out together: a download of data, a checkpoint on its way out."""

    SESSIONS = "sessions"
    """A person is on the machine through SSM Session Manager, as Systems Manager says; over as soon as they leave."""

    LOGINS = "logins"
    """A person was logged in within the window, as the machine itself says: SSH, a console, and Session Manager too."""


OF_ACCELERATORS = (IdleSignal.ACCELERATOR, IdleSignal.MEMORY, IdleSignal.POWER, IdleSignal.IDLE_SECONDS)
"""A policy needs one of these, else nobody looks at the accelerators. The idle alarm watches the first of them."""

NEED_THE_NODE_PROGRAM = (IdleSignal.IDLE_SECONDS, IdleSignal.BUSY_MARK, IdleSignal.NETWORK, IdleSignal.LOGINS)

STANDARD = (
    IdleSignal.ACCELERATOR,
    IdleSignal.BUSY_MARK,
    IdleSignal.CPU,
    IdleSignal.SESSIONS,
    IdleSignal.LOGINS,
)
"""What is looked at unless a policy says otherwise. The others need a threshold, or repeat what these say."""


@dataclass(frozen=True, kw_only=True)
class CustomSignal:
    """A metric of the work itself: an instance whose value is not below ``idle_below`` is in use.

    Every instance publishes it at least once a minute, also while it is idle, under the dimension ``InstanceId``:
    an instance without it is *unknown* and is kept.

    Attributes:
        namespace: of CloudWatch.
        metric_name: as it is published.
        idle_below: an instance with less is idle. Above 0.
        statistic: of a minute: ``Average``, ``Maximum``, ``Minimum``, ``SampleCount`` or ``Sum``. Default: ``Maximum``.
        dimensions: that it has beside ``InstanceId``, at most 29. Default: none.

    Raises:
        ArgumentError: a value is of the wrong type or out of range.
    """

    namespace: str
    metric_name: str
    idle_below: float
    statistic: str | None = None
    dimensions: Mapping[str, str] | None = field(default=None, compare=False)
    # A mapping has no hash, so its items stand for it.
    dimension_items: tuple[tuple[str, str], ...] = field(init=False)

    def __post_init__(self) -> None:
        where = "CustomSignal"
        for parameter, value in (("namespace", self.namespace), ("metric_name", self.metric_name)):
            _check_name(parameter, value, "give the name under which it is published")
        cure = "give the value from which on an instance is in use"
        object.__setattr__(self, "idle_below", number(where, "idle_below", self.idle_below, above=0, cure=cure))
        statistic = "Maximum" if self.statistic is None else self.statistic
        one_of(where, "statistic", statistic, STATISTICS, cure="leave it out for Maximum")
        object.__setattr__(self, "statistic", statistic)
        items = () if self.dimensions is None else _dimension_items(self.dimensions)
        object.__setattr__(self, "dimension_items", items)
        object.__setattr__(self, "dimensions", MappingProxyType(dict(items)))


def _dimension_items(given: object) -> tuple[tuple[str, str], ...]:
    where, cure = "CustomSignal", "leave it out for none, or write for example {'Service': 'training'}"
    mapping = instance_of(where, "dimensions", given, dict, cure=cure)
    if not 0 < len(mapping) < _MOST_DIMENSIONS:
        rule = f"hold 1 to {_MOST_DIMENSIONS - 1} dimensions"
        raise ArgumentError(complaint(where, "dimensions", rule, given, cure))
    for name, value in mapping.items():
        _check_name("dimensions", name, cure)
        _check_name("dimensions", value, cure, longest=_LONGEST_VALUE)
        if name == names.INSTANCE:
            rule = f"not name {names.INSTANCE}"
            raise ArgumentError(complaint(where, "dimensions", rule, given, "remove it: each instance has its own"))
    return tuple(sorted(mapping.items()))


def _check_name(parameter: str, value: object, cure: str, *, longest: int = _LONGEST_NAME) -> None:
    name = text("CustomSignal", parameter, value, cure=cure)
    if len(name) > longest or name.startswith(":") or not (name.isascii() and name.isprintable()):
        rule = f"be a name of CloudWatch, at most {longest} characters of printable ASCII and no colon at its beginning"
        raise ArgumentError(complaint("CustomSignal", parameter, rule, value, cure))
